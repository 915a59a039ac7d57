"""Read text: pipe tables, HTML tables, tab-separated tables, aligned columns, captions, notes, sentences.

One pass over the lines, so time is linear in their number. Nothing is dropped: a line is part of a table, a heading, a
note or a sentence. Cells of pipe tables are split by markdown-it's rule; its whole parser is not used, because it takes
2 s of CPU a MiB and drops cells that stand beyond the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from markdown_it.rules_block.table import escapedSplit

from adhere.evidence.claims.printed import number_of, plain
from adhere.evidence.read.document import Document, Note, Problem, Sentence, Table
from adhere.evidence.read.grid import RawRow, build_tables
from adhere.evidence.read.html import html_tables, html_text, table_end, table_start, without_comments
from adhere.evidence.read.latex import read_latex
from adhere.evidence.read.pdf.page import TABLES, Block
from adhere.evidence.read.pdf.rows import rows_of

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_GRID_RULE = re.compile(r"^\s*\+(?:[-=:]+\+)+\s*$")
_FENCE = re.compile(r"^\s*(?:`{3,}[^`]*|~{3,}.*)$")  # ```` ```name``` ```` is code in a line
_CAPTION = re.compile(
    rf"^\W{{0,4}}(?P<label>(?:{TABLES})\s*\(?(?P<number>[A-Z]?\.?\d+(?:\.\d+)?|"
    r"[IVXL]+)\)?)(?:\*{0,3}\s*[:\uff1a.|–—-](?!\d)|\*{1,3}\s|\s*$|(?<=\))\s+(?=[A-Z])|(?<=\b[IVXL])\s+(?=[A-Z])|"
    r"(?<=[IVXL]{2})\s+(?=[A-Z]))"
)
_NOTE = re.compile(
    r"^\s*(?:\[\^(?P<ref>[^\]]+)\]:|\^\{?(?P<caret>\d+)\}?(?=\s|[A-Z])|(?P<super>[¹²³⁴⁵⁶⁷⁸⁹⁰]+)|(?P<mark>[†‡§¶])|"
    r"\*?\*?_?(?P<note>Notes?):)"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+•]|\(?\d{1,3}[.)])\s+")
_QUOTED_ROW = re.compile(r"^\s*(?:>\s?)+(?=\s*\|)")
_CITES = re.compile(r"\[cite(?:_start\]|: ?[\d, ]+\])")  # marks that a chat model leaves in what it writes
_RULE = re.compile(r"^\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$")
_ALIGNED = re.compile(r"\S(?: ?\S)*")
_BOUNDARY = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[*_]*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:\bet al|\be\.g|\bi\.e|\bcf|\bvs|\bFig|\bTab|\bSec|\bEq|\bNo|\bapprox|\bresp|\bDr|\bAvg|(?:^|[\s(])[A-Z])\.$"
)
_NEVER_CLOSED = "this <table> is never closed; everything after it was read as part of it"
MAX_LEAD = 400
MAX_LAYOUT = 200  # lines in which the first Markdown table of an HTML one begins
MIN_BARS = 3  # a row that leaves its first bar out is known by as many bars as the row before it
_PAGE = re.compile(r"\[p\. [^\]]{1,20}\]")
_LEAD = re.compile(r"^\*\*(?P<lead>[^*]{1,120})\*\*\s*:?\s*")


@dataclass(slots=True)
class _State:
    """Holds what is gathered while the lines are read.

    `paragraph` holds the (line, text) of the paragraph being read, `headings` the open ones as (level, text),
    `captions` (text, line, label). `blocks` lists what was read in order, as (kind, place in the list of that kind).
    `lead` is the end of the last paragraph, `paragraphs` their number.
    """

    document: Document
    headings: list[tuple[int, str]] = field(default_factory=list)
    paragraph: list[tuple[int, str]] = field(default_factory=list)
    blocks: list[tuple[str, int]] = field(default_factory=list)
    captions: list[tuple[str, int, str]] = field(default_factory=list)
    paragraphs: int = 0
    lead: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.headings)


def read_text_document(document: Document, text_lines: list[str], *, is_aligned: bool) -> None:
    """Fill a Document from its (repaired) lines.

    `is_aligned` says that columns separated by two or more spaces are tables.
    """
    state = _State(document)
    number, count = 0, len(text_lines)
    if any("<!--" in line for line in text_lines):
        text_lines = without_comments("\n".join(text_lines)).split("\n")
    lines = [_QUOTED_ROW.sub("", line) if ">" in line else line for line in text_lines]
    lines = [_CITES.sub("", line) if "[cite" in line else line for line in lines]
    is_fenced = False
    while number < count:
        line = lines[number]
        if _FENCE.match(line):
            _flush(state)
            is_fenced = not is_fenced
            number += 1
            continue
        if not is_fenced and "<table" in line.lower() and not _only_lays_out(lines, number):
            _flush(state)
            number = _take_html(state, lines, number)
            continue
        end = number if is_fenced else _table_end(lines, number, is_aligned=is_aligned)
        if end > number:
            _flush(state)
            _take_table(state, lines, number, end, is_aligned=is_aligned)
            number = end
            continue
        heading = None if is_fenced else _HEADING.match(line)
        if heading and _CAPTION.match(heading[2]):
            _flush(state)
            state.paragraph.append((number + 1, heading[2]))
            _flush(state)
        elif heading:
            _flush(state)
            _take_heading(state, len(heading[1]), plain(heading[2]))
        elif not line.strip() or _RULE.match(line):
            _flush(state)
        else:
            if state.paragraph and (_LIST_ITEM.match(line) or _NOTE.match(line) or _CAPTION.match(line)):
                _flush(state)
            state.paragraph.append((number + 1, line))
        number += 1
    _flush(state)
    _attach_captions(state)


def read_html_document(document: Document, text: str) -> None:
    """Fill a Document from HTML; malformed markup is read as far as it goes."""
    state = _State(document)
    text = without_comments(text)
    position = 0
    while position < len(text):
        start = table_start(text, position)
        stop = start if start >= 0 else len(text)
        for block in html_text(text[position:stop], text.count("\n", 0, position) + 1):
            if block.level:
                _take_heading(state, block.level, plain(block.text))
            else:
                state.paragraph.append((block.line, block.text))
                _flush(state)
        if start < 0:
            break
        line = text.count("\n", 0, start)
        end = table_end(text, start)
        if end < 0:
            document.problems.append(Problem(document.name, line + 1, _NEVER_CLOSED))
            end = len(text)
        for table in html_tables(text[start:end], line + 1):
            _add_tables(state, table.rows, table.header_rows, table.caption, table.caption_line)
        position = end
    _attach_captions(state)


def read_latex_document(document: Document, text: str) -> None:
    """Fill a Document from a LaTeX source."""
    source = read_latex(text)
    state = _State(document)
    tables = iter(source.tables)
    table = next(tables, None)
    for number, line in enumerate(source.lines, start=1):
        while table is not None and table.line <= number:
            _flush(state)
            label = f"Table {table.number}: " if table.number else ""
            _add_tables(state, table.rows, table.header_rows, label + table.caption, table.caption_line)
            table = next(tables, None)
        heading = _HEADING.match(line)
        if heading:
            _flush(state)
            _take_heading(state, len(heading[1]), plain(heading[2]))
        elif not line.strip():
            _flush(state)
        else:
            state.paragraph.append((number, line))
    _flush(state)
    for name, at in source.missing:
        message = f"\\input{{{name}}} is not followed: give that file as well"
        document.problems.append(Problem(document.name, at, message))


def read_pdf_document(document: Document, blocks: Sequence[Block]) -> None:
    """Fill a Document from the blocks of a PDF; its lines are the lines of the pages, one after the other."""
    state = _State(document)
    for block in blocks:
        for line in block.lines:
            document.lines.append(line.text)
            line.number = len(document.lines)
        document.lines.append("")
        if block.table is not None:
            rows, header_rows = rows_of(block.table)
            before = len(document.tables)
            _add_tables(state, rows, header_rows)
            for table in document.tables[before:]:
                table.is_ruled, table.page = block.table.is_ruled, block.page or None
        elif block.is_heading:
            _take_heading(state, 2, plain(block.lines[0].text))
        else:
            state.paragraph = [(line.number, " ".join(line.text.split())) for line in block.lines]
            _flush(state)
    _attach_captions(state)


def _take_heading(state: _State, level: int, text: str) -> None:
    while state.headings and state.headings[-1][0] >= level:
        state.headings.pop()
    state.headings.append((level, text))
    state.lead = ""
    state.blocks.append(("heading", -1))
    if not state.document.title:
        state.document.title = text


# ── tables ──


def _table_end(lines: list[str], start: int, *, is_aligned: bool) -> int:
    """Return the index of the line after a table that begins at `start`; `start` if none begins there."""
    line = lines[start]
    if _GRID_RULE.match(line) and start + 1 < len(lines) and lines[start + 1].lstrip().startswith("|"):
        end = _table_end(lines, start + 1, is_aligned=False)
        return end if end > start + 1 else start
    if "|" in line:
        if line.lstrip().startswith("|"):
            end, bars = start, line.count("|")
            while end < len(lines) and (
                lines[end].lstrip().startswith("|")
                or _GRID_RULE.match(lines[end])
                or (end > start + 1 and bars > MIN_BARS and bars - 2 <= lines[end].count("|") <= bars)
            ):
                end += 1
            return end if end - start >= 2 else start
        if start + 1 < len(lines) and "|" in lines[start + 1] and _DELIMITER.match(lines[start + 1]):
            end = start + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            return end
    if "\t" in line:
        fields = line.count("\t")
        end = start
        while end < len(lines) and lines[end].count("\t") == fields:
            end += 1
        return end if end - start >= 2 else start
    return _aligned_end(lines, start) if is_aligned else start


def _aligned_end(lines: list[str], start: int) -> int:
    """Return the line after a table of aligned columns; rules and single section lines inside belong to it."""
    end, n_scored = start, 0
    while end < len(lines):
        fields = _fields(lines[end])
        if len(fields) < 2:
            is_inside = end > start and end + 1 < len(lines) and (_is_rule(lines[end]) or len(fields) == 1)
            if not is_inside or (len(_fields(lines[end + 1])) < 2 and not _is_rule(lines[end])):
                break
            if not _is_rule(lines[end]) and len(lines[end].strip()) > 60:
                break
        n_scored += sum(number_of(text) is not None for text in fields[1:]) >= 1
        end += 1
    while end > start and len(_fields(lines[end - 1])) < 2:
        end -= 1
    return end if end - start >= 3 and n_scored >= 2 else start


def _fields(line: str) -> list[str]:
    return [text for text in re.split(r"\s{2,}", line.strip()) if text]


def _is_rule(line: str) -> bool:
    return re.fullmatch(r"[\s\-=+_─━]{3,}", line) is not None and bool(line.strip())


def _split_pipes(line: str) -> list[str]:
    line = line.strip()
    # Only a bar behind a backslash needs markdown-it's rule, which goes letter by letter.
    cells = [cell.strip() for cell in (escapedSplit(line) if "\\|" in line else line.split("|"))]
    return cells[1 if cells and not cells[0] else 0 : -1 if len(cells) > 1 and not cells[-1] else None]


def _take_table(state: _State, lines: list[str], start: int, end: int, *, is_aligned: bool) -> None:
    raw: list[RawRow] = []
    header_rows = 0
    if _GRID_RULE.match(lines[start]) or ("|" in lines[start] and not (is_aligned and "\t" in lines[start])):
        for number in range(start, end):
            if _GRID_RULE.match(lines[number]):
                continue
            if _DELIMITER.match(lines[number]) and "-" in lines[number]:
                if raw and len(raw) <= 3 and number - start == len(raw):
                    header_rows = len(raw)
                continue
            raw.append(RawRow(number + 1, _split_pipes(lines[number])))
    elif "\t" in lines[start]:
        raw = [RawRow(number + 1, [cell.strip() for cell in lines[number].split("\t")]) for number in range(start, end)]
    else:
        raw = _aligned_rows(lines, start, end)
    if not _add_tables(state, raw, header_rows):
        state.paragraph.extend((row.line, " ".join(row.cells)) for row in raw)
        _flush(state)


def _add_tables(state: _State, raw: list[RawRow], header_rows: int, caption: str = "", caption_line: int = 0) -> bool:
    """Add rows as tables; return False if there are too few of them."""
    if len(raw) < 2 or not any(row.cells for row in raw):
        return False
    document = state.document
    tables, problems = build_tables(
        raw,
        index=len(document.tables) + 1,
        document=document.name,
        header_rows=header_rows if header_rows < len(raw) else 1,
        headings=state.path,
    )
    document.problems.extend(problems)
    lead = state.lead if state.blocks and state.blocks[-1][0] in {"paragraph", "table"} else ""
    for table in tables:
        table.lead = lead
        state.blocks.append(("table", len(document.tables)))
        document.tables.append(table)
        if caption:
            match = _CAPTION.match(caption)
            _set_caption(table, caption, caption_line, match["label"] if match else "")
    return True


def _only_lays_out(lines: list[str], start: int) -> bool:
    """Tell whether an HTML table that begins on a line only places Markdown tables side by side."""
    for at in range(start, min(len(lines), start + MAX_LAYOUT) - 1):
        if "</table" in lines[at].lower():
            return False
        if "|" in lines[at] and "|" in lines[at + 1] and _DELIMITER.match(lines[at + 1]):
            return True
    return False


def _take_html(state: _State, lines: list[str], start: int) -> int:
    """Read the HTML table whose first tag stands on line `start` (from 0); return the line after it."""
    count, text = 0, ""
    end = -1
    for count in range(1, len(lines) - start + 1):
        # The closing tag is looked for once the line has one, so that time stays linear in the table's length.
        if "</table" in lines[start + count - 1].lower():
            text = "\n".join(lines[start : start + count])
            end = table_end(text, table_start(text))
            if end >= 0:
                break
    if end < 0:
        text = "\n".join(lines[start:])
        state.document.problems.append(Problem(state.document.name, start + 1, _NEVER_CLOSED))
        end, count = len(text), len(lines) - start
    for table in html_tables(text[table_start(text) : end], start + 1):
        _add_tables(state, table.rows, table.header_rows, table.caption, table.caption_line)
    return start + count


def _aligned_rows(lines: list[str], start: int, end: int) -> list[RawRow]:
    """Return the cells of aligned columns, row by row.

    A cell belongs to the nearest column of the widest row.
    """
    line_numbers = [n for n in range(start, end) if not _is_rule(lines[n])]
    spans = [[(m.start(), m.end(), m.group()) for m in _ALIGNED.finditer(lines[n].expandtabs())] for n in line_numbers]
    columns = max(spans, key=len)
    rows = []
    for number, pieces in zip(line_numbers, spans, strict=True):
        if len(pieces) == len(columns):
            cells = [text for _, _, text in pieces]
        else:
            cells = [""] * len(columns)
            for left, right, text in pieces:
                centre = (left + right) / 2
                nearest = min(range(len(columns)), key=lambda c: abs((columns[c][0] + columns[c][1]) / 2 - centre))
                cells[nearest] = f"{cells[nearest]} {text}".strip()
        rows.append(RawRow(number + 1, cells))
    return rows


# ── paragraphs ──


def _flush(state: _State) -> None:
    """Make sentences, a note or a caption of the lines gathered, and forget the lines."""
    if not state.paragraph:
        return
    lines, state.paragraph = state.paragraph, []
    for number, line in lines:
        if line.count("|") >= MIN_BARS and sum(number_of(cell) is not None for cell in line.split("|")) >= 2:
            message = "this line looks like a row of a table but stands in none: its numbers were not read"
            state.document.loose_rows.append(number)
            state.document.problems.append(Problem(state.document.name, number, message))
    state.paragraphs += 1
    first = lines[0][0]
    text = " ".join(line.strip() for _, line in lines)
    note = _NOTE.match(text)
    caption = _CAPTION.match(text) or _CAPTION.fullmatch(lines[0][1].strip())  # a label on a line of its own
    if caption and not note:
        state.captions.append((text, first, " ".join(caption["label"].split())))
        state.blocks.append(("caption", len(state.captions) - 1))
    elif note:
        mark = (note["ref"] or note["caret"] or note["super"] or note["mark"] or "").translate(_SUPERSCRIPTS)
        state.document.notes.append(Note(plain(text[note.end() :] if mark else text), first, mark))
        state.blocks.append(("note", len(state.document.notes) - 1))
    else:
        state.blocks.append(("paragraph", len(state.document.sentences)))
        state.lead = plain(text[-MAX_LEAD:])
    if not note:
        state.document.sentences.extend(_sentences(lines, state.paragraphs, state.path))


def _sentences(lines: list[tuple[int, str]], paragraph: int, headings: tuple[str, ...]) -> Iterator[Sentence]:
    starts, text = [], ""
    for number, line in lines:
        starts.append((len(text), number))
        text += line.strip() + " "
    lead_match = _LEAD.match(_LIST_ITEM.sub("", text, count=1) if _LIST_ITEM.match(text) else text)
    lead = plain(lead_match["lead"]) if lead_match else ""
    position = 0
    at = 0
    for piece in split_sentences(text):
        offset = text.find(piece, position)
        offset = position if offset < 0 else offset
        position = offset + len(piece)
        while at + 1 < len(starts) and starts[at + 1][0] <= offset:
            at += 1
        sentence = plain(_PAGE.sub("", piece))
        if sentence:
            yield Sentence(sentence, starts[at][1], paragraph, headings, lead)


def split_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences; `et al.`, `e.g.`, `vs.` and initials do not end one."""
    pieces: list[str] = []
    begin = 0
    for match in _BOUNDARY.finditer(text):
        if _ABBREVIATION.search(text[max(begin, match.start() - 12) : match.start()].rstrip("\"'”’)]")):
            continue
        pieces.append(text[begin : match.end()].strip())
        begin = match.end()
    rest = text[begin:].strip()
    return [*pieces, rest] if rest else pieces


