"""Test on what a study's primary difference depends, and what that does to its answer.

A YES or NO about a method needs more than an interval that excludes 0: it must still exclude 0 without any single seed,
and without the prompts of any single kind of constraint. Where the interval over kinds does not exclude 0, the answer
is limited to the kinds that were measured (docs/design/002-verdict.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np

from adhere.schema import Prompt
from adhere.stats import fit_crossed, fit_kinds, leave_kinds_out, leave_one_out, over_seeds, sign_flip_p
from adhere.study.design.spec import ContrastSpec, StudySpec, VerdictSpec, in_slice
from adhere.study.outcome.contrast import Evaluations, Pairs, contrast, pairs_of, queries_of, with_holm
from adhere.study.outcome.result import (
    Contrast,
    Fragility,
    KindDifference,
    KindsLeftOut,
    LeftOut,
    LeftOutKind,
    LostKind,
    LostWhole,
    OverKinds,
)
from adhere.study.outcome.trained import own_trained_kinds

LOST_BELOW = 0.1  # of the prompts that ask for a kind alone
FEWEST_KINDS = 3  # without one of two kinds the other is all there is


def hangs_on_of(spec: StudySpec, evaluations: Evaluations) -> Fragility | None:
    """Work out on what a study's primary difference depends; None if the two arms were not both measured."""
    arms = [arm.name for arm in spec.arms if not arm.is_start]
    return fragility(spec.verdict, evaluations, arms=arms, trained=own_trained_kinds(spec), with_pairs=True)


def fragility(
    rule: VerdictSpec,
    evaluations: Evaluations,
    *,
    arms: Sequence[str] = (),
    trained: Sequence[str] = (),
    with_pairs: bool = False,
) -> Fragility | None:
    """Work out on what the primary difference depends; None if the two arms were not both measured.

    Args:
        rule: The rule of the verdict.
        evaluations: The evaluations on the study's own prompts.
        arms: The trained arms, for which lost kinds are counted.
        trained: The kinds that training asked for.
        with_pairs: Leave out every two kinds as well, which affects no answer and takes a second.
    """
    pairs = pairs_of(rule.primary, evaluations)
    if not pairs.treatment_SP.size:
        return None
    d_SP = pairs.treatment_SP - pairs.control_SP
    fits = leave_one_out(d_SP, clusters_P=queries_of(evaluations, pairs.places))
    left_out = [
        LeftOut(seed, fit.value, *fit.interval(rule.confidence)) for seed, fit in zip(pairs.seeds, fits, strict=False)
    ]
    return Fragility(
        left_out=left_out,
        sign_flip_p=sign_flip_p(d_SP.mean(axis=1)),
        kinds=_over_kinds(pairs, d_SP, evaluations, rule.confidence),
        slices=_by_slice(rule.primary, evaluations, rule),
        kinds_left_out=_without_kinds(pairs, d_SP, evaluations, rule.confidence, with_pairs=with_pairs),
        lost_whole=_lost_whole(rule, evaluations, arms, trained),
    )


def _without_kinds(
    pairs: Pairs, d_SP: np.ndarray, evaluations: Evaluations, confidence: float, *, with_pairs: bool
) -> KindsLeftOut | None:
    """Fit the difference without the prompts that ask for a kind, for each kind and (`with_pairs`) for each two.

    None with too few kinds.
    """
    asks_P = [
        {ref.id for turn in evaluations.prompts[place].turns for ref in turn.constraints} for place in pairs.places
    ]
    kinds = sorted(set().union(*asks_P))
    if len(kinds) < FEWEST_KINDS:
        return None
    queries = queries_of(evaluations, pairs.places)

    def without(*left_out: str) -> LeftOutKind | None:
        fit = leave_kinds_out(d_SP, asks_P, left_out, clusters_P=queries)
        if fit is None:
            return None
        return LeftOutKind(" + ".join(left_out), fit.prompts, fit.value, *fit.interval(confidence))

    side = 1.0 if d_SP.mean() >= 0 else -1.0

    def margin(left_out: LeftOutKind) -> float:
        """Return how far the interval stays on its side of 0."""
        return left_out.low if side > 0 else -left_out.high

    kinds_left = [left_out for kind in kinds if (left_out := without(kind)) is not None]
    every_two = itertools.combinations(kinds, 2) if with_pairs else ()
    pairs_left = [left_out for two in every_two if (left_out := without(*two)) is not None]
    worst = min(pairs_left, key=margin, default=None)
    return KindsLeftOut(
        kinds_left,
        len(pairs_left),
        sum(left_out.low <= 0 <= left_out.high for left_out in pairs_left),
        worst.kind.split(" + ") if worst else [],
        side * margin(worst) if worst else None,
    )


