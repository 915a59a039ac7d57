"""Real episodes in the frameworks that install here: their own runner, our environment, a server on this machine."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.environments import Environment, env
from adhere.environments.worlds import judge_answers, world_env
from adhere.integrations.nemo_gym.server import make_app, rows_of
from adhere.integrations.openrlhf import reward as openrlhf_reward
from adhere.models.fake.loopback import listen

pytestmark = pytest.mark.slow
needs_verifiers = pytest.mark.skipif(
    importlib.util.find_spec("verifiers") is None or shutil.which("uv", path=str(Path(sys.executable).parent)) is None,
    reason="verifiers and uv are not installed here",
)


@contextmanager
def served() -> Iterator[str]:
    """The base URL of `adhere serve scripted/echo`: a model whose answer is its prompt."""
    command = [sys.executable, "-m", "adhere", "serve", "scripted/echo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def evaluated(tmp_path: Path, url: str, *which: str) -> list[dict[str, Any]]:
    """The traces of `vf-eval WHICH…` with a model that echoes its prompt."""
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [str(binaries / "vf-eval"), *which, "-m", "scripted/echo", "--client.base-url", url, "--client.api-key-var",
            "NO_KEY",
         "--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess", "-o", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "NO_KEY": "none", "PATH": f"{binaries}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (file,) = tmp_path.glob("**/traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    assert [episode["errors"] for episode in episodes] == [[]] * len(episodes)
    return [trace for episode in episodes for trace in episode["traces"]]


@needs_verifiers
def test_vf_eval_runs_the_installed_environment(tmp_path: Path) -> None:
    environment = env("core", limit=4)
    with served() as model:
        traces = evaluated(tmp_path, model, "adhere_if", "--env.taskset.suite", "core", "--env.taskset.limit", "4")
    assert len(traces) == 4
    for trace in traces:
        prompt = environment.prompt(trace["task"]["data"]["id"])
        reply = trace["nodes"][-1]["message"]["content"]
        assert trace["rewards"]["obeys"]["score"] == environment.score(prompt, reply)


@needs_verifiers
def test_vf_eval_leads_episodes_in_a_world(tmp_path: Path) -> None:
    """A model that echoes asks its own question back.

    The episode goes on, and its reward is that of the stored messages.
    """
    environment = world_env("world:files:x2+text")
    with served() as model:
        traces = evaluated(tmp_path, model, "adhere_if", "--env.taskset.suite", "world:files:x2+text")
    assert len(traces) == 2
    for trace in traces:
        prompt = next(one for one in environment.prompts if one.id == trace["task"]["data"]["id"])
        said = [node["message"]["content"] for node in trace["nodes"] if node["message"]["role"] == "assistant"]
        assert trace["rewards"]["obeys"]["score"] == judge_answers(prompt, said).score
        assert len(said) > 1 or judge_answers(prompt, said).score is not None


@contextmanager
def resources_server() -> Iterator[str]:
    """Our server for NeMo Gym, in a thread of its own."""
    loop, ready, found = asyncio.new_event_loop(), threading.Event(), []

    async def serve() -> None:
        found.append(await listen(make_app(), 0))
        ready.set()

    def run() -> None:
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(20)
    runner, port = found[0]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


@needs_verifiers
def test_a_client_of_nemo_gym_accepts_the_resources_server(tmp_path: Path) -> None:
    """The client is the one that verifiers ships: NeMo Gym itself needs Python 3.13."""
    environment = env("core", limit=4)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in rows_of(environment)))
    with served() as model, resources_server() as url:
        spec = tmp_path / "run.toml"
        spec.write_text(
            f'[env.taskset]\nid = "nemo_gym"\ndataset = "{rows}"\n[env.taskset.task]\nresources_url = "{url}"\n'
        )
        traces = evaluated(tmp_path, model, "@", str(spec))
    assert len(traces) == 4
    for trace in traces:
        prompt = environment.prompt(trace["task"]["data"]["row"]["id"])
        reply = trace["nodes"][-1]["message"]["content"]
        assert trace["rewards"]["nemo_gym"]["score"] == environment.score(prompt, reply)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("what", ["turns", "world"])
def test_trl_leads_episodes_of_the_factory(
    what: str, tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two steps of GRPO over two-turn prompts, and in a world.

    A policy that never calls a tool earns nothing, and the trainer logs it.
    """
    trl, transformers = pytest.importorskip("trl"), pytest.importorskip("transformers")
    from tests.unit.environments.test_environments import NO_COMMA, TITLE, suite_of

    from adhere.environments import worlds
    from adhere.integrations.trl import environment as turns

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    logging.getLogger("trl").setLevel(logging.ERROR)
    if what == "world":
        played = worlds.world_env("world:shop:x2")
        rows, made, name = worlds.dataset(played), worlds.factory(played), "rewards/WorldEpisode/mean"
    else:
        environment = Environment(suite_of((NO_COMMA,), (TITLE,)))
        rows, made = turns.dataset(environment, episodes=True), turns.factory(environment)
        name = "rewards/InstructionEpisode/mean"
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    # A template with tools that TRL knows how to read back.
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    trainer = trl.GRPOTrainer(
        transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            report_to="none",
            disable_tqdm=True,
            max_steps=2,
            per_device_train_batch_size=2,
            num_generations=2,
            max_completion_length=8,
            logging_steps=1,
            seed=0,
        ),
        train_dataset=rows,
        environment_factory=made,
        processing_class=tokenizer,
    )
    trainer.train()
    assert [entry[name] for entry in trainer.state.log_history if name in entry] == [0.0, 0.0]


