"""Side measures: files of four harnesses joined by model, and the tests that nothing was lost elsewhere."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import SpecError, UsageError
from adhere.pipeline.compare.sides import Measure, rest, side_test
from adhere.report.tables.compare import compare_text
from adhere.schema import decode
from adhere.verify.imports import read_import
from adhere.verify.sides import SideFiles, SideOptions

TIME = "2026-11-22T03-32-45.512429"


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


def choice_row(number: int, passed: float, *, doc: str = "q") -> dict[str, Any]:
    """A multiple-choice document as lm-eval 0.4.13 logs it: likelihoods, and F1 as a pair of labels."""
    return {
        "doc_id": number,
        "doc": {"question": f"{doc}{number}"},
        "target": "0",
        "arguments": {},
        "resps": [[["-1.5", "True"]], [["-2.5", "False"]]],
        "filtered_resps": [["-1.5", "True"]],
        "filter": "none",
        "metrics": ["acc", "acc_norm", "f1"],
        "doc_hash": f"{doc}{number}",
        "prompt_hash": "p",
        "target_hash": "t",
        "acc": passed,
        "acc_norm": 1.0 - passed,
        "f1": [0, 1],
    }


def lm_eval(folder: Path, model: str, tasks: dict[str, list[dict[str, Any]]], **summary: Any) -> Path:
    home = folder / model.replace("/", "__")
    for task, rows in tasks.items():
        write(home / f"samples_{task}_{TIME}.jsonl", *rows)
    document(home / f"results_{TIME}.json", {"model_name": model, "results": {}, "configs": {}, **summary})
    return folder


def passes(count: int, of: int) -> list[float]:
    return [1.0] * count + [0.0] * (of - count)


def test_the_parts_of_a_number_over_all_documents_are_no_score_of_one(tmp_path: Path) -> None:
    found = read_import(write(tmp_path / f"samples_mrpc_{TIME}.jsonl", choice_row(0, 1.0)))
    assert found is not None
    assert found.answers[0].scores == {"acc": 1.0, "acc_norm": 0.0}


def test_filters_of_lm_eval_are_scores_of_their_own(tmp_path: Path) -> None:
    def row(number: int, name: str, value: float) -> dict[str, Any]:
        return {
            "doc_id": number,
            "doc": {"q": 1},
            "resps": [["#### 5"]],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": value,
            "doc_hash": "h",
        }

    rows = [row(i, name, value) for name, value in (("strict-match", 0.0), ("flexible-extract", 1.0)) for i in range(3)]
    found = read_import(write(tmp_path / f"samples_gsm8k_{TIME}.jsonl", *rows))
    assert found is not None
    assert [answer.scores for answer in found.answers] == [
        {"exact_match,strict-match": 0.0, "exact_match,flexible-extract": 1.0}
    ] * 3
    with pytest.raises(SpecError, match=r":4: document 0 stands twice"):
        read_import(write(tmp_path / "samples_x.jsonl", *rows[:3], rows[0]))


def test_perplexity_tasks_are_read_for_each_text(tmp_path: Path) -> None:
    rows = [
        {
            "doc_id": i,
            "doc": {"page": "x"},
            "arguments": {"gen_args_0": {"arg_0": "x"}},
            "resps": [["-120.0"]],
            "filter": "none",
            "doc_hash": f"{i}",
            "metrics": ["word_perplexity", "byte_perplexity"],
            "word_perplexity": [-120.0, 40],
            "byte_perplexity": [-120.0, 240],
        }
        for i in range(3)
    ]
    found = read_import(write(tmp_path / f"samples_wikitext_{TIME}.jsonl", *rows))
    assert found is not None
    assert found.answers[0].scores == {"word_perplexity": 3.0, "byte_perplexity": 0.5}
    assert found.answers[0].response is None, "a likelihood in quotes is no answer"
    assert found.nats == {"word_perplexity", "byte_perplexity"}


def evalscope_review(number: int, value: dict[str, float], **more: Any) -> dict[str, Any]:
    """As EvalScope 1.14.1 dumps a ReviewResult."""
    return {
        "index": number, "target": ["4"], "messages": [{"role": "user", "content": f"2+{number}?"},
            {"role": "assistant", "content": "4"}],
        "sample_score": {"sample_id": number, "group_id": number, "sample_metadata": {}, "score": {
            "value": value, "status": "success", "prediction": "4", "main_score_name": None, **more}},
    }  # fmt: skip


def test_evalscope_scores_by_its_main_score_and_a_failed_judge_is_no_zero(tmp_path: Path) -> None:
    rows = [
        evalscope_review(0, {"pass": 1.0, "main": 0.0}, main_score_name="main"),
        evalscope_review(1, {"pass": 0.0}, status="parse_error"),
        evalscope_review(1, {"pass": 1.0, "main": 1.0}),
    ]
    found = read_import(write(tmp_path / "reviews" / "qwen" / "live_code.jsonl", *rows))
    assert found is not None
    assert (found.harness, found.model, found.task) == ("EvalScope", "qwen", "live_code")
    assert [list(answer.scores) for answer in found.answers] == [["main", "pass"], [], ["pass", "main"]]
    assert [(answer.item, answer.draw) for answer in found.answers] == [("0", 0), ("1", 0), ("1", 1)]
    assert (found.answers[0].response, found.answers[0].prompt) == ("4", "2+0?")


def test_evalscope_predictions_are_answers(tmp_path: Path) -> None:
    message = {
        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "4"}],
        "role": "assistant",
    }
    row = {
        "index": 3, "model": "qwen", "messages": [{"role": "user", "content": "2+2?"}], "metadata": {"key": 1001},
        "model_output": {"model": "qwen", "choices": [{"message": message, "stop_reason": "max_tokens"}],
            "error": None},
    }  # fmt: skip
    found = read_import(write(tmp_path / "predictions" / "qwen" / "ifeval_default.jsonl", row))
    assert found is not None
    one = found.answers[0]
    assert (one.key, one.response, one.reasoning, one.status, one.scores) == (1001, "4", "hm", "truncated", {})


def test_opencompass_details_in_their_three_shapes(tmp_path: Path) -> None:
    home = tmp_path / "results" / "qwen-hf"
    listed = document(
        home / "gsm8k.json",
        {
            "accuracy": 50.0,
            "details": [
                {"example_abbr": "gsm8k_0", "pred": ["18"], "answer": ["18"], "correct": [True]},
                {"example_abbr": "gsm8k_1", "pred": ["3", "4"], "answer": ["4", "4"], "correct": [False, True]},
            ],
        },
    )
    named = document(
        home / "arc.json",
        {
            "accuracy": 50.0,
            "details": {
                "type": "PPL",
                "0": {"origin_prediction": {}, "predictions": "A", "references": "A", "correct": True},
            },
        },
    )
    ifeval = document(home / "IFEval.json",
        {"details": [{"example_abbr": "IFEval_0", "prompt": ["p"], "pred": ["x"], "refer": [{
        "key": 1000}], "is_strict_correct": [False], "is_loose_correct": [True], "is_correct": [False],
        "grade": ["loose"]}]})  # fmt: skip
    found = [read_import(file) for file in (listed, named, ifeval)]
    assert [(one.model, one.task, [answer.scores for answer in one.answers]) for one in found if one] == [
        ("qwen-hf", "gsm8k", [{"correct": 1.0}, {"correct": 0.5}]),
        ("qwen-hf", "arc", [{"correct": 1.0}]),
        ("qwen-hf", "IFEval", [{"is_correct": 0.0, "is_strict_correct": 0.0, "is_loose_correct": 1.0}]),
    ]
    assert found[2] is not None
    assert found[2].answers[0].key == 1000


def test_opencompass_predictions_and_bare_summaries(tmp_path: Path) -> None:
    turns = [{"role": "HUMAN", "prompt": "Write."}]
    texts = document(
        tmp_path / "predictions" / "m" / "IFEval.json",
        {
            "0": {
                "origin_prompt": turns,
                "prediction": "Done.",
                "gold": {"key": 1000, "prompt": "Write.", "kwargs": [{}]},
            }
        },
    )
    found = read_import(texts)
    assert found is not None
    assert (found.answers[0].key, found.answers[0].prompt, found.answers[0].response) == (1000, "Write.", "Done.")
    bare = document(tmp_path / "results" / "m" / "IFEval.json", {"accuracy": 61.2})
    with pytest.raises(UsageError, match="--dump-eval-details"):
        read_import(bare)
    assert read_import(document(tmp_path / "other.json", {"accuracy": 61.2})) is None


def test_every_harness_is_joined_by_model(tmp_path: Path) -> None:
    """One folder, four harnesses, each with its own spelling of the models' names."""
    for model, right in (("org/new", 78), ("org/old", 80)):
        bare = model.partition("/")[2]
        rows = [choice_row(i, passed) for i, passed in enumerate(passes(right, 100))]
        lm_eval(tmp_path, model, {"arc": rows})
        write(
            tmp_path / "es" / "reviews" / bare / "gsm8k_main.jsonl",
            *(evalscope_review(i, {"acc": passed}) for i, passed in enumerate(passes(right, 100))),
        )
        write(
            tmp_path / "es" / "predictions" / bare / "gsm8k_main.jsonl",
            {"index": 0, "model_output": {}, "messages": []},
        )
        document(
            tmp_path / "oc" / "results" / bare / "mmlu.json",
            {
                "accuracy": right,
                "details": [
                    {"example_abbr": f"mmlu_{i}", "answer": ["A"], "correct": [passed == 1]}
                    for i, passed in enumerate(passes(right, 100))
                ],
            },
        )
        document(tmp_path / "inspect" / f"{bare}.json", {"version": 2, "status": "success",
            "eval": {"task": "safe", "model": f"hf/{model}"}, "samples": [
            {"id": i, "epoch": 1, "input": "q", "target": "t",
                "output": {"choices": [{"message": {"content": "a"}, "stop_reason": "stop"}]},
             "scores": {"match": {"value": "C" if passed else "I"}}} for i,
             passed in enumerate(passes(right, 100))]})  # fmt: skip
    files = SideFiles.read([tmp_path])
    assert files.models == ["hf/org/new", "hf/org/old", "new", "old", "org/new", "org/old"]
    found = files.compare("org/new", "org/old")
    assert {(side.harness, side.task, side.score) for side in found} == {
        ("lm-eval", "arc", "acc"),
        ("EvalScope", "gsm8k_main", "acc"),
        ("OpenCompass", "mmlu", "correct"),
        ("inspect", "safe", "match"),
    }
    assert {(side.n, side.left_out, round(side.worse or 0, 9)) for side in found} == {(100, 0, 0.02)}
    lm_eval(tmp_path, "fork/new", {"arc": [choice_row(0, 1.0)]})
    with pytest.raises(UsageError, match="lm-eval has several models called alike: fork/new, org/new"):
        SideFiles.read([tmp_path]).compare("local//new", "org/old", SideOptions(called={"local//new": "new"}))


