"""Compute a committed study again from its packed records alone: no model, no torch.

reproduce(DIR)   DIR/result.json against what DIR/records.tar.xz gives: pass rates, contrasts, guards, and on what the
                 answer depends

Every number of these parts of `result.json` is compared. A study that was finished under an older rule is compared by
that rule, and the answer of the present rule is reported too. Training logs, costs and the data's yields are records
themselves, and are not computed again.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.schema import Json, convert, decode
from adhere.store.files import read_regular
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.answer import ArmRates, Disagreement, Effect, Range, Reproduction, found_of, kinds_of_answer
from adhere.study.outcome.contrast import Evaluations, RunKey, contrast, contrasts
from adhere.study.outcome.fragile import hangs_on_of
from adhere.study.outcome.growth import growth
from adhere.study.outcome.guards import guard_tests, tax_tests
from adhere.study.outcome.prompts import load_asked
from adhere.study.outcome.result import Fragility, GuardTest, StudyResult, StudyVerdict
from adhere.study.outcome.scores import scores_of
from adhere.study.outcome.suites import forgotten, suites_found
from adhere.study.outcome.verdict import verdict
from adhere.study.run.measured import Measurement
from adhere.study.run.records import unpack

RESULT, RECORDS = "result.json", "records.tar.xz"
FRAGILITY_SINCE = 3  # version of the result from which the rule asks what an answer hangs on
KINDS_SINCE = 4  # … and whether a single kind of constraint decides it
TOLERANCE = 1e-9  # relative and absolute: another processor's last bits


class _Recomputation(NamedTuple):
    parts: dict[str, Json]  # as in result.json
    verdict: StudyVerdict  # by today's rule
    hangs_on: Fragility | None
    arms: dict[str, ArmRates]
    sound: Effect | None  # the answer's contrast, were it of sound answers


def reproduce(directory: Path) -> Reproduction:
    """Compute the study in `directory` again and compare.

    Raises:
        UsageError: `result.json` or the packed records are missing.
        IntegrityError: A file is damaged, or the records are of another study.
    """
    data, recomputation = _read(directory)
    result, stored_json = decode(data, StudyResult), msgspec.json.decode(data)
    # The rest of a verdict are sentences, whose wording may change.
    stored_json["verdict"] = {name: stored_json["verdict"][name] for name in ("answer", "primary")}
    parts, differences = compare_values(
        {name: stored_json[name] for name in recomputation.parts if name in stored_json}, recomputation.parts
    )
    primary, on = recomputation.verdict.primary, recomputation.hangs_on
    without = on.difference_range if on else None
    return Reproduction(
        study=result.name,
        agree=sum(parts.values()) - len(differences),
        differ=len(differences),
        parts=parts,
        differences=differences,
        answer_stored=result.verdict.answer,
        answer=recomputation.verdict.answer,
        fragile=recomputation.verdict.fragile,
        headline=recomputation.verdict.headline,
        because=recomputation.verdict.because,
        decides=recomputation.verdict.decides,
        difference=primary.difference,
        low=primary.low,
        high=primary.high,
        leave_one_out=Range(*without) if without else None,
        without_seed={str(row.seed): Effect(row.difference, row.low, row.high, None) for row in on.left_out}
        if on
        else {},
        sign_flip_p=on.sign_flip_p if on else None,
        kinds=kinds_of_answer(on),
        slices={test.slice: found_of(test) for test in on.slices} if on else {},
        arms=recomputation.arms,
        sound=recomputation.sound,
    )


def compare_values(stored_json: Json, new_json: Json) -> tuple[dict[str, int], list[Disagreement]]:
    """Compare stored values with new ones: return how many of each part were compared, and those that differ."""
    parts, differences = Counter[str](), []
    for path, stored_value, new_value in _leaves("", stored_json, new_json):
        parts[re.split(r"[.\[]", path)[0]] += 1
        if not _is_same(stored_value, new_value):
            differences.append(Disagreement(path, stored_value, new_value))
    return dict(parts), differences


def result_again(directory: Path) -> dict[str, Json]:
    """Return the parts of DIR/result.json that follow from its records, by the present code and rule.

    Raises:
        UsageError, IntegrityError: See `reproduce`.
    """
    _, recomputation = _read(directory)
    return {**recomputation.parts, "verdict": msgspec.to_builtins(recomputation.verdict)}


def _read(directory: Path) -> tuple[bytes, _Recomputation]:
    """Return a committed study's result as it is stored, and what its records give."""
    for name in (RESULT, RECORDS):
        if not (directory / name).is_file():
            raise UsageError(
                f"{directory} holds no {name}: give the folder of a committed study, e.g. docs/studies/study"
            )
    data = read_regular(directory / RESULT)
    with tempfile.TemporaryDirectory() as place:
        unpack(directory / RECORDS, Path(place))
        return data, _recompute(decode(data, StudyResult), Path(place))


