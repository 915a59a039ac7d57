"""Test that the treatment is not worse than a reference beside the pass rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from adhere.stats import Crossed, fit_crossed
from adhere.study.design.spec import GuardSpec, StudySpec, VerdictSpec
from adhere.study.outcome.contrast import Evaluations, queries_of
from adhere.study.outcome.result import GuardTest
from adhere.study.run.measured import Measurement


class _Guard(NamedTuple):
    """Describes a value measured of every answer, and which way is worse: 1 for more, -1 for less."""

    values: Callable[[Measurement], Sequence[float | None]]
    worse: float


_GUARDS = {
    "words": _Guard(lambda run: run.words, -1.0),
    "topic_words": _Guard(lambda run: run.topic_words, -1.0),
    "repetition": _Guard(lambda run: run.repetitive, 1.0),
    "echo": _Guard(lambda run: run.echo, 1.0),
    "empty_form": _Guard(lambda run: run.empty_form, 1.0),
}
_SOLVED, _SOLVED_MARGIN = "solved", 0.05
"""Of sessions: an agent that does nothing breaks no rule, and solves no task."""


def guard_tests(
    spec: StudySpec, evaluations: Evaluations, suites: Mapping[str, Evaluations] | None = None
) -> list[GuardTest]:
    """Test that the treatment of the primary contrast is not worse beside the pass rate.

    It is compared with the control, then with the start.

    Args:
        spec: The study.
        evaluations: The evaluations on the study's own prompts.
        suites: The evaluations on published suites, by name; of these only the mean words are tested (`words:NAME`).
    """
    tests = []
    for reference in spec.references:
        rule = msgspec.structs.replace(spec.verdict, control=reference)
        places = evaluations.places(rule.slice)
        if spec.asks_rules:
            tests.append(_over_prompts(_SOLVED, spec.guards, rule, evaluations, places))
            continue
        tests += [_over_prompts(name, spec.guards, rule, evaluations, places) for name in _GUARDS]
        tests.append(_perplexity(rule, spec.guards.perplexity, evaluations))
        for name, on_suite in (suites or {}).items():
            test = _over_prompts("words", spec.guards, rule, on_suite, on_suite.places("all"))
            tests.append(msgspec.structs.replace(test, name=f"words:{name}"))
    return tests


def _over_prompts(
    name: str, margins: GuardSpec, rule: VerdictSpec, evaluations: Evaluations, places: Sequence[int]
) -> GuardTest:
    """Test one guard over prompts; lengths are compared in shares of the reference's mean, all else in points."""
    guard = _Guard(lambda run: run.solved, -1.0) if name == _SOLVED else _GUARDS[name]
    margin = _SOLVED_MARGIN if getattr(margins, name) is msgspec.UNSET else getattr(margins, name)
    seeds = evaluations.common_seeds(rule.treatment, rule.control)
    sides = [
        [_pick(guard.values, evaluations.of(arm, seed), places) for seed in seeds]
        for arm in (rule.treatment, rule.control)
    ]
    if not seeds or not all(row for side in sides for row in side):
        return _test_without_measure(name, rule, margin)
    columns = [i for i in range(len(places)) if all(row[i] is not None for side in sides for row in side)]
    if not columns:
        return _test_without_measure(name, rule, margin)
    queries = queries_of(evaluations, places)
    t_SP, c_SP = (np.asarray([[row[i] for i in columns] for row in side], dtype=np.float64) for side in sides)
    has = float(c_SP.mean())
    if name == "topic_words":
        margin = min(margin, margins.of_its_own * has)
    unit = has or 1.0 if name == "words" else 1.0
    fit = fit_crossed(
        guard.worse * (t_SP - c_SP) / unit, clusters_P=[queries[i] for i in columns], rates=name != "words"
    )
    return _test_guard(name, rule, margin, fit, (float(t_SP.mean()), has))


def tax_tests(spec: StudySpec, evaluations: Evaluations) -> list[GuardTest]:
    """Test what every trained arm lost of plain English: its perplexity against the start model's.

    Empty without a start arm.
    """
    start = spec.start_arm
    if start is None:
        return []
    pairs = [
        msgspec.structs.replace(spec.verdict, treatment=arm.name, control=start) for arm in spec.arms if arm.stages
    ]
    return [_perplexity(pair, spec.guards.perplexity, evaluations) for pair in pairs]


def _pick(
    values: Callable[[Measurement], Sequence[float | None]], run: Measurement | None, places: Sequence[int]
) -> list[float | None]:
    row = values(run) if run is not None else []
    return [row[place] for place in places] if row else []


def _perplexity(rule: VerdictSpec, margin: float, evaluations: Evaluations) -> GuardTest:
    """Test the ratio of perplexities less 1, from differences of log-likelihoods a token, paired by text."""
    seeds = evaluations.common_seeds(rule.treatment, rule.control)
    sides = [
        [run.plain for seed in seeds if (run := evaluations.of(arm, seed)) is not None]
        for arm in (rule.treatment, rule.control)
    ]
    cuts = {tuple(plain.tokens) for side in sides for plain in side if plain is not None}
    if not seeds or any(plain is None for side in sides for plain in side) or len(cuts) > 1:  # of other tokenizers
        return _test_without_measure("perplexity", rule, margin)
    rows = [[[n / t for n, t in zip(p.nats, p.tokens, strict=True)] for p in side if p is not None] for side in sides]
    t_SP, c_SP = (np.asarray(side) for side in rows)
    fit = fit_crossed(t_SP - c_SP, rates=False)
    means = [float(np.exp(np.mean([math.log(p.perplexity) for p in side if p is not None]))) for side in sides]
    return _test_guard("perplexity", rule, margin, fit, (means[0], means[1]), share=math.expm1)


def _test_guard(
    name: str,
    rule: VerdictSpec,
    margin: float,
    fit: Crossed | None,
    means: tuple[float, float],
    *,
    share: Callable[[float], float] = float,
) -> GuardTest:
    if fit is None:
        return _test_without_measure(name, rule, margin)
    half = fit.half_width(rule.confidence)
    low, high = share(fit.value - half), share(fit.value + half)
    outcome = "holds" if high < margin else "violated" if low > margin else "undecided"
    return GuardTest(name, rule.treatment, rule.control, *means, share(fit.value), low, high, margin, outcome)  # type: ignore[arg-type]


def _test_without_measure(name: str, rule: VerdictSpec, margin: float) -> GuardTest:
    return GuardTest(name, rule.treatment, rule.control, None, None, None, None, None, margin, "undecided")
