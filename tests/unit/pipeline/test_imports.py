"""Files of lm-eval and inspect, judged as they are.

The layouts are those that lm-eval 0.4.13 and inspect_ai 0.3.285 wrote here.
"""

from __future__ import annotations

import copy
import json
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from adhere.errors import AdhereError, SpecError, UsageError
from adhere.lines.blocks import LineFile
from adhere.suites import load
from adhere.verify.answers import verify
from adhere.verify.imports import read_import
from command_line import run_here

PROMPTS = {
    1000: ("Write a poem without commas.", "punctuation:no_comma"),
    1001: ("Say hello in lower case.", "change_case:english_lowercase"),
}
TEXTS = {1000: "Roses, and more roses", 1001: "hello and welcome, how are you on this fine day"}


def suite_file(folder: Path) -> Path:
    file = folder / "input_data.jsonl"
    rows = [
        {"key": key, "prompt": text, "instruction_id_list": [kind], "kwargs": [{}]}
        for key, (text, kind) in PROMPTS.items()
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def lm_eval_row(number: int, key: int, *texts: str, filter: str = "none") -> dict[str, Any]:  # noqa: A002 - its word
    prompt, kind = PROMPTS[key]
    return {
        "doc_id": number,
        "doc": {"key": key, "prompt": prompt, "instruction_id_list": [kind], "kwargs": [{}]},
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": f"<|user|>{prompt}", "arg_1": {"until": [], "max_gen_toks": 64}}},
        "resps": [list(texts)],
        "filtered_resps": [texts[0]],
        "filter": filter,
        "metrics": ["prompt_level_strict_acc", "inst_level_strict_acc"],
        "prompt_level_strict_acc": key == 1001,
        "inst_level_strict_acc": [key == 1001, True],
    }


def inspect_sample(key: int | str, text: Any, *, epoch: int = 1, stop: str = "stop", **more: Any) -> dict[str, Any]:
    prompt, kind = PROMPTS[int(key)]
    message = {"content": text, "source": "generate", "role": "assistant"}
    return {
        "id": key,
        "epoch": epoch,
        "input": prompt,
        "target": "",
        "output": {"model": "m", "choices": [{"message": message, "stop_reason": stop}], "completion": ""},
        "scores": {"follows": {"value": {"prompt_level_strict": True, "n": 1}}, "graded": {"value": "C"}},
        "metadata": {"instruction_id_list": [kind], "kwargs": [{}]},
        **more,
    }


def inspect_log(samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "ifeval", "model": "mock/m"}, "samples": samples}


def as_zip(file: Path, members: dict[str, Any], *, method: int) -> Path:
    """As inspect packs a log; method 93 (Zstandard) is set by hand, for Python's zipfile learnt it in 3.14 only."""
    sizes = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED if method == 93 else method) as log:
        for name, value in members.items():
            data = json.dumps(value).encode()
            sizes[name] = len(data)
            log.writestr(name, zstandard.ZstdCompressor().compress(data) if method == 93 else data)
    if method == 93:
        raw = bytearray(file.read_bytes())
        for mark, at_method, at_size, at_name, fixed in (
            (b"PK\x03\x04", 8, 22, 26, 30),
            (b"PK\x01\x02", 10, 24, 28, 46),
        ):
            at = raw.find(mark)
            while at >= 0:
                (length,) = struct.unpack_from("<H", raw, at + at_name)
                name = raw[at + fixed : at + fixed + length].decode()
                struct.pack_into("<H", raw, at + at_method, 93)
                struct.pack_into("<I", raw, at + at_size, sizes[name])
                at = raw.find(mark, at + 4)
        file.write_bytes(raw)
    return file


def written(file: Path, *rows: Any) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def plain(tmp_path: Path) -> Any:
    rows = [{"key": key, "response": text} for key, text in TEXTS.items()]
    return verify(load(f"ifeval:{suite_file(tmp_path)}"), written(tmp_path / "plain.jsonl", *rows))


def files(folder: Path) -> dict[str, Path]:
    samples = [inspect_sample(str(key), text) for key, text in TEXTS.items()]
    document = folder / "log.json"
    document.write_text(json.dumps(inspect_log(samples)))
    header = {name: value for name, value in inspect_log([]).items() if name != "samples"}
    members = {
        "_journal/start.json": {},
        **{f"samples/{sample['id']}_epoch_1.json": sample for sample in samples},
        "header.json": header,
    }
    return {
        "lm-eval": written(
            folder / "samples_ifeval_2026-11-22T03-32-45.512429.jsonl",
            *(lm_eval_row(number, key, text) for number, (key, text) in enumerate(TEXTS.items())),
        ),
        "inspect json": document,
        "inspect deflated": as_zip(folder / "old.eval", members, method=zipfile.ZIP_DEFLATED),
        "inspect zstandard": as_zip(folder / "new.eval", members, method=93),
    }


