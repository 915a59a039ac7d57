"""Compute paired differences of two arms, by prompt and seed. Array suffixes: `_S` seeds, `_P` prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from adhere.schema import Counts, Prompt
from adhere.stats import Crossed, fit_crossed, holm
from adhere.study.design.spec import ContrastSpec, StudySpec, VerdictSpec, in_slice
from adhere.study.outcome.result import Contrast, InstructionDifference, KindDifference, Role, SeedEstimate
from adhere.study.run.measured import Measurement

RunKey = tuple[str, int | None]  # (arm, seed); the start model has seed None


class Evaluations:
    """Holds every evaluation by arm and seed, and what counts as following. The start model counts at every seed."""

    def __init__(
        self,
        measurements: Mapping[RunKey, Measurement],
        prompts: Sequence[Prompt],
        seeds: Sequence[int],
        *,
        counts: Counts = msgspec.UNSET,
        only: Sequence[int] | None = None,
    ) -> None:
        self.prompts, self.seeds, self.counts = prompts, tuple(seeds), counts
        self._measurements = dict(measurements)
        self._only = None if only is None else frozenset(only)

    def counting(self, counts: Counts) -> Evaluations:
        """Return the same evaluations with another rule of what counts as following."""
        only = None if self._only is None else sorted(self._only)
        return Evaluations(self._measurements, self.prompts, self.seeds, counts=counts, only=only)

    def within(self, places: Sequence[int]) -> Evaluations:
        """Return the same evaluations, restricted to the prompts at `places`."""
        return Evaluations(self._measurements, self.prompts, self.seeds, counts=self.counts, only=places)

    def own(self, arm: str, seed: int | None) -> Measurement | None:
        """Return the evaluation stored for exactly this arm and seed; the untrained arm's is stored under None."""
        return self._measurements.get((arm, seed))

    def of(self, arm: str, seed: int) -> Measurement | None:
        """Return the evaluation of an arm at a seed, or None if it is not finished."""
        return self._measurements.get((arm, seed)) or self._measurements.get((arm, None))

    def common_seeds(self, *arms: str) -> list[int]:
        """Return the seeds at which all of `arms` are evaluated."""
        return [seed for seed in self.seeds if all(self.of(arm, seed) for arm in arms)]

    def places(self, slice_name: str) -> list[int]:
        """Return the indices of a slice's prompts in the suite."""
        return [
            place
            for place, prompt in enumerate(self.prompts)
            if in_slice(prompt.tags.get("slice", ""), slice_name) and (self._only is None or place in self._only)
        ]


def contrasts(spec: StudySpec, evaluations: Evaluations) -> list[Contrast]:
    """Return the primary contrast, then the secondary ones with Holm's adjustment among them."""
    rule = spec.verdict
    primary = contrast(rule.primary, evaluations, rule, role="primary")
    return [
        primary,
        *with_holm([contrast(item, evaluations, rule, role="secondary") for item in rule.secondary]),
    ]


Tested = TypeVar("Tested", Contrast, KindDifference, InstructionDifference)


def with_holm(tests: Sequence[Tested]) -> list[Tested]:
    """Return the tests with Holm's adjustment over all of them in `p_adjusted`; a test without p-value has none."""
    p_adjusted = holm([test.p_value for test in tests])
    return [msgspec.structs.replace(test, p_adjusted=p) for test, p in zip(tests, p_adjusted, strict=True)]


class Pairs(NamedTuple):
    """Holds the outcomes of two arms (trained models) at common seeds; pairs with nothing to measure are masked.

    `treatment_SP` and `control_SP` are (seeds, prompts), `places` the indexes of these prompts. `coverage` is the
    lowest share of prompts that one of the evaluations measured.
    """

    seeds: list[int]
    places: list[int]
    treatment_SP: np.ndarray  # noqa: N815 - the dimensions
    control_SP: np.ndarray  # noqa: N815
    coverage: float


def contrast(contrast_spec: ContrastSpec, evaluations: Evaluations, rule: VerdictSpec, *, role: Role) -> Contrast:
    """Compute one paired contrast. A prompt that any of the compared runs did not measure is left out of all runs."""
    pairs = pairs_of(contrast_spec, evaluations)
    return contrast_of(contrast_spec, pairs, fit_of(pairs, evaluations), rule, role=role)