def _recompute(result: StudyResult, records: Path) -> _Recomputation:
    spec = msgspec.structs.replace(convert(result.spec, StudySpec), seeds=result.seeds)
    suites = load_asked(records, sha256=result.suite_sha256, is_ours=not spec.asked)
    runs = stored_evaluations(records, result.runs)
    own = suites[""]
    evaluations = Evaluations(runs[""], own.prompts, spec.seeds, counts=spec.verdict.counts)
    missing = [name for name in runs if name not in suites]
    if missing:
        raise IntegrityError(
            f"{RECORDS} holds no suites/{missing[0]}.json. Pack them again: adhere study SPEC --records FILE"
        )
    on_suites = {
        suite.name: Evaluations(runs.get(suite.name, {}), suites[suite.name].prompts, spec.seeds)
        for suite in result.suites
    }
    every_contrast = contrasts(spec, evaluations)
    on = hangs_on_of(spec, evaluations)
    shared = sum(run.seconds for by_arm in runs.values() for (_, seed), run in by_arm.items() if seed is None) / 60
    per_seed = (result.minutes - shared) / len(result.seeds_finished) if result.seeds_finished else None

    def rule(hangs_on: Fragility | None) -> StudyVerdict:
        return verdict(
            spec,
            every_contrast[0],
            evaluations,
            hangs_on=hangs_on,
            withheld=result.verdict.withheld,
            minutes_per_seed=per_seed,
        )

    scores = scores_of(spec, own.slices, runs[""], evaluations)
    arms = {
        score.arm: ArmRates(score.prompt_strict.rate, score.guard.sound_share)
        for score in scores
        if score.slice == "all" and score.seed is None
    }
    sound = None
    if spec.verdict.counts != "sound" and all(rates.sound is not None for rates in arms.values()):
        sound = found_of(contrast(spec.verdict.primary, evaluations.counting("sound"), spec.verdict, role="primary"))
    then = rule(_as_then(on, result.version))
    parts = {
        "verdict": {"answer": then.answer, "primary": every_contrast[0]},
        "contrasts": every_contrast,
        "guards": _guards(spec, evaluations, on_suites, result),
        "tax": tax_tests(spec, evaluations),
        "scores": scores,
        "fragility": on,
        "suites": suites_found(spec, on_suites, runs),
        "growth": growth(spec, evaluations, result.arm_costs),
        "forgotten": forgotten(spec, evaluations, on_suites),
    }
    return _Recomputation(msgspec.to_builtins(parts), rule(on), on, arms, sound)


def _as_then(on: Fragility | None, version: int) -> Fragility | None:
    """Return the part of the fragility that the rule of result version `version` used; None if it used none."""
    if on is None or version >= KINDS_SINCE:
        return on
    return msgspec.structs.replace(on, kinds_left_out=None) if version >= FRAGILITY_SINCE else None


def _guards(
    spec: StudySpec, evaluations: Evaluations, suites: Mapping[str, Evaluations], result: StudyResult
) -> list[GuardTest]:
    """Return the guard tests that the result has.

    Before version 3, a margin in points did not depend on the reference's value.
    """
    if result.version >= FRAGILITY_SINCE:
        return guard_tests(spec, evaluations, suites)
    margins = msgspec.structs.replace(spec.guards, of_its_own=math.inf)
    tests = guard_tests(msgspec.structs.replace(spec, guards=margins), evaluations)
    keys = {(guard.name, guard.control) for guard in result.guards}
    return [guard for guard in tests if (guard.name, guard.control) in keys]


def stored_evaluations(records: Path, names: Mapping[str, str]) -> dict[str, dict[RunKey, Measurement]]:
    """Return the evaluations named in the result, by suite ("": the study's own), then by (arm, seed).

    Raises:
        IntegrityError: Some are missing.
    """
    run_names = set(names.values())
    evaluations: dict[str, dict[RunKey, Measurement]] = {"": {}}
    for file in sorted((records / "evaluations").glob("*.json")):
        measurement = decode(file.read_bytes(), Measurement)
        if measurement.run in run_names:
            evaluations.setdefault(measurement.suite, {})[measurement.arm, measurement.seed] = measurement
    n_evaluations = sum(map(len, evaluations.values()))
    if n_evaluations != len(run_names):
        raise IntegrityError(f"{RECORDS} holds {n_evaluations} of the {len(run_names)} evaluations that {RESULT} names")
    return evaluations


def _leaves(path: str, stored_json: Json, new_json: Json) -> Iterator[tuple[str, Json, Json]]:
    """Yield (name, stored value, new value) for every stored value; new values without a stored one are skipped."""
    if isinstance(stored_json, dict) and isinstance(new_json, dict):
        for name, value in stored_json.items():
            yield from _leaves(f"{path}.{name}".lstrip("."), value, new_json.get(name))
    elif isinstance(stored_json, list) and isinstance(new_json, list) and len(stored_json) == len(new_json):
        for place, (stored_row, new_row) in enumerate(zip(stored_json, new_json, strict=True)):
            yield from _leaves(f"{path}[{place}]{_row_name(stored_row)}", stored_row, new_row)
    else:
        yield path, stored_json, new_json


def _row_name(row: Json) -> str:
    """Name what a row of a list is about, as in ` (sft, all, seed 0)`; empty without arm, name or slice."""
    if not isinstance(row, dict):
        return ""
    labels = [str(row[name]) for name in ("arm", "name", "slice") if row.get(name)]
    seed = [f"seed {row['seed']}"] if row.get("seed") is not None else []
    return f" ({', '.join(labels + seed)})" if labels else ""


def _is_same(stored_json: Json, new_json: Json) -> bool:
    if isinstance(stored_json, int | float) and isinstance(new_json, int | float):
        return math.isclose(stored_json, new_json, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return stored_json == new_json
