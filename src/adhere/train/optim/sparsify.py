"""Choose what is kept of a change of weights: a random share of its coordinates (DARE), or the largest ones (TIES)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch

Rescale = Literal["none", "inverse", "l1"]
"""What happens to the survivors.

Nothing; divided by the share that is kept, which keeps the mean; the sum of magnitudes restored.
"""


def keep_random(delta: torch.Tensor, share: float, generator: torch.Generator, rescale: Rescale) -> torch.Tensor:
    """`delta` with each coordinate kept with probability `share`, the others zero; a new tensor of the same shape."""
    if share >= 1:
        return delta.clone()
    mask = torch.empty_like(delta).bernoulli_(share, generator=generator)  # as torch's dropout draws it
    return apply_rescale(delta * mask, delta, share, rescale)


def keep_largest(delta: torch.Tensor, share: float, rescale: Rescale) -> torch.Tensor:
    """`delta` with the `share` of coordinates of largest magnitude kept (at least one), the others zero.

    A new tensor.
    """
    if share >= 1 or not delta.numel():
        return delta.clone()
    flat = delta.reshape(-1)
    places = flat.abs().topk(max(1, math.floor(share * flat.numel())), sorted=False).indices
    sparse = torch.zeros_like(flat)
    sparse[places] = flat[places]
    return apply_rescale(sparse.reshape(delta.shape), delta, share, rescale)


def apply_rescale(sparse: torch.Tensor, whole: torch.Tensor, share: float, rescale: Rescale) -> torch.Tensor:
    """`sparse` as `rescale` says. `l1` leaves a change that is all zeros as it is."""
    match rescale:
        case "none":
            return sparse
        case "inverse":
            return sparse / share
        case "l1":
            kept_norm = sparse.abs().sum()
            return sparse * (whole.abs().sum() / kept_norm) if float(kept_norm) > 0 else sparse


def pack(sparse: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A mostly empty tensor as one bit a coordinate (uint8) and the values of those that are not zero."""
    is_kept = (sparse != 0).reshape(-1).cpu()
    return torch.from_numpy(np.packbits(is_kept.numpy())), sparse.reshape(-1).cpu()[is_kept]


def unpack(packed: tuple[torch.Tensor, torch.Tensor], like: torch.Tensor) -> torch.Tensor:
    """Return what `pack` was given, as a tensor of the shape, type and device of `like`."""
    bits, values = packed
    is_kept = torch.from_numpy(np.unpackbits(bits.cpu().numpy(), count=like.numel())).bool()
    whole = torch.zeros(like.numel(), dtype=like.dtype)
    whole[is_kept] = values.to("cpu", like.dtype)
    return whole.reshape(like.shape).to(like.device)
