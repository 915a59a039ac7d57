"""The decoder's matrix products, by what is fastest here and gives the same bits on one machine."""

from __future__ import annotations

from functools import cache
from typing import cast

import torch
from torch.nn import functional

from adhere.models.local.decoder import Layout


def product(weight: torch.Tensor, columns: torch.Tensor, layout: Layout) -> torch.Tensor:
    """`weight @ columns`, in the weight's precision and the given layout: (out, N), in that precision.

    In fp32 on a CPU by oneDNN where torch has it: `torch.mm` goes to MKL, which on AMD's AVX-512 processors reached 104
    GFLOPS a core where oneDNN reached 250, and 126 when held to AVX2 (docs/LOG.md). Always, not by timing: the same
    machine must give the same bits.
    """
    if layout == "rows":
        return functional.linear(columns.t().to(weight.dtype), weight).t()
    if weight.dtype == torch.float32 and weight.device.type == "cpu" and _has_onednn():
        return _by_onednn(weight, columns)
    return torch.mm(weight, columns.to(weight.dtype))


def _by_onednn(weight: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """`weight @ columns` by the operator that torch's own compiler calls: torch has no public name for it."""
    return cast("torch.Tensor", torch.ops.mkldnn._linear_pointwise(weight, columns.t(), None, "none", [], ""))  # noqa: SLF001


@cache
def _has_onednn() -> bool:
    """Whether this build of torch has oneDNN, and the operator under that name."""
    try:
        small = torch.ones(2, 2)
        return bool((_by_onednn(small, small) == 2).all())
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
