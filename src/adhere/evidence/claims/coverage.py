"""How much of a table was read.

The cells that print a number, those that became a number of ours, and the rest by name.
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
# Listed where it is not read, but no score that is missing: an interval, a bound, money.
_NO_SCORE = re.compile(
    r"[\[(]?\s*[-+]?[\d.,]+\s*[%KMBT]?\s*(?:,|;|-{1,2}|to)\s*[-+]?[\d.,]+\s*[%KMBT]?\s*[\])]?$|[<>≤≥$€£]"
)


class Coverage(NamedTuple):
    """Cells of scores that print a number, and how many of them were read.

    `message` names the rest, empty where there is none.
    """

    printed: int
    read: int
    message: str

    @property
    def is_partial(self) -> bool:
        """Whether more than a tenth of a table of scores was not read."""
        return self.read < LEAST_SHARE * self.printed


def is_claim(value: Value) -> bool:
    """Whether a number is about a model on a benchmark."""
    return value.model is not None and value.benchmark is not None and value.role not in {"attribute", "share", "delta"}


def coverage_of(sheet: Sheet) -> Coverage:
    """What of a sheet was read."""
    values = [value for value in sheet.values() if value.printed.unit not in SCALES]
    if not any(map(is_claim, values)):
        return Coverage(0, 0, _why_nothing(sheet, values) if len(values) >= LEAST_NUMBERS else _lost_in_front(sheet))
    printed = read = 0
    lost: list[str] = []
    for r, row in enumerate(sheet.table.rows):
        for c in range(sheet.first_column, len(row.cells)):
            if (r, c) in sheet.cells:
                read, printed = read + 1, printed + 1
                continue
            text = row.cells[c].text
            if is_absent(text) or not any(map(str.isdigit, text)):
                continue
            if _DIGITS.search(shown := plain(text)):
                lost.append(f"“{shown[:40]}” (line {row.cells[c].line})")
                roles = sheet.column_roles[c : c + 1]
                printed += bool(roles) and roles[0] in {"score", "aggregate"} and not _NO_SCORE.match(shown)
    if not lost:
        return Coverage(printed, read, "")
    named = ", ".join(lost[:MAX_NAMED]) + (f" and {len(lost) - MAX_NAMED} more" if len(lost) > MAX_NAMED else "")
    return Coverage(
        printed, read, f"{sheet.table.name}: {len(lost)} of {read + len(lost)} cells were not read as numbers: {named}"
    )


def _lost_in_front(sheet: Sheet) -> str:
    """What is said of a table of which only the first column prints numbers: it was taken for the names of the rows."""
    numbers = [row.cells[0].number for row in sheet.table.rows if row.cells]
    count = sum(number is not None and number.decimals > 0 for number in numbers)
    if count < LEAST_NUMBERS:
        return ""
    return f"{sheet.table.name}: {count} numbers make no claims: they stand in the first column, which names the rows"


def _why_nothing(sheet: Sheet, values: list[Value]) -> str:
    """Why a table of numbers makes no claims."""
    why = sheet.nothing or (
        "its labels name attributes or shares, no benchmark"
        if sheet.models_in or any(value.model for value in values)
        else "neither its labels nor its caption or heading name a model"
    )
    return f"{sheet.table.name}: {len(values)} numbers make no claims: {why}"
