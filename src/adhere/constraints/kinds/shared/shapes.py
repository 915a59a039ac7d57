"""Read SVG drawings that hold only plain shapes, and decide by geometry what they show.

Coordinates are SVG's: x to the right, y downwards, in the units of the viewBox.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SIDE = 100.0
"""Width and height of every drawing."""
NAMES = ("circle", "square", "triangle")
"""Shapes that can be asked for; rectangles and ellipses cannot, as a square and a circle are such too."""
COLOURS = {
    "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "orange": (255, 165, 0),
    "purple": (128, 0, 128), "black": (0, 0, 0), "gray": (128, 128, 128),
}  # fmt: skip
RELATIONS = ("left of", "right of", "above", "below", "inside")
MOST_ELEMENTS = 500
_LONGEST = 100_000
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_HEX = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_EFFECTS = ("transform", "opacity", "fill-opacity", "visibility", "display", "clip-path", "mask", "filter")
_BEGINNING, _END = (re.compile(pattern, re.IGNORECASE) for pattern in (r"<svg\b", r"</svg\s*>"))


class Unreadable(Exception):
    """Raised for a text without one readable SVG, or with parts that geometry does not decide."""


class Shape(NamedTuple):
    """Describes a filled shape; `points` are the corners of a polygon, empty for other shapes."""

    name: str
    colour: str
    left: float
    top: float
    right: float
    bottom: float
    points: tuple[tuple[float, float], ...] = ()

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of the shape's box; for a polygon the mean of its corners."""
        if self.points:
            return sum(x for x, _ in self.points) / len(self.points), sum(y for _, y in self.points) / len(self.points)
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def holds(self, x: float, y: float) -> bool:
        """Tell whether a point lies in the shape, its edge included."""
        if not (self.left <= x <= self.right and self.top <= y <= self.bottom):
            return False
        if self.points:  # even-odd rule: how many edges lie to the right of the point
            edges = zip(self.points, (*self.points[1:], self.points[0]), strict=True)
            return (
                sum((y0 > y) != (y1 > y) and x <= (x1 - x0) * (y - y0) / (y1 - y0) + x0 for (x0, y0), (x1, y1) in edges)
                % 2
                == 1
            )
        if self.name in {"circle", "ellipse"}:
            (cx, cy), rx, ry = self.centre, (self.right - self.left) / 2, (self.bottom - self.top) / 2
            return bool(rx and ry) and ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1
        return True

    def covers(self, other: Shape) -> bool:
        """Tell whether the shape, drawn over `other`, hides it: all of the other's outline lies in the shape."""
        return all(self.holds(x, y) for x, y in other.outline())

    def outline(self) -> Iterator[tuple[float, float]]:
        """Yield the corners of a polygon or rectangle, or sixteen points of the edge of a circle or ellipse."""
        if self.points:
            yield from self.points
        elif self.name in {"circle", "ellipse"}:
            (cx, cy), rx, ry = self.centre, (self.right - self.left) / 2, (self.bottom - self.top) / 2
            for step in range(16):
                angle = step * math.pi / 8
                yield cx + 0.999 * rx * math.cos(angle), cy + 0.999 * ry * math.sin(angle)
        else:
            yield from ((x, y) for x in (self.left, self.right) for y in (self.top, self.bottom))

    def is_to(self, relation: str, other: Shape) -> bool:
        """Tell whether the shape is in `relation` to `other`, by their boxes: wholly left, right, above or below.

        `inside` is true if the outline of the shape lies in `other`.
        """
        match relation:
            case "left of":
                return self.right <= other.left
            case "right of":
                return self.left >= other.right
            case "above":
                return self.bottom <= other.top
            case "below":
                return self.top >= other.bottom
            case _:
                return other.covers(self)

    @property
    def svg(self) -> str:
        """The SVG element of the shape."""
        fill = f'fill="{self.colour}"'
        (x, y), width, height = self.centre, self.right - self.left, self.bottom - self.top
        if self.name == "circle":
            return f'<circle cx="{x:g}" cy="{y:g}" r="{width / 2:g}" {fill}/>'
        if self.name == "ellipse":
            return f'<ellipse cx="{x:g}" cy="{y:g}" rx="{width / 2:g}" ry="{height / 2:g}" {fill}/>'
        if self.points:
            return f'<polygon points="{" ".join(f"{px:g},{py:g}" for px, py in self.points)}" {fill}/>'
        return f'<rect x="{self.left:g}" y="{self.top:g}" width="{width:g}" height="{height:g}" {fill}/>'


def make_shape(name: str, colour: str, left: float, top: float, size: float) -> Shape:
    """Make a shape whose box begins at `left` and `top` and is `size` wide and high."""
    box = (left, top, left + size, top + size)
    corners = ((left + size / 2, top), (left + size, top + size), (left, top + size)) if name == "triangle" else ()
    return Shape(name, colour, *box, corners)


def _drawings(text: str) -> Iterator[str]:
    """Yield every piece from a `<svg` to the next `</svg>`.

    One pattern for both would take quadratic time without an end.
    """
    at = 0
    while (begins := _BEGINNING.search(text, at)) and (ends := _END.search(text, begins.end())):
        at = ends.end()
        yield text[begins.start() : at]


