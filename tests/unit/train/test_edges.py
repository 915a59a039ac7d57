"""Log-probs of single tokens without arrays of the logits' size give what autograd gives."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.train.packed import edges  # noqa: E402
from adhere.train.packed.edges import edge_log_probs  # noqa: E402

VOCABULARY = 37
SLOTS, TARGETS = [2, 0, 0, 4, 5, 2], [3, 1, 9, 36, 0, 4]  # row 0 and 2 predict two words, rows 1 and 3 none


def plain(logits: Any, slots: Any, targets: Any, *, temperature: float) -> Any:
    return (logits.float() / temperature).log_softmax(-1)[slots, targets]


@pytest.mark.parametrize("height", [1, 4, 100])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_those_of_a_softmax(
    dtype: Any, temperature: float, height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(edges.AT_ONCE, "cpu", height * VOCABULARY)
    torch.manual_seed(0)
    logits = (4 * torch.randn(6, VOCABULARY)).to(dtype)
    weights, slots, targets = torch.randn(len(SLOTS)), torch.tensor(SLOTS), torch.tensor(TARGETS)
    found = []
    for compute in (edge_log_probs, plain):
        own = logits.clone().requires_grad_(True)
        values = compute(own, slots, targets, temperature=temperature)
        (values * weights).sum().backward()
        found.append((values.detach(), own.grad))
    (ours, our_gradient), (theirs, their_gradient) = found
    assert ours.dtype == torch.float32
    assert our_gradient.dtype == dtype
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(our_gradient, their_gradient)


def test_the_same_bits_whatever_stands_beside() -> None:
    torch.manual_seed(1)
    logits = torch.randn(6, VOCABULARY)
    whole = edge_log_probs(logits, torch.tensor(SLOTS), torch.tensor(TARGETS))
    alone = [
        edge_log_probs(logits[[slot]], torch.tensor([0]), torch.tensor([word]))
        for slot, word in zip(SLOTS, TARGETS, strict=True)
    ]
    assert torch.equal(whole, torch.cat(alone))
