"""Online merging as its authors released it: the weights that their classes end with, stored, against ours.

`released_merging.json` was written by `ODAdamW` and `OTAdamW` of QwenLM/online_merging_optimizers, commit 9d411b8, on
the weights and gradients below, with torch seeded as the case says (`init_ref_param_diff` draws the first masks) and
`eps=1e-12`: their epsilon stands elsewhere in Adam's formula. The first step has rate 0: Adam's first changes are all
of one magnitude, of which OnTIES keeps any.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.train.optim import OnlineMerging  # noqa: E402

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("released_merging.json").read_text())
SHAPES = {"matrix": (6, 10), "vector": (5,)}


def wave(shape: tuple[int, ...], phase: float) -> Any:
    """Numbers in (-1, 1) that are the same everywhere."""
    count = math.prod(shape)
    return torch.tensor([math.sin(1.7 * i + phase) * math.cos(0.3 * i * i) for i in range(1, count + 1)]).view(shape)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_weights_are_those_of_the_released_classes(case: dict[str, Any]) -> None:
    start = {name: wave(shape, 0.5) for name, shape in SHAPES.items()}
    base = {name: value - case["tau"] * wave(value.shape, 2.0) for name, value in start.items()}
    parameters = {name: torch.nn.Parameter(value.clone()) for name, value in start.items()}
    adam = torch.optim.AdamW(parameters.values(), lr=case["lr"], eps=1e-12, weight_decay=case["weight_decay"])
    merging = OnlineMerging(
        adam, list(base.values()), case["method"], p=case["p"], alpha=case["alpha"], seed=case["seed"]
    )
    for step in range(case["steps"]):
        adam.param_groups[0]["lr"] = case["lr"] if step else 0.0
        for place, parameter in enumerate(parameters.values()):
            parameter.grad = wave(parameter.shape, 3.0 * step + place)
        merging.step()
    for name, parameter in parameters.items():
        assert torch.allclose(parameter.detach(), torch.tensor(case[name]), rtol=0, atol=1e-6), name
