"""Held-out family: drawings as SVG text, and points in a picture, decided by geometry. Never trained on.

The categories are those of GenEval (arXiv 2310.11513): one object, two objects, counting, colours, position, attribute
binding. It looks for objects in pixels with a detector; here the answer is the drawing's source, so that a program
knows what is drawn.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Self

from adhere.constraints.base import Choice, Finding, ListOf, Whole, kind, param
from adhere.constraints.kinds.shared.shapes import (
    COLOURS,
    NAMES,
    RELATIONS,
    SIDE,
    Shape,
    Unreadable,
    make_shape,
    read_svg,
)
from adhere.constraints.rule import HeldOut, accept, decide, reject

_ITEM = re.compile(rf"([1-9]) ({'|'.join(COLOURS)}) ({'|'.join(NAMES)})")
_POINT = re.compile(r"\(?\s*(-?\d{1,4}(?:\.\d{1,3})?)\s*%?\s*,\s*(-?\d{1,4}(?:\.\d{1,3})?)\s*%?\s*\)?")
_MOST_SHAPES = 9
_NEAR = 2  # units by which a centre may be off


@dataclasses.dataclass(frozen=True)
class ShapeCount:
    """A text with a number, a colour and a shape: "2 red circle"."""

    def problem(self, value: object) -> str | None:
        if isinstance(value, str) and _ITEM.fullmatch(value):
            return None
        return f'must be 1 to 9, a colour ({", ".join(COLOURS)}) and a shape ({", ".join(NAMES)}): "2 red circle"'

    def invalid(self) -> Sequence[object]:
        return ["red circle", "0 red circle", "2 pink circle", "2 red circles", 3, None]


@dataclasses.dataclass(frozen=True)
class Point:
    """A point well inside the view, "40 60", or an empty text."""

    def problem(self, value: object) -> str | None:
        if isinstance(value, str) and re.fullmatch(r"(?:[1-8]\d|90) (?:[1-8]\d|90)|", value):
            return None
        return 'must be x and y from 10 to 90, "40 60", or empty'

    def invalid(self) -> Sequence[object]:
        return ["5 40", "40", "40,60", 3, None]


def _split(item: str) -> tuple[int, str, str]:
    number, colour, name = item.split()
    return int(number), colour, name


def _in_words(item: str) -> str:
    number, colour, name = _split(item)
    return f"{number} {colour} {name}{'s' * (number > 1)}"


@kind
class Shows(HeldOut):
    r"""The one SVG drawing in the answer shows these shapes and no others, placed as they should be.

    The first stands to the second as `relation` says, or is centred at `centre`. With ("1 red circle", "1 blue
    square"), "left of": a drawing of both, the circle's right edge left of the square, passes. Shapes are circle,
    ellipse, rect and polygon filled with a colour by name or hexadecimal; what covers the whole view is its background.
    Paths, transforms, gradients, opacity, text and scripts fail, because geometry here does not decide what they show.
    """

    id = "drawing:shows"
    version = 3
    is_task = True
    claims = frozenset({"shape"})
    phrasings = (
        (
            'Answer with one SVG, viewBox="0 0 100 100", of exactly {shown}, each filled in its colour, '
            "made of circle, ellipse, rect and polygon elements alone."
        ),
        (
            'Draw {shown} and nothing else as SVG (viewBox="0 0 100 100"; only circle, ellipse, rect and '
            "polygon, each with a fill)."
        ),
        (
            "Write an SVG whose viewBox is 0 0 100 100. It shows {shown}, no other shape, using circle, ellipse, "
            "rect and polygon elements with a fill."
        ),
        (
            'What I need is an SVG, viewBox="0 0 100 100", of {shown} and of nothing more; use filled circle, '
            "ellipse, rect and polygon elements only."
        ),
    )
    passing = (
        {"shapes": ("1 red circle", "1 blue square"), "relation": "left of"},
        (
            '<svg viewBox="0 0 100 100"><circle cx="20" cy="50" r="10" fill="red"/><rect x="60" y="40" width="20" '
            'height="20" fill="blue"/></svg>'
        ),
    )
    failing = (
        {"shapes": ("1 red circle", "1 blue square"), "relation": "left of"},
        (
            '<svg viewBox="0 0 100 100"><circle cx="80" cy="50" r="10" fill="red"/><rect x="20" y="40" width="20" '
            'height="20" fill="blue"/></svg>'
        ),
    )
    wrong_text = '<svg viewBox="0 0 100 100"></svg> Done.'

    shapes: tuple[str, ...] = param(ListOf(ShapeCount(), 1, 4))
    relation: str = param(Choice(("", *RELATIONS)))
    centre: str = param(Point(), default="")

    def problem(self) -> str | None:
        items = [_split(item) for item in self.shapes]
        if len({item[1:] for item in items}) < len(items):
            return f"shapes={self.shapes!r} must name each colour and shape once"
        if sum(number for number, _, _ in items) > _MOST_SHAPES:
            return f"shapes={self.shapes!r} must be at most {_MOST_SHAPES} together"
        if self.relation and (len(items) < 2 or items[0][0] > 1 or items[1][0] > 1):
            return f"relation={self.relation!r} must stand between two single shapes, the first two"
        if self.centre and (items[0][0] > 1 or self.relation):
            return f"centre={self.centre!r} must be of a single first shape without a relation"
        return None

    def wording(self) -> dict[str, object]:
        words = [_in_words(item) for item in self.shapes]
        shape_list = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
        if self.relation:
            (_, *first), (_, *second) = _split(self.shapes[0]), _split(self.shapes[1])
            shape_list += f", the {' '.join(first)} {self.relation} the {' '.join(second)} without overlapping its edge"
        if self.centre:
            _, *first = _split(self.shapes[0])
            shape_list += f" (the {' '.join(first)} centred at x y = {self.centre})"
        return {"shown": shape_list}

    def judge(self, text: str) -> Finding:
        try:
            shapes = read_svg(text)
        except Unreadable as reason:
            return reject(str(reason), score=0)
        expected = Counter({(colour, name): number for number, colour, name in map(_split, self.shapes)})
        counts = Counter((shape.colour, shape.name) for shape in shapes)
        score = sum((expected & counts).values()) / max(sum((expected | counts).values()), 1)
        if counts != expected:
            shape_list = ", ".join(f"{number} {colour} {name}" for (colour, name), number in sorted(counts.items()))
            return reject(
                f"the drawing shows {shape_list[:200] or 'nothing'}; needed {', '.join(self.shapes)}", score=score
            )
        if self.relation:
            first, second = (_the(shapes, item) for item in self.shapes[:2])
            if not first.is_to(self.relation, second):
                return reject(
                    f"the {first.colour} {first.name} is not {self.relation} the {second.colour} {second.name}",
                    score=0.9,
                )
        if self.centre:
            (x, y), first = map(int, self.centre.split()), _the(shapes, self.shapes[0])
            middle = (first.left + first.right) / 2, (first.top + first.bottom) / 2
            if abs(middle[0] - x) > _NEAR or abs(middle[1] - y) > _NEAR:
                return reject(
                    f"the {first.colour} {first.name} is centred at {middle[0]:g}, {middle[1]:g}; "
                    f"needed {x}, {y} (±{_NEAR})",
                    score=0.9,
                )
        return accept(f"the drawing shows {', '.join(self.shapes)}", score=1)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        if rng.random() < 0.2:
            return cls(
                (f"1 {rng.choice([*COLOURS])} {rng.choice(NAMES)}",), "", f"{rng.randint(10, 90)} {rng.randint(10, 90)}"
            )
        if rng.random() < 0.5:
            return cls((f"{rng.randint(1, 5)} {rng.choice([*COLOURS])} {rng.choice(NAMES)}",), "")
        pairs = rng.sample([(colour, name) for colour in COLOURS for name in NAMES], 2)
        return cls(tuple(f"1 {colour} {name}" for colour, name in pairs), rng.choice(RELATIONS))

    def witness(self) -> str:
        placed = place(self.shapes, self.relation)
        if self.centre:
            first, (x, y) = placed[0], map(int, self.centre.split())
            first = make_shape(first.name, first.colour, x - 4, y - 4, 8)
            others = (make_shape(shape.name, shape.colour, 1 + 9 * at, 1, 4) for at, shape in enumerate(placed[1:]))
            placed = [*others, first]
        return f'<svg viewBox="0 0 {SIDE:g} {SIDE:g}">{"".join(shape.svg for shape in placed)}</svg>'


def place(shapes: Sequence[str], relation: str) -> list[Shape]:
    """Place the shapes in a grid of three by three, the first two as `relation` says.

    A shape that another lies in is drawn before it.
    """
    cells = [(6.0 + 33 * column, 6.0 + 33 * row) for row in range(3) for column in range(3)]
    pairs = [(colour, name) for number, colour, name in map(_split, shapes) for _ in range(number)]
    if not relation:
        return [make_shape(name, colour, *cells[at], 20) for at, (colour, name) in enumerate(pairs)]
    (colour, name), (other_colour, other_name) = pairs[0], pairs[1]
    rest = [make_shape(name, colour, 6 + 13 * at, 85, 10) for at, (colour, name) in enumerate(pairs[2:])]
    if relation == "inside":
        outer = make_shape(other_name, other_colour, 10, 10, 60)
        x, y = outer.centre
        inner = make_shape(name, colour, x - 4, y - 2, 8)
        return [outer, inner, *rest]
    first, second = (10.0, 30.0), (60.0, 30.0)
    if relation in {"above", "below"}:
        first, second = (40.0, 5.0), (40.0, 45.0)
    if relation in {"right of", "below"}:
        first, second = second, first
    return [make_shape(name, colour, *first, 20), make_shape(other_name, other_colour, *second, 20), *rest]


def _the(shapes: Sequence[Shape], item: str) -> Shape:
    _, colour, name = _split(item)
    return next(shape for shape in shapes if (shape.colour, shape.name) == (colour, name))


@kind
class PointIn(HeldOut):
    """The answer is one point, "x, y", and it lies in the shape: what an agent clicks.

    In "red circle" at 10 10, 20 wide, "20, 20" passes, "5, 5" fails. Coordinates are in hundredths of the picture's
    width and height, from its top left corner.
    """

    id = "drawing:point_in"
    version = 3
    is_task = True
    claims = frozenset({"shape"})
    phrasings = (
        (
            'Answer with one point inside the {shape}, as "x, y" in percent of the picture\'s width and height from '
            "its top left corner."
        ),
        'Where would you click on the {shape}? Answer "x, y" alone, in percent of width and height from the top left.',
        (
            'Give a point that lies in the {shape}: "x, y" and nothing else, both in percent, '
            "counted from the top left corner."
        ),
        'Name one point of the {shape}. Write only "x, y", percent of the width and of the height from the upper left.',
    )
    passing = ({"shape": "red circle", "left": 10, "top": 10, "size": 20}, "20, 20")
    failing = ({"shape": "red circle", "left": 10, "top": 10, "size": 20}, "5, 5")

    shape: str = param(Choice(tuple(f"{colour} {name}" for colour in COLOURS for name in NAMES)))
    left: int = param(Whole(0, 99), said=False)
    top: int = param(Whole(0, 99), said=False)
    size: int = param(Whole(1, 99), said=False)

    @property
    def place(self) -> Shape:
        """The shape at its place."""
        colour, name = self.shape.split()
        return make_shape(name, colour, self.left, self.top, self.size)

    def judge(self, text: str) -> Finding:
        point = _POINT.fullmatch(text.strip()) if len(text) <= 200 else None
        if point is None:
            return reject('the answer is not one point "x, y"', score=0)
        x, y = float(point[1]), float(point[2])
        return decide(
            self.place.holds(x, y), f"({x:g}, {y:g}) lies {'' if self.place.holds(x, y) else 'not '}in the {self.shape}"
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        size = rng.randint(12, 30)
        return cls(f"{rng.choice([*COLOURS])} {rng.choice(NAMES)}", rng.randint(2, 60), rng.randint(2, 60), size)

    def witness(self) -> str:
        x, y = self.place.centre
        return f"{x:.2f}, {y:.2f}"

    def counter_witness(self) -> str:
        return "99.9, 99.9" if self.place.left < 50 else "0, 0"
