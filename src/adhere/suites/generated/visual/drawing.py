"""Ask for drawings as SVG text, in the categories of GenEval.

These are one object, two, counting, colours of objects, position. Any text model can be asked.
"""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.drawing import Shows
from adhere.constraints.kinds.shared.shapes import COLOURS, NAMES, RELATIONS
from adhere.suites.generated.family import Family, Item, Level, single

_LEVELS = (
    Level("one object", "one shape in one colour, centred at a given point"),
    Level("counting", "so many of one shape and so many of another"),
    Level("two objects", "two shapes of one colour, the first at a given point"),
    Level("attributes", "three shapes, each in its own colour"),
    Level("position", "three shapes, the first left of, right of, above, below or inside the second"),
    Level("all", "two shapes in their places beside several of a third"),
)


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a request for one drawing."""
    names, colours = rng.choices(NAMES, k=3), rng.sample([*COLOURS], 3)
    relation, number = rng.choice(RELATIONS), rng.randint(2, 6)
    centre = f"{rng.randint(15, 85)} {rng.randint(15, 85)}"
    pairs = [f"1 {colour} {name}" for colour, name in zip(colours, names, strict=True)]
    constraint = (
        Shows((pairs[0],), "", centre),
        Shows((f"{number} {colours[0]} {names[0]}", f"{rng.randint(2, 9 - number)} {colours[1]} {names[1]}"), ""),
        Shows((pairs[0], f"1 {colours[0]} {rng.choice([name for name in NAMES if name != names[0]])}"), "", centre),
        Shows(tuple(pairs), ""),
        Shows(tuple(pairs), relation),
        Shows((*pairs[:2], f"{number} {colours[2]} {names[2]}"), relation),
    )[level]
    return [single(constraint.describe(rng.randrange(len(constraint.phrasings))), (constraint,), constraint.witness())]


FAMILY = Family(
    name="drawing",
    answers="Can it draw what it is told, as far as geometry decides?",
    paper="GenEval, arXiv 2310.11513 (categories)",
    levels=_LEVELS,
    draw=draw,
    groups=25,
    in_profile=False,
    max_new_tokens=1024,
)
