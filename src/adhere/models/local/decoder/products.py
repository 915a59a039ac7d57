"""The decoder's matrix products: the fastest way that gives the same bits on one machine."""

from __future__ import annotations

from functools import cache
from typing import cast

import torch
from torch.nn import functional

from adhere.models.local.decoder import Layout


def product(weight: torch.Tensor, columns: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Compute `weight @ columns`, (out, N), in the weight's precision and the given layout.

    In fp32 on a CPU it uses oneDNN if torch has it: `torch.mm` uses MKL, which on AMD's AVX-512 processors reached 104
    GFLOPS a core where oneDNN reached 250, and 126 when held to AVX2 (docs/LOG.md). No timing decides this: the same
    machine must give the same bits.
    """
    if layout == "rows":
        return functional.linear(columns.t().to(weight.dtype), weight).t()
    if weight.dtype == torch.float32 and weight.device.type == "cpu" and _has_onednn():
        return _by_onednn(weight, columns)
    return torch.mm(weight, columns.to(weight.dtype))


def _by_onednn(weight: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Compute `weight @ columns` with the operator that torch's own compiler calls; torch has no public name for it."""
    return cast("torch.Tensor", torch.ops.mkldnn._linear_pointwise(weight, columns.t(), None, "none", [], ""))  # noqa: SLF001


@cache
def _has_onednn() -> bool:
    """Tell whether this build of torch has oneDNN, and the operator under that name."""
    try:
        small = torch.ones(2, 2)
        return bool((_by_onednn(small, small) == 2).all())
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
