"""Render the page of Runs on `profile` or `breadth`.

It shows families or kinds from best to worst with intervals, and failed answers of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from adhere.constraints import make, registry
from adhere.report.page import render
from adhere.report.run.failures import DrawnFailures, draw_failures, pick_examples
from adhere.report.run.view import Group, RunFacts, groups, run_facts, sampling_line
from adhere.store.run import Run
from adhere.store.summary import Rate
from adhere.suites import source_of

SHOWN = 3  # failing answers of each family


class Column(NamedTuple):
    """Holds one Run: its name, its colour, and its failing answers by family."""

    label: str
    tone: int
    run: RunFacts
    failed: dict[str, DrawnFailures]


class FamilyRow(NamedTuple):
    """Holds one family: the question that it answers, and each Run's rates, of prompts and of single constraints."""

    name: str
    answers: str
    rates: tuple[Rate | None, ...]
    constraints: tuple[Rate | None, ...]


class ProfileView(NamedTuple):
    """Shows one profile: `columns` are its Runs, best first; `families` are sorted by the first Run, best first."""

    suite: str
    warnings: tuple[str, ...]
    columns: tuple[Column, ...]
    families: tuple[FamilyRow, ...]


def is_profile(run: Run) -> bool:
    """Tell whether the Run is on the suite `profile` (slices are families) or `breadth` (slices are kinds)."""
    return run.spec.suite.partition(":")[0] in {"profile", "breadth"}


def profile_html(runs: Sequence[Run]) -> str:
    """Return one self-contained page of finished Runs on `profile`.

    Raises:
        UsageError: A Run has no summary: it is unfinished.
    """
    by_directory = {str(run.directory): run for run in runs}
    run_groups = groups([run_facts(run, failures_per_kind=0) for run in runs])
    views = [_view(group, by_directory) for group in run_groups]
    return render("profile/profile.html.jinja", views=views, sampling_line=sampling_line, pick_examples=pick_examples)


def _view(group: Group, runs: dict[str, Run]) -> ProfileView:
    columns = tuple(
        Column(label, 1 + index % 7, facts, _failures(runs[facts.directory]))
        for index, (label, facts) in enumerate(zip(group.labels, group.runs, strict=True))
    )
    names = list(dict.fromkeys(name for column in columns for name in column.run.summary.slices))
    rows = [
        FamilyRow(
            name,
            _question(name),
            tuple(_rate(column.run, name, "prompt_strict") for column in columns),
            tuple(_rate(column.run, name, "instruction_strict") for column in columns),
        )
        for name in names
    ]
    rows.sort(key=lambda row: (-_of_all(row.rates[0]), -_of_all(row.constraints[0]), row.name))
    return ProfileView(group.suite, group.warnings, columns, tuple(rows))


def _of_all(rate: Rate | None) -> float:
    return -1.0 if rate is None or rate.of_all is None else rate.of_all


def _question(name: str) -> str:
    """Return what a slice is about: the question of a family, or an example request of a kind."""
    if ":" not in name:
        return source_of(name).answers
    return make(name, **registry.get(name).passing[0]).describe()


def _rate(facts: RunFacts, name: str, measure: Literal["prompt_strict", "instruction_strict"]) -> Rate | None:
    score = facts.summary.slices.get(name)
    return None if score is None else getattr(score, measure)


def _failures(run: Run) -> dict[str, DrawnFailures]:
    return draw_failures(run, lambda prompt, _: prompt.tags.get("slice", ""), most=SHOWN)
