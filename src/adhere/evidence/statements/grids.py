"""Index the tables of sources by the keys of their labels, so that a statement finds the cells that it names."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from adhere.evidence.claims.names import Tuning, benchmark_key, benchmark_name, is_known, is_role, without_pictures
from adhere.evidence.claims.printed import PrintedNumber, plain
from adhere.evidence.claims.values import Sheet
from adhere.evidence.statements.lexicon import pattern
from adhere.evidence.statements.wording import Wording, name_key, stem, with_digits

Axis = Literal["row", "column"]
MOST_WORDS = 5  # of a label
_GAP = re.compile(r"[\s\-/(]{0,2}")
_PARENTHESIS = re.compile(r"\s*[(\[\uff08][^()\[\]\uff08\uff09]*[)\]\uff09]\s*|[#%*]")
_SIZE = re.compile(r"\d+(?:\.\d+)?[BM]")
_SPEED, _AVERAGE = pattern("order", "speed"), pattern("order", "average")
_SPEEDS = frozenset({"faster", "slower", "fast", "slow", "speed"})


class Figure(NamedTuple):
    """Holds a number of a table, a score or not, with its labels."""

    document: str
    line: int
    row: int
    column: int
    row_label: str
    column_label: str
    printed: PrintedNumber
    direction: str = "higher"
    tuning: Tuning = ""
    role: str = ""


class Mention(NamedTuple):
    """Names a table's label that a statement mentions.

    [start, end) is its place in the statement, `position` the index of the row or column. `is_exact` is false if the
    label is mentioned without its parenthesis, or loosely.
    """

    start: int
    end: int
    axis: Axis
    position: int
    is_exact: bool = True


class Grid:
    """Holds a table's numbers by row and column, and the keys of the texts around the table."""

    def __init__(self, sheet: Sheet) -> None:
        table, name = sheet.table, sheet.document.name
        self.sheet = sheet
        self.told = [sheet.document.title, table.caption, table.lead, *table.headings]
        self.figures: dict[tuple[int, int], list[Figure]] = defaultdict(list)
        texts = [*self.told, *(row.section for row in table.rows), *itertools.chain(*table.headers)]
        texts += [cell.text for row in table.rows for cell in row.cells if cell.number is None]
        self.around = frozenset(key for text in dict.fromkeys(texts) for key in _keys_around(plain(text)))
        for v in sheet.values():
            tuning: Tuning = v.model.tuning if v.model else ""
            place = (name, v.line, v.row, v.column, v.row_label, v.column_label)
            self.figures[v.row, v.column].append(Figure(*place, v.printed, v.direction, tuning, v.role))
        for r, row in enumerate(table.rows):
            for c, cell in enumerate(row.cells[1:], start=1):
                if (r, c) not in sheet.cells and c < len(sheet.column_labels):
                    place = (name, row.line, r, c, plain(row.cells[0].text), sheet.column_labels[c])
                    self.figures[r, c] += [Figure(*place, part.number) for part in cell.parts if part.number]
        self.labels = list(self._labels())

    def _labels(self) -> Iterator[tuple[Axis, int, str]]:
        """Yield every label with its axis and position."""
        sheet, table = self.sheet, self.sheet.table
        first = max(1, sheet.first_column if sheet.cells else 1)
        for r in {row for row, _ in self.figures}:
            cell_texts = [plain(c.text) for c in table.rows[r].cells]
            texts = [sheet.row_labels[r], sheet.row_models[r], *cell_texts[:first]]
            if len(cell_texts) > 1 and _SIZE.fullmatch(cell_texts[1]):
                # `Llama 2 | 70B`: whoever names a model names its size
                texts = [*cell_texts[1:first], " ".join(cell_texts[:2])]
            yield from (("row", r, text) for text in dict.fromkeys(texts) if text)
        for c in {column for _, column in self.figures}:
            texts = [sheet.column_labels[c], *(plain(header[c]) for header in table.headers if c < len(header))]
            yield from (("column", c, text) for text in dict.fromkeys(texts) if text)

    def loosely_named(self, sentence: Wording, axis: Axis) -> Iterator[Mention]:
        """Yield mentions of labels of several words all of which the statement has, in any order (`#Total Params`)."""
        words = [(s, e, stem(part)) for s, e, token in sentence.tokens for part in re.split(r"[-/]", token) if part]
        for own, position, label in self.labels:
            label_stems = [stem(word) for word in re.findall(r"[^\W\d_]{3,}", _PARENTHESIS.sub(" ", label))]
            unit = re.search(r"\((?=\w*\d)(\w{3,})\)$", label)  # `Carbon Emitted(tCO2eq)`: its unit says as much
            label_stems = [*label_stems[1:], stem(unit[1])] if unit and len(label_stems) == 2 else label_stems
            if own == axis and len(label_stems) > 1:
                places = [
                    next(((s, e) for s, e, word in words if _is_like(word, want)), (-1, -1)) for want in label_stems
                ]
                if min(places) >= (0, 0):
                    yield Mention(*max(places), axis, position, is_exact=False)