@pytest.mark.parametrize("kind", ["lm-eval", "inspect json", "inspect deflated", "inspect zstandard"])
def test_every_layout_is_judged_as_plain_rows_are(kind: str, tmp_path: Path, plain: Any) -> None:
    said: list[str] = []

    class Heard:
        say = staticmethod(said.append)

        def step(self, *_: object) -> Any:
            raise AssertionError("too short for a bar")

    found = verify(load(f"ifeval:{suite_file(tmp_path)}"), files(tmp_path)[kind], progress=Heard())  # type: ignore[arg-type]
    assert found.rates == plain.rates
    assert (found.prompt_strict, found.accounting.responses.ok) == (0.5, 2)
    assert found.examples == plain.examples
    assert "2 answers" in said[0]
    assert "to ifeval, stored by" in said[0]


def test_what_lm_eval_stored(tmp_path: Path) -> None:
    rows = [lm_eval_row(0, 1000, "a", "b"), lm_eval_row(0, 1000, "a", "b", filter="strip"), lm_eval_row(1, 1001, "c")]
    folder = tmp_path / "Qwen__Qwen2.5"
    folder.mkdir()
    file = written(folder / "samples_my_task_2026-11-22T03-32-45.512429.jsonl", *rows)
    found = read_import(file)
    assert found is not None
    assert (found.harness, found.model, found.task) == ("lm-eval", "Qwen__Qwen2.5", "my_task")
    assert [(one.item, one.key, one.draw, one.response) for one in found.answers] == [
        ("0", 1000, 0, "a"),
        ("0", 1000, 1, "b"),
        ("1", 1001, 0, "c"),
    ]
    assert found.answers[2].scores == {"prompt_level_strict_acc": 1.0, "inst_level_strict_acc": 1.0}
    assert found.answers[0].scores == {
        "prompt_level_strict_acc": 0.0,
        "inst_level_strict_acc": 0.5,
        "prompt_level_strict_acc,strip": 0.0,
        "inst_level_strict_acc,strip": 0.5,
    }
    written(
        folder / "results_2026-11-22T03-32-45.512429.json", {"model_name": "Qwen/Qwen2.5", "results": {}, "configs": {}}
    )
    again = read_import(file)
    assert again is not None
    assert again.model == "Qwen/Qwen2.5"


def test_a_null_answer_is_a_failed_call_and_the_others_are_judged(tmp_path: Path) -> None:
    rows = [lm_eval_row(0, 1000, "a", "b"), lm_eval_row(1, 1001, "c")]
    rows[0]["resps"] = [[None, "b"]]
    review = {
        "index": 0, "messages": [{"role": "user", "content": "Hi"}],
        "sample_score": {"score": {"value": {"acc": 0.0}, "prediction": None}, "sample_metadata": {"key": 1000}},
    }  # fmt: skip
    told = {**review, "index": 1}
    told["sample_score"] = {"score": {"value": {"acc": 1.0}, "prediction": "c"}, "sample_metadata": {"key": 1001}}
    for name, stored in (("samples_t.jsonl", rows), ("review.jsonl", [review, told])):
        file = tmp_path / name
        file.write_text("".join(json.dumps(row) + "\n" for row in stored))
        found = read_import(file)
        assert found is not None
        assert (found.answers[0].response, found.answers[0].status) == ("", "error")
        assert {answer.status for answer in found.answers[1:]} == {"ok"}
        assert found.answers[-1].response == "c"


NOTHING = [[], None, [[]], [None], [[float("nan")]]]


@pytest.mark.parametrize("stored", NOTHING, ids=[json.dumps(one) for one in NOTHING])
def test_a_row_of_lm_eval_without_an_answer_is_a_failed_call(stored: Any, tmp_path: Path) -> None:
    rows = [lm_eval_row(0, 1000, "a"), lm_eval_row(1, 1001, "c")]
    rows[0]["resps"] = stored
    file = tmp_path / "samples_t.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_import(file)
    assert found is not None
    assert [(one.response, one.status) for one in found.answers] == [("", "error"), ("c", "ok")]


@pytest.mark.parametrize(
    "score", [None, {"prediction": "c", "value": None}, {"prediction": "c", "value": {"acc": None}}]
)
def test_a_review_of_evalscope_without_a_score_is_one_unmeasured_row(score: Any, tmp_path: Path) -> None:
    told = {"score": {"value": {"acc": 1.0}, "prediction": "c"}, "sample_metadata": {"key": 1001}}
    file = tmp_path / "review.jsonl"
    reviews = [{"index": 0, "sample_score": {"score": score}}, {"index": 1, "sample_score": told}]
    file.write_text("".join(json.dumps(row) + "\n" for row in reviews))
    found = read_import(file)
    assert found is not None
    assert [one.scores for one in found.answers] == [{}, {"acc": 1.0}]


@pytest.mark.parametrize("entry", [{}, {"prediction": None}, {"prediction": float("nan")}])
def test_an_entry_of_opencompass_without_a_prediction_is_a_failed_call(entry: dict[str, Any], tmp_path: Path) -> None:
    whole = {"0": {"origin_prompt": "p", "prediction": "c"}, "1": {"origin_prompt": "q", **entry}}
    file = tmp_path / "IFEval.json"
    file.write_text(json.dumps(whole))
    found = read_import(file)
    assert found is not None
    assert [(one.response, one.status) for one in found.answers] == [("c", "ok"), ("", "error")]


