"""From stored Runs to a verdict: paired differences by prompt, over one seed or several, and the rule of the spec.

Array suffixes: `_S` seeds, `_P` prompts, `_K` queries (several prompts may share one).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from adhere.pipeline.outcomes import pass_rates
from adhere.schema import Prompt
from adhere.stats import (
    Interval,
    holm,
    mcnemar_exact,
    mde_from_error,
    mde_paired,
    over_seeds,
    paired_bootstrap,
    paired_difference,
    two_sided_p,
    two_way_interval,
)
from adhere.store.run import Run
from adhere.study.result import Answer, Contrast, StudyVerdict
from adhere.study.spec import ContrastSpec, StudySpec, VerdictSpec

RunKey = tuple[str, int | None]  # (arm, seed); the start model has seed None


class Passes:
    """Which prompts every arm passed at every seed (strict view). The start model counts the same at every seed."""

    def __init__(self, runs: Mapping[RunKey, Run], prompts: Sequence[Prompt], seeds: Sequence[int]) -> None:
        self.prompts, self.seeds = prompts, tuple(seeds)
        self._rates = {key: pass_rates(run) for key, run in runs.items()}

    def of(self, arm: str, seed: int) -> Mapping[str, float | None]:
        """Pass (1.0), fail (0.0) or no measurement (None) of each prompt."""
        return self._rates[arm, seed] if (arm, seed) in self._rates else self._rates[arm, None]

    def in_slice(self, name: str) -> list[Prompt]:
        """The prompts of a slice; `all` is every prompt."""
        return [prompt for prompt in self.prompts if name == "all" or prompt.tags.get("slice") == name]


def contrasts(spec: StudySpec, passes: Passes) -> list[Contrast]:
    """The primary contrast, then the secondary ones with Holm's adjustment among them."""
    rule = spec.verdict
    primary = contrast(ContrastSpec(rule.treatment, rule.control, rule.slice), passes, rule, primary=True)
    secondary = [contrast(item, passes, rule, primary=False) for item in rule.secondary]
    adjusted = holm([item.p_value for item in secondary])
    return [primary] + [
        msgspec.structs.replace(item, p_adjusted=value) for item, value in zip(secondary, adjusted, strict=True)
    ]


class _Found(NamedTuple):
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    minimum_detectable: float | None = None
    method: str = ""
    reason: str = ""
    bootstrap: Interval | None = None


def contrast(asked: ContrastSpec, passes: Passes, rule: VerdictSpec, *, primary: bool) -> Contrast:
    """One paired contrast. Prompts that any of the compared runs did not measure are left out of all of them."""
    prompts = [
        prompt
        for prompt in passes.in_slice(asked.slice)
        if all(
            passes.of(arm, seed)[prompt.id] is not None
            for arm in (asked.treatment, asked.control)
            for seed in passes.seeds
        )
    ]
    treatment_SP, control_SP = (_matrix(passes, arm, prompts) for arm in (asked.treatment, asked.control))
    queries = [prompt.tags.get("query", prompt.id) for prompt in prompts]
    if not prompts:
        found = _Found(reason="no prompt was measured by both arms at every seed")
    elif len(passes.seeds) == 1:
        found = _one_seed(treatment_SP[0], control_SP[0], queries, rule)
    else:
        found = _several_seeds(treatment_SP - control_SP, queries, rule)
    return Contrast(
        name=f"{asked.treatment} − {asked.control}",
        role="primary" if primary else "secondary",
        treatment=asked.treatment, control=asked.control, slice=asked.slice,
        n_prompts=len(prompts), n_seeds=len(passes.seeds),
        rate_treatment=float(treatment_SP.mean()) if prompts else None,
        rate_control=float(control_SP.mean()) if prompts else None,
        difference=found.difference, low=found.low, high=found.high, confidence=rule.confidence,
        gained=int((treatment_SP > control_SP).sum()), lost=int((treatment_SP < control_SP).sum()),
        p_value=found.p_value, p_adjusted=None, minimum_detectable=found.minimum_detectable,
        method=found.method, reason=found.reason,
        bootstrap_low=found.bootstrap.low if found.bootstrap else None,
        bootstrap_high=found.bootstrap.high if found.bootstrap else None,
    )  # fmt: skip


def _matrix(passes: Passes, arm: str, prompts: Sequence[Prompt]) -> np.ndarray:
    rows = [[passes.of(arm, seed)[prompt.id] for prompt in prompts] for seed in passes.seeds]
    return np.asarray(rows, dtype=np.float64).reshape(len(passes.seeds), len(prompts))


