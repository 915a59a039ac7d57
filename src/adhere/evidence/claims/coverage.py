"""Tell how much of a table was read.

It counts the cells that print a number and those that were read as numbers, and names the rest.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adhere.evidence.claims.printed import SCALES, is_absent, plain
from adhere.evidence.claims.values import Sheet, Value

LEAST_NUMBERS = 2
LEAST_SHARE = 0.9
MAX_NAMED = 3
_DIGITS = re.compile(r"(?<![\w.-])\d(?!\d*-[A-Za-z])")  # not `4-gram`
_BEGINS = re.compile(
    r"[^\w\s]{0,2}\d[\d.,' \u2019]*\d?\D{0,3}$|\d+[.,]\d|(?!(?:19|20)\d\d\b)\d[\d.]*\s*[-~]\s*\d[\d.]*$"
)
# Listed where it is not read, but no score that is missing: an interval, a bound, money.
_NO_SCORE = re.compile(
    r"[\[(]?\s*[-+]?[\d.,]+\s*[%KMBT]?\s*(?:,|;|-{1,2}|to)\s*[-+]?[\d.,]+\s*[%KMBT]?\s*[\])]?$|[<>≤≥$€£]"
)


class Coverage(NamedTuple):
    """Counts the cells of scores that print a number, and how many of them were read.

    `message` names the rest; empty if there is none.
    """

    printed: int
    read: int
    message: str

    @property
    def is_partial(self) -> bool:
        """Whether more than a tenth of a table of scores was not read."""
        return self.read < LEAST_SHARE * self.printed


def is_claim(value: Value) -> bool:
    """Tell whether a number is about a model on a benchmark."""
    return value.model is not None and value.benchmark is not None and value.role not in {"attribute", "share", "delta"}


def coverage_of(sheet: Sheet) -> Coverage:
    """Count the numbers of a sheet that were read, and say why others were not."""
    values = [value for value in sheet.values() if value.printed.unit not in SCALES]
    if not any(map(is_claim, values)):
        if len(values) >= LEAST_NUMBERS:
            return Coverage(0, 0, _why_nothing(sheet, values))
        return Coverage(0, 0, _lost_in_front(sheet) or _lost_as_texts(sheet))
    n_printed = n_read = 0
    lost_cells: list[str] = []
    for r, row in enumerate(sheet.table.rows):
        for c in range(sheet.first_column, len(row.cells)):
            if (r, c) in sheet.cells:
                n_read, n_printed = n_read + 1, n_printed + 1
                continue
            text = row.cells[c].text
            if is_absent(text) or not any(map(str.isdigit, text)):
                continue
            if _DIGITS.search(plain_text := plain(text)):
                lost_cells.append(f"“{plain_text[:40]}” (line {row.cells[c].line})")
                roles = sheet.column_roles[c : c + 1]
                n_printed += bool(roles) and roles[0] in {"score", "aggregate"} and not _NO_SCORE.match(plain_text)
    shares = _rows_of_shares(sheet)
    if not lost_cells:
        return Coverage(n_printed, n_read, shares)
    n_cells = n_read + len(lost_cells)
    message = f"{sheet.table.name}: {len(lost_cells)} of {n_cells} cells were not read as numbers: {_first(lost_cells)}"
    return Coverage(n_printed, n_read, f"{message}; {shares}" if shares else message)


def _rows_of_shares(sheet: Sheet) -> str:
    """Name the rows that make no claims because they alone print percentages."""
    rows = zip(sheet.row_labels, sheet.row_roles, sheet.table.rows, strict=True)
    share_rows = [
        f"{label!r} (line {row.line})"
        for label, role, row in rows
        if role == "share" and any(part.number and part.number.unit == "%" for cell in row.cells for part in cell.parts)
    ]
    if not share_rows:
        return ""
    reason = "taken for shares, no scores, because no other row prints %"
    return f"{sheet.table.name}: {reason}: {', '.join(share_rows[:MAX_NAMED])}"


def _lost_in_front(sheet: Sheet) -> str:
    """Say how many numbers are lost in the first column, which names the rows; empty if they are too few."""
    numbers = [row.cells[0].number for row in sheet.table.rows if row.cells]
    count = sum(number is not None and number.decimals > 0 for number in numbers)
    if count < LEAST_NUMBERS:
        return ""
    return f"{sheet.table.name}: {count} numbers make no claims: they stand in the first column, which names the rows"


def _lost_as_texts(sheet: Sheet) -> str:
    """Report a table without numbers if several cells begin with one, so that none is lost silently; else empty."""
    cells = [cell for row in sheet.table.rows for cell in row.cells[1:]]
    lost_cells = [
        f"“{plain_text[:40]}” (line {cell.line})" for cell in cells if _BEGINS.match(plain_text := plain(cell.text))
    ]
    if len(lost_cells) < LEAST_NUMBERS:
        return ""
    examples = _first(lost_cells)
    return f"{sheet.table.name}: no cell was read as a number, though {len(lost_cells)} begin like one: {examples}"


def _first(cells: list[str]) -> str:
    return ", ".join(cells[:MAX_NAMED]) + (f" and {len(cells) - MAX_NAMED} more" if len(cells) > MAX_NAMED else "")


def _why_nothing(sheet: Sheet, values: list[Value]) -> str:
    """Say why a table of numbers makes no claims."""
    why = sheet.nothing or (
        "its labels name attributes or shares, no benchmark"
        if sheet.models_in or any(value.model for value in values)
        else "neither its labels nor its caption or heading name a model"
    )
    return f"{sheet.table.name}: {len(values)} numbers make no claims: {why}"
