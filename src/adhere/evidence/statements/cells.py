"""Compare a statement with tables: the cells that it names, what it says of them, and what they print.

grids.py knows the tables by their labels; here one statement is compared with one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from adhere.evidence.claims.names import Tuning, benchmark_key, model_name
from adhere.evidence.claims.printed import EPSILON
from adhere.evidence.statements.grids import Figure, Grid, Grids, Mention
from adhere.evidence.statements.lexicon import pattern
from adhere.evidence.statements.quantities import Quantity, agrees, is_counted
from adhere.evidence.statements.wording import Wording, stem

Finding = Literal["supported", "denied"]
Pair = tuple[Mention, Mention, Figure]
MOST_CELLS = 400
MOST_OTHER_WORDS = 7  # of a statement that a table supports, beside labels, names and what stands around it
_AMONG = re.compile(r"\b(?:of|all|among)\s+(?:(?:the|all)\s+)*$", re.IGNORECASE)  # "the best of all twelve models"
_SHOT = re.compile(r"[- ]?shots?\b", re.IGNORECASE)
_OF = re.compile(r"\bof\b|/", re.IGNORECASE)
_REFERENCE, _ENDS, _SAME = (pattern("order", name) for name in ("reference", "ends", "same"))
_AHEAD, _BEHIND, _HIGHER, _LOWER = (pattern("order", name) for name in ("ahead", "behind", "higher", "lower"))
_BEST, _WORST, _DIFFERENCE = (pattern("order", name) for name in ("best", "worst", "difference"))
_OBJECT_FIRST, _PASSIVE, _UNLESS = (pattern("order", name) for name in ("object_first", "passive", "unless"))
# What says an order, its sign for the label named first, and whether it speaks of better rather than of more.
_SIGNS = ((_AHEAD, 1, True), (_BEHIND, -1, True), (_HIGHER, 1, False), (_LOWER, -1, False), (_SAME, 0, False))


class Reading(NamedTuple):
    """Holds the finding of one table about a statement, with its cells.

    `exactness` is the share of labels that the statement names in full.
    """

    finding: Finding
    kind: str
    cells: tuple[Figure, ...]
    reason: str
    exactness: float = 1.0


def readings(sentence: Wording, grids: Grids) -> Iterator[Reading]:
    """Yield what each table says of a statement that names a row and a column of it; a table may say nothing."""
    for number, mentions in grids.mentions(sentence).items():
        grid = grids.grids[number]
        if len({mention.axis for mention in mentions}) == 2 and _is_about(grid, sentence, mentions):
            reading = _Case(sentence, grid, mentions).read()
            if reading is not None:
                yield reading._replace(exactness=sum(m.is_exact for m in mentions) / len(mentions))


def names_a_cell(sentence: Wording, grids: Grids) -> bool:
    """Tell whether a table has numbers like those of a statement where the statement names a row and a column."""
    named_grids = ((grids.grids[number], mentions) for number, mentions in grids.mentions(sentence).items())
    cases = [_Case(sentence, grid, mentions) for grid, mentions in named_grids if _is_about(grid, sentence, mentions)]
    return any(case.could_say() for case in cases)


def counts(sentence: Wording, grids: Grids, line: int) -> Reading | None:
    """Return what a table says of a count of benchmarks on which a model leads (`8 of 10`); None if none does.

    Of several tables the one nearest to `line` counts.
    """
    numbers = [q for q in sentence.numbers if not q.is_inner and not q.unit]
    if len(numbers) != 2 or not _OF.search(sentence.text[numbers[0].end : numbers[1].start]):
        return None
    cases = ((grids.grids[number], mentions) for number, mentions in grids.mentions(sentence).items())
    for grid, mentions in sorted(cases, key=lambda case: abs(case[0].sheet.table.line - line)):
        reading = _Case(sentence, grid, mentions).counted(numbers)
        if reading is not None:
            return reading
    return None


def tuning_said(sentence: Wording) -> Tuning:
    """Return the tuning that a statement speaks of, instruct or base; empty if it names neither or both."""
    tunings = {model_name(name.text).tuning for name in sentence.names if name.is_model} - {""}
    tunings |= {"base"} if re.search(r"\bbase models?\b", sentence.text, re.IGNORECASE) else set()
    return next(iter(tunings)) if len(tunings) == 1 else ""


def _is_about(grid: Grid, sentence: Wording, mentions: Sequence[Mention]) -> bool:
    """Tell whether every name of the statement is a label of the table, or occurs in the texts around it."""
    for name in sentence.names:
        inside = any(mention.start <= name.start and name.end <= mention.end for mention in mentions)
        keys = {name.key, benchmark_key(name.text), "~" + stem(name.text), *map(benchmark_key, name.text.split("-"))}
        if not inside and not keys & grid.around and (name.is_sure or (not name.text.islower() and name.start)):
            return False
    shots = {stem(word) for word in re.findall(r"\b(\w+)[- ]shot\b", sentence.text.lower())}
    grid_shots = {stem(word) for word in re.findall(r"\b(\w+)[- ]shot\b", " ".join(grid.told).lower())}
    return not shots or not grid_shots or bool(shots & grid_shots)


class _Case:
    """Compares one statement with one table.

    `pairs` are the cells at a row and a column that the statement names, `numbers` the statement's numbers that may be
    theirs, `among` the numbers of models that it compares ("the best of twelve").
    """

    def __init__(self, sentence: Wording, grid: Grid, mentions: Sequence[Mention]) -> None:
        self.sentence, self.grid, self.text, self.tuning = sentence, grid, sentence.text, tuning_said(sentence)
        labels = grid.sheet.row_labels, grid.sheet.column_labels
        self.rows, self.columns = (
            _without_groups([m for m in mentions if m.axis == axis], sentence.text, own)
            for axis, own in zip(("row", "column"), labels, strict=True)
        )
        spans = [(m.start, m.end) for m in mentions]
        numbers = [q for q in sentence.numbers if not q.is_inner and _is_of_cells(self.text, q, spans)]
        among = [q for q in numbers if q.text.isalpha() and _AMONG.search(self.text[: q.start]) and is_counted(q)]
        self.numbers, self.among = [q for q in numbers if q not in among], {q.value for q in among}
        pairs = ((r, c, v) for r in self.rows for c in self.columns for v in self.cells(r.position, c.position))
        self.pairs: list[Pair] = [pair for pair, _ in zip(pairs, range(MOST_CELLS), strict=False)]

    def cells(self, row: int, column: int) -> list[Figure]:
        """Return the numbers at a row and a column, without those of a model of another tuning."""
        figures = self.grid.figures.get((row, column), [])
        return [v for v in figures if not (self.tuning and v.tuning and v.tuning != self.tuning)]

    def could_say(self) -> bool:
        """Tell whether the statement's numbers could be the named cells' numbers, or differences of them."""
        cells = [value for _, _, value in self.pairs]
        is_like = not self.numbers or _DIFFERENCE.search(self.text) or any(_may_be_cell(q, cells) for q in self.numbers)
        return bool(cells and is_like)

    def read(self) -> Reading | None:
        """Return what the table says; None if it does not speak of the statement."""
        if not self.pairs:
            return None
        cells = [value for _, _, value in self.pairs]
        if not self.numbers:
            return self._by_order("order", cells, is_right=self._said_order())
        open_numbers = [q for q in self.numbers if not any(_equals(q, value) for value in cells)]
        if not open_numbers:
            return self._paired()
        is_gap, reading = self._difference(open_numbers)
        if is_gap or reading is not None:
            return reading
        places = {(row.start, column.start) for row, column, _ in self.pairs}
        is_told = len(places) == 1 if len(self.numbers) == 1 else len(open_numbers) < len(self.numbers) <= len(places)
        if is_told and all(_may_be_cell(q, cells) for q in open_numbers):
            return Reading("denied", "cell", tuple(cells[:4]), f"the table prints {_as_printed(cells)}")
        return None

    def _by_order(self, kind: str, cells: Sequence[Figure], *, is_right: bool | None) -> Reading | None:
        if is_right is None:
            return None
        finding: Finding = "supported" if is_right else "denied"
        return Reading(finding, kind, tuple(cells[:8]), f"the table prints {_as_printed(cells)}")

    def _paired(self) -> Reading | None:
        """Return what the table says of a statement each of whose numbers is in a named cell.

        A number must be in the cell of the label next to it.
        """
        for place, number in enumerate(self.numbers):
            row, column = (_beside(number, place, axis, len(self.numbers)) for axis in (self.rows, self.columns))
            own = [v for r, c, v in self.pairs if r.start == row and c.start == column]
            if not any(_equals(number, value) for value in own):
                return self._by_order("pairing", own, is_right=False if len(own) == 1 else None)
        if len([word for word in self.sentence.bare if "~" + word not in self.grid.around]) > MOST_OTHER_WORDS:
            return None  # it says more than a table can
        self.pairs = [pair for pair in self.pairs if any(_equals(q, pair[2]) for q in self.numbers)]
        cells = [value for _, _, value in self.pairs]
        return self._by_order("cell", cells, is_right=self._said_order() is not False)

    def _difference(self, open_numbers: Sequence[Quantity]) -> tuple[bool, Reading | None]:
        """Return whether a number is the difference of two cells, and what the table then says; (False, None) if not.

        The cells must share a row or a column.
        """
        if len(open_numbers) != 1 or not _DIFFERENCE.search(self.text):
            return False, None
        cells = [value for _, _, value in self.pairs]
        pairs = [(a, b) for a in cells for b in cells if a is not b and (a.row == b.row or a.column == b.column)]
        gaps = [abs(a.printed.value - b.printed.value) for a, b in pairs]
        for pair, gap in zip(pairs, gaps, strict=True):
            if abs(gap - open_numbers[0].value) <= open_numbers[0].half + EPSILON or (
                open_numbers[0].bound and agrees(open_numbers[0]._replace(unit=""), Quantity(0, 0, "", gap, EPSILON))
            ):
                return True, self._by_order("difference", pair, is_right=self._said_order())
        if len({*map(id, cells)}) == 2 and pairs and len(self.numbers) == 1 and not open_numbers[0].bound:
            reason = f"the table prints {_as_printed(pairs[0])}, {gaps[0]:.4g} apart"
            return True, Reading("denied", "difference", pairs[0], reason)
        return False, None

    def _said_order(self) -> bool | None:
        """Tell whether the order that the statement gives is the table's; None if it gives none."""
        if _UNLESS.search(self.text):
            return None
        axis, others = self.rows, self.columns
        if len({m.start for m in self.rows}) == 1:
            axis, others = self.columns, self.rows
        starts = sorted({m.start for m in axis})
        if len(starts) == 1:
            return self._is_extreme()
        sign = self._sign(starts) if len(starts) == 2 else None
        if sign is None:
            return None
        verdicts = []
        for other in others:
            sides = [self._side(start, other, axis is self.rows) for start in starts]
            if sides[0] and sides[1]:
                gap = sides[0].printed.value - sides[1].printed.value
                gap = -gap if sign[1] and sides[0].direction == "lower" else gap
                verdicts.append(gap == 0 if sign[0] == 0 else gap * sign[0] > 0)
        return all(verdicts) if verdicts else None

    def _side(self, start: int, other: Mention, is_row: bool) -> Figure | None:  # noqa: FBT001
        figures = (v for r, c, v in self.pairs if (r if is_row else c).start == start and (c if is_row else r) == other)
        return next(figures, None)

    def _sign(self, starts: Sequence[int]) -> tuple[int, bool] | None:
        """Return whether the label named first is ahead (1), equal (0) or behind (-1); None if unclear.

        The second part says whether ahead means better rather than more.
        """
        is_passive = bool(_PASSIVE.search(self.text)) and not _BEHIND.search(self.text)
        is_first = bool(_OBJECT_FIRST.match(self.text))
        text = self.text if is_first else self.text[starts[0] :]  # "Despite lower costs, A outperforms B"
        signs = [(sign, is_quality) for words, sign, is_quality in _SIGNS if words.search(text)]
        if len({sign for sign, _ in signs}) != 1:
            return None
        return (-signs[0][0] if is_first != is_passive else signs[0][0]), signs[0][1]

    def _is_extreme(self) -> bool | None:
        """Tell whether `the highest on X` (or lowest) is true of the line; None if the statement does not say so."""
        best, worst = bool(_BEST.search(self.text)), bool(_WORST.search(self.text))
        if best == worst or not self.grid.sheet.models_in or any(v.role != "score" for _, _, v in self.pairs):
            return None
        on_rows, verdicts = self.grid.sheet.models_in == "rows", []
        for _, _, own in self.pairs:
            every = (v for cell in self.grid.figures.values() for v in cell if v.role == own.role)
            line = [v.printed.value for v in every if (v.column == own.column if on_rows else v.row == own.row)]
            is_lower = own.direction == "lower" and not _ENDS.search(self.text)
            verdicts.append(own.printed.value == (max(line) if best != is_lower else min(line)))
            if not verdicts[-1] and self.among and self.among != {len(line)}:
                return None  # of fewer models than the table has
        return all(verdicts)

    def counted(self, numbers: Sequence[Quantity]) -> Reading | None:
        """Check `A outperforms B on eight out of ten benchmarks` over the lines that print both; None if it cannot."""
        on_rows = self.grid.sheet.models_in == "rows"
        models = sorted((m for m in (self.rows if on_rows else self.columns)), key=lambda m: m.start)
        sign = self._sign([models[0].start]) if models else None
        if not self.grid.sheet.models_in or len({m.start for m in models}) != 2 or sign is None:
            return None
        lines: dict[int, dict[int, Figure]] = {}
        for row, column in self.grid.figures:
            own, other = (row, column) if on_rows else (column, row)
            for start in {m.start for m in models if m.position == own}:
                for figure in self.cells(row, column)[:1]:
                    if figure.role == "score":
                        lines.setdefault(other, {})[start] = figure
        both = [(line[models[0].start], line[models[-1].start]) for line in lines.values() if len(line) == 2]
        gaps = [(a.printed.value - b.printed.value) * (-1 if a.direction == "lower" else 1) for a, b in both]
        ahead = sum(gap * sign[0] > 0 for gap in gaps)
        if len(both) < 2:
            return None
        who, table = self.text[models[0].start : models[0].end], self.grid.sheet.table.name
        reason = f"in {table} {who} is {'ahead' if sign[0] > 0 else 'behind'} in {ahead} of {len(both)}"
        is_right = [ahead, len(both)] == [number.value for number in numbers]
        return Reading("supported" if is_right else "denied", "count", tuple(a for a, _ in both[:8]), reason)


