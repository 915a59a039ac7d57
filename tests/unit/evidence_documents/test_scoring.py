"""The scorer.

Hits by type and line, consequences that count neither way, false alarms, and reports that break the contract.
"""

from __future__ import annotations

from typing import Any

import pytest

from evidence_documents.planted import Case, Plant, planted_case
from evidence_documents.scoring import Conflict, conflicts_of, judge, score, score_table


def case(*plants: Plant) -> Case:
    return Case("by-hand", (), (), plants)


def plant(kind: Any = "swap") -> Plant:
    return Plant(kind, "by hand", frozenset({("a.md", 7)}), frozenset({("a.md", 12), ("b.md", 3)}), ())


def conflict(kind: str, *lines: tuple[str, int], severity: str = "error") -> Conflict:
    return Conflict(kind, severity, frozenset(lines), "")


def test_a_hit_needs_the_type_and_a_planted_line() -> None:
    assert judge(case(plant()), [conflict("swap", ("a.md", 7), ("a.md", 99))]).found == [plant()]
    assert judge(case(plant()), [conflict("arithmetic", ("a.md", 7))]).missed == [plant()]
    assert judge(case(plant()), [conflict("swap", ("b.md", 7))]).missed == [plant()]


def test_a_consequence_of_another_type_counts_neither_way() -> None:
    outcome = judge(case(plant()), [conflict("arithmetic", ("a.md", 12)), conflict("cross_document", ("b.md", 3))])
    assert outcome.missed == [plant()]
    assert outcome.false_alarms == []


def test_the_same_type_on_a_consequence_is_a_false_alarm() -> None:
    wrong_row = conflict("swap", ("a.md", 12))
    assert judge(case(plant()), [wrong_row]).false_alarms == [wrong_row]


def test_an_error_elsewhere_is_a_false_alarm_and_a_warning_is_counted_apart() -> None:
    alarm, warning, note = (
        conflict("emphasis", ("a.md", 40), severity=severity) for severity in ("error", "warning", "info")
    )
    outcome = judge(case(plant()), [alarm, warning, note])
    assert outcome.false_alarms == [alarm]
    assert outcome.false_warnings == [warning]


def test_scores_over_cases() -> None:
    hit = judge(case(plant()), [conflict("swap", ("a.md", 7)), conflict("swap", ("a.md", 7))])
    softly = judge(case(plant()), [conflict("swap", ("a.md", 7), severity="warning")])
    missed = judge(case(plant()), [conflict("swap", ("a.md", 50))])
    found = score([hit, softly, missed], "swap")
    assert (found.planted, found.found, found.as_errors, found.false_alarms) == (3, 2, 1, 1)
    assert found.recall == 2 / 3
    assert found.precision == 2 / 3
    assert score([hit], "arithmetic").recall is None
    assert "swap                           3      2       1    0.67       0.67      1" in score_table(
        [hit, softly, missed]
    )


def entry(**changes: Any) -> dict[str, Any]:
    made = {
        "type": "swap",
        "severity": "error",
        "claims": ["1"],
        "message": "m",
        "documents": ["/x/a.md", "b.md"],
        "lines": [7, 3],
    }
    return {**made, **changes}


def test_lines_are_paired_with_documents_or_count_for_all() -> None:
    (paired,) = conflicts_of({"conflicts": [entry()]})
    assert paired.lines == {("a.md", 7), ("b.md", 3)}
    (crossed,) = conflicts_of({"conflicts": [entry(documents=["a.md"], lines=[7, 8, 9])]})
    assert crossed.lines == {("a.md", 7), ("a.md", 8), ("a.md", 9)}


def test_a_report_outside_the_contract_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown severity"):
        conflicts_of({"conflicts": [entry(severity="fatal")]})
    lacking = entry()
    del lacking["lines"]
    with pytest.raises(ValueError, match="lacks"):
        conflicts_of({"conflicts": [lacking]})


def test_a_type_of_the_command_s_own_is_read_and_its_false_alarms_are_shown() -> None:
    (own,) = conflicts_of({"conflicts": [entry(type="cross_table")]})
    assert "cross_table                    0      0       0       –       0.00      1" in score_table(
        [judge(case(), [own])]
    )


def test_an_oracle_scores_one_and_silence_scores_nothing() -> None:
    made = planted_case(2, ("cross_document", "arithmetic"))
    told = [conflict(truth.type, *truth.lines) for truth in made.plants]
    outcome = judge(made, told)
    assert score([outcome], "arithmetic").recall == 1
    assert score([outcome], "arithmetic").precision == 1
    assert judge(made, []).found == []
