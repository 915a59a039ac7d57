"""Render the page of a leaderboard.

It shows ranks and their uncertainty, models by test, cost, failures, and the answers behind a cell. It is one file
without any request. Everything can be read without its script; with it the tables sort and filter, and a cell opens its
answers. It is a pure function of the Leaderboard and the stored Runs.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from adhere.report.leaderboard.charts import Point, front, interval_bar, scatter, usd
from adhere.report.leaderboard.drilldown import MOST_BYTES, MOST_PER_CELL, Islands, islands
from adhere.report.page import render
from adhere.report.pieces.charts import Bar, bars
from adhere.report.pieces.numbers import DASH, decimal, percent, percent_interval, plural, points
from adhere.report.run.view import accounting_line, request_line, sampling_line
from adhere.store.summary import Accounting
from adhere.sweep.board import Example, Leaderboard, Row, SuiteFacts

_MOST_MODES = 12
SET_ASIDE = 5
_NAMES = {"truncated": "cut at a limit", "refused": "refused", "empty": "empty answer", "timeout": "timed out",
          "format wrapping": "right but wrapped (passes the loose view)"}  # fmt: skip


class _TableRow(NamedTuple):
    """Holds one row of the table: its number in the data, the record, its picture and the script's sort keys."""

    number: int
    row: Row
    bar: Markup
    keys: dict[str, object]


class _Mode(NamedTuple):
    """Describes one way of failing, over all models.

    `times` of `of` answers fail so, in `models` models, the most often in the model `worst`. `examples` are pairs of a
    model and one such answer.
    """

    mode: str
    name: str
    times: int
    of: int
    models: int
    worst: str
    examples: tuple[tuple[str, Example], ...]

    @property
    def said(self) -> str:
        """The name of this way of failing, for display."""
        return _NAMES.get(self.mode, self.name if self.mode in {"test", "constraint"} else f"{self.mode}: {self.name}")


class _Section(NamedTuple):
    """Holds everything about one suite; `first` are the ranked models with the highest rate."""

    suite: SuiteFacts
    rows: tuple[_TableRow, ...]
    first: tuple[Row, ...]
    accounting: Accounting
    difficulty: Markup
    scatter: Markup | None
    best: tuple[Point, ...]
    unpriced: int
    modes: tuple[_Mode, ...]
    caveats: tuple[str, ...]
    settings: dict[str, str]


def leaderboard_html(directory: Path, board: Leaderboard, *, most_bytes: int = MOST_BYTES) -> str:
    """Return the page as text.

    Args:
        directory: The sweep's directory, which the places of the board's Runs are relative to.
        board: See Leaderboard.
        most_bytes: Most bytes of the answers that the page contains.
    """
    data = islands(board, directory, most_bytes=most_bytes)
    sections = tuple(_section(suite, board, data) for suite in board.suites)
    costs = [row.cost.total_usd for row in board.rows if row.cost.total_usd is not None]
    return render(
        "leaderboard/leaderboard.html.jinja",
        style="leaderboard/leaderboard.css",
        script="leaderboard/leaderboard.js",
        board=board,
        sections=sections,
        data=data,
        most_per_cell=MOST_PER_CELL,
        most_megabytes=most_bytes >> 20,
        models=len({row.model for row in board.rows}),
        spent=usd(sum(costs)) if costs else None,
        answers=sum(row.accounting.n for row in board.rows),
        usd=usd,
        seconds=_seconds,
        ranked=_rank_text,
        accounting_line=accounting_line,
        interval=percent_interval,
    )


def _section(suite: SuiteFacts, board: Leaderboard, data: Islands) -> _Section:
    rows = tuple(_show_row(number, row) for number, row in enumerate(board.rows) if row.suite == suite.name)
    records = [shown_row.row for shown_row in rows]
    cost_points = [
        Point(row.model, row.cost.total_usd, row.prompt_strict.of_all)
        for row in records
        if row.cost.total_usd is not None and row.prompt_strict.of_all is not None
    ]
    front_points = front(cost_points)
    best = sorted((point for point in front_points if point.front is not None), key=lambda point: point.front or 0)
    return _Section(
        suite,
        rows,
        _first(records),
        _together(records),
        _difficulty(suite),
        scatter(front_points) if any(point.cost_usd > 0 for point in cost_points) else None,
        tuple(best),
        len(records) - len(cost_points),
        _modes(records),
        _caveats(suite, records, board, data),
        _settings(suite, records, board),
    )


def _first(records: list[Row]) -> tuple[Row, ...]:
    with_rank = [row for row in records if row.rank is not None]
    best = max((row.prompt_strict.of_all or 0.0 for row in with_rank), default=0.0)
    return tuple(row for row in with_rank if row.prompt_strict.of_all == best)


def _show_row(number: int, row: Row) -> _TableRow:
    rate = row.prompt_strict
    is_ranked = row.rank is not None
    bar = (
        interval_bar(rate.of_all, rate.low, rate.high)
        if is_ranked
        else interval_bar(rate.of_all, row.bound_low, row.bound_high, is_bound=True)
    )
    return _TableRow(
        number,
        row,
        bar,
        {
            "rank": row.rank,
            "rate": rate.of_all,
            "loose": row.prompt_loose.of_all,
            "constraints": row.instruction_strict.of_all,
            "partial": row.partial,
            "coverage": row.coverage,
            "cost": row.cost.total_usd,
            "per-correct": row.cost.per_correct_usd,
            "latency": row.latency.p50,
            "tokens": row.tokens.completion,
        },
    )


