"""A document as the checks see it: tables of cells, sentences, headings and notes, each with the line it stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from adhere.evidence.claims.printed import PrintedNumber, plain
from adhere.schema import Record


class Part(NamedTuple):
    """One value of a cell: most cells have one, `38.77 / 66.32` has two, `65.5 (64.4)` has one and an aside.

    `place` counts the values that slashes set apart; `name` is what the cell itself calls it (`F1: 92.3 EM: 86.6`).
    """

    text: str
    number: PrintedNumber | None
    bold: bool
    underlined: bool = False
    place: int = 0
    is_aside: bool = False
    name: str = ""


class Cell(NamedTuple):
    """A cell of a table; `text` is as printed, markup included."""

    text: str
    parts: tuple[Part, ...]
    line: int

    @property
    def number(self) -> PrintedNumber | None:
        """The number of a cell with one value."""
        return self.parts[0].number if len(self.parts) == 1 else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is printed there (a dash is something)."""
        return not self.text.strip()


class Row(NamedTuple):
    """A row below the header; `section` is the last section row above it (`Coding Tasks`)."""

    cells: tuple[Cell, ...]
    line: int
    section: str


class Correction(Record, frozen=True):
    """How a person says that a table is to be read; what is left empty is found as ever.

    `at` is the place where it begins (`paper.tex:21`). `models` is the axis on which they stand, or `none` for a table
    that holds no scores. `names` is the label of the column that names the rows, `scores` are those of the columns that
    hold scores, if not all do. `model` is the one model that all is about, with `benchmarks` on the rows (or columns).
    `measured_on` and `metric` are what all was measured on and by: labels are then its parts.
    """

    at: str
    models: Literal["", "rows", "columns", "none"] = ""
    names: str = ""
    scores: tuple[str, ...] = ()
    model: str = ""
    benchmarks: Literal["", "rows", "columns"] = ""
    measured_on: str = ""
    metric: str = ""

    @property
    def says_who(self) -> bool:
        """Whether it says where models stand, or that none do: then nothing else is asked about that."""
        return bool(self.models or self.model or self.names)


@dataclass(slots=True)
class Table:
    """A table with everything around it that says what its numbers mean.

    `headers` are the header rows, outermost first, each as wide as the rows; a spanning header is repeated over the
    columns that it spans. `headings` are the section headings above it, outermost first; `lead` is the text directly
    above it. `is_ruled` is false for numbers of a page that no rules make a table: it may be a plot or running text.
    """

    index: int
    label: str
    caption: str
    line: int
    headers: list[list[str]]
    rows: list[Row]
    caption_line: int | None = None
    notes: list[Note] = field(default_factory=list)
    headings: tuple[str, ...] = ()
    page: int | None = None
    lead: str = ""
    is_ruled: bool = True
    correction: Correction | None = None

    @property
    def name(self) -> str:
        """`Table 6` where the document numbers it, else its position."""
        return self.label or f"table at line {self.line}"

    @property
    def width(self) -> int:
        """Columns, the label column included."""
        return len(self.headers[0]) if self.headers else max((len(row.cells) for row in self.rows), default=0)

    def columns_called(self, *labels: str) -> list[int]:
        """The columns that have one of these labels in a row of the header, letters large or small."""
        keys = {plain(label).strip(" :").lower() for label in labels}
        return [c for c in range(self.width) if any(plain(row[c]).strip(" :").lower() in keys for row in self.headers)]

    def bring_to_front(self, column: int) -> None:
        """Make a column the first one: names that stand behind the numbers are read as those before them are."""
        self.headers = [[row[column], *row[:column], *row[column + 1 :]] for row in self.headers]
        self.rows = [
            row._replace(cells=(row.cells[column], *row.cells[:column], *row.cells[column + 1 :]))
            if len(row.cells) > column
            else row
            for row in self.rows
        ]


class Note(NamedTuple):
    """A footnote or a note under a table."""

    text: str
    line: int
    mark: str = ""


class Sentence(NamedTuple):
    """One sentence of prose with the line it starts on and the headings above it."""

    text: str
    line: int
    paragraph: int
    headings: tuple[str, ...]
    lead: str = ""


class Problem(NamedTuple):
    """Something that could not be read as meant; nothing is dropped silently."""

    document: str
    line: int
    message: str


@dataclass(slots=True)
class Document:
    """Everything read from one file.

    `lines` are kept so that a finding can quote its source. `loose_rows` are lines (from 1) that look like rows of
    tables, but stand in none.
    """

    name: str
    path: str
    format: str
    lines: list[str]
    tables: list[Table] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    title: str = ""
    loose_rows: list[int] = field(default_factory=list)

    def line(self, number: int) -> str:
        """The text of a 1-based line; empty where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""
