"""Runs as other harnesses' files: our own importer finds the same verdicts in them.

Their own readers: tests/integration/test_harnesses.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.harness.harness_runs import TEXTS, make_run, suite_file

from adhere.cli import adhere
from adhere.errors import MissingExtra, UsageError
from adhere.integrations import need_harness
from adhere.integrations.lm_eval.task import process_results, refuse, share, task_name, write_task
from adhere.integrations.shared.export import export
from adhere.integrations.shared.scoring import SaidAnswer, columns, prompt_of, score_answers
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.outcomes import pass_rates
from adhere.schema import ConstraintRef, GivenMessages, Message, Prompt, Sampling, Tool, ToolCall, Turn, View
from adhere.store.run import Run
from adhere.suites import load
from adhere.suites.base import Suite
from adhere.verify.answers import verify
from adhere.verify.imports import read_import
from adhere.verify.stored import read_outcomes

READ_BACK = ("inspect", "lm-eval", "evalscope")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("run"))


def log_of(files: list[Path]) -> Path:
    """The one that holds scores item by item."""
    return next(file for file in files if "samples_" in file.name or "reviews" in file.parts or "00-00" in file.name)


@pytest.mark.parametrize("view", ["strict", "loose"])
@pytest.mark.parametrize("to", READ_BACK)
def test_the_importer_finds_the_run_s_own_verdicts(to: str, view: View, run: Run, tmp_path: Path) -> None:
    files, notes = export(run, tmp_path, to=to)  # type: ignore[arg-type]
    found = read_outcomes(log_of(files), view=view)
    own = pass_rates(run, view=view)
    assert own == {"1000": 0.0, "1001": 1.0, "1002": None, "1003": None}
    assert {key: rate for key, rate in found.rates.items() if rate is not None} == {"1000": 0.0, "1001": 1.0}
    assert bool(notes) == (to == "lm-eval"), "a failed call has no place there, which is said"


@pytest.mark.parametrize("to", READ_BACK)
def test_the_answers_are_all_there(to: str, run: Run, tmp_path: Path) -> None:
    files, _ = export(run, tmp_path, to=to)  # type: ignore[arg-type]
    found = read_import(log_of(files))
    assert found is not None
    texts = {answer.key: answer.response for answer in found.answers if answer.status != "error" and answer.key != 1003}
    assert texts == TEXTS
    judged = CliRunner().invoke(
        adhere,
        ["verify", str(log_of(files)), "--suite", f"ifeval:{suite_file(tmp_path)}", "--json", "--min-coverage", "0"],
        catch_exceptions=False,
    )
    assert json.loads(judged.stdout)["n_prompts"] == 3


@pytest.mark.parametrize("to", READ_BACK)
def test_cut_answers_and_failed_calls_come_back_as_such(to: str, tmp_path: Path) -> None:
    """A cut answer fails in this suite whatever it says: judged as a finished one, half of these would pass."""
    suite = load("core", limit=12)
    answers = iter(["so it is"] * 6 + ["so it is and it goes on"] * 5)
    run = evaluate_sync(
        ScriptedModel(lambda _: next(answers)), suite, tmp_path / "run", sampling=Sampling(max_new_tokens=3)
    )
    own = run.summary().overall
    assert run.summary().accounting.truncated == 5
    files, _ = export(run, tmp_path / "out", to=to)  # type: ignore[arg-type]
    found = verify(suite, log_of(files))
    assert found.accounting.responses.truncated == 5
    assert (found.rates["prompt_strict"].passed, found.rates["prompt_strict"].n) == (
        own.prompt_strict.passed,
        own.prompt_strict.n,
    )


def test_each_verdict_stands_in_the_log_with_its_reason(run: Run, tmp_path: Path) -> None:
    files, _ = export(run, tmp_path, to="inspect")
    sample = json.loads(files[0].read_text())["samples"][0]
    score = sample["scores"]["adhere"]
    assert "fail: punctuation:no_comma: " in score["explanation"]
    outcomes = {(row["instruction_id"], row["view"]): row["outcome"] for row in score["metadata"]["verdicts"]}
    assert outcomes["punctuation:no_comma", "strict"] == "fail"
    assert outcomes["length_constraints:number_words", "strict"] == "pass"
    assert score["value"]["inst_level_strict"] == 0.5


def test_several_draws(tmp_path: Path) -> None:
    run = make_run(tmp_path, "--draws", "2", "--temperature", "1")
    for to in ("inspect", "evalscope"):
        files, _ = export(run, tmp_path / to, to=to)  # type: ignore[arg-type]
        found = read_import(log_of(files))
        assert found is not None
        assert [(answer.key, answer.draw) for answer in found.answers][:4] == [
            (1000, 0),
            (1000, 1),
            (1001, 0),
            (1001, 1),
        ]
    with pytest.raises(UsageError, match=r"2 draws for each prompt.*Use --to inspect"):
        export(run, tmp_path, to="lm-eval")


def test_a_task_folder_of_lm_eval(tmp_path: Path) -> None:
    name = write_task(f"ifeval:{suite_file(tmp_path)}", tmp_path / "tasks")
    assert name == "adhere_ifeval_prompts"
    text = (tmp_path / "tasks" / f"{name}.yaml").read_text()
    assert "max_gen_toks" in text
    assert str(tmp_path.resolve()) in text, "lm-eval may be started elsewhere"
    assert task_name("diagnostic:x5+seed7") == "adhere_diagnostic_x5_seed7"
    for suite, what in (("multi-turn:x1", "several turns"), ("system:x1", "a system prompt")):
        with pytest.raises(UsageError, match=f"{what}, which such a task cannot ask"):
            write_task(suite, tmp_path / "tasks")


def test_what_lm_eval_is_given_for_one_document(tmp_path: Path) -> None:
    prompts = {prompt.key: prompt for prompt in load(f"ifeval:{suite_file(tmp_path)}").prompts}
    assert process_results(columns(prompts[1000]), [TEXTS[1000]]) == {
        "prompt_level_strict_acc": 0.0,
        "prompt_level_loose_acc": 0.0,
        "inst_level_strict_acc": [False, True],
        "inst_level_loose_acc": [False, True],
    }
    assert process_results(columns(prompts[1002]), [TEXTS[1002]]) == {}, "undecided: no number"
    assert (
        process_results(columns(prompts[1001]), ["<think>HM</think>hello and welcome, how are you"])[
            "prompt_level_strict_acc"
        ]
        == 1.0
    )
    assert share([[True, False], [True]]) == pytest.approx(2 / 3)
    assert prompt_of(columns(prompts[1000])) == prompts[1000]


def test_cut_answers_count_as_the_suite_says(tmp_path: Path) -> None:
    prompt = load(f"ifeval:{suite_file(tmp_path)}").prompts[1]
    said = [SaidAnswer(TEXTS[1001], "truncated")]
    assert score_answers(prompt, said).scores["prompt_level_strict"] == 1.0
    assert score_answers(prompt, said, cut_answers="fail").scores["prompt_level_strict"] == 0.0
    assert score_answers(prompt, []).scores == {}


def test_from_the_command_line(run: Run, tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        adhere, ["export", str(run.directory), "--to", "evalscope", "--out", str(tmp_path)], catch_exceptions=False
    )
    assert [Path(line).exists() for line in ran.stdout.splitlines()] == [True] * 3
    for wrong, message in (
        (["export", "--to", "inspect", "--out", str(tmp_path)], "Give runs, or --suite NAME"),
        (["export", "--suite", "core", "--to", "inspect", "--out", str(tmp_path)], "takes our suites without a file"),
    ):
        ran = CliRunner().invoke(adhere, wrong)
        assert isinstance(ran.exception, UsageError)
        assert message in str(ran.exception)


def test_a_harness_that_is_not_there_is_named_with_its_command() -> None:
    with pytest.raises(
        MissingExtra,
        match=r"needs lm-eval, and the package 'lm_eval_absent' is not installed\. Run: pip install lm-eval",
    ):
        need_harness("lm_eval_absent.api", "lm-eval")


def test_given_messages_are_in_the_files(tmp_path: Path) -> None:
    call = ToolCall("c1", "look_up", {"word": "plum"})
    given = GivenMessages(
        before=(Message("user", "Hi."), Message("assistant", "Hello.")),
        after=(Message("assistant", "", (call,)), Message("tool", "A fruit.", call_id="c1")),
        tools=(Tool("look_up", "Looks up.", {"type": "object", "properties": {}}),),
    )
    prompt = Prompt("a", (Turn("What is a plum?", (ConstraintRef("case:lower"),)),), given=given)
    run = evaluate_sync(ScriptedModel(lambda _: "a fruit"), Suite("mine", "1", (prompt,)), tmp_path / "run")
    (log,) = export(run, tmp_path / "inspect", to="inspect")[0]
    (sample,) = json.loads(log.read_text())["samples"]
    assert [message["role"] for message in sample["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert sample["input"][3]["tool_calls"] == [
        {"id": "c1", "function": "look_up", "arguments": {"word": "plum"}, "type": "function"}
    ]
    assert (sample["input"][4]["function"], sample["input"][4]["tool_call_id"]) == ("look_up", "c1")
    reviews = next(file for file in export(run, tmp_path / "evalscope", to="evalscope")[0] if "reviews" in str(file))
    messages = json.loads(reviews.read_text().splitlines()[0])["messages"]
    assert messages[3]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": {"word": "plum"}}
    files, notes = export(run, tmp_path / "lm", to="lm-eval")
    assert notes == ["given messages and tools stand in the column adhere of `doc` only"]
    (row,) = (json.loads(line) for line in files[0].read_text().splitlines())
    assert prompt_of(row["doc"]) == prompt
    with pytest.raises(UsageError, match="has given messages, which such a task cannot ask"):
        refuse(prompt, "mine")
