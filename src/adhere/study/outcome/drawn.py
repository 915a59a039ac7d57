"""Combine the seeds of a study whose seeds draw their own kinds of constraint.

DIR/drawn.json         the combined result
DIR/seeds/N/           the study at one seed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from adhere.schema import convert, decode
from adhere.stats import Incomplete, fit_incomplete
from adhere.store.files import read_regular
from adhere.study.design.spec import ContrastSpec, StudySpec
from adhere.study.design.tuned import Tuning
from adhere.study.outcome.answer import StartsReproduction
from adhere.study.outcome.contrast import Evaluations, pairs_of, queries_of, seed_estimate, with_holm
from adhere.study.outcome.result import (
    Contrast,
    DrawnKind,
    DrawnResult,
    LeftOut,
    LeftOutKind,
    Role,
    SeedEstimate,
    SeedWithKinds,
    StudyResult,
)
from adhere.study.outcome.starts import evaluations_in, pool, reproduce_parts
from adhere.study.outcome.verdict import answer_to, headline_of, rule_words, tell_what_decides

FOLDER, FILE = "seeds", "drawn.json"
VERSION = 1
FEWEST_SEEDS = 3  # without one of two, one seed is all there is


class _Differences(NamedTuple):
    """Holds the outcomes of both arms on the prompts of all seeds, concatenated.

    `queries` counts the different requests behind the prompts; `coverage` is the lowest share that a seed measured.
    """

    seeds_P: list[int]  # noqa: N815 - the dimension
    kinds_P: list[str]  # noqa: N815
    treatment_P: np.ndarray  # noqa: N815
    control_P: np.ndarray  # noqa: N815
    queries: int
    coverage: float

    def fit(self, *, without: int | str | None = None) -> Incomplete | None:
        """Fit the outcomes of all prompts, except those of one seed or of one kind (`without`)."""
        both = zip(self.seeds_P, self.kinds_P, strict=True)
        positions = [place for place, names in enumerate(both) if without not in names]
        d_P = (self.treatment_P - self.control_P)[positions]
        return fit_incomplete(d_P, [self.seeds_P[p] for p in positions], [self.kinds_P[p] for p in positions])


def drawn_result(
    spec: StudySpec, results: Mapping[int, tuple[StudyResult, Path]], *, tuning: Tuning | None
) -> DrawnResult:
    """Combine the seeds of a study that draws kinds.

    Args:
        spec: The whole study, with the settings as written.
        results: By seed, the result of its study and the directory of its records.
        tuning: How the settings were chosen, or None.

    Raises:
        IntegrityError: A directory's records are damaged.
    """
    assert spec.kinds is not msgspec.UNSET  # noqa: S101 - the caller puts together what draws kinds
    rule = spec.verdict
    evaluations = {seed: evaluations_in(result, place) for seed, (result, place) in results.items()}
    own = {seed: on[""] for seed, on in evaluations.items()}
    sides = _differences(rule.primary, own)
    primary = _contrast(rule.primary, sides, spec, role="primary")
    passing = {seed: of_seed.counting(msgspec.UNSET) for seed, of_seed in own.items()}
    left_out, kinds_left_out = _leave_out(sides, rule.confidence)
    answer, because = answer_to(primary, rule.smallest_effect)
    missing = [seed for seed in spec.seeds if seed not in results]
    withheld = [f"seeds {', '.join(map(str, missing))} are not finished"] if missing else []
    withheld += [f"seed {seed}: {why}" for seed, (result, _) in results.items() for why in result.verdict.withheld]
    deciding_seeds = [row.seed for row in left_out if row.low <= 0 <= row.high]
    deciding_kinds = [row.kind for row in kinds_left_out if row.low <= 0 <= row.high]
    fragile = not withheld and answer in {"YES", "NO"} and bool(deciding_seeds or deciding_kinds)
    if withheld:
        answer, because = "INCONCLUSIVE", f"the answer is withheld: {'; '.join(withheld)}"
    elif fragile:
        answer, because = "INCONCLUSIVE", tell_what_decides(because, deciding_seeds, deciding_kinds)
    decides = ""
    if answer == "INCONCLUSIVE" and not withheld and (fit := sides.fit()) is not None:
        detectable = 100 * fit.detectable(rule.confidence)
        decides = f"This design can find a difference of {detectable:.1f} points with 80 % power."
    return DrawnResult(
        version=VERSION,
        name=spec.name,
        spec=msgspec.to_builtins(spec),
        spec_sha256=spec.sha256,
        question=rule.question,
        seeds=[
            SeedWithKinds(seed, place.name, *spec.kinds.at(seed), result.verdict.primary)
            for seed, (result, place) in results.items()
        ],
        missing=missing,
        answer=answer,
        headline=headline_of(answer, "method", primary, fragile=fragile, these_kinds=False),
        rule=rule_words(rule, "method").partition(". Where the interval over kinds")[0],
        because=because,
        decides=decides,
        fragile=fragile,
        primary=primary,
        passing=_contrast(rule.primary, _differences(rule.primary, passing), spec, role="primary"),
        further=_further(spec, own),
        suites={
            name: pool(
                ContrastSpec(rule.treatment, rule.control),
                {str(seed): on[name] for seed, on in evaluations.items()},
                rule,
                role="secondary",
            )
            for name in (spec.suite_names if results else [])
        },
        left_out=left_out,
        kinds_left_out=kinds_left_out,
        kinds=_by_kind(sides),
        withheld=withheld,
        tuning=tuning,
        minutes=sum(result.minutes for result, _ in results.values()) + (tuning.minutes if tuning else 0.0),
    )


def reproduce_drawn(directory: Path) -> StartsReproduction:
    """Compute a committed study that draws kinds again: each seed, and DIR/drawn.json from the records of all.

    Raises:
        UsageError: A seed's result or records are missing.
        IntegrityError: A result or its records are damaged, or of another study.
    """
    earlier = decode(read_regular(directory / FILE), DrawnResult)
    spec, seeds = convert(earlier.spec, StudySpec), {f"seed {row.seed}": row for row in earlier.seeds}
    return reproduce_parts(
        earlier,
        {part: directory / FOLDER / row.folder for part, row in seeds.items()},
        lambda results: drawn_result(
            spec, {seeds[part].seed: both for part, both in results.items()}, tuning=earlier.tuning
        ),
        lambda again: again.headline,
    )


def _differences(contrast_spec: ContrastSpec, own: Mapping[int, Evaluations]) -> _Differences:
    """Return the outcomes of both arms on the prompts that both measured, seed after seed."""
    seeds, kinds, treatment, control, queries, shares = [], [], [], [], set[str](), []
    for seed, evaluations in own.items():
        pairs = pairs_of(contrast_spec, evaluations)
        shares.append(pairs.coverage)
        for row_t, row_c in zip(pairs.treatment_SP, pairs.control_SP, strict=True):
            seeds += [seed] * len(pairs.places)
            kinds += [evaluations.prompts[place].constraints[0].id for place in pairs.places]
            treatment += list(row_t)
            control += list(row_c)
        queries |= {f"{seed} {query}" for query in queries_of(evaluations, pairs.places)}
    return _Differences(
        seeds, kinds, np.array(treatment, float), np.array(control, float), len(queries), min(shares, default=0.0)
    )


def _contrast(contrast_spec: ContrastSpec, sides: _Differences, spec: StudySpec, *, role: Role) -> Contrast:
    fit, confidence = sides.fit(), spec.verdict.confidence
    interval = fit.interval(confidence) if fit else None
    t_P, c_P = sides.treatment_P, sides.control_P
    by_seed = [_estimate(seed, sides) for seed in dict.fromkeys(sides.seeds_P)]
    method = (
        f"t with {fit.df} degrees of freedom over {fit.seeds} seeds and {fit.kinds} kinds, both as clusters"
        if fit
        else ""
    )
    return Contrast(
        name=f"{contrast_spec.treatment} − {contrast_spec.control}",
        role=role,
        treatment=contrast_spec.treatment, control=contrast_spec.control, slice=contrast_spec.slice,
        n_prompts=len(t_P), n_queries=sides.queries, n_seeds=len(by_seed),
        rate_treatment=_mean([estimate.rate_treatment for estimate in by_seed]),
        rate_control=_mean([estimate.rate_control for estimate in by_seed]),
        difference=_mean([estimate.difference for estimate in by_seed]),
        low=interval.low if interval else None, high=interval.high if interval else None, confidence=confidence,
        gained=int((t_P > c_P).sum()), lost=int((t_P < c_P).sum()),
        p_value=fit.p_value if fit else None, p_adjusted=None,
        minimum_detectable=fit.detectable(confidence) if fit else None,
        coverage=sides.coverage,
        by_seed=by_seed,
        method=method,
        reason="" if fit else "it takes two finished seeds",
    )  # fmt: skip


def _estimate(seed: int, sides: _Differences) -> SeedEstimate:
    places = [place for place, place_seed in enumerate(sides.seeds_P) if place_seed == seed]
    return seed_estimate(seed, sides.treatment_P[places], sides.control_P[places])


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _further(spec: StudySpec, own: Mapping[int, Evaluations]) -> list[Contrast]:
    rule = spec.verdict
    slices = [name for name, size in spec.evaluation.sizes.items() if size.single]
    all_specs = [*rule.secondary, *(ContrastSpec(rule.treatment, rule.control, name) for name in slices)]
    further_specs = [pair for pair in dict.fromkeys(all_specs) if pair != rule.primary]
    return with_holm([_contrast(pair, _differences(pair, own), spec, role="secondary") for pair in further_specs])


def _leave_out(sides: _Differences, confidence: float) -> tuple[list[LeftOut], list[LeftOutKind]]:
    """Return the contrast without each seed, and without each kind; empty where too few seeds or kinds are left."""
    by_seed, by_kind = [], []
    seeds = list(dict.fromkeys(sides.seeds_P))
    for seed in seeds if len(seeds) >= FEWEST_SEEDS else ():
        fit = sides.fit(without=seed)
        if fit is not None:
            by_seed.append(LeftOut(seed, fit.value, *fit.interval(confidence)))
    for kind in sorted(set(sides.kinds_P)):
        fit = sides.fit(without=kind)
        if fit is not None:
            by_kind.append(LeftOutKind(kind, fit.prompts, fit.value, *fit.interval(confidence)))
    return by_seed, by_kind


def _by_kind(sides: _Differences) -> list[DrawnKind]:
    kinds = []
    for kind in sorted(set(sides.kinds_P)):
        places = [place for place, place_kind in enumerate(sides.kinds_P) if place_kind == kind]
        t, c = float(sides.treatment_P[places].mean()), float(sides.control_P[places].mean())
        kinds.append(DrawnKind(kind, sorted({sides.seeds_P[p] for p in places}), len(places), t, c, t - c))
    return kinds
