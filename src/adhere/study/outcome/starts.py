"""Combine a study from several start models: the contrast of each, of all together, and where it holds.

DIR/starts.json        the combined result
DIR/starts/NAME/       the study from one start
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec
import numpy as np

from adhere.errors import UsageError
from adhere.schema import convert, decode, encode
from adhere.store.files import read_regular
from adhere.study.design.spec import ContrastSpec, StudySpec, VerdictSpec
from adhere.study.outcome.answer import StartsReproduction
from adhere.study.outcome.contrast import Evaluations, Pairs, contrast_of, fit_of, pairs_of
from adhere.study.outcome.prompts import load_asked
from adhere.study.outcome.reproduce import RECORDS, RESULT, compare_values, reproduce, stored_evaluations
from adhere.study.outcome.result import AcrossStarts, Contrast, DrawnResult, Role, StartFound, StartsResult, StudyResult
from adhere.study.run.records import unpack

FOLDER, FILE = "starts", "starts.json"
VERSION = 1
MEASURES: Final[dict[str, Literal["sound", "responsive"]]] = {"sound": "sound", "responsive": "responsive"}
"""Measures besides passing that a contrast of a suite may use; the contrast has this name in place of a slice."""


def starts_result(name: str, results: Mapping[str, tuple[StudyResult, Path]]) -> StartsResult:
    """Combine the studies of several starts.

    Args:
        name: Name of the study.
        results: By start, its result and the directory of its records.

    Raises:
        UsageError: The studies did not ask the same prompts.
        IntegrityError: A directory's records are damaged.
    """
    first = next(iter(results.values()))[0]
    if any(result.suite_sha256 != first.suite_sha256 for result, _ in results.values()):
        raise UsageError("The starts were measured on different prompts, so they cannot be put together")
    rule = convert(first.spec, StudySpec).verdict
    evaluations = {start: evaluations_in(result, place) for start, (result, place) in results.items()}
    own = {start: on[""] for start, on in evaluations.items()}
    return StartsResult(
        VERSION,
        name,
        rule.question,
        [
            StartFound(start, place.name, result.verdict.answer, result.verdict.headline, result.verdict.primary)
            for start, (result, place) in results.items()
        ],
        pool(rule.primary, own, rule, role="primary"),
        _between(own, rule),
        _further([result for result, _ in results.values()], evaluations, rule),
    )


def reproduce_starts(directory: Path) -> StartsReproduction:
    """Compute a committed study of several starts again: each start, and DIR/starts.json from the records of all.

    Raises:
        UsageError: A start's result or records are missing.
        IntegrityError: A result or its records are damaged, or of another study.
    """
    earlier = decode(read_regular(directory / FILE), StartsResult)
    places = {row.start: directory / FOLDER / row.folder for row in earlier.starts}
    return reproduce_parts(
        earlier, places, lambda results: starts_result(earlier.name, results), lambda again: again.holds
    )


Together = TypeVar("Together", StartsResult, DrawnResult)


def reproduce_parts(
    earlier: Together,
    places: Mapping[str, Path],
    put_together: Callable[[Mapping[str, tuple[StudyResult, Path]]], Together],
    says: Callable[[Together], str],
) -> StartsReproduction:
    """Compute the parts of a committed study again, and the combined result from the records of all parts.

    Args:
        earlier: The stored combined result.
        places: By part, the directory of its result and records.
        put_together: Combines each part's result and its unpacked records.
        says: Returns the sentence that states a combined result.

    Raises:
        UsageError: A part's result or records are missing.
        IntegrityError: A result or its records are damaged, or of another study.
    """
    reproductions = {part: reproduce(place) for part, place in places.items()}
    with tempfile.TemporaryDirectory() as scratch:
        results = {}
        for part, place in places.items():
            unpack(place / RECORDS, Path(scratch) / place.name)
            results[part] = (decode(read_regular(place / RESULT), StudyResult), Path(scratch) / place.name)
        again = put_together(results)
    # As a file says it: a spec that was just read has tuples where a stored one has lists.
    parts, differences = compare_values(*(msgspec.json.decode(encode(together)) for together in (earlier, again)))
    return StartsReproduction(
        earlier.name, sum(parts.values()) - len(differences), len(differences), differences, says(again), reproductions
    )


def pool(
    contrast_spec: ContrastSpec, evaluations: Mapping[str, Evaluations], rule: VerdictSpec, *, role: Role
) -> Contrast:
    """Compute a contrast over all starts, on the prompts that all of them measured."""
    same = _same_prompts(contrast_spec, evaluations)
    together = Pairs(
        list(range(sum(len(pairs.seeds) for pairs in same.values()))),
        next(iter(same.values())).places,
        np.concatenate([pairs.treatment_SP for pairs in same.values()]),
        np.concatenate([pairs.control_SP for pairs in same.values()]),
        min(pairs.coverage for pairs in same.values()),
    )
    contrast = contrast_of(contrast_spec, together, fit_of(together, next(iter(evaluations.values()))), rule, role=role)
    method = f"{contrast.method}; a seed is one start at one seed" if contrast.method else ""
    return msgspec.structs.replace(contrast, by_seed=[], method=method)


def _between(evaluations: Mapping[str, Evaluations], rule: VerdictSpec) -> list[Contrast]:
    """Compute how much larger the primary difference is from each other start than from the first."""
    (start, base), *others = _same_prompts(rule.primary, evaluations).items()
    prompts, contrasts = evaluations[start], []
    for other, other_pairs in others:
        seeds = [seed for seed in other_pairs.seeds if seed in base.seeds]
        other_SP, base_SP = _of(other_pairs, seeds), _of(base, seeds)
        pairs = Pairs(seeds, base.places, other_SP, base_SP, min(other_pairs.coverage, base.coverage))
        contrast_spec = ContrastSpec(other, start, rule.slice)
        contrast = contrast_of(contrast_spec, pairs, fit_of(pairs, prompts), rule, role="secondary")
        contrasts.append(
            msgspec.structs.replace(contrast, rate_treatment=None, rate_control=None, gained=0, lost=0, by_seed=[])
        )
    return contrasts


def _further(
    results: Sequence[StudyResult], evaluations: Mapping[str, Mapping[str, Evaluations]], rule: VerdictSpec
) -> list[AcrossStarts]:
    """Return the secondary contrasts and those on published suites, which all starts have in the same order."""
    across_starts = []
    of_each = [
        [
            ("", [contrast for contrast in result.contrasts if contrast.role == "secondary"]),
            *((suite.name, suite.contrasts) for suite in result.suites),
        ]
        for result in results
    ]
    for lists in zip(*of_each, strict=True):
        suite = lists[0][0]
        for row in zip(*(contrasts for _, contrasts in lists), strict=True):
            contrast_spec = ContrastSpec(row[0].treatment, row[0].control, row[0].slice)
            on = {start: of[suite] for start, of in evaluations.items()}
            if suite and contrast_spec.slice in MEASURES:  # of a suite's contrasts this names what counts, not a slice
                on = {start: of_start.counting(MEASURES[contrast_spec.slice]) for start, of_start in on.items()}
                contrast_spec = msgspec.structs.replace(contrast_spec, slice="all")
            over_starts = pool(contrast_spec, on, rule, role="secondary")
            across_starts.append(
                AcrossStarts(suite, list(row), msgspec.structs.replace(over_starts, slice=row[0].slice))
            )
    return across_starts


def evaluations_in(result: StudyResult, directory: Path) -> dict[str, Evaluations]:
    """Return the evaluations behind a result: on the study's own prompts under "", and on published suites by name."""
    spec = convert(result.spec, StudySpec)
    measurements = stored_evaluations(directory, result.runs)
    evaluations = {
        name: Evaluations(measurements.get(name, {}), suite.prompts, result.seeds)
        for name, suite in load_asked(directory, sha256=result.suite_sha256, is_ours=not spec.asked).items()
    }
    return evaluations | {"": evaluations[""].counting(spec.verdict.counts)}


def _same_prompts(contrast_spec: ContrastSpec, evaluations: Mapping[str, Evaluations]) -> dict[str, Pairs]:
    """Return the outcomes of both arms from each start, on the prompts that all starts measured."""
    pairs = {start: pairs_of(contrast_spec, of_start) for start, of_start in evaluations.items()}
    places = sorted(set.intersection(*(set(of_start.places) for of_start in pairs.values())))
    return {start: _at(of_start, places) for start, of_start in pairs.items()}


def _at(pairs: Pairs, places: list[int]) -> Pairs:
    columns = [pairs.places.index(place) for place in places]
    return pairs._replace(
        places=places, treatment_SP=pairs.treatment_SP[:, columns], control_SP=pairs.control_SP[:, columns]
    )


def _of(pairs: Pairs, seeds: list[int]) -> np.ndarray:
    """Return the differences at some seeds."""
    rows = [pairs.seeds.index(seed) for seed in seeds]
    return np.asarray((pairs.treatment_SP - pairs.control_SP)[rows])
