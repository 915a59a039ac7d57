"""Pairs that differ in what the rule asks for and in little else.

The rejected answer against itself after the smallest edit that passes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import constraints, keeps, text_of, with_text
from adhere.constraints import repair_all
from adhere.text.repeats import common_subsequence, tokens


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    rejected, asked = text_of(row["rejected"]), constraints(row)
    edited = repair_all(rejected, asked)
    if edited is None or edited == rejected or not keeps(edited, asked):
        raise UnfitRow("no small edit of its rejected answer keeps all constraints")
    one, other = tokens(rejected), tokens(edited)
    shared = 2 * common_subsequence(one, other) / max(1, len(one) + len(other))
    if shared < options["share"]:
        raise UnfitRow(f"its answers have {shared:.0%} of their words in common")
    return {**row, "chosen": with_text(row["chosen"], edited), "origin": "repaired"}


TRANSFORM = Transform(
    "minimal_difference",
    1,
    "arXiv 2412.11605 (SPaR; edits here, refinement by a model in `refine`)",
    ("pairs",),
    "The rejected answer against its own smallest edit that passes.",
    each(_change),
    {"share": 0.5},
)