def contrast_of(
    contrast_spec: ContrastSpec, pairs: Pairs, fit: Crossed | None, rule: VerdictSpec, *, role: Role
) -> Contrast:
    """Describe the contrast of two arms from their paired outcomes."""
    interval = fit.interval(rule.confidence) if fit else None
    t_SP, c_SP = pairs.treatment_SP, pairs.control_SP
    return Contrast(
        name=f"{contrast_spec.treatment} − {contrast_spec.control}",
        role=role,
        treatment=contrast_spec.treatment, control=contrast_spec.control, slice=contrast_spec.slice,
        n_prompts=len(pairs.places), n_queries=fit.queries if fit else 0, n_seeds=len(pairs.seeds),
        rate_treatment=float(t_SP.mean()) if t_SP.size else None,
        rate_control=float(c_SP.mean()) if c_SP.size else None,
        difference=float((t_SP - c_SP).mean()) if t_SP.size else None,
        low=interval.low if interval else None, high=interval.high if interval else None, confidence=rule.confidence,
        gained=int((t_SP > c_SP).sum()), lost=int((t_SP < c_SP).sum()),
        p_value=fit.p_value if fit else None, p_adjusted=None,
        minimum_detectable=fit.detectable(rule.confidence) if fit else None,
        coverage=pairs.coverage,
        by_seed=[
            seed_estimate(seed, t_P, c_P)
            for seed, t_P, c_P in zip(pairs.seeds, t_SP, c_SP, strict=True) if np.ma.count(t_P)
        ],
        method=_method(fit),
        reason="" if fit else _why_not(pairs),
    )  # fmt: skip


def seed_estimate(seed: int, t_P: np.ndarray, c_P: np.ndarray) -> SeedEstimate:
    """Return one seed's part of a contrast, from both arms' outcomes on the prompts of that seed."""
    return SeedEstimate(
        seed, float(t_P.mean()), float(c_P.mean()), float((t_P - c_P).mean()),
        int((t_P > c_P).sum()), int((t_P < c_P).sum()),
    )  # fmt: skip


def pairs_of(contrast_spec: ContrastSpec, evaluations: Evaluations) -> Pairs:
    """Return the outcomes of both arms at their common seeds, as matrices (seeds, prompts).

    A prompt of the slice counts if every run measured it or had nothing to measure (`Measurement.untriggered`). A pair
    in which either run had nothing to measure is masked in both matrices.
    """
    seeds = evaluations.common_seeds(contrast_spec.treatment, contrast_spec.control)
    slice_places = evaluations.places(contrast_spec.slice)
    runs_by_arm = {
        arm: [run for seed in seeds if (run := evaluations.of(arm, seed)) is not None]
        for arm in (contrast_spec.treatment, contrast_spec.control)
    }
    rows = {arm: [run.outcomes(evaluations.counts) for run in runs] for arm, runs in runs_by_arm.items()}
    gaps = {arm: [run.gaps for run in runs] for arm, runs in runs_by_arm.items()}
    pairs = [pair for arm in runs_by_arm for pair in zip(rows[arm], gaps[arm], strict=True)]
    places = [p for p in slice_places if pairs and all(row[p] is not None or gap[p] for row, gap in pairs)]
    asked_of = [(row, [p for p in slice_places if not gap[p]]) for row, gap in pairs]
    shares = [sum(row[p] is not None for p in own) / len(own) for row, own in asked_of if own]
    t_SP, c_SP = (
        np.array([[np.nan if (x := row[p]) is None else x for p in places] for row in rows[arm]], dtype=np.float64)
        .reshape(len(seeds), len(places))
        for arm in (contrast_spec.treatment, contrast_spec.control)
    )  # fmt: skip
    gaps_SP = np.isnan(t_SP) | np.isnan(c_SP)
    if gaps_SP.any():
        is_kept_P = np.asarray(~gaps_SP.all(axis=0))
        places = [p for p, is_kept in zip(places, is_kept_P, strict=True) if is_kept]
        t_SP, c_SP = (np.ma.masked_array(outcomes_SP, gaps_SP)[:, is_kept_P] for outcomes_SP in (t_SP, c_SP))
    return Pairs(seeds, places, t_SP, c_SP, min(shares, default=0.0))


def fit_of(pairs: Pairs, evaluations: Evaluations) -> Crossed | None:
    """Fit the model behind a contrast; None if nothing can be fitted."""
    if not pairs.treatment_SP.size:
        return None
    return fit_crossed(pairs.treatment_SP - pairs.control_SP, clusters_P=queries_of(evaluations, pairs.places))


def queries_of(evaluations: Evaluations, places: Sequence[int]) -> list[str]:
    """Return the query that each prompt was made from: prompts of one query are one cluster."""
    prompts = [evaluations.prompts[place] for place in places]
    return [prompt.tags.get("query", prompt.id) for prompt in prompts]


def _method(fit: Crossed | None) -> str:
    if fit is None:
        return ""
    if fit.seeds == 1:
        return f"t over {fit.queries} queries, one seed"
    return f"t over {fit.seeds} seeds × {fit.queries} queries, crossed random effects"


def _why_not(pairs: Pairs) -> str:
    if not pairs.seeds:
        return "the two arms are not both evaluated at any seed yet"
    if not pairs.places:
        return "no prompt was measured by both arms at every seed"
    return "all prompts share one query, so its spread cannot be known"
