"""Define the numbers of a table, with what each is about: a model, a benchmark, a setting."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from adhere.evidence.claims.axis import Orientation
from adhere.evidence.claims.names import BenchmarkName, ModelName, Role
from adhere.evidence.claims.printed import PrintedNumber
from adhere.evidence.read.document import Document, Table

SPECIAL_AVERAGE = re.compile(r"\b(?:weighted|micro|not the mean|official|leaderboard)\b", re.IGNORECASE)
Key = tuple[str, str, str, str, str, str]


@dataclass(slots=True)
class Value:
    """Holds one printed number in its table.

    `part` numbers the values of one cell from 0; `is_part` says that there are several. `role` tells a score from an
    average of scores, a difference, a share, or an attribute of the model. `setting` is what the row or column adds to
    model and benchmark (`without DCA+YARN`, `Non-Contam.`), `shots` how many examples were shown, `beside` what else
    the table prints to distinguish the number (a group, a second label). `direction` says which values are better.
    `is_private` marks benchmarks that only their authors have: the same name in another document need not be the same
    set. `is_firm` is false for cells of broken rows, which are read but not checked. `assumed` says what was guessed to
    read the labels.
    """

    document: str
    table: Table
    row: int
    column: int
    part: int
    is_part: bool
    printed: PrintedNumber
    bold: bool
    underlined: bool
    line: int
    row_label: str
    column_label: str
    role: Role
    model: ModelName | None
    benchmark: BenchmarkName | None
    setting: str = ""
    shots: str = ""
    beside: str = ""
    direction: str = "higher"
    is_private: bool = False
    is_firm: bool = True
    assumed: tuple[str, ...] = ()

    @property
    def guesses(self) -> tuple[str, ...]:
        """The assumptions made to read the names of its model (first) and benchmark."""
        return (*self.model.guesses, *self.assumed) if self.model and self.model.guesses else self.assumed

    @property
    def id(self) -> str:
        """The value's id: `a:t1:r2c3`, and a letter if its cell prints several numbers."""
        letter = "abcdefgh"[self.part] if self.is_part else ""
        return f"{self.sheet_id}:r{self.row + 1}c{self.column}{letter}"

    @property
    def sheet_id(self) -> str:
        """The beginning of the ids of the value's table: `a:t1`."""
        return f"{stem(self.document)}:t{self.table.index}"

    @property
    def key(self) -> Key | None:
        """The fields that agree wherever the number is printed; None for a number without a model or a benchmark."""
        if self.model is None or self.benchmark is None:
            return None
        return (
            self.model.key,
            self.model.tuning,
            self.benchmark.key,
            self.benchmark.variant.lower(),
            self.benchmark.metric,
            self.setting.lower(),
        )

    @property
    def place(self) -> str:
        """Where the number stands, for a message: `Table 6, row 'GPQA', column 'Qwen2-72B'`."""
        return f"{self.table.name}, row {self.row_label!r}, column {self.column_label!r}"


@dataclass(slots=True)
class Sheet:
    """Holds a table with its numbers. `cells[(row, column)]` are the values of a cell, one or more.

    `models_in` says on which axis models stand; `""` if the table is about no models. `row_models` are the models that
    the rows belong to, empty texts unless models stand in rows. `nothing` says why the table makes no claims; empty if
    it may make some.
    """

    document: Document
    table: Table
    models_in: Orientation
    first_column: int
    cells: dict[tuple[int, int], Sequence[Value]]
    row_labels: list[str]
    column_labels: list[str]
    row_roles: list[Role]
    column_roles: list[Role]
    row_models: list[str]
    is_private: bool = False
    nothing: str = ""
    _ordered: list[Value] = field(default_factory=list)

    def value(self, row: int, column: int) -> Value | None:
        """Return the number of a cell that holds exactly one; else None."""
        values = self.cells.get((row, column), ())
        return values[0] if len(values) == 1 else None

    def values(self) -> list[Value]:
        """Return all numbers, row by row."""
        if not self._ordered:
            self._ordered = [value for place in sorted(self.cells) for value in self.cells[place]]
        return self._ordered


def printed_again(values: Iterable[Value], key: Callable[[Value], Hashable]) -> list[Value]:
    """Return the values whose key another value has, too; values with the key None are left out.

    Keys are compared by their hashes, because a dictionary of all keys is large.
    """
    seen: set[int] = set()
    twice: set[int] = set()
    places: list[tuple[int, Value]] = []
    for value in values:
        if (own := key(value)) is not None:
            number = hash(own)
            (twice if number in seen else seen).add(number)
            places.append((number, value))
    return [value for number, value in places if number in twice] if twice else []


@functools.cache
def stem(document: str) -> str:
    """Return a document's name without its extension, for short ids."""
    head, dot, tail = document.rpartition(".")
    return head if dot and len(tail) <= 5 else document
