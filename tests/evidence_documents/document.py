"""Documents as their authors see them, and how they are written to a file.

They have headings, paragraphs of sentences, tables of cells. Rendering keeps the line (1-based) of every row, header,
caption and sentence, so that ground truth can name lines without parsing.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple

from .world import Key

Markup = Literal["md", "html", "txt"]
WORDS_A_LINE = 15  # plain text wraps by words, so that exchanging a number never moves a line


class Place(NamedTuple):
    """Where a cell stands: its table's block in the document, its row and its column (label column not counted)."""

    block: int
    row: int
    column: int


@dataclass
class Cell:
    """One cell: its numbers with the way they are printed, or a literal.

    Attributes:
        keys: what each number is a score of; None where it is derived or no score.
        exact: the numbers before rounding, from which averages and differences were computed.
        form: plain, signed, minus, percent, thousands, latex, textbf, spread, textspread, pair, dagger,
            with_difference (a score and, in brackets, its difference to another).
    """

    values: tuple[Decimal, ...] = ()
    form: str = "plain"
    keys: tuple[Key | None, ...] = ()
    exact: tuple[Decimal, ...] = ()
    bold: bool = False
    literal: str = ""
    spread: str = "0.3"

    @property
    def value(self) -> Decimal | None:
        """The number of a cell that holds exactly one."""
        return self.values[0] if len(self.values) == 1 else None

    def text(self, markup: Markup) -> str:
        if not self.values:
            return self.literal
        value = self.values[0]
        bold = self.bold and markup != "txt"
        if self.form == "pair":
            second = _marked(str(self.values[1]), markup) if bold else str(self.values[1])
            return f"{value} / {second}"
        if self.form == "with_difference":
            return f"{_marked(str(value), markup) if bold else value} ({self.values[1]:+})"
        if self.form in {"latex", "spread"}:
            number = rf"\mathbf{{{value}}}" if bold else str(value)
            return f"${number}$" if self.form == "latex" else rf"${number}_{{\pm {self.spread}}}$"
        if self.form == "textbf":
            return rf"\textbf{{{value}}}" if bold else str(value)
        number = {
            "plain": str(value),
            "signed": f"{value:+}",
            "minus": f"{value:+}".replace("-", "−"),
            "percent": f"{value}%",
            "thousands": f"{value:,}",
            "textspread": f"{value} ± {self.spread}",
            "dagger": f"{value}†",
        }[self.form]
        return _marked(number, markup) if bold else number


def _marked(text: str, markup: Markup) -> str:
    return f"<b>{text}</b>" if markup == "html" else f"**{text}**"


@dataclass
class Row:
    """One row of a table.

    Attributes:
        kind: data, section (a heading inside the table), derived (an average, total or difference) or setting (no
            score).
    """

    label: str
    cells: list[Cell]
    kind: Literal["data", "section", "derived", "setting"] = "data"


@dataclass(frozen=True)
class Relation:
    """A cell that must follow from others.

    Attributes:
        kind: mean, difference (first minus second), sum, share (100 · first / second), relative (difference in % of
            second).
        target, sources: (row, column) in the table.
        index: which number of the target cell.
    """

    kind: Literal["mean", "difference", "sum", "share", "relative"]
    target: tuple[int, int]
    sources: tuple[tuple[int, int], ...]
    index: int = 0

    def expected(self, values: list[Decimal]) -> Decimal:
        match self.kind:
            case "mean":
                return sum(values, Decimal(0)) / len(values)
            case "difference":
                return values[0] - values[1]
            case "sum":
                return sum(values, Decimal(0))
            case "share":
                return 100 * values[0] / values[1]
            case "relative":
                return 100 * (values[0] - values[1]) / values[1]


@dataclass
class Table:
    """A table with its caption.

    Attributes:
        header: header rows from top to bottom, each a list of (text, columns spanned), label column included.
        groups: sets of cells of which the best is printed bold; lowest: the best is the smallest.
        invariants: (kind, cells...) that the caption promises: same (two cells equal), bounds, at_least.
    """

    number: int
    caption: str
    header: list[list[tuple[str, int]]]
    rows: list[Row]
    kind: str = "scores"
    relations: list[Relation] = field(default_factory=list)
    groups: list[list[tuple[int, int]]] = field(default_factory=list)
    lowest: bool = False
    invariants: list[tuple[str, tuple[tuple[int, int], ...], Decimal | None]] = field(default_factory=list)
    note: str = ""

    def cell(self, row: int, column: int) -> Cell:
        return self.rows[row].cells[column]

    def mark_best(self) -> None:
        """Prints the best of every group bold, all of them in a tie."""
        for group in self.groups:
            shown = {place: self.cell(*place).values[-1] for place in group if self.cell(*place).values}
            if len(shown) < 2:
                continue
            best = min(shown.values()) if self.lowest else max(shown.values())
            for place, value in shown.items():
                self.cell(*place).bold = value == best


@dataclass
class Sentence:
    """One sentence and the cells it speaks about."""

    text: str
    uses: tuple[Place, ...] = ()
    quotes: Key | None = None  # a score of another document that the sentence repeats
    quoted: Decimal | None = None


