"""The findings of `adhere claims`, as stored and printed: claims, conflicts, and the lines that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adhere.schema import Record

VERSION = 3
Status = Literal["confirmed", "contradicted", "unsupported", "not comparable"]


class Line(Record, frozen=True):
    """Quotes one line of a document."""

    document: str
    line: int
    text: str


class Claim(Record, frozen=True):
    """Holds one printed number about a model on a benchmark.

    `table`, `row` and `column` are as printed. `value` is in `unit` (`%`, `points`, a scale letter; empty: none is
    printed). `variant` is the version or part of the benchmark, `setting` how the model was run if the table says it,
    `tuning` `base` or `instruct`, `direction` which values are better. `basis` says what the status rests on, `guesses`
    what was assumed to read the names.
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
    """Describes numbers that cannot all be right.

    `claims` are the ids of these numbers. `documents[i]` and `lines[i]` name one line; `evidence` quotes these lines.
    `explains` are the messages of the failed checks that this one error accounts for.
    """

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
    """Compares one number in two places.

    `difference` is second minus first; `allowed` is the difference that sampling of both allows (95 %).
    """

    first: str
    second: str
    standing: Literal["agree", "differ", "not comparable"]
    reason: str
    difference: float | None
    allowed: float | None


class Unread(Record, frozen=True):
    """Names something in a document that could not be read as meant."""

    document: str
    line: int
    message: str


class TableReading(Record, frozen=True):
    """Tells how a table of numbers was read, so that a person can look it over: a table is usually misread as a whole.

    The table begins at `line`. `models_in` is the axis on which models stand, empty if one model is named for all.
    `models` and `benchmarks` are the first of them, as claims name them, with their numbers in `model_count` and
    `benchmark_count`; `claims` counts the claims. `no_scores` are labels of columns and rows that print numbers but no
    claim. `is_corrected` says that `--corrections` mentions the table.
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
        """The document's own name of the table; empty if it has none, and `name` is only its place."""
        return "" if self.name == f"table at line {self.line}" else self.name


class DocumentFacts(Record, frozen=True):
    """Counts the `lines`, `tables`, `sentences` and `claims` read of one document.

    `numeric_tables` counts the tables that hold numbers. `partly_read` names tables of scores of which less than nine
    tenths were read; `unread` lists what is missing.
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
    """Holds everything that one call of `adhere claims` found.

    `reconciled` are pairs of places that print a number for one model on one benchmark, `unread` what could not be read
    as meant. `checks` counts, by kind of check, those that `held`, `failed`, or failed but were `explained` by another
    error.
    """

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
        """Number of conflicts of severity `error`."""
        return sum(conflict.severity == "error" for conflict in self.conflicts)
