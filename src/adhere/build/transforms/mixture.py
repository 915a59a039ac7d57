"""Change how often rows of each kind of constraint occur: repeat or drop them by weight."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adhere.build.transforms.base import Result, Row, Settings, Transform
from adhere.errors import UsageError


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    try:
        weights = json.loads(settings.options["weights"])
        is_valid = isinstance(weights, dict) and all(
            isinstance(weight, int | float) and weight >= 0 for weight in weights.values()
        )
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError(
            f'mixture: weights={settings.options["weights"]!r} must be JSON such as {{"length": 2, "case": 0.5, "": 1}}'
        )
    new_rows, left_out = [], []
    for number, row in enumerate(rows, start=1):
        families = [name.partition(":")[0] for name in row.get("instruction_id_list") or [""]]
        weight = max(float(weights.get(family, weights.get("", 1.0))) for family in families)
        whole = int(weight)
        times = whole + (settings.rng(number).random() < weight - whole)
        new_rows += [row] * times
        if times == 0:
            left_out.append((number, f"its weight is {weight:g}"))
    return Result(new_rows, left_out)


TRANSFORM = Transform(
    "mixture",
    1,
    "arXiv 2412.15115 (domain sampling)",
    ("sft", "pairs", "rl"),
    'Repeats or leaves out rows by their families\' weights, as JSON; "" is the weight of all others.',
    _apply,
    {"weights": "{}"},
)
