"""Decontaminate Parquet files through duckdb: read in slices, write without the dropped rows.

A killed pass starts from the beginning.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adhere.build.decontaminate.counts import FileResult, count_up
from adhere.build.decontaminate.rows import Decontaminate, Rule, Settings, TestItem, default_columns, text_of
from adhere.errors import ResourceError, SpecError, UsageError
from adhere.extras import need
from adhere.lines.blocks import written_whole
from adhere.lines.parquet import glob_free
from adhere.progress import Progress
from adhere.schema import encode

_SLICE = 2048


def decontaminate_parquet(
    train: Path,
    items: Sequence[TestItem],
    *,
    out: Path,
    drops: Path,
    columns: Sequence[str],
    rule: Rule,
    progress: Progress,
) -> FileResult:
    """Decontaminate as `files.decontaminate_file` does, from and to Parquet.

    Raises:
        UsageError: `train` is no Parquet file, or has no rows.
        SpecError: A column is missing, or a row has no text.
        MissingExtra: duckdb is not installed.
    """
    with _connection(train, out) as (database, name):
        names = [row[0] for row in database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [name]).fetchall()]
        chosen = tuple(columns) or default_columns(dict.fromkeys(names))
        for column in chosen:
            if column not in names:
                raise SpecError(f"{train}: no column {column!r}. Columns: {', '.join(names)}")
        desk = Decontaminate(Settings(tuple(items), chosen, rule, "error", str(train)))
        drop_counts: Counter[str] = Counter()
        touched_items: set[int] = set()
        rows = 0
        database.execute("CREATE TABLE marks (keep BOOLEAN)")
        with written_whole(drops) as write, progress.step("compare", None, "rows") as step:
            for numbers, texts in _slices(database, train, name, chosen):
                slice_drops, items_touched = desk.drops(numbers, texts)
                dropped_rows = {drop.line for drop in slice_drops}
                marks = [number not in dropped_rows for number in numbers]
                database.execute("INSERT INTO marks SELECT unnest(?::BOOLEAN[])", [marks])
                write(b"".join(encode(drop) + b"\n" for drop in slice_drops))
                drop_counts.update(drop.against for drop in slice_drops)
                touched_items |= items_touched
                rows += len(texts)
                step.advance(len(texts), f"{drop_counts.total():,} dropped")
            if rows == 0:
                raise UsageError(f"{train} has no rows")
            temporary = out.with_name(f".{out.name}.part")
            place = str(temporary).replace("'", "''")
            # Row by row beside its mark: a column of the file may have any name, also that of duckdb's row number.
            query = "SELECT train.* FROM read_parquet(?) AS train POSITIONAL JOIN marks WHERE marks.keep"
            database.execute(f"COPY ({query}) TO '{place}' (FORMAT parquet, COMPRESSION zstd)", [name])
            temporary.replace(out)
        with train.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return count_up(
            desk.settings, rows=rows, drop_counts=dict(drop_counts), touched_items=sorted(touched_items), sha256=sha256
        )


@contextmanager
def _connection(train: Path, out: Path) -> Iterator[tuple[Any, str]]:
    """Yield a database of duckdb and its name of `train`; duckdb's errors become ours."""
    duckdb = need("duckdb", extra="parquet")
    if not train.is_file():
        raise UsageError(f"{train}: no such file")
    with glob_free(train) as name:
        try:
            yield duckdb.connect(), name
        except duckdb.IOException as error:
            if out.parent.is_dir() and train.is_file():
                raise ResourceError(f"Cannot read {train} or write {out}: {error}") from error
            raise
        except duckdb.Error as error:
            raise UsageError(f"{train} cannot be read as Parquet: {error}. Copy or make the file again") from error


def _slices(database: Any, train: Path, name: str, columns: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    column_list = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    reading = database.cursor().execute(f"SELECT {column_list} FROM read_parquet(?)", [name])  # noqa: S608 - quoted above
    number = 0
    while rows := reading.fetchmany(_SLICE):
        texts = []
        for row in rows:
            number += 1
            try:
                texts.append(text_of(dict(zip(columns, row, strict=True)), columns))
            except SpecError as problem:
                raise SpecError(f"{train}: row {number}: {problem}") from problem
        yield list(range(number - len(rows) + 1, number + 1)), texts
