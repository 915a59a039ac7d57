"""Picks tokens from logits: greedily, or by inverse transform from one uniform number for each row.

A row's token is a function of its own logits and its own number, so the rest of the batch does not matter. Logits come
as (vocabulary, rows). They are reduced in blocks of the vocabulary, because reductions over the outer dimension
vectorise over rows, and a cumulative sum over 49,152 entries does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import threshold

from adhere.errors import Divergence

BLOCK = 256
NUCLEUS = 1024  # candidates looked at before a row is sorted in full
LEAST = -87.0  # exp of less is subnormal, a hundred times slower on a CPU: at temperature 0.2 it was 40 % of a step


def uniforms(seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the `count` numbers in [0, 1) that draw the tokens of one row: a Philox stream keyed by its seed."""
    return np.random.Generator(np.random.Philox(key=seed)).random(count)


class PickedTokens(NamedTuple):
    """Holds a token for each row, and its log-probability when drawn (None if nothing was drawn or top_p < 1)."""

    tokens: Tensor
    log_probs: Tensor | None


def pick_tokens(logits: Tensor, draws: Sequence[float], *, temperature: float, top_p: float) -> PickedTokens:
    """Pick one token for each row, with its log-probability if temperature > 0 and top_p = 1.

    Args:
        logits: (vocabulary, rows); overwritten.
        draws: One number in [0, 1) for each row; unused at temperature 0.
        temperature: 0 takes the likeliest token, the first of equals.
        top_p: Draw from the smallest set of likeliest tokens that holds this share of the probability.

    Raises:
        Divergence: A logit is NaN or infinite; nothing is drawn from it.
    """
    if logits.device.type == "mps":  # it has no float64
        logits = logits.cpu()
    vocabulary, rows = logits.shape
    blocks = -(-vocabulary // BLOCK)
    if blocks * BLOCK != vocabulary:
        logits = torch.cat((logits, logits.new_full((blocks * BLOCK - vocabulary, rows), float("-inf"))))
    by_block = logits.view(blocks, BLOCK, rows)
    block_best = by_block.amax(1)  # (blocks, rows); NaN stays NaN
    best = block_best.amax(0)
    if not bool(best.isfinite().all()):
        raise Divergence("The model's logits are not finite (NaN, infinity): its weights are damaged or have diverged.")
    every = torch.arange(rows, device=logits.device)
    if temperature == 0:
        block = block_best.argmax(0)
        return PickedTokens(block * BLOCK + by_block[block, :, every].argmax(1), None)
    logits.sub_(best)
    if temperature != 1:
        logits.div_(temperature).clamp_(min=LEAST)
    weights, targets = logits.exp_(), torch.tensor(draws, dtype=torch.float64, device=logits.device)
    if temperature != 1:
        threshold(weights, 2e-38, 0.0, inplace=True)  # what was clamped, and what was padded, has no weight
    if top_p < 1:
        return PickedTokens(_nucleus(weights, targets, top_p), None)
    # Inverse transform in two steps: the first block in which the cumulative sum exceeds the target, then the token in
    # it. Sums are in float64, so that a token's share does not depend on where it stands.
    cumulative = by_block.sum(1).double().cumsum(0)  # (blocks, rows)
    targets *= cumulative[-1]
    block = (cumulative <= targets).sum(0)
    before = torch.where(block > 0, cumulative[(block - 1).clamp(min=0), every], 0.0)
    tokens = block * BLOCK + _first_above(by_block[block, :, every].double().cumsum(1), targets - before)
    return PickedTokens(tokens, weights[tokens, every].double().log() - cumulative[-1].log())


def _first_above(cumulative: Tensor, targets: Tensor) -> Tensor:
    """Return the index of the first entry in each row of (rows, n) that exceeds its target."""
    # Rounding may leave a target at or above the row's total.
    targets = torch.minimum(targets, cumulative[:, -1] * (1 - 1e-12))
    return (cumulative <= targets[:, None]).sum(1)


def _nucleus(weights: Tensor, draws: Tensor, top_p: float) -> Tensor:
    """Draw from the likeliest tokens that together hold `top_p`; `weights` are unnormalised, (vocabulary, rows)."""
    by_row = weights.t().contiguous()
    needed_mass = by_row.sum(1, dtype=torch.float64) * top_p
    chosen = torch.empty(len(by_row), dtype=torch.long, device=weights.device)
    values, tokens = by_row.topk(min(NUCLEUS, by_row.shape[1]), dim=1)
    enough = values.sum(1, dtype=torch.float64) >= needed_mass
    if enough.any():
        chosen[enough] = _draw_sorted(values[enough], tokens[enough], needed_mass[enough], draws[enough])
    if not enough.all():
        values, tokens = by_row[~enough].sort(1, descending=True)
        chosen[~enough] = _draw_sorted(values, tokens, needed_mass[~enough], draws[~enough])
    return chosen


def _draw_sorted(values: Tensor, tokens: Tensor, needed_mass: Tensor, draws: Tensor) -> Tensor:
    cumulative = values.double().cumsum(1)
    last = (cumulative < needed_mass[:, None]).sum(1, keepdim=True).clamp_(max=values.shape[1] - 1)
    kept_mass = cumulative.gather(1, last)[:, 0]
    place = torch.minimum(_first_above(cumulative, draws * kept_mass)[:, None], last)
    return tokens.gather(1, place)[:, 0]
