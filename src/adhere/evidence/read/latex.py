r"""Read LaTeX sources: `tabular` and its kin with `\multicolumn` and `\multirow`, captions, sections, sentences.

Every pass goes over the text once, so time is linear in its length. Files that `\input` names are not followed, but
reported as missing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from adhere.evidence.read.grid import MAX_COLUMNS, MAX_SPAN, RawRow
from adhere.evidence.read.latex_text import Macro, latex_text, read_braces

_COMMENT = re.compile(r"(?:(?<!\\)|(?<=\\\\))%.*")
_MACRO = re.compile(
    r"\\(?:(?:re)?newcommand\*?\s*\{?|def\s*|"
    r"providecommand\*?\s*\{?)\\(?P<name>[A-Za-z]+)\}?\s*(?:\[(?P<count>\d)\])?\s*(?:#\d)*(?=\{)"
)
_LONG = frozenset({"longtable", "xltabular", "longtabu", "longtblr"})
_TABULAR = (
    r"tabular[xy*]?|tabulary|array|NiceTabular[X*]?|xltabular|longtable|(?:long)?tabu|(?:long|tall)?tblr|"
    r"(?:mp)?(?:super|x)tabular\*?"
)
_ENVIRONMENT = re.compile(rf"\\(?P<end>begin|end)\{{(?P<kind>{_TABULAR}|table\*?|wraptable|sidewaystable\*?)\}}")
# With as many braces as each takes: `\midrule {Random}` has none, and a name follows.
_RULE = re.compile(
    r"\\(?:(?:toprule|midrule|bottomrule|(?!hhline)[a-z]*hline|addlinespace|hdashline|endhead|endfirsthead|endfoot|endlastfoot|pagebreak|"
    r"nopagebreak|[a-z]{3,}(?:mid|top|bottom|dash)rule)\b\*?(?:\s*\[[^\[\]]*\])?|(?:Xhline|hhline|cmidrule|cline|arrayrulecolor|rowcolor|noalign|vspace)\b\*?"
    r"(?:\s*\([^()]*\))?(?:\s*\[[^\[\]]*\])?(?:\s*\([^()]*\))?(?:\s*\{[^{}]*\})?|"
    r"(?:rule|specialrule)\b(?:\s*\[[^\[\]]*\])?(?:\s*\{[^{}]*\}){0,3})"
)
_HEADER_RULE = re.compile(r"\\(?:midrule|(?!hhline)[a-z]*hline|end(?:first)?head)\b")
_NEW_LINE = re.compile(r"\\tabularnewline\b")
_MARK = re.compile(r"\\begin\{|\\end\{|\\\\|\\.|[{}&]", re.DOTALL)
_ROW_OPTION = re.compile(r"\*?\s*\[[^\[\]&]*\]")
_ACROSS = re.compile(r"\\multicolumn\s*\{\s*(\d+)\s*\}\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}\s*")
_BELOW = re.compile(
    r"\\multirow\s*(?:\[[^\[\]]*\])?\s*\{\s*(-?\d+)\s*\}\s*(?:\[[^\[\]]*\])?\s*\{[^{}]*\}\s*(?:\[[^\[\]]*\])?\s*"
)
_COLOUR = re.compile(r"^(?:\s*\\(?:cellcolor|rowcolor)\s*(?:\[[^\[\]]*\])?\s*\{[^{}]*\})+\s*")
_PART = re.compile(r"\\begin\{(?:sub(?:table|figure)|minipage)\}|\\(?:subfloat|subcaptionbox|parbox)\b")
_CAPTION = re.compile(r"\\caption(?:of\{table\})?\*?(?:\[[^\[\]]*\])?(?=\s*\{)")
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
_LABEL_BEHIND = re.compile(r"\s*\\label\s*\{[^{}]*\}")
_PAGE_PART = re.compile(r"\\end(firsthead|head|foot|lastfoot)\b")
_SECTION = re.compile(
    r"^\s*\\(?P<level>(?:sub)*section|chapter|paragraph)\*?\s*\{(?P<text>.*)\}\s*(?:\\label\{[^{}]*\})?\s*$"
)
_LEVELS = {"chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_REFERENCE = re.compile(r"~?\\(?:auto|c|C)?ref\s*\{([^{}]*)\}")
_LAYOUT_LINE = re.compile(
    r"\\(?:begin|end)\{[^{}]*\}(?:\[[^\[\]]*\])?|\\(?:centering|small|item|maketitle|caption|title)\b"
)
MAX_MACROS = 200
MAX_BODY = 2000


class LatexTable(NamedTuple):
    """Holds a table as it stands: rows with spans filled in, the number of header rows, its caption and number.

    `number` is 0 if the table has no label that is known, `caption_line` 0 without a caption.
    """

    line: int
    rows: list[RawRow]
    header_rows: int
    caption: str
    caption_line: int
    number: int


class LatexSource(NamedTuple):
    r"""Holds the parts of a source: its lines without tables, comments and markup (headings as `#`), and its tables.

    `missing` are the files that `\input` names, with their lines.
    """

    lines: list[str]
    tables: list[LatexTable]
    missing: list[tuple[str, int]]


class _Span(NamedTuple):
    """Describes an environment: its kind, where it begins, where its content begins and ends, and where it ends."""

    kind: str
    start: int
    inside: int
    close: int
    end: int


class _Text:
    """Finds line numbers in a text, without counting its line breaks anew each time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        """Return the line (from 1) of a position in the text."""
        return bisect_right(self._breaks, at - 1) + 1


