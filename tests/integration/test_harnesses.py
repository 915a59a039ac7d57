"""Inside other harnesses, where they are installed.

Their readers open our exports, and they run our suites, judge and models.

None of them is a dependency, so each test skips without its harness (tests/skips.py). To run them:
`pip install inspect-ai lm-eval` and, in an environment of its own, `pip install evalscope`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.harness.harness_runs import TEXTS, make_run, suite_file

from adhere.integrations.lm_eval.task import write_task
from adhere.integrations.shared.export import export
from adhere.integrations.shared.scoring import SCORES
from adhere.suites import load
from adhere.verify.imports import read_import
from adhere.verify.stored import read_outcomes

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs


def harness(module: str, package: str) -> Any:
    """Import a harness or skip."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed here")
    return importlib.import_module(module)


# inspect


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """inspect counts tokens by a vocabulary that it would download; words are enough here."""
    words = type("Words", (), {"encode": staticmethod(lambda text, **_: text.split())})
    monkeypatch.setattr(harness("tiktoken", "inspect-ai"), "get_encoding", lambda _: words)


def test_inspect_reads_our_export(tmp_path: Path) -> None:
    log_module = harness("inspect_ai.log", "inspect-ai")
    files, _ = export(make_run(tmp_path), tmp_path / "logs", to="inspect")
    log = log_module.read_eval_log(str(files[0]))
    assert (log.status, log.eval.task.partition(":")[0], len(log.samples)) == ("success", "ifeval", 4)
    values = {sample.id: (sample.scores or {}).get("adhere") for sample in log.samples}
    assert values[1000].value["prompt_level_strict"] == 0.0
    assert values[1001].value["prompt_level_strict"] == 1.0
    assert values[1002].value["prompt_level_strict"] != values[1002].value["prompt_level_strict"], "NaN: not scored"
    assert values[1003] is None
    assert log.samples[3].error is not None
    assert log.samples[0].output.completion == TEXTS[1000]
    assert {score.name for score in log.results.scores} == set(SCORES)
    assert log.results.scores[0].metrics["mean"].value == 0.5
    again = tmp_path / "again.eval"
    log_module.write_eval_log(log, str(again))
    assert read_outcomes(again).rates == read_outcomes(files[0]).rates
    listed = log_module.list_eval_logs(str(tmp_path / "logs"))
    assert len(listed) == 1, "its viewer lists what this lists"


def test_inspect_asks_and_judges_our_suite(tmp_path: Path, counted: None) -> None:
    inspect_ai = harness("inspect_ai", "inspect-ai")
    model_module = harness("inspect_ai.model", "inspect-ai")
    task = importlib.import_module("adhere.integrations.inspect_ai.task")
    answers = [
        model_module.ModelOutput.from_content("mockllm/model", TEXTS.get(key, "one, two"))
        for key in (1000, 1001, 1002, 1003)
    ]
    model = model_module.get_model("mockllm/model", custom_outputs=answers)
    (log,) = inspect_ai.eval(
        task.follow(suite=f"ifeval:{suite_file(tmp_path)}"),
        model=model,
        log_dir=str(tmp_path / "logs"),
        display="none",
        max_connections=1,
        max_samples=1,
    )
    assert log.status == "success", log.error
    assert log.eval.config.epochs in {None, 1}
    assert log.plan.config.max_tokens == load(f"ifeval:{suite_file(tmp_path)}").sampling.max_new_tokens
    values = {sample.id: sample.scores["adhere"].value for sample in log.samples}
    assert [values[key]["prompt_level_strict"] for key in (1000, 1001, 1003)] == [0.0, 1.0, 0.0]
    assert values[1002]["prompt_level_strict"] != values[1002]["prompt_level_strict"]
    strict = next(score for score in log.results.scores if score.name == "prompt_level_strict")
    assert strict.metrics["mean"].value == pytest.approx(1 / 3), "the undecided prompt is in no denominator"
    found = read_import(Path(log.location.removeprefix("file://")))
    assert found is not None
    assert {answer.key: answer.scores.get("adhere.prompt_level_strict") for answer in found.answers} == {
        1000: 0.0,
        1001: 1.0,
        1002: None,
        1003: 0.0,
    }


