"""A misspelt word is an error at every public door: it never changes what is measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adhere
from adhere.constraints.resolve import resolve, version_of
from adhere.errors import UsageError
from adhere.integrations.openrlhf.reward import reward_func
from adhere.integrations.verl.reward import compute_score, compute_score_batch
from adhere.pipeline.api import check_many, judge_many
from adhere.pipeline.check import check as check_response
from adhere.pipeline.judge import Judge, judge_text, verifier_version
from adhere.pipeline.reward import reward_of
from adhere.rewards import judge_reward, verifiers_reward
from adhere.schema import ConstraintRef, Prompt, Response, Turn
from adhere.suites import Suite
from adhere.verify.answers import verify

PUBLISHED = ConstraintRef("keywords:existence", {"keywords": ["art"]})
OWN = ConstraintRef("punctuation:no_commas")
PROMPT = Prompt("p", (Turn("Say art.", (PUBLISHED, OWN)),))
SUITE = Suite("own", "1", (PROMPT,))
TRUTH = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["art"]}]}
FAILED = Response("p", 0, 0, "", "error")

Door = Callable[[Any], object]
MODE: dict[str, Door] = {
    "judge": lambda word: adhere.judge(PROMPT, "party", word),
    "judge of a prompt without constraints": lambda word: adhere.judge(Prompt("q", (Turn("x"),)), "party", word),
    "judge_many of nothing": lambda word: judge_many([], [], word),
    "check": lambda word: adhere.check("party", [PUBLISHED], word),
    "check of our own kind": lambda word: adhere.check("party", [OWN], word),
    "check of what is made": lambda word: adhere.check("party", [adhere.constraint("punctuation:no_commas")], word),
    "check_many of nothing": lambda word: check_many([], [], word),
    "constraint": lambda word: adhere.constraint("keywords:existence", keywords=["art"], mode=word),
    "our own constraint": lambda word: adhere.constraint("punctuation:no_commas", mode=word),
    "resolve": lambda word: resolve(PUBLISHED, mode=word),
    "version": lambda word: version_of("punctuation:no_commas", mode=word),
    "verifier version": lambda word: verifier_version(PUBLISHED, mode=word),
    "Judge": lambda word: Judge([], mode=word),
    "judge_text": lambda word: judge_text("x", [], mode=word),
    "a failed call": lambda word: check_response(PROMPT, FAILED, mode=word),
    "TRL": lambda word: judge_reward(mode=word),
    "verifiers": lambda word: verifiers_reward(mode=word),
    "verl": lambda word: compute_score("x", "party", TRUTH, mode=word),
    "verl's batches": lambda word: compute_score_batch(["x"], ["party"], [TRUTH], mode=word),
    "OpenRLHF": lambda word: reward_func([], [], [], mode=word),
    "reward": lambda word: reward_of("party", [OWN], kind="dense", mode=word),
}
PROFILE: dict[str, Door] = {
    "constraint": lambda word: adhere.constraint("count:numbers", {"N": 1}, profile=word),
    "resolve": lambda word: resolve(OWN, profile=word),
    "Judge": lambda word: Judge([PUBLISHED], profile=word),
    "a prompt": lambda word: adhere.judge(Prompt("p", PROMPT.turns, tags={"profile": word}), "party"),
    "TRL": lambda word: judge_reward(profile=word),
    "verifiers": lambda word: verifiers_reward(profile=word),
    "verl": lambda word: compute_score("x", "party", TRUTH, profile=word),
    "OpenRLHF": lambda word: reward_func([], [], [], profile=word),
}
VIEW: dict[str, Door] = {
    "judge": lambda word: adhere.judge(PROMPT, "party", views=word),
    "check": lambda word: adhere.check("party", [OWN], views=word),
    "check_many of nothing": lambda word: check_many([], [OWN], views=word),
    "a response": lambda word: check_response(PROMPT, FAILED, views=word),
    "judge_text": lambda word: judge_text("x", [OWN], word),
}


@pytest.mark.parametrize("door", MODE)
@pytest.mark.parametrize("word", ["refrence", "Fixed", "", None])
def test_mode(door: str, word: Any) -> None:
    with pytest.raises(UsageError, match=r"Unknown mode .*'reference', 'fixed'"):
        MODE[door](word)


def test_a_misspelt_mode_is_answered_with_the_right_one() -> None:
    with pytest.raises(UsageError, match=r"'refrence'\. Did you mean 'reference'\?"):
        adhere.judge(PROMPT, "party", "refrence")  # type: ignore[arg-type]


@pytest.mark.parametrize("door", PROFILE)
def test_profile(door: str) -> None:
    with pytest.raises(UsageError, match=r"Unknown profile 'ifbench2025'\. Did you mean 'ifbench-2025'\?"):
        PROFILE[door]("ifbench2025")


@pytest.mark.parametrize("door", VIEW)
@pytest.mark.parametrize("views", [("Loose",), "loose", ("strict", "strict"), (), ["strict", 7]])
def test_views(door: str, views: Any) -> None:
    with pytest.raises(UsageError, match=r"'strict', 'loose'"):
        VIEW[door](views)


def test_views_in_any_order_and_as_any_list() -> None:
    found = adhere.judge(PROMPT, "party", views=["loose", "strict"])
    assert [(verdict.constraint_id, verdict.view) for verdict in found] == [
        ("keywords:existence", "loose"),
        ("keywords:existence", "strict"),
        ("punctuation:no_commas", "loose"),
        ("punctuation:no_commas", "strict"),
    ]


@pytest.mark.parametrize(
    "door",
    [
        judge_reward,
        verifiers_reward,
        lambda word: compute_score("x", "y", TRUTH, kind=word),
        lambda word: reward_of("y", [OWN], kind=word),
    ],
)
def test_kind_of_reward(door: Door) -> None:
    with pytest.raises(UsageError, match=r"Unknown reward 'bianry'\. Did you mean 'binary'\?"):
        door("bianry")


@pytest.mark.parametrize(
    "door",
    [
        lambda word: judge_reward(cut_answers=word),
        lambda word: verifiers_reward(cut_answers=word),
        lambda word: compute_score("x", "y", TRUTH, cut_answers=word),
        lambda word: check_response(PROMPT, FAILED, cut_answers=word),
        lambda word: reward_of("y", [OWN], kind="dense", cut_answers=word),
    ],
)
def test_treatment_of_cut_answers(door: Door) -> None:
    with pytest.raises(UsageError, match="'fail', 'judge'"):
        door("fails")


def test_a_misspelt_argument_among_a_trainers_own() -> None:
    assert compute_score("x", "party", TRUTH, reward_router_address=None, reward_model_tokenizer=None) == 1.0
    with pytest.raises(UsageError, match=r"Unknown argument 'moed'\. Did you mean 'mode'\?"):
        compute_score("x", "party", TRUTH, moed="fixed")
    with pytest.raises(UsageError, match=r"Unknown argument 'profil'\. Did you mean 'profile'\?"):
        reward_func(["x"], [""], [TRUTH], profil="ifeval")


def test_verify(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"key": "p", "response": "party"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="Unknown mode 'refrence'"):
        verify(SUITE, rows, mode="refrence")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'error', 'skip'"):
        verify(SUITE, rows, bad_rows="skp")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Unknown mode 'refrence'"):
        verify(Suite("empty", "1", ()), rows, mode="refrence")  # type: ignore[arg-type]


def test_load_suite() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'diagnostic'\?"):
        adhere.load_suite("diagnostc")
    with pytest.raises(UsageError):
        adhere.load_suite("core:in-famly")
