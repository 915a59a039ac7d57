"""Keep pairs whose answers are about as long, so that length does not tell them apart."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import text_of
from adhere.text.words import count_words


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    counts = sorted(count_words(text_of(row[side])) for side in ("chosen", "rejected"))
    if counts[0] < options["share"] * counts[1]:
        raise UnfitRow(f"its answers have {counts[0]} and {counts[1]} words")
    return row


TRANSFORM = Transform(
    "length_matched",
    1,
    "arXiv 2403.19159 (length and DPO)",
    ("pairs",),
    "Keeps pairs whose shorter answer has a share of the longer one's words.",
    each(_change),
    {"share": 0.8},
)
