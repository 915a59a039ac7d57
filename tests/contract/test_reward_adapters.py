"""One contract for every reward adapter: paid is what the model wrote, and a cut answer is known by any type of flag.

Each adapter is called as its trainer calls it, with the same conversations. None stands for "no measurement", however
the trainer is told of it (None, NaN, a mask, an exception that stops the training).
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.environments import Environment, Undecided
from adhere.errors import MissingExtra, UnknownName
from adhere.integrations.nemo_gym.server import MASK, verify
from adhere.integrations.open_instruct.verifier import score_of
from adhere.integrations.openrlhf.reward import judged_response, reward_func
from adhere.integrations.verifiers.reward import judge_dense
from adhere.integrations.verl.reward import compute_score, compute_score_batch
from adhere.rewards import judge_reward, verifiers_reward
from adhere.rewards.rows import TooFewMeasurements
from adhere.schema import ConstraintRef, Prompt, Turn, encode
from adhere.steps.kinds import Score, ScoreSpec
from adhere.suites import Suite

numpy = pytest.importorskip("numpy")

Messages = list[dict[str, Any]]
RULE = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]}
UNKNOWN = {"instruction_id_list": ["punctuation:no_coma"], "kwargs": [{}]}
UNDECIDABLE = {"instruction_id_list": ["keywords:letter_frequency"], "kwargs": [{"letter": "#"}]}
PROMPT = "Say something."
CALL = {"type": "function", "id": "c", "function": {"name": "multiply", "arguments": '{"a": 2, "b": 3}'}}


def said(content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def heard(content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c", "content": content}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def in_chatml(messages: Messages) -> str:
    """A rollout as OpenRLHF decodes it, from behind the generation prompt to the last end token."""
    parts = []
    for message in messages:
        content = message["content"] if isinstance(message.get("content"), str) else ""
        if isinstance(message.get("content"), list):
            content = "".join(part["text"] for part in message["content"])
        calls = "".join(
            "<tool_call>\n"
            + json.dumps({"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])})
            + "\n</tool_call>"
            for call in message.get("tool_calls") or []
        )
        parts.append(f"<|im_start|>{message['role']}\n{content}{calls}<|im_end|>\n")
    return "".join(parts).removeprefix("<|im_start|>assistant\n")


def trl(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    columns = {name: [value] for name, value in truth.items()}
    flag = {} if cut is None else {"is_truncated": numpy.array([cut]) if isinstance(cut, bool) else [cut]}
    return judge_reward("dense")(prompts=[[user(PROMPT)]], completions=[messages], **columns, **flag)[0]


def verl(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    return compute_score("x", messages, truth, {} if cut is None else {"is_truncated": cut})


def verl_text(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    """Of several turns verl 0.9.1 gives one text without special tokens, and how many turns there were."""
    text = re.sub(r"<\|im_(?:start|end)\|>", "", in_chatml(messages)).removesuffix("\n")
    return compute_score("x", text, truth, {"num_turns": numpy.int32(len(messages) + 1), "is_truncated": cut})


def verl_batch(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    arrays = {name: numpy.array(value, dtype=object) for name, value in truth.items()}
    return compute_score_batch(["x"], [messages], [arrays], [{"truncated": cut}])[0]


def verifiers_rubric(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    state = {"trajectory": [{"is_truncated": cut}]}
    return verifiers_reward("dense")(completion=messages, info=json.dumps(truth), state=state, prompt=[user(PROMPT)])


def verifiers_task(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    own = [SimpleNamespace(**one) for one in messages if one["role"] == "assistant"]
    trace = SimpleNamespace(root_reply=None, assistant_messages=own, is_truncated=cut)
    return asyncio.run(judge_dense(SimpleNamespace(data=SimpleNamespace(**truth)), trace))


def openrlhf_function(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    prompt = f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n"
    text = in_chatml(messages)
    query = prompt + (text.removesuffix("<|im_end|>\n") if cut is not None and bool(cut) else text)
    return as_number(reward_func([query], [prompt], [json.dumps(truth)])["rewards"][0])


def openrlhf_executor(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    tokenizer = SimpleNamespace(decode=lambda tokens, **_: bytes(tokens).decode())
    tokens = list(in_chatml(messages).encode())
    response = {"prompt": PROMPT, "label": json.dumps(truth), "observation_tokens": [1, 2, *tokens], "truncated": cut,
        "action_ranges": [(2, 2 + len(tokens))]}  # fmt: skip
    return as_number(judged_response(response, tokenizer, {})["reward"][0])


def as_number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def open_instruct(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    literal = [{"instruction_id": truth["instruction_id_list"], "kwargs": truth["kwargs"]}]
    return score_of(messages, repr(literal), is_cut=bool(cut))


def nemo_gym(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    output: list[dict[str, Any]] = []
    for one in messages:
        content = one.get("content")
        if one["role"] == "tool":
            output.append({"type": "function_call_output", "call_id": "c", "output": content})
        elif content or not one.get("tool_calls"):
            parts = content if isinstance(content, list) else [{"type": "output_text", "text": content}]
            output.append({"type": "message", "role": one["role"], "content": parts if content else []})
        output += [
            {"type": "function_call", "call_id": "c", **call["function"]} for call in one.get("tool_calls") or []
        ]
    status = "completed" if cut is None or not cut else "incomplete"
    row = verify({"id": "p", **truth, "response": {"output": output, "status": status},
                  "adhere": {"mode": "reference", "reward": "dense", "cut_answers": "fail"}})  # fmt: skip
    return None if row.get(MASK) else row["reward"]


def suite_of(truth: dict[str, Any]) -> Suite:
    refs = tuple(map(ConstraintRef, truth["instruction_id_list"], [{k: v for k, v in one.items() if v is not None}
                                                                   for one in truth["kwargs"]]))  # fmt: skip
    return Suite("mine", "1", (Prompt("p", (Turn(PROMPT, refs),)),))


def environment(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    return Environment(suite_of(truth), cut_answers="fail").score("p", messages, is_cut=bool(cut))


def openenv(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    served = pytest.importorskip("adhere.integrations.openenv.server", exc_type=MissingExtra)
    session = served.InstructionEnvironment(Environment(suite_of(truth), cut_answers="fail"))
    session.reset()
    seen = session.step(served.AnswerAction(answer=messages, is_cut=cut))
    assert seen.done
    return None if seen.reward is None else float(seen.reward)


def step_of_rows(messages: Messages, truth: dict[str, Any], cut: Any) -> float | None:
    plain = bool(cut) if cut is not None else None
    row = json.loads(encode({"completion": messages, **truth, "is_truncated": plain}))
    return Score(ScoreSpec())([row])[0]["score"]


Adapter = Callable[[Messages, dict[str, Any], Any], float | None]
ADAPTERS: list[Adapter] = [
    trl, verl, verl_text, verl_batch, verifiers_rubric, verifiers_task, openrlhf_function, openrlhf_executor, open_instruct,
    nemo_gym, environment, openenv, step_of_rows,
]  # fmt: skip


def earned(adapter: Adapter, messages: Messages, truth: dict[str, Any] = RULE, cut: Any = None) -> float | None:
    if adapter in {openrlhf_function, openrlhf_executor}:
        pytest.importorskip("torch")
    try:
        return adapter(messages, truth, cut)
    except (Undecided, TooFewMeasurements):
        return None


CONVERSATIONS: dict[str, tuple[Messages, float]] = {
    "ended": ([said("one two")], 1.0),
    "a rule broken": ([said("one, two")], 0.0),
    "tool last, its text keeps the rule": ([said(tool_calls=[CALL]), heard("6")], 0.0),
    "tool last, what the model said keeps the rule": ([said("I ask", tool_calls=[CALL]), heard("six, 6")], 1.0),
    "a call, its result, an answer": ([said(tool_calls=[CALL]), heard("6, and more"), said("It is 6.")], 1.0),
    "a bare call": ([said(tool_calls=[CALL])], 0.0),
    "a bare call with an empty text": ([said("", tool_calls=[CALL])], 0.0),
    "the user last, in other words": ([said("one, two"), user("Correct!")], 0.0),
    "the user last, with a comma": ([said("one two"), user("Well, thanks")], 1.0),
    "parts": ([said([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}])], 1.0),
    "parts with a comma": ([said([{"type": "text", "text": "one, two"}])], 0.0),
    "None": ([said(None)], 0.0),
    "empty": ([said("")], 0.0),
    "blank": ([said(" \n")], 0.0),
    "no message at all": ([], 0.0),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("case", CONVERSATIONS)
def test_paid_is_what_the_model_wrote(adapter: Adapter, case: str) -> None:
    messages, reward = CONVERSATIONS[case]
    assert earned(adapter, messages) == reward


FLAGS = [True, 1, 1.0, numpy.bool_(True), numpy.int64(1), numpy.array(True), "True"]


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("flag", FLAGS, ids=lambda one: type(one).__name__)
def test_a_cut_answer_fails_whatever_the_type_of_its_flag(adapter: Adapter, flag: Any) -> None:
    assert earned(adapter, [said("one two")], cut=flag) == 0.0


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    "flag", [False, 0, 0.0, numpy.bool_(False), numpy.int64(0)], ids=lambda one: type(one).__name__
)
def test_an_answer_that_ended_counts(adapter: Adapter, flag: Any) -> None:
    assert earned(adapter, [said("one two")], cut=flag) == 1.0


@pytest.mark.parametrize("adapter", [one for one in ADAPTERS if one is not step_of_rows])
def test_an_unknown_id_stops_the_training(adapter: Adapter) -> None:
    with pytest.raises(UnknownName, match="no_comma"):
        earned(adapter, [said("one two")], UNKNOWN)


def test_a_step_counts_the_row_of_an_unknown_id_as_broken() -> None:
    step = Score(ScoreSpec())
    assert step([{"completion": "one two", **UNKNOWN}]) == []
    assert step.counts.broken == 1


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_undecidable_prompt_is_no_measurement(adapter: Adapter) -> None:
    assert earned(adapter, [said("one two")], UNDECIDABLE) is None


def test_a_flag_of_no_meaning_is_refused() -> None:
    from adhere.errors import UsageError

    with pytest.raises(UsageError, match="is_truncated says whether"):
        compute_score("x", "one two", RULE, {"is_truncated": "perhaps"})


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("I ask\nuser\nsix\nassistant\nIt is 6", 5),  # a turn whose beginning nobody can see
        ("one\nassistant\ntwo", 3 + 1),
        ("I ask\nuser\nsaid\nuser\nfor me\nassistant\nIt is 6", 4),  # somebody quoted a turn
    ],
)
def test_turns_in_one_text_that_cannot_be_parted_are_no_measurement_in_verl(text: str, turns: int) -> None:
    assert compute_score("x", text, RULE, {"num_turns": turns}) is None
    masked = compute_score("x", text, RULE, {"num_turns": turns}, missing="mask")
    assert isinstance(masked, float)
    assert math.isnan(masked)
