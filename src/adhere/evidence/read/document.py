"""Define a document as the checks see it: tables of cells, sentences, headings and notes, each with its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from adhere.evidence.claims.printed import PrintedNumber, plain
from adhere.schema import Record


class Part(NamedTuple):
    """Holds one value of a cell: most cells have one, `38.77 / 66.32` has two, `65.5 (64.4)` has one and an aside.

    `place` is the value's position among values that slashes separate, from 0. `name` is the cell's own name of the
    value (`F1: 92.3 EM: 86.6`). `is_aside` marks a second score in parentheses.
    """

    text: str
    number: PrintedNumber | None
    bold: bool
    underlined: bool = False
    place: int = 0
    is_aside: bool = False
    name: str = ""


class Cell(NamedTuple):
    """Holds a cell of a table; `text` is as printed, markup included."""

    text: str
    parts: tuple[Part, ...]
    line: int

    @property
    def number(self) -> PrintedNumber | None:
        """The number of a cell with one value; else None."""
        return self.parts[0].number if len(self.parts) == 1 else None


class Row(NamedTuple):
    """Holds a row below the header; `section` is the last section row above it (`Coding Tasks`)."""

    cells: tuple[Cell, ...]
    line: int
    section: str


class Correction(Record, frozen=True):
    """Says how a table is to be read; a field that is left empty changes nothing.

    `at` is the place where the table begins (`paper.tex:21`). `models` is the axis on which models stand, or `none` for
    a table that holds no scores. `names` is the label of the column that names the rows, `scores` are the labels of the
    columns that hold scores, if not all do. `model` is the one model that the table is about, with `benchmarks` on the
    rows (or columns). `measured_on` and `metric` are the set and the measure of all numbers: labels are then parts of
    them.
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
        """Whether the correction says where models stand, or that there are none; nothing else then decides that."""
        return bool(self.models or self.model or self.names)


@dataclass(slots=True)
class Table:
    """Holds a table with everything around it that says what its numbers mean.

    `index` is its place among the document's tables, `label` its printed number (`Table 3`). `headers` are the header
    rows, outermost first, each as wide as the rows; a spanning header is repeated over the columns that it spans.
    `headings` are the section headings above the table, outermost first; `lead` is the text directly above. `is_ruled`
    is false for numbers on a page without rules: they may be a plot or running text. `correction` is what a person told
    of how to read it, if anything.
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
        """The document's number of the table (`Table 6`), else its position."""
        return self.label or f"table at line {self.line}"

    @property
    def width(self) -> int:
        """Number of columns, the label column included."""
        return len(self.headers[0]) if self.headers else max((len(row.cells) for row in self.rows), default=0)

    def columns_called(self, *labels: str) -> list[int]:
        """Return the columns that have one of these labels in a row of the header, in any case."""
        keys = {plain(label).strip(" :").lower() for label in labels}
        return [c for c in range(self.width) if any(plain(row[c]).strip(" :").lower() in keys for row in self.headers)]

    def bring_to_front(self, column: int) -> None:
        """Make a column the first one, so that names behind the numbers are read like names before them."""
        self.headers = [[row[column], *row[:column], *row[column + 1 :]] for row in self.headers]
        self.rows = [
            row._replace(cells=(row.cells[column], *row.cells[:column], *row.cells[column + 1 :]))
            if len(row.cells) > column
            else row
            for row in self.rows
        ]


class Note(NamedTuple):
    """Holds a footnote or a note under a table; `mark` is its sign (`*`), empty if it has none."""

    text: str
    line: int
    mark: str = ""


class Sentence(NamedTuple):
    """Holds one sentence of prose with the line that it starts on and the headings above it.

    `paragraph` is the number of its paragraph, `lead` the bold words that its paragraph begins with.
    """

    text: str
    line: int
    paragraph: int
    headings: tuple[str, ...]
    lead: str = ""


class Problem(NamedTuple):
    """Names something in a document that could not be read as meant, so that nothing is dropped silently."""

    document: str
    line: int
    message: str


@dataclass(slots=True)
class Document:
    """Holds everything read from one file.

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
        """Return the text of a 1-based line; empty if there is no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""
