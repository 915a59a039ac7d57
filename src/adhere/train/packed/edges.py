"""Log-probabilities of single tokens from logits over a large vocabulary.

Softmax and gradient are made a few rows at a time. Autograd makes several arrays of the size of the logits; at
262,144 words each takes 1 MB a token in fp32. Here the logits and their gradient are the only two
(`benchmarks/training/edges.py`).

Notation: S rows of logits, V words, E edges (a row and the word whose log-probability is wanted).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

AT_ONCE = {"cpu": 2**22}  # numbers of a block: 16 MB in fp32, which the allocator keeps and hands out again
ELSEWHERE = 2**26


class _EdgeLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, slots: Tensor, targets: Tensor, temperature: float) -> Tensor:
        sums = logits.new_empty(len(logits), dtype=torch.float32)
        for rows in _blocks(logits):
            sums[rows] = _scale(logits[rows], temperature).logsumexp(-1)
        ctx.save_for_backward(logits, slots, targets, sums)
        ctx.temperature = temperature
        return _scale(logits[slots, targets], temperature) - sums.index_select(0, slots)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        logits, slots, targets, sums = ctx.saved_tensors
        gradient = gradient.float() / ctx.temperature
        of_row = torch.zeros_like(sums).index_add_(0, slots, gradient)
        of_logits = torch.empty_like(logits)
        # The edges of a block of rows lie together in this order.
        order = slots.argsort(stable=True)
        counts = torch.bincount(slots, minlength=len(logits)).cumsum(0).tolist()
        for rows in _blocks(logits):
            part = _scale(logits[rows], ctx.temperature).sub(sums[rows, None]).exp_().mul_(-of_row[rows, None])
            edges = order[counts[rows.start - 1] if rows.start else 0 : counts[rows.stop - 1]]
            # Each (slot, target) occurs once, so no two edges add to one number.
            part[slots[edges] - rows.start, targets[edges]] += gradient[edges]
            of_logits[rows] = part
        return of_logits, None, None, None


def edge_log_probs(logits: Tensor, slots: Tensor, targets: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Compute the log-probability of word `targets[e]` in row `slots[e]` for each edge e, (E) in fp32.

    Args:
        logits: (S, V), of any precision; the softmax is computed in fp32.
        slots: (E) of long.
        targets: (E) of long; each pair of slot and target occurs once.
        temperature: Divides the logits.
    """
    log_probs: Tensor = _EdgeLogProbs.apply(logits, slots, targets, temperature)  # type: ignore[no-untyped-call]
    return log_probs


def _scale(logits: Tensor, temperature: float) -> Tensor:
    return logits.float() if temperature == 1.0 else logits.float() / temperature


def _blocks(logits: Tensor) -> Iterator[slice]:
    """Yield slices of rows, small enough that their softmax is a small array."""
    height = max(1, AT_ONCE.get(logits.device.type, ELSEWHERE) // logits.shape[1])
    for start in range(0, len(logits), height):
        yield slice(start, min(start + height, len(logits)))
