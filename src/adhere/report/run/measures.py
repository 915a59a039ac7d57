"""Arrange a suite's own measures for reports: a row for each measure, and lengths × depths as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adhere.report.pieces.numbers import count, decimal, percent, percent_interval
from adhere.store.summary import Measure, Summary

_COUNTS = frozenset({"consistent levels", "steps", "tokens", "first broken at action"})  # measures that are no shares
_GRID = "depth"


class ShownMeasure(NamedTuple):
    """Holds one number as text; `heat` is the number if it is a share, for a colour.

    `why` says why there is no number or no interval.
    """

    value: str
    interval: str
    n: str
    heat: float | None
    why: str


class MeasureRow(NamedTuple):
    """Holds one measure of every Run; None: a Run does not have it."""

    name: str
    scope: str
    cells: tuple[ShownMeasure | None, ...]


class Grid(NamedTuple):
    """Holds the heat map of one Run: a column for each length, a row for each depth."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ShownMeasure | None, ...]], ...]


def in_words(measure: Measure) -> ShownMeasure:
    """Format a measure as text."""
    n = f"{count(measure.n)} {measure.what}"
    if measure.name in _COUNTS:
        ends = (decimal(measure.low, digits=2), decimal(measure.high, digits=2))
        interval = "–" if measure.low is None or measure.high is None else "…".join(ends)
        return ShownMeasure(decimal(measure.value, digits=2), interval, n, None, measure.reason)
    return ShownMeasure(
        percent(measure.value), percent_interval(measure.low, measure.high), n, measure.value, measure.reason
    )


def measure_rows(summaries: Sequence[Summary]) -> tuple[MeasureRow, ...]:
    """Return every measure of several Runs except those of the grid, in order of first occurrence."""
    of_run = [
        {(measure.name, measure.scope): measure for measure in summary.measures if measure.name != _GRID}
        for summary in summaries
    ]
    names = dict.fromkeys(name for own_measures in of_run for name in own_measures)
    return tuple(
        MeasureRow(
            name,
            scope,
            tuple(
                in_words(own_measures[name, scope]) if (name, scope) in own_measures else None
                for own_measures in of_run
            ),
        )
        for name, scope in names
    )


def grid(summary: Summary) -> Grid | None:
    """Return the grid of lengths and depths; None if nothing was hidden at a depth."""
    cells = {
        tuple(measure.scope.split(" at ", 1)): in_words(measure)
        for measure in summary.measures
        if measure.name == _GRID
    }
    if not cells:
        return None
    columns = tuple(dict.fromkeys(length for length, _ in cells))
    depths = dict.fromkeys(depth for _, depth in cells)
    return Grid(columns, tuple((depth, tuple(cells.get((length, depth)) for length in columns)) for depth in depths))
