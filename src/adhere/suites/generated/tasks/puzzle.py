"""Ask ordering puzzles: exactly one order of some people follows from the clues."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

from adhere.constraints.kinds.held_out.answer import Labelled
from adhere.suites.generated.diagnostic.items import NAMES, ordinal
from adhere.suites.generated.family import Family, Item, Level, single

_PEOPLE = (3, 4, 5)


class _Before(NamedTuple):
    a: int
    b: int
    by: int = 0  # 0: anywhere before

    def __call__(self, at: tuple[int, ...]) -> bool:
        return at[self.a] + self.by == at[self.b] if self.by else at[self.a] < at[self.b]


class _Apart(NamedTuple):
    a: int
    b: int

    def __call__(self, at: tuple[int, ...]) -> bool:
        return abs(at[self.a] - at[self.b]) > 1


class _NotAt(NamedTuple):
    a: int
    place: int

    def __call__(self, at: tuple[int, ...]) -> bool:
        return at[self.a] != self.place


Clue = tuple[str, _Before | _Apart | _NotAt]  # its words, and whether it holds for the places of the people


def _clues(names: list[str], places: tuple[int, ...]) -> Iterator[Clue]:
    """Yield every true clue of a few forms."""
    for (a, person), (b, other) in itertools.permutations(enumerate(names), 2):
        if places[a] < places[b]:
            yield f"{person} stands somewhere before {other}.", _Before(a, b)
        if places[a] + 1 == places[b]:
            yield f"{person} stands directly before {other}.", _Before(a, b, 1)
        if a < b and abs(places[a] - places[b]) > 1:
            yield f"{person} and {other} do not stand next to each other.", _Apart(a, b)
    for a, name in enumerate(names):
        for place in range(len(names)):
            if places[a] != place:
                yield f"{name} is not {ordinal(place + 1)}.", _NotAt(a, place)


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw clues until one order is left, then drop those that are not needed."""
    count = _PEOPLE[level]
    names = rng.sample(NAMES, count)
    places = tuple(rng.sample(range(count), count))
    remaining = list(itertools.permutations(range(count)))
    chosen: list[Clue] = []
    clues = list(_clues(names, places))
    rng.shuffle(clues)
    for clue in clues:
        consistent = [permutation for permutation in remaining if clue[1](permutation)]
        if len(consistent) < len(remaining):
            chosen.append(clue)
            remaining = consistent
        if len(remaining) == 1:
            break
    for clue in list(chosen):  # an early one may follow from later ones
        others = [other for other in chosen if other is not clue]
        orders = (at for at in itertools.permutations(range(count)) if all(other[1](at) for other in others))
        if len(list(itertools.islice(orders, 2))) == 1:
            chosen = others
    order = ", ".join(name for _, name in sorted(zip(places, names, strict=True)))
    text = (
        f"{count} people stand in a line: {', '.join(names)}.\n"
        + "\n".join(clue[0] for clue in chosen)
        + '\nWho stands where? Write one line, "Order: " and the names from first to last, separated by commas.'
    )
    return [single(text, (Labelled("Order", order, "items"),), f"Order: {order}")]


FAMILY = Family(
    name="puzzle",
    answers="Does it find the one order that all clues allow?",
    paper="Verbalized Rebus, arXiv 2408.00584",
    levels=tuple(Level(f"{count} people", f"{count} people, as few clues as fix their order") for count in _PEOPLE),
    draw=draw,
    max_new_tokens=1024,
)
