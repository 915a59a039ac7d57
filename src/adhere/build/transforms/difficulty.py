"""Keep RL prompts that are neither too hard nor too easy for the model that drew the answers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    score = row.get("score_mean")
    if not isinstance(score, int | float):
        raise UnfitRow("it has no score_mean")
    if not options["low"] <= score <= options["high"]:
        raise UnfitRow(f"its score {score:.2f} lies outside {options['low']:g} to {options['high']:g}")
    return row


TRANSFORM = Transform(
    "difficulty",
    1,
    "arXiv 2503.14476 (DAPO, dynamic sampling)",
    ("rl",),
    "Keeps prompts whose own pass rate lies between two bounds.",
    each(_change),
    {"low": 0.1, "high": 0.9},
)
