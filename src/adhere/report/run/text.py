"""Write Runs for the terminal.

It shows a leaderboard, accounting, rates under both denominators, guard numbers, families and kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adhere.report.pieces.glossary import MEASURES
from adhere.report.pieces.guards import GUARDS, floor_cell, floor_line, guard_cells, guard_reasons
from adhere.report.pieces.numbers import count, decimal, percent, percent_interval
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.run import view
from adhere.report.run.measures import in_words
from adhere.report.run.troubles import NO_TROUBLES, Troubles, trouble_lines
from adhere.store.manifest import RunSpec
from adhere.store.run import Run
from adhere.store.summary import Rate, SliceScore, Summary, Tally
from adhere.terminal import one_line

_MEASURES = tuple(MEASURES.items())


def run_text(
    spec: RunSpec, summary: Summary, troubles: Troubles = NO_TROUBLES, *, details: bool = False, width: int = 100
) -> str:
    """Return one finished Run as text, wrapped to `width` columns and safe to print.

    Args:
        spec: The Run's spec.
        summary: The Run's numbers.
        troubles: Why answers are missing or undecided.
        details: Whether to show families and kinds of constraint, and every measure of every slice, too.
        width: Columns of the text.
    """
    title = f"{spec.model} on {view.suite_name(spec, summary.overall.n_prompts)}"
    lines = [heading(one_line(title)), *_numbers(spec, summary, width, details=details)]
    notes = [*view.notes_of_kinds(summary.overall.kinds), *trouble_lines(troubles)]
    lines += [paragraph(line, width=width, label="!", hang=2) for line in notes]
    return "\n".join(lines)


def runs_text(runs: Sequence[Run], *, width: int = 100) -> str:
    """Return a leaderboard of finished Runs on the same prompts, then each Run with its failures.

    Raises:
        UsageError: A Run has no summary: it is unfinished.
    """
    parts = []
    for group in view.groups([view.run_facts(run) for run in runs]):
        if len(group.runs) > 1:
            parts.append(_leaderboard(group, width))
        for run, label in zip(group.runs, group.labels, strict=True):
            parts.append(_run(run, label, group, width))
    return "\n\n".join(parts)


def _leaderboard(group: view.Group, width: int) -> str:
    rows = [
        [
            "model", "passed/n", "of all", "95 % interval", "floor", "of completed",
            *(column.heading for column in GUARDS[:3]),
        ]
    ]  # fmt: skip
    for run, label in zip(group.runs, group.labels, strict=True):
        score = run.summary.overall
        passed, rate, interval, of_completed, _ = _rate(score.prompt_strict)
        rows.append([label, passed, rate, interval, floor_cell(score.floor), of_completed, *_guards(score)[:3]])
    lines = [heading(f"{one_line(group.suite)}: {MEASURES['prompt_strict']}"), text_table(rows, width=width)]
    lines += [paragraph(warning, width=width, label="!", hang=2) for warning in group.warnings]
    return "\n".join(lines)


def _run(run: view.RunFacts, label: str, group: view.Group, width: int) -> str:
    lines = [heading(f"{one_line(label)} on {one_line(group.suite)}")]
    lines.append(paragraph(run.directory, width=width, label="stored in", hang=11))
    notes = list(group.warnings) if len(group.runs) == 1 else []
    notes += trouble_lines(run.troubles)
    lines += [paragraph(note, width=width, label="!", hang=2) for note in notes]
    return "\n".join([*lines, *_numbers(run.spec, run.summary, width, details=True)])


def _numbers(spec: RunSpec, summary: Summary, width: int, *, details: bool) -> list[str]:
    facts = {
        "answers": view.accounting_line(summary.accounting),
        "coverage": f"{percent(summary.coverage)} of answers passed or failed",
        "engine": f"{spec.engine.name} {spec.engine.version}, {spec.engine.precision}{view.batch_note(spec.engine)}",
        "sampling": view.sampling_line(spec.sampling, spec.draws),
    }
    if request := view.request_line(spec.engine):
        facts["request"] = request
    if spec.mode != "reference":
        facts["judged"] = f"in {spec.mode} mode"
    if summary.floor is not None:
        facts["floor"] = floor_line(summary.floor)
    lines = [paragraph(text, width=width, label=name, hang=11) for name, text in facts.items()]
    if not summary.accounting.checked:
        return [*lines, "", paragraph("No answer was judged, so there is no rate.", width=width)]
    slices = view.slices_of(summary)
    lines += ["", _rates(slices, width, details=details), "", _guard_table(slices, width)]
    tallies = []
    if details:
        tallies = [*summary.overall.families.values(), *summary.overall.kinds.values()]
        lines += ["", _tallies("family", summary.overall.families, width)]
        lines += ["", _tallies("kind", summary.overall.kinds, width)]
    lines += _measures(summary, width)
    return [*lines, *_reasons(slices, tallies, width, details=details)]


def _rates(slices: Mapping[str, SliceScore], width: int, *, details: bool) -> str:
    rows = [["slice", "measure", "passed/n", "of all", "interval", "floor", "of completed", "interval"]]
    for name, measure, rate in _choose_rates(slices, details=details):
        passed, of_all, interval, *of_completed = _rate(rate)
        least = slices[name].floor
        floor = percent(least.rate) if least is not None and rate is slices[name].prompt_strict else ""
        rows.append([name, measure, passed, of_all, interval, floor, *of_completed])
    return text_table(rows, width=width, left=2)


def _choose_rates(slices: Mapping[str, SliceScore], *, details: bool) -> list[tuple[str, str, Rate]]:
    """List (slice, measure, rate): all four measures of `all`, and of each slice the first or, with `details`, all."""
    return [
        (name, measure, getattr(score, field))
        for name, score in slices.items()
        for field, measure in (_MEASURES if details or name == "all" else _MEASURES[:1])
    ]


def _rate(rate: Rate) -> list[str]:
    return [
        f"{count(rate.passed)}/{count(rate.n)}",
        percent(rate.of_all),
        percent_interval(rate.low, rate.high),
        percent(rate.of_completed),
        percent_interval(rate.low_completed, rate.high_completed),
    ]


def _guard_table(slices: Mapping[str, SliceScore], width: int) -> str:
    rows = [["slice", "answers", *(column.heading for column in GUARDS)]]
    rows += [[name, count(score.guard.n), *_guards(score)] for name, score in slices.items()]
    return text_table(rows, width=width)


def _guards(score: SliceScore) -> list[str]:
    return [
        percent(value, digits=0) if column.is_share else decimal(value) for column, value in guard_cells(score.guard)
    ]


def _tallies(noun: str, tallies: dict[str, Tally], width: int) -> str:
    rows = [[noun, "checked", "passed", "failed", "undecided", "strict", "interval", "loose"]]
    for name, tally in tallies.items():
        strict = tally.strict
        rows.append(
            [
                name, count(tally.checked), count(tally.passed), count(tally.failed), count(tally.undecided),
                percent(strict.of_all), percent_interval(strict.low, strict.high), percent(tally.loose.of_all),
            ]
        )  # fmt: skip
    return text_table(rows, width=width)


def _measures(summary: Summary, width: int) -> list[str]:
    """Return a table of the suite's own measures; empty if it has none."""
    if not summary.measures:
        return []
    rows = [["measure", "of", "value", "interval", "n"]]
    for measure in summary.measures:
        words = in_words(measure)
        rows.append([measure.name, measure.scope or "all", words.value, words.interval, words.n])
    return ["", text_table(rows, width=width, left=2)]


def _reasons(slices: Mapping[str, SliceScore], tallies: Sequence[Tally], width: int, *, details: bool) -> list[str]:
    """Return why dashes are shown above, each reason once; empty if there are none."""
    rates = [rate for _, _, rate in _choose_rates(slices, details=details)]
    reasons = dict.fromkeys(rate.reason for rate in rates if rate.of_all is None or rate.of_completed is None)
    reasons |= dict.fromkeys(
        rate.reason for tally in tallies for rate in (tally.strict, tally.loose) if rate.of_all is None
    )
    reasons |= dict.fromkeys(guard_reasons(score.guard for score in slices.values()))
    texts = [reason for reason in reasons if reason]
    return ["", paragraph(f"– stands where there is no number: {'; '.join(texts)}.", width=width)] if texts else []
