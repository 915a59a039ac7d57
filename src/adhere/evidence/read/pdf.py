"""Reads PDF pages with pdfplumber: words with their places, rules, fonts; from these, lines of text and tables.

A table is found by its numbers: lines that hold two or more, one above the other in columns. Its header is what stands
above the first of them, up to the rule (or the gap) over it; each word of a header belongs to the column below it, so
names that are broken over several lines come together again. A short rule inside a header says over which columns the
words above it stand.
"""

from __future__ import annotations

import functools
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise, product
from statistics import median
from typing import Any, NamedTuple

from adhere.errors import UsageError
from adhere.evidence.claims.printed import is_absent, number_of
from adhere.evidence.read.grid import RawRow
from adhere.extras import need

_BOLD = re.compile(r"bold|black|cmbx|-bd\b|medi\b", re.IGNORECASE)
_CAPTION = re.compile(r"(?:Table|Figure|Tab\.|TABLE|表)\s*\d")
_NUMBERED = re.compile(rf"{_CAPTION.pattern}|\([a-h]\)")
_RAISED_MARK = re.compile(r"[\d*\u2217†‡§¶,a-f]{1,4}")
_SCORE = re.compile(r"^[\d,]*\.\d+%?$|%$")
_FILLER = re.compile(r"[0X±.]+")
_SPREAD = re.compile(r"[±˘](?:\d|\.\d|$)")
_AMOUNT = re.compile(r"[$€£]?\d[\d.,]*(?:/\d[\d.,]*)?%?")
_SCALED = re.compile(r"~?\d[\d.,]*\s?[KMBT]")
LEAST_LINES = 2
MAX_HEADER_LINES = 8
MAX_NAME_LINES = 4
MAX_BAND = 20.0
MAX_PAGES = 2000
LEAST_LINE_NUMBERS = 20  # a column of fewer numbers that count up may be a table's
MAX_SHARED = 40  # columns of one header that are shared out
MAX_CHARACTERS = 400_000
MAX_PATHS = 5_000  # drawn on one page; rules of tables come before the curves of a plot, which are left out anyway


class Word(NamedTuple):
    """A word on a page; `top` grows downwards."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    size: float
    bold: bool

    @property
    def centre(self) -> float:
        """The middle, across."""
        return (self.left + self.right) / 2


@dataclass(slots=True)
class PageLine:
    """A line of text; `number` is its place in the document once that is known."""

    words: list[Word]
    number: int = 0

    @property
    def top(self) -> float:
        """Its upper edge."""
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return max(word.bottom for word in self.words)

    @property
    def height(self) -> float:
        """How high its letters are."""
        return max(word.bottom - word.top for word in self.words)

    @property
    def text(self) -> str:
        """Its words; two spaces where more than a space lies between them."""
        pieces = [self.words[0].text]
        for before, word in zip(self.words, self.words[1:], strict=False):
            pieces += ["  " if word.left - before.right > 0.8 * word.size else " ", word.text]
        return "".join(pieces)


class Bar(NamedTuple):
    """A piece of a vertical rule."""

    across: float
    top: float
    bottom: float


class Rule(NamedTuple):
    """A horizontal rule."""

    left: float
    right: float
    top: float


@dataclass
class PageTable:
    """A table of a page: its lines (header first), and its rows as soon as lines are numbered."""

    header: list[Word]
    header_line: PageLine | None
    body: list[PageLine]
    columns: list[tuple[float, float]]
    labels: list[float]
    rules: list[Rule]
    lines: list[PageLine] = field(default_factory=list)

    @functools.cached_property
    def edge(self) -> float:
        """Halfway between what stands before the columns of numbers and the first of them."""
        left = self.columns[0][0]
        return (left + max((w.right for line in self.body for w in line.words if w.right < left + 1), default=left)) / 2

    def rows(self) -> tuple[list[RawRow], int]:
        """Rows of cells and how many of them are headers."""
        headers = _header_rows(self)
        line = self.header_line.number if self.header_line else self.body[0].number
        rows = [RawRow(line, texts) for texts in headers]
        return rows + _body_rows(self), len(headers)


class Block(NamedTuple):
    """Something of a page in reading order: a paragraph's lines, a heading, or a table."""

    lines: list[PageLine]
    table: PageTable | None
    is_heading: bool