def read_latex(text: str) -> LatexSource:
    """Return tables and plain lines of a LaTeX source; line numbers are those of the source."""
    text = "\n".join(_COMMENT.sub("", line) if "%" in line else line for line in text.split("\n"))
    text = _NEW_LINE.sub(r"\\\\", text)
    macros = _macros(text)
    begin = text.find("\\begin{document}")
    if begin >= 0:
        text = "\n" * text.count("\n", 0, begin) + text[begin + len("\\begin{document}") :]
    source = _Text(text)
    tabulars, floats = _environments(text)
    numbers = {
        label: number
        for number, float_ in enumerate(floats, start=1)
        for label in _LABEL.findall(text, float_.inside, float_.close)
    }
    around = _floats_around(tabulars, floats)
    captions = _captions(text, tabulars, around)
    tables: list[LatexTable] = []
    pieces: list[str] = []
    position = 0
    for tabular in tabulars:
        table = _table(
            source, tabular, around.get(tabular), captions=captions.get(tabular, ()), numbers=numbers, macros=macros
        )
        if table:
            tables.append(table)
        pieces += [text[position : tabular.start], "\n" * text.count("\n", tabular.start, tabular.end)]
        position = tabular.end
    rest = "".join([*pieces, text[position:]])
    lines = _Text(rest)
    missing = [(m[1], lines.line(m.start())) for m in re.finditer(r"\\(?:input|include)\s*\{([^{}]*)\}", rest)]
    rest = _REFERENCE.sub(lambda match: f" {numbers.get(match[1], '?')}", rest)
    return LatexSource([_plain_line(line, macros) for line in rest.split("\n")], tables, missing)


def _macros(text: str) -> dict[str, Macro]:
    """Return the commands that the source defines."""
    macros: dict[str, Macro] = {}
    for match in _MACRO.finditer(text):
        body, _ = read_braces(text[match.end() : match.end() + MAX_BODY], 0)
        if body is not None and len(macros) < MAX_MACROS and f"\\{match['name']}" not in body:
            macros[match["name"]] = Macro(
                int(match["count"] or max(map(int, re.findall(r"#(\d)", body)), default=0)), body
            )
    return macros


