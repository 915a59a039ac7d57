"""What a study's primary difference hangs on, and what that does to its answer.

A YES or NO about a method needs more than an interval that excludes 0: it must still exclude 0 without any single seed.
Where the interval over kinds of constraint does not exclude 0, the answer is limited to the kinds that were measured
(docs/design/002-verdict.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from adhere.schema import Prompt
from adhere.stats import fit_crossed, fit_kinds, holm, leave_one_out, sign_flip_p
from adhere.study.design.spec import ContrastSpec, VerdictSpec, in_slice
from adhere.study.outcome.contrast import Evaluations, Pairs, contrast, pairs_of, queries_of
from adhere.study.outcome.result import Contrast, Fragility, KindDifference, LeftOut, OverKinds


def fragility(rule: VerdictSpec, evaluations: Evaluations) -> Fragility | None:
    """What the primary difference hangs on; None where the two arms were not both measured."""
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
    )


def _over_kinds(pairs: Pairs, d_SP: np.ndarray, evaluations: Evaluations, confidence: float) -> OverKinds:
    prompts = [evaluations.prompts[place] for place in pairs.places]
    kinds = [_kind_of(prompt) for prompt in prompts]
    single = [column for column, kind in enumerate(kinds) if kind is not None]
    named = [str(kinds[column]) for column in single]
    each = _by_kind(d_SP, kinds, queries_of(evaluations, pairs.places), confidence)
    fit = fit_kinds(d_SP[:, single], named) if single else None
    if fit is None:
        why = "no prompt asks for a single kind of constraint" if not single else "one kind says nothing about others"
        return OverKinds(len(set(named)), len(single), None, None, None, None, each, why)
    low, high = fit.interval(confidence)
    return OverKinds(fit.queries, len(single), fit.value, low, high, fit.p_value, each)


def _kind_of(prompt: Prompt) -> str | None:
    """The kind of constraint that a prompt asks for; None where it asks for several."""
    return prompt.constraints[0].id if len(prompt.constraints) == 1 else None


def _by_kind(
    d_SP: np.ndarray,
    kinds: Sequence[str | None],
    queries: Sequence[str],
    confidence: float,
) -> list[KindDifference]:
    found = []
    for kind in dict.fromkeys(kind for kind in kinds if kind is not None):
        columns = [column for column, one in enumerate(kinds) if one == kind]
        fit = fit_crossed(d_SP[:, columns], clusters_P=[queries[column] for column in columns])
        if fit is not None:
            low, high = fit.interval(confidence)
            found.append(KindDifference(kind, len(columns), fit.value, low, high, fit.p_value, None))
    adjusted = holm([one.p_value for one in found])
    return [msgspec.structs.replace(one, p_adjusted=p) for one, p in zip(found, adjusted, strict=True)]


def _by_slice(asked: ContrastSpec, evaluations: Evaluations, rule: VerdictSpec) -> list[Contrast]:
    """The primary contrast on each slice inside its own; empty where that is one slice already."""
    names = dict.fromkeys(prompt.tags.get("slice", "") for prompt in evaluations.prompts)
    inside = [name for name in names if name and in_slice(name, asked.slice)]
    if len(inside) < 2:
        return []
    found = [contrast(msgspec.structs.replace(asked, slice=name), evaluations, rule, role="slice") for name in inside]
    adjusted = holm([one.p_value for one in found])
    return [msgspec.structs.replace(one, p_adjusted=p) for one, p in zip(found, adjusted, strict=True)]