def read_svg(text: str) -> list[Shape]:
    """Return the shapes of the only drawing in a text, in the order in which they are drawn.

    A shape that covers the whole view is background and left out.

    Raises:
        Unreadable: There is no drawing or more than one, it is no XML, or it holds paths, transforms or other things
            that geometry here does not decide.
    """
    drawings = list(_drawings(text[:_LONGEST]))
    if len(drawings) != 1:
        raise Unreadable(
            f"{len(drawings)} drawings from <svg to </svg>, needed 1"
            if len(text) <= _LONGEST
            else "more than 100,000 characters"
        )
    source = drawings[0]
    if "<!" in source.replace("<!--", "") or "&" in source.replace("&lt;", "").replace("&gt;", "").replace("&amp;", ""):
        raise Unreadable("declarations and entities are not read")
    try:
        root = ET.fromstring(source)  # noqa: S314 -- no declaration is left, so nothing can be expanded
    except ET.ParseError as error:
        raise Unreadable(f"no well-formed XML: {error}") from error
    box = _numbers(root.get("viewBox", f"0 0 {SIDE:g} {SIDE:g}"))
    if box != [0, 0, SIDE, SIDE]:
        raise Unreadable(f'the viewBox must be "0 0 {SIDE:g} {SIDE:g}"')
    _refuse_effects(root)
    elements = list(_flat(root, _fill(root) or "black"))
    shapes = [
        shape
        for shape in elements
        if not (shape.left <= 0 and shape.top <= 0 and shape.right >= SIDE and shape.bottom >= SIDE)
    ]
    for at, shape in enumerate(shapes):
        if not (0 <= shape.centre[0] <= SIDE and 0 <= shape.centre[1] <= SIDE):
            raise Unreadable(f"a {shape.colour} {shape.name} lies outside the view")
        if any(later.covers(shape) for later in shapes[at + 1 :]):
            raise Unreadable(f"a {shape.colour} {shape.name} is hidden behind a shape drawn later")
    return shapes


def _flat(node: ET.Element, fill: str) -> Iterator[Shape]:
    """Yield the shapes below a node, depth first, with the colours that they inherit."""
    waiting = [(child, fill) for child in reversed(node)]
    count = 0
    while waiting:
        element, inherited = waiting.pop()
        count += 1
        if count > MOST_ELEMENTS:
            raise Unreadable(f"more than {MOST_ELEMENTS} elements")
        tag = str(element.tag).rpartition("}")[2]
        _refuse_effects(element)
        colour = _fill(element) or inherited
        if tag == "g":
            waiting += [(child, colour) for child in reversed(element)]
        elif tag not in {"title", "desc"}:
            yield _shape(tag, element, colour)


def _refuse_effects(element: ET.Element) -> None:
    """Refuse a shape with an effect that moves, cuts or hides it."""
    style = element.get("style", "")
    for effect in _EFFECTS:
        if element.get(effect) or re.search(rf"(?:^|[;\s]){effect}\s*:", style):
            raise Unreadable(f"{effect} is not read")


def _fill(element: ET.Element) -> str | None:
    style = re.search(r"(?:^|;)\s*fill\s*:\s*([^;]+)", element.get("style", ""))
    colour = (style[1] if style else element.get("fill", "")).strip().lower()
    if _HEX.fullmatch(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        rgb = tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))
        return next((name for name, shade in COLOURS.items() if shade == rgb), colour)
    return {"grey": "gray", "lime": "lime"}.get(colour, colour) or None


def _shape(tag: str, element: ET.Element, colour: str) -> Shape:
    def number(name: str, default: float = 0.0) -> float:
        numbers = _numbers(element.get(name, f"{default:g}"))
        if len(numbers) != 1:
            raise Unreadable(f"{name}={element.get(name, '')[:40]!r} of a {tag} is no number")
        return numbers[0]

    match tag:
        case "circle" | "ellipse":
            x, y = number("cx"), number("cy")
            rx, ry = (number("r"), number("r")) if tag == "circle" else (number("rx"), number("ry"))
            shape = Shape("circle" if rx == ry else "ellipse", colour, x - rx, y - ry, x + rx, y + ry)
        case "rect":
            x, y, width, height = number("x"), number("y"), number("width"), number("height")
            shape = Shape("square" if width == height else "rectangle", colour, x, y, x + width, y + height)
        case "polygon":
            flat = _numbers(element.get("points", ""))
            points = tuple(zip(flat[::2], flat[1::2], strict=False))
            if len(points) < 3 or len(flat) % 2:
                raise Unreadable("a polygon has fewer than three points")
            shape = _polygon(points, colour)
        case _:
            raise Unreadable(f"<{tag[:40]}> is not read: circle, ellipse, rect, polygon and g are")
    if shape.right - shape.left < 1 or shape.bottom - shape.top < 1:
        raise Unreadable(f"a {shape.colour} {shape.name} is less than one unit wide or high")
    return shape


def _polygon(points: Sequence[tuple[float, float]], colour: str) -> Shape:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    box = (min(xs), min(ys), max(xs), max(ys))
    name = "triangle" if len(points) == 3 else "polygon"
    if len(points) == 4 and {*xs} == {box[0], box[2]} and {*ys} == {box[1], box[3]}:
        name = "square" if box[2] - box[0] == box[3] - box[1] else "rectangle"
    return Shape(name, colour, *box, tuple(points))


def _numbers(text: str) -> list[float]:
    """Read numbers between blanks and commas; an empty list if there is anything else."""
    pieces = text.replace(",", " ").split()
    if len(pieces) > 4 * MOST_ELEMENTS or not all(_NUMBER.fullmatch(piece) for piece in pieces):
        return []
    numbers = [float(piece) for piece in pieces]
    return numbers if all(map(math.isfinite, numbers)) else []