def _environments(text: str) -> tuple[list[_Span], list[_Span]]:
    """Return the outermost tabulars, and the tables that float; an environment that is never closed is left as text."""
    tabulars: list[_Span] = []
    floats: list[_Span] = []
    open_begins: list[re.Match[str]] = []
    for match in _ENVIRONMENT.finditer(text):
        if match["end"] == "begin":
            open_begins.append(match)
        elif open_begins and open_begins[-1]["kind"] == match["kind"]:
            begin = open_begins.pop()
            span = _Span(match["kind"], begin.start(), begin.end(), match.start(), match.end())
            if "table" in match["kind"] and match["kind"] not in _LONG:
                floats.append(span)
            elif not any(_is_tabular(outer["kind"]) for outer in open_begins[-3:]):
                tabulars.append(span)
                if match["kind"] in _LONG:
                    floats.append(span)
    return tabulars, sorted(floats, key=lambda span: span.start)


def _floats_around(tabulars: list[_Span], floats: list[_Span]) -> dict[_Span, _Span]:
    starts = [float_.start for float_ in floats]
    float_of_tabular = {}
    for tabular in tabulars:
        place = bisect_right(starts, tabular.start) - 1
        if place >= 0 and floats[place].end >= tabular.end:
            float_of_tabular[tabular] = floats[place]
    return float_of_tabular


def _captions(text: str, tabulars: list[_Span], around: Mapping[_Span, _Span]) -> dict[_Span, list[re.Match[str]]]:
    r"""Return the captions of each tabular.

    Of several tabulars that float together each has its own, in their order (`\captionof{table}` in a `minipage`), and
    there may be one more for all of them, above or below (`subtable`). In any other case each tabular gets the first
    caption.
    """
    captions_of_tabular: dict[_Span, list[re.Match[str]]] = {}
    for float_, together in groupby(tabulars, key=lambda tabular: around.get(tabular, tabular)):
        tables = [*together]
        captions = [*_CAPTION.finditer(text, float_.inside, float_.close)]
        own, common = captions, captions[:0]
        if len(captions) == len(tables) + 1:
            is_inside = _PART.search(text, float_.inside, captions[0].start()) is not None
            own, common = (captions[:-1], captions[-1:]) if is_inside else (captions[1:], captions[:1])
        for at, tabular in enumerate(tables):
            captions_of_tabular[tabular] = [*common, own[at]] if len(own) == len(tables) else captions[:1]
    return captions_of_tabular


def _is_tabular(kind: str) -> bool:
    return "table" not in kind or kind in _LONG


def _table(
    source: _Text,
    span: _Span,
    around: _Span | None,
    *,
    captions: Sequence[re.Match[str]],
    numbers: Mapping[str, int],
    macros: Mapping[str, Macro],
) -> LatexTable | None:
    text, position = _without_feet(source.text[span.inside : span.close]), 0
    option = re.compile(r"\s*\[[^\[\]]*\]").match(text, position)
    position = option.end() if option else position
    for _ in range(2 if span.kind in {"tabular*", "tabularx", "tabulary", "xltabular", "NiceTabular*"} else 1):
        position = read_braces(text, position)[1]
    rows: list[RawRow] = []
    spans: dict[int, tuple[int, str]] = {}
    header_rows = 0
    for piece, start in _split(text, position, len(text), "\\\\"):
        if _HEADER_RULE.search(piece) and rows and not header_rows:
            header_rows = len(rows)
        stripped = _RULE.sub(lambda rule: " " * len(rule.group()), piece) if "\\" in piece else piece
        if not stripped.strip():
            continue
        # Rules are blanked in place, so that lines are counted to the text; a label that spans rows may stand above.
        first, last = len(stripped) - len(stripped.lstrip()), stripped.rfind("&")
        row = _row(stripped, source.line(span.inside + start + max(first, last)), spans, macros, rows)
        if any(cell.strip() for cell in row.cells):
            rows.append(row)
    low, high = (around.inside, around.close) if around else (span.inside, span.close)
    text = source.text
    caption = " ".join(latex_text(read_braces(text, match.end())[0] or "", macros) for match in captions)
    caption_line = source.line(captions[-1].start()) if captions else 0
    label = _LABEL.search(text, low, high) if around else None
    number = numbers.get(label[1], 0) if label else 0
    return (
        LatexTable(source.line(span.start), rows, header_rows, caption, caption_line, number)
        if len(rows) >= 2
        else None
    )


