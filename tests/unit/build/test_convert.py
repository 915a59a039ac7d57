"""Converters: to other tools and back as it was; and what their own loaders make of it, where they are installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.build.convert import back, convert, messages_of, read_table, write_table
from adhere.cli import adhere
from adhere.errors import SpecError, UsageError
from adhere.rewards.rows import asked_by, refs_in, refs_of

RIDING = {
    "prompt_id": "p-1",
    "turn": 0,
    "instruction_id_list": ["length:at_most", "keywords:include"],
    "kwargs": [{"count": 9}, {"words": ["a", "é"]}],
}
CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi\nthere"},
    {"role": "assistant", "content": "Yes?"},
    {"role": "user", "content": "Go on."},
]


def said(text: str) -> list[dict]:
    return [{"role": "assistant", "content": text}]


TABLES = {
    "sft": [
        {"prompt": "Say\nit.", "completion": 'It "is".', "origin": "sampled", **RIDING},
        {"prompt": CHAT, "completion": said("Well…"), "origin": "repaired", **RIDING, "turn": 1, "area": "coding"},
        {"prompt": [{"role": "user", "content": "alone"}], "completion": said("x"), "origin": "sampled", **RIDING},
    ],
    "pairs": [
        {"prompt": "Say it.", "chosen": "It is.", "rejected": "no", "origin": "sampled", **RIDING},
        {"prompt": CHAT[:2], "chosen": said("A"), "rejected": said("B"), "origin": "sampled", **RIDING},
    ],
    "rl": [
        {"prompt": "Say it.", "draws": 8, "score_mean": 0.5, "score_variance": 0.25, **RIDING},
        {"prompt": CHAT[:2], "draws": 8, "score_mean": 0.5, "score_variance": 0.25, **RIDING},
    ],
}
NONE = {("rl", "llamafactory"), ("rl", "sharegpt"), ("pairs", "verl")}


def test_a_conversation_as_we_build_it_keeps_its_turns() -> None:
    """`prompt` is then the text of all turns, which a trainer would have put as one user turn."""
    (made,) = convert([{"prompt": "Be kind. Hi", "turns": CHAT, **RIDING}], "rl", "verl") or []
    assert made["prompt"] == CHAT
    assert json.loads(made["reward_model"]["ground_truth"])["prompt"] == "Go on."


@pytest.mark.parametrize("shape", ["llamafactory", "verl", "openrlhf", "sharegpt"])
@pytest.mark.parametrize("table", TABLES)
def test_there_and_back(table: str, shape: str) -> None:
    made = convert(TABLES[table], table, shape)
    if (table, shape) in NONE:
        assert made is None
        return
    assert back(json.loads(json.dumps(made)), table, shape) == TABLES[table]


def test_shapes_are_what_the_tools_document() -> None:
    alpaca = convert(TABLES["sft"], "sft", "llamafactory")[1]
    assert (alpaca["instruction"], alpaca["system"], alpaca["history"], alpaca["output"]) == (
        "Go on.",
        "Be kind.",
        [["Hi\nthere", "Yes?"]],
        "Well…",
    )
    sharegpt = convert(TABLES["sft"], "sft", "sharegpt")[1]
    assert [turn["from"] for turn in sharegpt["conversations"]] == ["human", "gpt", "human", "gpt"]
    verl = convert(TABLES["rl"], "rl", "verl")[0]
    assert refs_in(verl["reward_model"]["ground_truth"], where="x")[1].params == {"words": ["a", "é"]}
    assert set(verl) >= {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    label = convert(TABLES["rl"], "rl", "openrlhf")[0]["label"]
    assert refs_in(label, where="x")[0].params == {"count": 9}
    for truth, row in ((label, TABLES["rl"][0]), (verl["reward_model"]["ground_truth"], TABLES["rl"][0])):
        assert asked_by(truth, where="x") == messages_of(row["prompt"])[-1]["content"]


@pytest.mark.parametrize("shape", ["llamafactory", "verl", "openrlhf", "sharegpt"])
def test_rows_of_others_without_our_columns(shape: str) -> None:
    rows = {
        "llamafactory": {"instruction": "Add", "input": "1 and 2", "output": "3"},
        "verl": {"messages": [{"role": "user", "content": "Add\n1 and 2"}, *said("3")]},
        "openrlhf": {"input": "Add\n1 and 2", "output": "3"},
        "sharegpt": {"conversations": [{"from": "human", "value": "Add\n1 and 2"}, {"from": "gpt", "value": "3"}]},
    }
    assert back([rows[shape]], "sft", shape) == [{"prompt": "Add\n1 and 2", "completion": "3"}]
    with pytest.raises(UsageError, match=f"Row 1: it is no sft row of {shape}"):
        back([{"other": 1}], "sft", shape)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_datasets_reads_what_we_write(tmp_path: Path, table: str, ending: str) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [row for row in TABLES[table] if isinstance(row["prompt"], str)] * 3
    path = tmp_path / f"t.{ending}"
    write_table(path, rows)
    read = datasets.load_dataset(
        "json" if ending == "jsonl" else "parquet",
        data_files=str(path),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert len(read) == 3
    assert read[0]["prompt"] == rows[0]["prompt"]
    refs = refs_of(read[0]["instruction_id_list"], read[0]["kwargs"])
    assert [(ref.id, ref.params) for ref in refs] == [
        ("length:at_most", {"count": 9}),
        ("keywords:include", {"words": ["a", "é"]}),
    ]


def test_an_empty_table_is_a_file(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    write_table(tmp_path / "e.parquet", [])
    write_table(tmp_path / "e.jsonl", [])
    assert (tmp_path / "e.jsonl").read_bytes() == b""
    assert (tmp_path / "e.parquet").stat().st_size > 0


def test_the_command(tmp_path: Path) -> None:
    write_table(tmp_path / "sft.jsonl", TABLES["sft"])
    run = CliRunner().invoke
    there = run(
        adhere,
        [
            "build",
            "convert",
            str(tmp_path / "sft.jsonl"),
            "--table",
            "sft",
            "--to",
            "sharegpt",
            "--out",
            str(tmp_path / "s.jsonl"),
        ],
    )
    assert there.exit_code == 0, there.output
    run(
        adhere,
        [
            "build",
            "convert",
            str(tmp_path / "s.jsonl"),
            "--table",
            "sft",
            "--from",
            "sharegpt",
            "--out",
            str(tmp_path / "b.jsonl"),
        ],
    )
    assert read_table(tmp_path / "b.jsonl") == TABLES["sft"]
    both = run(
        adhere, ["build", "convert", str(tmp_path / "sft.jsonl"), "--table", "sft", "--out", str(tmp_path / "x.jsonl")]
    )
    assert isinstance(both.exception, UsageError)
    (tmp_path / "bad.jsonl").write_text("{}\nnope\n")
    with pytest.raises(SpecError, match=r"bad\.jsonl:2"):
        read_table(tmp_path / "bad.jsonl")
