"""Read the files of published suites: rows, and columns with their types.

Files are JSON lines, a JSON list, CSV, TSV or Parquet, plain or compressed. A row that lacks a column, or has one of
another type, is an error that names file, row and column: another version of the file is never read as if it were this
one.

A loader raises UsageError if no path was given or there is no such file. It raises SpecError, UnknownName or
BadParameter for a row that cannot be used; the message names file and row.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import SpecError, UsageError
from adhere.lines.blocks import LineFile
from adhere.lines.parquet import read_parquet
from adhere.schema import Prompt, Sampling, content_hash
from adhere.suites.base import Suite
from adhere.suites.published.catalog import CATALOG

Row = dict[str, Any]
_MARKS = {".csv": ",", ".tsv": "\t"}
_WORDS = {str: "a text", int: "a whole number", list: "a list", dict: "an object", bool: "true or false"}


class Rows(NamedTuple):
    """Holds the rows of one file as (place, row), and the file's hash."""

    rows: list[tuple[str, Row]]
    sha256: str


def where(suite: str) -> str:
    """Say which files a suite is published as, where, and under which licence, in one line from the catalog."""
    origin = next((listed_suite.origin for listed_suite in CATALOG if listed_suite.name == suite), None)
    if origin is None:
        return "a file of one's own"
    return f"{origin.files} of {origin.url} ({origin.licence})"


def need_path(suite: str, argument: str | None) -> Path:
    """Return the path behind the colon.

    Raises:
        UsageError: No path was given, or there is no such file.
    """
    if not argument:
        raise UsageError(
            f"Suite {suite!r} needs its file: {suite}:PATH. It is published as {where(suite)} (adhere "
            f"fetch suite:{suite})"
        )
    path = Path(argument)
    if not path.exists():
        raise UsageError(
            f"{suite}:{argument}: no such file. It is published as {where(suite)} (adhere fetch suite:{suite})"
        )
    return path


def read_rows(path: Path) -> Rows:
    """Read the objects of a file by its ending, in any case, also with `.gz` or `.zst` behind it.

    `.csv` and `.tsv` have a header, `.json` is a list, `.parquet` cannot have a second ending; any other ending means
    JSON lines.

    Raises:
        SpecError: The content does not fit the ending; the message names file and row.
        MissingExtra: Parquet needs duckdb, which is not installed.
    """
    kind = kind_of_file(path)
    if kind in _MARKS:
        rows = _csv(path, _read_plain(path), _MARKS[kind])
        return Rows(rows, content_hash([row for _, row in rows]))
    if kind == ".parquet":
        rows = [(f"{path}: row {number}", row) for number, row in enumerate(read_parquet(path), start=1)]
        return Rows(rows, content_hash([row for _, row in rows]))
    if kind == ".json":
        data = _read_plain(path)
        rows = _list(path, data)
        return Rows(rows, content_hash(data.decode("utf-8", "replace")))
    file = LineFile(path)
    return Rows(list(_lines(file)), file.sha256)


