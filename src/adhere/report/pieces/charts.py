"""Write small SVG charts: bars with intervals, a forest of differences, curves over steps.

Pictures are fluid without a script: x is given in percent of the width, y and text in pixels, so that a phone shows the
same letters at the same size. Colours and weights live in the style sheet (classes only: the page's policy forbids
style attributes). Every picture is an `img` with a label; a table next to it has the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from adhere.report.pieces.numbers import percent, points, significant
from adhere.report.pieces.untrusted import visible
from adhere.report.pieces.wording import Direction

_LABEL_LIMIT = 44
_BAR_LINE, _FOREST_LINE = 36, 46
"""Characters of a label and its value that fit into one line where the page is 400 px wide.

A chart of bars is narrower.
"""
WIDE = 90
"""Characters that fit into one line of a full-width picture."""
_VALUE_LINE = 17
_CURVE_POINTS = 400  # above this many steps a curve is drawn by the extremes of each stretch


class Bar(NamedTuple):
    """Describes one bar from zero. `dots` are single seeds; with `value` None only the label and `text` are drawn."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    tone: int
    dots: tuple[float, ...] = ()


class Difference(NamedTuple):
    """Describes a row of a forest plot: a difference, its interval, and the band too small for the design to find.

    `dots` are single seeds.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    direction: Direction
    band: float | None
    is_primary: bool = False
    dots: tuple[float, ...] = ()


class Mark(NamedTuple):
    """Describes one rate of a row; `tone` is its colour, and a rate of None is not drawn."""

    tone: int
    rate: float | None
    low: float | None
    high: float | None


class Spot(NamedTuple):
    """Describes a numbered point of a scatter; its key shows `label` and `text`; [low, high] is the interval of `y`."""

    label: str
    x: float
    y: float
    low: float | None
    high: float | None
    text: str
    tone: int


class Line(NamedTuple):
    """Describes one line of a curve over steps; None leaves a gap."""

    values: Sequence[float | None]
    tone: int


def element(name: str, *children: str, **attributes: object) -> Markup:
    """Return one element; text and attributes are escaped, and attributes that are None are left out.

    `class_` means class, and `_` in a name becomes a hyphen.
    """
    attributes_text = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _attribute(value))
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(child if isinstance(child, Markup) else escape(visible(child)) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), attributes_text, inside)  # noqa: S704 -- names of elements are ours


def _attribute(value: object) -> str:
    return _short(value) if isinstance(value, float) else visible(str(value))


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _at(fraction: float) -> str:
    """Format a horizontal place (0 to 1) in percent; values outside the axis stay at its end."""
    return f"{_short(100 * min(max(fraction, 0.0), 1.0))}%"


def _cut(label: str) -> str:
    return label if len(label) <= _LABEL_LIMIT else label[: _LABEL_LIMIT - 1] + "…"


def _picture(height: int, name: str, *children: Markup, class_: str) -> Markup:
    return element(
        "svg",
        element("title", name),
        *children,
        class_=f"chart {class_}",
        role="img",
        aria_label=name,
        width="100%",
        height=height,
    )


def _tick(label: str, x: object, y: float, anchor: str) -> Markup:
    return element("text", label, x=x, y=y, text_anchor=anchor, class_="tick")


def nice_top(values: Sequence[float | None], *, least: float) -> float:
    """Return the end of an axis from zero.

    It is the smallest of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 × 10ⁿ that holds every value and `least`.
    """
    most = max([least, *(value for value in values if value is not None)])
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= most - 1e-12)


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Return at most `most` round places between two values, including zero if it lies between them."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(size * power for size in (1, 2, 2.5, 5, 10, 20) if span / (size * power) <= most - 1 + 1e-9)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def bars(rows: Sequence[Bar], *, name: str, top: float, reference: float | None = None) -> Markup:
    """Draw horizontal bars of rates from zero to `top`; `reference` is a dotted line through all of them."""
    below = _VALUE_LINE if any(len(row.label) + len(row.text) > _BAR_LINE for row in rows) else 0
    pitch, foot = 46 + below, 20
    end = len(rows) * pitch
    parts = [_axis_line(tick / top, end, percent(tick, digits=0)) for tick in ticks(0, top, most=5)]
    if reference is not None:
        x = _at(reference / top)
        parts.append(element("line", x1=x, x2=x, y1=0, y2=end, class_="reference"))
    parts += [part for index, row in enumerate(rows) for part in _bar(row, index * pitch, top, below)]
    return _picture(end + foot, name, *parts, class_="bars")


def _axis_line(place: float, end: int, label: str) -> Markup:
    x = _at(place)
    anchor = "start" if place < 0.01 else "end" if place > 0.99 else "middle"
    return element("line", x1=x, x2=x, y1=0, y2=end + 4, class_="grid") + _tick(label, x, end + 17, anchor)


def _texts(label: str, value: str, y: int, below: int, *, is_strong: bool = False) -> list[Markup]:
    place: dict[str, object] = {"x": "0", "y": y + below} if below else {"x": "100%", "y": y, "text_anchor": "end"}
    return [
        element("text", _cut(label), x="0", y=y, class_="label backed" + (" strong" if is_strong else "")),
        element("text", value, class_="value backed", **place),
    ]


def _bar(row: Bar, y: int, top: float, below: int) -> list[Markup]:
    middle = y + below + 29
    parts = _texts(row.label, row.text, y + 15, below)
    if row.value is not None:
        parts.append(
            element("rect", x="0", y=middle - 6, width=_at(row.value / top), height=12, class_=f"bar t{row.tone}")
        )
    parts += _whisker(row.low, row.high, middle, lambda value: value / top)
    parts += [element("circle", cx=_at(dot / top), cy=middle, r=3.2, class_="seed-dot") for dot in row.dots]
    return parts


def _whisker(low: float | None, high: float | None, y: int, place: Callable[[float], float]) -> list[Markup]:
    if low is None or high is None:
        return []
    left, right = _at(place(low)), _at(place(high))
    return [
        element("line", x1=left, x2=right, y1=y, y2=y, class_="whisker"),
        element("line", x1=left, x2=left, y1=y - 4, y2=y + 4, class_="whisker"),
        element("line", x1=right, x2=right, y1=y - 4, y2=y + 4, class_="whisker"),
    ]


def forest(rows: Sequence[Difference], *, name: str, fits: int = _FOREST_LINE) -> Markup:
    """Draw differences in points around a zero line, each with its interval and undetectable band.

    Values go below their labels if a row has more than `fits` characters.
    """
    numbers = [(row.value, row.low, row.high, *row.dots, row.band, -row.band if row.band else None) for row in rows]
    ends = [value for row in numbers for value in row if value is not None]
    right = nice_top([value for value in ends if value > 0], least=0.02)
    left = nice_top([-value for value in ends if value < 0], least=max(0.02, right / 4))
    right = max(right, nice_top([], least=left / 4))

    def place(value: float) -> float:
        return (left + value) / (left + right)

    below = _VALUE_LINE if any(len(row.label) + len(row.text) > fits for row in rows) else 0
    pitch, foot = 52 + below, 20
    end = len(rows) * pitch
    parts = [_axis_line(place(tick), end, points(tick)) for tick in ticks(-left, right, most=7)]
    parts.append(element("line", x1=_at(place(0)), x2=_at(place(0)), y1=0, y2=end + 4, class_="zero"))
    for index, row in enumerate(rows):
        parts += _difference(row, index * pitch, place, below)
    return _picture(end + foot, name, *parts, class_="forest")


def _difference(row: Difference, y: int, place: Callable[[float], float], below: int) -> list[Markup]:
    middle = y + below + 33
    parts: list[Markup] = []
    if row.band is not None:
        left, right = place(-row.band), place(row.band)
        parts.append(
            element("rect", x=_at(left), width=_at(right - left), y=middle - 9, height=18, class_="undetectable")
        )
    parts += _texts(row.label, row.text, y + 16, below, is_strong=row.is_primary)
    parts += _whisker(row.low, row.high, middle, place)
    parts += [element("circle", cx=_at(place(dot)), cy=middle, r=3.2, class_="seed-dot") for dot in row.dots]
    if row.value is not None:
        parts.append(_marker(row.direction, _at(place(row.value)), middle))
    return parts


def marks(rows: Sequence[tuple[str, str, Sequence[Mark]]], *, name: str) -> Markup:
    """Draw rows of (label, value, marks), where `value` is a text at the end of the label's line.

    A row's rates, from 0 to 100 %, are drawn one below the other, each with its interval.
    """
    parts: list[Markup] = []
    top = 0
    for label, value, row_marks in rows:
        parts += _texts(label, value, top + 15, 0)
        for place, mark in enumerate(row_marks):
            y = top + 27 + 11 * place
            parts.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid"))
            parts += _whisker(mark.low, mark.high, y, lambda rate: rate)
            if mark.rate is not None:
                parts.append(element("circle", cx=_at(mark.rate), cy=y, r=5, class_=f"bar t{mark.tone}"))
        top += 28 + 11 * len(row_marks)
    feet = [_axis_line(tick, top, percent(tick, digits=0)) for tick in ticks(0, 1, most=6)]
    return _picture(top + 20, name, *feet, *parts, class_="marks-chart")


def plane(
    across: Sequence[tuple[float, str]],
    down: Sequence[tuple[float, str]],
    *children: Markup,
    name: str,
    class_: str,
    height: int,
    more: int = 0,
) -> Markup:
    """Draw labelled grid lines at places from 0 to 1 of both axes (y upwards), and `children` on top.

    `more`: additional pixels below the grid.
    """
    grid: list[Markup] = []
    for place, label in down:
        y = plane_y(place, height)
        grid.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid"))
        grid.append(_tick(label, -8, y + 4, "end"))
    bottom = plane_y(0, height)
    for place, label in across:
        x, anchor = _at(place), "start" if place < 0.01 else "end" if place > 0.99 else "middle"
        grid.append(element("line", x1=x, x2=x, y1=plane_y(1, height), y2=bottom + 4, class_="grid"))
        grid.append(_tick(label, x, bottom + 18, anchor))
    return _picture(round(bottom) + 36 + more, name, *grid, *children, class_=class_)


def plane_y(place: float, height: int) -> float:
    """Return the pixel of a place (0 to 1) on an upward axis that is `height` pixels long."""
    return 12 + (1 - place) * height


def scatter(
    spots: Sequence[Spot], *, name: str, unit: str, reference: float | None = None, fits: int = _BAR_LINE
) -> Markup:
    """Draw rates over an amount from zero: numbered spots with intervals, and a key of the numbers below.

    `reference` is a dotted line.
    """
    below = _VALUE_LINE if any(len(spot.label) + len(spot.text) > fits for spot in spots) else 0
    height, line = 300, 19 + below
    right = nice_top([spot.x for spot in spots], least=1e-9)
    ends = [value for spot in spots for value in (spot.y, spot.high)] + [reference]
    top = min(1.0, nice_top(ends, least=0.1))
    foot = plane_y(0, height)
    parts = [_tick(unit, "100%", foot + 33, "end")]
    if reference is not None:
        y = plane_y(reference / top, height)
        parts.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="reference"))
    for spot in spots:
        x = _at(spot.x / right)
        if spot.low is not None and spot.high is not None:
            high, low = plane_y(spot.high / top, height), plane_y(spot.low / top, height)
            parts.append(element("line", x1=x, x2=x, y1=high, y2=low, class_="whisker faint"))
    for number, spot in enumerate(spots, 1):
        x, y = _at(spot.x / right), plane_y(spot.y / top, height)
        parts.append(_number(number, spot.tone, x, y))
        key = foot + 59 + line * (number - 1)
        parts.append(_number(number, spot.tone, "10", key - 4))
        parts.append(element("text", _cut(spot.label), x=26, y=key, class_="label"))
        end: dict[str, object] = {"x": 26, "y": key + below} if below else {"x": "100%", "y": key, "text_anchor": "end"}
        parts.append(element("text", spot.text, class_="value", **end))
    return plane(
        [(tick / right, significant(tick)) for tick in ticks(0, right, most=6)],
        [(tick / top, percent(tick, digits=0)) for tick in ticks(0, top, most=6)],
        *parts,
        name=name,
        class_="spots",
        height=height,
        more=line * len(spots) + 14,
    )


def _number(number: int, tone: int, x: str, y: float) -> Markup:
    inside = [element("circle", r=8), element("text", str(number), y=4, text_anchor="middle")]
    return element("svg", *inside, x=x, y=y, overflow="visible", class_=f"numbered n{tone}")


def _marker(direction: Direction, x: str, y: int) -> Markup:
    """Draw a shape for each direction, so that colour is never the only sign."""
    shapes = {"more": "M0-7L7 6H-7Z", "fewer": "M0 7L7-6H-7Z"}
    shape = shapes.get(direction)
    inner = element("path", d=shape) if shape else element("circle", r=5.5, cx=0, cy=0)
    return element("svg", inner, x=x, y=y, overflow="visible", class_=f"marker {direction}")


def curve(lines: Sequence[Line], *, name: str, is_rate: bool, labels: Sequence[str] = ()) -> Markup:
    """Draw lines over optimizer steps, or over what `labels` names, evenly spaced.

    A rate is drawn from 0 to 100 %; anything else between its own extremes.
    """
    height, head, foot = 132, 14, 20
    values = [value for line in lines for value in line.values if value is not None]
    low, high = (0.0, 1.0) if is_rate else _range(values)
    steps = max(len(line.values) for line in lines)

    def across(index: int) -> float:
        return 1000 * index / max(steps - 1, 1)

    def down(value: float) -> float:
        return head + (high - value) / (high - low) * height

    grid: list[Markup] = []
    for tick in ticks(low, high, most=5):
        label = percent(tick, digits=0) if is_rate else significant(tick)
        grid.append(element("line", x1="0", x2="100%", y1=down(tick), y2=down(tick), class_="grid"))
        grid.append(_tick(label, -7, down(tick) + 4, "end"))
    paths = []
    for line in lines:
        d = _path(_thin_out(line.values), across, down)
        paths.append(element("path", d=d, class_=f"line t{line.tone}", vector_effect="non-scaling-stroke"))
    bottom = head + height
    plot = element(
        "svg",
        *paths,
        x="0",
        y=0,
        width="100%",
        height=bottom + foot,
        viewBox=f"0 0 1000 {bottom + foot}",
        preserveAspectRatio="none",
        overflow="visible",
    )
    tick_labels = dict(enumerate(labels)) if labels else {0: "step 1", steps - 1: str(steps)}
    feet = []
    for index, label in tick_labels.items():
        anchor = "start" if index == 0 else "end" if index == steps - 1 else "middle"
        feet.append(_tick(label, f"{across(index) / 10:g}%", bottom + 16, anchor))
    return _picture(bottom + foot, name, *grid, plot, *feet, class_="curve")


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low >= 0 and low < 0.5 * high:
        low = 0.0
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return (low if low == 0 else low - margin), high + margin


def _thin_out(values: Sequence[float | None]) -> list[tuple[int, float | None]]:
    """Return (step, value), long curves reduced to the lowest and highest value of each stretch, in order."""
    steps = list(enumerate(values))
    if len(steps) <= _CURVE_POINTS:
        return steps
    stretch = math.ceil(2 * len(steps) / _CURVE_POINTS)
    extremes: list[tuple[int, float | None]] = []
    for start in range(0, len(steps), stretch):
        part = [(index, value) for index, value in steps[start : start + stretch] if value is not None]
        ends = {min(part, key=lambda pair: pair[1]), max(part, key=lambda pair: pair[1])} if part else set()
        extremes += sorted(ends) or [(start, None)]
    return extremes


def _path(
    places: Sequence[tuple[int, float | None]], across: Callable[[int], float], down: Callable[[float], float]
) -> str:
    """Return path data with a gap at each None; a single value between gaps becomes a dot (a line of no length)."""
    parts: list[str] = []
    previous: float | None = None
    for position, (index, value) in enumerate(places):
        if value is not None:
            x, y = _short(across(index)), _short(down(value))
            following = places[position + 1][1] if position + 1 < len(places) else None
            alone = previous is None and following is None
            parts.append(f"{'M' if previous is None else 'L'}{x} {y}" + ("h0" if alone else ""))
        previous = value
    return "".join(parts)


def parts_bar(parts: Sequence[tuple[str, int]], *, whole: int, name: str) -> Markup:
    """Draw one thin bar divided into counted parts of `whole`; each part is a (style class, count)."""
    rects = [element("rect", x="0", y=0, width="100%", height=10, class_="track")]
    start = 0
    for style, amount in parts:
        if whole > 0 and amount > 0:
            rects.append(element("rect", x=_at(start / whole), y=0, width=_at(amount / whole), height=10, class_=style))
        start += amount
    return _picture(10, name, *rects, class_="parts")


def meter(rate: float | None, low: float | None, high: float | None, tone: int = 1) -> Markup:
    """Draw one thin bar of a rate with its interval, for a table cell with the numbers next to it."""
    parts = [element("rect", x="0", y=3, width="100%", height=8, class_="track")]
    if rate is not None:
        parts.append(element("rect", x="0", y=3, width=_at(rate), height=8, class_=f"bar t{tone}"))
    parts += _whisker(low, high, 7, lambda value: value)
    return element("svg", *parts, class_="chart meter", aria_hidden="true", width="100%", height=14)
