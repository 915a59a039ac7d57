"""Published suites as outcomes of a study.

Rates of every arm, contrasts with Holm over the suites, and which instructions rise or fall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from adhere.stats import fit_crossed, holm
from adhere.study.design.spec import ContrastSpec, StudySpec
from adhere.study.outcome.contrast import Evaluations, RunKey, contrast
from adhere.study.outcome.result import Contrast, InstructionDifference, SuiteFound, SuiteScore
from adhere.study.outcome.scores import pooled_guard, pooled_share, with_sound
from adhere.study.run.measured import Measurement

Pair = tuple[str, str]  # treatment, control


def suites_found(
    spec: StudySpec, suites: Mapping[str, Evaluations], runs: Mapping[str, Mapping[RunKey, Measurement]]
) -> list[SuiteFound]:
    """What every arm does on each published suite.

    The contrast of the verdict has Holm's adjustment over the suites. The others (treatment against the start, the
    secondary pairs of the verdict, sound answers) have it over all of them together.

    Args:
        spec: The study.
        suites: By name: the prompts, and the evaluations as contrasts take them.
        runs: By name: the same evaluations by arm and seed.
    """
    pairs = _pairs(spec)
    primary = [_contrast(spec, pairs[0], one, primary=True) for one in suites.values()]
    others = [
        [_contrast(spec, pair, one, primary=False) for pair in pairs[1:]] + _sound(spec, one) for one in suites.values()
    ]
    primary = _adjust(primary)
    flat = iter(_adjust([one for of_suite in others for one in of_suite]))
    others = [[next(flat) for _ in of_suite] for of_suite in others]
    return [
        SuiteFound(
            name=name,
            sha256=next((run.suite_sha256 for run in runs.get(name, {}).values()), ""),
            n_prompts=len(one.prompts),
            n_instructions=sum(len(turn.constraints) for prompt in one.prompts for turn in prompt.turns),
            contrasts=[first, *more],
            scores=_scores(spec, runs.get(name, {})),
            instructions=[found for pair in _tables(spec) for found in _instructions(spec, pair, one)],
            floor=next((run.summary.floor for run in runs.get(name, {}).values()), None),
        )
        for (name, one), first, more in zip(suites.items(), primary, others, strict=True)
    ]


def _tables(spec: StudySpec) -> list[Pair]:
    """Treatment against control, and against the start where that is another arm."""
    rule = spec.verdict
    start = next((arm.name for arm in spec.arms if not arm.stages), None)
    against_start = (
        [(rule.treatment, start)] if start is not None and start not in {rule.control, rule.treatment} else []
    )
    return [(rule.treatment, rule.control), *against_start]


def _pairs(spec: StudySpec) -> list[Pair]:
    secondary = [(one.treatment, one.control) for one in spec.verdict.secondary]
    return list(dict.fromkeys([*_tables(spec), *secondary]))


def _contrast(spec: StudySpec, pair: Pair, evaluations: Evaluations, *, primary: bool) -> Contrast:
    return contrast(ContrastSpec(*pair), evaluations, spec.verdict, role="primary" if primary else "secondary")


def _sound(spec: StudySpec, evaluations: Evaluations) -> list[Contrast]:
    """Where the study counts sound answers, what of the suite's own measure is more than the letter."""
    if spec.verdict.counts != "sound":
        return []
    found = (_contrast(spec, pair, evaluations.counting("sound"), primary=False) for pair in _tables(spec))
    return [msgspec.structs.replace(one, slice="sound") for one in found]


def _adjust(found: Sequence[Contrast]) -> list[Contrast]:
    values = holm([one.p_value for one in found])
    return [msgspec.structs.replace(one, p_adjusted=value) for one, value in zip(found, values, strict=True)]


def _scores(spec: StudySpec, runs: Mapping[RunKey, Measurement]) -> list[SuiteScore]:
    found = []
    for arm in spec.arms:
        seeds = [seed for name, seed in runs if name == arm.name]
        each = [_score(arm.name, seed, runs[arm.name, seed]) for seed in seeds]
        if len(each) == 1:
            found.append(msgspec.structs.replace(each[0], seed=None))
        elif each:
            found += [_pool_suite(each, spec.verdict.confidence), *each]
    return found


_RATES = ("prompt_strict", "prompt_loose", "instruction_strict", "instruction_loose")


def _score(arm: str, seed: int | None, found: Measurement) -> SuiteScore:
    of = found.summary.overall
    strict, loose, each_strict, each_loose = (getattr(of, name).share for name in _RATES)
    guard = with_sound(of.guard, found, range(len(found.passes)))
    return SuiteScore(arm, seed, strict, loose, each_strict, each_loose, guard)


def _pool_suite(each: Sequence[SuiteScore], confidence: float) -> SuiteScore:
    strict, loose, each_strict, each_loose = (
        pooled_share([getattr(one, name) for one in each], confidence) for name in _RATES
    )
    guard = pooled_guard([one.guard for one in each])
    return SuiteScore(each[0].arm, None, strict, loose, each_strict, each_loose, guard)


def _instructions(spec: StudySpec, pair: Pair, evaluations: Evaluations) -> list[InstructionDifference]:
    """Every kind of instruction, over the seeds that both arms have.

    Empty where records do not say which constraint was kept.
    """
    seeds = evaluations.common_seeds(*pair)
    sides = [[evaluations.of(arm, seed) for seed in seeds] for arm in pair]
    kept = [[run.kept if run is not None else [] for run in side] for side in sides]
    if not seeds or not all(row for side in kept for row in side):
        return []
    places: dict[str, list[tuple[int, int]]] = {}
    for place, prompt in enumerate(evaluations.prompts):
        ids = [ref.id for turn in prompt.turns for ref in turn.constraints]
        for index, name in enumerate(ids):
            places.setdefault(name, []).append((place, index))
    found = []
    for name in sorted(places):
        known = [at for at in places[name] if all(row[at[0]][at[1]] is not None for side in kept for row in side)]
        if not known:
            continue
        t_SP, c_SP = (np.array([[row[place][index] for place, index in known] for row in side], float) for side in kept)
        fit = fit_crossed(t_SP - c_SP, clusters_P=[place for place, _ in known])
        low, high = fit.interval(spec.verdict.confidence) if fit else (None, None)
        found.append(
            InstructionDifference(
                name,
                *pair,
                len(known),
                float(t_SP.mean()),
                float(c_SP.mean()),
                float((t_SP - c_SP).mean()),
                low,
                high,
                fit.p_value if fit else None,
                None,
            )
        )
    adjusted = holm([one.p_value for one in found])
    return [msgspec.structs.replace(one, p_adjusted=p) for one, p in zip(found, adjusted, strict=True)]
