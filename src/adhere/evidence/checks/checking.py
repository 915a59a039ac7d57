"""Define a check of printed numbers, and ways to repeat it with other numbers.

A check is a statement about printed numbers that holds or fails. Swap and rotation hypotheses repeat the same checks
with two cells exchanged or a header shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from adhere.evidence.claims.printed import PrintedNumber
from adhere.evidence.claims.values import Value

ConflictType = Literal[
    "cross_document", "cross_table", "arithmetic", "swap", "header_rotation", "invariant", "emphasis"
]
Severity = Literal["error", "warning", "info"]
Read = Callable[[Value], PrintedNumber]


@dataclass(frozen=True, slots=True)
class Source:
    """Names a line that a finding rests on."""

    document: str
    line: int


@dataclass(slots=True)
class Check:
    """Makes one statement about some numbers.

    `subjects` are the numbers that are wrong if the check fails (the average, not its members); `others` take part.
    `holds` reads every number through its argument, so that a hypothesis can put other numbers in their place.
    `sources` are lines besides those of the numbers: a caption, a sentence. `doubt` says why a failure accuses no
    number: the two tables seem to measure different things. A hypothesis may still explain such a failure. `failed`
    says that it does not hold for the numbers as printed, `absorbed` that something explains the failure.
    """

    kind: ConflictType
    subjects: tuple[Value, ...]
    others: tuple[Value, ...]
    holds: Callable[[Read], bool]
    message: Callable[[Read], str]
    severity: Severity = "error"
    sources: tuple[Source, ...] = ()
    doubt: str = ""
    failed: bool = field(default=False, init=False)
    absorbed: bool = field(default=False, init=False)

    @property
    def values(self) -> tuple[Value, ...]:
        """Every number that takes part."""
        return self.subjects + self.others

    @property
    def is_open(self) -> bool:
        """Whether the check failed and nothing explains the failure yet."""
        return self.failed and not self.absorbed


def as_printed(value: Value) -> PrintedNumber:
    """Return the number that is printed."""
    return value.printed


def replace_numbers(numbers: dict[int, PrintedNumber]) -> Read:
    """Return a function that reads a value's number from `numbers`, by `id()` of the value; other values as printed.

    The values must live as long as the function.
    """
    return lambda value: numbers.get(id(value), value.printed)


def exchange(pairs: Iterable[tuple[Value, Value]]) -> Read:
    """Return a function that reads the numbers of values with the two cells of each pair exchanged."""
    numbers: dict[int, PrintedNumber] = {}
    for first, second in pairs:
        numbers[id(first)], numbers[id(second)] = second.printed, first.printed
    return replace_numbers(numbers)


def show_number(number: PrintedNumber) -> str:
    """Write a number with as many decimals as were printed."""
    return f"{number.value:.{number.decimals}f}".replace("-", "−") + ("%" if number.unit == "%" else "")


def round_number(value: float, like: PrintedNumber, *, more: int = 0) -> str:
    """Write a computed number with the decimals of a printed one, and `more`."""
    return f"{value:.{like.decimals + more}f}".replace("-", "−")
