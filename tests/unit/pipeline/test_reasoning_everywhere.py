"""Reasoning in any tag or field is set aside in the same way, whoever asks; what is never closed was cut."""

import json

import pytest

from adhere.environments.environment import env
from adhere.errors import UsageError
from adhere.integrations.shared.scoring import STRICT, SaidAnswer, score_answers
from adhere.pipeline.respond import settle
from adhere.rewards.rows import answer_of, reward_of
from adhere.schema import ConstraintRef, Prompt, Response, Turn
from adhere.suites.base import Suite
from adhere.text.reasoning import TAGS, split_answer, split_reasoning
from adhere.verify.answers import verify

NO_COMMA = ConstraintRef("punctuation:no_comma")
PROMPT = Prompt("1", (Turn("Answer without commas.", (NO_COMMA,)),))
SUITE = Suite("own", "1", (PROMPT,))
THOUGHT = "well, hm, a comma"
FORMS = {
    "think": f"<think>{THOUGHT}</think>fine",
    "thinking, in capitals": f" <Thinking>{THOUGHT}</THINKING>\nfine",
    "reasoning": f"<reasoning>{THOUGHT}</reasoning> fine",
    "opened by the chat template": f"{THOUGHT}</thinking>fine",
    "Magistral": f"[THINK]{THOUGHT}[/THINK]fine",
    "harmony": (
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>fine<|return|>"
    ),
    "harmony without its marks": f"analysis{THOUGHT}assistantfinalfine",
}
CUT = {
    "think": f"<think>{THOUGHT}",
    "two blocks": f"<think>a</think><reasoning>{THOUGHT}",
    "Magistral": f"[THINK]{THOUGHT}",
    "harmony": f"<|channel|>analysis<|message|>{THOUGHT}",
}


def verified(tmp_path, **row):
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"key": "1", **row}) + "\n")
    return verify(SUITE, file)


@pytest.mark.parametrize("form", FORMS)
def test_lighteval_869_reasoning_is_set_aside_for_every_suite_and_door(form, tmp_path):
    text = FORMS[form]
    assert split_reasoning(text) == (THOUGHT, "fine")
    stored = settle(Response("1", 0, 0, text, "ok"))  # eval and sweep
    assert (stored.text, stored.reasoning, stored.status) == ("fine", THOUGHT, "ok")
    assert verified(tmp_path, response=text).prompt_strict == 1.0
    assert env(SUITE).score("1", text) == 1.0
    assert reward_of(text, (NO_COMMA,), kind="dense", mode="reference") == 1.0
    assert score_answers(PROMPT, [SaidAnswer(text)]).scores[STRICT] == 1.0


@pytest.mark.parametrize("form", CUT)
def test_lighteval_882_reasoning_that_never_ends_was_cut(form, tmp_path):
    text = CUT[form]
    stored = settle(Response("1", 0, 0, text, "ok"))
    assert (stored.text, stored.status) == ("", "truncated")
    assert THOUGHT in stored.reasoning
    found = verified(tmp_path, response=text)
    assert (found.accounting.responses.truncated, found.accounting.responses.ok, found.prompt_strict) == (1, 0, 0.0)
    assert env(SUITE).score("1", text) == 0.0
    assert reward_of(text, (NO_COMMA,), kind="dense", mode="reference") == 0.0


def test_lighteval_869_a_person_names_other_tags(monkeypatch, tmp_path):
    text = f"<ponder>{THOUGHT}</ponder>fine"
    assert split_reasoning(text) == (None, text)
    monkeypatch.setenv(TAGS, "<ponder> </ponder> BEGIN END")
    assert split_reasoning(text) == (THOUGHT, "fine")
    assert split_answer("begin why") == ("", "why", "truncated")
    assert split_reasoning(f"{THOUGHT} END fine") == (THOUGHT, "fine")
    assert verified(tmp_path, response=text).prompt_strict == 1.0
    monkeypatch.setenv(TAGS, "<ponder>")
    with pytest.raises(UsageError, match="pairs"):
        split_reasoning(text)


def test_lighteval_869_reasoning_in_a_field_of_its_own(tmp_path):
    about = ConstraintRef("scope:within", {"constraint": {"id": NO_COMMA.id, "params": {}}, "place": "reasoning"})
    message = [{"role": "assistant", "content": "fine", "reasoning_content": THOUGHT}]
    assert split_reasoning(answer_of(message)) == (THOUGHT, "fine")
    assert reward_of(answer_of(message), (about,), kind="dense", mode="reference") == 0.0
    assert split_reasoning(answer_of([{"role": "assistant", "content": None, "reasoning": THOUGHT}])) == (THOUGHT, "")
    row = Suite("own", "1", (Prompt("1", (Turn("Think.", (about,)),)),))
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"key": "1", "response": "fine", "reasoning_content": THOUGHT}) + "\n")
    assert verify(row, file).prompt_strict == 0.0


def test_a_block_inside_an_answer_is_part_of_it():
    for text in (
        "Sure! <think>b</think> c",
        "42 <reasoning>because</reasoning>",
        "the tag <think> is no HTML",
        "analysis of a poem",
    ):
        assert split_reasoning(text) == (None, text)
