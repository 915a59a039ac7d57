"""The findings of `adhere claims`, as stored and printed: claims, conflicts, and the lines they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adhere.schema import Record

VERSION = 3
Status = Literal["confirmed", "contradicted", "unsupported", "not comparable"]


class Line(Record, frozen=True):
    """One line of a document, quoted as it stands there."""

    document: str
    line: int
    text: str


class Claim(Record, frozen=True):
    """One printed number about a model on a benchmark.

    `table`, `row` and `column` are as printed. `basis` says what the status rests on,
    `guesses` what was assumed to read the names.
    """

    id: str
    model: str
    benchmark: str
    metric: str
    value: float
    document: str
    table: str
    row: str
    column: str
    line: int
    printed: str
    variant: str = ""
    setting: str = ""
    unit: str = ""
    tuning: str = ""
    direction: str = "higher"
    status: Status = "unsupported"
    basis: str = ""
    guesses: tuple[str, ...] = ()


class Conflict(Record, frozen=True):
    """Something that cannot all be right. `documents[i]` and `lines[i]` name one line; `evidence` quotes them."""

    id: str
    type: str
    severity: Literal["error", "warning", "info"]
    claims: tuple[str, ...]
    message: str
    documents: tuple[str, ...]
    lines: tuple[int, ...]
    evidence: tuple[Line, ...] = ()
    explains: tuple[str, ...] = ()


class Reconciliation(Record, frozen=True):
    """One number in two places. `difference` is second minus first; `allowed` what sampling of both allows (95 %)."""

    first: str
    second: str
    standing: Literal["agree", "differ", "not comparable"]
    reason: str
    difference: float | None
    allowed: float | None


class Unread(Record, frozen=True):
    """Something of a document that could not be read as meant."""

    document: str
    line: int
    message: str


class TableReading(Record, frozen=True):
    """How a table of numbers was read, to be looked over: one that is misread is so as a whole, and one line tells.

    It begins at `line`. `models_in` is the axis on which models stand, empty where one is named for all. `models` and
    `benchmarks` are the first of them, as claims name them, with how many there are. `is_corrected`: `--corrections`
    says something of it.
    """

    document: str
    line: int
    name: str
    models_in: Literal["rows", "columns", ""]
    models: tuple[str, ...]
    model_count: int
    benchmarks: tuple[str, ...]
    benchmark_count: int
    claims: int
    no_scores: tuple[str, ...] = ()
    page: int | None = None
    is_corrected: bool = False

    @property
    def label(self) -> str:
        """The name by which the document calls it; empty where it has none, and `name` is only its place."""
        return "" if self.name == f"table at line {self.line}" else self.name


class DocumentFacts(Record, frozen=True):
    """The facts read of one document; `numeric_tables` counts those of its tables that hold numbers.

    `partly_read` names tables of scores of which less than nine tenths were read; `unread` lists what is missing.
    """

    name: str
    path: str
    format: str
    sha256: str
    lines: int
    tables: int
    sentences: int
    claims: int
    numeric_tables: int = 0
    partly_read: tuple[str, ...] = ()


class Findings(Record, frozen=True):
    """Everything that one call of `adhere claims` found."""

    version: int
    documents: tuple[DocumentFacts, ...]
    claims: Sequence[Claim]
    conflicts: tuple[Conflict, ...]
    reconciled: tuple[Reconciliation, ...]
    unread: tuple[Unread, ...]
    checks: dict[str, dict[str, int]]
    tables: tuple[TableReading, ...] = ()

    @property
    def unclaimed(self) -> tuple[str, ...]:
        """Documents with tables of numbers of which not one could be read as a claim: nothing was checked there."""
        return tuple(d.name for d in self.documents if d.numeric_tables and not d.claims)

    @property
    def partly_read(self) -> tuple[str, ...]:
        """Tables of scores of which less than nine tenths were read, with their documents."""
        return tuple(f"{d.name}: {table}" for d in self.documents for table in d.partly_read)

    @property
    def errors(self) -> int:
        """Conflicts of severity `error`."""
        return sum(conflict.severity == "error" for conflict in self.conflicts)
