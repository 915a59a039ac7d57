from __future__ import annotations

import json
import re

import pytest

from adhere.errors import UnknownName
from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Findings
from adhere.evidence.read.documents import parse_document
from adhere.evidence.reviewers import RUBRIC, open_reviewers, review
from adhere.models.base import Request
from adhere.models.fake.scripted import ScriptedModel

ROW = "| MATH | {v} | 20.0 |\n"
TABLE = "**Table {i}: Instruct models.**\n\n| Datasets | Qwen2-7B | Qwen2-72B |\n|---|---|---|\n"


@pytest.fixture
def findings() -> Findings:
    one = parse_document(("# A\n\n" + TABLE.format(i=1) + ROW.format(v="50.0")).encode(), name="a.md")
    other = parse_document(("# B\n\n" + TABLE.format(i=2) + ROW.format(v="40.0")).encode(), name="b.md")
    found = findings_of(gather([one, other]))
    assert len(found.conflicts) == 1
    return found


def says(vote: str) -> ScriptedModel:
    return ScriptedModel(lambda _: json.dumps({"vote": vote, "reason": "as quoted"}), name=f"scripted/{vote}")


def test_both_orders_are_asked_and_agreement_is_counted(findings: Findings) -> None:
    models = [says("conflict"), says("conflict"), says("no conflict")]
    panel = review(findings, models)
    assert (panel.asked, panel.valid, panel.pairs) == (3, 3, 3)
    assert panel.agreement == pytest.approx(1 / 3)
    first, second = models[0].asked
    assert first.messages[0].content == RUBRIC
    data = [re.search(r"^\{.*\}$", request.messages[1].content, re.MULTILINE) for request in (first, second)]
    lines = [json.loads(found[0])["lines"] for found in data if found]
    assert lines[0] == lines[1][::-1]
    assert len(lines[0]) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("conflict", "not one JSON object"),
        ('Sure! {"vote": "conflict", "reason": "x"}', "not one JSON object"),
        ('{"vote": "conflict"}', "missing required field `reason`"),
        ('{"vote": "maybe", "reason": "x"}', "Invalid enum value 'maybe'"),
        ("", "no answer"),
    ],
)
def test_only_an_exact_answer_is_a_vote(findings: Findings, text: str, reason: str) -> None:
    panel = review(findings, [ScriptedModel(lambda _: text)])
    assert (panel.valid, panel.agreement) == (0, None)
    assert reason in panel.ballots[0].reason


def test_a_vote_that_changes_with_the_order_does_not_count(findings: Findings) -> None:
    def fickle(request: Request) -> str:
        return json.dumps({"vote": "conflict" if request.draw else "no conflict", "reason": "x"})

    ballot = review(findings, [ScriptedModel(fickle)]).ballots[0]
    assert (ballot.vote, ballot.votes) == (None, ("no conflict", "conflict"))
    assert "changed with the order" in ballot.reason


def test_a_failed_call_is_recorded(findings: Findings) -> None:
    def broken(_: Request) -> str:
        raise OSError("down")

    ballot = review(findings, [ScriptedModel(broken)]).ballots[0]
    assert ballot.vote is None
    assert "down" in ballot.reason


def test_an_unknown_reviewer_is_refused() -> None:
    with pytest.raises(UnknownName), open_reviewers(["scripted/fixed:x", "nowhere/model"]):
        pass
