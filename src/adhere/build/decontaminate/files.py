"""Files of training data of any size against test suites: what `adhere decontaminate` does.

The file is read in blocks of whole lines, which are compared in processes of their own; kept lines are written byte for byte,
in order. Memory does not depend on the number of rows. Every few seconds the place that was reached is written beside the
kept rows, so that the same command goes on after a kill.
"""

from __future__ import annotations

import gzip
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec

from adhere.errors import ResourceError, SpecError, UsageError, nearest
from adhere.lines.blocks import Block, LineFile, parse_line
from adhere.lines.workers import in_order
from adhere.progress import Progress, Silent
from adhere.schema import Json, Record, content_hash, decode, decoder_of, encode, write_atomic
from adhere.suites.base import Suite
from adhere.text.repeats import NgramRule, SubsequenceRule

Rule = Literal["lcs", "ngram"]
COLUMNS = ("text", "prompt", "instruction", "query", "question", "messages", "conversations")
_BLOCK_BYTES = 1 << 20
_SMALL = (
    64 << 20
)  # bytes that one process compares in the time that starting others takes (measured: about 50,000 rows in 1.5 s)
_SAVE_EVERY_S = 2.0


class TestItem(NamedTuple):
    """One test prompt: the suite's name as it was given, the key in that suite, and everything that it asks."""

    against: str
    key: int | str
    text: str


class LcsDrop(Record, frozen=True):
    """A row that the subsequence rule drops: `ratio` is `lcs` over the tokens of the shorter text."""

    line: int
    against: str
    item: int | str
    lcs: int
    ratio: float


class NgramDrop(Record, frozen=True):
    """A row that the n-gram rule drops: `ngram` is the first run of 13 tokens that it shares with the item."""

    line: int
    against: str
    item: int | str
    ngram: str


class Against(Record, frozen=True):
    """One suite: how many rows were dropped for one of its items (the nearest), and how many of its items cost a row.

    With the n-gram rule `touched` counts every item that shares 13 tokens in a row with some row: the contaminated ones.
    """

    suite: str
    items: int
    dropped: int
    touched: int
    touched_share: float


class Done(Record, frozen=True):
    """What came of a file. rows = kept + dropped + skipped. `sha256` is of the rows as they were read, uncompressed."""

    rows: int
    kept: int
    dropped: int
    skipped: int
    rule: Rule
    columns: tuple[str, ...]
    against: tuple[Against, ...]
    sha256: str
    skipped_lines: tuple[str, ...]
    contaminated: dict[str, tuple[int | str, ...]]

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        plain: dict[str, Json] = msgspec.to_builtins(self)
        return plain


class Settings(Record, frozen=True):
    """What decides about a row."""

    items: tuple[tuple[str, int | str, str], ...]
    columns: tuple[str, ...]
    rule: Rule
    bad_rows: Literal["error", "skip"]
    name: str


class Judged(NamedTuple):
    """What came of a block: the drops, the rows that cannot be used, the items that any row touched, and how many rows it had."""

    drops: list[LcsDrop | NgramDrop]
    bad: list[tuple[int, str]]
    touched: set[int]
    rows: int


def items_of(suites: Sequence[tuple[str, Suite]]) -> list[TestItem]:
    """The test items of some suites, each with all of its user turns.

    Raises:
        UsageError: A suite has none.
    """
    found = []
    for name, suite in suites:
        if not suite.prompts:
            raise UsageError(f"--against {name}: the suite has no prompts, so nothing would be compared")
        found += [TestItem(name, prompt.key, prompt.everything) for prompt in suite.prompts]
    return found