def test_inspect_asks_with_what_is_given(tmp_path: Path, counted: None) -> None:
    inspect_ai = harness("inspect_ai", "inspect-ai")
    model_module = harness("inspect_ai.model", "inspect-ai")
    task = importlib.import_module("adhere.integrations.inspect_ai.task")
    tool = {
        "definition": {"name": "get_users", "description": "Gets users.",
            "parameters": {"channel": {"type": "string", "description": "Which."}}},
        "call": {"id": "call_7", "name": "get_users", "arguments": {"channel": "general"}},
        "return": {"id": "call_7", "name": "get_users", "content": "Ann, Betty"},
    }  # fmt: skip
    row = {"id": 1, "system": "One word.", "instruction": "The shortest name?", "tool": tool, "answer": "Ann"}
    file = tmp_path / "slack-user/aligned/default/input_data.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([row]))
    told: list[tuple[Any, Any]] = []

    def answer(messages: Any, tools: Any, *_: Any) -> Any:
        told.append((messages, tools))
        return model_module.ModelOutput.from_content("mockllm/model", "Ann.")

    model = model_module.get_model("mockllm/model", custom_outputs=answer)
    (log,) = inspect_ai.eval(
        task.follow(suite=f"iheval:{file}"), model=model, log_dir=str(tmp_path / "logs"), display="none"
    )
    assert log.status == "success", log.error
    assert log.samples[0].scores["adhere"].value["prompt_level_strict"] == 1.0
    ((messages, tools),) = told
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool"]
    assert (messages[2].tool_calls[0].function, messages[3].text) == ("get_users", "Ann, Betty")
    assert [one.name for one in tools] == ["get_users"]


def test_inspect_holds_whole_conversations(tmp_path: Path, counted: None) -> None:
    inspect_ai = harness("inspect_ai", "inspect-ai")
    task = importlib.import_module("adhere.integrations.inspect_ai.task")
    (log,) = inspect_ai.eval(
        task.follow(suite="multi-turn:x1", limit=2), model="mockllm/model", log_dir=str(tmp_path), display="none"
    )
    assert log.status == "success", log.error
    sample = log.samples[0]
    asked = [message.content for message in sample.messages if message.role == "user"]
    assert len(asked) > 1
    assert sum(message.role == "assistant" for message in sample.messages) == len(asked)
    turns = {row["turn"] for row in sample.scores["adhere"].metadata["verdicts"]}
    assert turns == set(range(len(asked)))


# lm-eval


def test_lm_eval_asks_and_judges_our_suite(tmp_path: Path) -> None:
    lm_eval = harness("lm_eval", "lm-eval")
    tasks, loggers = harness("lm_eval.tasks", "lm-eval"), harness("lm_eval.loggers", "lm-eval")
    importlib.import_module("adhere.integrations.lm_eval.model")
    name = write_task(f"ifeval:{suite_file(tmp_path)}", tmp_path / "tasks")
    answers = tmp_path / "by-prompt.jsonl"
    texts = {**TEXTS, 1003: "one, two"}
    answers.write_text(
        "".join(json.dumps({"key": str(place), "response": texts[key]}) + "\n" for place, key in enumerate(texts))
    )
    manager = tasks.TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False)
    tracker = loggers.EvaluationTracker(output_path=str(tmp_path / "out"))
    results = lm_eval.simple_evaluate(
        model="adhere",
        model_args={"model": f"scripted/file:{answers}"},
        tasks=[name],
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=True,
        evaluation_tracker=tracker,
        apply_chat_template=True,
    )
    scores = results["results"][name]
    assert scores["prompt_level_strict_acc,none"] == pytest.approx(1 / 3), "the undecided prompt is in no denominator"
    assert scores["inst_level_strict_acc,none"] == pytest.approx(2 / 4)
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(name, samples[name])
    file = next((tmp_path / "out").rglob("samples_*.jsonl"))
    assert read_outcomes(file).rates == {"1000": 0.0, "1001": 1.0, "1002": None, "1003": 0.0}


