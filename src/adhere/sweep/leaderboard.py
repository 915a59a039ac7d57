"""Rank many Runs of one set of prompts in one Leaderboard.

It says who ranks where, how surely, and what stands behind the numbers.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from adhere.errors import ResourceError
from adhere.schema import Prompt, encode, write_atomic
from adhere.stats import wilson_clustered
from adhere.stats.ranks import rank_ranges, ranks_of
from adhere.store.manifest import RunSpec
from adhere.store.tables.readout import Readout, RunReader
from adhere.sweep.board import Cell, Dead, Difficulty, Leaderboard, Row, SuiteFacts, TestNoun
from adhere.sweep.board_run import MeasuredRun, measure_run, noun_of, tests_of

if TYPE_CHECKING:  # reports read a Leaderboard and never talk to an endpoint
    from adhere.sweep.record import Sweep

__all__ = ["Leaderboard", "leaderboard", "leaderboard_of_runs"]

MIN_COVERAGE = 0.98
CONFIDENCE = 0.95


def leaderboard(sweep: Sweep, *, min_coverage: float = MIN_COVERAGE) -> Leaderboard:
    """Return the leaderboard of a sweep, and store it as `leaderboard.json` in the sweep's directory.

    Args:
        sweep: The sweep, finished or interrupted; models without a Run have no row.
        min_coverage: Share of its answers that must be measured for a model to get a rank.

    Raises:
        UsageError, IntegrityError: A Run cannot be read.
        ResourceError: The board cannot be written.
    """
    reader = RunReader()
    order = {model: place for place, model in enumerate(sweep.snapshot.wanted)}
    keys = sorted(sweep.runs, key=lambda key: (key[1], order.get(key[0], len(order)), key[0]))
    suites, rows = _suites_and_rows(
        ((reader.read(sweep.runs[key]), key[0]) for key in keys), min_coverage, sweep.directory
    )
    snapshot = sweep.snapshot
    board = Leaderboard(
        suites=suites,
        rows=rows,
        base_url=snapshot.base_url,
        snapshot=_when(snapshot.fetched),
        listed=len(snapshot.wanted) + len(snapshot.left_out),
        wanted=len(snapshot.wanted),
        alive=len(sweep.alive),
        dead=tuple(Dead(model, reason) for model, reason in sweep.dead.items()),
        left_out=dict(Counter(snapshot.left_out.values()).most_common()),
        set_aside=tuple(Dead(model, reason) for model, reason in sweep.set_aside.items()),
        stopped=sweep.stopped,
        min_coverage=min_coverage,
        confidence=CONFIDENCE,
    )
    try:
        write_atomic(sweep.directory / "leaderboard.json", encode(board) + b"\n")
    except OSError as error:
        raise ResourceError(
            f"Cannot write the leaderboard into {sweep.directory}: {error.strerror or error}"
        ) from error
    return board


def _when(seconds: float) -> str:
    """Return a time as a person reads it, in UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return "an unknown time"


def leaderboard_of_runs(directories: Iterable[Path], *, min_coverage: float = MIN_COVERAGE) -> Leaderboard:
    """Return the leaderboard of any finished Runs, e.g. of `adhere eval`. Runs on the same prompts are ranked together.

    Oracles, whose answers were chosen by the verifiers that score them, are ranked among themselves.

    Raises:
        UsageError, IntegrityError: A Run is missing, unfinished or damaged.
    """
    reader = RunReader()
    suites, rows = _suites_and_rows(
        ((run, run.manifest.spec.model) for run in map(reader.read, directories)), min_coverage, None
    )
    return Leaderboard(suites=suites, rows=rows, min_coverage=min_coverage, confidence=CONFIDENCE)


class _Group:
    """Holds Runs that were asked the same prompts in the same way, oracles apart, in order of arrival."""

    def __init__(self, name: str, spec: RunSpec, prompts: tuple[Prompt, ...]) -> None:
        self.name, self.spec, self.prompts = name, spec, prompts
        self.noun: TestNoun = noun_of(prompts)
        self.runs: list[MeasuredRun] = []


