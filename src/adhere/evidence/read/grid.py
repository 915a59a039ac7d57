"""Turn rows of raw cell texts into tables: find header rows, section rows, and cells that hold two values."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from adhere.evidence.claims.names import clean_label, is_role, label_kind
from adhere.evidence.claims.printed import PrintedNumber, is_absent, number_of, plain
from adhere.evidence.read.document import Cell, Part, Problem, Row, Table
from adhere.evidence.read.latex_text import latex_text

_BOLD = re.compile(
    r"\*\*[^*]+\*\*|(?<!\w)__[^_]+__(?!\w)|\\(?:textbf|mathbf|boldsymbol|bf)\b|<(?:b|strong)\b", re.IGNORECASE
)
_UNDERLINED = re.compile(r"<(?:u|ins)\b|\\underline\b", re.IGNORECASE)
BETWEEN_VALUES = re.compile(r"\s*/\s*|\s+\|\s+")
_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)
_NAMED = re.compile(r"([A-Za-z][\w-]{0,11})\s?[:=]\s?(\d+(?:\.\d+)?%?)")
_FRACTION = re.compile(r"(\d{1,6})/([1-9]\d{1,5})")
_ASIDE = re.compile(r"\((?P<number>\d+\.\d+%?)\)[\s*†‡]*$")
LEAST_COMMAS = 3
MAX_HEADER_ROWS = 5
MAX_SPAN = 200  # columns and rows that one cell may reach over
MAX_COLUMNS = 300  # to which cells that span columns may widen a row


class RawRow(NamedTuple):
    """Holds a row as it was read: cell texts and the row's line."""

    line: int
    cells: list[str]


def cell_of(text: str, line: int, *, is_count: bool = False) -> Cell:
    """Return a cell with its parts: `38.77 / **66.32**` holds two numbers, the second one bold.

    `is_count` says that the whole column prints counts out of a total: `197/200` is then the number 197 with the unit
    `/200`.
    """
    shared_text, parts = _parts_of(text)
    if is_count and (match := _FRACTION.fullmatch(plain(text))):
        number = PrintedNumber(float(match[1]), 0, f"/{match[2]}", match[1])
        parts = (Part(plain(text), number, bool(_BOLD.search(text)), bool(_UNDERLINED.search(text)), 0),)
    return Cell(shared_text, parts, line)


def _counts(body: Sequence[RawRow], width: int) -> frozenset[int]:
    """Return the columns whose cells are counts out of about one total: `197/200`, `192/200`."""
    columns = set()
    for column in range(1, width):
        texts = [plain(row.cells[column]) for row in body if len(row.cells) > column and "/" in row.cells[column]]
        matches = [match for text in texts if (match := _FRACTION.fullmatch(text)) and int(match[1]) <= int(match[2])]
        wholes = [int(match[2]) for match in matches]
        if len(matches) > 1 and len(matches) == len(texts) and max(wholes) <= 1.2 * min(wholes):
            columns.add(column)
    return frozenset(columns)


@functools.lru_cache(maxsize=1 << 14)
def _parts_of(text: str) -> tuple[str, tuple[Part, ...]]:
    """Return a cell's text and parts; equal texts share one result."""
    if not text.strip():
        return text, ()
    pieces = _pieces(text)
    whole_bold = len(pieces) > 1 and re.fullmatch(r"\s*(\*{2,3})[^*]+\1\s*", text) is not None
    parts = []
    for place, piece in enumerate(pieces):
        number = number_of(piece)
        bold, underlined = whole_bold or bool(_BOLD.search(piece)), bool(_UNDERLINED.search(piece))
        name = piece.partition(" [")[2].rstrip("]") if piece.endswith("]") and ":" in text else ""
        parts.append(Part(plain(piece), number, bold, underlined, place, name=name))
        aside = _ASIDE.search(parts[-1].text) if number and "(" in piece else None
        beside = number_of(aside["number"]) if aside else None
        # A count of other precision ("31.2% (164)") only explains the number; one like it is a second score ("65.5 (64.4)").
        # One that is far smaller is a deviation ("90.17 (1.10)").
        is_like = number and beside and number.decimals == beside.decimals > 0 and number.unit == beside.unit
        if is_like and number and beside and beside.value > 0.1 * number.value:
            parts.append(Part(aside["number"] if aside else "", beside, bold, underlined, place, is_aside=True))
    return text, tuple(parts)


