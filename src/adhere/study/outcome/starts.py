"""One study from several start models: the contrast of each, all together, and where it holds.

DIR/starts.json        what they say together
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
from adhere.study.outcome.asked import load_asked
from adhere.study.outcome.contrast import Evaluations, Pairs, contrast_of, fit_of, pairs_of
from adhere.study.outcome.reproduce import RECORDS, RESULT, compare_values, reproduce, stored_evaluations
from adhere.study.outcome.result import AcrossStarts, Contrast, DrawnResult, Role, StartFound, StartsResult, StudyResult
from adhere.study.run.records import unpack

FOLDER, FILE = "starts", "starts.json"
VERSION = 1
COUNTED: Final[dict[str, Literal["sound", "responsive"]]] = {"sound": "sound", "responsive": "responsive"}
"""What a suite's contrast may count, which stands where another has its slice."""


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
    measured = {start: evaluations_in(one, place) for start, (one, place) in found.items()}
    own = {start: on[""] for start, on in measured.items()}
    return StartsResult(
        VERSION,
        name,
        rule.question,
        [
            StartFound(start, place.name, one.verdict.answer, one.verdict.headline, one.verdict.primary)
            for start, (one, place) in found.items()
        ],
        pool(rule.primary, own, rule, role="primary"),
        _between(own, rule),
        _further([one for one, _ in found.values()], measured, rule),
    )


def reproduce_starts(directory: Path) -> StartsReproduction:
    """Compute a committed study of several starts again: each of them, and DIR/starts.json from all their records.

    Raises:
        UsageError: A start's result or records are missing.
        IntegrityError: They are damaged, or of another study.
    """
    stored = decode(read_regular(directory / FILE), StartsResult)
    places = {one.start: directory / FOLDER / one.folder for one in stored.starts}
    return reproduce_parts(stored, places, lambda found: starts_result(stored.name, found), lambda again: again.holds)


Together = TypeVar("Together", StartsResult, DrawnResult)


def reproduce_parts(
    stored: Together,
    places: Mapping[str, Path],
    put_together: Callable[[Mapping[str, tuple[StudyResult, Path]]], Together],
    says: Callable[[Together], str],
) -> StartsReproduction:
    """Compute the parts of a committed study again, and from all their records what they say together.

    Args:
        stored: What they said.
        places: Part -> the directory of its result and records.
        put_together: What makes it of each part's result and its unpacked records.
        says: The sentence that is told of it.

    Raises:
        UsageError: A part's result or records are missing.
        IntegrityError: They are damaged, or of another study.
    """
    each = {part: reproduce(place) for part, place in places.items()}
    with tempfile.TemporaryDirectory() as scratch:
        found = {}
        for part, place in places.items():
            unpack(place / RECORDS, Path(scratch) / place.name)
            found[part] = (decode(read_regular(place / RESULT), StudyResult), Path(scratch) / place.name)
        again = put_together(found)
    # As a file says it: a spec that was just read has tuples where a stored one has lists.
    parts, differences = compare_values(*(msgspec.json.decode(encode(one)) for one in (stored, again)))
    return StartsReproduction(
        stored.name, sum(parts.values()) - len(differences), len(differences), differences, says(again), each
    )


def pool(asked: ContrastSpec, measured: Mapping[str, Evaluations], rule: VerdictSpec, *, role: Role) -> Contrast:
    """A contrast over all starts, on the prompts that all of them measured."""
    same = _same_prompts(asked, measured)
    together = Pairs(
        list(range(sum(len(one.seeds) for one in same.values()))),
        next(iter(same.values())).places,
        np.concatenate([one.treatment_SP for one in same.values()]),
        np.concatenate([one.control_SP for one in same.values()]),
        min(one.coverage for one in same.values()),
    )
    told = contrast_of(asked, together, fit_of(together, next(iter(measured.values()))), rule, role=role)
    method = f"{told.method}; a seed is one start at one seed" if told.method else ""
    return msgspec.structs.replace(told, by_seed=[], method=method)


def _between(measured: Mapping[str, Evaluations], rule: VerdictSpec) -> list[Contrast]:
    """How much more the primary difference is from each start than from the first."""
    (start, base), *others = _same_prompts(rule.primary, measured).items()
    prompts, found = measured[start], []
    for other, one in others:
        seeds = [seed for seed in one.seeds if seed in base.seeds]
        here, there = _of(one, seeds), _of(base, seeds)
        paired = Pairs(seeds, base.places, here, there, min(one.coverage, base.coverage))
        asked = ContrastSpec(other, start, rule.slice)
        told = contrast_of(asked, paired, fit_of(paired, prompts), rule, role="secondary")
        found.append(
            msgspec.structs.replace(told, rate_treatment=None, rate_control=None, gained=0, lost=0, by_seed=[])
        )
    return found


def _further(
    results: Sequence[StudyResult], measured: Mapping[str, Mapping[str, Evaluations]], rule: VerdictSpec
) -> list[AcrossStarts]:
    """The secondary contrasts and those on published suites, which all starts have in the same order."""
    found = []
    of_each = [
        [
            ("", [contrast for contrast in one.contrasts if contrast.role == "secondary"]),
            *((suite.name, suite.contrasts) for suite in one.suites),
        ]
        for one in results
    ]
    for lists in zip(*of_each, strict=True):
        suite = lists[0][0]
        for each in zip(*(contrasts for _, contrasts in lists), strict=True):
            asked = ContrastSpec(each[0].treatment, each[0].control, each[0].slice)
            on = {start: of[suite] for start, of in measured.items()}
            if suite and asked.slice in COUNTED:  # of a suite's contrasts this names what counts, not a slice
                on = {start: one.counting(COUNTED[asked.slice]) for start, one in on.items()}
                asked = msgspec.structs.replace(asked, slice="all")
            pooled = pool(asked, on, rule, role="secondary")
            found.append(AcrossStarts(suite, list(each), msgspec.structs.replace(pooled, slice=each[0].slice)))
    return found


def evaluations_in(result: StudyResult, directory: Path) -> dict[str, Evaluations]:
    """The evaluations that a result was made of: on the study's own prompts under "", and on published suites."""
    spec = convert(result.spec, StudySpec)
    stored = stored_evaluations(directory, result.runs)
    found = {
        name: Evaluations(stored.get(name, {}), suite.prompts, result.seeds)
        for name, suite in load_asked(directory, sha256=result.suite_sha256, is_ours=not spec.asked).items()
    }
    return found | {"": found[""].counting(spec.verdict.counts)}


def _same_prompts(asked: ContrastSpec, measured: Mapping[str, Evaluations]) -> dict[str, Pairs]:
    """Both arms of a contrast from each start, on the prompts that all of them measured."""
    pairs = {start: pairs_of(asked, one) for start, one in measured.items()}
    places = sorted(set.intersection(*(set(one.places) for one in pairs.values())))
    return {start: _at(one, places) for start, one in pairs.items()}


def _at(one: Pairs, places: list[int]) -> Pairs:
    kept = [one.places.index(place) for place in places]
    return one._replace(places=places, treatment_SP=one.treatment_SP[:, kept], control_SP=one.control_SP[:, kept])


def _of(one: Pairs, seeds: list[int]) -> np.ndarray:
    """The differences at some seeds."""
    rows = [one.seeds.index(seed) for seed in seeds]
    return np.asarray((one.treatment_SP - one.control_SP)[rows])
