"""Offline DPO: loss by hand, the reference, log rows, determinism."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import AdhereError, UsageError  # noqa: E402
from adhere.schema import PairRow  # noqa: E402
from adhere.train.batch.pairs import Sums, reference_sums, update_on_pairs  # noqa: E402
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.loop import learning  # noqa: E402
from adhere.train.methods.dpo import DpoSettings, dpo  # noqa: E402
from adhere.train.packed.rows import TokenPair, pair_rows  # noqa: E402


def rows(count: int = 6) -> list[PairRow]:
    return [
        PairRow(
            f"p{i}", f"Write about thing {i % 3}.", f"the sea is number {i}", f"the sea, it is {i}", "repaired", (), ()
        )
        for i in range(count)
    ]


def alone(model: Any, pair: TokenPair) -> list[float]:
    sums = []
    with torch.no_grad():
        for row in pair:
            logits = model(input_ids=torch.tensor([row.prompt + row.completion]), use_cache=False).logits[0]
            picked = logits[len(row.prompt) - 1 : -1].log_softmax(-1)[range(len(row.completion)), list(row.completion)]
            sums.append(float(picked.sum()))
    return sums


def test_the_first_loss_is_ln_2_and_margins_grow(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    result = dpo(model, tokenizer, rows(), DpoSettings(learning_rate=1e-3, epochs=4, batch_pairs=6), seed=0)
    first, last = result.log[0], result.log[-1]
    assert first["loss"] == pytest.approx(math.log(2), abs=1e-4)
    assert last["loss"] < first["loss"]
    assert last["margin"] > 0
    assert last["accuracy"] == 1.0
    assert last["margin"] == pytest.approx(last["reward_chosen"] - last["reward_rejected"], rel=1e-4)
    assert result.ledger.steps == 4
    assert result.ledger.tokens_scored > 0


def test_reference_sums_and_margins_equal_the_rows_alone(tiny: tuple[Any, Any]) -> None:
    """Against a reference of (-1, -3), the implicit rewards are beta * (log p + 1) and beta * (log p + 3)."""
    model, tokenizer = tiny
    pairs = pair_rows(tokenizer, rows())
    tally = Tally()
    found = reference_sums(model, pairs, tree_tokens=120, tally=tally)
    for sums, pair in zip(found, pairs, strict=True):
        assert list(sums) == pytest.approx(alone(model, pair), abs=1e-3)
    expected = [alone(model, pair) for pair in pairs]
    other = [Sums(-1.0, -3.0)] * len(pairs)
    with learning(model, DpoSettings(), stage="dpo", steps=1) as learner:
        row = update_on_pairs(model, learner, pairs, other, beta=0.5, tally=tally, starts_at=None)
    assert row["reward_chosen"] == pytest.approx(sum(0.5 * (c + 1) for c, _ in expected) / len(pairs), abs=1e-3)
    assert row["reward_rejected"] == pytest.approx(sum(0.5 * (r + 3) for _, r in expected) / len(pairs), abs=1e-3)


def test_a_wrong_reference_is_noticed_at_the_first_step(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    pairs = pair_rows(tokenizer, rows())
    reference = [Sums(c + 1.0, r - 1.0) for c, r in reference_sums(model, pairs, tree_tokens=500, tally=Tally())]
    with (
        learning(model, DpoSettings(), stage="dpo", steps=1) as learner,
        pytest.raises(AdhereError, match="not ln 2"),
    ):
        update_on_pairs(model, learner, pairs, reference, beta=0.1, tally=Tally())


def test_the_same_seed_gives_the_same_bits_wherever_the_reference_is_cut(tiny_llama_dir: Any) -> None:
    transformers = pytest.importorskip("transformers")
    found = []
    for _ in range(2):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype=torch.float32)
        tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
        dpo(model, tokenizer, rows(), DpoSettings(learning_rate=1e-3, batch_pairs=2), seed=3)
        found.append(model.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_pairs_that_say_nothing_are_refused(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    with pytest.raises(UsageError, match="no pairs"):
        dpo(model, tokenizer, [], DpoSettings(), seed=0)
    same = PairRow("p7", "Write.", "same", "same", "sampled", (), ())
    with pytest.raises(UsageError, match="'p7' has the same text"):
        dpo(model, tokenizer, [same], DpoSettings(), seed=0)