def test_lm_eval_s_own_reader_takes_our_export(tmp_path: Path) -> None:
    """Its reader of samples is the `datasets` library, for which it sanitises them.

    Its tables come from the results file.
    """
    datasets, utils = harness("datasets", "lm-eval"), harness("lm_eval.utils", "lm-eval")
    files, _ = export(make_run(tmp_path), tmp_path / "out", to="lm-eval")
    rows = datasets.load_dataset("json", data_files=str(files[0]), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows["doc_id"] == [0, 1, 2] or list(rows["doc_id"]) == [0, 1, 2]
    name = Path(files[0]).name
    assert utils.get_file_task_name(name) == "adhere_ifeval_prompts"
    assert utils.get_results_filenames([str(file) for file in files]) == [str(files[1])]
    table = utils.make_table(json.loads(files[1].read_text()))
    assert "prompt_level_strict_acc" in table
    assert "0.5" in table


def test_our_likelihoods_are_those_of_its_own_model(tiny_llama_dir: Path) -> None:
    """Multiple choice and perplexity of a tiny model, by our `adhere` and by lm-eval's `hf`."""
    harness("lm_eval", "lm-eval")
    ours = importlib.import_module("adhere.integrations.lm_eval.model").AdhereLM(model=f"hf/{tiny_llama_dir}")
    theirs = importlib.import_module("lm_eval.models.huggingface").HFLM(
        pretrained=str(tiny_llama_dir), device="cpu", dtype="float32"
    )
    instance = importlib.import_module("lm_eval.api.instance").Instance
    pairs = [("2+2 is", " 4"), ("2+2 is ", "5"), ("", "The sea"), ("A long story. " * 8, "It ends here.")]
    texts = ["The ferry leaves twice a day.", "Rain. " * 60]

    def asked(kind: str, *arguments: Any) -> list[Any]:
        return [instance(request_type=kind, doc={}, arguments=one, idx=0) for one in arguments]

    mine, other = (model.loglikelihood(asked("loglikelihood", *pairs), disable_tqdm=True) for model in (ours, theirs))
    assert [value for value, _ in mine] == pytest.approx([value for value, _ in other], rel=1e-4)
    assert [greedy for _, greedy in mine] == [greedy for _, greedy in other]
    whole = asked("loglikelihood_rolling", *((text,) for text in texts))
    rolling = [model.loglikelihood_rolling(whole, disable_tqdm=True) for model in (ours, theirs)]
    assert rolling[0] == pytest.approx(rolling[1], rel=1e-4)


def test_a_task_that_asks_for_likelihoods_says_what_it_needs() -> None:
    harness("lm_eval", "lm-eval")
    from adhere.errors import UsageError

    module = importlib.import_module("adhere.integrations.lm_eval.model")
    instance = type("Instance", (), {"args": ("2+2 is", " 4")})
    with pytest.raises(UsageError, match="asks for likelihoods, which only local/… and hf/… have"):
        module.AdhereLM(model="openai/gpt-4o-mini").loglikelihood([instance])


def test_without_the_harness_the_command_says_what_to_install() -> None:
    if importlib.util.find_spec("lm_eval") is not None:
        pytest.skip("lm-eval is installed here")
    done = subprocess.run(
        [sys.executable, "-m", "adhere.integrations.lm_eval.model"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "Run: pip install lm-eval" in done.stderr


# EvalScope


def test_evalscope_reads_our_export(tmp_path: Path) -> None:
    combinator = harness("evalscope.report.combinator", "evalscope")
    cache = harness("evalscope.api.evaluator.cache", "evalscope")
    files, _ = export(make_run(tmp_path), tmp_path / "out", to="evalscope")
    (report,) = combinator.get_report_list([str(tmp_path / "out" / "reports")])
    scores = {metric.identity.name: metric.score for metric in report.metrics}
    assert scores["prompt_level_strict"] == pytest.approx(0.5)
    assert report.primary_metric_identity.name == "prompt_level_strict"
    reviews = [cache.ReviewResult.from_cache_item(json.loads(line)) for line in files[1].read_text().splitlines()]
    assert [review.sample_score.score.main_value for review in reviews][:2] == [0.0, 1.0]
    assert not reviews[3].sample_score.score.status.is_usable
    for line in files[0].read_text().splitlines():
        cache.ModelResult.model_validate(json.loads(line))


def test_evalscope_asks_and_judges_our_suite(tmp_path: Path) -> None:
    evalscope = harness("evalscope", "evalscope")
    output = harness("evalscope.api.model", "evalscope").ModelOutput
    importlib.import_module("adhere.integrations.evalscope.task")
    answers = [output.from_content(model="mock", content=text) for text in (*TEXTS.values(), "one, two")]
    config = evalscope.TaskConfig(
        model="mock",
        eval_type="mock_llm",
        model_args={"custom_outputs": answers},
        datasets=["adhere"],
        work_dir=str(tmp_path / "out"),
        no_timestamp=True,
        eval_batch_size=1,
        dataset_args={"adhere": {"extra_params": {"suite": f"ifeval:{suite_file(tmp_path)}"}}},
    )
    evalscope.run_task(config)
    file = next((tmp_path / "out").rglob("reviews/*/*.jsonl"))
    assert read_outcomes(file).rates == {"1000": 0.0, "1001": 1.0, "1002": None, "1003": 0.0}
    report = json.loads(next((tmp_path / "out").rglob("reports/*/adhere.json")).read_text())
    scores = {metric["identity"]["name"]: metric["score"] for metric in report["metrics"]}
    assert scores["prompt_level_strict"] == pytest.approx(1 / 3, abs=1e-3)
    assert scores["inst_level_strict"] == pytest.approx(2 / 4, abs=1e-3)
