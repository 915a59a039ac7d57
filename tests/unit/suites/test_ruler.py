"""RULER from the files of its own script: its tasks, its two matches, its average."""

import json

import pytest

from adhere.errors import SpecError, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.suites import load


def write(folder, task, *rows):
    path = folder / task / "validation.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"index": at, "input": text, "outputs": outputs, "length": 100})
        for at, (text, outputs) in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_scores_are_the_published_ones(tmp_path):
    write(tmp_path, "niah_multivalue", ("a", ["12", "34", "56", "78"]), ("b", ["9"]))
    write(tmp_path, "qa_1", ("c", ["Paris", "Lyon"]), ("d", ["Rome"]))
    suite = load(f"ruler:{tmp_path}")
    assert suite.slices == ("niah_multivalue", "qa_1")
    assert suite.settings["note"] == "4 prompts of 2 of 13 tasks"
    answers = {"a": "12 and 34, then 5\x006, 78", "b": "19", "c": "in LYON", "d": "I do not know"}
    run = evaluate_sync(ScriptedModel(lambda request: answers[request.messages[-1].content]), suite, tmp_path / "run")
    summary = run.summary()
    slices = summary.slices
    # string_match_all: (3/4 + 1)/2, because 9 stands in 19 and a control character parts 5 and 6; string_match_part:
    # 1/2.
    assert slices["niah_multivalue"].instruction_macro == (3 / 4 + 1) / 2
    assert slices["qa_1"].instruction_macro == 1 / 2
    found = {(one.name, one.scope): one.value for one in summary.measures}
    assert found["score", "niah_multivalue"] == 7 / 8
    assert found["score", "mean of tasks"] == pytest.approx((7 / 8 + 1 / 2) / 2)


def test_files_as_its_script_writes_them(tmp_path):
    """`index` is a place in the text, and stands twice; the prompt ends with the answer's prefix.

    Each task has its limit.
    """
    rows = [
        {"index": 7, "input": f"text {n}.", "outputs": ["1"], "length": 9, "answer_prefix": " Answer:"}
        for n in range(2)
    ]
    for task in ("niah_single_1", "vt", "qa_1"):
        path = tmp_path / "f" / task / "validation.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = load(f"ruler:{tmp_path / 'f'}")
    assert [prompt.id for prompt in suite.prompts[:2]] == ["niah_single_1-0", "niah_single_1-1"]
    assert suite.prompts[0].text == "text 0. Answer:"

    def limits(name, **changes):
        seen = {}

        class Watched(ScriptedModel):
            def respond(self, requests, sampling):
                seen.update({request.prompt_id.partition("-")[0]: sampling.max_new_tokens for request in requests})
                return super().respond(requests, sampling)

        evaluate_sync(Watched(lambda _: "1"), suite, tmp_path / name, sampling=suite.sampled(**changes))
        return seen

    assert limits("own") == {"niah_single_1": 128, "vt": 30, "qa_1": 32}
    assert limits("less", max_new_tokens=31) == {"niah_single_1": 31, "vt": 30, "qa_1": 31}
    assert limits("more", max_new_tokens=512) == {"niah_single_1": 512, "vt": 512, "qa_1": 512}


def test_a_prompt_passes_with_every_reference(tmp_path):
    suite = load(f"ruler:{write(tmp_path, 'vt', ('a', ['VAR', 'X']))}")
    assert [ref.id for ref in suite.prompts[0].constraints] == ["ruler:holds", "ruler:holds"]
    assert [
        ref.id for ref in load(f"ruler:{write(tmp_path / 'q', 'qa_2', ('a', ['VAR', 'X']))}").prompts[0].constraints
    ] == ["ruler:holds_any"]


def test_what_cannot_be_used_is_named(tmp_path):
    with pytest.raises(UsageError, match="needs a folder"):
        load("ruler")
    with pytest.raises(UsageError, match=r"no TASK/\*\.jsonl"):
        load(f"ruler:{tmp_path}")
    with pytest.raises(SpecError, match="unknown task 'other'"):
        load(f"ruler:{write(tmp_path / 'a', 'other', ('a', ['x']))}")
    with pytest.raises(SpecError, match="at least one reference"):
        load(f"ruler:{write(tmp_path / 'b', 'cwe', ('a', []))}")
    bad = write(tmp_path / "c", "fwe", ("a", ["x"]))
    (bad / "fwe" / "validation.jsonl").write_text('{"index": 0, "input": "a"}\n', encoding="utf-8")
    with pytest.raises(SpecError, match=r"validation\.jsonl:1"):
        load(f"ruler:{bad}")
    twice = write(tmp_path / "d", "fwe", ("a", ["x"]))
    (twice / "fwe" / "more.jsonl").write_text(
        (twice / "fwe" / "validation.jsonl").read_text(encoding="utf-8"), encoding="utf-8"
    )
    with pytest.raises(SpecError, match="fwe has several files"):
        load(f"ruler:{twice}")
