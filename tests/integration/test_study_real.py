"""The main job on the real embedded model, shortened: interrupted, finished, and finished again.

One test, because its steps follow each other and training takes minutes. The model must have been fetched
(`adhere fetch local/smollm2-135m`, which `make test` does); without it the test is skipped and says so.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the study needs the train extra")

from adhere.errors import MissingModel
from adhere.models.local.fetch import model_dir
from adhere.schema import decode, encode
from adhere.study.design.probe import VERSION, Probe, file_of
from adhere.study.outcome.result import StudyResult
from adhere.study.run.cells import CellRecord
from adhere.train.batch.pairs import FIRST_LOSS_TOLERANCE

STUDY = Path(__file__).parents[2] / "examples" / "ci.toml"
ARMS = ["start", "sft-plain", "sft", "sft+dpo", "sft+dpo+grpo"]
SIZES = {"all": 12, "new-topic/single": 4, "new-topic/multiple": 2, "new-wording/single": 2, "new-wording/multiple": 1,
         "new-family/single": 2, "new-family/multiple": 1}  # fmt: skip


def start(directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "adhere", "study", str(STUDY), "--out", str(directory)]
    # A shell that puts its jobs in the background makes them, and so us and our children, deaf to SIGINT.
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )


def wait_for_cell(directory: Path, stages: str, process: subprocess.Popen[str], seconds: float = 1200) -> Path:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = list((directory / "cells").glob(f"{stages}-s0-*/cell.json"))
        if found:
            return found[0]
        if process.poll() is not None:
            pytest.fail(f"the study ended before {stages} was trained:\n{process.communicate()[1]}")
        time.sleep(0.2)
    process.kill()
    pytest.fail(f"{stages} was not trained within {seconds} s")


@pytest.mark.timeout(1800)
def test_the_main_job(tmp_path: Path) -> None:
    try:
        model_dir("local/smollm2-135m")
    except MissingModel as error:
        pytest.skip(str(error))
    directory = tmp_path / "study"
    directory.mkdir()
    # What is measured decides the minutes that are told, nothing else; test_referee lets a tiny model be measured.
    (directory / file_of(1)).write_bytes(encode(Probe(VERSION, 1, *[100.0] * 5, 60.0, 40.0, 30.0, 1.0)))

    interrupted = start(directory)
    first = wait_for_cell(directory, "sft", interrupted)
    sft = first.read_bytes()
    weights = (first.parent / "model" / "model.safetensors").stat().st_mtime_ns
    interrupted.send_signal(signal.SIGINT)
    _, said = interrupted.communicate(timeout=120)
    assert interrupted.returncode == 130, said
    assert "run the same command again" in said
    assert "Traceback" not in said

    done = start(directory)
    out, said = done.communicate(timeout=1500)
    assert done.returncode == 0, said
    assert "finished" in said, "the plan must show what is already there"
    assert first.read_bytes() == sft, "a finished cell must not be trained again"
    assert (first.parent / "model" / "model.safetensors").stat().st_mtime_ns == weights

    result = decode((directory / "result.json").read_bytes(), StudyResult)
    assert result.minutes > 0.2
    check_result(result)
    assert result.verdict.answer in out
    page = (directory / "report.html").read_text(encoding="utf-8")
    assert result.verdict.question in page

    again = start(directory)
    began = time.monotonic()
    out_again, _ = again.communicate(timeout=300)
    assert again.returncode == 0
    assert time.monotonic() - began < 60, "with finished cells present a study ends in seconds"
    repeated = decode((directory / "result.json").read_bytes(), StudyResult)
    assert repeated == result, "running a finished study again changes nothing: not even its minutes or its date"
    assert out_again.split("Cost")[0] == out.split("Cost")[0]

    check_cell(directory)


def check_result(result: StudyResult) -> None:
    assert result.arms == ARMS
    assert result.engine.precision == "fp32"
    assert {score.arm for score in result.scores} == set(ARMS)
    for score in result.scores:
        counts = score.accounting
        assert counts["n"] == sum(counts[name] for name in ("ok", "truncated", "empty", "refused", "error", "missing"))
        assert score.prompt_strict.n == counts["n"] == SIZES[score.slice]
        assert score.prompt_loose.passed >= score.prompt_strict.passed
    cells = {cost.cell: cost for cost in result.stage_costs}
    assert list(cells) == ARMS[1:]
    assert cells["sft"].arms == ARMS[2:]
    assert cells["sft-plain"].rows == cells["sft"].rows
    assert cells["sft-plain"].tokens_trained == pytest.approx(cells["sft"].tokens_trained, rel=0.25)
    first, again = (facts for facts in result.data if "without" not in facts.source)
    assert cells["sft"].prompts == first.prompts
    assert {cost.prompts for cost in result.stage_costs if "dpo" in cost.cell} == {again.prompts}, (
        "equal data for all arms"
    )
    assert (first.source, again.source) == ("the start model", "the model after sft")
    assert cells["sft+dpo+grpo"].answers_generated == 16
    assert first.contamination["overlaps"] == 0
    assert set(first.contamination["shared"].values()) == {0}
    names = {"words", "topic_words", "repetition", "echo", "empty_form", "perplexity"}
    assert {guard.name for guard in result.guards} == names
    assert result.verdict.scope == "checkpoints"
    assert result.seeds_finished == [0]
    assert result.verdict.primary.n_prompts == SIZES["all"]
    assert len(result.shown) == 5
    assert all(len(prompt.answers) == len(ARMS) for prompt in result.shown)
    assert result.environment["cores"] == len(os.sched_getaffinity(0))


def check_cell(directory: Path) -> None:
    """A stored cell loads as transformers weights that differ from their parent's."""
    records = [decode(file.read_bytes(), CellRecord) for file in sorted((directory / "cells").glob("*/cell.json"))]
    assert len({record.weights_sha256 for record in records}) == len(records) == 4
    assert all(record.ledger.seconds > 0 for record in records)
    dpo = next(record for record in records if record.method == "dpo")
    rounding = FIRST_LOSS_TOLERANCE[dpo.settings["precision"]]  # this machine may train in bf16
    assert dpo.log[0]["loss"] == pytest.approx(0.6931, abs=rounding), (
        "the reference of DPO is the model that it starts from"
    )
