"""GRPO whose answers a vLLM server draws.

A stand-in on 127.0.0.1 that reads the weights it is told to read. vLLM itself was not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.train.stand_in import StandIn, serving  # noqa: E402

from adhere.errors import AdhereError, UsageError  # noqa: E402
from adhere.models.local.decoder import server as client  # noqa: E402
from adhere.models.local.decoder.decode import DecodeRow  # noqa: E402
from adhere.models.local.decoder.generator import open_generator  # noqa: E402
from adhere.models.local.transformers import load_weights  # noqa: E402
from adhere.schema import RlRow  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, grpo  # noqa: E402

ROWS = [RlRow(f"p{i}", f"Write about thing {i}.", 4, 0.5, 0.1, ("case:lower",), ({},)) for i in range(4)]
SETTINGS = {"steps": 3, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 8, "learning_rate": 1e-3}


def score(_: str, answers: Any) -> list[float | None]:
    return [sum(map(ord, answer.text)) % 7 / 6 for answer in answers]


def trained(directory: Path, **more: Any) -> tuple[Any, Any]:
    model, tokenizer = load_weights(directory)
    return model, grpo(model, tokenizer, ROWS, GrpoSettings(**SETTINGS, **more), seed=0, score=score)


@pytest.fixture
def stand_in(tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with serving(tiny_llama_dir) as found:
        monkeypatch.setenv(client.URL, f"{found.url}/v1")
        monkeypatch.setenv(client.WEIGHTS, str(tmp_path / "shared"))
        monkeypatch.setattr(client, "PAUSE_S", 0.01)
        yield found


def test_training_on_a_servers_answers_is_training_on_our_own(
    stand_in: StandIn, tiny_llama_dir: Path, tmp_path: Path
) -> None:
    """It draws from the same weights with the same seeds here, so the answers are the same and the correction is 1."""
    ours, alone = trained(tiny_llama_dir)
    theirs, served = trained(tiny_llama_dir, generator="server")
    assert [row["reward_mean"] for row in served.log] == [row["reward_mean"] for row in alone.log]
    assert all(row["importance_mean"] == pytest.approx(1, abs=1e-4) for row in served.log)
    for (name, one), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-4), name
    assert len(stand_in.loaded) == stand_in.resets == 3, "before every draw"
    assert [path.name for path in (tmp_path / "shared").iterdir()] == [Path(stand_in.loaded[-1]).name], (
        "only the last stay"
    )
    asked = stand_in.asked[0]
    assert (asked["model"], asked["return_token_ids"], asked["logprobs"], asked["temperature"]) == (
        "policy",
        True,
        1,
        1.0,
    )


def test_a_sampler_that_is_another_policy_is_corrected_for(stand_in: StandIn, tiny_llama_dir: Path) -> None:
    stand_in.stale = True
    _, result = trained(tiny_llama_dir, generator="server")
    first, *later = [row["importance_mean"] for row in result.log]
    assert first == pytest.approx(1, abs=1e-4)
    assert all(abs(value - 1) > 1e-3 for value in later), "weights have moved, and the server's have not"


def test_busy_is_waited_out_and_what_is_missing_is_said(
    stand_in: StandIn, tiny_llama_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = load_weights(tiny_llama_dir)
    rows = [DecodeRow((5, 9, 33), seed) for seed in range(3)]
    generator = open_generator(model, tokenizer, kind="server", rows=2)
    stand_in.busy = 2
    ended: list[int] = []
    found = generator.decode(rows, max_new_tokens=4, temperature=1.0, on_done=lambda index, _: ended.append(index))
    assert [one.log_probs for one in found] == [()] * 3
    assert sorted(ended) == [0, 1, 2]
    assert "logprobs" not in stand_in.asked[-1]
    stand_in.busy = 1000
    with pytest.raises(AdhereError, match="HTTP 503: busy"):
        generator.decode(rows[:1], max_new_tokens=4)
    stand_in.busy, stand_in.mute = 0, True
    with pytest.raises(AdhereError, match="knows return_token_ids"):
        generator.decode(rows[:1], max_new_tokens=4)
    stand_in.is_production = True
    with pytest.raises(AdhereError, match="VLLM_SERVER_DEV_MODE=1"):
        generator.refresh()
    with pytest.raises(UsageError, match="Row 0 has 0 prompt tokens"):
        generator.decode([DecodeRow((), 0)], max_new_tokens=4)
    monkeypatch.delenv(client.URL)
    with pytest.raises(UsageError, match="ADHERE_VLLM_SERVER"):
        open_generator(model, tokenizer, kind="server")


def test_a_server_that_is_not_there_is_named(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAUSE_S", 0.01)
    monkeypatch.setenv(client.URL, "http://127.0.0.1:9")
    monkeypatch.setenv(client.WEIGHTS, str(tmp_path))
    model, tokenizer = load_weights(tiny_llama_dir)
    with pytest.raises(AdhereError, match=r"http://127\.0\.0\.1:9/v1/models: ClientConnectorError"):
        open_generator(model, tokenizer, kind="server").decode([DecodeRow((5,), 0)], max_new_tokens=2)
