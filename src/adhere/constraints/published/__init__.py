"""Published semantics, bit for bit: the kinds of IFEval, IFBench and IFTrain under their published names."""

from __future__ import annotations

from adhere.constraints.published.shared.features import Text, forget
from adhere.constraints.published.shared.modes import constraint
from adhere.constraints.published.shared.registry import (
    PROFILES,
    Check,
    Kind,
    Param,
    PublishedConstraint,
    both_views,
    fill,
    find,
    ids,
    is_published,
    kinds,
    register,
)

__all__ = [
    "PROFILES", "Check", "Kind", "Param", "PublishedConstraint", "Text",
    "both_views", "constraint", "fill", "find", "forget", "ids", "is_published", "kinds", "register",
]  # fmt: skip
