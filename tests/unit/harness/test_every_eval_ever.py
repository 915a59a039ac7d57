"""Runs as records of Every Eval Ever. Its schemas are its own: `ADHERE_EVERY_EVAL_EVER` names a folder with them."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.harness.harness_runs import make_run

from adhere.cli import adhere
from adhere.integrations.every_eval_ever.write import model_of, suite_of, write
from adhere.models.fake.scripted import ScriptedModel, open_scripted
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef, Prompt, Response, Turn, Usage
from adhere.suites import load
from adhere.suites.base import Suite

LOWER = ConstraintRef("case:lower")
TALK = Suite(
    "talk",
    "1",
    (
        Prompt("a", (Turn("One?", (LOWER,)), Turn("Two?", (LOWER,))), system="Be kind."),
        Prompt("b", (Turn("Three?", (LOWER,)),)),
    ),
)


def talk(folder):
    def script(call):
        return Response(
            call.prompt_id, call.turn, call.draw, f"<think>hm</think>turn {call.turn}", "ok", usage=Usage(5, 3, 1)
        )

    return evaluate_sync(ScriptedModel(script), TALK, folder, draws=2)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    root = tmp_path_factory.mktemp("eee")
    found = [write(run, root / "out")[0] for run in (make_run(root), talk(root / "talk"))]
    return [
        (json.loads(record.read_text()), [json.loads(line) for line in rows.read_text().splitlines()])
        for record, rows in found
    ], root


def test_a_record_has_what_the_schema_requires_and_the_run_s_numbers(records):
    (((ifeval, rows), (talked, turns)), root) = records
    for record in (ifeval, talked):
        assert record.keys() >= {
            "schema_version",
            "evaluation_id",
            "retrieved_timestamp",
            "source_metadata",
            "eval_library",
            "model_info",
            "evaluation_results",
        }
        for result in record["evaluation_results"]:
            assert result.keys() >= {"evaluation_name", "source_data", "metric_config", "score_details"}
            assert result["metric_config"]["lower_is_better"] is False
    assert ifeval["evaluation_results"][0]["score_details"]["score"] == 0.5
    assert ifeval["evaluation_results"][0]["score_details"]["uncertainty"]["confidence_interval"]["lower"] > 0
    assert [(row["sample_id"], row["evaluation"]["is_correct"]) for row in rows] == [("1000", False), ("1001", True)]
    assert {result["metric_config"]["metric_name"] for result in talked["evaluation_results"]} >= {"pass@2", "pass^2"}
    many = next(row for row in turns if row["interaction_type"] == "multi_turn")
    assert [message["role"] for message in many["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert [message["reasoning_trace"] for message in many["messages"]] == [None, None, "hm", None, "hm"]
    assert next(row for row in turns if row["sample_id"] == "b draw 1")["output"] == {
        "raw": ["turn 0"],
        "reasoning_trace": ["hm"],
    }
    assert str(root) not in json.dumps(records[0])


def test_it_is_valid_by_the_published_schemas(records):
    folder = os.environ.get("ADHERE_EVERY_EVAL_EVER")
    if not folder:
        pytest.skip("needs Every Eval Ever's schemas")
    jsonschema = pytest.importorskip("jsonschema")
    whole, single = (
        json.loads((Path(folder) / f"{name}.schema.json").read_text()) for name in ("eval", "instance_level_eval")
    )
    for record, rows in records[0]:
        jsonschema.Draft7Validator(whole).validate(record)
        for row in rows:
            jsonschema.Draft7Validator(single).validate(row)


def test_names_without_paths():
    assert model_of("openrouter/qwen/qwen-2.5-7b-instruct") == ("qwen", "qwen-2.5-7b-instruct")
    assert model_of("http://10.0.0.7:8000/v1#Qwen/Qwen3-4B") == ("Qwen", "Qwen3-4B")
    assert model_of("hf//home/me/model") == ("unknown", "model")
    assert model_of("local/smollm2-135m") == ("local", "smollm2-135m")
    assert (suite_of("ifeval:/home/me/input.jsonl"), suite_of("core:x4+seed7")) == ("ifeval", "core:x4+seed7")


def test_the_command_and_what_is_not_measured(tmp_path):
    run = make_run(tmp_path)
    result = CliRunner().invoke(
        adhere, ["export", str(run.directory), "--to", "every-eval-ever", "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    assert "2 conversations without a verdict" in result.output


def test_an_episode_has_every_message_and_call_of_its_own(tmp_path):
    run = evaluate_sync(open_scripted("scripted/solver"), load("world:files:x2"), tmp_path / "run")
    write(run, tmp_path / "out")
    (file,) = (tmp_path / "out").rglob("*_samples.jsonl")
    for line, prompt, response in zip(file.read_text().splitlines(), run.prompts(), run.responses(), strict=True):
        messages = json.loads(line)["messages"]
        said = (*prompt.messages(), *response.steps)
        assert [(one["role"], one["content"]) for one in messages] == [(one.role, one.content) for one in said]
        called = [call["name"] for one in messages for call in one["tool_calls"] or ()]
        assert called == [call.name for one in response.steps for call in one.calls]
        assert called
