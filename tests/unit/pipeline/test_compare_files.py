"""Whatever stored them, two measurements are paired by prompt and compared by the same statistics."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import RunMismatch, SpecError, UsageError
from adhere.pipeline.compare.paired import compare_outcomes, paired_by_prompt
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites.base import Suite
from adhere.verify.answers import verify
from adhere.verify.stored import read_outcomes

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[3].parent / "shared" / "data")) / "ifeval"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def verdicts(path: Path, passes: dict[int, list[Any]], **more: Any) -> Path:
    rows = [
        {"key": key, "index": index, "instruction_id": "x:y", "strict": value, "loose": True, **more}
        for key, values in passes.items()
        for index, value in enumerate(values)
    ]
    return write(path, rows)


def test_a_prompt_passes_when_every_instruction_does(tmp_path: Path) -> None:
    file = verdicts(
        tmp_path / "a.jsonl",
        {1: [True, True], 2: [True, False], 3: ["pass"], 4: ["pass", "undecided"], 5: ["undecided", "fail"]},
    )
    assert read_outcomes(file).rates == {"1": 1.0, "2": 0.0, "3": 1.0, "4": None, "5": 0.0}
    assert set(read_outcomes(file, view="loose").rates.values()) == {1.0}


def test_lm_eval_samples(tmp_path: Path) -> None:
    rows = [
        {
            "doc_id": i,
            "doc": {"key": 1000 + i, "prompt": "p"},
            "resps": [["x"]],
            "filtered_resps": ["x"],
            "arguments": {},
            "metrics": ["prompt_level_strict_acc", "inst_level_strict_acc", "prompt_level_loose_acc"],
            "prompt_level_strict_acc": i % 2 == 0,
            "inst_level_strict_acc": [True],
            "prompt_level_loose_acc": True,
        }
        for i in range(4)
    ]
    found = read_outcomes(write(tmp_path / "samples_ifeval_2026.jsonl", rows))
    assert found.rates == {"1000": 1.0, "1001": 0.0, "1002": 1.0, "1003": 0.0}
    assert found.measure == "lm-eval's prompt_level_strict_acc"
    assert set(read_outcomes(tmp_path / "samples_ifeval_2026.jsonl", view="loose").rates.values()) == {1.0}
    with pytest.raises(UsageError, match="Did you mean 'prompt_level_strict_acc'"):
        read_outcomes(tmp_path / "samples_ifeval_2026.jsonl", score="prompt_level_strict_ac")


def test_evalscope_reviews(tmp_path: Path) -> None:
    rows = [
        {
            "index": i,
            "input": "q",
            "target": "",
            "sample_score": {
                "sample_id": i,
                "group_id": i,
                "score": {"value": {"prompt_level_strict": float(i > 1), "inst_level_strict": 1.0}, "prediction": "x"},
            },
        }
        for i in range(4)
    ]
    file = write(tmp_path / "reviews" / "qwen" / "ifeval_default.jsonl", rows)
    found = read_outcomes(file)
    assert (found.name, found.measure) == ("qwen", "EvalScope's prompt_level_strict")
    assert found.rates == {"0": 0.0, "1": 0.0, "2": 1.0, "3": 1.0}
    with pytest.raises(SpecError, match=r":5: not a review of EvalScope"):
        read_outcomes(write(file, [*rows, {"index": 9}]))


def test_what_verify_writes_is_read(tmp_path: Path) -> None:
    """Compressed, and with a byte order mark, as `adhere verify` reads files."""
    file = verdicts(tmp_path / "a.jsonl", {1: [True], 2: [False]})
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    marked = tmp_path / "b.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert (
        read_outcomes(packed).rates == read_outcomes(marked).rates == read_outcomes(file).rates == {"1": 1.0, "2": 0.0}
    )


def test_a_conversation_with_a_turn_missing_is_not_passed(tmp_path: Path) -> None:
    """As `adhere verify` and `adhere eval` count it: undecided where no constraint failed."""
    rule = ConstraintRef("punctuation:no_comma")
    prompts = tuple(Prompt(name, (Turn("p", (rule,)), Turn("q", (rule,)))) for name in ("a", "b", "c"))
    suite = Suite("talk", "1", prompts)
    said = {"a": ["x", "x"], "b": ["x"], "c": [","]}
    rows = [
        {"key": key, "turn": turn, "response": text} for key, texts in said.items() for turn, text in enumerate(texts)
    ]
    answers = write(tmp_path / "answers.jsonl", rows)
    assert read_outcomes(answers, suite=suite).rates == {"a": 1.0, "b": None, "c": 0.0}
    verify(suite, answers, verdicts=tmp_path / "v.jsonl")
    assert read_outcomes(tmp_path / "v.jsonl", suite=suite).rates == {"a": 1.0, "b": None, "c": 0.0}


def test_a_verdict_stands_once(tmp_path: Path) -> None:
    file = verdicts(tmp_path / "a.jsonl", {1: [True]})
    file.write_text(file.read_text() * 2)
    with pytest.raises(SpecError, match=r"a\.jsonl:2: instruction 0 of key 1 has a verdict above already"):
        read_outcomes(file)
    assert read_outcomes(verdicts(tmp_path / "b.jsonl", {1: [True, True]}, draw=1)).rates == {"1": 1.0}
    with pytest.raises(SpecError, match="`draw` is a number"):
        read_outcomes(verdicts(tmp_path / "c.jsonl", {1: [True]}, draw="first"))


def test_what_is_not_there_is_said_whatever_stands_beside_it(tmp_path: Path) -> None:
    file = verdicts(tmp_path / "a.jsonl", {1: [True]})
    for beside, words in ((tmp_path, "is no Run"), (file, "no such file")):
        said = CliRunner().invoke(adhere, ["compare", str(beside), str(tmp_path / "nope")])
        assert words in str(said.exception)


def test_what_cannot_be_read_says_what_can(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_outcomes(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="Wanted are verdict rows"):
        read_outcomes(write(tmp_path / "odd.jsonl", [{"colour": "red"}]))
    with pytest.raises(UsageError, match="--suite"):
        read_outcomes(write(tmp_path / "answers.jsonl", [{"key": 1, "response": "x"}]))
    with pytest.raises(SpecError, match=r"v\.jsonl:1: a verdict row needs"):
        read_outcomes(write(tmp_path / "v.jsonl", [{"key": 1, "instruction_id": "a", "strict": "maybe"}]))


def test_only_common_prompts_are_paired_and_the_rest_is_said() -> None:
    a = ("a", "m", {"1": 1.0, "2": 0.0, "3": 1.0, "9": 1.0})
    b = ("b", "m", {"1": 0.0, "2": 0.0, "3": 0.0})
    found = compare_outcomes(a, b, view="strict")
    assert (found.overall.n, found.overall.gained, found.overall.lost) == (3, 2, 0)
    assert any("1 prompts stand in one of the two files only" in note for note in found.notes)
    with pytest.raises(RunMismatch, match="no prompt in common"):
        compare_outcomes(a, ("c", "m", {"x": 1.0}), view="strict")


def test_prompts_of_one_source_are_one_cluster() -> None:
    ids = [f"p{i}" for i in range(120)]
    a = {name: float(i < 24) for i, name in enumerate(ids)}
    b = dict.fromkeys(ids, 0.0)
    alone = paired_by_prompt(a, b, ids)
    together = paired_by_prompt(a, b, ids, clusters={name: str(i // 6) for i, name in enumerate(ids)})
    assert together.difference == alone.difference
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert together.p_value > alone.p_value
    assert together.method.startswith("t over 20 clusters")


def test_directories_and_files_do_not_mix(tmp_path: Path) -> None:
    file = verdicts(tmp_path / "a.jsonl", {1: [True]})
    said = CliRunner().invoke(adhere, ["compare", str(tmp_path), str(file)])
    assert "not both" in str(said.output) + str(said.exception)


def test_stored_answers_of_two_models(tmp_path: Path) -> None:
    """Qwen2.5-7B against Llama-3.1-8B on IFEval.

    From published verdicts and from our own judging of the stored answers.
    """
    if not DATA.exists():
        pytest.skip(f"{DATA} is not there (ADHERE_DATA)")
    names = ["Qwen--Qwen2.5-7B-Instruct-GPTQ-Int4.jsonl", "hugging-quants--Meta-Llama-3.1-8B-Instruct-AWQ-INT4.jsonl"]
    ran = CliRunner().invoke(adhere, ["compare", *(str(DATA / "verdicts" / name) for name in names), "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)[0]["overall"]
    assert found["n"] == 541
    assert found["rate_a"] == pytest.approx(0.730, abs=0.001)
    assert found["rate_b"] == pytest.approx(0.719, abs=0.001)
    assert (found["gained"], found["lost"]) == (70, 64)
    assert found["low"] < 0 < found["high"]
    assert 0.05 < found["minimum_detectable"] < 0.07
