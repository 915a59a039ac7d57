"""A whole study whose stages are TRL's: SFT, DPO and GRPO from a tiny random model, on rows from an endpoint.

`ADHERE_TRL` names the Python of an environment with TRL's newest release and adhere; without it TRL is that of here.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a study needs the train extra")
pytest.importorskip("trl", reason="TRL is in the dev extra")
pytest.importorskip("datasets", reason="TRL reads rows by it")

from tests.unit.build.function_model import sentence

from adhere.testing import FakeEndpoint, FakeModel
from command_line import run_here

pytestmark = pytest.mark.slow
STUDY = """
name = "by-trl"
start = "hf/START"
seeds = [0]
precision = "fp32"
shown_prompts = 2
[data]
model = "ENDPOINT"
prompts = 24
draws = 4
kinds = ["case:lower", "punctuation:no_commas"]
wordings = 1
limits = { per_prompt = 2 }
[evaluation]
new_topic = { single = 8, multiple = 2 }
new_wording = { single = 2 }
new_family = { single = 2 }
max_new_tokens = 24
[stages.sft]
method = "sft"
trainer = "trl"
environment = "PYTHON"
epochs = 8
batch_rows = 4
learning_rate = 3e-3
[stages.dpo]
method = "dpo"
trainer = "trl"
environment = "PYTHON"
batch_pairs = 4
learning_rate = 1e-4
[stages.grpo]
method = "grpo"
trainer = "trl"
environment = "PYTHON"
steps = 2
prompts_per_step = 2
answers_per_prompt = 4
max_new_tokens = 32
learning_rate = 1e-4
[[arms]]
name = "sft"
stages = ["sft"]
[[arms]]
name = "dpo"
stages = ["sft", "dpo"]
[[arms]]
name = "grpo"
stages = ["sft", "grpo"]
[verdict]
question = "Does GRPO follow better than DPO, both by TRL?"
treatment = "grpo"
control = "dpo"
"""


def test_a_study_by_trl_ends_with_verdict_page_and_records_that_reproduce(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)

    def answer(_: str) -> str:
        said = sentence(rng)
        return said.lower().replace(",", "") if rng.random() < 0.5 else said

    text = STUDY.replace("START", str(tiny_llama_dir)).replace("PYTHON", os.environ.get("ADHERE_TRL", sys.executable))
    with FakeEndpoint({"teacher": FakeModel(answer=answer)}) as server:
        Path("study.toml").write_text(text.replace("ENDPOINT", f"{server.url}#teacher"))
        ran = run_here("study", "study.toml", "--out", "out", "--records", "kept/records.tar.xz", "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["failures"] == []
    assert found["answer"] in {"YES", "NO", "EQUIVALENT", "INCONCLUSIVE"}
    assert found["scope"] == "checkpoints"
    result = json.loads(Path("out/result.json").read_text())
    assert {tuple(curve["columns"]) != () for curve in result["curves"]} == {True}
    assert any("its command did not report tokens_trained" in line for line in result["warnings"])
    assert "GRPO follow better than DPO, both by TRL?" in Path("out/report.html").read_text()
    Path("kept/result.json").write_bytes(Path("out/result.json").read_bytes())
    again = run_here("reproduce", "kept", "--json")
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert told["differ"] == 0
    assert told["agree"] > 0