def _without_groups(mentions: list[Mention], text: str, labels: Sequence[str]) -> list[Mention]:
    """Return the labels of one axis without groups (`Tools`) of which another label names a part (`Tools, errors`)."""
    own = {mention.start: benchmark_key(text[mention.start : mention.end]) for mention in mentions}
    groups = {
        start
        for start, group in own.items()
        for other in mentions
        if other.is_exact and other.start != start and group and group in benchmark_key(labels[other.position])
    }
    return [mention for mention in mentions if mention.start not in groups or mention.is_exact]


def _is_of_cells(text: str, number: Quantity, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a number may be a cell's: not inside a label, nor of a table's name or of shots."""
    if any(start <= number.start < end for start, end in spans):
        return False
    return not _REFERENCE.search(text[max(0, number.start - 12) : number.start]) and not _SHOT.match(text, number.end)


def _as_quantity(figure: Figure) -> Quantity:
    number = figure.printed
    unit = {"%": "%", "points": "%"}.get(number.unit, "")
    scale = number.magnitude / number.value if number.value else 1.0
    if number.unit == "ms":
        unit, scale = "s", 1e-3
    return Quantity(0, 0, number.text, number.value * scale, number.half * scale, unit)


def _equals(number: Quantity, figure: Figure) -> bool:
    return agrees(number, _as_quantity(figure))


def _may_be_cell(number: Quantity, cells: Sequence[Figure]) -> bool:
    """Tell whether a number looks like the cells: a score among scores, not a count among shares."""
    if number.unit not in {"", "%"} or number.bound:
        return False
    has_decimals = any(cell.printed.decimals for cell in cells)
    ratios = [number.value / q.value for q in map(_as_quantity, cells) if q.value]
    return any(0.2 <= r <= 5 for r in ratios) and (not has_decimals or "." in number.text or number.unit == "%")


def _beside(number: Quantity, place: int, mentions: Sequence[Mention], count: int) -> int:
    """Return the label that a number belongs to: the only one, the one at its place among as many, else the nearest."""
    starts = sorted({mention.start for mention in mentions})
    if len(starts) == count or len(starts) == 1:
        return starts[place if len(starts) > 1 else 0]
    return min(starts, key=lambda start: abs(start - number.start))


def _as_printed(cells: Iterable[Figure]) -> str:
    texts = [f"{value.printed.text} ({value.row_label}, {value.column_label})" for value in cells]
    return ", ".join(dict.fromkeys(texts[:4]))
