"""Store a Run, a sweep or a directory of Runs as two Parquet files.

They are for questions about hundreds of thousands of answers.

    DIR/compact/responses.parquet    one row an answer that counts, with how many of its constraints passed
    DIR/compact/verdicts.parquet     one row a verdict that counts

Segments stay the truth; the Parquet files are a copy that may be deleted at any time. Each carries the name, size and
sha256 of all its sources, so that an outdated copy is recognised. Rows are sorted by model, suite, prompt, turn and
draw, and are the rows that `store.run` would read (`store.tables.cells`).

DuckDB writes and reads them. Rows are read by msgspec in any case, because DuckDB's own JSON reader takes an unfinished
last line for a row. From there DuckDB and pyarrow took 0.24 and 0.41 s of CPU for 21,600 answers, DuckDB is 68 MB
installed and pyarrow 170 MB, and DuckDB can also ask the questions.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from adhere.errors import IntegrityError, ResourceError
from adhere.extras import need
from adhere.progress import Progress, Silent
from adhere.schema import Outcome, Prompt, Record, Response, Status, decode, encode
from adhere.store.run import Key, StoredVerdict
from adhere.store.segments import sync
from adhere.store.shelf import SHARDED, SHARDS
from adhere.store.tables.cells import Cell, Reader, Segment

if TYPE_CHECKING:
    import duckdb

VERSION = 1
FOLDER = "compact"
FILES = ("responses.parquet", "verdicts.parquet")
MEMORY = "1GB"

Column = tuple[str, str, Callable[[Any], Any]]
"""Column of a table: (name, DuckDB's type, function from a row to the value)."""

_RESPONSES: tuple[Column, ...] = (
    ("prompt_id", "VARCHAR", attrgetter("prompt_id")),
    ("turn", "INTEGER", attrgetter("turn")),
    ("draw", "INTEGER", attrgetter("draw")),
    ("status", "VARCHAR", attrgetter("status")),
    ("text", "VARCHAR", attrgetter("text")),
    ("calls", "VARCHAR", lambda row: _json(row.calls or None)),
    ("steps", "VARCHAR", lambda row: _json(row.steps or None)),
    ("reasoning", "VARCHAR", attrgetter("reasoning")),
    ("stop_reason", "VARCHAR", attrgetter("stop_reason")),
    ("prompt_tokens", "BIGINT", attrgetter("usage.prompt_tokens")),
    ("completion_tokens", "BIGINT", attrgetter("usage.completion_tokens")),
    ("reasoning_tokens", "BIGINT", attrgetter("usage.reasoning_tokens")),
    ("cost_usd", "DOUBLE", attrgetter("usage.cost_usd")),
    ("latency_s", "DOUBLE", attrgetter("latency_s")),
    ("first_token_s", "DOUBLE", attrgetter("first_token_s")),
    ("seed", "BIGINT", attrgetter("seed")),
    ("served_model", "VARCHAR", attrgetter("served_model")),
    ("provider", "VARCHAR", attrgetter("provider")),
    ("error", "VARCHAR", attrgetter("error")),
    ("evidence", "VARCHAR", attrgetter("evidence")),
)
_TALLIES = ("constraints", "judged", "strict_passed", "strict_undecided", "loose_passed", "loose_undecided")
_VERDICTS: tuple[Column, ...] = (
    ("prompt_id", "VARCHAR", attrgetter("prompt_id")),
    ("turn", "INTEGER", attrgetter("turn")),
    ("draw", "INTEGER", attrgetter("draw")),
    ("index", "INTEGER", attrgetter("index")),
    ("constraint_id", "VARCHAR", attrgetter("constraint_id")),
    ("view", "VARCHAR", attrgetter("view")),
    ("outcome", "VARCHAR", attrgetter("outcome")),
    ("reason", "VARCHAR", attrgetter("reason")),
    ("measured", "VARCHAR", lambda row: _json(row.measured)),
    ("needed", "VARCHAR", lambda row: _json(row.needed)),
    ("span_start", "INTEGER", lambda row: row.span and row.span[0]),
    ("span_end", "INTEGER", lambda row: row.span and row.span[1]),
    ("score", "DOUBLE", attrgetter("score")),
    ("verifier_version", "VARCHAR", attrgetter("verifier_version")),
    ("fault", "BOOLEAN", attrgetter("fault")),
)


class CompactedCell(Record, frozen=True):
    """Names a cell; `asked` is how many answers it should have, if that is known."""

    model: str
    suite: str
    run: str
    asked: int | None


class Origin(Record, frozen=True):
    """Says where both files come from.

    `sources` are paths below the directory; `made` differs between two makings. `damage` counts stored lines that could
    not be read, `stale` verdicts about answers that have since been replaced.
    """

    version: int
    made: str
    cells: tuple[CompactedCell, ...]
    responses: int
    verdicts: int
    damage: int
    stale: int
    sources: tuple[Segment, ...]


class Tally(NamedTuple):
    """Counts one answer's constraints.

    `constraints` covers all turns of the prompt (None: the prompts are not known); the others count the constraints of
    the answer's own turn that were judged in both views.
    """

    constraints: int | None
    judged: int
    strict_passed: int
    strict_undecided: int
    loose_passed: int
    loose_undecided: int


def compact(directory: Path, *, progress: Progress | None = None) -> Origin:
    """Write both files anew, and return their origin.

    The new files take the place of the old ones only when both are complete.

    Args:
        directory: Directory of a Run, a sweep, or Runs.
        progress: Where to report to.

    Raises:
        MissingExtra: DuckDB is not installed.
        UsageError: There is nothing to compact.
        IntegrityError: A manifest or the prompts are damaged.
        ResourceError: The disk is full; the old files are still there.
    """
    duckdb = need("duckdb", extra="parquet")
    reader = Reader(directory)
    cells, journal = reader.cells()
    target = directory / FOLDER
    try:
        target.mkdir(exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=target))
        try:
            with duckdb.connect() as database:
                database.execute(f"SET temp_directory = '{str(scratch / 'spilt').replace(chr(39), chr(39) * 2)}'")
                database.execute(f"SET memory_limit = '{MEMORY}'")
                # A column's type is what we say, not what rows suggest.
                database.execute("SET pandas_analyze_sample = 0")
                writer = _Writer(database)
                with (progress or Silent()).step("compact", len(cells), "cells") as step:
                    for cell in cells:
                        responses = reader.responses(cell, journal)
                        verdicts = reader.verdicts(cell, responses)
                        prompts = reader.prompts(cell) if cell.run is not None else None
                        writer.add(cell, responses, verdicts, prompts)
                        step.advance()
                origin = Origin(
                    VERSION,
                    os.urandom(8).hex(),
                    tuple(writer.cells),
                    writer.responses,
                    writer.verdicts,
                    reader.damage.rows,
                    reader.damage.stale,
                    tuple(reader.segments),
                )
                writer.save(scratch, origin)
            for name in FILES:
                sync(scratch / name)
            for name in FILES:
                (scratch / name).replace(target / name)
            sync(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise ResourceError(
            f"Cannot write into {target}: {error}. Nothing was lost; free space and try again"
        ) from error
    return origin


def made_from(directory: Path) -> Origin | None:
    """Return the origin of the files in `directory`; None if there are none, or they were not made together."""
    duckdb = need("duckdb", extra="parquet")
    origins = []
    for name in FILES:
        file = directory / FOLDER / name
        if not file.is_file():
            return None
        try:
            rows = duckdb.execute(
                "SELECT value FROM parquet_kv_metadata(?) WHERE key = 'adhere'::BLOB", [str(file)]
            ).fetchall()
            origins.append(decode(rows[0][0], Origin))
        except (duckdb.Error, IndexError, IntegrityError):
            return None
    return origins[0] if origins[0].made == origins[1].made and origins[0].version == VERSION else None


def whats_stale(directory: Path, origin: Origin | None, *, thoroughly: bool = False) -> str:
    """Return why the files in `directory` cannot be used; empty if they match the segments.

    Segments are only appended to, so a segment with the same size and time is taken as unchanged; if only the time
    differs (a copied directory), its bytes are hashed.

    Args:
        directory: As for `compact`.
        origin: Result of `made_from`.
        thoroughly: Hash everything.
    """
    if origin is None:
        return f"there is no usable Parquet in {directory / FOLDER}"
    segments = {segment.path: segment for segment in origin.sources}
    paths = set(_sources(directory))
    if new := sorted(paths - segments.keys()):
        return f"{new[0]} is newer{_more(new)}"
    if missing := sorted(segments.keys() - paths):
        return f"{missing[0]} is gone{_more(missing)}"
    for path, segment in segments.items():
        stat = os.stat(directory / path)  # noqa: PTH116 - a thousand of them count
        if stat.st_size != segment.size:
            return f"{path} has {stat.st_size:,} bytes, and had {segment.size:,}"
        if (thoroughly or stat.st_mtime_ns != segment.mtime_ns) and _sha256(directory / path) != segment.sha256:
            return f"{path} has changed"
    return ""


class _Writer:
    """Collects rows in a scratch database, so that memory does not grow with them."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self.database = database
        self.responses = self.verdicts = 0
        self.cells: list[CompactedCell] = []
        head = "model VARCHAR, suite VARCHAR, run VARCHAR"
        database.execute(
            f"CREATE TABLE responses ({head}, {_column_types(_RESPONSES)}, "
            f"{', '.join(f'{name} INTEGER' for name in _TALLIES)})"
        )
        database.execute(f"CREATE TABLE verdicts ({head}, {_column_types(_VERDICTS)})")

    def add(
        self,
        cell: Cell,
        responses: Mapping[Key, Response],
        verdicts: Mapping[tuple[Key, int, str], StoredVerdict],
        prompts: Sequence[Prompt] | None,
    ) -> None:
        """Add the rows of one cell, sorted."""
        rows = [responses[key] for key in sorted(responses)]
        outcomes = {name: verdict.outcome for name, verdict in verdicts.items()}
        tallies = tally([(row.key, row.status) for row in rows], outcomes, prompts)
        columns = _columns(_RESPONSES, rows)
        for number, name in enumerate(_TALLIES):
            columns[name] = _column("INTEGER", [counts[number] for counts in tallies])
        self._insert("responses", cell, columns)
        self._insert("verdicts", cell, _columns(_VERDICTS, [verdicts[name] for name in sorted(verdicts)]))
        n_asked = cell.count_asked(prompts)
        before = self.cells[-1] if self.cells else None
        if before is not None and (before.model, before.suite, before.run) == (cell.model, cell.suite, cell.name):
            total = None if n_asked is None or before.asked is None else before.asked + n_asked
            self.cells[-1] = msgspec.structs.replace(before, asked=total)
        else:
            self.cells.append(CompactedCell(cell.model, cell.suite, cell.name, n_asked))
        self.responses += len(rows)
        self.verdicts += len(verdicts)

    def _insert(self, table: str, cell: Cell, columns: dict[str, Any]) -> None:
        if not len(columns["prompt_id"]):
            return
        self.database.register("incoming", columns)
        names = ", ".join(f'"{name}"' for name in columns)
        self.database.execute(
            f"INSERT INTO {table} SELECT ?, ?, ?, {names} FROM incoming",  # noqa: S608 - the names are ours
            [cell.model, cell.suite, cell.name],
        )
        self.database.unregister("incoming")

    def save(self, folder: Path, origin: Origin) -> None:
        """Write both tables, rows in the order in which they were added."""
        about = encode(origin).decode().replace("'", "''")
        for name in FILES:
            table, file = name.partition(".")[0], str(folder / name).replace("'", "''")
            self.database.execute(
                f"COPY {table} TO '{file}' (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{adhere: '{about}'}})"
            )


def tally(
    answers: Iterable[tuple[Key, Status]],
    outcomes: Mapping[tuple[Key, int, str], Outcome],
    prompts: Sequence[Prompt] | None,
) -> list[Tally]:
    """Return a Tally for each answer. `outcomes` are by (key, constraint's index, view)."""
    turns = {prompt.id: [len(turn.constraints) for turn in prompt.turns] for prompt in prompts or ()}
    totals = {name: sum(sizes) for name, sizes in turns.items()}
    tallies = []
    for key, status in answers:
        n_judged = strict_passed = strict_undecided = loose_passed = loose_undecided = 0
        if status != "error" and key[0] in turns:
            for index in range(turns[key[0]][key[1]]):
                strict, loose = outcomes.get((key, index, "strict")), outcomes.get((key, index, "loose"))
                if strict is not None and loose is not None:
                    n_judged += 1
                    strict_passed += strict == "pass"
                    strict_undecided += strict == "undecided"
                    loose_passed += loose == "pass"
                    loose_undecided += loose == "undecided"
        tallies.append(
            Tally(totals.get(key[0]), n_judged, strict_passed, strict_undecided, loose_passed, loose_undecided)
        )
    return tallies


def _sources(directory: Path) -> Iterable[str]:
    """Return every file below `directory` that `compact` would read and whose change matters."""
    if (directory / "manifest.json").is_file() or (directory / SHARDED).is_file():
        return _of_run(directory, "")
    is_sweep = (directory / "sweep.json").is_file()
    paths = ["sweep.json", *_segments(directory, "journal/")] if is_sweep else []
    prefix = "runs/" if is_sweep else ""
    folder = directory / prefix
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if any(os.path.isfile(f"{entry.path}/{name}") for name in ("manifest.json", SHARDED)):  # noqa: PTH113 - pathlib takes 5 times as long
            paths += _of_run(directory, f"{prefix}{entry.name}/")
    return paths


def _of_run(directory: Path, prefix: str) -> list[str]:
    if (directory / prefix / SHARDED).is_file():
        shards = sorted((directory / prefix / SHARDS).glob("[0-9]*"))
        of_shards = [path for shard in shards for path in _of_run(directory, f"{prefix}{SHARDS}/{shard.name}/")]
        return [f"{prefix}{SHARDED}", *of_shards]
    segments = [*_segments(directory, f"{prefix}responses/"), *_segments(directory, f"{prefix}verdicts/")]
    return [f"{prefix}manifest.json", *segments]


def _segments(directory: Path, prefix: str) -> list[str]:
    try:
        names = os.listdir(directory / prefix)  # noqa: PTH208 - see above
    except FileNotFoundError:
        return []
    return [prefix + name for name in names if name.endswith(".jsonl")]


def _more(names: Sequence[str]) -> str:
    return f", and {len(names) - 1} more" if len(names) > 1 else ""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _column_types(columns: Iterable[Column]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind, _ in columns)


def _columns(columns: Iterable[Column], rows: Sequence[Any]) -> dict[str, Any]:
    return {name: _column(kind, [value(row) for row in rows]) for name, kind, value in columns}


def _column(kind: str, values: list[Any]) -> Any:
    """Return one column for DuckDB; None becomes NULL."""
    if kind == "VARCHAR":
        return np.array(values, dtype=object)
    absent = [value is None for value in values]
    numbers = [0 if value is None else value for value in values] if any(absent) else values
    return np.ma.array(numbers, mask=absent, dtype=np.float64 if kind == "DOUBLE" else np.int64)


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
