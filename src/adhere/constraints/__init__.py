"""Judge answers by constraints that a program can check; a family's module is imported on first use.

base.py       defines a Constraint; the registry of our own kinds (`make`, `from_ref`)
resolve.py    makes any constraint from its stored form: our own, a published one, a plug-in's
compose.py    constraints made of others (nested.py: how these are stored); rule.py: the base of our own kinds
repair.py     small edits that make an answer pass
kinds/        our own kinds: trained/, held_out/, and what families share
published/    published kinds, bit for bit, and with their defects mended: one folder for each suite
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adhere.constraints.base import (
        Choice,
        Constraint,
        Domain,
        Finding,
        ListOf,
        Whole,
        Words,
        conflict,
        from_ref,
        kind,
        make,
        param,
        registry,
    )
    from adhere.constraints.repair import passes_all, repair_all
    from adhere.constraints.resolve import known_ids, version_of
    from adhere.schema import Mode

__all__ = [
    "Choice", "Constraint", "Domain", "Finding", "ListOf", "Mode", "Whole", "Words", "conflict", "from_ref", "kind",
    "known_ids", "make", "param", "passes_all", "registry", "repair_all", "version_of",
]  # fmt: skip
_MODULES = {
    **dict.fromkeys(("passes_all", "repair_all"), "adhere.constraints.repair"),
    **dict.fromkeys(("known_ids", "version_of"), "adhere.constraints.resolve"),
    "Mode": "adhere.schema",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "adhere.constraints.base")), name)
