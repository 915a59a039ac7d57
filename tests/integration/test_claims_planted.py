"""`adhere claims` on documents with planted errors and on clean ones: recall and precision of every type of conflict.

The documents come from tests/evidence_documents, which knows nothing of how the command works. Targets are the issue's.
The table of scores is printed (`-s`), and again when a target is missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from evidence_documents.planted import Case, clean_case, planted_case
from evidence_documents.scoring import Outcome, examine, score, score_table
from evidence_documents.slips import TYPES, PlantType

TARGETS = {  # type: (recall, precision)
    "cross_document": (0.95, 0.95),
    "arithmetic": (0.95, 0.95),
    "swap": (0.9, 0.9),
    "header_rotation": (0.9, 0.9),
}
SEVERAL: tuple[tuple[PlantType, ...], ...] = (
    ("cross_document", "emphasis"),
    ("arithmetic", "emphasis"),
    ("swap", "arithmetic"),
    ("cross_document", "arithmetic", "emphasis"),
    ("invariant", "emphasis"),
    ("cross_document", "cross_document"),
)
COUNTS: dict[PlantType, int] = dict.fromkeys(TYPES, 5) | {  # type: ignore[assignment]
    "cross_document": 12,
    "arithmetic": 12,
    "swap": 10,
    "header_rotation": 10,
}
CLEAN = 30


def planted_cases(times: int, start: int) -> Iterator[Case]:
    """So many times the usual number of cases, from a seed of their own."""
    for kind in TYPES:
        for seed in range(start, start + times * COUNTS[kind]):
            yield planted_case(seed, (kind,))
    for seed in range(start, start + times):
        for types in SEVERAL:
            yield planted_case(seed, types)


def told(outcomes: Iterable[Outcome]) -> str:
    """What was missed and what was wrongly reported, for whoever mends it."""
    lines = []
    for outcome in outcomes:
        lines += [
            f"missed {plant.type} ({plant.detail}) in {outcome.case.name}: {plant.cells[0]}" for plant in outcome.missed
        ]
        lines += [
            f"false {alarm.type} in {outcome.case.name}: {alarm.message} {sorted(alarm.lines)[:6]}"
            for alarm in outcome.false_alarms
        ]
    return "\n".join(lines)


def assert_targets(outcomes: list[Outcome]) -> None:
    table = score_table(outcomes)
    print(f"\n{table}")  # noqa: T201
    for kind, (recall, precision) in TARGETS.items():
        reached = score(outcomes, kind)
        assert reached.recall is not None
        assert reached.recall >= recall, (
            f"recall of {kind} is {reached.recall:.3f}, wanted {recall}\n{table}\n{told(outcomes)}"
        )
        assert reached.precision is not None
        assert reached.precision >= precision, (
            f"precision of {kind} is {reached.precision:.3f}, wanted {precision}\n{table}\n{told(outcomes)}"
        )


def test_planted_errors_are_found_and_little_else_is_reported(tmp_path: Path) -> None:
    assert_targets([examine(case, tmp_path) for case in planted_cases(1, start=0)])


@pytest.mark.parametrize("seed", range(CLEAN))
def test_a_clean_document_has_no_error(seed: int, tmp_path: Path) -> None:
    outcome = examine(clean_case(seed), tmp_path)
    assert outcome.false_alarms == [], told([outcome])


@pytest.mark.slow
def test_many_planted_errors(tmp_path: Path) -> None:
    assert_targets([examine(case, tmp_path) for case in planted_cases(5, start=1000)])


@pytest.mark.slow
def test_many_clean_documents_have_no_error(tmp_path: Path) -> None:
    outcomes = [examine(clean_case(seed), tmp_path) for seed in range(1000, 1300)]
    assert not any(outcome.false_alarms for outcome in outcomes), told(outcomes)
