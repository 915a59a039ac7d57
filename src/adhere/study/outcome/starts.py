"""One study from several start models: the contrast of each, all together, and where it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from adhere.errors import UsageError
from adhere.schema import convert
from adhere.study.design.spec import ContrastSpec, StudySpec
from adhere.study.outcome.asked import load_asked
from adhere.study.outcome.contrast import Evaluations, Pairs, contrast_of, fit_of, pairs_of
from adhere.study.outcome.reproduce import stored_evaluations
from adhere.study.outcome.result import StartFound, StartsResult, StudyResult

VERSION = 1


def starts_result(name: str, found: Mapping[str, tuple[StudyResult, Path]]) -> StartsResult:
    """Put the studies of several starts together.

    Args:
        name: Of the study.
        found: Start -> its result and the directory of its records.

    Raises:
        UsageError: They did not ask the same prompts, or compare other arms.
        IntegrityError: A directory's records are damaged.
    """
    first = next(iter(found.values()))[0]
    if any(one.suite_sha256 != first.suite_sha256 for one, _ in found.values()):
        raise UsageError("The starts were measured on different prompts, so they cannot be put together")
    rule = convert(first.spec, StudySpec).verdict
    pairs = {start: pairs_of(rule.primary, evaluations_in(one, place)) for start, (one, place) in found.items()}
    prompts = evaluations_in(*first_of(found))
    places = sorted(set.intersection(*(set(one.places) for one in pairs.values())))
    same = {start: _at(one, places) for start, one in pairs.items()}
    together = Pairs(
        list(range(sum(len(one.seeds) for one in same.values()))),
        places,
        np.concatenate([one.treatment_SP for one in same.values()]),
        np.concatenate([one.control_SP for one in same.values()]),
        min(one.coverage for one in pairs.values()),
    )
    pooled = contrast_of(rule.primary, together, fit_of(together, prompts), rule, role="primary")
    start, base = next(iter(same.items()))
    between = []
    for other, one in list(same.items())[1:]:
        seeds = [seed for seed in one.seeds if seed in base.seeds]
        here, there = _of(one, seeds), _of(base, seeds)
        paired = Pairs(seeds, places, here, there, min(one.coverage, base.coverage))
        told = contrast_of(
            ContrastSpec(other, start, rule.slice), paired, fit_of(paired, prompts), rule, role="secondary"
        )
        between.append(
            msgspec.structs.replace(told, rate_treatment=None, rate_control=None, gained=0, lost=0, by_seed=[])
        )
    return StartsResult(
        VERSION,
        name,
        rule.question,
        [
            StartFound(start, place.name, one.verdict.answer, one.verdict.headline, one.verdict.primary)
            for start, (one, place) in found.items()
        ],
        msgspec.structs.replace(
            pooled, by_seed=[], method=f"{pooled.method}; a seed is one start at one seed" if pooled.method else ""
        ),
        between,
    )


def evaluations_in(result: StudyResult, directory: Path) -> Evaluations:
    """The evaluations on the study's own prompts that a result was made of."""
    own = load_asked(directory, sha256=result.suite_sha256)[""]
    counts = convert(result.spec, StudySpec).verdict.counts
    return Evaluations(stored_evaluations(directory, result.runs)[""], own.prompts, result.seeds, counts=counts)


def first_of(found: Mapping[str, tuple[StudyResult, Path]]) -> tuple[StudyResult, Path]:
    """Any of them: their prompts are the same."""
    return next(iter(found.values()))


def _at(one: Pairs, places: list[int]) -> Pairs:
    kept = [one.places.index(place) for place in places]
    return one._replace(places=places, treatment_SP=one.treatment_SP[:, kept], control_SP=one.control_SP[:, kept])


def _of(one: Pairs, seeds: list[int]) -> np.ndarray:
    """The differences at some seeds."""
    rows = [one.seeds.index(seed) for seed in seeds]
    return np.asarray((one.treatment_SP - one.control_SP)[rows])
