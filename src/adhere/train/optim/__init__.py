"""Optimizers and merges that keep what an earlier stage taught: online merging and offline merges.

    merging.py   `OnlineMerging`, a wrapper of any torch optimizer (OnDARE, OnTIES)
    offline.py   merging finished weights: linear, DARE, TIES

The modules need torch and are imported at first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adhere.train.optim.merging import OnlineMerging
    from adhere.train.optim.offline import merge_dare, merge_linear, merge_ties

__all__ = ["OnlineMerging", "merge_dare", "merge_linear", "merge_ties"]
_HOMES = {"OnlineMerging": "merging", **dict.fromkeys(("merge_dare", "merge_linear", "merge_ties"), "offline")}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