# ── captions and notes ──


def _attach_captions(state: _State) -> None:
    """Give each table its caption and the notes after it.

    The caption stands before the table, or after it in a document that sets captions below.
    """
    blocks = [block for block in state.blocks if block[0] != "note"]
    kinds = [kind for kind, _ in blocks]
    around = [(kinds[max(at - 1, 0)], kinds[min(at + 1, len(kinds) - 1)]) for at, k in enumerate(kinds) if k == "table"]
    are_below = [places[1] == "caption" for places in around if places.count("caption") == 1]
    below = 2 * sum(are_below) > len(are_below)
    used_captions: set[int] = set()
    for step, (position, (kind, index)) in product((1, -1) if below else (-1, 1), enumerate(blocks)):
        place = position + step
        if kind != "table" or state.document.tables[index].caption or not 0 <= place < len(kinds):
            continue
        if kinds[place] == "caption" and blocks[place][1] not in used_captions:
            used_captions.add(blocks[place][1])
            _set_caption(state.document.tables[index], *state.captions[blocks[place][1]])
    table: Table | None = None
    for kind, index in state.blocks:
        if kind == "table":
            table = state.document.tables[index]
        elif kind == "note" and table is not None:
            table.notes.append(state.document.notes[index])
        elif kind != "caption":
            table = None


def _set_caption(table: Table, text: str, line: int, label: str) -> None:
    table.caption, table.caption_line = plain(_PAGE.sub("", text)), line
    table.label = re.sub(r"^(?:Tab\.|TABLE|table|表)\s*", "Table ", " ".join(label.split())).replace("(", "").strip(")")