def test_several_names_of_one_model_are_told(tmp_path: Path) -> None:
    for model, right in (("org/new", 78), ("org/old", 80)):
        lm_eval(tmp_path / "lm", model, {"arc": [choice_row(i, passed) for i, passed in enumerate(passes(right, 100))]})
    files = SideFiles.read([tmp_path])
    found = files.compare("hf/org/new", "new-old", SideOptions(called={"new-old": "org/old"}))
    assert [(side.task, side.harness, side.score, side.n, side.left_out) for side in found] == [
        ("arc", "lm-eval", "acc", 100, 0)
    ]
    assert found[0].value_a == pytest.approx(0.78)
    assert found[0].worse == pytest.approx(0.02)
    with pytest.raises(UsageError, match="no side measure of a model called so"):
        files.compare("org/third", "org/old")


def test_items_that_asked_something_else_are_left_out_and_counted(tmp_path: Path) -> None:
    lm_eval(tmp_path, "new", {"arc": [choice_row(i, 1.0) for i in range(20)]})
    lm_eval(tmp_path, "old", {"arc": [choice_row(i, 1.0, doc="other" if i < 5 else "q") for i in range(22)]})
    side = SideFiles.read([tmp_path]).compare("new", "old")[0]
    assert (side.n, side.left_out) == (15, 7)


