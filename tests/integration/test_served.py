"""Studies whose models are served: by a program that stands for `vllm`, and by an endpoint that runs already."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="a study needs the train extra")
pytest.importorskip("transformers", reason="a study needs the train extra")

from tests.unit.build.function_model import sentence

from adhere.testing import FakeEndpoint, FakeModel
from command_line import run_here

PROGRAM = """#!{python}
import http.server, json, os, sys
from pathlib import Path
started = Path(os.environ["STARTED"])
with started.open("a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
options = dict(zip(sys.argv[3::1], sys.argv[4::1]))
served = {{options["--served-model-name"]}}
class Handler(http.server.BaseHTTPRequestHandler):
    def send(self, value, code=200):
        data = json.dumps(value).encode()
        self.send_response(code); self.send_header("Content-Length", str(len(data))); self.end_headers(); self.wfile.write(data)
    def do_GET(self):
        self.send({{"data": [{{"id": one, "owned_by": "vllm"}} for one in sorted(served)]}})
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("load_lora_adapter"):
            assert "--enable-lora" in sys.argv and os.environ["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "True"
            if "unload" in self.path:
                served.discard(body["lora_name"])
            elif "foreign" in body["lora_path"]:
                return self.send({{"error": {{"message": "size mismatch for q_proj"}}}}, 400)
            else:
                served.add(body["lora_name"])
            return self.send({{}})
        if body["model"] not in served:
            return self.send({{"error": {{"message": "no such model"}}}}, 404)
        asked = body["messages"][-1]["content"]
        said = f"{{asked.lower()}} ({{body['model']}})" if "b-s" in body["model"] else asked + ", " + body["model"]
        self.send({{"model": body["model"], "choices": [{{"message": {{"role": "assistant", "content": said}}, "finish_reason": "stop"}}]}})
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(options["--port"])), Handler).serve_forever()
"""
ROWS = [
    {"key": i, "prompt": f"Write about thing {i}.", "instruction_id_list": [kind], "kwargs": [{}]}
    for i, kind in enumerate(["punctuation:no_comma", "change_case:english_lowercase"] * 10)
]
SPEC = """
name = "served"
seeds = [0, 1, 2]
[verdict]
question = "Does b follow better than a?"
treatment = "b"
control = "a"
suite = "my:prompts.jsonl"
[[arms]]
name = "a"
models = "{a}"
[[arms]]
name = "b"
models = "{b}"
"""


@pytest.fixture
def here(tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with prompts, six checkpoints, adapters and a program that stands for `vllm`."""
    program = tmp_path / "venv" / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    for name, value in {"ADHERE_VLLM": "venv", "ADHERE_CACHE": "cache", "STARTED": "started.jsonl"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for name in [f"{arm}-s{seed}" for arm in "ab" for seed in range(3)] + ["foreign"]:
        adapter = tmp_path / "adapters" / name
        adapter.mkdir(parents=True)
        (adapter / "adapter_config.json").write_text(json.dumps({"r": 12}))
        (adapter / "adapter_model.safetensors").write_bytes(name.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checkpoint(start: Path, folder: Path, mark: str) -> None:
    """A copy of the weights whose bytes are no other's."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(start, folder)
    weights = load_file(folder / "model.safetensors")
    next(iter(weights.values())).view(-1)[0] = float(sum(map(ord, mark)))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def starts(here: Path) -> list[list[str]]:
    """The command lines of all servers that were started."""
    return [json.loads(line) for line in (here / "started.jsonl").read_text().splitlines()]


def study(text: str, *options: str, code: int = 0) -> Any:
    Path("study.toml").write_text(text)
    ran = run_here("study", "study.toml", *options)
    assert ran.returncode == code, ran.stderr
    return ran


def answer(text: str, *options: str) -> dict[str, Any]:
    return dict(json.loads(study(text, *options, "--json").stdout))


def test_adapters_of_one_base_share_a_server_and_one_that_does_not_fit_fails_alone(
    here: Path, tiny_llama_dir: Path
) -> None:
    base = f"vllm/{tiny_llama_dir}"
    text = SPEC.format(a=f"{base}+adapters/a-s{{seed}}", b=f"{base}+adapters/b-s{{seed}}")
    found = answer(text, "--out", "out")
    assert found["failures"] == []
    assert (found["seeds"], found["rate_control"], found["rate_treatment"]) == (3, 0.0, 1.0)
    (command,) = starts(here)
    assert command[command.index("--max-lora-rank") + 1] == "16", "no less than 12, as vLLM takes it"
    assert "perplexity" in (here / "out" / "report.html").read_text()

    wrong = f'{{ 0 = "{base}+adapters/b-s0", 1 = "{base}+adapters/b-s1", 2 = "{base}+adapters/foreign" }}'
    found = answer(text.replace(f'"{base}+adapters/b-s{{seed}}"', wrong), "--out", "foreign")
    (failure,) = found["failures"]
    assert "b-s2" in failure
    assert "does not take the adapter adapters/foreign: " in failure
    assert "size mismatch" in failure
    assert found["seeds"] == 2, "the others went on"
    assert len(starts(here)) == 2, "one server a study"


def test_checkpoints_are_served_one_after_another(here: Path, tiny_llama_dir: Path) -> None:
    for arm in "ab":
        for seed in range(3):
            checkpoint(tiny_llama_dir, here / "runs" / f"{arm}-s{seed}", f"{arm}{seed}")
    text = SPEC.format(a="vllm/runs/a-s{seed}", b="vllm/runs/b-s{seed}")
    refused = study(text, "--out", "out", "--jobs", "2", code=2)
    assert "each process would start a vLLM server" in refused.stderr
    plan = study(text, "--out", "out", "--plan").stderr
    assert len(re.findall(r"vllm serve runs/[ab]-s\d --host 127.0.0.1 --port PORT", plan)) == 6
    found = answer(text, "--out", "out")
    assert found["failures"] == []
    assert [command[1] for command in starts(here)] == [f"runs/{arm}-s{seed}" for arm in "ab" for seed in range(3)]
    before = len(starts(here))
    answer(text, "--out", "out")
    assert len(starts(here)) == before, "nothing is asked twice"
    shutil.rmtree(here / "runs" / "b-s1")
    shutil.copytree(here / "runs" / "b-s0", here / "runs" / "b-s1")
    assert "are the same weights" in study(text, "--out", "twice", code=2).stderr


def test_a_missing_vllm_is_said_before_anything_is_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADHERE_VLLM", str(here / "nothing"))
    text = SPEC.format(a="vllm/org/a-s{seed}", b="vllm/org/b-s{seed}")
    assert "has no bin/vllm" in study(text, "--out", "out", code=2).stderr


TRAINER = """
import json, sys
from pathlib import Path
from safetensors.torch import load_file, save_file
import shutil
arm, seed, start, rows, out = sys.argv[1:]
shutil.copytree(start, out, dirs_exist_ok=True)
weights = load_file(out + "/model.safetensors")
next(iter(weights.values())).view(-1)[0] = 1 + 3 * (arm == "b") + int(seed)
save_file(weights, out + "/model.safetensors", metadata={"format": "pt"})
assert all("lighthouse" in json.loads(line)["completion"] for line in Path(rows).read_text().splitlines())
assert Path(rows).stat().st_size
"""
TRAINED = """
name = "trained"
start = "hf/START"
seeds = [0]
precision = "fp32"
served_by = "vllm"
gpus = 2
shown_prompts = 0
data = { model = "ENDPOINT", prompts = 12, draws = 2, kinds = ["case:lower", "punctuation:no_commas"], wordings = 1, repair = false }
[verdict]
question = "Does b follow better than a?"
treatment = "b"
control = "a"
suite = "my:prompts.jsonl"
[stages.a]
method = "command"
command = ["PYTHON", "train.py", "{arm}", "{seed}", "{start}", "{sft}", "{out}"]
gpus = 8
arm = "a"
[stages.b]
method = "command"
command = ["PYTHON", "train.py", "{arm}", "{seed}", "{start}", "{sft}", "{out}"]
gpus = 8
arm = "b"
[[arms]]
name = "start"
[[arms]]
name = "a"
stages = ["a"]
[[arms]]
name = "b"
stages = ["b"]
"""


def test_rows_come_from_an_endpoint_and_what_is_trained_is_served(here: Path, tiny_llama_dir: Path) -> None:
    (here / "train.py").write_text(TRAINER)
    rng = random.Random(0)
    spoken = FakeModel(answer=lambda _: sentence(rng).lower().rstrip(".!").replace(",", "") + " near the lighthouse.")
    with FakeEndpoint({"teacher": spoken}) as server:
        text = TRAINED.replace("START", str(tiny_llama_dir)).replace("PYTHON", sys.executable)
        text = text.replace("ENDPOINT", f"{server.url}#teacher")
        plan = study(text, "--out", "out", "--plan").stderr
        found = answer(text, "--out", "out")
    assert found["failures"] == []
    assert f"by {server.url}#teacher" in plan
    assert "8 GPUs, at most 24 hours: " in plan
    assert len(re.findall(r"vllm serve \S+ --host 127.0.0.1 --port PORT \S+ \S+ --dtype float32", plan)) == 3
    models = [Path(command[1]) for command in starts(here)]
    assert models[0] == tiny_llama_dir
    assert [one.parent.name[:4] for one in models[1:]] == ["a-s0", "b-s0"]
    result = json.loads((here / "out" / "result.json").read_text())
    assert result["data"][0]["source"] == f"{server.url}#teacher"
    assert {
        row["engine"]["name"]
        for row in map(json.loads, (p.read_text() for p in (here / "out" / "evaluations").glob("*.json")))
    } == {"vllm"}


def test_the_job_file_of_a_study_asks_for_the_gpus_of_its_largest_cell(here: Path, tiny_llama_dir: Path) -> None:
    text = TRAINED.replace("START", str(tiny_llama_dir)).replace("ENDPOINT", "http://127.0.0.1:1/v1#teacher")
    said = study(text.replace("seeds = [0]", "seeds = [0, 1, 2]"), "--out", "out", "--emit", "slurm").stderr
    assert "sbatch study.slurm" in said
    script = Path("study.slurm").read_text()
    directives = dict(re.findall(r"^#SBATCH --([a-z-]+)=(\S+)$", script, re.MULTILINE))
    assert (directives["gpus-per-node"], directives["array"]) == ("8", "1-3")
    lines = script.splitlines()
    assert max(at for at, line in enumerate(lines) if line.startswith("#SBATCH")) < lines.index("set -euo pipefail")
    assert lines[-1] == 'adhere study study.toml --out out --shard "$SLURM_ARRAY_TASK_ID/3"'
    assert subprocess.run(["bash", "-n", "study.slurm"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (("served_by = \"vllm\"", "evaluation = { precision = \"bf16\" }"), "goes with served_by = 'vllm'"),
        (("ENDPOINT", "hf/x"), "data.model = 'hf/x': give an endpoint"),
        (("served_by = \"vllm\"", "served_by = \"sglang\""), "served_by"),
        (("gpus = 2", "gpus = -1"), "gpus"),
    ],
)  # fmt: skip
def test_what_is_said_of_servers_in_vain_is_refused(
    here: Path, tiny_llama_dir: Path, edit: tuple[str, str], told: str
) -> None:
    text = TRAINED.replace(*edit).replace("START", str(tiny_llama_dir))
    assert told in study(text, "--plan", code=2).stderr
