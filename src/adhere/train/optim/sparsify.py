"""Keep a part of a change of weights: a random share of its coordinates (DARE), or the largest ones (TIES)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch

Rescale = Literal["none", "inverse", "l1"]
"""Scaling of the coordinates that are kept.

`none`: nothing. `inverse`: they are divided by the share kept, which preserves the mean. `l1`: they are scaled so that
the sum of magnitudes is as before.
"""


def keep_random(delta: torch.Tensor, share: float, generator: torch.Generator, rescale: Rescale) -> torch.Tensor:
    """Return a copy of `delta` with each coordinate kept with probability `share`, the others 0, then rescaled."""
    if share >= 1:
        return delta.clone()
    mask = torch.empty_like(delta).bernoulli_(share, generator=generator)  # as torch's dropout draws it
    return apply_rescale(delta * mask, delta, share, rescale)


def keep_largest(delta: torch.Tensor, share: float, rescale: Rescale) -> torch.Tensor:
    """Return a copy of `delta` with the `share` of largest magnitude kept, the others 0, then rescaled.

    At least one coordinate is kept.
    """
    if share >= 1 or not delta.numel():
        return delta.clone()
    flat = delta.reshape(-1)
    places = flat.abs().topk(max(1, math.floor(share * flat.numel())), sorted=False).indices
    sparse = torch.zeros_like(flat)
    sparse[places] = flat[places]
    return apply_rescale(sparse.reshape(delta.shape), delta, share, rescale)


def apply_rescale(sparse: torch.Tensor, whole: torch.Tensor, share: float, rescale: Rescale) -> torch.Tensor:
    """Rescale `sparse`, the part kept of `whole`. `l1` leaves a change that is all zeros as it is."""
    match rescale:
        case "none":
            return sparse
        case "inverse":
            return sparse / share
        case "l1":
            kept_norm = sparse.abs().sum()
            return sparse * (whole.abs().sum() / kept_norm) if float(kept_norm) > 0 else sparse


def pack(sparse: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Pack a mostly empty tensor into one bit for each coordinate (uint8), and its values other than zero."""
    is_kept = (sparse != 0).reshape(-1).cpu()
    return torch.from_numpy(np.packbits(is_kept.numpy())), sparse.reshape(-1).cpu()[is_kept]


def unpack(packed: tuple[torch.Tensor, torch.Tensor], like: torch.Tensor) -> torch.Tensor:
    """Return the tensor that `pack` got, with the shape, type and device of `like`."""
    bits, values = packed
    is_kept = torch.from_numpy(np.unpackbits(bits.cpu().numpy(), count=like.numel())).bool()
    whole = torch.zeros(like.numel(), dtype=like.dtype)
    whole[is_kept] = values.to("cpu", like.dtype)
    return whole.reshape(like.shape).to(like.device)