def kind_of_file(path: Path) -> str:
    """Return the ending of a name without that of its compression, in lower case: `.csv` for `ROWS.CSV.gz`."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz").removesuffix(".zst")).suffix


def _read_plain(path: Path) -> bytes:
    """Return the bytes of the file, uncompressed."""
    data, ending = path.read_bytes(), path.suffix.lower()
    if ending == ".gz":
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise SpecError(f"{path}: not gzip, or damaged: {error}. Copy or make the file again") from error
    if ending == ".zst":
        import zstandard  # only whoever reads such a file pays for it

        try:
            return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        except zstandard.ZstdError as error:
            raise SpecError(f"{path}: not zstandard, or damaged: {error}. Copy or make the file again") from error
    return data


def _csv(path: Path, data: bytes, mark: str) -> list[tuple[str, Row]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8: {error}. Save it as UTF-8") from error
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
        rows = [(f"{path}: row {number}", dict(row)) for number, row in enumerate(reader, start=1)]
    except csv.Error as error:
        raise SpecError(f"{path}: not {'CSV' if mark == ',' else 'TSV'}: {error}") from error
    finally:
        csv.field_size_limit(before)
    for at, row in rows:
        if None in row or None in row.values():
            raise SpecError(f"{at}: not as many cells as the header has. Write the file again")
    return rows


def _list(path: Path, data: bytes) -> list[tuple[str, Row]]:
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: not JSON: {error}") from error
    if not isinstance(rows, list):
        raise SpecError(f"{path}: must be a list of rows, is a {type(rows).__name__}")
    return [
        (f"{path}: row {number}", _object(f"{path}: row {number}", row)) for number, row in enumerate(rows, start=1)
    ]


def _lines(file: LineFile) -> Iterator[tuple[str, Row]]:
    for block in file.blocks():
        for number, line in block.lines():
            at = f"{file.name}:{number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SpecError(f"{at}: not JSON: {error}. Each line must be one JSON object") from error
            yield at, _object(at, row)


def _object(at: str, row: object) -> Row:
    if not isinstance(row, dict):
        raise SpecError(f"{at}: must be an object, is a {type(row).__name__}")
    return row


def need_columns(at: str, row: Row, columns: Mapping[str, type]) -> None:
    """Raise SpecError for a column that is missing or of another type: the file is another version."""
    for name, kind in columns.items():
        value = row.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            problem = "is missing" if name not in row else f"is {value!r:.60}"
            raise SpecError(
                f"{at}: {name} {problem}, but must be {_WORDS[kind]}. Is this another version of the file? "
                f"Columns that are read: {', '.join(columns)}"
            )


def loaded_json(at: str, name: str, text: str, kind: type) -> Any:
    """Read the JSON in a cell, which must be of type `kind`.

    Raises:
        SpecError: The text is no JSON, or of another type.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{at}: {name} is not JSON: {error}") from error
    if not isinstance(value, kind):
        raise SpecError(f"{at}: {name} must hold {_WORDS[kind]} as JSON, holds {text[:60]!r}")
    return value


def note(counts: Mapping[str, int], published_counts: Mapping[str, int]) -> str:
    """Say how the counts of a file compare with the published ones; both map a name to a number."""
    ours = ", ".join(f"{count:,} {name if count != 1 else name.removesuffix('s')}" for name, count in counts.items())
    if not published_counts:
        return ours
    if all(counts.get(name) == count for name, count in published_counts.items()):
        return f"{ours}: as many as the published file"
    theirs = ", ".join(f"{count:,} {name}" for name, count in published_counts.items())
    return f"{ours}: differs from the published file, which has {theirs}"


def make_suite(
    name: str,
    argument: str | None,
    prompts: Sequence[Prompt],
    *,
    sha256: str | Mapping[str, str],
    note: str,
    citation: str,
    sampling: Sampling,
    slices: Sequence[str] | None = None,
    version: str = "1",
    nothing: str = "no rows",
) -> Suite:
    """Make the suite `name:argument` of a file's prompts.

    Args:
        name: As in the catalog.
        argument: The text behind the colon.
        prompts: One a row, in the file's order.
        sha256: The file's hash; of several files, name -> hash.
        note: How the file compares with the published one, and who decides its constraints.
        citation: The citation of its paper.
        sampling: The published settings.
        slices: In the order of report pages; None: in the order of the prompts.
        version: Goes up when the same file gives other prompts.
        nothing: What the error says if there are no prompts.

    Raises:
        SpecError: There are no prompts, or two have one id.
    """
    suite = f"{name}:{argument}"
    if not prompts:
        raise SpecError(f"{suite}: {nothing}")
    need_unique(suite, [prompt.id for prompt in prompts])
    file_hash = {"file_sha256": sha256} if isinstance(sha256, str) else {"files_sha256": content_hash(sha256)}
    return Suite(
        name=suite,
        version=version,
        prompts=tuple(prompts),
        slices=tuple(dict.fromkeys(prompt.tags["slice"] for prompt in prompts if "slice" in prompt.tags))
        if slices is None
        else tuple(slices),
        settings={**file_hash, "note": note},
        citation=citation,
        sampling=sampling,
    )


def need_unique(suite: str, ids: Sequence[str]) -> None:
    """Raise SpecError if two rows have one id."""
    seen: set[str] = set()
    for row_id in ids:
        if row_id in seen:
            raise SpecError(f"{suite}: two rows are {row_id!r}. Delete one")
        seen.add(row_id)