def _bytes_tokenizer() -> Any:
    """A tokenizer with one token a byte, made here: it decodes what it encodes, and nothing is downloaded."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={one: at for at, one in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<pad>")


RULES = {
    "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
    "kwargs": [{}, {"keywords": ["lantern"]}],
}
REWARDED = {"A lantern shines.": 1.0, "A lamp shines.": 0.5, "A lamp, a lamp.": 0.0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray about itself
def test_verl_scores_rollouts_by_its_own_reward_managers() -> None:
    """Its loader takes our function by its config, and both of its managers decode a batch of rollouts and score it."""
    pytest.importorskip("verl")
    import numpy as np
    import torch
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls as in_the_loop
    from verl.trainer.ppo.reward import get_custom_reward_fn
    from verl.workers.reward_manager import get_reward_manager_cls

    ours = {
        "path": "pkg://adhere.integrations.verl.reward",
        "name": "compute_score",
        "reward_kwargs": {"kind": "dense"},
    }
    score = get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": ours}}))
    tokenizer = _bytes_tokenizer()
    prompt = tokenizer("Ask.")["input_ids"]
    answers = [tokenizer(text)["input_ids"] for text in REWARDED]
    longest = max(map(len, answers))
    pad = [[*one, *([tokenizer.pad_token_id] * (longest - len(one)))] for one in answers]
    mask = [[1] * (len(prompt) + len(one)) + [0] * (longest - len(one)) for one in answers]
    batch = DataProto.from_dict(
        tensors={
            "prompts": torch.tensor([prompt] * len(answers)),
            "responses": torch.tensor(pad),
            "attention_mask": torch.tensor(mask),
        },
        non_tensors={
            "reward_model": np.array([{"ground_truth": json.dumps(RULES)} for _ in answers], dtype=object),
            "data_source": np.array(["adhere"] * len(answers), dtype=object),
            "extra_info": np.array([{} for _ in answers], dtype=object),
        },
    )
    rewards = get_reward_manager_cls("naive")(tokenizer, num_examine=0, compute_score=score)(batch)
    assert rewards.sum(dim=1).tolist() == list(REWARDED.values())
    assert all(row[len(one) - 1] == row.sum() for row, one in zip(rewards, answers, strict=True)), "at the last token"

    async def score_each() -> list[float]:
        manager = in_the_loop("naive")(OmegaConf.create({}), tokenizer, score)
        return [(await manager.run_single(batch[at : at + 1]))["reward_score"] for at in range(len(answers))]

    assert asyncio.run(score_each()) == list(REWARDED.values())


def test_openrlhf_leads_episodes_with_our_reward() -> None:
    """Its executor loads our file, asks an engine (a stand-in: its own is vLLM on CUDA), and scores what came back."""
    pytest.importorskip("openrlhf")
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    tokenizer = _bytes_tokenizer()

    class Engine:
        def __init__(self, text: str) -> None:
            self.text = text

        async def generate(self, prompt_ids: list[int], params: Any, **_: Any) -> Any:
            said = SimpleNamespace(token_ids=tokenizer(self.text)["input_ids"], finish_reason="stop", logprobs=None)
            return SimpleNamespace(outputs=[said])

    executor = SingleTurnAgentExecutor(inspect.getfile(openrlhf_reward))
    asked = SimpleNamespace(max_tokens=64, logprobs=None)
    for text, reward in REWARDED.items():
        found = asyncio.run(executor.execute("Ask.", json.dumps(RULES), asked, 256, tokenizer, Engine(text)))
        assert [float(one) for one in found["reward"]] == [reward]
        assert found["truncated"] is False
