"""Write the cells of workbooks, for every page that has one.

Names and answers are untrusted, so every text is written as a string cell: nothing becomes a formula, a link or a
number, invisible characters are written out, and a text that is longer than a cell says that it was cut.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from adhere.errors import ResourceError
from adhere.report.pieces.numbers import DASH
from adhere.report.pieces.untrusted import visible

LONGEST_CELL = 32_000  # UTF-16 units; Excel's limit is 32,767
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "nan_inf_to_errors": False,
}


def write_workbook(path: Path, fill: Callable[[Any], None]) -> None:
    """Write a workbook that `fill` puts sheets into; whoever reads `path` sees the old file or the whole new one.

    Raises:
        ResourceError: The file cannot be written.
    """
    import xlsxwriter  # 0.1 s

    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workbook = xlsxwriter.Workbook(str(temporary), _OPTIONS)
        try:
            fill(workbook)
            workbook.close()
        except BaseException:
            with contextlib.suppress(Exception):  # it keeps temporary files open until it is closed
                workbook.close()
            raise
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, xlsxwriter.exceptions.XlsxFileError) as error:
        raise ResourceError(f"Cannot write the workbook {path}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def formats_of(workbook: Any) -> dict[str, Any]:
    """Return the formats of cells, by name."""
    return {
        "plain": workbook.add_format({"valign": "top"}),
        "wrap": workbook.add_format({"valign": "top", "text_wrap": True}),
        "head": workbook.add_format({"bold": True, "text_wrap": True, "bottom": 1, "valign": "top"}),
        "note": workbook.add_format({"italic": True}),
        "percent": workbook.add_format({"num_format": "0.0%", "valign": "top"}),
        "count": workbook.add_format({"num_format": "#,##0", "valign": "top"}),
        "points": workbook.add_format({"num_format": "+0.0%;-0.0%;0.0%", "valign": "top"}),
        "decimal": workbook.add_format({"num_format": "0.0000", "valign": "top"}),
        "seconds": workbook.add_format({"num_format": "0.00", "valign": "top"}),
        "usd": workbook.add_format({"num_format": "0.000000", "valign": "top"}),
    }


def cell_text(text: str) -> str:
    """Return a text for a cell: visible, valid, and cut with a note if it is too long."""
    plain = text if text.replace("\n", "").replace("\t", "").isprintable() else visible(text)
    if len(plain) * 2 <= LONGEST_CELL:
        return plain
    units = plain.encode("utf-16-le", "replace")
    if len(units) <= 2 * LONGEST_CELL:
        return plain
    beginning = units[: 2 * LONGEST_CELL].decode("utf-16-le", "ignore")
    return f"{beginning} […cut: {len(text):,} characters in all; the whole text is in the store]"


class SheetNames:
    """Makes names that Excel accepts.

    They have at most 31 characters, no brackets, colons, stars, question marks or slashes, and are unique regardless of
    case.
    """

    def __init__(self) -> None:
        self._taken = {"history"}  # Excel's own

    def take(self, title: str) -> str:
        """Return a free name that is as close to `title` as possible."""
        plain = re.sub(r"[\[\]:*?/\\]|[^\x20-\U0010FFFF]", "-", visible(title)).strip(" '") or "sheet"
        name, number = _first_units(plain, 31), 1
        while name.lower() in self._taken:
            number += 1
            mark = f" ({number})"
            name = _first_units(plain, 31 - len(mark)) + mark
        self._taken.add(name.lower())
        return name


def _first_units(text: str, size: int) -> str:
    """Return the first `size` UTF-16 units of the text."""
    return text.encode("utf-16-le", "replace")[: 2 * size].decode("utf-16-le", "ignore").strip(" '") or "sheet"


class Sheet:
    """Writes rows of a worksheet from top to bottom: texts as strings, finite numbers, everything else as a dash."""

    def __init__(self, sheet: Any, formats: Mapping[str, Any]) -> None:
        self.sheet, self.formats, self.row = sheet, formats, 0
        self._head = (0, 0)

    def add(
        self, values: Iterable[object], formats: Mapping[int, str] | None = None, *, default: str = "plain"
    ) -> None:
        """Write one row; `formats` by column."""
        for column, value in enumerate(values):
            look = self.formats[(formats or {}).get(column, default)]
            if isinstance(value, bool) or value is None or (isinstance(value, float) and not math.isfinite(value)):
                self.sheet.write_string(self.row, column, DASH if not isinstance(value, bool) else str(value), look)
            elif isinstance(value, int | float):
                self.sheet.write_number(self.row, column, value, look)
            else:
                self.sheet.write_string(self.row, column, cell_text(str(value)), look)
        self.row += 1

    def head(self, names: Sequence[str], widths: Sequence[int]) -> None:
        """Write the heading, which stays visible, and set widths; call it before rows are written."""
        for column, width in enumerate(widths):
            self.sheet.set_column(column, column, width)
        self.sheet.freeze_panes(self.row + 1, 1)
        self._head = (self.row, len(names) - 1)
        self.add(names, default="head")

    def filter(self) -> None:
        """Let readers filter the rows from the heading to here; later rows are no part of the table."""
        row, last = self._head
        self.sheet.autofilter(row, 0, max(row, self.row - 1), last)