def test_what_inspect_stored(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "attachment://abc"}]
    samples = [
        inspect_sample(1000, parts, attachments={"abc": "a long text"}, stop="max_tokens"),
        inspect_sample(1000, "second", epoch=2, stop="content_filter"),
        inspect_sample("1001", "", error={"message": "boom"}),
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(inspect_log(samples)))
    found = read_import(file)
    assert found is not None
    assert (found.harness, found.model, found.task) == ("inspect", "mock/m", "ifeval")
    assert [(one.key, one.draw, one.status, one.response, one.reasoning) for one in found.answers] == [
        (1000, 0, "truncated", "a long text", "hm"),
        (1000, 1, "refused", "second", None),
        ("1001", 0, "error", "", None),
    ]
    assert found.answers[0].scores == {"follows.prompt_level_strict": 1.0, "follows.n": 1.0, "graded": 1.0}
    counts = verify(load(f"ifeval:{suite_file(tmp_path)}"), file).accounting.responses
    assert (counts.truncated, counts.refused, counts.error, counts.missing) == (1, 1, 1, 1), (
        "a failed call is no answer"
    )


def test_files_without_answers_say_which_to_give(tmp_path: Path) -> None:
    summary = tmp_path / "results_x.json"
    summary.write_text(json.dumps({"results": {}, "configs": {}}))
    with pytest.raises(UsageError, match=r"samples_\*\.jsonl beside it"):
        read_import(summary)
    with pytest.raises(UsageError, match="was not finished"):
        read_import(as_zip(tmp_path / "x.eval", {"_journal/start.json": {}}, method=zipfile.ZIP_DEFLATED))
    likelihoods = written(
        tmp_path / "samples_arc.jsonl",
        {"doc_id": 0, "doc": {}, "resps": [[[-1.5, True]]], "metrics": ["acc"], "acc": 1.0},
    )
    found = read_import(likelihoods)
    assert found is not None
    assert (found.answers[0].response, found.answers[0].scores) == (None, {"acc": 1.0})
    with pytest.raises(SpecError, match=r"asked for likelihoods.*adhere compare pairs"):
        verify(load(f"ifeval:{suite_file(tmp_path)}"), likelihoods)
    assert read_import(written(tmp_path / "plain.jsonl", {"key": 1, "response": "x"})) is None
    assert read_import(tmp_path / "absent.jsonl") is None


def test_damaged_logs_are_refused_in_words(tmp_path: Path) -> None:
    """Any byte of a log may be another: it is read, refused in words, or no log any more."""
    whole = files(tmp_path)
    rng = random.Random(5)
    outcomes = set()
    for kind in ("inspect zstandard", "inspect deflated", "inspect json", "lm-eval"):
        data = whole[kind].read_bytes()
        for number in range(150):
            broken = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            file = tmp_path / f"{number}{whole[kind].suffix}"
            file.write_bytes(broken[: rng.randrange(len(broken))] if number % 3 == 0 else broken)
            try:
                outcomes.add("read" if read_import(file) is not None else "none")
            except AdhereError:
                outcomes.add("refused")
            file.unlink()
    assert outcomes == {"read", "none", "refused"}


def test_from_the_command_line(tmp_path: Path) -> None:
    done = run_here(
        "verify", files(tmp_path)["inspect zstandard"], "--suite", f"ifeval:{suite_file(tmp_path)}", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["prompt_strict"] == 0.5
    assert "2 answers of mock/m to ifeval, stored by inspect" in done.stderr


def test_an_inspect_log_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """Each member is below its bound, all of them together are not.

    And a size that the zip's directory lies about is not believed.
    """
    sample = b'{"id": 1, "output": {}, "x": "' + b" " * (1 << 20) + b'"}'
    bomb = tmp_path / "bomb.eval"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", "{}")
        log.writestr("samples/1.json", sample)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as log:
        for number in range(2, 1200):  # one compressed text under many names
            log.filelist.append(copy.copy(log.filelist[1]))
            log.filelist[-1].filename = log.filelist[-1].orig_filename = f"samples/{number}.json"
        log._didModify = True
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(SpecError, match=r"its samples have 1,2\d\d,\d+,\d+ bytes in all, more than the"):
        read_import(bomb)
    liar = tmp_path / "liar.eval"

    with zipfile.ZipFile(tmp_path / "one.eval", "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", "{}")
        log.writestr("samples/1.json", sample)
    data = bytearray((tmp_path / "one.eval").read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    liar.write_bytes(data)
    with pytest.raises(SpecError, match="cannot be read"):
        read_import(liar)


def test_a_table_is_told_from_damaged_json_lines(tmp_path: Path) -> None:
    for name in ("answers.csv", "answers.CSV.gz", "answers.parquet"):
        (tmp_path / name).write_text("key,response\n1,yes\n")
        with pytest.raises(UsageError, match=r"a table, not JSON lines\. With pandas"):
            LineFile(tmp_path / name)
    (tmp_path / "answers.csv.jsonl").write_text("")
    assert LineFile(tmp_path / "answers.csv.jsonl").size == 0
