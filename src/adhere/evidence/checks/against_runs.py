"""Test claims against our own measurements.

A stored Run of the same model on the same prompts is compared with the claim as two proportions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from adhere.errors import UsageError
from adhere.evidence.claims.names import benchmark_key, model_name
from adhere.evidence.claims.values import Value
from adhere.schema import Record
from adhere.store.run import Run
from adhere.store.sharded import load_run
from adhere.store.shelf import SHARDED, run_folders
from adhere.store.summary import Rate, Summary

_Z = 1.959964
_SUITES = {"ifeval": "ifeval", "ifbench": "ifbench", "multi_if": "multiif"}  # suite -> benchmark key


class ClaimTest(Record, frozen=True):
    """Holds the test of one printed number (claim) against one Run, a stored evaluation of a model on a suite.

    `claim` is the claim's id, `run` the Run's directory, `metric` the rate of the Run that is compared
    (`strict-prompt`, …), `n` its denominator. `printed` and `measured` are in percent; `reason` says what `standing`
    rests on.

    `difference` is measured minus printed, in points. [low, high] is its 95 % interval: it combines the interval of our
    rate (Wilson, widened for several draws of one prompt) and that of the printed rate as a proportion of as many
    prompts.
    """

    claim: str
    run: str
    model: str
    metric: str
    printed: float
    measured: float | None
    n: int
    difference: float | None
    low: float | None
    high: float | None
    standing: Literal["confirmed", "contradicted", "not comparable"]
    reason: str


def runs_below(directory: Path) -> list[Run]:
    """Return every finished Run in or below a directory.

    Raises:
        UsageError: No finished Run is stored there.
    """
    is_one = any((directory / name).is_file() for name in ("manifest.json", SHARDED))
    runs = [run for run in map(load_run, [directory] if is_one else run_folders(directory)) if run.is_sealed]
    if not runs:
        raise UsageError(f"{directory}: no finished Run is stored there or below (adhere eval makes them)")
    return runs


def tested_claims(values: Sequence[Value], runs: Sequence[Run]) -> list[ClaimTest]:
    """Return a test of every claim about a model and a benchmark that a Run measured."""
    tests = []
    for run in runs:
        suite = run.spec.suite.partition(":")[0]
        benchmark = _SUITES.get(suite, benchmark_key(suite))
        model = model_name(run.spec.model.rpartition("/")[2].rpartition("#")[2] or run.spec.model)
        summary = run.summary()
        for value in values:
            if value.model is None or value.benchmark is None or value.role != "score" or not value.is_firm:
                continue
            if value.benchmark.key == benchmark and value.model.key == model.key:
                tests.append(_test_claim(value, run, summary))
    return tests


def _test_claim(value: Value, run: Run, summary: Summary) -> ClaimTest:
    metric = value.benchmark.metric if value.benchmark else ""
    rate, name = _rate(summary, metric)
    reason = _unlike(value, run, summary, metric)
    printed_percent = value.printed.value * (100.0 if value.printed.value <= 1 and value.printed.decimals >= 2 else 1.0)
    measured_percent = None if rate.of_all is None else 100 * rate.of_all
    difference = low = high = None
    standing: Literal["confirmed", "contradicted", "not comparable"] = "not comparable"
    if measured_percent is not None and rate.low is not None and rate.high is not None:
        share = min(max(printed_percent / 100, 0.0), 1.0)
        theirs = 100 * _Z * math.sqrt(share * (1 - share) / summary.overall.n_prompts) + value.printed.half
        difference = measured_percent - printed_percent
        low = difference - math.hypot(measured_percent - 100 * rate.low, theirs)
        high = difference + math.hypot(100 * rate.high - measured_percent, theirs)
        if not reason:
            standing = "confirmed" if low <= 0 <= high else "contradicted"
            where = "within" if standing == "confirmed" else "outside"
            reason = f"zero lies {where} the interval of the difference"
    elif not reason:
        reason = rate.reason or "the Run measured no rate"
    return ClaimTest(
        claim=value.id,
        run=str(run.directory),
        model=run.spec.model,
        metric=name,
        printed=printed_percent,
        measured=_short(measured_percent),
        n=rate.n,
        difference=_short(difference),
        low=_short(low),
        high=_short(high),
        standing=standing,
        reason=reason,
    )


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


def _rate(summary: Summary, metric: str) -> tuple[Rate, str]:
    name = metric if metric in {"strict-instruction", "loose-prompt", "loose-instruction"} else "strict-prompt"
    view, _, level = name.partition("-")
    return getattr(summary.overall, f"{level}_{view}"), name


def _unlike(value: Value, run: Run, summary: Summary, metric: str) -> str:  # noqa: PLR0911 -- one return a reason
    """Say why a claim and a Run may not be compared; empty where they may."""
    benchmark = value.benchmark
    if benchmark is None:
        return "no benchmark"
    if benchmark.variant:
        return f"the claim is about {benchmark.name} {benchmark.variant}; the Run's suite is {run.spec.suite}"
    if not metric:
        return "the document does not say which of the four rates it prints"
    if run.spec.limit is not None or (benchmark.n is not None and summary.overall.n_prompts != benchmark.n):
        return f"the Run asked {summary.overall.n_prompts} prompts, the public set has {benchmark.n or 'more'}"
    if summary.coverage < 0.98:
        return f"only {summary.coverage:.0%} of the Run's prompts have a verdict"
    if value.setting:
        return f"the claim is about a setting ({value.setting})"
    return ""
