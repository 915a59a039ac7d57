"""SFT that ends when the score of held-out prompts stands still."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere_more.methods import sft_until as module  # noqa: E402
from adhere_more.methods.sft_until import SftUntilSettings, sft_until  # noqa: E402
from tests.unit.train.conftest import load  # noqa: E402

from adhere.errors import UsageError  # noqa: E402
from adhere.schema import SftRow  # noqa: E402

RULE = ("case:lower",), ({},)
ROWS = [SftRow(f"p{i}", f"Write about thing {i}.", "the sea is wide", "sampled", *RULE) for i in range(20)]
SETTINGS = {"epochs": 5, "batch_rows": 6, "every": 1, "patience": 2, "max_new_tokens": 6, "learning_rate": 1e-2}


def run(directory: Path, scores: list[float] | None = None, **more: Any) -> tuple[list[Any], list[float | None], Any]:
    """The weights it ends with, its looks, the result.

    `scores`: what the judge says, look by look, instead of judging.
    """
    model, tokenizer = load(directory)
    with pytest.MonkeyPatch.context() as patch:
        if scores is not None:
            said = iter(scores)
            patch.setattr(module, "_score", lambda *_: next(said))
        result = sft_until(model, tokenizer, ROWS, SftUntilSettings(**SETTINGS | more), seed=0)
    looks = [row["instruction_score"] for row in result.log if "instruction_score" in row]
    return [p.detach().clone() for p in model.parameters()], looks, result


def test_it_ends_after_looks_without_gain_and_keeps_the_best(tiny_llama_dir: Path) -> None:
    """0.1 at the start, 0.5 and 0.6, then nothing better twice: the weights are those after the second step."""
    weights, looks, result = run(tiny_llama_dir, [0.1, 0.5, 0.6, 0.6, 0.2, 0.9])
    assert looks == [0.1, 0.5, 0.6, 0.6, 0.2]
    assert result.ledger.steps == 4
    wanted, *_ = run(tiny_llama_dir, [0.1, 0.5, 0.6], epochs=1, batch_rows=9)
    shorter, _, two = run(tiny_llama_dir, [0.1, 0.5, 0.6, 0.0, 0.0], patience=2)
    assert two.ledger.steps == 4
    assert all(torch.equal(a, b) for a, b in zip(weights, shorter, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights, wanted, strict=True)), "other batches, other weights"


def test_where_nothing_gets_better_the_start_is_kept(tiny_llama_dir: Path) -> None:
    weights, looks, result = run(tiny_llama_dir, [0.5, 0.4, 0.5])
    assert looks == [0.5, 0.4, 0.5]
    assert result.ledger.steps == 2, "it has trained"
    start = [p.detach() for p in load(tiny_llama_dir)[0].parameters()]
    assert all(torch.equal(a, b) for a, b in zip(weights, start, strict=True))


def test_a_gain_must_be_more_than_the_least(tiny_llama_dir: Path) -> None:
    _, looks, _ = run(tiny_llama_dir, [0.5, 0.54, 0.55], least_gain=0.05)
    assert looks == [0.5, 0.54, 0.55]


def test_the_judge_looks_at_real_answers_to_prompts_that_were_not_learned(tiny_llama_dir: Path) -> None:
    """A random model writes no sentence in small letters.

    One that has learned twenty of them does, and the score says so.
    """
    _, looks, result = run(
        tiny_llama_dir,
        epochs=12,
        patience=40,
        every=6,
        freeze_embeddings_and_head=False,
        held_out_share=0.2,
        max_new_tokens=24,
    )
    assert looks[0] == 0.0
    assert max(looks) == 1.0
    assert result.ledger.answers_generated == 4 * len(looks)
    assert result.ledger.prompts == result.ledger.steps * 6 - (result.ledger.steps // 3) * 2, (
        "16 rows a pass are learned from"
    )


def test_without_constraints_there_is_nothing_to_stop_by(tiny_llama_dir: Path) -> None:
    bare = [SftRow("p", "Write.", "the sea", "sampled", (), ())]
    with pytest.raises(UsageError, match="no rows with constraints"):
        sft_until(*load(tiny_llama_dir), bare, SftUntilSettings(), seed=0)
    with pytest.raises(UsageError, match="no rows are left"):
        sft_until(*load(tiny_llama_dir), ROWS[:1], SftUntilSettings(), seed=0)
