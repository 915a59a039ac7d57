"""Response filtering: all scorers agree or it goes, and what says nothing is no agreement."""

from __future__ import annotations

from pathlib import Path

import pytest

from adhere.build.scorers import (
    JudgeScorer,
    RewardScorer,
    RuleScorer,
    filter_responses,
    filtered_text,
)
from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.models.fake.scripted import ScriptedModel
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.stats import cohens_kappa

PROMPTS = [
    Prompt(f"p-{n}", (Turn("Say it without commas.", (ConstraintRef("punctuation:no_commas", {}),)),)) for n in range(4)
]
TEXTS = ["It is fine.", "It, is not.", "It is odd.", "It is late."]


class Says:
    def __init__(self, name: str, *votes: bool | None) -> None:
        self.name, self._votes = name, list(votes)

    def votes(self, prompts: object, texts: object) -> list[bool | None]:
        return self._votes


def test_only_what_all_call_flawless_stays() -> None:
    kept, report = filter_responses(
        PROMPTS, TEXTS, [RuleScorer(), Says("a", True, True, False, True), Says("b", True, True, True, None)]
    )
    assert kept == [True, False, False, False]
    assert (report.answers, report.kept, report.rejected, report.undecided) == (4, 1, 2, 1)
    assert report.flawless == {"rules": 3, "a": 3, "b": 3}
    assert report.silent == {"rules": 0, "a": 0, "b": 1}
    assert report.sole_objections == {"rules": 1, "a": 1, "b": 0}
    assert [(one.first, one.second, one.answers) for one in report.agreements] == [
        ("rules", "a", 4),
        ("rules", "b", 3),
        ("a", "b", 3),
    ]
    assert "1 kept, 2 rejected, 1 undecided" in filtered_text(report)


def test_cohens_kappa_is_the_textbooks() -> None:
    """20 yes-yes, 5, 10, 15 no-no: observed 0.7, expected 0.5 * 0.6 + 0.5 * 0.4 = 0.5, kappa 0.4."""
    assert cohens_kappa(20, 5, 10, 15) == pytest.approx(0.4)
    assert cohens_kappa(5, 0, 0, 5) == pytest.approx(1.0)
    assert cohens_kappa(0, 5, 5, 0) == pytest.approx(-1.0)
    assert cohens_kappa(10, 0, 0, 0) is None
    assert cohens_kappa(0, 0, 0, 0) is None


def test_judges_in_roles_are_asked_once_and_nonsense_is_no_vote(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        assert request.messages[0].role == "system"
        text = request.messages[-1].content
        if "late" in text:
            return "Sure! It is flawless."
        return '{"flawless": false}' if "odd" in text else '{"flawless": true}'

    model = ScriptedModel(script)
    scorers = [JudgeScorer(model, role, tmp_path / role) for role in ("critic", "facts")]
    kept, report = filter_responses(PROMPTS, TEXTS, [RuleScorer(), *scorers])
    assert kept == [True, False, False, False]
    assert (report.rejected, report.undecided) == (2, 1)
    assert report.silent["scripted/function as critic"] == 1
    assert len(model.asked) == 8
    assert filter_responses(PROMPTS, TEXTS, [RuleScorer(), *scorers])[0] == kept
    assert len(model.asked) == 8


def test_a_failed_call_is_no_vote(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: 1 / 0)
    assert JudgeScorer(model, "critic", tmp_path / "j").votes(PROMPTS[:2], TEXTS[:2]) == [None, None]


def test_a_reward_model_has_a_threshold() -> None:
    scorer = RewardScorer(lambda pairs: [0.9, 0.5, None, float("nan")], 0.5)
    assert scorer.votes(PROMPTS, TEXTS) == [True, True, None, None]
    with pytest.raises(UsageError, match="gave 1 numbers for 4 answers"):
        RewardScorer(lambda pairs: [1.0], 0.5).votes(PROMPTS, TEXTS)


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(UsageError, match="none"):
        filter_responses(PROMPTS, TEXTS, [])
    with pytest.raises(UsageError, match="name of its own"):
        filter_responses(PROMPTS, TEXTS, [RuleScorer(), RuleScorer()])
    with pytest.raises(UsageError, match="4 prompts and 1 answers"):
        filter_responses(PROMPTS, TEXTS[:1], [RuleScorer()])


def test_a_prompt_without_constraints_has_no_rule_vote() -> None:
    assert RuleScorer().votes([Prompt("x", (Turn("Hi"),))], ["Hello"]) == [None]