def _suites_and_rows(
    runs: Iterable[tuple[Readout, str]], min_coverage: float, base: Path | None
) -> tuple[tuple[SuiteFacts, ...], tuple[Row, ...]]:
    """Group Runs that were asked the same, and return the facts and ranked rows of each group.

    One Run is read at a time.
    """
    groups: dict[tuple[object, ...], _Group] = {}
    uses_of_name: Counter[str] = Counter()
    labels: set[tuple[str, str]] = set()
    for run, model in runs:
        spec = run.manifest.spec
        question = (
            spec.suite, run.manifest.prompts_sha256, spec.draws, spec.mode, spec.sampling, spec.cut_answers,
            spec.is_oracle,
        )  # fmt: skip
        group = groups.get(question)
        if group is None:
            suite = f"{spec.suite} (oracles)" if spec.is_oracle else spec.suite
            uses_of_name[suite] += 1
            name = suite if uses_of_name[suite] == 1 else f"{suite} ({uses_of_name[suite]})"
            group = groups[question] = _Group(name, spec, run.prompts)
        label = model if (model, group.name) not in labels else f"{model} [{run.directory.name}]"
        labels.add((label, group.name))
        measured_run = measure_run(run, model=label, suite=group.name, noun=group.noun)
        if base is not None:
            row = msgspec.structs.replace(measured_run.row, run=os.path.relpath(run.directory, base))
            measured_run = measured_run._replace(row=row)
        group.runs.append(measured_run)
    suites, rows = [], []
    for group in groups.values():
        facts, suite_rows = _rank_group(group, min_coverage)
        suites.append(facts)
        rows += suite_rows
    return tuple(suites), tuple(rows)


def _rank_group(group: _Group, min_coverage: float) -> tuple[SuiteFacts, list[Row]]:
    def is_ranked(row: Row) -> bool:
        return row.coverage >= min_coverage and row.prompt_strict.of_all is not None

    sure = [run for run in group.runs if is_ranked(run.row)]
    values_M_P = np.array(
        [[run.passes[prompt.id] for prompt in group.prompts] for run in sure], dtype=np.float64
    ).reshape(len(sure), len(group.prompts))
    ranks = ranks_of([run.row.prompt_strict.of_all or 0.0 for run in sure])
    ranges, resolvable = rank_ranges(values_M_P, confidence=CONFIDENCE)
    ranked_rows = [
        msgspec.structs.replace(run.row, rank=rank, rank_low=min(rank, low), rank_high=max(rank, high))
        for run, rank, (low, high) in zip(sure, ranks, ranges, strict=True)
    ]
    ranked_rows.sort(key=lambda row: (row.rank, row.model))
    others = [
        msgspec.structs.replace(run.row, unranked=_why_not(run.row, min_coverage))
        for run in group.runs
        if not is_ranked(run.row)
    ]
    others.sort(key=lambda row: (-row.bound_high, row.model))
    return _facts(group, len(ranked_rows), resolvable), ranked_rows + others


def _why_not(row: Row, min_coverage: float) -> str:
    if row.prompt_strict.of_all is None:
        return "nothing was measured"
    return f"{row.coverage:.1%} of its answers were measured, below {min_coverage:.0%}"


def _facts(group: _Group, n_ranked: int, resolvable: float | None) -> SuiteFacts:
    spec = group.spec
    tests = _difficulties(tests_of(group.prompts, group.noun), [run.row for run in group.runs])
    rated_tests = sorted(
        (test for test in tests if test.rate is not None), key=lambda test: (-(test.rate or 0.0), test.test)
    )
    return SuiteFacts(
        name=group.name,
        version=spec.suite_version,
        sha256=spec.suite_sha256,
        n_prompts=len(group.prompts),
        draws=spec.draws,
        limit=spec.limit,
        mode=spec.mode,
        sampling=spec.sampling,
        noun=group.noun,
        tests=tests,
        easiest=rated_tests[0].test if rated_tests else "",
        median=rated_tests[len(rated_tests) // 2].test if rated_tests else "",
        hardest=rated_tests[-1].test if rated_tests else "",
        n_ranked=n_ranked,
        resolvable=resolvable,
    )


def _difficulties(tests: Sequence[str], rows: Sequence[Row]) -> tuple[Difficulty, ...]:
    cells_by_test: dict[str, list[Cell]] = defaultdict(list)
    for row in rows:
        for cell in row.cells:
            if cell.n:
                cells_by_test[cell.test].append(cell)
    difficulties = []
    for name in tests:
        passed_M, n_M = [cell.passed for cell in cells_by_test[name]], [cell.n for cell in cells_by_test[name]]
        passed, n = sum(passed_M), sum(n_M)
        interval = wilson_clustered(passed_M, n_M)
        low, high = interval if interval is not None else (None, None)
        difficulties.append(Difficulty(name, len(n_M), passed, n, passed / n if n else None, low, high))
    return tuple(difficulties)
