"""Read HTML with lxml: its tables (also those inside Markdown) with their spans, and the text between them.

Tables are cut out of the text first and parsed one at a time: libxml2 stops counting lines at 65,535, and a Markdown
document is not HTML around its tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from adhere.evidence.read.grid import MAX_COLUMNS, MAX_SPAN, RawRow
from adhere.extras import need

_TABLE_TAG = re.compile(r"<(?P<close>/?)table\b", re.IGNORECASE)
# Formulas of LaTeXML (ar5iv) are written three times: as they show, as what they mean, and as their source.
_UNSEEN = frozenset({"svg", "script", "style", "annotation", "annotation-xml"})
_SKIPPED = _UNSEEN | {"template", "noscript", "head", "title", "code", "pre", "textarea"}
_BLOCKS = frozenset(
    (
        "p div li ul ol blockquote section article main header footer nav figcaption figure dd dt dl tr td th "
        "table caption h1 h2 h3 h4 h5 h6 center"
    ).split()
)
_NOTES = frozenset({
    "ltx_note", "ltx_note_outer", "ltx_note_mark", "ltx_note_content", "footnote", "footnote-ref", "footnote-reference",
    "footnote-text", "footnotetext", "footnoteref", "noteref", "tooltip-text", "tooltiptext", "sr-only",
    "visually-hidden", "screen-reader-text", "katex-html",
})  # fmt: skip
"""Classes of elements that stand in the text but do not belong to it.

Footnotes (LaTeXML's, pandoc's, Sphinx's, of tooltips), hidden elements, and the second copy of a formula (KaTeX's).
"""
_LINKED_MARK = re.compile(r"\s*\[?(?:\d{1,3}|[a-z*†‡§¶])\]?\s*")
_MARK = re.compile(r"[\d*†‡§¶,\s]*|[a-z]")
_BOLD, _UNDERLINED = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)"), re.compile(r"text-decoration\s*:\s*underline")
_MAX_DEPTH = 40


class HtmlTable(NamedTuple):
    """Holds a table as it stands: rows with spans filled in, the number of header rows, and the caption."""

    line: int
    rows: list[RawRow]
    header_rows: int
    caption: str
    caption_line: int


class HtmlText(NamedTuple):
    """Holds a heading (`level` 1 to 6) or a paragraph (`level` 0)."""

    level: int
    text: str
    line: int


def without_comments(text: str) -> str:
    """Return the text with comments removed, but not their line breaks."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            break  # never closed: text
        pieces += [text[position:start], "\n" * text.count("\n", start, end)]
        position = end + 3
    return "".join([*pieces, text[position:]])


def table_end(text: str, start: int) -> int:
    """Return where the table that begins at `start` ends, nested tables included; -1 if it is never closed."""
    depth = 0
    for tag in _TABLE_TAG.finditer(text, start):
        depth += -1 if tag["close"] else 1
        if depth == 0:
            close = text.find(">", tag.end())
            return close + 1 if close >= 0 else len(text)
    return -1


def table_start(text: str, start: int = 0) -> int:
    """Return where the next table begins; -1 if there is none."""
    match = _TABLE_TAG.search(text, start)
    while match and match["close"]:
        match = _TABLE_TAG.search(text, match.end())
    return match.start() if match else -1


