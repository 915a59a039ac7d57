"""Parquet files, through duckdb: read in slices, written without the dropped rows. A pass that was killed starts again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from adhere.build.decontaminate.files import (
    Desk,
    Done,
    LcsDrop,
    NgramDrop,
    Rule,
    Settings,
    TestItem,
    default_columns,
    summed,
    text_of,
)
from adhere.errors import SpecError, UsageError
from adhere.extras import need
from adhere.lines.blocks import written_whole
from adhere.progress import Progress
from adhere.schema import encode

_SLICE = 2048


def decontaminate_parquet(
    train: Path, items: Sequence[TestItem], *, out: Path, drops: Path, columns: Sequence[str], rule: Rule, progress: Progress
) -> Done:  # fmt: skip
    """As `files.decontaminate_file`, from and to Parquet.

    Raises:
        UsageError: It is no Parquet file, or has no rows.
        SpecError: A row has no text.
        MissingExtra: duckdb is not installed.
    """
    duckdb = need("duckdb", extra="parquet")
    if not train.is_file():
        raise UsageError(f"{train}: no such file")
    database = duckdb.connect()
    try:
        names = [row[0] for row in database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(train)]).fetchall()]
    except duckdb.Error as error:
        raise UsageError(f"{train} cannot be read as Parquet: {error}") from error
    chosen = tuple(columns) or default_columns(dict.fromkeys(names))
    for column in chosen:
        if column not in names:
            raise SpecError(f"{train}: no column {column!r}. Columns: {', '.join(names)}")
    desk = Desk(Settings(tuple(map(tuple, items)), chosen, rule, "error", str(train)))  # type: ignore[arg-type]
    dropped: Counter[str] = Counter()
    touched: set[int] = set()
    rows = 0
    database.execute("CREATE TABLE gone (number BIGINT)")
    with written_whole(drops) as write, progress.step("compare", None, "rows") as step:
        for numbers, texts in _slices(database, train, chosen):
            found, items_touched = desk.drops(numbers, texts)
            _store(database, write, found)
            dropped.update(drop.against for drop in found)
            touched |= items_touched
            rows += len(texts)
            step.advance(len(texts), f"{dropped.total():,} dropped")
        if rows == 0:
            raise UsageError(f"{train} has no rows")
        temporary = out.with_name(f".{out.name}.part")
        query = (
            "SELECT * EXCLUDE (file_row_number) FROM read_parquet(?, file_row_number = true) "
            "WHERE file_row_number + 1 NOT IN (SELECT number FROM gone) ORDER BY file_row_number"
        )
        place = str(temporary).replace("'", "''")
        database.execute(f"COPY ({query}) TO '{place}' (FORMAT parquet, COMPRESSION zstd)", [str(train)])
        temporary.replace(out)
    with train.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return summed(desk.settings, rows=rows, dropped=dict(dropped), touched=sorted(touched), skipped=(), sha256=sha256)


def _store(database: Any, write: Any, found: Sequence[LcsDrop | NgramDrop]) -> None:
    if found:
        database.executemany("INSERT INTO gone VALUES (?)", [[drop.line] for drop in found])
        write(b"".join(encode(drop) + b"\n" for drop in found))


def _slices(database: Any, train: Path, columns: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    listed = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    reading = database.cursor().execute(f"SELECT {listed} FROM read_parquet(?)", [str(train)])  # noqa: S608 - quoted above
    number = 0
    while found := reading.fetchmany(_SLICE):
        texts = []
        for row in found:
            number += 1
            try:
                texts.append(text_of(dict(zip(columns, row, strict=True)), columns))
            except SpecError as problem:
                raise SpecError(f"{train}: row {number}: {problem}") from problem
        yield list(range(number - len(found) + 1, number + 1)), texts
