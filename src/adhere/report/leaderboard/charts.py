"""Draw the pictures of the leaderboard page: an interval for every row, and cost against score."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from adhere.report.pieces.charts import element, plane, plane_y, ticks
from adhere.report.pieces.numbers import percent, percent_interval
from adhere.report.pieces.untrusted import visible

_HEIGHT = 360
_FREE, _NAMED = 3.0, 34.0  # percent of the width: where free models stand, and from where a name has room to its left
_LETTERS, _LINE = 34, 16  # of a name, and pixels that it takes


class Point(NamedTuple):
    """Holds a model's total cost in USD and its rate.

    `front` numbers the points on the Pareto front, from 1; None: not on it.
    """

    model: str
    cost_usd: float
    rate: float
    front: int | None = None


def interval_bar(rate: float | None, low: float | None, high: float | None, *, is_bound: bool = False) -> Markup:
    """Draw a rate from 0 to 100 % with its interval, for a table row; nothing without an interval.

    `is_bound` marks an interval that holds what is possible, not what is likely.
    """
    if low is None or high is None:
        return Markup("")
    left, wide = 100 * low, max(0.6, 100 * (high - low))
    kind = "range bound" if is_bound else "range"
    dot = "" if rate is None else f'<circle class="dot" cx="{100 * rate:.1f}%" cy="7" r="3.4"/>'
    label = percent_interval(low, high)
    # numbers only: nothing here is anybody's text
    return Markup(  # noqa: S704
        f'<svg class="interval" role="img" aria-label="{label}" width="100%" height="14">'
        '<line class="axis" x1="0" x2="100%" y1="7" y2="7"/>'
        f'<rect class="{kind}" x="{left:.1f}%" y="4" width="{wide:.1f}%" height="6" rx="3"/>{dot}</svg>'
    )


def front(points: Sequence[Point]) -> list[Point]:
    """Return all points, those on the Pareto front numbered from the cheapest.

    A model is on the front if its rate exceeds that of every cheaper or equally cheap one.
    """
    best = -1.0
    numbers: dict[int, int] = {}
    for place in sorted(range(len(points)), key=lambda place: (points[place].cost_usd, -points[place].rate)):
        if points[place].rate > best:
            best = points[place].rate
            numbers[place] = len(numbers) + 1
    return [point._replace(front=numbers.get(place)) for place, point in enumerate(points)]


def scatter(points: Sequence[Point]) -> Markup:
    """Draw cost (logarithmic, free models at the left edge) against score."""
    costs = [point.cost_usd for point in points if point.cost_usd > 0]
    low, high = (math.log10(min(costs)), math.log10(max(costs))) if costs else (-1.0, 0.0)
    low, high = math.floor(low * 2) / 2, math.ceil(high * 2 + 1e-9) / 2
    if high - low < 0.5:
        low, high = low - 0.5, high + 0.5

    has_free = any(point.cost_usd <= 0 for point in points)
    begin = 12 if has_free else 2  # percent of the width

    def across(cost: float) -> float:
        return _FREE if cost <= 0 else begin + (100 - begin) * (math.log10(cost) - low) / (high - low)

    top = max((point.rate for point in points), default=1.0)
    top = min(1.0, math.ceil(top * 10 + 0.3) / 10)

    powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    tick_costs = [10.0**power for power in powers[:: max(1, math.ceil(len(powers) / 5))]]
    name = f"Cost of all answers in USD against the pass rate of {len(points)} models"
    places = {point: (across(point.cost_usd), plane_y(point.rate / top, _HEIGHT)) for point in points}
    best = sorted((point for point in points if point.front is not None), key=lambda point: point.front or 0)
    return plane(
        [(across(cost) / 100, _usd(cost)) for cost in tick_costs] + ([(_FREE / 100, "free")] if has_free else []),
        [(tick / top, percent(tick, digits=0)) for tick in ticks(0, top, most=7)],
        *_steps([places[point] for point in best]),
        *(
            _dot(point, f"{places[point][0]:.2f}%", f"{places[point][1]:.1f}")
            for point in sorted(points, key=lambda point: point.front or 0)
        ),
        *_names(best, places),
        name=name,
        class_="scatter",
        height=_HEIGHT,
    )


def _steps(places: Sequence[tuple[float, float]]) -> Iterator[Markup]:
    """Draw stairs through the Pareto front: the best rate for each cost."""
    for (x, y), (right, up) in itertools.pairwise(places):
        yield element("line", x1=f"{x:.2f}%", x2=f"{right:.2f}%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="front")
        yield element("line", x1=f"{right:.2f}%", x2=f"{right:.2f}%", y1=f"{y:.1f}", y2=f"{up:.1f}", class_="front")


def _names(best: Sequence[Point], places: Mapping[Point, tuple[float, float]]) -> Iterator[Markup]:
    """Draw the names of the front's points above the stairs; a name that would touch the one before is left out."""
    free = math.inf
    for point in best:
        x, y = places[point]
        if y > free - _LINE or x < _NAMED:
            continue
        free = y
        name = visible(point.model)
        short = name if len(name) <= _LETTERS else f"{name[: _LETTERS // 2]}…{name[1 - _LETTERS // 2 :]}"
        inner = element("text", short, x=-14, y=-6, text_anchor="end", class_="label")
        yield element("svg", inner, x=f"{x:.2f}%", y=f"{y:.1f}", overflow="visible")


def _dot(point: Point, x: str, y: str) -> Markup:
    title = Markup("<title>{}</title>").format(
        escape(visible(f"{point.model}: {percent(point.rate)} for {usd(point.cost_usd)}"))
    )
    if point.front is None:
        return Markup('<circle class="model" cx="{}" cy="{}" r="4">{}</circle>').format(x, y, title)
    return Markup(
        '<svg class="best" x="{}" y="{}" overflow="visible"><circle r="9">{}</circle><text y="4" '
        'text-anchor="middle">{}</text></svg>'
    ).format(x, y, title, point.front)


def usd(cost: float | None) -> str:
    """Format an amount with three significant digits: `$0.0123`, `$12.3`, `$1,230`; `–` if it is unknown."""
    if cost is None:
        return "–"
    if cost == 0:
        return "$0"
    digits = max(0, 2 - math.floor(math.log10(abs(cost)) + 1e-12))
    return f"${cost:,.{min(digits, 12)}f}"


def _usd(cost: float) -> str:
    return f"${cost:g}" if cost >= 1e-4 else f"${cost:.0e}".replace("e-0", "e−").replace("e-", "e−")
