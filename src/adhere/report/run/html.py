"""Render the page of Runs: a leaderboard with intervals, families and kinds, and real answers that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from adhere.errors import AdhereError
from adhere.report.page import render
from adhere.report.pieces.charts import Bar, bars, nice_top
from adhere.report.pieces.guards import GUARDS
from adhere.report.pieces.numbers import count, percent, percent_interval, plural
from adhere.report.run import view
from adhere.report.run.failures import pick_examples
from adhere.report.run.measures import Grid, MeasureRow, grid, measure_rows
from adhere.report.run.troubles import trouble_lines
from adhere.store.run import Run
from adhere.store.summary import Share, SliceScore, Tally
from adhere.verify.traps import TrapScore, traps_of_run


class RunRow(NamedTuple):
    """Holds one Run of a group, with its label and colour."""

    label: str
    tone: int
    run: view.RunFacts


class RateRow(NamedTuple):
    """Holds one family or kind and each Run's share of its constraints; None: a Run has none of them."""

    name: str
    shares: tuple[Share | None, ...]


class GroupView(NamedTuple):
    """Holds everything that the page shows of Runs on the same prompts."""

    suite: str
    warnings: tuple[str, ...]
    rows: tuple[RunRow, ...]
    slices: tuple[tuple[str, str, Markup], ...]
    families: tuple[RateRow, ...]
    kinds: tuple[RateRow, ...]
    measures: tuple[MeasureRow, ...]
    grids: tuple[tuple[RunRow, Grid], ...]


def runs_html(runs: Sequence[Run]) -> str:
    """Return one self-contained HTML page of finished Runs.

    Runs on different prompts are shown separately and not ranked together.

    Raises:
        UsageError: A Run has no summary: it is unfinished.
    """
    return render(
        "run/run.html.jinja",
        groups=[_group_view(group) for group in view.groups([view.run_facts(run) for run in runs])],
        traps={str(run.directory): _traps(run) for run in runs},
        guards=GUARDS,
        pick_examples=pick_examples,
        accounting_line=view.accounting_line,
        batch_note=view.batch_note,
        request_line=view.request_line,
        sampling_line=view.sampling_line,
        trouble_lines=trouble_lines,
    )


class TrapView(NamedTuple):
    """Describes how many of a Run's answers take a trap, and the first that do; `why` if they could not be counted."""

    line: str
    found: TrapScore | None
    why: str = ""


def _traps(run: Run) -> TrapView:
    """Count traps taken; for a sharded Run in its first shard only, since a page does not read millions of answers."""
    try:
        trap_score = traps_of_run(next(run.parts()))
    except AdhereError as error:  # a kind of somebody's package that is not here
        return TrapView("", None, str(error))
    if not trap_score.answers:
        return TrapView("", None, "no answer has a text")
    line = (
        f"{count(trap_score.taken)} of {plural(trap_score.answers, 'answer')} take a trap ({percent(trap_score.share)})"
    )
    if trap_score.by_trap:
        line += f": {', '.join(f'{trap} {count(n)}' for trap, n in trap_score.by_trap.items())}"
    if trap_score.passing is not None:
        line += f"; {count(trap_score.passing_taken or 0)} of the {count(trap_score.passing)} that passed"
    return TrapView(line, trap_score)


def _group_view(group: view.Group) -> GroupView:
    rows = tuple(
        RunRow(label, 1 + index % 7, run)
        for index, (label, run) in enumerate(zip(group.labels, group.runs, strict=True))
    )
    names = list(dict.fromkeys(name for row in rows for name in row.run.slices))
    scores = [score for row in rows for score in row.run.slices.values()]
    top = min(1.0, nice_top([end for s in scores for end in (s.prompt_strict.of_all, s.prompt_strict.high)], least=0.2))
    return GroupView(
        group.suite,
        group.warnings,
        rows,
        tuple((name, view.SLICE_NOTES.get(name, ""), _chart(rows, name, top)) for name in names),
        rate_rows([row.run.summary.overall.families for row in rows]),
        rate_rows([row.run.summary.overall.kinds for row in rows]),
        measure_rows([row.run.summary for row in rows]),
        tuple((row, row_grid) for row in rows if (row_grid := grid(row.run.summary)) is not None),
    )


def _chart(rows: Sequence[RunRow], name: str, top: float) -> Markup:
    row_bars = [_bar(row, row.run.slices.get(name)) for row in rows]
    title = f"Pass rates with 95 % intervals, slice {name}. " + "; ".join(
        f"{bar.label}: {bar.text}" for bar in row_bars
    )
    return bars(row_bars, name=title, top=top)


def _bar(row: RunRow, score: SliceScore | None) -> Bar:
    rate = score.prompt_strict if score else None
    if rate is None or rate.of_all is None:
        reason = (rate.reason if rate else "") or "not measured"
        return Bar(row.label, None, None, None, f"– ({reason})", row.tone)
    text = f"{percent(rate.of_all)} ({percent_interval(rate.low, rate.high)})"
    return Bar(row.label, rate.of_all, rate.low, rate.high, text, row.tone)


def rate_rows(tallies: Sequence[dict[str, Tally]]) -> tuple[RateRow, ...]:
    """Return a row for each family or kind, the lowest rate of the first Run first."""
    names = sorted({name for table in tallies for name in table})
    rows = [
        RateRow(name, tuple(table[name].strict.share if name in table else None for table in tallies)) for name in names
    ]
    return tuple(sorted(rows, key=_first_rate))


def _first_rate(row: RateRow) -> tuple[bool, float, int]:
    first = row.shares[0]
    return (True, 0.0, 0) if first is None or first.rate is None else (False, first.rate, -first.n)
