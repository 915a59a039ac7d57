"""Read files of training rows; an error names file and line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from adhere.errors import AdhereError
from adhere.lines.blocks import LineFile

Row = dict[str, Any]
T = TypeVar("T")


def read_rows(path: Path, read_row: Callable[[Row], T]) -> Iterator[T]:
    """Yield what `read_row` makes of each row of a file of JSON lines (plain, .gz, .zst).

    Raises:
        SpecError, UsageError: A line is no JSON object, or `read_row` refuses a row; the message names file and line.
    """
    for number, row in LineFile(path).rows(Row):
        try:
            record = read_row(row)
        except AdhereError as problem:
            raise type(problem)(f"{path}:{number}: {problem}") from problem
        yield record