@dataclass
class Paragraph:
    sentences: list[Sentence]


@dataclass
class Heading:
    text: str
    level: int = 2


Block = Heading | Paragraph | Table


@dataclass
class Look:
    """How a document is typeset."""

    markup: Markup = "md"
    caption: Literal["bold", "plain", "heading", "italic"] = "bold"
    caption_mark: str = ":"
    caption_below: bool = False
    divider: str = "---"
    section: Literal["bold-first", "italic-second", "plain"] = "bold-first"
    ruled: bool = False  # plain text: columns between bars instead of blanks
    bare_pipes: bool = False  # Markdown: rows without the outer bars
    mojibake: bool = False  # UTF-8 once read as Mac Roman: Δ, ±, − and † come out as pairs and triples of signs
    rich_html: bool = False  # HTML: thead and tbody, row labels as th
    spanning_sections: bool = False  # HTML: a section is a first cell that spans its rows
    inner_caption: bool = False  # HTML: the caption inside the table
    tall: bool = False  # HTML: one cell a line


@dataclass
class Document:
    name: str
    blocks: list[Block]
    look: Look

    def tables(self) -> list[tuple[int, Table]]:
        return [(index, block) for index, block in enumerate(self.blocks) if isinstance(block, Table)]


@dataclass
class Rendered:
    """A document's text and the lines of its parts.

    Attributes:
        places: ("row", block, row), ("header", block), ("caption", block), ("sentence", block, sentence) → lines.
    """

    name: str
    text: str
    places: dict[tuple[str | int, ...], tuple[int, ...]]

    def lines(self, *place: str | int) -> tuple[int, ...]:
        return self.places[place]


class _Page:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: dict[tuple[str | int, ...], tuple[int, ...]] = {}

    def write(self, text: str, *place: str | int) -> None:
        self.lines.append(text)
        if place:
            self.places[place] = (*self.places.get(place, ()), len(self.lines))


def render(document: Document) -> Rendered:
    """Writes the document in its format."""
    page = _Page()
    look = document.look
    if look.markup == "html":
        page.write("<!DOCTYPE html>")
        page.write(f"<html><head><title>{html.escape(document.name)}</title></head><body>")
    for index, block in enumerate(document.blocks):
        match block:
            case Heading():
                _heading(page, block, look)
            case Paragraph():
                _paragraph(page, block, index, look)
            case Table():
                _table(page, block, index, look)
        page.write("")
    if look.markup == "html":
        page.write("</body></html>")
    text = "\n".join(page.lines) + "\n"
    if look.mojibake:
        text = text.encode().decode("mac_roman")
    return Rendered(document.name, text, page.places)


def _heading(page: _Page, block: Heading, look: Look) -> None:
    if look.markup == "html":
        page.write(f"<h{block.level}>{html.escape(block.text)}</h{block.level}>")
    elif look.markup == "md":
        page.write(f"{'#' * block.level} {block.text}")
    else:
        page.write(block.text.upper() if block.level == 1 else block.text)


def _paragraph(page: _Page, block: Paragraph, index: int, look: Look) -> None:
    if look.markup == "txt":
        line: list[str] = []
        owners: list[int] = []
        for number, sentence in enumerate(block.sentences):
            for word in sentence.text.replace("**", "").split(" "):
                line.append(word)
                owners.append(number)
                if len(line) == WORDS_A_LINE:
                    _owned(page, line, owners, index)
                    line, owners = [], []
        if line:
            _owned(page, line, owners, index)
        return
    text = " ".join(sentence.text for sentence in block.sentences)
    page.write(f"<p>{html.escape(text, quote=False)}</p>" if look.markup == "html" else text)
    for number in range(len(block.sentences)):
        page.places["sentence", index, number] = (len(page.lines),)


def _owned(page: _Page, line: list[str], owners: list[int], index: int) -> None:
    page.write(" ".join(line))
    for number in set(owners):
        place = ("sentence", index, number)
        page.places[place] = (*page.places.get(place, ()), len(page.lines))


def _caption(page: _Page, table: Table, index: int, look: Look) -> None:
    label = f"Table {table.number}{look.caption_mark}"
    if look.markup == "html":
        page.write(f"<p><b>{label}</b> {html.escape(table.caption, quote=False)}</p>", "caption", index)
    elif look.markup == "txt":
        page.write(f"{label} {table.caption}", "caption", index)
    else:
        title, _, rest = table.caption.partition(". ")
        title = title.rstrip(".") + "."
        first = {
            "bold": f"**{label} {title}**",
            "plain": f"{label} {title}",
            "heading": f"#### {label} {title}",
            "italic": f"*{label}* {title}",
        }[look.caption]
        page.write(f"{first} {rest}".rstrip(), "caption", index)


def _table(page: _Page, table: Table, index: int, look: Look) -> None:
    below = look.caption_below and look.markup != "html"
    if not below and not (look.markup == "html" and look.inner_caption):
        _caption(page, table, index, look)
        if look.markup != "txt":
            page.write("")
    {"md": _pipes, "html": _html_table, "txt": _text_table}[look.markup](page, table, index, look)
    if table.note:
        page.write("")
        page.write(f"<p><i>{html.escape(table.note, quote=False)}</i></p>" if look.markup == "html" else table.note)
    if below:
        page.write("")
        _caption(page, table, index, look)


