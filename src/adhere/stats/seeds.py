"""Summarize one number per training seed: what may be said about the method behind the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from adhere.stats.proportions import Interval, check_confidence


class SeedSummary(NamedTuple):
    """Holds the mean over seeds; `sd` and `interval` are None, with the `reason`, where seeds cannot tell."""

    n: int
    mean: float | None
    sd: float | None
    interval: Interval | None
    lowest: float | None
    highest: float | None
    reason: str = ""


def over_seeds(values_S: Sequence[float], confidence: float = 0.95) -> SeedSummary:
    """Return the mean, standard deviation and t interval of one number per seed.

    One seed has a mean and no spread. Equal values at every seed give no interval: seeds that agree to the last digit
    (a rate of 1.0, an untrained arm) do not prove that the next one will.
    """
    check_confidence(confidence)
    values = np.asarray(values_S, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("A seed's value is not finite; leave out what was not measured")
    if not values.size:
        return SeedSummary(0, None, None, None, None, None, "no seed was measured")
    mean, lowest, highest = float(values.mean()), float(values.min()), float(values.max())
    if values.size == 1:
        return SeedSummary(1, mean, None, None, lowest, highest, "one seed has no spread")
    sd = float(values.std(ddof=1))
    if lowest == highest:
        return SeedSummary(len(values), mean, 0.0, None, lowest, highest, "all seeds gave the same value")
    half = float(stdtrit(len(values) - 1, 0.5 + confidence / 2)) * sd / math.sqrt(len(values))
    return SeedSummary(len(values), mean, sd, Interval(mean - half, mean + half), lowest, highest)