def expand_breaks(row: RawRow) -> list[RawRow]:
    """Split a row whose cells are broken into lines into one row per line: `AIME<br>MATH | 74.3<br>96.4` gives two."""
    if not any("<" in text for text in row.cells):
        return [row]
    cell_pieces = [_BREAK.split(text) for text in row.cells]
    count = max(map(len, cell_pieces), default=1)
    numbers = [pieces for pieces in cell_pieces[1:] if len(pieces) == count and all(map(_is_score, pieces))]
    if count < 2 or not numbers or sum(len(pieces) == count for pieces in cell_pieces) < 2:
        return [row]
    if any(len(pieces) not in {1, count} and any(map(number_of, pieces)) for pieces in cell_pieces):
        return [row]
    return [
        RawRow(
            row.line,
            [
                pieces[nth] if len(pieces) == count else text
                for pieces, text in zip(cell_pieces, row.cells, strict=True)
            ],
        )
        for nth in range(count)
    ]


def _pieces(text: str) -> list[str]:
    named_numbers = _NAMED.findall(text) if ":" in text else []
    if len(named_numbers) > 1 and not _NAMED.sub("", text).strip(" *_,;/"):
        return [f"{number} [{name}]" for name, number in named_numbers]  # `F1:92.30 EM:86.60`
    if ("/" not in text and " | " not in text) or is_absent(text) or "</" in text:
        return [text]
    pieces = BETWEEN_VALUES.split(text)
    if 2 <= len(pieces) <= 4:
        numbers = [number_of(piece) for piece in pieces]
        # `2/30` is a fraction of whole numbers; `38.77/66.32` and `2 / 30` are two values.
        is_fraction = " " not in text.strip() and all(n is not None and not n.decimals for n in numbers)
        if (
            not is_fraction
            and any(numbers)
            and all(n is not None or is_absent(p) for n, p in zip(numbers, pieces, strict=True))
        ):
            return pieces
    return [text]


def build_tables(
    raw: Sequence[RawRow], *, index: int, document: str, header_rows: int = 0, headings: tuple[str, ...] = ()
) -> tuple[list[Table], list[Problem]]:
    """Make tables of raw rows of which the first `header_rows` are surely headers (0: not known).

    One run of rows is several tables if a new header stands between its rows. Rows that are too short or too long are
    kept as they are, with a Problem: their cells cannot be told apart from shifted ones. Further header rows (nothing
    in the label columns, no scores) and section rows (one filled cell) are recognised.
    """
    problems: list[Problem] = []
    raw = _with_points([piece for row in map(_without_formulas, raw) for piece in expand_breaks(row)])
    width = max(len(row.cells) for row in raw[: max(header_rows, 1)])
    if starts := _starts_beside(raw, max(header_rows, 1), width):
        several: list[Table] = []
        for start, end in pairwise([0, *starts, None]):
            own = [RawRow(row.line, row.cells[start:end]) for row in raw]
            beside, more = build_tables(
                [row for row in own if any(map(str.strip, row.cells))],
                index=index + len(several),
                document=document,
                header_rows=header_rows,
                headings=headings,
            )
            several, problems = [*several, *beside], [*problems, *more]
        return several, problems
    labels = _label_columns(raw[max(header_rows, 1) :], width)
    count = max(header_rows, 1)
    while count > 1 and (_is_across(raw[count - 1]) or _holds_scores(raw[count - 1], raw[count - 2], labels)):
        count -= 1  # a rule may part groups of rows, the first of which is then no header
    while count < min(len(raw) - 1, MAX_HEADER_ROWS) and (
        (count == 1 and _is_title(raw[0])) or _is_header(raw[count], raw[:count], width, labels)
    ):
        count += 1
    headers = [_header(row, width) for row in raw[:count]]
    _continue_labels(headers)
    body = list(raw[count:])
    counts = _counts(body, width)
    rows: list[Row] = []
    section = ""
    tables: list[Table] = []
    for at, row in enumerate(body):
        texts = [plain(text) for text in row.cells]
        filled = [text for text in texts if text]
        if not filled or texts == headers[0] or texts == headers[-1]:
            continue
        if rows and at < len(body) - 1 and _begins_anew(texts, width, labels, headers[-1]):
            later, more = build_tables(body[at:], index=index + 1, document=document, headings=headings)
            tables, problems = later, [*problems, *more]
            break
        if (
            width > 2
            and len(set(filled)) == 1
            and (len(filled) == 1 or len(filled) == len(row.cells))
            and not _is_value(filled[0])
        ):
            section = filled[0].strip("*_: ")
            continue
        if len(row.cells) != width:
            problems.append(
                Problem(
                    document,
                    row.line,
                    f"this row has {len(row.cells)} cells where its header has {width}: "
                    "its cells may stand under the wrong columns, so they are read but not checked",
                )
            )
        cells = tuple(cell_of(text, row.line, is_count=c in counts) for c, text in enumerate(row.cells))
        rows.append(Row(cells, row.line, section))
    first = Table(index, "", "", raw[0].line, headers, rows, headings=headings)
    return [first, *tables], problems


