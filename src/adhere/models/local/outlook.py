"""Estimates of answering on this machine, before any weight is read: device, precision, memory, minutes.

Every token of prompt and answer costs two operations a parameter, and answers use half of their limit. The speed is
that of matrix products of the same height, measured for a tenth of a second.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import NamedTuple

from adhere.errors import UsageError
from adhere.models.local.digest import weight_files
from adhere.schema import EngineInfo

LONG_MINUTES = 30
"""Minutes on a CPU above which the user is warned."""
CHARACTERS_A_TOKEN = 4
SHARE_USED = 0.5
WIDTH = 1024
PROBE_S = 0.1
EFFICIENCY = 0.5
"""Speed of decoding, with attention, sampling and ended rows, as a share of the speed of plain products."""
_BYTES = {"fp32": 4, "bf16": 2}


class Outlook(NamedTuple):
    """Holds the resources and time that answering will take.

    Attributes:
        device: `cpu`, `cuda`, `mps`.
        precision: Precision of matrix products.
        parameters: Number of the model's parameters.
        answers: Number of answers to draw.
        minutes: Estimated minutes.
    """

    device: str
    precision: str
    parameters: int
    answers: int
    minutes: float

    @property
    def is_long(self) -> bool:
        """Whether it takes longer than a user expects of a CPU."""
        return self.device == "cpu" and self.minutes > LONG_MINUTES

    def line(self, name: str) -> str:
        """Return the estimate as a sentence."""
        gigabytes = self.parameters * _BYTES.get(self.precision, 4) / 1e9
        long = f"{self.minutes:.0f} minutes" if self.minutes >= 1 else "a minute or less"
        return (
            f"{name}: {self.parameters / 1e6:,.0f} million parameters on {self.device} in {self.precision}, "
            f"{gigabytes:.1f} GB for the weights; about {long} for {self.answers:,} answers"
        )


def outlook(
    parameters: int, engine: EngineInfo, *, answers: int, prompt_characters: int, max_new_tokens: int
) -> Outlook:
    """Estimate the resources and time that answering will take.

    Args:
        parameters: Number of the model's parameters (`count_parameters`).
        engine: Gives device, precision and the number of rows decoded together.
        answers: Number of answers to draw.
        prompt_characters: Characters of all their prompts together.
        max_new_tokens: The limit of an answer.
    """
    device = str(engine.settings.get("device", "cpu"))
    rows = engine.settings.get("rows")
    height = min(rows if isinstance(rows, int) else 1, max(1, answers))
    tokens = prompt_characters / CHARACTERS_A_TOKEN + answers * max_new_tokens * SHARE_USED
    seconds = 2 * parameters * tokens / (_flops(height, device) * EFFICIENCY) if answers else 0.0
    return Outlook(device, engine.precision, parameters, answers, seconds / 60)


def _flops(rows: int, device: str) -> float:
    """Measure how many operations a second matrix products with `rows` rows make here."""
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
        MissingModel: There are no such files.
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
        total += sum(map(math.prod, shapes))
    return total
