"""An outlook on answering on this machine, before any weight is read: device, precision, memory, minutes.

The time is an estimate: every token of prompt and answer costs two operations a parameter, answers use half of their
limit, and the speed is that of matrix products of the same height, measured for a tenth of a second.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

from adhere.errors import UsageError
from adhere.models.local.digest import weight_files
from adhere.schema import EngineInfo

LONG_MINUTES = 30
"""On a CPU a person should want to wait so long."""
CHARACTERS_A_TOKEN = 4
SHARE_USED = 0.5
WIDTH = 1024
PROBE_S = 0.1
EFFICIENCY = 0.5
"""Of the speed of plain products, what decoding reaches with attention, sampling and rows that have ended."""
_BYTES = {"fp32": 4, "bf16": 2}


class Outlook(NamedTuple):
    """The resources and time that answering will take.

    Attributes:
        device: `cpu`, `cuda`, `mps`.
        precision: Of matrix products.
        parameters: Of the model.
        answers: To be drawn.
        minutes: About so long.
    """

    device: str
    precision: str
    parameters: int
    answers: int
    minutes: float

    @property
    def is_long(self) -> bool:
        """Tell whether it is more than a person expects of a CPU."""
        return self.device == "cpu" and self.minutes > LONG_MINUTES

    def line(self, name: str) -> str:
        """Return it as a sentence."""
        gigabytes = self.parameters * _BYTES.get(self.precision, 4) / 1e9
        long = f"{self.minutes:.0f} minutes" if self.minutes >= 1 else "a minute or less"
        return (
            f"{name}: {self.parameters / 1e6:,.0f} million parameters on {self.device} in {self.precision}, "
            f"{gigabytes:.1f} GB for the weights; about {long} for {self.answers:,} answers"
        )


def outlook(
    parameters: int, engine: EngineInfo, *, answers: int, prompt_characters: int, max_new_tokens: int
) -> Outlook:
    """Estimate what answering will take.

    Args:
        parameters: Of the model (`count_parameters`).
        engine: Says device, precision and how many rows are decoded together.
        answers: To be drawn.
        prompt_characters: Of all their prompts together.
        max_new_tokens: The limit of an answer.
    """
    device = str(engine.settings.get("device", "cpu"))
    rows = engine.settings.get("rows")
    height = min(rows if isinstance(rows, int) else 1, max(1, answers))
    tokens = prompt_characters / CHARACTERS_A_TOKEN + answers * max_new_tokens * SHARE_USED
    seconds = 2 * parameters * tokens / (_flops(height, device) * EFFICIENCY) if answers else 0.0
    return Outlook(device, engine.precision, parameters, answers, seconds / 60)


def _flops(rows: int, device: str) -> float:
    """Return operations a second of products of `rows` rows, measured."""
    import torch

    a, b = torch.ones(rows, WIDTH, device=device), torch.ones(WIDTH, WIDTH, device=device)
    _ = float((a @ b)[0, 0])  # the first one warms up
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < PROBE_S:
        product = a @ b
        count += 1
        if device != "cpu":
            _ = float(product[0, 0])  # waits for the device
    return 2 * rows * WIDTH * WIDTH * count / (time.perf_counter() - start)


def count_parameters(directory: Path) -> int:
    """Return how many numbers the safetensors files of a directory hold, from their headers alone.

    Raises:
        MissingModel: There are none.
        UsageError: A file is no safetensors.
    """
    total = 0
    for path in weight_files(directory):
        with path.open("rb") as file:
            try:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                shapes = [entry["shape"] for name, entry in header.items() if name != "__metadata__"]
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError) as error:
                raise UsageError(f"{path}: no safetensors file: {error}") from error
        for shape in shapes:
            count = 1
            for size in shape:
                count *= size
            total += count
    return total