def _spread_out(header: list[tuple[str, int]]) -> list[str]:
    return [part for text, span in header for part in (text, *[""] * (span - 1))]


def _pipes(page: _Page, table: Table, index: int, look: Look) -> None:
    width = sum(span for _, span in table.header[0])
    bare = look.bare_pipes and all(header[0][0] for header in table.header)  # an empty first cell needs its bar

    def piped(parts: list[str]) -> str:
        return " | ".join(parts) if bare and parts[0] else f"| {' | '.join(parts)} |"

    page.write(piped(_spread_out(table.header[0])), "header", index)
    divider = "|".join([look.divider] * width)
    page.write(divider if bare else f"|{divider}|")
    for header in table.header[1:]:
        page.write(piped(_spread_out(header)), "header", index)
    for number, row in enumerate(table.rows):
        if row.kind == "section":
            parts = {
                "bold-first": [f"**{row.label}**", *[""] * (width - 1)],
                "italic-second": ["", f"*{row.label}*", *[""] * (width - 2)],
                "plain": [row.label, *[""] * (width - 1)],
            }[look.section]
        else:
            parts = [row.label, *(cell.text("md") for cell in row.cells)]
        page.write(piped(parts), "row", index, number)


def _section_spans(table: Table) -> dict[int, int]:
    """Section rows and how many rows each covers, down to the next section or the end."""
    sections = [number for number, row in enumerate(table.rows) if row.kind == "section"]
    ends = [*sections[1:], len(table.rows)] if sections else []
    return {start: end - start - 1 for start, end in zip(sections, ends, strict=True)}


def _html_table(page: _Page, table: Table, index: int, look: Look) -> None:
    width = sum(span for _, span in table.header[0])
    spans = _section_spans(table) if look.spanning_sections else {}
    beside = ["<td></td>"]  # the section cell of the next row; empty above the first section
    page.write('<table class="results">')
    if look.inner_caption:
        page.write(
            f"<caption>Table {table.number}{look.caption_mark} {html.escape(table.caption, quote=False)}</caption>",
            "caption",
            index,
        )
    if look.rich_html:
        page.write("<thead>")
    for header in table.header:
        cells = "".join(
            f"<th colspan='{span}'>{html.escape(text)}</th>" if span > 1 else f"<th>{html.escape(text)}</th>"
            for text, span in header
        )
        page.write(f"<tr>{'<th></th>' if spans else ''}{cells}</tr>", "header", index)
    if look.rich_html:
        page.write("</thead><tbody>")
    for number, row in enumerate(table.rows):
        if number in spans:
            beside = [f'<td rowspan="{spans[number]}">{html.escape(row.label)}</td>']
            page.places["row", index, number] = (len(page.lines) + 1,)
            continue
        if row.kind == "section":
            page.write(f'<tr><td colspan="{width}"><i>{html.escape(row.label)}</i></td></tr>', "row", index, number)
            continue
        label = html.escape(row.label).replace("*", "")
        parts = [f'<th scope="row">{label}</th>' if look.rich_html else f"<td>{label}</td>"]
        parts += [f"<td>{cell.text('html')}</td>" for cell in row.cells]
        if spans:
            parts, beside = [*beside, *parts], [] if any(section < number for section in spans) else beside
        for line in ("<tr>", *parts, "</tr>") if look.tall else (f"<tr>{''.join(parts)}</tr>",):
            page.write(line, "row", index, number)
    page.write("</tbody></table>" if look.rich_html else "</table>")


def _text_table(page: _Page, table: Table, index: int, look: Look) -> None:
    heads = [_spread_out(header) for header in table.header]
    body = [[row.label.replace("*", ""), *(cell.text("txt") for cell in row.cells)] for row in table.rows]
    # Columns of one width keep every other line in place when a number or two headers are exchanged.
    label = max(len(line[0]) for line in (*heads, *body)) + 1
    width = max([8, *(len(part) for line in (*heads, *body) for part in line[1:])])
    widths = [label, *[width] * (len(heads[0]) - 1)]

    def laid_out(parts: list[str]) -> str:
        padded = [part.ljust(room) for part, room in zip(parts, widths, strict=False)]
        return f"| {' | '.join(padded)} |" if look.ruled else "  ".join(padded).rstrip()

    def ruled_off() -> str:
        line = "+".join("-" * (room + 2) for room in widths)
        return f"+{line}+" if look.ruled else "-" * (sum(widths) + 2 * len(widths))

    if look.ruled:
        page.write(ruled_off())
    for head in heads:
        page.write(laid_out(head), "header", index)
    page.write(ruled_off())
    for number, (row, parts) in enumerate(zip(table.rows, body, strict=True)):
        section = row.kind == "section" and not look.ruled
        page.write(
            row.label if section else laid_out([*parts, *[""] * (len(widths) - len(parts))]), "row", index, number
        )
    if look.ruled:
        page.write(ruled_off())
