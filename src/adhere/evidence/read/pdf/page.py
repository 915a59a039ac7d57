"""Define the parts of a page: words and lines with their places, rules, and tables."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from adhere.evidence.claims.printed import number_of

TABLES = "Table|TABLE|Tab\\.|表|표|Таблица|Tabela|Tabella|Tabelle|Tableau|Tabla|Tablo|Bảng"  # how their captions begin
CAPTION = re.compile(
    rf"(?:{TABLES}|Figure|Figura|Abbildung|Рисунок|Hình|图|図)\s*(?:\(?\d|[IVX]+(?:[:.]|\s*$|\s+(?=[A-Z])))"
)
AMOUNT = re.compile(r"[$€£]?\d[\d.,]*(?:/\d[\d.,]*)?%?")
LEAST_LINES = 2
LEAST_RULES = 3  # over a header, below it and below the rows
WIDE = 0.6
LEVEL = 2.0  # how far apart the pieces of one rule may lie


class Word(NamedTuple):
    """Holds a word on a page; `top` grows downwards."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    size: float
    bold: bool

    @property
    def centre(self) -> float:
        """The horizontal middle of the word."""
        return (self.left + self.right) / 2


@dataclass(slots=True)
class PageLine:
    """Holds a line of text; `number` is its line number in the document once that is known."""

    words: list[Word]
    number: int = 0

    @property
    def top(self) -> float:
        """The line's upper edge."""
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        """The line's lower edge."""
        return max(word.bottom for word in self.words)

    @property
    def height(self) -> float:
        """The height of the line's highest word."""
        return max(word.bottom - word.top for word in self.words)

    @property
    def text(self) -> str:
        """The line's words; with two spaces between words that stand farther apart than a space."""
        pieces = [self.words[0].text]
        for before, word in pairwise(self.words):
            pieces += ["  " if word.left - before.right > 0.8 * word.size else " ", word.text]
        return "".join(pieces)


class Bar(NamedTuple):
    """Describes a piece of a vertical rule."""

    across: float
    top: float
    bottom: float


class Rule(NamedTuple):
    """Describes a horizontal rule."""

    left: float
    right: float
    top: float


@dataclass
class PageTable:
    """Holds a table of a page: its header, rows, columns of numbers and labels, and rules.

    `columns` are the left and right edges of each column of numbers, `labels` the places across the page that separate
    columns of labels. `lines` are all lines, from the header's first to the last row.
    """

    header: list[Word]
    header_line: PageLine | None
    body: list[PageLine]
    columns: list[tuple[float, float]]
    labels: list[float]
    rules: list[Rule]
    lines: list[PageLine] = field(default_factory=list)
    placed: dict[int, int] = field(default_factory=dict)  # columns of words (by id) that their own place does not tell

    @functools.cached_property
    def edge(self) -> float:
        """Halfway between the first column of numbers and the words before it."""
        left = self.columns[0][0]
        return (left + max((w.right for line in self.body for w in line.words if w.right < left + 1), default=left)) / 2

    @property
    def is_ruled(self) -> bool:
        """Whether the rows and header have three or more rules, each over most of the table's width."""
        left, right = min(line.words[0].left for line in self.body), self.columns[-1][1]
        near = 2.5 * self.body[0].height
        top, bottom = min(line.top for line in self.lines) - near, max(line.bottom for line in self.lines) + near
        levels: list[list[Rule]] = []
        for rule in sorted(self.rules, key=lambda rule: rule.top):
            if not top < rule.top < bottom:
                continue
            if levels and rule.top <= levels[-1][0].top + LEVEL:
                levels[-1].append(rule)  # the pieces of one rule, that of each column
            else:
                levels.append([rule])
        wide: list[float] = []
        for level in levels:
            covered, end = 0.0, left
            for rule in sorted(level):
                covered += max(min(rule.right, right) - max(rule.left, end), 0.0)
                end = max(end, rule.right)
            if covered > WIDE * (right - left):
                wide.append(level[0].top)
        return len(without_doubles(wide)) >= LEAST_RULES


class Block(NamedTuple):
    """Holds a part of a page in reading order: a paragraph's lines, a heading, or a table. `page` counts from 1."""

    lines: list[PageLine]
    table: PageTable | None
    is_heading: bool
    page: int = 0


def rules_by_width(rules: list[Rule]) -> list[list[Rule]]:
    """Group rules that begin and end at the same places, to 3 points."""
    alike: dict[tuple[int, int], list[Rule]] = {}
    for rule in rules:
        alike.setdefault((round(rule.left / 3), round(rule.right / 3)), []).append(rule)
    return list(alike.values())


def without_doubles(tops: list[float]) -> list[float]:
    """Return the heights of rules from the top; of two at most 4 points apart only the lower one."""
    places: list[float] = []
    for top in sorted(tops):
        if places and top - places[-1] <= 4:
            places[-1] = top
        else:
            places.append(top)
    return places


def lines_between(lines: list[PageLine], top: float, bottom: float) -> list[PageLine]:
    """Return the lines that stand between two heights of the page, to 2 points."""
    return [line for line in lines if line.top >= top - 2 and line.bottom <= bottom + 2]


def to_lines(words: list[Word]) -> list[PageLine]:
    """Group words into lines, from the top; words whose lower edges are at one height are one line."""
    lines: list[PageLine] = []
    for word in sorted(words, key=lambda w: (w.bottom, w.left)):
        if lines and abs(lines[-1].words[-1].bottom - word.bottom) <= 0.35 * max(word.size, 1):
            lines[-1].words.append(word)
        else:
            lines.append(PageLine([word]))
    for line in lines:
        line.words.sort(key=lambda w: w.left)
    return sorted(lines, key=lambda line: line.top)


def find_numbers(line: PageLine) -> list[Word]:
    """Return the words of a line that are numbers, or print a number with more (`1564/1580`, `$1.29`).

    Numbers that belong to a name (`Opus 4.7`, `LLaMA 2 70B`) or a setting (`DPO (β = 0.1, LR = 2e−7)`) are left out.
    """
    numbers = []
    is_name = False
    remarks = _find_remarks(line.words)
    for at, (before, word) in enumerate(zip([None, *line.words], line.words, strict=False)):
        text = word.text.strip("*†‡()")
        if at in remarks:
            is_name = True
            continue
        if number_of(text) is None and number_of(word.text) is None and not AMOUNT.fullmatch(text):
            is_name = any(map(str.isalpha, text))
            continue
        is_name = is_name and before is not None and word.left - before.right < 0.4 * word.size
        if not is_name:
            numbers.append(word)
    return numbers


def _find_remarks(words: list[Word]) -> set[int]:
    """Return the indices of words in parentheses after a name, if the parentheses begin with a letter."""
    places: set[int] = set()
    begin = 0  # of the remark that is open; no line begins with one
    for at, (before, word) in enumerate(pairwise(words), 1):
        gap = word.left - before.right
        if gap > 0.8 * word.size:
            begin = 0  # another column, and still open
        elif not begin and gap < 0.4 * word.size and word.text.startswith("(") and word.text[1:2].isalpha():
            begin = at
        if begin and word.text.endswith(")"):
            places |= {*range(begin, at + 1)}
            begin = 0
    return places


def is_prose(line: PageLine) -> bool:
    """Tell whether a line is running text: many words, none far from the word before."""
    gaps = (after.left - before.right for before, after in pairwise(line.words))
    return len(line.words) >= 8 and max(gaps) < 0.7 * line.words[0].size


def middle_of(text: list[Word]) -> float:
    """Return the horizontal middle of words."""
    return (text[0].left + text[-1].right) / 2
