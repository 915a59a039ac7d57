"""Tests that the treatment is not worse than a reference beside the pass rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from adhere.stats import Crossed, fit_crossed
from adhere.study.design.spec import StudySpec, VerdictSpec
from adhere.study.outcome.contrast import Evaluations, queries_of
from adhere.study.outcome.result import GuardTest
from adhere.study.run.measured import Measured


def guard_tests(spec: StudySpec, evaluations: Evaluations) -> list[GuardTest]:
    """Whether the treatment of the primary contrast is not worse than its control beside the pass rate."""
    rule, margins = spec.verdict, spec.guards
    seeds = evaluations.common_seeds(rule.treatment, rule.control)
    places = evaluations.places(rule.slice)
    queries = queries_of(evaluations, places)

    def over_prompts(name: str, values: Callable[[Measured], Sequence[float | None]], *, sign: float) -> GuardTest:
        """`sign` 1: more is worse. Length is measured in shares of the control's mean."""
        margin = getattr(margins, name)
        sides = [
            [_pick(values, evaluations.of(arm, seed), places) for seed in seeds]
            for arm in (rule.treatment, rule.control)
        ]
        kept = [i for i in range(len(places)) if all(row[i] is not None for side in sides for row in side)]
        if not seeds or not kept:
            return _unmeasured(name, rule, margin)
        t_SP, c_SP = (np.asarray([[row[i] for i in kept] for row in side], dtype=np.float64) for side in sides)
        unit = float(c_SP.mean()) if name == "words" else 1.0
        fit = fit_crossed(
            sign * (t_SP - c_SP) / (unit or 1.0), clusters_P=[queries[i] for i in kept], rates=name != "words"
        )
        return _tested(name, rule, margin, fit, (float(t_SP.mean()), float(c_SP.mean())))

    return [
        over_prompts("words", lambda found: found.words, sign=-1.0),
        over_prompts("topic_words", lambda found: found.topic_words, sign=-1.0),
        over_prompts("repetition", lambda found: found.repetitive, sign=1.0),
        _perplexity(rule, margins.perplexity, evaluations),
    ]


def tax_tests(spec: StudySpec, evaluations: Evaluations) -> list[GuardTest]:
    """What every trained arm forgot of plain English: its perplexity against the start model's. Empty without such an arm."""
    start = next((arm.name for arm in spec.arms if not arm.stages), None)
    if start is None:
        return []
    pairs = [
        msgspec.structs.replace(spec.verdict, treatment=arm.name, control=start) for arm in spec.arms if arm.stages
    ]
    return [_perplexity(pair, spec.guards.perplexity, evaluations) for pair in pairs]


def _pick(
    values: Callable[[Measured], Sequence[float | None]], found: Measured | None, places: Sequence[int]
) -> list[float | None]:
    row = values(found) if found is not None else []
    return [row[place] for place in places] if row else []


def _perplexity(rule: VerdictSpec, margin: float, evaluations: Evaluations) -> GuardTest:
    """The ratio of perplexities, less 1, from the difference of log-likelihoods a token, paired by text."""
    seeds = evaluations.common_seeds(rule.treatment, rule.control)
    sides = [
        [found.plain for seed in seeds if (found := evaluations.of(arm, seed)) is not None]
        for arm in (rule.treatment, rule.control)
    ]
    if not seeds or any(plain is None for side in sides for plain in side):
        return _unmeasured("perplexity", rule, margin)
    rows = [[[n / t for n, t in zip(p.nats, p.tokens, strict=True)] for p in side if p is not None] for side in sides]
    t_SP, c_SP = (np.asarray(side) for side in rows)
    fit = fit_crossed(t_SP - c_SP, rates=False)
    means = [float(np.exp(np.mean([math.log(p.perplexity) for p in side if p is not None]))) for side in sides]
    return _tested("perplexity", rule, margin, fit, (means[0], means[1]), share=math.expm1)


def _tested(
    name: str, rule: VerdictSpec, margin: float, fit: Crossed | None, means: tuple[float, float],
    *, share: Callable[[float], float] = float,
) -> GuardTest:  # fmt: skip
    if fit is None:
        return _unmeasured(name, rule, margin)
    half = fit.half_width(rule.confidence)
    low, high = share(fit.value - half), share(fit.value + half)
    outcome = "holds" if high < margin else "violated" if low > margin else "undecided"
    return GuardTest(name, rule.treatment, rule.control, *means, share(fit.value), low, high, margin, outcome)  # type: ignore[arg-type]


def _unmeasured(name: str, rule: VerdictSpec, margin: float) -> GuardTest:
    return GuardTest(name, rule.treatment, rule.control, None, None, None, None, None, margin, "undecided")