def pdf_blocks(data: bytes, where: str) -> tuple[list[Block], list[str]]:
    """The blocks of a PDF, and what of it could not be read: pages without text, or beyond 400,000 characters.

    Raises:
        UsageError: It is encrypted, damaged, or holds no text.
    """
    pdfplumber: Any = need("pdfplumber", extra="claims")
    errors: Any = need("pdfminer.pdfdocument", extra="claims")
    parsing: Any = need("pdfminer.psparser", extra="claims")
    utils: Any = need("pdfplumber.utils.exceptions", extra="claims")
    if not data.startswith(b"%PDF-"):
        raise UsageError(f"{where}: called a PDF, but does not begin with %PDF-")
    blocks: list[Block] = []
    empty = left = 0
    budget = _Budget(MAX_CHARACTERS)
    try:
        with pdfplumber.open(io.BytesIO(data)) as pdf:
            for number, page in enumerate(pdf.pages, start=1):
                if number > MAX_PAGES or not budget.lay_out(page):
                    left = len(pdf.pages) - number + 1
                    break
                found = _page_blocks(page)
                empty += not found
                blocks += found
                page.close()
    except utils.PdfminerException as error:
        cause = error.args[0] if error.args else error
        if isinstance(cause, errors.PDFPasswordIncorrect | errors.PDFEncryptionError):
            raise UsageError(
                f"{where}: an encrypted PDF. Remove its password first, e.g. qpdf --decrypt --password=… IN OUT"
            ) from error
        raise UsageError(f"{where}: this PDF is damaged: {cause or type(cause).__name__}") from error
    except (parsing.PSException, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(f"{where}: this PDF cannot be read ({type(error).__name__}: {error})") from error
    if not blocks and left:
        raise UsageError(
            f"{where}: the first page of this PDF holds more than {MAX_CHARACTERS:,} characters. Split it."
        )
    if not blocks:
        raise UsageError(f"{where}: this PDF holds no text (scanned pages?). Run it through OCR first.")
    problems = [f"{empty} pages hold no text"] if empty else []
    if left:
        problems.append(
            f"the last {left} pages were not read: PDFs of up to {MAX_CHARACTERS:,} characters are. Split it"
        )
    return blocks, problems


class _Budget:
    """How many characters may still be read; a small file can unfold to very many."""

    def __init__(self, characters: int) -> None:
        self.characters = characters

    def lay_out(self, page: Any) -> bool:
        """Find what stands on a page, without the curves of its plots; False where that is more than may be read."""
        plumber: Any = need("pdfplumber.page", extra="claims")
        interpreters: Any = need("pdfminer.pdfinterp", extra="claims")
        budget = self

        class Device(plumber.PDFPageAggregatorWithMarkedContent):  # type: ignore[misc]
            paths = 0

            def paint_path(self, gstate: Any, stroke: bool, fill: bool, evenodd: bool, path: Any) -> None:  # noqa: FBT001 -- pdfminer's signature
                self.paths += 1
                if self.paths <= MAX_PATHS and len(path) <= 50 and all(part[0] in "mlh" for part in path):
                    super().paint_path(gstate, stroke, fill, evenodd, path)

            def render_char(self, *arguments: Any, **named: Any) -> Any:
                budget.characters -= 1
                if budget.characters < 0:
                    raise _TooMuchText
                return super().render_char(*arguments, **named)

        device = Device(page.pdf.rsrcmgr, pageno=page.page_number, laparams=page.pdf.laparams)
        try:
            interpreters.PDFPageInterpreter(page.pdf.rsrcmgr, device).process_page(page.page_obj)
        except _TooMuchText:
            return False
        page._layout = device.get_result()  # noqa: SLF001 -- where pdfplumber keeps what it laid out itself
        return True


class _TooMuchText(Exception):
    """A document holds more characters than are read."""


def _page_blocks(page: Any) -> list[Block]:
    pieces = [
        Word(w["text"], w["x0"], w["x1"], w["top"], w["bottom"], w["size"], bool(_BOLD.search(w["fontname"])))
        for w in page.extract_words(x_tolerance_ratio=0.2, extra_attrs=["fontname", "size", "non_stroking_color"])
        if not (_is_white(w["non_stroking_color"]) and _FILLER.fullmatch(w["text"]))
    ]
    if not pieces:
        return []
    words = _whole(_without_line_numbers(pieces))
    rules = _rules(page)
    bars = [Bar(e["x0"], e["top"], e["bottom"]) for e in page.edges if e["orientation"] == "v"]
    blocks: list[Block] = []
    parts = _parts(words, rules, page.width)
    while parts:
        lines = _lines(parts.pop(0))
        tables = _tables(lines, rules, bars)
        split = (_beside_each_other(table, lines, rules) for table in tables)
        if several := next(filter(None, split), []):
            parts = [part for part in several if part] + parts
        else:
            blocks += _in_order(lines, tables)
    return blocks


def _without_line_numbers(words: list[Word]) -> list[Word]:
    """The words of a page without the numbers that a copy for reviewers prints beside its lines: 1, 2, 3, …."""
    columns: dict[int, list[Word]] = {}
    for word in words:
        if word.text.isdecimal() and len(word.text) <= 4:
            columns.setdefault(round(word.right / 2), []).append(word)
    numbers: set[int] = set()
    for place, found in columns.items():
        column = sorted([*found, *columns.get(place + 1, [])], key=lambda word: word.top)
        counted = [b for a, b in pairwise(column) if int(b.text) - int(a.text) == 1]
        if len(counted) >= LEAST_LINE_NUMBERS and len(counted) >= 0.8 * len(column):
            numbers |= {id(word) for word in column}
    return [word for word in words if id(word) not in numbers]


def _beside_each_other(table: PageTable, lines: list[PageLine], rules: list[Rule]) -> list[list[Word]]:
    """Two tables that stand side by side and were taken as one: the words above them, of each, and below.

    Empty where it is one.
    """
    size = median(word.size for line in table.lines for word in line.words)
    reach = None
    for left, right in sorted((word.left, word.right) for line in table.lines for word in line.words):
        if reach is not None and left - reach > 1.8 * size and _are_two(table, lines, (reach + left) / 2, rules):
            middle = (reach + left) / 2
            first, last = lines.index(table.lines[0]), lines.index(table.lines[-1])
            while first > 0 and _leaves_free(lines[first - 1], lines[first], middle, size):
                first -= 1
            while last < len(lines) - 1 and _leaves_free(lines[last + 1], lines[last], middle, size):
                last += 1
            inside = [word for line in lines[first : last + 1] for word in line.words]
            return [
                [word for line in lines[:first] for word in line.words],
                [word for word in inside if word.centre < middle],
                [word for word in inside if word.centre >= middle],
                [word for line in lines[last + 1 :] for word in line.words],
            ]
        reach = right if reach is None else max(reach, right)
    return []


def _leaves_free(line: PageLine, near: PageLine, middle: float, size: float) -> bool:
    """Whether a line near the tables has words on both sides of what parts them, and none there: their captions."""
    before = [word.right for word in line.words if word.centre < middle]
    behind = [word.left for word in line.words if word.centre >= middle]
    distance = max(line.top - near.bottom, near.top - line.bottom)
    return distance < 3 * line.height and (not before or not behind or min(behind) - max(before) > 1.2 * size)


def _are_two(table: PageTable, lines: list[PageLine], middle: float, rules: list[Rule]) -> bool:
    """Whether both sides of a table have labels and numbers of their own.

    And whether its rules, header or captions begin anew.
    """
    rows = [line for line in table.body if _numbers(line)]
    behind = [words for line in rows if (words := [word for word in line.words if word.centre >= middle])]
    labelled = sum(words[0] not in _numbers(PageLine(words)) and bool(_numbers(PageLine(words))) for words in behind)
    before = sum(any(word.centre < middle for word in _numbers(line)) for line in rows)
    if labelled < max(LEAST_LINES, 0.6 * len(behind)) or before < LEAST_LINES:
        return False
    top, bottom = table.lines[0].top - 5, table.lines[-1].bottom + 5
    near = [rule for rule in rules if top <= rule.top <= bottom]
    if any(rule.left < middle < rule.right for rule in near):
        return False
    if any(rule.right < middle for rule in near) and any(rule.left > middle for rule in near):
        return True
    first, last = lines.index(table.lines[0]), lines.index(table.lines[-1])
    for line in lines[max(first - 3, 0) : last + 4]:
        sides: list[list[Word]] = [[], []]
        for word in line.words:
            sides[word.centre >= middle].append(word)
        heads = [" ".join(word.text for word in side[:2]) for side in sides if side]
        firsts = [head.split()[0] for head in heads]
        if len(heads) == 2 and (all(map(_NUMBERED.match, heads)) or (len({*firsts}) == 1 and not number_of(firsts[0]))):
            return True
    return False


def _is_white(colour: Any) -> bool:
    """Whether text is set in white: what aligns numbers of different length is printed, but not seen."""
    parts = colour if isinstance(colour, tuple | list) else (colour,)
    return len(parts) in {1, 3} and all(part == 1 for part in parts)


def _bearer(word: Word, ends: dict[int, list[Word]]) -> Word | None:
    """The larger word that a small one is raised behind, and that reaches lower."""
    for other in (other for place in range(-2, 3) for other in ends.get(round(word.left) + place, ())):
        is_raised = other.top - 0.4 * other.size < word.top < word.bottom < other.bottom - 0.08 * other.size
        if is_raised and other.size > 1.15 * word.size:
            return other
    return None


def _whole(pieces: list[Word]) -> list[Word]:
    """Words as they are read.

    The library pdfplumber ends one wherever its letters change font or size (small capitals, raised marks, ±).
    """
    usual = median(word.size for word in pieces)
    ends: dict[int, list[Word]] = {}
    for word in pieces:
        ends.setdefault(round(word.right), []).append(word)
    kept: list[Word] = []
    for piece in pieces:
        other = _bearer(piece, ends) if piece.size <= 0.85 * usual else None
        if other is None:
            kept.append(piece)
        elif not _RAISED_MARK.fullmatch(piece.text):  # the + of MBPP+ is of the name; a number or sign is a footnote's
            kept.append(piece._replace(top=other.top, bottom=other.bottom))
    words: list[Word] = []
    for piece in (word for line in _lines(kept) for word in line.words):
        last = words[-1] if words else None
        gap = piece.left - last.right if last else usual
        reach = (2.5 if last and last.text.endswith(("±", "˘")) else 0.9) * usual
        if (
            last is None
            or abs(piece.bottom - last.bottom) > 0.35 * max(piece.size, last.size)
            or not -0.3 * usual < gap < reach
        ):
            words.append(piece)
        elif gap < 0.12 * max(piece.size, last.size):
            words[-1] = _grown(last, piece, "")
        elif number_of(last.text) is not None and (_SPREAD.match(piece.text) or piece.text == "%"):
            words[-1] = last._replace(text=f"{last.text} {piece.text}")  # its column stays that of the number
        elif last.text.endswith(("±", "˘")) and piece.text[:1].isdigit():
            words[-1] = last._replace(text=f"{last.text} {piece.text}")
        else:
            words.append(piece)
    return words


def _grown(one: Word, other: Word, between: str) -> Word:
    is_first = len(one.text) >= len(other.text)
    main = one if is_first else other
    return Word(
        f"{one.text}{between}{other.text}",
        one.left,
        other.right,
        min(one.top, other.top),
        max(one.bottom, other.bottom),
        main.size,
        main.bold,
    )


def _rules(page: Any) -> list[Rule]:
    """Horizontal rules; pieces that touch are one."""
    found = [Rule(e["x0"], e["x1"], e["top"]) for e in page.edges if e["orientation"] == "h" and e["x1"] - e["x0"] > 2]
    found.sort(key=lambda rule: (round(rule.top), rule.left))
    joined: list[Rule] = []
    for rule in found:
        last = joined[-1] if joined else None
        if last and abs(last.top - rule.top) <= 1.5 and rule.left - last.right <= 1.5:
            joined[-1] = Rule(last.left, max(last.right, rule.right), last.top)
        else:
            joined.append(rule)
    return joined


def _parts(words: list[Word], rules: list[Rule], width: float) -> list[list[Word]]:
    """The words of a page in the order in which it is read.

    What is set over its whole width, then (or before) its two columns.
    """
    middle = width / 2
    tops = sorted(
        rule.top for rule in rules if rule.left < middle - 0.15 * width and rule.right > middle + 0.15 * width
    )
    lines = _lines(words)
    bands: list[tuple[float, float]] = []
    for top in tops:
        # Between the rules of one table stand its rows; what lies further apart are two tables, or a page's head and
        # foot.
        if (
            bands
            and top - bands[-1][1] < MAX_BAND * len(lines)
            and all(map(_is_across, _between(lines, bands[-1][1], top), [middle] * len(lines)))
        ):
            bands[-1] = (bands[-1][0], top)
        else:
            bands.append((top, top))
    zones = [_with_caption(lines, top, bottom, middle) for top, bottom in bands if bottom - top > 2]
    inside = {id(word) for top, bottom in zones for line in _between(lines, top, bottom) for word in line.words}
    rest = [word for word in words if id(word) not in inside]
    halves = _halves(rest, width)
    if len(halves) == 1:
        return [words]
    above = [line for top, bottom in zones for line in _between(lines, top, bottom)]
    return [*([[word for line in above for word in line.words]] if above else []), *halves]


def _between(lines: list[PageLine], top: float, bottom: float) -> list[PageLine]:
    return [line for line in lines if line.top >= top - 2 and line.bottom <= bottom + 2]


def _is_across(line: PageLine, middle: float) -> bool:
    """Whether a line may be set over the whole width: one that reads on across the middle, or a row of a table."""
    before = [word for word in line.words if word.centre < middle]
    behind = [word for word in line.words if word.centre >= middle]
    if not before or not behind:
        return len(line.words) < 8
    return behind[0].left - before[-1].right < 0.8 * before[-1].size or len(_numbers(line)) >= 2 or len(line.words) < 14


def _with_caption(lines: list[PageLine], top: float, bottom: float, middle: float) -> tuple[float, float]:
    """A band of the page with the lines right above and below it that read on across the middle."""
    for line in reversed([line for line in lines if line.bottom <= top + 2]):
        if top - line.bottom > 1.5 * line.height or not _reads_on(line, middle):
            break
        top = line.top
    for line in (line for line in lines if line.top >= bottom - 2):
        if line.top - bottom > 2 * line.height or not _reads_on(line, middle):
            break
        bottom = line.bottom
    return top, bottom


def _reads_on(line: PageLine, middle: float) -> bool:
    before = [word for word in line.words if word.left < middle]
    behind = [word for word in line.words if word.left >= middle]
    if any(word.left < middle - 1 < middle + 1 < word.right for word in line.words):
        return True
    return bool(before and behind) and behind[0].left - before[-1].right < 0.6 * before[-1].size


def _halves(words: list[Word], width: float) -> list[list[Word]]:
    """The words of a page with two columns of text, left before right; those of another page as they are."""
    middle = width / 2
    gutter = [word for word in words if word.left < middle + 3 and word.right > middle - 3]
    left = [word for word in words if word.right <= middle]
    right = [word for word in words if word.left >= middle]
    if len(gutter) > 0.02 * len(words) or min(len(left), len(right)) < 0.25 * len(words):
        return [words]
    # Tables leave the middle of a page free, too: only text that ends at one edge and begins anew at the other is set
    # in columns.
    lines = _lines(left)
    text = [line.words[-1].right for line in lines if len(line.words) >= 4 and number_of(line.words[-1].text) is None]
    full = sum(end > max(text) - 0.02 * width for end in text)
    return [left, right] if len(text) >= max(5, 0.3 * len(lines)) and full > 0.5 * len(text) else [words]


def _lines(words: list[Word]) -> list[PageLine]:
    lines: list[PageLine] = []
    for word in sorted(words, key=lambda w: (w.bottom, w.left)):
        if lines and abs(lines[-1].words[-1].bottom - word.bottom) <= 0.35 * max(word.size, 1):
            lines[-1].words.append(word)
        else:
            lines.append(PageLine([word]))
    for line in lines:
        line.words.sort(key=lambda w: w.left)
    return sorted(lines, key=lambda line: line.top)


# ── tables ──


def _numbers(line: PageLine) -> list[Word]:
    """The words of a line that are numbers, or print one with more (`1564/1580`, `$1.29`).

    Not those that go on a name (`Opus 4.7`, `LLaMA 2 70B`).
    """
    found = []
    is_name = False
    for before, word in zip([None, *line.words], line.words, strict=False):
        text = word.text.strip("*†‡()")
        if number_of(text) is None and not _AMOUNT.fullmatch(text):
            is_name = any(map(str.isalpha, text))
            continue
        is_name = is_name and before is not None and word.left - before.right < 0.4 * word.size
        if not is_name:
            found.append(word)
    return found


def _is_row(line: PageLine) -> bool:
    """Whether a line reads as a row of numbers.

    Two or more, or one beside dashes, and set apart from what stands beside them.
    """
    numbers = _numbers(line)
    values = len(numbers) + sum(is_absent(word.text) for word in line.words)
    if not numbers or values < 2:
        return False
    apart = sum(b.left - a.right > 0.6 * b.size for a, b in zip(line.words, line.words[1:], strict=False))
    return apart >= 1 and (values >= 0.4 * len(line.words) or apart >= values - 1)


def _find_bands(rules: list[Rule]) -> list[tuple[Rule, float]]:
    """Where three rules or more of one width stand above one another.

    The second, under the header, and the place of the last.
    """
    alike: dict[tuple[int, int], list[Rule]] = {}
    for rule in rules:
        alike.setdefault((round(rule.left / 3), round(rule.right / 3)), []).append(rule)
    found = []
    for group in alike.values():
        tops = _apart([rule.top for rule in group])
        if len(tops) >= 3:
            found.append((Rule(group[0].left, group[0].right, tops[1]), tops[-1]))
    return found


def _is_lone_value(line: PageLine, bands: list[tuple[Rule, float]]) -> bool:
    """Whether a line between the rules of a table is a label and one number: a table of one column."""
    numbers = _numbers(line)
    if len(numbers) != 1 or numbers[0] is not line.words[-1] or not 2 <= len(line.words) <= 8:
        return False
    left, right = line.words[0].left, line.words[-1].right
    return line.words[-1].left - line.words[-2].right > line.words[-1].size and any(
        rule.left - 3 <= left and right <= rule.right + 3 and rule.top - 2 <= line.top and line.bottom <= last + 2
        for rule, last in bands
    )


def _tables(lines: list[PageLine], rules: list[Rule], bars: Sequence[Bar] = ()) -> list[PageTable]:
    tables = []
    bands = _find_bands(rules)
    at = 0
    while at < len(lines):
        if not _is_row(lines[at]) and not _is_lone_value(lines[at], bands):
            at += 1
            continue
        end, rows = at, [at]
        left, right = lines[at].words[0].left, lines[at].words[-1].right
        for index in range(at + 1, len(lines)):
            gap = lines[index].top - lines[index - 1].bottom
            if gap > 2.5 * lines[at].height or index - rows[-1] > 3 or _CAPTION.match(lines[index].text):
                break
            if _is_below_end(lines[index - 1], lines[index], left, right, rules):
                break
            left, right = min(left, lines[index].words[0].left), max(right, lines[index].words[-1].right)
            if _is_row(lines[index]) or _is_lone_value(lines[index], bands):
                rows.append(index)
                end = index
            elif _is_prose(lines[index]):
                break
        if len(rows) >= LEAST_LINES:
            tables.append(_table(lines, rows, rules, bars))
        at = end + 1
    return [table for table in tables if table is not None]


def _is_below_end(above: PageLine, line: PageLine, left: float, right: float, rules: list[Rule]) -> bool:
    """Whether a rule from `left` to `right` ends the rows above a line: below it, more than a line of white follows."""
    lowest = line.top - 1.2 * above.height
    return above.bottom - 2 < lowest and any(
        above.bottom - 2 <= rule.top < lowest and rule.left <= left + 2 and rule.right >= right - 2 for rule in rules
    )


def _is_prose(line: PageLine) -> bool:
    """Whether a line is running text: many words, none far from the one before."""
    gaps = [b.left - a.right for a, b in zip(line.words, line.words[1:], strict=False)]
    return len(line.words) >= 8 and (not gaps or max(gaps) < 0.7 * line.words[0].size)


def _table(lines: list[PageLine], rows: list[int], rules: list[Rule], bars: Sequence[Bar]) -> PageTable | None:
    last = rows[-1]
    first = _below_header(lines, rows[0], last, rules)
    rows = [index for index in rows if index >= first]
    if len(rows) < LEAST_LINES:
        return None
    body = lines[first : last + 1]
    columns = _columns([lines[index] for index in rows])
    if not columns:
        return None
    first = _under_rule(lines, first, columns, rules)
    while first > 0 and _is_section(lines[first - 1], columns, rules) and _rule_above(lines[first - 1], columns, rules):
        first -= 1
    amounts = first
    while amounts > 0 and _prints_amounts(lines[amounts - 1], columns):
        amounts -= 1
    if first - amounts > 1 or (amounts < first and _rule_above(lines[amounts], columns, rules)):
        first = amounts  # attributes of the columns; one line right below the names belongs to them
    body = lines[first : last + 1]
    header, start = _header(lines, first, columns, rules)
    labels = _label_edges([lines[index] for index in rows], columns[0][0], bars)
    labels = _edges_of_groups(body, [lines[index] for index in rows], columns[0][0]) + labels
    left, right = min(w.left for line in body for w in line.words), columns[-1][1]
    near = [rule for rule in rules if rule.right > left and rule.left < right]
    table = PageTable(header, lines[start] if start < first else None, body, columns, labels, near)
    table.lines = lines[start : last + 1]
    return table


def _below_header(lines: list[PageLine], first: int, last: int, rules: list[Rule]) -> int:
    """The first line below the header's rule, where lines of a header hold numbers themselves (`GPT-4o 0513`)."""
    left, right = min(w.left for w in lines[first].words), max(w.right for w in lines[first].words)
    wide = _apart([r.top for r in rules if r.left <= left + 2 and r.right >= right - 2])
    above = [top for top in wide if -2 <= lines[first].top - top < MAX_HEADER_LINES * 2 * lines[first].height]
    inside = [top for top in wide if lines[first].bottom <= top + 2 and top < lines[last].top]
    between = _between(lines, above[-2], above[-1]) if len(above) > 1 else []
    is_headed = bool(between) and not any(_is_prose(line) or _CAPTION.match(line.text) for line in between)
    if not above or not inside or is_headed or not _is_top(above[-1], lines, first):
        return first
    # Between the rule over a table and the next one stands its header, at most one line of it with numbers of its own;
    # more lines where all are amounts (`360M`, `1.4T`).
    below = next(index for index in range(first, last + 1) if lines[index].top >= inside[0] - 2)
    rows = [[word.text for word in _numbers(line)] for line in lines[first:below] if _is_row(line)]
    is_header = not any(_SCORE.search(text) for row in rows for text in row) and (
        sum(not all(text[-1].isalpha() for text in row) for row in rows) <= 1
    )
    return below if below - first <= MAX_HEADER_LINES and is_header else first


def _is_top(top: float, lines: list[PageLine], first: int) -> bool:
    """Whether a rule is the first of its table: above it stands nothing near, running text, or a caption."""
    over = [line for line in lines[:first] if line.bottom <= top + 2]
    if not over:
        return True
    last = over[-1]
    return (
        top - last.bottom > 1.2 * last.height or _is_prose(last) or any(_CAPTION.match(line.text) for line in over[-4:])
    )


def _under_rule(lines: list[PageLine], first: int, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> int:
    """The first line under the rule that ends the header.

    Rows of words (`Architecture`) may stand above those of numbers.
    """
    left, right = columns[0][0], columns[-1][1]
    wide = _apart(
        [r.top for r in rules if r.left <= left + 2 and r.right >= right - 2 and r.top <= lines[first].top + 2]
    )
    reach = MAX_HEADER_LINES * 2 * lines[first].height
    near = [top for top in wide if lines[first].top - top < reach]
    while len(near) >= 2 and first > 0 and lines[first - 1].top >= near[-1] - 2:
        first -= 1
    return first


def _apart(tops: list[float]) -> list[float]:
    """The places of rules, those of a double rule once (the lower)."""
    found: list[float] = []
    for top in sorted(tops):
        if found and top - found[-1] <= 4:
            found[-1] = top
        else:
            found.append(top)
    return found


_LETTERS = re.compile(r"(?<![^\W\d_])[^\W\d_]{3,}")  # `Generation-Only`, not `8B`


def _is_section(line: PageLine, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> bool:
    """Whether a line is one text that stands over columns of numbers.

    `Closed-Source Models` between the header and the rows; in the middle under a rule also `~8B Models`.
    """
    words = line.words
    if _CAPTION.match(line.text) or len(words) > 8:
        return False
    if max((b.left - a.right for a, b in pairwise(words)), default=0.0) >= 0.6 * words[0].size:
        return False
    rule = _rule_above(line, columns, rules)
    is_centred = rule is not None and abs(_middle(words) - (rule.left + rule.right) / 2) < words[0].size
    if is_centred and (
        len(words) > 1
        or any(0 <= other.top - line.bottom < line.height and other.right >= columns[-1][1] - 2 for other in rules)
    ):
        return any(_LETTERS.search(word.text) for word in words)
    covered = sum(words[0].left < right and words[-1].right > left for left, right in columns)
    is_over = words[-1].right >= columns[0][0] - 2 and (covered >= 2 or len(columns) <= 2)
    return is_over and not _numbers(line) and covered < len(columns)


def _rule_above(line: PageLine, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> Rule | None:
    """The rule over all columns that a line stands right under."""
    left, right = columns[0][0], columns[-1][1]
    return next(
        (r for r in rules if r.left <= left + 2 and r.right >= right - 2 and 0 <= line.top - r.top < 1.5 * line.height),
        None,
    )


def _columns(rows: list[PageLine]) -> list[tuple[float, float]]:
    """The extents of the columns of numbers: numbers of one column overlap, seen from above."""
    spans = sorted((word.left, word.right) for line in rows for word in _numbers(line))
    merged: list[list[float]] = []
    counts: list[int] = []
    for left, right in spans:
        if merged and left < merged[-1][1] - 0.5:
            merged[-1][1] = max(merged[-1][1], right)
            counts[-1] += 1
        else:
            merged.append([left, right])
            counts.append(1)
    least = max(1, 0.2 * len(rows))
    return [(left, right) for (left, right), count in zip(merged, counts, strict=True) if count >= least]


def _header(
    lines: list[PageLine], first: int, columns: Sequence[tuple[float, float]], rules: list[Rule]
) -> tuple[list[Word], int]:
    """The words above the first row of numbers that belong to the table, and the index of their first line."""
    left, right = columns[0][0], columns[-1][1]
    reaching = [r for r in rules if r.left <= left + 2 and r.right >= right - 2 and r.top <= lines[first].top + 2]
    # Short rules below the labels of groups that touch each other reach over all numbers, but not over the names.
    names = min(line.words[0].left for line in lines[first : first + 3]) + lines[first].height
    full = [rule for rule in reaching if rule.left <= names]
    above = _apart([rule.top for rule in (full if len(full) > 1 else reaching)])
    # The rule over the rows, and the rule over the header; a table without rules ends at a gap or at running text.
    ceiling = (
        above[-2]
        if len(above) >= 2 and lines[first].top - above[-2] < MAX_HEADER_LINES * 2 * lines[first].height
        else None
    )
    start = first
    for index in range(first - 1, max(first - 2 * MAX_HEADER_LINES, -1), -1):
        line = lines[index]
        if _is_prose(line) or _CAPTION.match(line.text):
            break
        if ceiling is not None:
            if line.bottom <= ceiling + 1 or lines[start].top - line.bottom > 2.2 * line.height:
                break
        elif lines[start].top - line.bottom > 1.2 * line.height or first - index > MAX_HEADER_LINES:
            break
        start = index
    return [word for line in lines[start:first] for word in line.words], start


def _label_edges(rows: list[PageLine], end: float, bars: Sequence[Bar] = ()) -> list[float]:
    """Where label columns end: places before the first number that no word of any row covers, wider than a space.

    Or a narrower one, where a vertical rule stands, or where most rows begin, and what stands before it in the others
    (a group) ends.
    """
    spans = sorted((word.left, word.right, word.size) for line in rows for word in line.words if word.right < end + 1)
    begin, count = Counter(round(line.words[0].left) for line in rows).most_common(1)[0]
    lefts = [{round(word.left) for word in line.words} for line in rows]
    is_begun = 2 * count > len(rows) and all(begin in own or min(own) > begin for own in lefts)
    edges: list[float] = []
    reach = None
    for left, right, size in spans:
        if reach is not None and left > reach and (left - reach > 0.7 * size or (is_begun and round(left) == begin)):
            edges.append((reach + left) / 2)
        reach = right if reach is None else max(reach, right)
    drawn = Counter(
        round(bar.across) for bar in bars for line in rows if bar.top < (line.top + line.bottom) / 2 < bar.bottom
    )
    for x in (x for x, count in drawn.items() if 2 * count > len(rows)):
        sides = [sum(right < x + 1 for _, right, _ in spans), sum(left > x - 1 for left, _, _ in spans)]
        if min(sides) >= LEAST_LINES and all(abs(edge - x) > 5 for edge in edges):
            edges.append(x)
    return sorted(edges)


def _prints_amounts(line: PageLine, columns: Sequence[tuple[float, float]]) -> bool:
    """Whether a line names an amount and prints it for every column (`Trained tokens  1.4T  1.4T`)."""
    words = [word for word in line.words if word.right > columns[0][0]]
    is_named = len(words) == len(columns) < len(line.words)
    return is_named and all(_SCALED.fullmatch(word.text) for word in words)


def _edges_of_groups(body: list[PageLine], rows: list[PageLine], end: float) -> list[float]:
    """Where columns of groups end that no row has a word in.

    The name of an even number of rows stands between two of them, left of every row's own label.
    """
    begin = min(line.words[0].left for line in rows)
    spans = sorted(
        (word.left, word.right, word.size) for line in body if line.words[-1].right < begin for word in line.words
    )
    edges, reach = [], spans[0][1] if spans and begin < end else begin
    for left, right, size in [*spans, (begin, begin, spans[0][2] if spans else 0.0)]:
        if left - reach > 0.7 * size:
            edges.append((reach + left) / 2)
        reach = max(reach, right)
    return edges


def _place(word: Word, table: PageTable) -> int:
    """The index of the column that a word stands in: label columns first."""
    columns = table.columns
    if word.centre < table.edge and word.right < columns[0][0] + 2:
        return sum(word.centre > label for label in table.labels)
    nearest = min(range(len(columns)), key=lambda c: abs((columns[c][0] + columns[c][1]) / 2 - word.centre))
    return len(table.labels) + 1 + nearest


def _join(words: list[Word]) -> str:
    text = ""
    for word in words:
        text += word.text if not text or text.endswith("-") or word.text.startswith(".") else f" {word.text}"
    return text


def _width(table: PageTable) -> int:
    return len(table.labels) + 1 + len(table.columns)


def _header_rows(table: PageTable) -> list[list[str]]:
    if not table.header:
        return [[""] * _width(table)]
    top, bottom = min(w.top for w in table.header), max(w.bottom for w in table.header)
    full = table.columns[-1][1] - table.columns[0][0]
    spanning = [
        rule
        for rule in table.rules
        if top + 2 < rule.top < bottom - 2
        and rule.right - rule.left < 0.98 * (full + table.columns[0][0] - min(w.left for w in table.header))
    ]
    spanning = [rule for rule in spanning if not _holds_several(rule, table)]
    upper: list[str] = [""] * _width(table)
    across: dict[int, Sequence[int]] = {
        id(word): [c for c, (a, b) in enumerate(table.columns) if rule.left - 2 <= (a + b) / 2 <= rule.right + 2]
        for rule in reversed(spanning)
        for word in table.header
        if word.bottom <= rule.top + 2 and rule.left - 2 <= word.centre <= rule.right + 2
    }
    across |= _across([word for word in table.header if id(word) not in across], table)
    for word in table.header:
        for place in (len(table.labels) + 1 + c for c in across.get(id(word), ())):
            upper[place] = f"{upper[place]} {word.text}".strip()
    rest = [word for word in table.header if id(word) not in across]
    lower: list[list[str]] = []
    for layer in _layers(rest, table):
        by_column: dict[int, list[Word]] = {}
        for word in layer:
            by_column.setdefault(_place(word, table), []).append(word)
        texts = [_join(by_column.get(place, [])) for place in range(_width(table))]
        if lower and not any(map(all, zip(lower[-1], texts, strict=True))):
            texts = [*map("".join, zip(lower.pop(), texts, strict=True))]  # `Model`, half a line above the others
        lower.append(texts)
    return [upper, *lower] if any(upper) else lower or [upper]


def _holds_several(rule: Rule, table: PageTable) -> bool:
    """Whether texts that stand apart are right above a rule of a header, which says of neither where it stands."""
    above = [w for w in table.header if w.bottom <= rule.top + 2 and rule.left - 2 <= w.centre <= rule.right + 2]
    line = _lines(above)[-1].words if above else []
    return any(after.left - before.right > 2 * before.size for before, after in pairwise(line))


def _across(words: list[Word], table: PageTable) -> dict[int, Sequence[int]]:
    """The columns that words of a header stand over, of those (by id) that stand over several with no rule below them.

    They stand over the middle of their columns: so a line's texts share the columns of the names below it.
    """
    first = len(table.labels) + 1
    found: dict[int, Sequence[int]] = {}
    for line in _lines(words)[:-1]:
        below: dict[int, list[Word]] = {}
        for word in words:
            if word.top > line.bottom - 0.3 * word.size and (place := _place(word, table)) >= first:
                below.setdefault(place - first, []).append(word)
        spans = {c: (min(w.left for w in own), max(w.right for w in own)) for c, own in sorted(below.items())}
        texts = _texts([word for word in line.words if _place(word, table) - first in spans], table)
        if not texts or len(spans) > MAX_SHARED:
            continue
        shares = _shares([*map(_middle, texts)], spans)
        if any(_is_off(text, spans, table) for text in texts) or _covers(texts, shares, spans):
            for text, own in zip(texts, shares, strict=True):
                found |= dict.fromkeys(map(id, text), own) if len(own) > 1 else {}
    return found


def _covers(texts: list[list[Word]], shares: list[range], spans: dict[int, tuple[float, float]]) -> bool:
    """Whether texts stand over the middle of several columns each, and all columns below one of them."""
    if [c for own in shares for c in own] != [*spans] or any(len(own) < 2 for own in shares):
        return False
    middles = ((spans[own[0]][0] + spans[own[-1]][1]) / 2 for own in shares)
    return all(abs(_middle(text) - middle) < 0.5 * text[0].size for text, middle in zip(texts, middles, strict=True))


def _texts(words: list[Word], table: PageTable) -> list[list[Word]]:
    """The words of a line of a header, together where they follow closely, but for names of single columns."""
    texts: list[list[Word]] = []
    for word in words:
        if texts and word.left - texts[-1][-1].right < 0.6 * word.size:
            texts[-1].append(word)
        else:
            texts.append([word])
    found: list[list[Word]] = []
    for text in texts:
        names = {place: [*own] for place, own in groupby(text, lambda word: _place(word, table))}
        columns = ((own, table.columns[place - len(table.labels) - 1]) for place, own in names.items())
        is_apart = all(abs(_middle(own) - (left + right) / 2) < 0.5 * text[0].size for own, (left, right) in columns)
        found += names.values() if is_apart else [text]
    return found


def _middle(text: list[Word]) -> float:
    return (text[0].left + text[-1].right) / 2


def _is_off(text: list[Word], spans: dict[int, tuple[float, float]], table: PageTable) -> bool:
    """Whether a text stands over several columns, or over the middle of no name below it, nor begins with one."""
    middle, size = _middle(text), text[0].size
    return len({_place(word, table) for word in text}) > 1 or all(
        abs((a + b) / 2 - middle) > 0.7 * size and abs(a - text[0].left) > 2 for a, b in spans.values()
    )


def _shares(middles: list[float], spans: dict[int, tuple[float, float]]) -> list[range]:
    """For each text the columns whose common middle is nearest to its own, as few columns as can be left to none."""
    columns = list(spans)
    pitch = (spans[columns[-1]][1] - spans[columns[0]][0]) / len(columns)

    @functools.cache
    def best(text: int, at: int) -> tuple[float, tuple[range, ...]]:
        if text == len(middles):
            return 0.1 * pitch * (len(columns) - at), ()
        found: tuple[float, tuple[range, ...]] = (float("inf"), ())
        for i in range(at, len(columns)):
            for j in range(i, len(columns)):
                off = abs((spans[columns[i]][0] + spans[columns[j]][1]) / 2 - middles[text])
                cost, rest = best(text + 1, j + 1)
                cost += off + 0.1 * pitch * (i - at)
                if columns[j] - columns[i] == j - i and cost < found[0]:
                    found = (cost, (range(columns[i], columns[j] + 1), *rest))
        return found

    return list(best(0, 0)[1]) or [range(0)] * len(middles)


def _layers(words: list[Word], table: PageTable) -> list[list[Word]]:
    """The words of a header by its rows.

    Lines of one broken name follow each other closely; a row of its own stands apart in its column.
    """
    chunks: list[list[Word]] = []
    latest: dict[int, list[Word]] = {}
    for word in (word for line in _lines(words) for word in line.words):
        place = _place(word, table)
        before = latest.get(place)
        if before and word.top - max(other.bottom for other in before) <= 0.45 * (word.bottom - word.top):
            before.append(word)
        else:
            latest[place] = [word]
            chunks.append(latest[place])
    layers: list[list[Word]] = []
    for chunk in sorted(chunks, key=lambda chunk: min(word.top for word in chunk)):
        top = min(word.top for word in chunk)
        places = {_place(word, table) for layer in layers[-1:] for word in layer}
        if layers and top < max(word.bottom for word in layers[-1]) and _place(chunk[0], table) not in places:
            layers[-1] += chunk
        else:
            layers.append(list(chunk))
    return layers


def _body_rows(table: PageTable) -> list[RawRow]:
    rows: list[RawRow] = []
    labels = len(table.labels) + 1
    placed = []
    sections = {at for at, line in enumerate(table.body) if _is_section(line, table.columns, table.rules)}
    for at, line in enumerate(table.body):
        if at in sections:
            placed.append([line.text, *[""] * (_width(table) - 1)])
            continue
        cells: dict[int, list[Word]] = {}
        for word in line.words:
            cells.setdefault(_place(word, table), []).append(word)
        placed.append([_cell(cells.get(place, []), is_label=place < labels) for place in range(_width(table))])
    taken = _join_labels(table.body, placed, labels)
    _raise_groups(table, placed, sections, taken)
    for at, (line, texts) in enumerate(zip(table.body, placed, strict=True)):
        if at not in taken:
            rows.append(RawRow(line.number, texts))
    return rows


def _raise_groups(table: PageTable, placed: list[list[str]], sections: set[int], taken: set[int]) -> None:
    """Put the label of a group into its first row: it stands in the middle of its rows, between two of them if need be.

    Lines that hold nothing else are `taken`, as those already are that another row was joined with.
    """
    body, labels = table.body, len(table.labels) + 1
    left = min(word.left for line in body for word in line.words)
    is_row = [any(texts[labels:]) for texts in placed]
    numbers = [line for line, has_numbers in zip(body, is_row, strict=True) if has_numbers]
    tops = [  # but for the edges of coloured cells, which run through a row
        rule.top
        for rule in table.rules
        if rule.left <= left + 3 and not any(line.top + 2 < rule.top < line.bottom - 2 for line in numbers)
    ]
    bands: list[list[int]] = [[]]
    for at, line in enumerate(body):
        if at in sections or (bands[-1] and any(body[bands[-1][-1]].top + 2 <= top < line.top + 2 for top in tops)):
            bands.append([])
        if at not in sections and at not in taken:
            bands[-1].append(at)
    for column, band in product(range(max(labels - 1, 1)), bands):
        rows, names = [at for at in band if is_row[at]], [at for at in band if placed[at][column]]
        middle = {at: (body[at].top + body[at].bottom) / 2 for at in band}
        for first, name in _find_groups(rows, names, middle):
            group = _group_name(*(placed[at][column] for at in name))
            for at in name:
                placed[at][column] = ""
            placed[rows[first]][column] = group
        taken |= {at for at in band if not any(placed[at])}


def _find_groups(rows: list[int], names: list[int], middle: dict[int, float]) -> list[tuple[int, list[int]]]:
    """Of lines that name groups of rows: where each group begins in `rows`, and the lines of its name.

    A name of one or more lines stands at the middle of its rows (`middle`: where lines are on the page); each row has
    one. Where that does not come out even, or each name stands beside the first of its rows, nothing is found. One name
    between two rules is that of all rows there.
    """
    if len(names) == 1 and len(rows) > 2:
        return [(0, names)]
    if len(rows) < 2 or not names or (rows[0] in names and set(names) <= set(rows)):
        return []
    pitch = median(middle[after] - middle[before] for before, after in pairwise(rows))
    gaps = [middle[after] - middle[before] for before, after in pairwise(names)]
    off = abs(middle[names[0]] + middle[names[-1]] - middle[rows[0]] - middle[rows[-1]]) / 2
    if len(names) < len(rows) and max(gaps, default=0.0) <= 1.3 * pitch and off < 0.75 * pitch:
        return [(0, names)]  # one name of several lines: two names are farther apart, but for rows of their own
    starts = _divide([middle[at] for at in rows], [middle[at] for at in names], pitch)
    return [(row, names[name:end]) for (row, name), (_, end) in pairwise([*starts, (len(rows), len(names))])]


def _divide(rows: list[float], names: list[float], pitch: float) -> list[tuple[int, int]]:
    """Where the groups of rows begin and the lines of their names, as many groups as can be; none if it leaves a rest.

    From the first place (row, name) to all that can be reached, then from the back the most groups from there on;
    not by recursion, for a page may hold thousands of rows.
    """
    whole = len(rows), len(names)
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {whole: []}
    ahead = [(0, 0)]
    while ahead:
        place = ahead.pop()
        if place not in ways:
            ways[place] = [*_ends_of_group(rows, names, pitch, *place)]
            ahead += ways[place]
    most = {whole: (0, whole)}  # how many groups, and where the second one begins
    for place in sorted(ways, reverse=True):
        for behind in ways[place]:
            if behind in most and most[behind][0] + 1 > most.get(place, (0, whole))[0]:
                most[place] = most[behind][0] + 1, behind
    starts, place = [], (0, 0)
    while place in most and place != whole:
        starts.append(place)
        place = most[place][1]
    return starts


def _ends_of_group(
    rows: list[float], names: list[float], pitch: float, row: int, name: int
) -> Iterator[tuple[int, int]]:
    """Where the next group may begin if one begins here: its name is in the middle of its rows, and no longer."""
    for last in range(name, min(name + MAX_NAME_LINES, len(names))):
        if last > name and names[last] - names[last - 1] > 1.3 * pitch:
            break
        centre = (names[name] + names[last]) / 2
        for end in range(row, len(rows)):
            off = (rows[row] + rows[end]) / 2 - centre
            if off > 0.25 * pitch:
                break
            if off >= -0.25 * pitch and last - name <= end - row:
                yield end + 1, last + 1


def _group_name(*lines: str) -> str:
    """A name of several lines; what its values mean stands in parentheses: `MMSU (Reasoning | Overall)`."""
    *name, last = lines
    return f"{_join_lines(name)} ({last})" if name and " | " in last else _join_lines(lines)


def _join_lines(lines: Sequence[str]) -> str:
    return functools.reduce(_rejoin, lines)


def _join_labels(body: list[PageLine], placed: list[list[str]], labels: int) -> set[int]:
    """Put labels of several lines together; gives the lines that are part of another row then."""
    taken: set[int] = set()
    for at, (line, texts) in enumerate(zip(body, placed, strict=True)):
        if not any(texts[labels:]):
            continue
        is_bare = not any(texts[:labels])
        for other in (at - 1, at + 1):
            if not 0 <= other < len(placed) or other in taken or any(placed[other][labels:]):
                continue
            # It stands half a line above and below its numbers, or begins beside them and is broken at a hyphen.
            is_beside = is_bare and abs(body[other].top - line.top) < 0.9 * line.height
            pairs = zip(texts[:labels], placed[other], strict=False)
            is_broken = other > at and any(one.endswith("-") and more for one, more in pairs)
            if is_beside or is_broken:
                taken.add(other)
                texts[:labels] = map(_rejoin, texts[:labels], placed[other][:labels])
    return taken


def _rejoin(one: str, other: str) -> str:
    return one + other if one.endswith("-") else f"{one} {other}".strip()


def _cell(words: list[Word], *, is_label: bool) -> str:
    text = _join(words) if is_label else " ".join(word.text for word in words)
    return f"**{text}**" if words and not is_label and all(word.bold for word in words) else text


# ── reading order ──


def _in_order(lines: list[PageLine], tables: list[PageTable]) -> list[Block]:
    owner = {id(line): table for table in tables for line in table.lines}
    usual = median([line.height for line in lines if id(line) not in owner] or [lines[0].height])
    blocks: list[Block] = []
    paragraph: list[PageLine] = []
    done: set[int] = set()
    for line in lines:
        table = owner.get(id(line))
        gap = line.top - paragraph[-1].bottom if paragraph else 0.0
        is_heading = table is None and len(line.words) <= 12 and _is_heading(line, usual)
        if paragraph and (table is not None or gap > 0.8 * usual or is_heading):
            blocks.append(Block(paragraph, None, is_heading=False))
            paragraph = []
        if table is not None:
            if id(table) not in done:
                done.add(id(table))
                blocks.append(Block(table.lines, table, is_heading=False))
        elif is_heading:
            blocks.append(Block([line], None, is_heading=True))
        else:
            paragraph.append(line)
    if paragraph:
        blocks.append(Block(paragraph, None, is_heading=False))
    return blocks


def _is_heading(line: PageLine, usual: float) -> bool:
    return (
        (line.height > 1.15 * usual or all(word.bold for word in line.words))
        and not line.text.endswith((".", ",", ";"))
        and not _CAPTION.match(line.text)
    )
