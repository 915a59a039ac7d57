"""Rows of TRL's shapes and of public data sets: one reader for `train`, `build convert`, `build transform` and
`decontaminate`. What it takes it takes everywhere alike, and what it refuses it refuses by file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import UsageError
from adhere.schema import PairRow, RlRow, SftRow
from adhere.shapes.rows import in_trl_columns, read_exchange

U, A, S = ({role: lambda text, role=role: {"role": role, "content": text}}[role] for role in ("user", "assistant", "system"))  # fmt: skip
Q, ANSWER, OTHER, AGAIN, BYE = U("q"), A("a"), A("b"), U("r"), U("thanks, bye")
RULE = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
LITERAL = "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]"
SHAREGPT = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]
NULLS = {"tool_calls": None, "name": None}
GEMINI = [{"role": "user", "parts": [{"text": "q"}]},
    {"role": "model", "parts": [{"text": "hm, hm", "thought": True}, {"text": "a"}]}]  # fmt: skip
HH = "\n\nHuman: q\n\nAssistant: a\n\nHuman: r\n\nAssistant:"

ONE = [("user", "q")]
WITH_SYSTEM = [("system", "s"), ("user", "q")]
LONG = [("user", "q"), ("assistant", "a"), ("user", "r")]

SFT: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "TRL's texts": ({"prompt": "q", "completion": "a"}, ONE),
    "TRL's messages": ({"prompt": [Q], "completion": [ANSWER]}, ONE),
    "prompt text, completion messages": ({"prompt": "q", "completion": [ANSWER]}, ONE),
    "prompt messages, completion text": ({"prompt": [Q], "completion": "a"}, ONE),
    "a completion with the prompt in it": ({"prompt": "q", "completion": [Q, ANSWER]}, ONE),
    "TRL's conversation": ({"messages": [Q, ANSWER]}, ONE),
    "ultrachat, no_robots": ({"prompt": "q", "prompt_id": "p", "messages": [Q, ANSWER]}, ONE),
    "no_robots with a system": ({"prompt": "q", "messages": [S("s"), Q, ANSWER]}, WITH_SYSTEM),
    "an empty system": ({"messages": [S(""), Q, ANSWER]}, ONE),
    "null columns of Arrow": ({"prompt": None, "completion": None, "messages": [Q | NULLS, ANSWER | NULLS]}, ONE),
    "null tools": ({"messages": [Q, ANSWER], "tools": None, "images": []}, ONE),
    "ShareGPT": ({"conversations": SHAREGPT}, ONE),
    "ShareGPT with a system": ({"conversations": SHAREGPT, "system": "s", "tools": "[]"}, WITH_SYSTEM),
    "ShareGPT with a system's turn": ({"conversations": [{"from": "system", "value": "s"}, *SHAREGPT]}, WITH_SYSTEM),
    "conversations of roles": ({"conversations": [Q, ANSWER]}, ONE),
    "conversation": ({"conversation": [Q, ANSWER]}, ONE),
    "human and gpt as roles": ({"messages": [{"role": "human", "content": "q"}, {"role": "gpt", "content": "a"}]}, ONE),
    "a developer's message": ({"messages": [{"role": "developer", "content": "s"}, Q, ANSWER]}, WITH_SYSTEM),
    "parts": ({"messages": [U([{"type": "text", "text": "q"}]), A([{"type": "text", "text": "a"}])]}, ONE),
    "several turns": ({"messages": [Q, A("a"), AGAIN, A("a")]}, LONG),
    "alpaca": ({"instruction": "q", "input": "", "output": "a"}, ONE),
    "alpaca with a history": ({"instruction": "r", "input": "", "output": "a", "history": [["q", "a"]]}, LONG),
    "OpenRLHF": ({"input": "q", "output": "a"}, ONE),
    "gsm8k": ({"question": "q", "answer": "a"}, ONE),
    "metamath": ({"query": "q", "response": "a", "type": "x"}, ONE),
    "OpenOrca": ({"system_prompt": "s", "question": "q", "response": "a"}, WITH_SYSTEM),
    "dolly": ({"instruction": "q", "context": "c", "response": "a"}, [("user", "q\nc")]),
    "a question with its context": ({"question": "q", "context": "c", "answer": "a"}, [("user", "q\nc")]),
    "an empty prompt beside a question": ({"prompt": "", "question": "q", "answer": "a"}, ONE),
    "prompt messages and a response": ({"prompt": [Q], "response": "a"}, ONE),
    "numina": ({"problem": "q", "solution": "not this", "messages": [Q, ANSWER]}, ONE),
    "an output of messages": ({"input": [Q], "output": [ANSWER]}, ONE),
    "Gemini": ({"contents": GEMINI, "systemInstruction": {"role": "system", "parts": [{"text": "s"}]}}, WITH_SYSTEM),
    "a system column of parts": ({"system": [{"type": "text", "text": "s"}], "messages": [Q, ANSWER]}, WITH_SYSTEM),
    "a system_prompt beside a conversation": ({"system_prompt": "s", "conversations": SHAREGPT}, WITH_SYSTEM),
    "messages as JSON text": ({"messages": json.dumps([Q, ANSWER])}, ONE),
    "messages as a Python literal": ({"messages": str([Q, ANSWER])}, ONE),
    "a prompt of messages as JSON text": ({"prompt": json.dumps([S("s"), Q]), "completion": "a"}, WITH_SYSTEM),
    "JSON that is no conversation": ({"prompt": '[{"a": 1}]', "completion": "a"}, [("user", '[{"a": 1}]')]),
    "full-hh-rlhf": ({"prompt": HH, "response": "a"}, LONG),
    "weights of SlimOrca": ({"messages": [Q | {"weight": 0.0}, ANSWER | {"weight": 1.0}]}, ONE),
    "ours": ({"prompt": "q\n\na\n\nr", "turns": [Q, ANSWER, AGAIN], "completion": "a", "origin": "sampled"}, LONG),
}
PAIRS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "TRL's texts": ({"prompt": "q", "chosen": "a", "rejected": "b"}, ONE),
    "TRL's messages": ({"prompt": [Q], "chosen": [ANSWER], "rejected": [OTHER]}, ONE),
    "prompt text, answers as messages": ({"prompt": "q", "chosen": [ANSWER], "rejected": [OTHER]}, ONE),
    "whole conversations": ({"chosen": [Q, ANSWER], "rejected": [Q, OTHER]}, ONE),
    "ultrafeedback_binarized": (
        {"prompt": "q", "chosen": [Q, ANSWER], "rejected": [Q, OTHER], "messages": [Q, ANSWER], "score_chosen": 8.0},
        ONE,
    ),
    "prompt messages beside whole conversations": ({"prompt": [Q], "chosen": [Q, ANSWER], "rejected": [Q, OTHER]}, ONE),
    "a system in whole conversations": (
        {"prompt": "q", "chosen": [S("s"), Q, ANSWER], "rejected": [S("s"), Q, OTHER]},
        WITH_SYSTEM,
    ),
    "prompt null": ({"prompt": None, "chosen": [Q, ANSWER], "rejected": [Q, OTHER]}, ONE),
    "several turns": ({"chosen": [Q, ANSWER, AGAIN, ANSWER], "rejected": [Q, ANSWER, AGAIN, OTHER]}, LONG),
    "LLaMA-Factory": (
        {"conversations": SHAREGPT[:1], "chosen": SHAREGPT[1], "rejected": {"from": "gpt", "value": "b"}},
        ONE,
    ),
    "LLaMA-Factory's alpaca": ({"instruction": "q", "chosen": "a", "rejected": "b"}, ONE),
    "orca pairs": ({"system": "s", "question": "q", "chosen": "a", "rejected": "b"}, WITH_SYSTEM),
    "full-hh-rlhf": ({"prompt": HH, "chosen": "a", "rejected": "b"}, LONG),
    "hh-rlhf": ({"chosen": "\n\nHuman: q\n\nAssistant: a", "rejected": "\n\nHuman: q\n\nAssistant: b"}, ONE),
}
RL: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "TRL's text": ({"prompt": "q", **RULE}, ONE),
    "TRL's messages": ({"prompt": [S("s"), Q], **RULE}, WITH_SYSTEM),
    "a question": ({"question": "q", "answer": "4", **RULE}, ONE),
    "messages as JSON text": ({"prompt": json.dumps([Q]), **RULE}, ONE),
    "kwargs as JSON text": ({"prompt": "q", **RULE, "kwargs": "[{}]"}, ONE),
    "kwargs as one mapping of lists": ({"prompt": "q", **RULE, "kwargs": {"num_words": [None]}}, ONE),
    "open-instruct": ({"messages": [Q], "ground_truth": LITERAL, "dataset": "ifeval"}, ONE),
    "prompt beside messages": ({"prompt": "q", "messages": [Q, ANSWER], **RULE}, ONE),
    "verl": ({"prompt": [Q], "reward_model": {"style": "rule", "ground_truth": json.dumps(RULE)}}, ONE),
    "OpenRLHF": ({"prompt": [Q], "label": json.dumps(RULE)}, ONE),
}
SIDES = {"sft": {"completion": "a"}, "pairs": {"chosen": "a", "rejected": "b"}, "rl": {}}
KINDS = {"sft": SftRow, "pairs": PairRow, "rl": RlRow}
TAKEN = [
    pytest.param(table, row, turns, id=f"{table}: {name}")
    for table, shapes in (("sft", SFT), ("pairs", PAIRS), ("rl", RL))
    for name, (row, turns) in shapes.items()
]
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("sft", {"conversations": [*SHAREGPT, {"from": "human", "value": "thanks, bye"}]}, "it is the user's: 'thanks, bye'"),
    ("sft", {"messages": [Q, ANSWER, BYE]}, "it is the user's: 'thanks, bye'"),
    ("sft", {"messages": [Q, A(None)]}, "without a content"),
    ("sft", {"messages": [Q, A(None) | {"tool_calls": [{"function": {"name": "f"}}]}]}, "call of a tool"),
    ("sft", {"messages": [Q, {"role": "tool", "content": "6"}, ANSWER]}, "call of a tool or its result"),
    ("sft", {"messages": [U([{"type": "image"}, {"type": "text", "text": "q"}]), ANSWER]}, "a part of type 'image'"),
    ("sft", {"messages": [Q, ANSWER], "tools": [{"name": "search"}]}, "'tools' cannot be trained on"),
    ("sft", {"messages": [{"role": "judge", "content": "q"}, ANSWER]}, "its role is 'judge'"),
    ("sft", {"messages": [{"content": "q"}, ANSWER]}, "its role is None"),
    ("sft", {"messages": "q a"}, "completion must be"),
    ("sft", {"prompt": [Q, ANSWER], "completion": "a"}, "ends with a user's turn"),
    ("sft", {"prompt": "q", "completion": "a", "label": False}, "not preferred"),
    ("sft", {"prompt": "Another question", "messages": [Q, ANSWER]}, "prompt says 'Another question'"),
    ("sft", {"prompt": "other", "completion": [Q, ANSWER]}, "other words of the user"),
    ("sft", {"question": "q", "solution": "long", "answer": "4"}, "answer and solution could each be its completion"),
    ("sft", {"messages": [Q, ANSWER | {"weight": 0}]}, "marked as not to be learned"),
    ("sft", {"messages": [Q, ANSWER | {"train": False}]}, "marked as not to be learned"),
    ("sft", {"question": {"text": "q"}, "answer": "a"}, "in the columns question, answer"),
    ("sft", {"prompt": "q", "output": 4}, "output must be a text or a list of messages, got int"),
    ("sft", {"text": "q a"}, "there is none in the columns text"),
    ("pairs", {"chosen": [Q, ANSWER], "rejected": [Q, ANSWER, AGAIN, OTHER]}, "differ before their last message"),
    ("pairs", {"chosen": [S("s"), Q, ANSWER], "rejected": [S("t"), Q, OTHER]}, "from message 1 on"),
    ("pairs", {"prompt": "other", "chosen": [Q, ANSWER], "rejected": [Q, OTHER]}, "prompt says 'other'"),
    ("pairs", {"prompt": "q", "chosen": [Q, ANSWER], "rejected": "b"}, "chosen must be"),
    ("pairs", {"chosen": "The sky is blue.", "rejected": "The sky is green."}, "no prompt that ends with a user's turn"),
    ("pairs", {"chosen": [Q, ANSWER, BYE], "rejected": [Q, ANSWER, BYE]}, "it is the user's"),
    ("pairs", {"prompt": "q", "completion": "a", "label": True}, "chosen must be"),
    ("rl", {"prompt": [Q, A("Sure,")], **RULE}, "ends with a user's turn"),
    ("rl", {"messages": [Q], "ground_truth": '{"func_name": "validate_lowercase"}'}, "'validate_lowercase'"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "row", "turns"), TAKEN)
def test_a_row_is_read_by_roles(table: str, row: dict[str, Any], turns: list[tuple[str, str]]) -> None:
    found = read_exchange(row, table)
    assert [(one.role, one.content) for one in found.turns] == turns
    assert found.answers == SIDES[table]
    again = read_exchange(in_trl_columns(row, table), table)
    assert again.turns == found.turns
    assert again.answers == found.answers


@pytest.mark.parametrize(("table", "row", "turns"), TAKEN)
def test_training_and_converting_read_it_alike(
    table: str, row: dict[str, Any], turns: list[tuple[str, str]], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from adhere.train.recipe.data import row_of

    learned: Any = row_of(row, KINDS[table])
    assert learned.prompt == "\n\n".join(text for _, text in turns)
    assert {side: getattr(learned, side) for side in SIDES[table]} == SIDES[table]
    if table == "rl":
        assert learned.instruction_id_list == ("punctuation:no_comma",)
    (tmp_path / "rows.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(row).encode() + b"\n")
    made = converted(tmp_path, table, "openrlhf")
    asked = made["input"] if table == "sft" else made["prompt"]
    assert [(one["role"], one["content"]) for one in asked] == turns
    if table == "sft":
        assert made["output"] == "a"
    if table == "pairs":
        assert [made[side] for side in ("chosen", "rejected")] == [[A("a")], [A("b")]]
    if table == "rl":
        assert json.loads(made["label"])["instruction_id_list"] == ["punctuation:no_comma"]


def converted(folder: Path, table: str, shape: str) -> dict[str, Any]:
    command = ["build", "convert", str(folder / "rows.jsonl"), "--table", table, "--to", shape, "--out",
        str(folder / "made.jsonl")]  # fmt: skip
    done = CliRunner().invoke(adhere, command)
    if done.exception is not None:
        raise done.exception
    return dict(json.loads((folder / "made.jsonl").read_text()))


@pytest.mark.parametrize(("table", "row", "said"), REFUSED)
def test_what_is_not_understood_is_refused_by_file_and_line(
    table: str, row: dict[str, Any], said: str, tmp_path: Path
) -> None:
    good = {"sft": SFT, "pairs": PAIRS, "rl": RL}[table]["TRL's texts" if table != "rl" else "TRL's text"][0]
    (tmp_path / "rows.jsonl").write_text(json.dumps(good) + "\n\n" + json.dumps(row) + "\n")
    with pytest.raises(UsageError, match=f"rows.jsonl:3: .*{said}"):
        converted(tmp_path, table, "openrlhf")
    transform = ["build", "transform", "normalise" if table != "rl" else "role_rules", str(tmp_path / "rows.jsonl"),
        "--table", table, "--out", str(tmp_path / "t.jsonl")]  # fmt: skip
    done = CliRunner().invoke(adhere, transform)
    assert isinstance(done.exception, UsageError), done.output
    assert not (tmp_path / "t.jsonl").exists()
    assert not (tmp_path / "made.jsonl").exists()


@pytest.mark.parametrize(("shape", "table"), [("llamafactory", "sft"), ("sharegpt", "sft"), ("sharegpt", "pairs")])
def test_what_another_tool_cannot_hold_is_refused(shape: str, table: str, tmp_path: Path) -> None:
    answer = {"completion": "a"} if table == "sft" else {"chosen": "a", "rejected": "b"}
    for turns, said in (([Q, S("s"), AGAIN], "a system message stands"), ([Q, AGAIN], "do not speak by turns")):
        (tmp_path / "rows.jsonl").write_text(json.dumps({"prompt": turns, **answer}))
        if shape == "sharegpt" and "turns" in said:
            assert [one["from"] for one in converted(tmp_path, table, shape)["conversations"]][:2] == ["human"] * 2
            continue
        with pytest.raises(UsageError, match=f"rows.jsonl:1: .*{said}"):
            converted(tmp_path, table, shape)


@pytest.mark.parametrize(("table", "row", "turns"), TAKEN)
def test_decontaminating_sees_what_is_asked(
    table: str,
    row: dict[str, Any],
    turns: list[tuple[str, str]],
) -> None:
    from adhere.build.decontaminate.rows import default_columns, text_of

    if {"instruction", "input"} & set(row) or turns[-1][1].startswith("["):
        assert turns[-1][1].removesuffix("\nc") in text_of(row, default_columns(row))
    else:
        assert {"q"} <= set(text_of(row, default_columns(row)).split()) | set(
            text_of(row, default_columns(row)).split(": ")
        )


def test_rewards_refuse_kwargs_of_another_shape_by_what_they_are() -> None:
    from adhere.rewards.rows import refs_of

    assert refs_of(["a:b", "c:d"], {"n": [1, None], "m": None, "o": [None, "x"]})[1].params == {"o": "x"}
    assert refs_of(["a:b"], "[None]")[0].params == {}
    for kwargs, said in (
        ({"n": [1]}, "a value for every one of 2 ids"),
        ({"n": 3}, "'n' has 3"),
        ([1, 2], "a list of mappings"),
        ("x", "JSON text"),
    ):
        with pytest.raises(UsageError, match=said):
            refs_of(["a:b", "c:d"], kwargs)
    with pytest.raises(UsageError, match="instruction_id_list must be a list or its JSON text"):
        refs_of("a:b", [{}])
