"""Compute pass rates of every arm, at each seed and over seeds, from stored evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from adhere.pipeline.summarize.counts import mean
from adhere.stats import over_seeds
from adhere.store.summary import GuardMeans, Share, Tally
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.contrast import Evaluations, RunKey
from adhere.study.outcome.result import ArmScore
from adhere.study.run.measured import Measurement

_GUARD_MEANS = [name for name in GuardMeans.__struct_fields__ if name != "n"]


def scores_of(
    spec: StudySpec, slices: Sequence[str], runs: Mapping[RunKey, Measurement], evaluations: Evaluations
) -> list[ArmScore]:
    """Score every arm on all prompts and on each slice: pooled over seeds, then seed by seed if there are several.

    Sound answers are counted by prompt, as in contrasts, so that records with older summaries have them too.
    """
    places = {name: own for name in ("all", *slices) if (own := evaluations.places(name))}  # a cut suite lacks some
    scores = []
    for arm in [arm.name for arm in spec.arms]:
        seeds = [seed for name, seed in runs if name == arm]
        if not seeds:
            continue
        for name, own in places.items():
            one_each = [_arm_score(arm, seed, name, runs[arm, seed], own) for seed in seeds]
            over_seeds = (
                _pool_arm(one_each, spec.verdict.confidence)
                if len(one_each) > 1
                else msgspec.structs.replace(one_each[0], seed=None)
            )
            scores += [over_seeds, *(score for score in one_each if score.seed is not None)]
    return scores


def _arm_score(arm: str, seed: int | None, name: str, run: Measurement, places: Sequence[int]) -> ArmScore:
    part = run.summary.overall if name == "all" else run.summary.slices[name]
    return ArmScore(
        arm=arm,
        seed=seed,
        slice=name,
        prompt_strict=part.prompt_strict.share,
        prompt_loose=part.prompt_loose.share,
        instruction_strict=part.instruction_strict.share,
        families=_tallies(part.families),
        kinds=_tallies(part.kinds),
        guard=with_sound(part.guard, run, places),
        accounting={**msgspec.to_builtins(part.accounting)},
    )


def with_sound(guard: GuardMeans, run: Measurement, places: Sequence[int]) -> GuardMeans:
    """Return the guard numbers with the shares of sound, of responding and of form-only answers, counted by prompt."""
    sound, form, responsive = run.sound, run.empty_form, run.responsive
    return msgspec.structs.replace(
        guard,
        sound_share=mean(sound[place] for place in places),
        responsive_share=mean(responsive[place] for place in places),
        form_share=mean(form[place] for place in places) if form else None,
    )


def _tallies(tallies: Mapping[str, Tally]) -> dict[str, Share]:
    return {name: tally.strict.share for name, tally in tallies.items()}


def _pool_arm(scores: Sequence[ArmScore], confidence: float) -> ArmScore:
    """Pool the scores over seeds: counts added, rates and guards averaged, intervals from the spread between seeds."""

    def over(rates: Sequence[Share]) -> Share:
        return pooled_share(rates, confidence)

    first = scores[0]
    return ArmScore(
        arm=first.arm,
        seed=None,
        slice=first.slice,
        prompt_strict=over([score.prompt_strict for score in scores]),
        prompt_loose=over([score.prompt_loose for score in scores]),
        instruction_strict=over([score.instruction_strict for score in scores]),
        families={name: over([score.families[name] for score in scores]) for name in first.families},
        kinds={name: over([score.kinds[name] for score in scores]) for name in first.kinds},
        guard=pooled_guard([score.guard for score in scores]),
        accounting={name: sum(score.accounting[name] for score in scores) for name in first.accounting},
    )


def pooled_share(rates: Sequence[Share], confidence: float) -> Share:
    """Pool one rate over seeds: counts added, rates averaged, the interval from the spread between seeds.

    The interval lies within [0, 1]; its ends are None where seeds cannot tell.
    """
    values = [rate.rate for rate in rates if rate.rate is not None]
    interval = over_seeds(values, confidence).interval
    low, high = (None, None) if interval is None else (max(0.0, interval.low), min(1.0, interval.high))
    return Share(sum(rate.passed for rate in rates), sum(rate.n for rate in rates), mean(values), low, high)


def pooled_guard(guards: Sequence[GuardMeans]) -> GuardMeans:
    """Return the mean over seeds of each guard number."""
    means = {name: mean([getattr(guard, name) for guard in guards]) for name in _GUARD_MEANS}
    return msgspec.structs.replace(guards[0], n=None, **means)
