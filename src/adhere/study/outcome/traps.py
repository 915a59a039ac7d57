"""Count how often each arm of a study keeps the wording of its instructions and not the intent.

The counts are of the answers that the records hold. No question, key or verdict of a study depends on them: the gate
may change, while the answers stay.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from adhere.pipeline.intent.gate import TRAPS, traps_of
from adhere.schema import Mode, Prompt, decode, encode, write_atomic
from adhere.store.files import read_regular
from adhere.study.outcome.prompts import load_asked
from adhere.study.outcome.reproduce import RECORDS, RESULT, stored_evaluations
from adhere.study.outcome.result import ArmTraps, StudyResult
from adhere.study.run.measured import Measurement
from adhere.study.run.records import unpack


def arm_traps(
    arms: Sequence[str], runs: Iterable[Measurement], prompts: Mapping[str, Prompt], *, mode: Mode = "reference"
) -> list[ArmTraps]:
    """Return a row for each arm that has an answer, in the order of the arms."""
    rows_by_arm: dict[str, list[ArmTraps]] = {}
    for run in runs:
        for name, answer in run.shown.items():
            if name in prompts and answer.text.strip():
                prompt = prompts[name]
                traps = traps_of(
                    prompt.turns[0].text,
                    answer.text,
                    prompt.turns[0].constraints,
                    mode=mode,
                    profile=prompt.tags.get("profile"),
                )
                passed = answer.passed is True
                row = ArmTraps(run.arm, 1, bool(traps), passed, passed and bool(traps), dict.fromkeys(traps, 1))
                rows_by_arm.setdefault(run.arm, []).append(row)
    return [_sum(arm, rows_by_arm[arm]) for arm in arms if arm in rows_by_arm]


def _sum(arm: str, rows: Sequence[ArmTraps]) -> ArmTraps:
    by_trap = Counter(trap for row in rows for trap in row.by_trap)
    return ArmTraps(
        arm,
        len(rows),
        sum(row.taken for row in rows),
        sum(row.passing for row in rows),
        sum(row.passing_taken for row in rows),
        {trap: by_trap[trap] for trap in TRAPS if by_trap[trap]},
    )


def traps_of_study(directory: Path) -> list[ArmTraps]:
    """Return the rows of the arms of a committed study, from DIR/result.json and DIR/records.tar.xz.

    Raises:
        IntegrityError: A file is damaged, or the records are of another study.
    """
    result = decode(read_regular(directory / RESULT), StudyResult)
    with tempfile.TemporaryDirectory() as place:
        unpack(directory / RECORDS, Path(place))
        own = load_asked(Path(place), sha256=result.suite_sha256)[""]
        runs = stored_evaluations(Path(place), result.runs)[""]
    return arm_traps(result.arms, runs.values(), {prompt.id: prompt for prompt in own.prompts})


def write_traps(directory: Path, traps: Sequence[ArmTraps]) -> None:
    """Put `traps` into DIR/result.json, from which the page is made; all else in the file stays."""
    result_json = msgspec.json.decode(read_regular(directory / RESULT))
    result_json["traps"] = msgspec.to_builtins(traps)
    write_atomic(directory / RESULT, encode(result_json))