class Desk:
    """Compares rows with the items; one in each process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        texts = [text for _, _, text in settings.items]
        self._lcs = SubsequenceRule(texts) if settings.rule == "lcs" else None
        self._ngram = NgramRule(texts) if settings.rule == "ngram" else None
        self._decoder = decoder_of(dict[str, Any])

    def __reduce__(self) -> tuple[type[Desk], tuple[Settings]]:
        """What another process makes an equal desk of: the index costs more to send than to make."""
        return Desk, (self.settings,)

    def judge(self, block: Block) -> Judged:
        """Compare the rows of a block.

        Raises:
            SpecError: A row cannot be used, and such rows are errors.
        """
        numbers, texts, bad = [], [], []
        for number, line in block.lines():
            try:
                texts.append(text_of(parse_line(line, self._decoder), self.settings.columns))
                numbers.append(number)
            except SpecError as problem:
                if self.settings.bad_rows == "error":
                    raise SpecError(f"{self.settings.name}:{number}: {problem}") from problem
                bad.append((number, str(problem)))
        drops, touched = self.drops(numbers, texts)
        return Judged(drops, bad, touched, len(numbers) + len(bad))

    def drops(self, numbers: Sequence[int], texts: Sequence[str]) -> tuple[list[LcsDrop | NgramDrop], set[int]]:
        """The drops among some texts, each with its number, and the items that any of them touches."""
        drops: list[LcsDrop | NgramDrop] = []
        touched: set[int] = set()
        if self._lcs is not None:
            for number, match in zip(numbers, self._lcs.matches(texts), strict=True):
                if match is not None:
                    against, key, _ = self.settings.items[match.item]
                    drops.append(LcsDrop(number, against, key, match.common, round(match.ratio, 4)))
                    touched.add(match.item)
        if self._ngram is not None:
            for number, text in zip(numbers, texts, strict=True):
                first = self._ngram.first(text)
                if first is not None:
                    against, key, _ = self.settings.items[first.item]
                    drops.append(NgramDrop(number, against, key, first.ngram))
                    touched |= self._ngram.items(text)
        return drops, touched


def text_of(row: dict[str, Any], columns: Sequence[str]) -> str:
    """The text of a row: its columns one below the other; of a conversation, what everybody says.

    Raises:
        SpecError: A column is missing, or holds neither a text nor messages.
    """
    return "\n".join(_said(row, column) for column in columns)


def _said(row: dict[str, Any], column: str) -> str:
    if column not in row:
        raise SpecError(f"no column {column!r}.{nearest(column, row)} Columns of this row: {', '.join(row) or 'none'}")
    value = row[column]
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [item.get("content", item.get("value")) if isinstance(item, dict) else item for item in value]
        said = [part for part in parts if isinstance(part, str)]
        if len(said) == len(parts):
            return "\n".join(said)
    raise SpecError(f"column {column!r} holds {_shown(value)}; it must hold a text or a list of messages")


def _shown(value: object) -> str:
    text = encode(value).decode()
    return text if len(text) <= 60 else f"{text[:60]}…"


def default_columns(row: dict[str, Any]) -> tuple[str, ...]:
    """The column that is compared unless a person says otherwise.

    Raises:
        SpecError: The row has none of the usual ones.
    """
    for column in COLUMNS:
        if column in row:
            return (column,)
    raise SpecError(
        f"none of the usual columns ({', '.join(COLUMNS)}) is there; say which holds the text with --column. "
        f"Columns of this row: {', '.join(row) or 'none'}"
    )


def decontaminate_file(
    train: Path,
    items: Sequence[TestItem],
    *,
    out: Path,
    drops: Path,
    columns: Sequence[str] = (),
    rule: Rule = "lcs",
    bad_rows: Literal["error", "skip"] = "error",
    jobs: int = 1,
    progress: Progress | None = None,
) -> Done:
    """Write the rows of `train` that repeat no test item to `out`, and one line for each other row to `drops`.

    Args:
        train: JSON lines (plain, .gz, .zst) or Parquet.
        items: The test items.
        out: Where kept rows go, in the format of its ending; Parquet only from Parquet.
        drops: Where drops go, as JSON lines.
        columns: The columns that make a row's text; none: the first of `COLUMNS` that the first row has.
        rule: See `rules.py`.
        bad_rows: What a row does that cannot be used; `skip` leaves it out of both files and counts it.
        jobs: Processes. A script that asks for several needs the usual `if __name__ == "__main__":`.
        progress: Where to report.

    Raises:
        UsageError: A path cannot be used, or the file has no rows.
        SpecError: A row cannot be used.
        ResourceError: The disk is full, or a process was killed.
    """
    _check_paths(train, out, drops)
    if train.suffix == ".parquet":
        from adhere.build.decontaminate.parquet import decontaminate_parquet  # duckdb is an extra

        return decontaminate_parquet(
            train, items, out=out, drops=drops, columns=columns, rule=rule, progress=progress or Silent()
        )
    file = LineFile(train)
    chosen = tuple(columns) or _first_columns(train)
    settings = Settings(tuple(map(tuple, items)), chosen, rule, bad_rows, str(train))  # type: ignore[arg-type]
    return _Pass(file, settings, out=out, drops=drops, jobs=jobs, progress=progress or Silent()).run()


def _check_paths(train: Path, out: Path, drops: Path) -> None:
    places = [path.resolve() for path in (train, out, drops)]
    if len(set(places)) < 3:
        raise UsageError(f"{train}, --out {out} and --drops {drops} must be three different files")
    for option, path in (("--out", out), ("--drops", drops)):
        if path.is_dir():
            raise UsageError(f"{option} {path} is a directory; give the name of a file")
    if (out.suffix == ".parquet") != (train.suffix == ".parquet"):
        raise UsageError(
            f"--out {out} must have the format of {train}: Parquet from Parquet, JSON lines from JSON lines"
        )


def _first_columns(train: Path) -> tuple[str, ...]:
    decoder = decoder_of(dict[str, Any])
    for block in LineFile(train).blocks(1 << 16):
        for number, line in block.lines():
            try:
                return default_columns(parse_line(line, decoder))
            except SpecError as problem:
                raise SpecError(f"{train}:{number}: {problem}") from problem
    raise UsageError(f"{train} has no rows")


class _State(Record, frozen=True):
    """How far a pass has come: whole blocks up to `lines`, and the sizes of what was written for them."""

    key: str
    lines: int
    out_bytes: int
    drops_bytes: int
    rows: int
    dropped: dict[str, int]
    touched: tuple[int, ...]
    skipped: tuple[str, ...]


class _Pass:
    """One pass over a file, and its place on disk."""

    def __init__(
        self, file: LineFile, settings: Settings, *, out: Path, drops: Path, jobs: int, progress: Progress
    ) -> None:
        self.file, self.settings, self.jobs, self.progress = file, settings, jobs, progress
        self.out, self.drops = out, drops
        self.state_path = out.with_name(f".{out.name}.state.json")
        self.parts = tuple(path.with_name(f".{path.name}.part") for path in (out, drops))
        source = Path(settings.name)
        stat = source.stat() if source.is_file() else None
        identity = [str(source.resolve()), stat.st_size, stat.st_mtime_ns] if stat else [settings.name]
        self.key = content_hash([identity, settings, str(drops)])

    def run(self) -> Done:
        state = self._resumed()
        for path in self.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.parts[0].open("ab") as out, self.parts[1].open("ab") as drops:
            out.truncate(state.out_bytes)
            drops.truncate(state.drops_bytes)
            state = self._all(state, out, drops)
            _to_disk(out, drops)
        if state.rows == 0:
            for path in (*self.parts, self.state_path):
                path.unlink(missing_ok=True)
            raise UsageError(f"{self.file.name} has no rows")
        for part, path in zip(self.parts, (self.out, self.drops), strict=True):
            part.replace(path)
        self.state_path.unlink(missing_ok=True)
        return self._done(state)

    def _resumed(self) -> _State:
        fresh = _State(self.key, 0, 0, 0, 0, {}, (), ())
        if not self.state_path.exists() or str(self.file.name) == "<stdin>":
            return fresh
        state = decode(self.state_path.read_bytes(), _State)
        sizes = [path.stat().st_size if path.exists() else -1 for path in self.parts]
        if state.key != self.key or sizes[0] < state.out_bytes or sizes[1] < state.drops_bytes:
            return fresh
        self.progress.say(f"Going on at line {state.lines + 1} of {self.file.name}")
        return state

    def _all(self, state: _State, out: BinaryIO, drops: BinaryIO) -> _State:
        pack = _packer(self.out.name)
        dropped, touched, skipped = Counter(state.dropped), set(state.touched), list(state.skipped)
        rows, saved, read = state.rows, time.monotonic(), 0
        total = None if self.file.size is None else self.file.size >> 10
        with self.progress.step("compare", total, "kB") as step, closing(self._judged(state.lines)) as blocks:
            for block, judged in blocks:
                dropped.update(drop.against for drop in judged.drops)
                touched |= judged.touched
                skipped += [f"{self.file.name}:{number}: {problem}" for number, problem in judged.bad]
                rows += judged.rows
                gone = {drop.line for drop in judged.drops} | {number for number, _ in judged.bad}
                try:
                    out.write(pack(_kept(block, gone)))
                    drops.write(b"".join(encode(drop) + b"\n" for drop in judged.drops))
                    state = _State(
                        self.key,
                        block.first_line + len(block.data) - 1,
                        out.tell(),
                        drops.tell(),
                        rows,
                        dict(dropped),
                        tuple(sorted(touched)),
                        tuple(skipped),
                    )
                    if time.monotonic() - saved >= _SAVE_EVERY_S:
                        _to_disk(out, drops)
                        write_atomic(self.state_path, encode(state))
                        saved = time.monotonic()
                except OSError as error:
                    raise ResourceError(
                        f"Cannot write {self.out} or {self.drops}: {error}. Make room; the same command goes on where it stopped"
                    ) from error
                step.advance((self.file.bytes_read >> 10) - read, f"{rows:,} rows, {dropped.total():,} dropped")
                read = self.file.bytes_read >> 10
        return state

    def _judged(self, lines_done: int) -> Generator[tuple[Block, Judged]]:
        blocks = _behind(self.file.blocks(_BLOCK_BYTES), lines_done)
        jobs = 1 if (self.file.size or _SMALL) < _SMALL else self.jobs
        return in_order(Desk(self.settings).judge, blocks, jobs=jobs, purpose="comparing")

    def _done(self, state: _State) -> Done:
        return summed(
            self.settings, rows=state.rows, dropped=state.dropped, touched=state.touched, skipped=state.skipped, sha256=self.file.sha256
        )  # fmt: skip


def summed(
    settings: Settings, *, rows: int, dropped: dict[str, int], touched: Sequence[int], skipped: Sequence[str], sha256: str
) -> Done:  # fmt: skip
    """The counts of a whole file."""
    names = list(dict.fromkeys(against for against, _, _ in settings.items))
    sizes = Counter(against for against, _, _ in settings.items)
    touching: dict[str, list[int | str]] = {name: [] for name in names}
    for place in sorted(touched):
        against, key, _ = settings.items[place]
        touching[against].append(key)
    gone = sum(dropped.values())
    return Done(
        rows=rows,
        kept=rows - gone - len(skipped),
        dropped=gone,
        skipped=len(skipped),
        rule=settings.rule,
        columns=settings.columns,
        against=tuple(
            Against(name, sizes[name], dropped.get(name, 0), len(touching[name]), len(touching[name]) / sizes[name])
            for name in names
        ),
        sha256=sha256,
        skipped_lines=tuple(skipped[:20]),
        contaminated={name: tuple(keys) for name, keys in touching.items()} if settings.rule == "ngram" else {},
    )


def _behind(blocks: Iterator[Block], lines_done: int) -> Iterator[Block]:
    """The blocks without the lines up to `lines_done`."""
    for block in blocks:
        done = max(0, lines_done + 1 - block.first_line)
        if done < len(block.data):
            yield Block(block.first_line + done, block.data[done:])


def _kept(block: Block, gone: set[int]) -> bytes:
    lines = [
        line
        for number, line in enumerate(block.data, start=block.first_line)
        if number not in gone and not line.isspace()
    ]
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    return b"".join(lines)


def _packer(name: str) -> Callable[[bytes], bytes]:
    """Compresses one piece so that pieces behind each other are one file; equal pieces give equal bytes."""
    if name.endswith(".gz"):
        return lambda data: gzip.compress(data, mtime=0) if data else b""
    if name.endswith(".zst"):
        import zstandard

        compressor = zstandard.ZstdCompressor()
        return lambda data: compressor.compress(data) if data else b""
    return lambda data: data


def _to_disk(*files: BinaryIO) -> None:
    for file in files:
        file.flush()
        os.fsync(file.fileno())
