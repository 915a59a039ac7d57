"""On a real GPU: the decoder's graphs and training on it.

Nothing here runs in `make test`; `pytest -m gpu tests/gpu` does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.models.local.decoder.decode import Decoder, DecodeRow  # noqa: E402
from adhere.models.local.transformers import load_weights  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA GPU"),
]
PROMPTS = [tuple(range(3, 9 + n)) for n in range(24)]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_recorded_steps_say_what_eager_steps_say(tiny_llama_dir: Path, precision: Any) -> None:
    model = load_weights(tiny_llama_dir, device="cuda")[0]
    rows = [DecodeRow(ids, seed) for seed, ids in enumerate(PROMPTS)]
    said = [
        Decoder(model, end_ids=[2], rows=8, precision=precision, static=static).decode(rows, max_new_tokens=20)
        for static in (True, False)
    ]
    same = sum(a == b for a, b in zip(*said, strict=True))
    assert same == len(rows) if precision == "fp32" else same >= len(rows) // 2


def test_fp32_on_the_gpu_is_fp32_on_the_cpu(tiny_llama_dir: Path) -> None:
    rows = [DecodeRow(ids, 0) for ids in PROMPTS]
    said = [
        Decoder(load_weights(tiny_llama_dir, device=device)[0], end_ids=[2], rows=8).decode(rows, max_new_tokens=20)
        for device in ("cuda", "cpu")
    ]
    assert sum(a == b for a, b in zip(*said, strict=True)) >= len(rows) - 2


def test_a_recorded_step_sees_weights_that_an_optimizer_changed(tiny_llama_dir: Path) -> None:
    model = load_weights(tiny_llama_dir, device="cuda")[0]
    rows = [DecodeRow(ids, 0) for ids in PROMPTS]
    decoder = Decoder(model, end_ids=[2], rows=8, precision="bf16")
    before = decoder.decode(rows, max_new_tokens=8)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-1.3)
    decoder.refresh()
    after = decoder.decode(rows, max_new_tokens=8)
    assert after != before
    assert after == Decoder(model, end_ids=[2], rows=8, precision="bf16").decode(rows, max_new_tokens=8)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_stage_trains_on_the_gpu(tiny_llama_dir: Path, precision: Any) -> None:
    from adhere.schema import SftRow
    from adhere.train.stages import STAGES

    model, tokenizer = load_weights(tiny_llama_dir, device="cuda")
    rows = [SftRow(f"p{i}", f"Write about thing {i}.", "the sea is deep", "sampled", (), ()) for i in range(8)]
    stage = STAGES.get("sft")
    result = stage.run(
        model, tokenizer, rows, stage.settings(precision=precision, epochs=10, learning_rate=1e-3), seed=0
    )
    assert result.ledger.device == "cuda"
    assert result.log[-1]["loss"] < result.log[0]["loss"] - 1