class Grids:
    """Holds the tables of all sources."""

    def __init__(self, sheets: Iterable[Sheet]) -> None:
        self.grids = [Grid(sheet) for sheet in sheets]
        self._places: dict[str, set[tuple[int, Axis, int, frozenset[str]]]] = defaultdict(set)
        for number, grid in enumerate(self.grids):
            for axis, position, label in grid.labels:
                plain_label = without_pictures(label)
                bare = _PARENTHESIS.sub(" ", plain_label).strip()
                beside = frozenset(stem(word) for word in re.findall(r"[^\W\d_]{3,}", plain_label.replace(bare, " ")))
                for text, rest in ((plain_label, frozenset[str]()), (bare, beside)):
                    for key in label_keys(text):
                        self._places[key].add((number, axis, position, rest))

    def mentions(self, sentence: Wording) -> dict[int, list[Mention]]:
        """Return the labels that a statement names, by the number of their table.

        A label inside a longer one does not count.
        """
        mentions_by_grid: dict[int, dict[tuple[Axis, int], Mention]] = defaultdict(dict)
        words = sentence.tokens
        for length in range(min(MOST_WORDS, len(words)), 0, -1):
            for at in range(len(words) - length + 1):
                piece = words[at : at + length]
                if not all(_GAP.fullmatch(sentence.text[a[1] : b[0]]) for a, b in itertools.pairwise(piece)):
                    continue
                start, end = piece[0][0], piece[-1][1]
                for key in _keys_of_words(sentence.text[start:end]):
                    for number, axis, position, beside in sorted(self._places.get(key, ()), key=lambda p: len(p[3])):
                        mention = Mention(start, end, axis, position, beside <= sentence.stems)
                        mentions_by_grid[number].setdefault((axis, position), mention)
        n_numbers = sum(not (q.is_inner or q.unit == "date") for q in sentence.numbers)
        for number, places in mentions_by_grid.items():
            starts = {axis: {m.start for m in places.values() if m.axis == axis} for axis in ("row", "column")}
            for axis, other in (("row", "column"), ("column", "row")):
                if not starts[axis] or (len(starts[axis]) < n_numbers and len(starts[other]) == 1):
                    for mention in self.grids[number].loosely_named(sentence, axis):
                        places.setdefault((axis, mention.position), mention)
        return {number: _told_apart(_outermost(list(places.values()))) for number, places in mentions_by_grid.items()}


def label_keys(label: str) -> set[str]:
    """Return the keys by which a label is found: as a name, by its words without endings, as an average or speed."""
    label = with_digits(label)
    texts = {label, benchmark_name(label).name if is_known(label) and not _PARENTHESIS.search(label) else label}
    keys = {key for text in texts for key in (benchmark_key(text), name_key(text), _stems(text))}
    keys |= {"~average"} if is_role("aggregate", label) else set()
    return (keys | ({"~speed"} if _SPEED.search(label) else set())) - {""}


def _keys_of_words(text: str) -> set[str]:
    """Return the keys under which a piece of a statement may name a label."""
    text = text.removesuffix("'s").removesuffix("’s")
    keys = {benchmark_key(text), _stems(text)} - {""}
    keys |= {name_key(text)} if not text.islower() or any(char.isdigit() for char in text) else set()
    keys |= {"~average"} if _AVERAGE.fullmatch(text) else set()
    return keys | ({"~speed"} if text.lower() in _SPEEDS else set())


def _stems(text: str) -> str:
    words = text.split()
    is_plain = all(len(word) >= 3 and word.isalpha() for word in words)
    return "~" + "".join(stem(word) for word in words) if words and is_plain else ""


def _is_like(word: str, label: str) -> bool:
    """Tell whether a word is a label's word, which may be cut short (`Params`, `Emb`)."""
    return word == label or word.startswith(label) or (len(word) >= 5 and label.startswith(word[:5]))


def _keys_around(text: str) -> Iterator[str]:
    for word in re.findall(r"[A-Za-z0-9.+@-]*[A-Za-z0-9+]|[^\W\da-zA-Z_]+", with_digits(text)):
        yield from (benchmark_key(word), name_key(word), "~" + stem(word))


def _outermost(mentions: list[Mention]) -> list[Mention]:
    def is_inside(part: Mention, whole: Mention) -> bool:
        return whole.start <= part.start and part.end <= whole.end and whole.end - whole.start > part.end - part.start

    return sorted(mention for mention in mentions if not any(is_inside(mention, other) for other in mentions))


def _told_apart(mentions: list[Mention]) -> list[Mention]:
    """Keep the labels that a piece of a statement names in full, if there are any; no piece names both axes."""
    exact = {(m.start, m.axis) for m in mentions if m.is_exact}
    clear_mentions = [m for m in mentions if m.is_exact or (m.start, m.axis) not in exact]
    spans = {axis: {(m.start, m.end) for m in clear_mentions if m.axis == axis} for axis in ("row", "column")}
    twice = spans["row"] & spans["column"]
    # Of such a piece the axis that has other labels gives its label up, the rows first.
    axis = next((axis for axis in ("row", "column") if spans[axis] - twice), "")
    return [m for m in clear_mentions if m.axis != axis or (m.start, m.end) not in twice]