def test_subtasks_that_lm_eval_groups_are_one_measure(tmp_path: Path) -> None:
    groups = {"mmlu": ["mmlu_stem"], "mmlu_stem": ["mmlu_physics", "mmlu_maths"], "mmlu_physics": [], "mmlu_maths": []}
    for model in ("new", "old"):
        rows = [choice_row(i, 1.0) for i in range(50)]
        lm_eval(tmp_path, model, {"mmlu_physics": rows, "mmlu_maths": rows, "arc": rows}, group_subtasks=groups)
    files = SideFiles.read([tmp_path])
    assert [(side.task, side.n) for side in files.compare("new", "old")] == [("arc", 50), ("mmlu (2 tasks)", 100)]
    pooled = files.compare("new", "old", SideOptions(pools=("*",)))
    assert [(side.task, side.n) for side in pooled] == [("* (3 tasks)", 150)]
    twice = lm_eval(tmp_path / "again", "new", {"arc": [choice_row(0, 1.0)]})
    with pytest.raises(UsageError, match="new has arc twice"):
        SideFiles.read([tmp_path, twice]).compare("new", "old")


def test_which_way_is_better_is_the_harness_s_word_or_the_caller_s(tmp_path: Path) -> None:
    rows = {"new": passes(90, 100), "old": passes(10, 100)}
    for model, values in rows.items():
        lm_eval(
            tmp_path,
            model,
            {"toxic": [choice_row(i, value) for i, value in enumerate(values)]},
            higher_is_better={"toxic": {"acc": False}},
        )
    files = SideFiles.read([tmp_path])
    assert files.compare("new", "old")[0].outcome == "violated"
    assert files.compare("new", "old", SideOptions(scores={"toxic": "acc_norm"}))[0].outcome == "violated"
    turned = SideOptions(scores={"toxic": "acc_norm"}, lower_is_better=("acc_norm",))
    assert files.compare("new", "old", turned)[0].outcome == "holds"
    with pytest.raises(UsageError, match="Did you mean 'acc_norm'"):
        files.compare("new", "old", SideOptions(scores={"toxic": "acc_nrm"}))


