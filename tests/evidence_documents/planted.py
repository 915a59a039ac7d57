"""Errors planted into clean documents, each with the lines that hold it and the lines it drags along."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass

from .document import Document, Markup, Paragraph, Rendered, render
from .generator import clean_documents
from .slips import PLANTERS, Part, Planter, PlantType, Slip, all_tables, printed, row_of, whole_table

Lines = frozenset[tuple[str, int]]  # (document name, line)


@dataclass(frozen=True)
class Plant:
    """Ground truth of one planted error.

    Attributes:
        lines: where the error stands (for cross_document, in both documents).
        consequences: lines that another conflict may name because of it.
        cells: the changed cells, in words.
    """

    type: PlantType
    detail: str
    lines: Lines
    consequences: Lines
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Documents to be checked together, their clean twins, and what was planted (nothing in a clean case)."""

    name: str
    documents: tuple[Rendered, ...]
    clean: tuple[Rendered, ...]
    plants: tuple[Plant, ...]


def _dragged(documents: list[Document], slip: Slip) -> list[Part]:
    """Parts whose numbers depend on the changed cells.

    Averages, marks, promises, sentences, and the same scores elsewhere.
    """
    changed = set(slip.changed)
    parts: list[Part] = [*slip.dragged, *map(row_of, slip.changed)]
    keys = set()
    for document, block, table in all_tables(documents):
        mine = {(place.row, place.column) for number, place in changed if number == document and place.block == block}
        if not mine:
            continue
        parts.append((document, ("caption", block)))
        keys |= {key for row, column in mine for key in table.cell(row, column).keys if key is not None}
        linked = [{relation.target, *relation.sources} for relation in table.relations]
        linked += [set(group) for group in table.groups] + [set(places) for _, places, _ in table.invariants]
        for places in linked:
            if places & mine:
                parts += [(document, ("row", block, row)) for row, _ in places]
        if slip.type == "header_rotation":
            parts += whole_table(documents, document, block)
    index = printed(documents)
    same = {(place.document, place.place) for key in keys for place in index.get(key, [])}
    parts += [row_of(spot) for spot in same]
    touched = changed | same
    for document, content in enumerate(documents):
        for block, paragraph in enumerate(content.blocks):
            if isinstance(paragraph, Paragraph):
                for number, sentence in enumerate(paragraph.sentences):
                    if sentence.quotes in keys or any((document, place) in touched for place in sentence.uses):
                        parts.append((document, ("sentence", block, number)))
    return parts


def _lines(rendered: list[Rendered], parts: list[Part]) -> Lines:
    return frozenset(
        (rendered[document].name, line) for document, place in parts for line in rendered[document].lines(*place)
    )


def planted_case(seed: int, types: tuple[PlantType, ...], *, markup: Markup | None = None) -> Case:
    """The first documents at or after a seed's series into which these errors can be planted with evidence.

    Args:
        types: one plant each, in order, none touching the lines or the consequences of another.
    """
    for attempt in range(1200):
        turn = seed + attempt // 300  # each kind of slip in turn; the next where two of a kind do not fit together
        planters = [PLANTERS[kind][turn % len(PLANTERS[kind])] for kind in types]
        made = _try(seed * 1000 + attempt, types, planters, markup)
        if made is not None:
            return made
    raise AssertionError(f"No documents found for {types} from seed {seed}; widen the generator")


def _try(seed: int, types: tuple[PlantType, ...], planters: list[Planter], markup: Markup | None) -> Case | None:
    needs_two = "cross_document" in types
    documents = clean_documents(seed, markup=markup, both=True if needs_two else None)
    clean = [render(document) for document in documents]
    rng = random.Random(f"planted|{seed}|{types}")
    plants: list[Plant] = []
    for plant_into in planters:
        stored = pickle.dumps(documents)  # a copy for each attempt, several times faster than deepcopy
        for _ in range(8):
            trial = pickle.loads(stored)
            slip = plant_into(trial, rng)
            if slip is None:
                continue
            rendered = [render(document) for document in trial]
            if any(new.places != old.places for new, old in zip(rendered, clean, strict=True)):
                continue  # the slip moved a line; ground truth must compare line by line
            lines = _lines(rendered, slip.parts)
            consequences = _lines(rendered, _dragged(trial, slip)) - lines
            taken = {line for plant in plants for line in plant.lines | plant.consequences}
            if taken & (lines | consequences):
                continue
            plants.append(Plant(slip.type, slip.detail, lines, consequences, tuple(slip.cells)))
            documents = trial
            break
        else:
            return None
    return Case(
        f"{'+'.join(types)}-{seed}", tuple(render(document) for document in documents), tuple(clean), tuple(plants)
    )


def clean_case(seed: int, *, markup: Markup | None = None) -> Case:
    """Documents without any error."""
    rendered = tuple(render(document) for document in clean_documents(seed, markup=markup))
    return Case(f"clean-{seed}", rendered, rendered, ())