def _without_formulas(row: RawRow) -> RawRow:
    r"""Replace formulas of Markdown and MathJax by what they show: `$\downarrow$`, `\(79.6_{\pm 0.4}\)`."""
    if not any("\\" in text for text in row.cells):
        return row
    cells = [_FORMULA.sub(lambda match: latex_text(_SPACED.sub("", match[1] or match[2])), text) for text in row.cells]
    return RawRow(row.line, cells)


_FORMULA = re.compile(r"\$([^$]*\\[A-Za-z%][^$]*)\$|\\\((.*?)\\\)")
_SPACED = re.compile(r"(?<=[\d.]) (?=[\d.])")  # formulas print no blanks in a number


def _with_points(rows: list[RawRow]) -> list[RawRow]:
    """Return the rows with decimal points if the table writes commas: `0,82`, `78,5 ± 0,3`, `1.234,5`.

    Some cells must show this (`0,808`; one or two digits after a comma; one `1.234,5` is enough), and a point may only
    separate thousands.
    """
    texts = [text for row in rows for text in row.cells]
    if not any("," in text for text in texts):
        return rows
    bare = [_GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text) for text in texts]
    is_sure = any(
        bare_text != text and _WITH_COMMA.fullmatch(bare_text) for bare_text, text in zip(bare, texts, strict=True)
    )
    is_sure |= sum(_WITH_COMMA.fullmatch(text) is not None for text in bare) >= LEAST_COMMAS
    if not is_sure or any(_WITH_POINT.search(text) for text in bare):
        return rows
    places = iter(bare)
    return [RawRow(row.line, [_COMMA.sub(".", next(places)) for _ in row.cells]) for row in rows]