def values(count: int, of: int, *, seed: int = 0) -> dict[str, float]:
    found = passes(count, of)
    random.Random(seed).shuffle(found)
    return {str(i): value for i, value in enumerate(found)}


def test_the_three_verdicts_by_hand() -> None:
    """1,000 items of which none differs.

    One gained and one lost are added, so half the interval is t·√(2/999/1000) = 0.28 points.
    """
    same = values(500, 1000)
    side = side_test(Measure("arc", "lm-eval", "acc"), [same], [same], margin=0.02)
    assert side.outcome == "holds"
    assert side.worse == 0
    assert side.high == pytest.approx(1.9623 * (2 / 999 / 1000) ** 0.5, rel=1e-3)
    lost = {item: 0.0 if int(item) < 100 else value for item, value in same.items()}
    assert side_test(Measure("arc", "lm-eval", "acc"), [lost], [same], margin=0.02).outcome == "violated"
    few = {item: value for item, value in same.items() if int(item) < 20}
    side = side_test(Measure("arc", "lm-eval", "acc"), [few], [few], margin=0.02)
    assert side.outcome == "undecided"
    assert side.needed is not None
    assert side.needed > 20


def test_a_perplexity_is_compared_as_a_ratio() -> None:
    b = {str(i): 1.0 + i / 100 for i in range(50)}
    a = {item: value + 0.05 for item, value in b.items()}
    side = side_test(Measure("wikitext", "lm-eval", "word_perplexity", "perplexity"), [a], [b], margin=0.1)
    assert side.worse == pytest.approx(2.718281828**0.05 - 1)
    assert side.outcome == "holds"
    assert side_test(Measure("w", "lm-eval", "x", "perplexity"), [a], [b], margin=0.04).outcome == "violated"


def test_seeds_widen_what_one_checkpoint_says() -> None:
    base = values(500, 1000)
    seeds = [values(500 + change, 1000) for change in (-40, 0, 40)]
    one = side_test(Measure("arc", "lm-eval", "acc"), [seeds[1]], [base], margin=0.02)
    three = side_test(Measure("arc", "lm-eval", "acc"), seeds, [base] * 3, margin=0.02)
    assert one.outcome == "holds"
    assert three.outcome == "undecided"


