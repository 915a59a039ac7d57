"""On a real GPU: the decoder's graphs and training on it.

Nothing here runs in `make test`; `pytest -m gpu tests/gpu` does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import UsageError  # noqa: E402
from adhere.models.local.decoder.decode import Decoder, DecodeRow  # noqa: E402
from adhere.models.local.decoder.device import available_bytes, share_gpu  # noqa: E402
from adhere.models.local.transformers import load_weights  # noqa: E402
from adhere.schema import SftRow  # noqa: E402
from adhere.train.budget.ledger import StageResult  # noqa: E402
from adhere.train.parallel import processes  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA GPU"),
]
PROMPTS = [tuple(range(3, 9 + n)) for n in range(24)]


def train(directory: Path, **settings: Any) -> StageResult:
    """SFT of a tiny model on eight rows on the GPU."""
    model, tokenizer = load_weights(directory, device="cuda")
    rows = [SftRow(f"p{i}", f"Write about thing {i}.", "the sea is deep", "sampled", (), ()) for i in range(8)]
    stage = STAGES.get("sft")
    return stage.run(model, tokenizer, rows, stage.settings(**settings), seed=0)


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
    result = train(tiny_llama_dir, precision=precision, epochs=10, learning_rate=1e-3)
    assert result.ledger.device == "cuda"
    losses = [loss for row in result.log if (loss := row["loss"]) is not None]
    assert len(losses) == len(result.log)
    assert losses[-1] < losses[0] - 1


def test_training_leaves_cudnns_attention_alone(tiny_llama_dir: Path) -> None:
    """It plans anew for every length of a batch: two thirds of a step in bf16 on an H100."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as seen:
        train(tiny_llama_dir, precision="bf16", epochs=1)
    attention = [event.key for event in seen.key_averages() if "attention" in event.key]
    assert attention
    assert not [name for name in attention if "cudnn" in name]


def test_processes_that_share_a_gpu_take_their_part() -> None:
    alone, total = available_bytes("cuda") or 0, torch.cuda.mem_get_info()[1]
    share_gpu(4)
    try:
        assert 0 < (available_bytes("cuda") or 0) < 0.25 * total < alone
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(int(0.3 * total), dtype=torch.uint8, device="cuda")
    finally:
        share_gpu(1)


def test_more_processes_than_gpus_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    count = torch.cuda.device_count()
    monkeypatch.setenv("WORLD_SIZE", str(count + 1))
    monkeypatch.setenv("LOCAL_RANK", str(count))
    with pytest.raises(UsageError, match=f"--nproc-per-node {count}"), processes():
        pass
