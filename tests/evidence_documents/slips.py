"""The slips themselves: what goes wrong in a document, one planter for each kind.

A planter changes documents in place and says what it did, or returns None where it finds no place, or none with
evidence against the error: a reader with the same pages could find every slip. What a planter that returns None did to
the documents must be thrown away.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Literal, NamedTuple

from .document import Document, Paragraph, Place, Relation, Table
from .generator import scored
from .prose import SIZES, off
from .world import rounded

PlantType = Literal[
    "cross_document",
    "arithmetic",
    "swap",
    "header_rotation",
    "invariant",
    "emphasis",
]
TYPES: tuple[PlantType, ...] = (
    "cross_document",
    "arithmetic",
    "swap",
    "header_rotation",
    "invariant",
    "emphasis",
)
VISIBLE = Decimal("0.3")  # no planted error is smaller than this on a scale of 100
Spot = tuple[int, Place]  # document, cell
Part = tuple[int, tuple[str | int, ...]]  # document, place of a row, header or sentence


@dataclass
class Slip:
    """What a planter did: the parts that now hold the error, the cells it changed, and how it reads."""

    type: PlantType
    detail: str
    parts: list[Part]
    changed: list[Spot] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    dragged: list[Part] = field(default_factory=list)


class Elsewhere(NamedTuple):
    document: int
    place: Place
    value: Decimal


def printed(documents: list[Document]) -> dict[tuple[str, str, str], list[Elsewhere]]:
    """Every printed score of all documents by what it is about."""
    found: dict[tuple[str, str, str], list[Elsewhere]] = {}
    for number, document in enumerate(documents):
        for key, places in scored(document).items():
            found.setdefault(key, []).extend(Elsewhere(number, place, value) for place, value in places)
    return found


def table_of(documents: list[Document], document: int, block: int) -> Table:
    found = documents[document].blocks[block]
    assert isinstance(found, Table)
    return found


def all_tables(documents: list[Document]) -> list[tuple[int, int, Table]]:
    return [(number, block, table) for number, document in enumerate(documents) for block, table in document.tables()]


def _set(documents: list[Document], spot: Spot, value: Decimal, *, index: int = 0) -> str:
    """Prints another number in a cell and says so."""
    document, place = spot
    table = table_of(documents, document, place.block)
    cell = table.cell(place.row, place.column)
    said = (
        f"{documents[document].name}, Table {table.number}, {table.rows[place.row].label!r}, "
        f"column {place.column + 1}: {cell.values[index]} -> {value}"
    )
    cell.values = (*cell.values[:index], value, *cell.values[index + 1 :])
    return said


def row_of(spot: Spot) -> Part:
    return spot[0], ("row", spot[1].block, spot[1].row)


def whole_table(documents: list[Document], document: int, block: int) -> list[Part]:
    table = table_of(documents, document, block)
    rows: list[Part] = [(document, ("row", block, row)) for row in range(len(table.rows))]
    return [(document, ("header", block)), *rows]


def cross_document(documents: list[Document], rng: random.Random) -> Slip | None:
    """One document prints another value than the other for the same model and benchmark."""
    if len(documents) < 2:
        return None
    altered = 1 if rng.random() < 0.6 else 0
    offered = []
    for places in printed(documents).values():
        inside = [place for place in places if place.document == altered]
        outside = [place for place in places if place.document != altered]
        fine = all(place.value.as_tuple().exponent != 0 for place in places)
        if len(inside) == 1 and outside and fine and {place.value for place in places} == {inside[0].value}:
            offered.append((inside[0], outside))
    if not offered:
        return None
    mine, others = rng.choice(offered)
    spot = (altered, mine.place)
    said = _set(documents, spot, off(mine.value, rng))
    parts = [row_of(spot), *((other.document, ("row", other.place.block, other.place.row)) for other in others)]
    return Slip("cross_document", "value", parts, [spot], [said])


def _stated(table: Table, relation: Relation) -> Decimal:
    return table.cell(*relation.target).values[relation.index]


def _expected(table: Table, relation: Relation) -> Decimal:
    values = [table.cell(*source).values[0] for source in relation.sources]
    return relation.expected(values)


def arithmetic(kind: str, documents: list[Document], rng: random.Random) -> Slip | None:
    """A printed average, difference, total or share that does not follow from its parts."""
    offered = [
        (d, b, t, relation) for d, b, t in all_tables(documents) for relation in t.relations if relation.kind == kind
    ]
    if not offered:
        return None
    document, block, table, relation = rng.choice(offered)
    spot = (document, Place(block, *relation.target))
    value = _stated(table, relation)
    detail: str = relation.kind
    if relation.kind == "difference" and abs(value) >= Decimal("0.4") and rng.random() < 0.4:
        detail, changed = "difference sign", -value
    elif relation.kind == "sum":
        changed = value + rng.choice([-1, 1]) * Decimal(rng.choice([9, 90, 1000, 9900]))
    else:
        places = -int(value.as_tuple().exponent)
        changed = rounded(value + rng.choice([-1, 1]) * Decimal(rng.choice(SIZES)), places)
    if (
        changed in {value, Decimal(0)}
        or (relation.kind != "difference" and changed <= 0)
        or abs(changed - _expected(table, relation)) < VISIBLE
    ):
        return None
    said = _set(documents, spot, changed, index=relation.index)
    parts = [row_of(spot)]
    # A wrong total or average stands in its own row; the rows it was computed from are part of the disagreement.
    dragged: list[Part] = [(document, ("row", block, row)) for row, _ in relation.sources]
    return Slip("arithmetic", detail, parts, [spot], [said], dragged)


def arithmetic_part(documents: list[Document], rng: random.Random) -> Slip | None:
    """One part of a difference or of a short average misprinted, in a place that nothing else repeats."""
    index = printed(documents)
    offered = []
    for document, block, table in all_tables(documents):
        for relation in table.relations:
            if relation.kind != "difference" and not (relation.kind == "mean" and len(relation.sources) <= 6):
                continue
            for source in relation.sources:
                cell = table.cell(*source)
                key = cell.keys[0] if cell.keys else None
                if cell.values and cell.form != "pair" and (key is None or len(index.get(key, [])) == 1):
                    offered.append((document, block, table, relation, source))
    if not offered:
        return None
    document, block, table, relation, source = rng.choice(offered)
    value = table.cell(*source).values[0]
    changed = off(value, rng, least=str(Decimal("0.4") * (len(relation.sources) if relation.kind == "mean" else 1)))
    spot = (document, Place(block, *source))
    said = _set(documents, spot, changed)
    if abs(_stated(table, relation) - _expected(table, relation)) < VISIBLE:
        return None
    parts = [row_of(spot), (document, ("row", block, relation.target[0]))]
    return Slip("arithmetic", f"part of {relation.kind}", parts, [spot], [said])


def _score_columns(table: Table) -> dict[int, list[int]]:
    """Columns that hold scores, each with its rows."""
    columns: dict[int, list[int]] = {}
    for row, content in enumerate(table.rows):
        for column, cell in enumerate(content.cells):
            if cell.value is not None and cell.keys[0] is not None:
                columns.setdefault(column, []).append(row)
    return columns


def _spoken(documents: list[Document], spots: set[Spot]) -> int:
    return sum(
        any((document, place) in spots for place in sentence.uses)
        for document, content in enumerate(documents)
        for block in content.blocks
        if isinstance(block, Paragraph)
        for sentence in block.sentences
    )


def swap(wanted: int, documents: list[Document], rng: random.Random) -> Slip | None:
    """Two columns exchanged in so many rows of one table, where at least two other numbers speak against it."""
    offered = [
        (d, b, t)
        for d, b, t in all_tables(documents)
        if t.kind in {"scores", "languages"} and len(t.header) == 1 and len(_columns(t)) >= 2
    ]
    if not offered:
        return None
    document, block, table = rng.choice(offered)
    columns = _columns(table)
    first, second = rng.sample(sorted(columns), 2)
    rows = [row for row in columns[first] if row in columns[second]]
    index = printed(documents)
    outside = {
        row: sum(
            (key := table.cell(row, column).keys[0]) is not None and len(index[key]) > 1 for column in (first, second)
        )
        for row in rows
    }
    rows = [row for row in rows if wanted == 1 or outside[row] == 2]
    rows = rng.sample(rows, min(wanted, len(rows)))
    if len(rows) < wanted or 2 * len(rows) >= len(columns[first]):
        return None
    if any(abs(table.cell(row, first).values[0] - table.cell(row, second).values[0]) < 1 for row in rows):
        return None
    spots = {(document, Place(block, row, column)) for row in rows for column in (first, second)}
    marks_stay = rng.random() < 0.5
    cells = []
    for row in rows:
        a, b = table.cell(row, first), table.cell(row, second)
        cells.append(
            f"{documents[document].name}, Table {table.number}, {table.rows[row].label!r}: "
            f"{a.values[0]} <-> {b.values[0]}"
        )
        a.values, b.values = b.values, a.values
        if not marks_stay:
            a.bold, b.bold = b.bold, a.bold
    broken = [
        relation
        for relation in table.relations
        if any((document, Place(block, *source)) in spots for source in relation.sources)
        and abs(_stated(table, relation) - _expected(table, relation)) >= VISIBLE
    ]
    if len(rows) > 1:
        evident = True  # every exchanged number is printed a second time
    else:
        marks = marks_stay and any(
            a.bold != b.bold for a, b in [(table.cell(rows[0], first), table.cell(rows[0], second))]
        )
        others = outside[rows[0]] + _spoken(documents, spots) + marks
        evident = outside[rows[0]] == 2 or (
            len(broken) >= 2 and (others > 0 or _only_exchange(table, broken, first, second, rows[0]))
        )
    if not evident:
        return None
    parts: list[Part] = [(document, ("row", block, row)) for row in rows]
    return Slip("swap", f"{len(rows)} row{'s' * (len(rows) > 1)}", parts, sorted(spots), cells)


def _columns(table: Table) -> dict[int, list[int]]:
    if table.kind != "languages":
        return _score_columns(table)
    rows = [row for row, content in enumerate(table.rows) if content.kind == "data"]
    return dict.fromkeys(range(len(table.rows[0].cells)), rows)


def _only_exchange(table: Table, broken: list[Relation], first: int, second: int, row: int) -> bool:
    """Whether exchanging back this row, and no other, mends the two broken averages."""
    means = {relation.target[1]: relation for relation in broken if relation.kind == "mean"}
    if {first, second} - set(means):
        return False

    def mends(other: int) -> bool:
        a, b = table.cell(other, first).value, table.cell(other, second).value
        if a is None or b is None:
            return False
        for column, change in ((first, b - a), (second, a - b)):
            relation = means[column]
            mended = _expected(table, relation) + change / len(relation.sources)
            if abs(mended - _stated(table, relation)) > Decimal("0.12"):
                return False
        return True

    rows = [r for r, content in enumerate(table.rows) if content.kind == "data"]
    return [candidate for candidate in rows if mends(candidate)] == [row]


def header_rotation(by_average: bool, documents: list[Document], rng: random.Random) -> Slip | None:
    """Column headers shifted against the data, where other tables or the average column say so."""
    offered = [(d, b, t) for d, b, t in all_tables(documents) if t.kind == "scores" and len(t.header) == 1]
    if not offered:
        return None
    document, block, table = rng.choice(offered)
    scores = sorted(_score_columns(table))
    if len(scores) < 3:
        return None
    means = [relation for relation in table.relations if relation.kind == "mean"]
    across = bool(means) and len({relation.target[1] for relation in means}) == 1  # an average column
    shown_elsewhere = printed(documents)
    known = [
        column
        for column in scores
        if sum(
            len(shown_elsewhere[key]) > 1
            for row in table.rows
            for cell in row.cells[column : column + 1]
            if cell.value is not None and (key := cell.keys[0])
        )
        >= 2
    ]
    if by_average:
        if not across:
            return None
        columns = sorted([*scores, means[0].target[1]])
        detail = "with the average"
    else:
        columns = scores if rng.random() < 0.6 else scores[: max(3, len(scores) - rng.randint(1, 2))]
        columns = columns if rng.random() < 0.5 or len(columns) < 4 else columns[-max(3, len(columns) - 1) :]
        if len(set(columns) & set(known)) < 2:
            return None
        detail = "by other tables"
    step = rng.choice([1, 1, -1, 2]) if len(columns) > 3 else rng.choice([1, -1])
    head = table.header[0]
    names = [head[1 + column] for column in columns]
    for position, column in enumerate(columns):
        head[1 + column] = names[(position - step) % len(columns)]
    said = (
        f"{documents[document].name}, Table {table.number}: headers "
        f"{', '.join(text for text, _ in names)} shifted by {step}"
    )
    spots = [
        (document, Place(block, row, column))
        for row, content in enumerate(table.rows)
        for column in columns
        if column < len(content.cells)
    ]
    return Slip("header_rotation", detail, whole_table(documents, document, block), spots, [said])


def invariant(kind: str, documents: list[Document], rng: random.Random) -> Slip | None:
    """A cell that its caption rules out."""
    offered = [
        (d, b, t, promise) for d, b, t in all_tables(documents) for promise in t.invariants if promise[0] == kind
    ]
    if not offered:
        return None
    document, block, table, (_, places, limit) = rng.choice(offered)
    spot = (document, Place(block, *places[-1 if kind == "same" else 0]))
    value = table.cell(spot[1].row, spot[1].column).values[0]
    if kind == "same":
        changed = off(value, rng, least="0.4")
    elif kind == "bounds":
        assert limit is not None
        changed = (
            rounded(value * 10, 2) if rng.random() < 0.5 else rounded(limit + Decimal(rng.randint(12, 90)) / 100, 2)
        )
        if changed <= limit:
            return None
    else:
        floor = table.cell(*places[1]).values[0]
        changed = floor - Decimal(rng.choice(SIZES[1:]))
        if changed <= 0:
            return None
    said = _set(documents, spot, changed)
    parts: list[Part] = [(document, ("row", block, row)) for row, _ in places]
    return Slip("invariant", kind, [*parts, (document, ("caption", block))], [spot], [said])


def emphasis(documents: list[Document], rng: random.Random) -> Slip | None:
    """The bold mark of one group moved to a cell that is not the best."""
    offered = []
    for document, block, table in all_tables(documents):
        if documents[document].look.markup == "txt":
            continue
        for group in table.groups:
            shown = [place for place in group if table.cell(*place).value is not None]
            best = [place for place in shown if table.cell(*place).bold]
            rest = [place for place in shown if place not in best]
            if len(best) == 1 and rest:
                offered.append((document, block, table, best[0], rest))
    if not offered:
        return None
    document, block, table, first, rest = rng.choice(offered)
    value = table.cell(*first).values[0]
    clear = [place for place in rest if abs(table.cell(*place).values[0] - value) >= VISIBLE]
    if not clear:
        return None
    marked = rng.choice(clear)
    table.cell(*first).bold, table.cell(*marked).bold = False, True
    spots = [(document, Place(block, *place)) for place in (first, marked)]
    said = (
        f"{documents[document].name}, Table {table.number}: bold moved from {value} to {table.cell(*marked).values[0]}"
    )
    return Slip("emphasis", "lowest" if table.lowest else "best", [row_of(spot) for spot in spots], spots, [said])


Planter = Callable[[list[Document], random.Random], Slip | None]
PLANTERS: dict[PlantType, tuple[Planter, ...]] = {
    "cross_document": (cross_document,),
    "arithmetic": (
        partial(arithmetic, "mean"),
        partial(arithmetic, "mean"),
        partial(arithmetic, "difference"),
        partial(arithmetic, "sum"),
        partial(arithmetic, "share"),
        arithmetic_part,
    ),
    "swap": (partial(swap, 1), partial(swap, 1), partial(swap, 2), partial(swap, 3)),
    "header_rotation": (
        partial(header_rotation, False),
        partial(header_rotation, False),
        partial(header_rotation, True),
    ),
    "invariant": tuple(partial(invariant, kind) for kind in ("same", "bounds", "at_least")),
    "emphasis": (emphasis,),
}