def _parse(text: str) -> Any:
    html: Any = need("lxml.html", extra="claims")
    etree: Any = need("lxml.etree", extra="claims")
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        return html.document_fromstring(text, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None  # nothing but blanks and comments


def html_tables(text: str, line: int) -> Iterator[HtmlTable]:
    """Yield the tables of a piece of HTML whose first line is `line`, outer tables first."""
    root = _parse(text)
    for table in root.iter("table") if root is not None else ():
        yield _table(table, line - 1)


def _table(table: Any, before: int) -> HtmlTable:
    rows: list[RawRow] = []
    spans: dict[int, tuple[int, str]] = {}
    headers = 0
    caption, caption_line = "", 0
    for element, cells in _row_cells(table):
        if element.tag == "caption":
            caption, caption_line = " ".join(element.text_content().split()), before + (element.sourceline or 1)
            continue
        texts: list[str] = []
        is_head = next(element.iterancestors("thead", "table")).tag == "thead" or (
            bool(cells) and all(cell.tag == "th" for cell in cells)
        )
        for cell in cells:
            _fill(spans, texts)
            text = " ".join(_text(cell).split()).replace("****", "")
            columns, down = _span(cell.get("colspan")), _span(cell.get("rowspan"))
            for copy in range(min(columns, max(MAX_COLUMNS - len(texts), 1))):
                # A header that spans columns names each of them; a body cell that does is a section row or a remark.
                cell_text = text if copy == 0 or is_head or cell.tag == "th" else ""
                if down > 1:
                    spans[len(texts)] = (down - 1, cell_text)
                texts.append(cell_text)
        _fill(spans, texts)
        if not texts:
            continue
        if is_head and headers == len(rows):
            headers += 1
        rows.append(RawRow(before + (element.sourceline or 1), texts))
    return HtmlTable(before + (table.sourceline or 1), rows, headers, caption, caption_line)


def _row_cells(table: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the rows of a table with their cells, and its caption (without cells), but nothing of nested tables.

    Cells outside a row make one row.
    """
    stray: list[Any] = []
    for element in table.iter("tr", "td", "th", "caption"):
        if next(element.iterancestors("table")) is not table:
            continue
        if element.tag in {"td", "th"}:
            if element.getparent().tag != "tr":
                stray.append(element)
            continue
        if stray:
            yield stray[0], stray
            stray = []
        yield element, [cell for cell in element if cell.tag in {"td", "th"}]
    if stray:
        yield stray[0], stray


def _fill(spans: dict[int, tuple[int, str]], row: list[str]) -> None:
    """Put cells that span down from rows above into their places."""
    while len(row) in spans and len(row) < 2 * MAX_COLUMNS:
        column = len(row)
        rows_left, text = spans[column]
        row.append(text)
        if rows_left > 1:
            spans[column] = (rows_left - 1, text)
        else:
            del spans[column]


def _span(value: str | None) -> int:
    return min(int(value), MAX_SPAN) if value and value.strip().isdigit() and int(value) > 0 else 1


def _text(element: Any, depth: int = 0) -> str:
    """Return the text of a cell, bold as `**` and underlining as `<u>`, without footnote marks and nested tables."""
    if depth > _MAX_DEPTH:
        return str(element.text_content())
    pieces = [element.text or ""]
    for child in element:
        tag, style = child.tag, child.get("style") or ""
        is_unseen = tag in {"table", "img"} or tag in _UNSEEN or is_note(child)
        inner = "" if is_unseen else _text(child, depth + 1)
        if tag == "br":
            inner = " <br> "
        elif tag == "sup" and _MARK.fullmatch(inner):
            inner = ""
        elif tag == "a" and (child.get("href") or "").startswith("#") and _LINKED_MARK.fullmatch(inner):
            inner = "" if "".join(pieces).strip() else inner  # behind a text it is a note's mark
        elif inner.strip() and (tag in {"b", "strong"} or _BOLD.search(style)):
            inner = f"**{inner.strip()}**"
        elif inner.strip() and (tag in {"u", "ins"} or _UNDERLINED.search(style)):
            inner = f"<u>{inner.strip()}</u>"
        elif tag in _BLOCKS or tag == "sup":
            inner = f" {inner} "
        pieces += [inner, child.tail or ""]
    return "".join(pieces)


def is_note(element: Any) -> bool:
    """Tell whether an element is a footnote or its mark, or is not shown."""
    style = (element.get("style") or "").replace(" ", "").lower()
    is_hidden = element.get("hidden") is not None or "display:none" in style
    role = element.get("role") or ""
    return (
        is_hidden
        or role in {"doc-noteref", "doc-footnote", "note"}
        or not _NOTES.isdisjoint((element.get("class") or "").split())
    )


def html_text(text: str, line: int) -> Iterator[HtmlText]:
    """Yield headings and paragraphs of a piece of HTML without its tables; scripts, styles and code are left out."""
    etree: Any = need("lxml.etree", extra="claims")
    root = _parse(text)
    if root is None:
        return
    pieces: list[str] = []
    at = 0
    skipping = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag
        if tag in _SKIPPED or is_note(element):
            skipping += 1 if event == "start" else -1
        if tag in _BLOCKS or tag == "br":
            paragraph = " ".join("".join(pieces).split())
            if paragraph:
                level = int(tag[1]) if event == "end" and re.fullmatch(r"h[1-6]", tag) else 0
                yield HtmlText(level, paragraph, line - 1 + at)
            pieces = []
        piece = element.text if event == "start" else element.tail
        if piece and not skipping:
            if not "".join(pieces).strip() and piece.strip():
                # libxml2 knows the line where an element begins, which is where its text does, but for leading line
                # breaks.
                at = (element.sourceline or 1) + piece[: len(piece) - len(piece.lstrip())].count("\n")
            pieces.append(piece)
    paragraph = " ".join("".join(pieces).split())
    if paragraph:
        yield HtmlText(0, paragraph, line - 1 + at)