def test_what_cannot_be_measured_is_undecided_with_its_reason() -> None:
    side = side_test(
        Measure("chat", "inspect", "tokens"), [{"1": 300.0, "2": 20.0}], [{"1": 1.0, "2": 2.0}], margin=0.02
    )
    assert (side.outcome, side.worse) == ("undecided", None)
    assert "no rate in [0, 1]" in side.reason
    assert (
        side_test(Measure("a", "inspect", "x"), [{"1": 1.0}], [{"2": 1.0}], margin=0.02).reason == "no item in common"
    )
    assert rest([side]) == "undecided"
    assert rest([]) is None


def answers(path: Path, good: int) -> Path:
    rows = [{"key": i, "index": 0, "instruction_id": "x:y", "strict": i < good, "loose": True} for i in range(300)]
    return write(path, *rows)


def test_better_at_following_and_not_worse_at_the_rest(tmp_path: Path) -> None:
    runs = [str(answers(tmp_path / f"{name}.jsonl", good)) for name, good in (("new", 220), ("old", 120))]
    for model, right, code in (("new", 640, 10), ("old", 640, 60)):
        lm_eval(
            tmp_path / "sides",
            model,
            {
                "arc": [choice_row(i, passed) for i, passed in enumerate(passes(right, 1000))],
                "code": [choice_row(i, passed) for i, passed in enumerate(passes(code, 100))],
            },
        )
    ran = CliRunner().invoke(
        adhere, ["compare", *runs, "--side", str(tmp_path / "sides"), "--json"], catch_exceptions=False
    )
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)[0]["sides"]
    assert [(side["task"], side["outcome"]) for side in found] == [("arc", "holds"), ("code", "violated")]
    only = ["compare", *runs, "--side", str(tmp_path / "sides" / "new" / f"samples_arc_{TIME}.jsonl"), "--side",
        str(tmp_path / "sides" / "old" / f"samples_arc_{TIME}.jsonl")]  # fmt: skip
    ran = CliRunner().invoke(adhere, only, catch_exceptions=False)
    assert (
        "better at following (+33.3 points, interval +27.9…+38.8), not worse at the rest (1 side task, "
        "each within its margin)"
    ) in " ".join(ran.stdout.split()), ran.stdout
    ran = CliRunner().invoke(adhere, ["compare", *runs, "--side", str(tmp_path / "sides")], catch_exceptions=False)
    assert "worse at code" in ran.stdout


def test_the_table_says_what_was_left_undecided(tmp_path: Path) -> None:
    from adhere.pipeline.compare import Comparison, compare_outcomes

    found = compare_outcomes(("a", "m", {"1": 1.0, "2": 0.0}), ("b", "m", {"1": 1.0, "2": 0.0}), view="strict")
    side = side_test(Measure("gsm8k", "lm-eval", "exact_match"), [values(5, 20)], [values(5, 20)], margin=0.02)
    import msgspec

    text = compare_text(msgspec.structs.replace(found, sides=(side,)))
    assert "following undecided, undecided at gsm8k" in " ".join(text.split())
    assert "items would decide it" in text
    again = decode(
        json.dumps(json.loads(json.dumps(msgspec.to_builtins(msgspec.structs.replace(found, sides=(side,)))))).encode(),
        Comparison,
    )
    assert again.sides == (side,)


def test_folders_without_items_say_what_is_wanted(tmp_path: Path) -> None:
    document(tmp_path / "results_x.json", {"results": {}, "configs": {}})
    write(tmp_path / "notes.jsonl", {"key": 1, "response": "x"})
    with pytest.raises(UsageError, match=r"no per-item file.*--log_samples"):
        SideFiles.read([tmp_path])
    with pytest.raises(UsageError, match="no such file"):
        SideFiles.read([tmp_path / "absent.jsonl"])
    with pytest.raises(UsageError, match="no file of another harness"):
        SideFiles.read([tmp_path / "notes.jsonl"])