def _one_seed(a_P: np.ndarray, b_P: np.ndarray, queries: Sequence[str], rule: VerdictSpec) -> _Found:
    """Exact McNemar; the interval resamples queries where prompts share them, else it is the paired score interval."""
    shared = len(set(queries)) < len(queries)
    gained, lost = int((a_P > b_P).sum()), int((a_P < b_P).sum())
    estimate = paired_bootstrap(
        a_P - b_P, seed=0, resamples=rule.resamples, confidence=rule.confidence,
        clusters_P=list(queries) if shared else None,
    )  # fmt: skip
    if shared:
        interval, method, reason = estimate.interval, f"{estimate.method} over queries", estimate.reason
    else:
        pairs = paired_difference(
            a_P.tolist(), b_P.tolist(), seed=0, resamples=rule.resamples, confidence=rule.confidence
        )
        interval, method, reason = pairs.interval, pairs.method, pairs.reason
    detectable = mde_paired(len(a_P), (gained + lost) / len(a_P), alpha=1 - rule.confidence)
    if detectable is None:
        reason = reason or "the two passed the same prompts, so nothing says how often they would differ"
    return _Found(
        difference=float((a_P - b_P).mean()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p_value=mcnemar_exact(gained, lost),
        minimum_detectable=detectable,
        method=f"{method}; exact McNemar" if "McNemar" not in method else method,
        reason=reason,
        bootstrap=estimate.interval,
    )


def _several_seeds(d_SP: np.ndarray, queries: Sequence[str], rule: VerdictSpec) -> _Found:
    """Seeds and queries as crossed random effects: a statement about the methods, over seeds not yet trained."""
    estimate = two_way_interval(_by_query(d_SP, queries), confidence=rule.confidence)
    error = estimate.standard_error
    return _Found(
        difference=float(d_SP.mean()),
        low=estimate.interval.low if estimate.interval else None,
        high=estimate.interval.high if estimate.interval else None,
        p_value=two_sided_p(estimate),
        minimum_detectable=mde_from_error(error, df=estimate.df, alpha=1 - rule.confidence)
        if error is not None
        else None,
        method=estimate.method,
        reason=estimate.reason,
    )


def _by_query(d_SP: np.ndarray, queries: Sequence[str]) -> np.ndarray:
    """One column a query, weighted so that the mean over queries stays the mean over prompts."""
    columns = {query: index for index, query in enumerate(dict.fromkeys(queries))}
    sums_SK = np.zeros((d_SP.shape[0], len(columns)))
    for column, query in enumerate(queries):
        sums_SK[:, columns[query]] += d_SP[:, column]
    prompts_per_query = len(queries) / len(columns)
    return sums_SK / prompts_per_query


def verdict(spec: StudySpec, primary: Contrast) -> StudyVerdict:
    """The answer that the spec's rule gives."""
    rule = spec.verdict
    worth = rule.smallest_effect
    text = (
        f"YES if the {rule.confidence:.0%} interval of {rule.treatment} minus {rule.control} ({rule.slice}) lies above 0; "
        f"NO if it lies below {_points(worth)}, the smallest effect worth having; INCONCLUSIVE otherwise"
    )
    low, high = primary.low, primary.high
    answer: Answer
    if low is None or high is None:
        answer, because = "INCONCLUSIVE", f"there is no interval: {primary.reason}"
    elif low > 0:
        small = f", though below the smallest effect worth having ({_points(worth)})" if high < worth else ""
        answer, because = "YES", f"the interval lies above 0{small}"
    elif high < worth:
        answer, because = "NO", "the interval excludes an effect worth having"
    else:
        answer = "INCONCLUSIVE"
        because = (
            f"the interval reaches from {_points(low)} to {_points(high)}: it excludes neither 0 nor {_points(worth)}"
        )
    return StudyVerdict(
        question=rule.question, answer=answer, rule=text, because=because, scope=scope(spec), primary=primary
    )


def _points(difference: float) -> str:
    """A difference of rates in points, as the reports print it."""
    return f"{100 * difference:+.1f} points"


def scope(spec: StudySpec) -> str:
    """How far the verdict reaches."""
    where = f"on {spec.start}, on this data and these held-out prompts' kind, at this size"
    if len(spec.seeds) == 1:
        return f"One training seed: the verdict is about these checkpoints, not about the methods ({where}). Use --seeds for the methods."
    few = " Three seeds are the floor, five are advised." if len(spec.seeds) < 5 else ""
    return f"{len(spec.seeds)} training seeds: the verdict is about the methods {where}.{few}"


def pooled_interval(rates_S: Sequence[float], confidence: float) -> tuple[float | None, float | None]:
    """The t interval of one rate over training seeds, within [0, 1]; None where seeds cannot tell."""
    interval = over_seeds(rates_S, confidence).interval
    return (None, None) if interval is None else (max(0.0, interval.low), min(1.0, interval.high))
