"""Evaluate published suites as outcomes of a study.

These are rates of every arm, contrasts with Holm over the suites, and the instructions that rise or fall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from adhere.stats import Crossed, fit_crossed
from adhere.study.design.spec import ContrastSpec, StudySpec
from adhere.study.outcome.contrast import Evaluations, RunKey, contrast, with_holm
from adhere.study.outcome.result import (
    Contrast,
    Forgotten,
    InstructionDifference,
    PartRate,
    SuiteFound,
    SuitePart,
    SuiteScore,
)
from adhere.study.outcome.scores import pooled_guard, pooled_share, with_sound
from adhere.study.outcome.trained import PARTS, Part, part_of, trained_kinds
from adhere.study.run.measured import Measurement

Pair = tuple[str, str]  # treatment, control
KEPT_FROM = 0.1  # a kind that the start keeps less often than this cannot be forgotten
SURE = 0.05  # Holm's p from which a fall is more than chance


def suites_found(
    spec: StudySpec, suites: Mapping[str, Evaluations], runs: Mapping[str, Mapping[RunKey, Measurement]]
) -> list[SuiteFound]:
    """Return the rates and contrasts of every arm on each published suite.

    The contrast of the verdict has Holm's adjustment over the suites. The others (treatment against the start, the
    secondary pairs of the verdict, sound answers) have it over all these together.

    Args:
        spec: The study.
        suites: By name, the prompts and the evaluations as contrasts take them.
        runs: By name, the same evaluations by arm and seed.
    """
    secondary = [(contrast_spec.treatment, contrast_spec.control) for contrast_spec in spec.verdict.secondary]
    pairs = list(dict.fromkeys([*_tables(spec), *secondary]))
    primary = [_contrast(spec, pairs[0], evaluations, primary=True) for evaluations in suites.values()]
    others = [
        [_contrast(spec, pair, evaluations, primary=False) for pair in pairs[1:]] + _sound(spec, evaluations)
        for evaluations in suites.values()
    ]
    primary = with_holm(primary)
    flat = iter(with_holm([test for of_suite in others for test in of_suite]))
    others = [[next(flat) for _ in of_suite] for of_suite in others]
    return [
        SuiteFound(
            name=name,
            sha256=next((run.suite_sha256 for run in runs.get(name, {}).values()), ""),
            n_prompts=len(evaluations.prompts),
            n_instructions=sum(len(turn.constraints) for prompt in evaluations.prompts for turn in prompt.turns),
            contrasts=[first, *more],
            scores=_scores(spec, runs.get(name, {})),
            instructions=[
                difference for pair in _tables(spec) for difference in _instructions(spec, pair, evaluations)
            ],
            floor=next((run.summary.floor for run in runs.get(name, {}).values()), None),
            parts=_parts(spec, evaluations),
        )
        for (name, evaluations), first, more in zip(suites.items(), primary, others, strict=True)
    ]


def _tables(spec: StudySpec) -> list[Pair]:
    """Return the pairs to compare: the treatment against each of `spec.references`."""
    return [(spec.verdict.treatment, reference) for reference in spec.references]


def _contrast(spec: StudySpec, pair: Pair, evaluations: Evaluations, *, primary: bool) -> Contrast:
    return contrast(ContrastSpec(*pair), evaluations, spec.verdict, role="primary" if primary else "secondary")


def _sound(spec: StudySpec, evaluations: Evaluations) -> list[Contrast]:
    """Return the contrasts that count sound or responding answers, if the study counts these."""
    counts = spec.verdict.counts
    if counts not in {"sound", "responsive"}:
        return []
    contrasts = (_contrast(spec, pair, evaluations.counting(counts), primary=False) for pair in _tables(spec))
    return [msgspec.structs.replace(test, slice=str(counts)) for test in contrasts]


def _parts(spec: StudySpec, evaluations: Evaluations) -> list[SuitePart]:
    """Divide the suite by what training asked for; return every arm's rates, and contrasts against control and start.

    Empty if others trained, for what their training asked for is unknown.
    """
    if not spec.trains:
        return []
    trained = trained_kinds(spec)
    part_P = [part_of(prompt, trained) for prompt in evaluations.prompts]
    parts = []
    for part in PARTS:
        if part not in part_P:
            continue
        inside = evaluations.within([place for place, place_part in enumerate(part_P) if place_part == part])
        tests = [_of_part(spec, pair, inside, part) for pair in _tables(spec)]
        sound = [_of_part(spec, pair, inside.counting("sound"), part) for pair in _tables(spec)]
        rates = [_part_rate(arm.name, inside) for arm in spec.arms]
        parts.append(SuitePart(part, part_P.count(part), rates, [*tests, *(test for test in sound if test.n_prompts)]))
    return parts


def _of_part(spec: StudySpec, pair: Pair, inside: Evaluations, part: Part) -> Contrast:
    name = f"{part}, sound" if inside.counts == "sound" else part
    return msgspec.structs.replace(_contrast(spec, pair, inside, primary=False), slice=name)


def _part_rate(arm: str, inside: Evaluations) -> PartRate:
    runs = [run for seed in inside.seeds if (run := inside.own(arm, seed)) is not None]
    start_run = inside.own(arm, None)
    runs = runs or ([start_run] if start_run is not None else [])
    places = inside.places("all")

    def mean(rows: Sequence[Sequence[float | None]]) -> float | None:
        values_by_run = [[float(value) for place in places if (value := row[place]) is not None] for row in rows]
        return float(np.mean([np.mean(row) for row in values_by_run if row])) if any(values_by_run) else None

    passes, sound = (mean([run.outcomes(counts) for run in runs]) for counts in ("passing", "sound"))
    return PartRate(arm, len(runs), passes, sound)


def forgotten(spec: StudySpec, own: Evaluations, suites: Mapping[str, Evaluations]) -> list[Forgotten]:
    """Tell for each trained arm what it lost of the kinds that the start kept, on own prompts and published suites.

    Empty without an untrained arm. The start's rates both choose the kinds and are compared with, so part of a fall is
    their noise.
    """
    start = spec.start_arm
    if start is None:
        return []
    arms = [arm.name for arm in spec.arms if arm.stages]
    losses = []
    for name, evaluations in {"": own, **suites}.items():
        for arm in arms:
            kinds = _instructions(spec, (arm, start), evaluations)
            if kinds:
                losses.append(_forgotten(spec, (arm, start), name, kinds, evaluations))
    return losses


def _forgotten(
    spec: StudySpec, pair: Pair, suite: str, kinds: Sequence[InstructionDifference], evaluations: Evaluations
) -> Forgotten:
    kept_kinds = with_holm([kind for kind in kinds if kind.rate_control >= KEPT_FROM])
    lost_kinds = [
        kind for kind in kept_kinds if kind.difference < 0 and kind.p_adjusted is not None and kind.p_adjusted < SURE
    ]
    fit = _over_instructions(pair, {kind.id for kind in kept_kinds}, evaluations) if kept_kinds else None
    low, high = fit.interval(spec.verdict.confidence) if fit else (None, None)
    return Forgotten(pair[0], suite, len(kinds), len(kept_kinds), fit.value if fit else None, low, high, lost_kinds)


def _scores(spec: StudySpec, runs: Mapping[RunKey, Measurement]) -> list[SuiteScore]:
    scores = []
    for arm in spec.arms:
        seeds = [seed for name, seed in runs if name == arm.name]
        seed_scores = [_score(arm.name, seed, runs[arm.name, seed]) for seed in seeds]
        if len(seed_scores) == 1:
            scores.append(msgspec.structs.replace(seed_scores[0], seed=None))
        elif seed_scores:
            scores += [_pool_suite(seed_scores, spec.verdict.confidence), *seed_scores]
    return scores


_RATES = ("prompt_strict", "prompt_loose", "instruction_strict", "instruction_loose")


def _score(arm: str, seed: int | None, run: Measurement) -> SuiteScore:
    of = run.summary.overall
    strict, loose, each_strict, each_loose = (getattr(of, name).share for name in _RATES)
    guard = with_sound(of.guard, run, range(len(run.passes)))
    return SuiteScore(arm, seed, strict, loose, each_strict, each_loose, guard)


def _pool_suite(seed_scores: Sequence[SuiteScore], confidence: float) -> SuiteScore:
    strict, loose, each_strict, each_loose = (
        pooled_share([getattr(score, name) for score in seed_scores], confidence) for name in _RATES
    )
    guard = pooled_guard([score.guard for score in seed_scores])
    return SuiteScore(seed_scores[0].arm, None, strict, loose, each_strict, each_loose, guard)


def _instructions(spec: StudySpec, pair: Pair, evaluations: Evaluations) -> list[InstructionDifference]:
    """Compare every kind of instruction over the seeds that both arms have.

    Empty if the records do not say which constraint was kept.
    """
    sides = _kept_SR(pair, evaluations)
    if sides is None:
        return []
    places: dict[str, list[tuple[int, int]]] = {}
    for place, index, name in _instruction_places(evaluations):
        places.setdefault(name, []).append((place, index))
    differences = []
    for name in sorted(places):
        measured_places = _places_with_measurement(sides, places[name])
        if not measured_places:
            continue
        t_SP, c_SP = (_matrix(side, measured_places) for side in sides)
        fit = fit_crossed(t_SP - c_SP, clusters_P=[place for place, _ in measured_places])
        low, high = fit.interval(spec.verdict.confidence) if fit else (None, None)
        differences.append(
            InstructionDifference(
                name,
                *pair,
                len(measured_places),
                float(t_SP.mean()),
                float(c_SP.mean()),
                float((t_SP - c_SP).mean()),
                low,
                high,
                fit.p_value if fit else None,
                None,
            )
        )
    return with_holm(differences)


Kept = list[list[list[bool | None]]]  # by seed, prompt and constraint


def _kept_SR(pair: Pair, evaluations: Evaluations) -> tuple[Kept, Kept] | None:  # noqa: N802 - the dimensions
    """Return which constraints each arm kept, by common seed; None if the records do not say."""
    seeds = evaluations.common_seeds(*pair)
    sides = [[evaluations.of(arm, seed) for seed in seeds] for arm in pair]
    kept_by_side = [[run.kept if run is not None else [] for run in side] for side in sides]
    return (kept_by_side[0], kept_by_side[1]) if seeds and all(row for side in kept_by_side for row in side) else None


def _instruction_places(evaluations: Evaluations) -> list[tuple[int, int, str]]:
    """List every instruction as (place of the prompt, place in the prompt, kind)."""
    return [
        (place, index, ref.id)
        for place, prompt in enumerate(evaluations.prompts)
        for index, ref in enumerate(ref for turn in prompt.turns for ref in turn.constraints)
    ]


def _places_with_measurement(sides: tuple[Kept, Kept], places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [at for at in places if all(row[at[0]][at[1]] is not None for side in sides for row in side)]


def _matrix(side: Kept, places: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array([[row[place][index] for place, index in places] for row in side], float)


def _over_instructions(pair: Pair, kinds: set[str], evaluations: Evaluations) -> Crossed | None:
    """Fit the difference of two arms over all instructions of some kinds, clustered by prompt."""
    sides = _kept_SR(pair, evaluations)
    if sides is None:
        return None
    measured_places = _places_with_measurement(
        sides, [(place, index) for place, index, name in _instruction_places(evaluations) if name in kinds]
    )
    d_SP = _matrix(sides[0], measured_places) - _matrix(sides[1], measured_places)
    return fit_crossed(d_SP, clusters_P=[place for place, _ in measured_places]) if measured_places else None
