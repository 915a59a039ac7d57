"""Models on the machine that people have: any architecture, adapters, the device, and what it will take."""

from __future__ import annotations

import asyncio
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import MissingModel, UsageError
from adhere.models.base import Model, Request
from adhere.models.catalog import open_model
from adhere.models.local.outlook import count_parameters, outlook
from adhere.schema import EngineInfo, Message, Response, Sampling

torch = pytest.importorskip("torch")


def answers(model: Model, sampling: Sampling = Sampling(8), count: int = 3) -> list[Response]:  # noqa: B008 - frozen
    texts = ["Hi", "Write about the sea", "the quick brown fox"]
    asked = [Request(f"p{at}", 0, 0, (Message("user", texts[at]),), at) for at in range(count)]

    async def body() -> list[Response]:
        found = [one async for one in model.respond(asked, sampling)]
        return sorted(found, key=lambda one: one.prompt_id)

    return asyncio.run(body())


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory, tiny_llama_dir: Path) -> Path:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("gpt2")
    for file in tiny_llama_dir.glob("*token*"):
        shutil.copy(file, folder)
    for file in tiny_llama_dir.glob("*.jinja"):
        shutil.copy(file, folder)
    vocabulary = json.loads((tiny_llama_dir / "config.json").read_text())["vocab_size"]
    GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=2, n_positions=128)).save_pretrained(
        folder
    )
    return folder


def test_an_architecture_that_our_decoder_does_not_know_is_answered_by_generate(gpt2: Path) -> None:
    said: list[str] = []
    model = open_model(f"hf/{gpt2}", say=said.append)
    assert (model.engine.settings["decoder"], model.engine.settings["batch_invariant"]) == ("generate", "yes")
    together = answers(model)
    assert [one.status for one in together] == ["truncated"] * 3
    assert all(one.usage.completion_tokens == 8 for one in together)
    assert together[:1] == [one_without_time(answers(model, count=1)[0], together[0])]
    assert "GPT2LMHeadModel" in said[0]
    sampled = Sampling(8, temperature=1.0, seed=3)
    assert [one.text for one in answers(model, sampled)] == [one.text for one in answers(model, sampled)]
    long = Request("long", 0, 0, (Message("user", "sea " * 200),), 0)

    async def ask() -> list[Response]:
        return [one async for one in model.respond([long], Sampling(8))]

    (failed,) = asyncio.run(ask())
    assert "takes at most 120" in (failed.error or "")


def one_without_time(one: Response, like: Response) -> Response:
    from msgspec.structs import replace

    return replace(one, latency_s=like.latency_s)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory, tiny_llama_dir: Path) -> Path:
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("adapter")
    base = AutoModelForCausalLM.from_pretrained(tiny_llama_dir)
    with warnings.catch_warnings(action="ignore"):
        model = peft.get_peft_model(
            base, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
        )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.normal_(std=1.0)
    model.save_pretrained(folder)
    return folder


def test_an_adapter_is_merged_and_part_of_the_identity(adapter: Path, tiny_llama_dir: Path) -> None:
    base, both = open_model(f"hf/{tiny_llama_dir}"), open_model(f"hf/{tiny_llama_dir}+{adapter}")
    assert base.engine.weights_sha256 != both.engine.weights_sha256
    assert base.engine.settings["decoder"] == both.engine.settings["decoder"] == "adhere"
    assert [one.text for one in answers(base)] != [one.text for one in answers(both)]


def test_an_adapter_alone_or_none_at_all_is_told(adapter: Path, tiny_llama_dir: Path, gpt2: Path) -> None:
    with pytest.raises(MissingModel, match=r"hf/BASE\+"):
        open_model(f"hf/{adapter}")
    with pytest.raises(MissingModel, match="no adapter_config"):
        open_model(f"hf/{tiny_llama_dir}+{gpt2}")


def test_a_device_that_is_not_there_is_refused(tiny_llama_dir: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU: needs a GPU is the other test")
    with pytest.raises(UsageError, match="finds none here, only cpu"):
        open_model(f"hf/{tiny_llama_dir}", device="cuda")
    assert open_model(f"hf/{tiny_llama_dir}", device="auto").engine.settings["device"] == "cpu"
    with pytest.raises(UsageError, match="not ours to set"):
        open_model("http://127.0.0.1:9/v1#m", device="cpu")


def test_what_it_will_take(tiny_llama_dir: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny_llama_dir)
    stored = {id(weight): weight.numel() for weight in model.parameters()}  # tied weights are stored once
    assert count_parameters(tiny_llama_dir) == sum(stored.values())
    engine = EngineInfo("transformers", "5", "fp32", None, {"device": "cpu", "rows": 128})
    short = outlook(10**6, engine, answers=10, prompt_characters=1000, max_new_tokens=64)
    assert not short.is_long
    long = outlook(7 * 10**9, engine, answers=541, prompt_characters=10**5, max_new_tokens=1280)
    assert long.is_long
    assert "7,000 million parameters on cpu in fp32, 28.0 GB for the weights; about" in long.line("hf/x")


def test_long_work_on_a_cpu_is_agreed_to(tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from adhere.cli import adhere
    from adhere.models.local import outlook as room

    monkeypatch.setattr(room, "LONG_MINUTES", -1)
    command: list[Any] = [
        "eval",
        f"hf/{tiny_llama_dir}",
        "--suite",
        "core",
        "--limit",
        "2",
        "--max-new-tokens",
        "4",
        "--out",
        str(tmp_path),
    ]
    refused = CliRunner().invoke(adhere, command)
    assert isinstance(refused.exception, UsageError)
    assert "Say --yes" in str(refused.exception)
    assert not list(tmp_path.iterdir()), "nothing was begun"
    done = CliRunner().invoke(adhere, [*command, "--yes", "--min-coverage", "0"])
    assert done.exception is None, done.output
    assert CliRunner().invoke(adhere, [*command, "--min-coverage", "0"]).exception is None, (
        "a finished run takes no time"
    )
