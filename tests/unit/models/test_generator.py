"""What draws answers in training, and where: the device, our decoder, and vLLM by a stand-in with its outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import MissingExtra, UsageError  # noqa: E402
from adhere.models.local.decoder.decode import Decoder, DecodeRow  # noqa: E402
from adhere.models.local.decoder.device import resolve_device  # noqa: E402
from adhere.models.local.decoder.generator import open_generator  # noqa: E402
from adhere.models.local.transformers import TransformersModel, load_weights  # noqa: E402

ROWS = [DecodeRow((1, 40 + n, 50), 1000 + n) for n in range(3)]


class FakeLLM:
    """vLLM's surface as we use it.

    Answers [60, 61, end] to the first prompt, four tokens without an end to the others.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.started_from = sorted(file.name for file in Path(settings["model"]).iterdir())
        self.asked: list[Any] = []
        self.loaded: dict[str, Any] = {}
        self.resets = 0
        # Its model's own load_weights fails where vLLM has packed the weights, so it is not there.
        worker = SimpleNamespace(reload_weights=lambda *, weights_iterator: self.loaded.update(weights_iterator))
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=worker))

    def reset_prefix_cache(self) -> None:
        self.resets += 1

    def generate(self, prompts: list[Any], params: list[Any], *, use_tqdm: bool) -> list[Any]:
        self.asked = list(zip(prompts, params, strict=True))
        out = []
        for place in range(len(prompts)):
            ids = [60, 61, 2] if place == 0 else [70, 71, 72, 73]
            chances = [{token: SimpleNamespace(logprob=-0.5 * (n + 1))} for n, token in enumerate(ids)]
            wanted = params[place].logprobs is not None
            out.append(SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, logprobs=chances if wanted else None)]))
        return out


@pytest.fixture
def fake_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("vllm")
    module.LLM = FakeLLM  # type: ignore[attr-defined]
    module.SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)


def test_a_device_is_what_was_asked_for_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(UsageError, match="finds none here, only cpu"):
        resolve_device("cuda")
    with pytest.raises(UsageError, match="one of auto, cpu, cuda, mps"):
        resolve_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == "cuda"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device("mps") == "mps"


def test_ours_ends_where_evaluation_ends(tiny_llama_dir: Path) -> None:
    model, tokenizer = load_weights(tiny_llama_dir)
    model.generation_config.eos_token_id = [5, 9]
    generator = open_generator(model, tokenizer)
    assert isinstance(generator, Decoder)
    assert generator.end_ids == {5, 9, tokenizer.eos_token_id}
    evaluated = TransformersModel(model, tokenizer, name="x")
    assert evaluated._open().end_ids == generator.end_ids
    assert evaluated.engine.settings["device"] == "cpu"


def test_vllm_is_asked_row_by_row_and_its_outputs_are_ours(tiny_llama_dir: Path, fake_vllm: None) -> None:
    model, tokenizer = load_weights(tiny_llama_dir)
    generator: Any = open_generator(model, tokenizer, kind="vllm", rows=7, precision="bf16")
    engine = generator._engine
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(engine.started_from)
    assert (engine.settings["dtype"], engine.settings["max_num_seqs"]) == ("bfloat16", 7)
    ended: list[int] = []
    out = generator.decode(
        ROWS, max_new_tokens=4, temperature=0.7, log_probs=True, on_done=lambda index, _: ended.append(index)
    )
    assert [(one.ids, one.stopped, one.end) for one in out][:2] == [
        ((60, 61), True, 2),
        ((70, 71, 72, 73), False, None),
    ]
    assert out[0].log_probs == (-0.5, -1.0, -1.5)
    assert ended == [0, 1, 2]
    prompt, params = engine.asked[1]
    assert prompt == {"prompt_token_ids": [1, 41, 50]}
    assert (params.seed, params.temperature, params.max_tokens) == (1001, 0.7, 4)
    assert params.stop_token_ids == sorted({tokenizer.eos_token_id})
    assert generator.decode(ROWS, max_new_tokens=4, temperature=1.0)[0].log_probs == ()


def test_vllm_is_given_the_weights_of_now(tiny_llama_dir: Path, fake_vllm: None) -> None:
    model, tokenizer = load_weights(tiny_llama_dir)
    generator: Any = open_generator(model, tokenizer, kind="vllm")
    with torch.no_grad():
        model.model.norm.weight.fill_(3.0)
    generator.refresh()
    assert (generator._engine.loaded["model.norm.weight"] == 3.0).all()
    assert generator._engine.resets == 1


def test_what_is_missing_is_named(tiny_llama_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = load_weights(tiny_llama_dir)
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtra, match="vllm"):
        open_generator(model, tokenizer, kind="vllm")
    wrong: Any = "hf"
    with pytest.raises(UsageError, match="one of ours, vllm, server"):
        open_generator(model, tokenizer, kind=wrong)