# Thousands that are parted by a point, a blank or an apostrophe, in a table whose decimals stand behind a comma.
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3}|[ \u00a0\u2009\u202f'\u2019]\d{3})+(?=,\d|(?![\w.,]))")
_WITH_POINT = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
_WITH_COMMA = re.compile(r"[^\w,]*(?:0,\d+|\d{1,9},\d{1,2})(?:[^\d,][^,]*|[^\w,]*±[^,]*,\d+[^\w,]*)?")
_COMMA = re.compile(r"(?<=\d),(?=\d)")


def _starts_beside(raw: Sequence[RawRow], header_rows: int, width: int) -> list[int]:
    """Return the columns in which further tables begin next to the first one: `Model | Acc | Model | Acc`.

    Such columns hold names as the first column does, numbers follow each, and the header is repeated.
    """
    head = [clean_label(text).lower() for text in raw[header_rows - 1].cells]
    body = [row for row in raw[header_rows:] if len(row.cells) == width]
    if len(body) < 2 or len(head) < width:
        return []

    def is_names_and_numbers(column: int) -> bool:
        names = [row.cells[column] for row in body if row.cells[column].strip()]
        numbers = [row.cells[column + 1].split("/")[0] for row in body]
        has_numbers = 2 * sum(number_of(text) is not None for text in numbers) >= len(body)
        return 2 * len(names) >= len(body) and not any(map(_is_score, names)) and has_numbers

    starts = [0]
    for middle in range(2, width - 1):
        first = starts[-1]
        is_same = bool(head[first]) and head[middle] == head[first]
        is_same |= width - first == 2 * (middle - first) and head[first + 1 : middle] == head[middle + 1 :]
        if is_same and middle - first > 1 and is_names_and_numbers(first) and is_names_and_numbers(middle):
            starts.append(middle)
    return starts[1:]


def _header(row: RawRow, width: int) -> list[str]:
    texts = [plain(text) for text in row.cells][:width]
    if _is_title(row):
        return [next(text for text in texts if text)] * width
    return texts + [""] * (width - len(texts))


def _is_value(text: str) -> bool:
    return number_of(text) is not None or is_absent(text)


def _is_title(row: RawRow) -> bool:
    """Tell whether a row is one text that stands over the whole table."""
    texts = [plain(text) for text in row.cells]
    is_one = len(texts) > 2 and bool(texts[0]) and (len(set(texts)) == 1 or not any(texts[1:]))
    return is_one and not _is_score(texts[0])


def _is_across(row: RawRow) -> bool:
    return _is_title(row) and row.cells[0] == row.cells[-1]


def _label_columns(body: Sequence[RawRow], width: int) -> int:
    """Return how many columns come before the first one of numbers."""
    body = [
        row
        for row in body
        if any(_is_score(piece) for text in row.cells[1:] if text.strip() for piece in _pieces(text))
    ]
    for column in range(1, width):
        texts = [_pieces(row.cells[column])[0] for row in body if len(row.cells) > column and row.cells[column].strip()]
        if texts and 2 * sum(_is_score(text) for text in texts) >= len(texts):
            return column
    return 1


def _continue_labels(headers: list[list[str]]) -> None:
    """Fill blanks of upper header rows with the label to their left, unless a label above changes there."""
    for nth, upper in enumerate(headers[:-1]):
        if any(left and left == right for left, right in pairwise(upper)):
            continue  # this row says itself how far its labels reach
        if _spread_over_parts(upper, headers[nth + 1]):
            continue
        for column in range(2, len(upper)):
            if not upper[column] and all(above[column] == above[column - 1] for above in headers[:nth]):
                upper[column] = upper[column - 1]


def _spread_over_parts(upper: list[str], lower: Sequence[str]) -> bool:
    """Spread labels over the columns of their parts, if the same parts stand below each label; return whether they do.

    `| | | QuizA | | | QuizB | |` over `Model | Base | Novel | HM | Base | Novel | HM`.
    """
    label_columns = [c for c in range(1, len(upper)) if upper[c]]
    size, rest = divmod(len(upper) - 1, max(len(label_columns), 1))
    parts = {tuple(lower[at : at + size]) for at in range(1, len(lower), max(size, 1))}
    if rest or size < 2 or len(label_columns) < 2 or len(parts) != 1 or not all(next(iter(parts))):
        return False
    if [(c - 1) // size for c in label_columns] != [*range(len(label_columns))]:
        return False
    upper[1:] = [upper[label_columns[c // size]] for c in range(len(upper) - 1)]
    return True


def _is_header(row: RawRow, above: Sequence[RawRow], width: int, labels: int) -> bool:
    if len(row.cells) != width or _is_across(row):
        return False  # one text over all columns, below the header, is a section
    over = [{clean_label(head.cells[column]) for head in above if len(head.cells) > column} for column in range(labels)]
    own = [label for c in range(labels) if (label := clean_label(row.cells[c])) and label not in over[c]]
    if _is_all_bold(row) and (len(above) == 1 or not any(any(labels) for labels in over)):
        return True
    kinds = {label_kind(label) for label in own}
    # "Architecture | MoE | Dense" is a row of attributes; "Model | Size | MMLU" is a header.
    if own and ("" in kinds or not kinds & {"models", "benchmarks", "metric", "categories"}):
        return False
    filled = [text for text in row.cells[labels:] if text.strip()]
    return (
        len(filled) >= min(2, width - labels)
        and not all(map(is_absent, filled))
        and not any(number_of(text) is not None and _is_score(text) for text in filled)
    )


def _holds_scores(row: RawRow, above: RawRow, labels: int) -> bool:
    """Tell whether a row has names of its own, with decimals after them."""
    texts = [piece for text in row.cells[labels:] if text.strip() for piece in _pieces(text)]
    decimals = sum((number := number_of(text)) is not None and "." in number.text for text in texts)
    return (
        any(map(str.strip, row.cells[:labels]))
        and row.cells[:labels] != above.cells[:labels]
        and (2 * decimals > len(texts))
    )


def _is_all_bold(row: RawRow) -> bool:
    """Tell whether a row holds nothing but several bold words: names of columns."""
    filled = [text for text in row.cells if text.strip()]
    return len(filled) > 2 and all(_BOLD.fullmatch(text.strip()) and number_of(text) is None for text in filled)


def _begins_anew(texts: Sequence[str], width: int, labels: int, header: Sequence[str]) -> bool:
    """Tell whether a row between other rows is the header of a new table.

    It has no numbers, names over the columns of numbers, and over the label columns `Model` or `Benchmark`, or what the
    table's own header has there.
    """
    if len(texts) != width:
        return False
    is_named = any(is_role("models", label) or is_role("benchmarks", label) for label in texts[:labels])
    rest = [text for text in texts[labels:] if text]
    is_same = [*texts[:labels]] == [*header[:labels]] and len(rest) == width - labels > 2
    return (is_named or is_same) and len(rest) >= 2 and not any(_is_value(text) for text in rest)


def _is_score(text: str) -> bool:
    if is_absent(text):
        return True
    number = number_of(text)
    return number is not None and number.unit not in {"K", "M", "B", "T"}
