"""An exponential moving average of the weights: the cheapest control for what merging buys."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from adhere.errors import UsageError

__all__ = ["MovingAverage"]


class MovingAverage:
    """Follows parameters at a distance: average <- decay * average + (1 - decay) * parameter, in fp32.

    Args:
        parameters: What is averaged; the average starts at their values.
        decay: In [0, 1). 0 follows exactly.

    Raises:
        UsageError: decay is outside its domain.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], *, decay: float = 0.99) -> None:
        if not 0 <= decay < 1:
            raise UsageError(f"MovingAverage: decay={decay!r} must be in [0, 1)")
        self.decay = decay
        self.parameters = list(parameters)
        self.averages = [one.detach().to(torch.float32).clone() for one in self.parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Take in the parameters as they are now; call it after each optimizer step."""
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            average.lerp_(parameter.detach().to(torch.float32), 1 - self.decay)

    @torch.no_grad()
    def write(self) -> None:
        """Put the averages into the parameters."""
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            parameter.copy_(average)