def _lost_whole(
    rule: VerdictSpec, evaluations: Evaluations, arms: Sequence[str], trained: Sequence[str]
) -> LostWhole | None:
    """Count the cells (seed x trained kind) that an arm hardly follows; None if no prompt asks for such a kind alone.

    The share and the difference without these cells weigh all cells alike, so a kind with many prompts weighs no more.
    """
    places = {
        kind: [place for place in evaluations.places(rule.slice) if _kind_of(evaluations.prompts[place]) == kind]
        for kind in trained
    }
    kinds = [kind for kind in trained if places[kind]]
    seeds = evaluations.common_seeds(rule.treatment, rule.control)
    if not kinds or not seeds:
        return None
    rates = {
        (arm, seed): [_rate(evaluations, arm, seed, places[kind]) for kind in kinds]
        for arm in dict.fromkeys([*arms, rule.treatment, rule.control])
        for seed in evaluations.seeds
        if evaluations.of(arm, seed) is not None
    }
    lost_kinds = [
        LostKind(arm, seed, kind, len(places[kind]), rate)
        for (arm, seed), row in rates.items()
        for kind, rate in zip(kinds, row, strict=True)
        if rate is not None and rate < LOST_BELOW
    ]
    t_SK, c_SK = (
        np.array([rates[arm, seed] for seed in seeds], dtype=np.float64) for arm in (rule.treatment, rule.control)
    )
    return LostWhole(LOST_BELOW, len(seeds) * len(kinds), lost_kinds, *_without_cells(t_SK, c_SK, rule.confidence))


def _rate(evaluations: Evaluations, arm: str, seed: int, places: Sequence[int]) -> float | None:
    run = evaluations.of(arm, seed)
    outcomes = run.outcomes(evaluations.counts) if run is not None else []
    decided_outcomes = [outcome for place in places if (outcome := outcomes[place]) is not None]
    return sum(decided_outcomes) / len(decided_outcomes) if decided_outcomes else None


def _without_cells(
    t_SK: np.ndarray, c_SK: np.ndarray, confidence: float
) -> tuple[float | None, float | None, float | None, float | None]:
    """Look at the difference without the cells that either arm lost.

    Returns:
        The share of the whole difference that lies in lost cells (None: the difference is 0), and the mean difference
        over seeds in the other cells with the ends of its interval (None: too few seeds have any).
    """
    d_SK = t_SK - c_SK
    is_kept_SK = (t_SK >= LOST_BELOW) & (c_SK >= LOST_BELOW)  # False where nothing was measured, too
    total = float(np.nansum(d_SK))
    share = float(np.nansum(d_SK[~is_kept_SK])) / total if total else None
    rest = over_seeds(
        [row[is_kept_K].mean() for row, is_kept_K in zip(d_SK, is_kept_SK, strict=True) if is_kept_K.any()], confidence
    )
    low, high = rest.interval or (None, None)
    return share, rest.mean if rest.n > 1 else None, low, high


def _over_kinds(pairs: Pairs, d_SP: np.ndarray, evaluations: Evaluations, confidence: float) -> OverKinds:
    prompts = [evaluations.prompts[place] for place in pairs.places]
    kinds = [_kind_of(prompt) for prompt in prompts]
    single = [column for column, kind in enumerate(kinds) if kind is not None]
    kind_names = [str(kinds[column]) for column in single]
    by_kind = _by_kind(d_SP, kinds, queries_of(evaluations, pairs.places), confidence)
    fit = fit_kinds(d_SP[:, single], kind_names) if single else None
    if fit is None:
        why = "no prompt asks for a single kind of constraint" if not single else "one kind says nothing about others"
        return OverKinds(len(set(kind_names)), len(single), None, None, None, None, by_kind, why)
    low, high = fit.interval(confidence)
    return OverKinds(fit.queries, len(single), fit.value, low, high, fit.p_value, by_kind)


def _kind_of(prompt: Prompt) -> str | None:
    """Return the kind of constraint that a prompt asks for; None if it asks for several."""
    return prompt.constraints[0].id if len(prompt.constraints) == 1 else None


def _by_kind(
    d_SP: np.ndarray, kinds: Sequence[str | None], queries: Sequence[str], confidence: float
) -> list[KindDifference]:
    differences = []
    for kind in dict.fromkeys(kind for kind in kinds if kind is not None):
        columns = [column for column, column_kind in enumerate(kinds) if column_kind == kind]
        fit = fit_crossed(d_SP[:, columns], clusters_P=[queries[column] for column in columns])
        if fit is not None:
            low, high = fit.interval(confidence)
            differences.append(KindDifference(kind, len(columns), fit.value, low, high, fit.p_value, None))
    return with_holm(differences)


def _by_slice(contrast_spec: ContrastSpec, evaluations: Evaluations, rule: VerdictSpec) -> list[Contrast]:
    """Return the primary contrast on each slice that its own slice contains; empty if those are fewer than two."""
    names = dict.fromkeys(prompt.tags.get("slice", "") for prompt in evaluations.prompts)
    inside = [name for name in names if name and in_slice(name, contrast_spec.slice)]
    if len(inside) < 2:
        return []
    specs = [msgspec.structs.replace(contrast_spec, slice=name) for name in inside]
    return with_holm([contrast(spec, evaluations, rule, role="slice") for spec in specs])