def _without_feet(text: str) -> str:
    r"""Return the inside of a tabular with blanks for what is no row: captions, and the page feet of a `longtable`.

    A `longtable` says what stands at the head and foot of each page before its rows; of two heads
    (`\endfirsthead`, `\endhead`) the second repeats the first.
    """
    begin, has_first = 0, "\\endfirsthead" in text
    parts = []
    for mark in _PAGE_PART.finditer(text):
        part, kind = text[begin : mark.end()], mark[1]
        is_row = kind == "firsthead" or (kind == "head" and not has_first)
        parts.append(part if is_row else re.sub(r"\S", " ", part))
        begin = mark.end()
    text = "".join([*parts, text[begin:]])
    pieces, position = [], 0
    for caption in _CAPTION.finditer(text):
        if caption.start() >= position:
            end = read_braces(text, caption.end())[1]
            label = _LABEL_BEHIND.match(text, end)
            end = label.end() if label else end
            pieces += [text[position : caption.start()], re.sub(r"\S", " ", text[caption.start() : end])]
            position = end
    return "".join([*pieces, text[position:]])


def _split(text: str, start: int, end: int, mark: str) -> Iterator[tuple[str, int]]:
    """Yield the pieces between marks outside of braces and nested environments, each with its beginning."""
    depth, begin, at = 0, start, start
    while match := _MARK.search(text, at, end):
        sign, at = match.group(), match.end()
        if sign in {"\\begin{", "\\end{"}:
            depth += 1 if sign == "\\begin{" else -1
            depth += 1  # the brace that is part of the sign; its end is counted below
        elif sign in {"{", "}"}:
            depth += 1 if sign == "{" else -1
        elif depth == 0 and sign == mark:
            yield text[begin : match.start()], begin
            option = _ROW_OPTION.match(text, at, end) if mark == "\\\\" else None
            at = option.end() if option else at
            begin = at
    yield text[begin:end], begin


def _row(
    source: str, line: int, spans: dict[int, tuple[int, str]], macros: Mapping[str, Macro], above: list[RawRow]
) -> RawRow:
    row: list[str] = []
    for part, _ in _split(source, 0, len(source), "&"):
        piece = _COLOUR.sub("", part).strip() if "\\" in part else part.strip()
        columns = down = 1
        across = _ACROSS.match(piece) if "\\multicolumn" in piece else None
        if across:
            columns = min(int(across[1]), MAX_SPAN)
            piece = (read_braces(piece, across.end())[0] or "").strip()
        below = _BELOW.match(piece) if "\\multirow" in piece else None
        if below:
            down = min(int(below[1]), MAX_SPAN)
            piece = (read_braces(piece, below.end())[0] or "").strip()
        text = latex_text(piece, macros)
        for cells in (upper.cells for upper in above[down + 1 :] if -MAX_SPAN < down < 0):
            if len(cells) > len(row) and not cells[len(row)]:
                cells[len(row)] = text  # a negative count: the cell began in a row above
        for _ in range(columns if len(row) < MAX_COLUMNS else 1):
            span = spans.pop(len(row), None)
            if span and not text:
                row.append(span[1])
                if span[0] > 1:
                    spans[len(row) - 1] = (span[0] - 1, span[1])
                continue
            if down > 1 and text:
                spans[len(row)] = (down - 1, text)
            row.append(text)
    return RawRow(line, row)


def _plain_line(line: str, macros: Mapping[str, Macro]) -> str:
    if "\\" not in line and "{" not in line and "}" not in line:
        return latex_text(line).rstrip() if any(char in line for char in "$~^") else line.rstrip()
    heading = _SECTION.match(line)
    if heading:
        return "#" * _LEVELS.get(heading["level"], 3) + " " + latex_text(heading["text"], macros)
    return latex_text(_LAYOUT_LINE.sub(" ", line), macros).replace("**", "")
