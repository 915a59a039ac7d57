"""How often each arm of a study keeps the letter alone.

Counted from the stored answers, shown on every page, and deciding nothing.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.report.study_factory import changed, study

from adhere.cli.traps import command
from adhere.errors import UsageError
from adhere.report.study.html import study_html
from adhere.report.study.markdown import study_markdown
from adhere.report.study.text import study_text
from adhere.schema import ConstraintRef, Prompt, Turn, decode, encode
from adhere.study.outcome.reproduce import reproduce
from adhere.study.outcome.result import ArmTraps, StudyResult
from adhere.study.outcome.traps import arm_traps
from adhere.study.run.measured import ShownAnswer

STUDIES = Path(__file__).parents[3] / "docs" / "studies"
ASKED = "Describe how a small boat is kept afloat in a storm. Use the word lantern."
PROMPT = Prompt("p", (Turn(ASKED, (ConstraintRef("keywords:existence", {"keywords": ["lantern"]}),)),))
HONEST = "Keep the bow to the waves, bail often, hang a lantern high and reef every sail before the wind gets worse."


def run(arm: str, **answers: tuple[str, bool | None]) -> Any:
    shown = {name: ShownAnswer(arm, text, "ok", passed, []) for name, (text, passed) in answers.items()}
    return SimpleNamespace(arm=arm, shown=shown)


def test_answers_of_all_seeds_are_counted_by_arm() -> None:
    runs = [
        run("sft", p=("lantern", True)),
        run("sft", p=(HONEST, True)),
        run("sft", p=("", False)),
        run("start", p=("boat boat boat boat boat boat boat boat", False), unknown=("lantern", True)),
    ]
    assert arm_traps(["start", "sft", "dpo"], runs, {"p": PROMPT}) == [
        ArmTraps("start", 1, 1, 0, 0, {"empty": 1, "repeat": 1}),
        ArmTraps("sft", 2, 1, 2, 1, {"empty": 1}),
    ]


@pytest.mark.parametrize(("name", "answers"), [("study", 180), ("zoo", 215)])
def test_committed_studies_hold_what_the_records_give(name: str, answers: int, tmp_path: Path) -> None:
    stored = decode((STUDIES / name / "result.json").read_bytes(), StudyResult)
    found = json.loads(CliRunner().invoke(command, [str(STUDIES / name), "--json"], catch_exceptions=False).output)
    assert [row["arm"] for row in found["arms"]] == [row.arm for row in stored.traps] == stored.arms
    assert sum(row["answers"] for row in found["arms"]) == answers
    for row, other in zip(found["arms"], stored.traps, strict=True):  # the gate may change, the answers do not
        assert (row["answers"], row["passing"]) == (other.answers, other.passing)
    copy = tmp_path / name
    shutil.copytree(STUDIES / name, copy)
    CliRunner().invoke(command, [str(copy), "--write"], catch_exceptions=False)
    before, after = (json.loads((place / "result.json").read_text()) for place in (STUDIES / name, copy))
    assert (before.pop("traps") != [], len(after.pop("traps"))) == (True, len(stored.arms))
    assert before == after, "nothing else is touched"
    assert "The letter alone" in (STUDIES / name / "page.html").read_text()
    assert "The letter alone" in (STUDIES / name / "page.md").read_text()


def test_a_reproduction_does_not_hang_on_the_gate(tmp_path: Path) -> None:
    copy = tmp_path / "zoo"
    shutil.copytree(STUDIES / "zoo", copy)
    result = json.loads((copy / "result.json").read_text())
    result["traps"][0]["taken"] = 4
    (copy / "result.json").write_bytes(encode(result))
    assert reproduce(copy).differences == []


def test_only_a_committed_study_is_written() -> None:
    with pytest.raises(UsageError, match="is no committed study"):
        CliRunner().invoke(command, ["local/none", "--write"], catch_exceptions=False)


def test_every_report_has_the_rows() -> None:
    result = changed(study(), traps=[ArmTraps("sft+dpo+grpo", 25, 5, 16, 3, {"echo": 2, "empty": 3})])
    for told in (study_html(result), study_text(result), study_markdown(result)):
        assert "The letter alone" in told
        assert re.search(r"5 \(20.%\)", told)
        assert "decides nothing here" in " ".join(told.split())
    for told in (study_html(study()), study_text(study()), study_markdown(study())):
        assert "The letter alone" not in told
