"""Ask questions about pictures of plain shapes and words, whose answers follow from geometry.

They are about count, colour, position, reading order, and where to click.
"""

from __future__ import annotations

import random

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.held_out.answer import Once
from adhere.constraints.kinds.held_out.drawing import PointIn
from adhere.constraints.kinds.shared.shapes import COLOURS, NAMES, Shape, make_shape
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single
from adhere.suites.pictures import scene

_LEVELS = (
    Level("count", "how many of one shape in one colour there are among others"),
    Level("colour", "which colour the only shape of its kind has"),
    Level("position", "which shape is the leftmost, rightmost, topmost or lowest"),
    Level("reading order", "words scattered over the picture, read from top to bottom or from left to right"),
    Level("click", "a point inside a named shape, as agents for screens need it"),
)
_ENDS = {
    "leftmost": lambda shape: shape.left,
    "rightmost": lambda shape: -shape.right,
    "topmost": lambda shape: shape.top,
    "lowest": lambda shape: -shape.bottom,
}


def _grid(rng: random.Random, count: int) -> list[tuple[float, float]]:
    """Return `count` places for shapes of at most 15 units that do not touch."""
    cells = rng.sample([(column, row) for column in range(5) for row in range(5)], count)
    return [(3.0 + 19 * column, 3.0 + 19 * row) for column, row in cells]


def _apart(rng: random.Random, count: int, *, columns: int, rows: int) -> list[tuple[float, float]]:
    """Return places in different rows and columns, so that the eye sees which comes first."""
    ys, xs = rng.sample(range(rows), count), rng.sample(range(columns), count)
    return [(3.0 + 94 / columns * x, 3.0 + 94 / rows * y) for x, y in zip(xs, ys, strict=True)]


def _ask(question: str, label: str, expected: str, normaliser: str) -> tuple[str, Constraint, str]:
    rule = Once(label, expected, normaliser, "any line")
    return f'{question} Write one line "{label}: " and the answer behind it.', rule, f"{label}: {expected}"


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw one picture and its question."""
    colours, names = [*COLOURS], list(NAMES)
    rng.shuffle(colours)
    rng.shuffle(names)
    places = _grid(rng, 9)
    labels: list[tuple[float, float, str]] = []
    kinds = [(name, colour) for name in names[:3] for colour in colours[:3]]
    if level == 0:
        target, number = kinds[0], rng.randint(1, 6)
        chosen = [target] * number + [rng.choice(kinds[1:]) for _ in range(9 - number)]
        text, rule, answer = _ask(
            f"How many {target[1]} {target[0]}s does the picture show?", "Number", str(number), "number"
        )
    elif level == 1:
        chosen = [(names[0], colours[0]), *((name, rng.choice(colours[:5])) for name in rng.choices(names[1:], k=6))]
        text, rule, answer = _ask(
            f"Which colour has the only {names[0]} of the picture?", "Colour", colours[0], "any case"
        )
    elif level == 2:
        chosen = rng.sample([(name, colour) for name in NAMES for colour in COLOURS], 5)
        places = _apart(rng, 5, columns=5, rows=5)
        end = rng.choice([*_ENDS])
        shapes = _shapes(chosen, places)
        first = min(shapes, key=_ENDS[end])
        text, rule, answer = _ask(
            f"Which shape is the {end} one? Name its colour and its kind, as in: red circle.",
            "Shape",
            f"{first.colour} {first.name}",
            "any case",
        )
    elif level == 3:
        chosen = []
        words = rng.sample(WORDS, 5)
        labels = [(x, y, word) for (x, y), word in zip(_apart(rng, 5, columns=6, rows=8), words, strict=True)]
        down = rng.random() < 0.5
        order = [word for *_, word in sorted(labels, key=lambda label: label[1] if down else label[0])]
        how = "from top to bottom" if down else "from left to right, by where each begins"
        text, rule, answer = _ask(
            f"Read the five words of the picture {how} and separate them by commas.",
            "Words",
            ", ".join(order),
            "items",
        )
    else:
        chosen = [(names[0], colours[0]), *rng.choices([kind for kind in kinds if kind != (names[0], colours[0])], k=6)]
        left, top = map(int, places[0])  # of the grid: whole
        rule = PointIn(f"{colours[0]} {names[0]}", left, top, 15)
        text, answer = rule.describe(rng.randrange(len(rule.phrasings))), rule.witness()
    picture = scene(_shapes(chosen, places), labels)
    return [single(text, (rule,), answer, media=(picture,))]


def _shapes(chosen: list[tuple[str, str]], places: list[tuple[float, float]]) -> list[Shape]:
    return [
        make_shape(name, colour, round(x, 2), round(y, 2), 15)
        for (name, colour), (x, y) in zip(chosen, places, strict=False)
    ]


FAMILY = Family(
    name="visual",
    answers=("Does it see what it is asked about: how many, which colour, where, in which order, and where to click?"),
    paper="VIM, arXiv 2311.17647; GenEval's categories, arXiv 2310.11513",
    levels=_LEVELS,
    draw=draw,
    groups=20,
    version="2",
    in_profile=False,
    max_new_tokens=256,
)