def _rank_text(row: Row) -> str:
    """Format a rank with its range: `3 (2–7)`."""
    if row.rank is None:
        return DASH
    if row.rank_low is None or row.rank_high is None or row.rank_low == row.rank_high:
        return str(row.rank)
    return f"{row.rank} ({row.rank_low}–{row.rank_high})"


def _seconds(value: float | None) -> str:
    return DASH if value is None else f"{decimal(value, digits=2 if value < 10 else 1)}\u00a0s"


def _together(rows: list[Row]) -> Accounting:
    fields = Accounting.__struct_fields__
    return Accounting(**{name: sum(getattr(row.accounting, name) for row in rows) for name in fields})


def _difficulty(suite: SuiteFacts) -> Markup:
    tests = sorted(suite.tests, key=lambda test: (-1.0 if test.rate is None else -test.rate, test.test))
    test_bars = [
        Bar(
            test.test,
            test.rate,
            test.low,
            test.high,
            f"{percent(test.rate, digits=0)} ({percent_interval(test.low, test.high)})"
            if test.rate is not None
            else f"{DASH} (not measured)",
            1,
        )
        for test in tests
    ]
    name = "Share passed over all models, easiest first. " + "; ".join(f"{bar.label}: {bar.text}" for bar in test_bars)
    return bars(test_bars, name=name, top=1.0)


def _modes(rows: list[Row]) -> tuple[_Mode, ...]:
    """Return the most frequent ways of failing over all models, with answers of different models."""
    cases_by_mode: dict[tuple[str, str], list[tuple[Row, int, int, tuple[Example, ...]]]] = defaultdict(list)
    for row in rows:
        for failure in row.failures:
            cases_by_mode[failure.mode, failure.name].append((row, failure.count, failure.of, failure.examples))
    modes = []
    for (mode, name), cases in cases_by_mode.items():
        worst = max(cases, key=lambda case: (case[1] / max(1, case[2]), case[0].model))
        examples = [(case[0].model, case[3][0]) for case in sorted(cases, key=lambda case: -case[1]) if case[3]]
        if len(examples) < 3:
            examples = [(case[0].model, example) for case in cases for example in case[3]]
        total, of = sum(case[1] for case in cases), sum(case[2] for case in cases)
        modes.append(_Mode(mode, name, total, of, len(cases), worst[0].model, tuple(examples[:3])))
    modes.sort(key=lambda mode: (-mode.times, mode.mode, mode.name))
    return tuple(modes[:_MOST_MODES])


def _caveats(suite: SuiteFacts, rows: list[Row], board: Leaderboard, data: Islands) -> tuple[str, ...]:
    """Return what a reader has to know before believing a rank."""
    notes = []
    draws = f", {plural(suite.draws, 'answer')} each" if suite.draws > 1 else ""
    limit = f" (of a longer suite: only {plural(suite.limit, 'prompt')} were asked for)" if suite.limit else ""
    notes.append(
        f"{plural(suite.n_prompts, 'prompt')}{draws}{limit}: every rate is known as well as its interval "
        "says, and no better."
    )
    if suite.resolvable is not None:
        notes.append(
            f"Two models that differ by less than about {points(suite.resolvable, is_signed=False)} percentage points "
            "cannot be told apart here. A rank stands with the range that holds the true one "
            f"({percent(board.confidence, digits=0)})."
        )
    ties = [row for row in rows if row.rank is not None and row.rank_low == 1]
    if len(ties) > 1:
        notes.append(f"Any of {len(ties)} models may be the best one.")
    without_rank = [row for row in rows if row.rank is None]
    if without_rank:
        notes.append(
            f"Without a rank, because less than {percent(board.min_coverage, digits=0)} of its answers were measured: "
            f"{plural(len(without_rank), 'model')}. The bar shows what is possible, "
            "from all of the rest failing to all of it passing."
        )
    lost_answers = sum(row.accounting.error + row.accounting.missing for row in rows)
    if lost_answers:
        notes.append(
            f"{plural(lost_answers, 'answer')} failed or are missing; they count neither as passed nor as failed."
        )
    if board.stopped:
        notes.append(f"The sweep ended early: {board.stopped}.")
    notes += [f"{row.model} was not asked to the end: {row.reason}" for row in board.set_aside[:SET_ASIDE]]
    if len(board.set_aside) > SET_ASIDE:
        notes.append(f"{len(board.set_aside) - SET_ASIDE} more models were not asked to the end.")
    models = {row.model for row in rows}
    notes += [
        f"The answers of {model} cannot be opened here: {why}"
        for model, why in data.unreadable.items()
        if model in models
    ]
    return tuple(notes)


def _settings(suite: SuiteFacts, rows: list[Row], board: Leaderboard) -> dict[str, str]:
    engines = {
        f"{row.engine.name} {row.engine.version}, precision {row.engine.precision}"
        + "".join(f", {name} {value}" for name, value in row.engine.settings.items() if name not in {"send", "omit"})
        + "".join(f", request {line}" for line in [request_line(row.engine)] if line)
        for row in rows
    }
    return {
        "Suite": f"{suite.name} {suite.version}, sha256 {suite.sha256}",
        "Prompts": f"{suite.n_prompts:,}" + (f", limited to {suite.limit:,}" if suite.limit else ""),
        "Sampling": sampling_line(suite.sampling, suite.draws),
        "Semantics of published kinds": suite.mode,
        "Asked through": "; ".join(sorted(engines)) or DASH,
        "Endpoint": board.base_url or DASH,
        "Models listed at": board.snapshot or DASH,
        "Coverage that a rank takes": percent(board.min_coverage, digits=0),
        "Intervals": percent(board.confidence, digits=0),
    }
