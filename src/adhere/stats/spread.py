"""Measure how far several forms of one thing differ in their rates: the spread of variants, with an interval.

Array suffixes: `_G` groups (each thing that was asked), `_V` its variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import f as central
from scipy.stats import ncf

from adhere.stats.bootstrap import Estimate, finite
from adhere.stats.proportions import Interval, check_confidence

_MOST = 1e6


def spread_of_variants(x_GV: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return the standard deviation of the variants' means (over variants, divisor V), and an interval of the true one.

    Chance alone spreads the observed means, so the observed spread is too large on average; the interval is not. With S
    the observed spread and λ the mean square of the interaction of groups and variants,

        F = G·V·S² / ((V - 1)·λ)   follows a noncentral F(V - 1, (V - 1)(G - 1); G·V·τ²/λ)

    where τ is the true spread; the ends are the τ that put F at the two tails. Differences from Steiger's interval: λ
    counts one variant that differs in one group more than was seen, so that groups that all agree do not claim
    certainty; F below 1, its mean without any spread, is taken as 1 for the upper end; and the interval holds the
    observed spread.

    Args:
        x_GV: One value (or mean of several) per group and variant, in [0, 1], complete.
        confidence: Confidence of the interval.

    Source: J. H. Steiger, Psychol. Methods 9 (2004) 164 (noncentral intervals of the root mean square effect).
    """
    check_confidence(confidence)
    x = finite(x_GV, dimensions=2)
    groups, variants = x.shape
    if variants < 2 or groups < 1:
        return Estimate(math.nan, None, "none", reason="a spread needs two variants at least")
    spread = float(x.mean(axis=0).std(ddof=0))
    if groups < 2:
        return Estimate(spread, None, "none", reason="one group alone says nothing about chance")
    # The interaction of a two-way table without repeats: what neither the group's mean nor the variant's explains.
    rest = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0, keepdims=True) + x.mean()
    # The sum of squares of one cell that is 1 among zeros is (V - 1) (G - 1) / (V G), so (V - 1) / V is a bit more.
    dfs = (variants - 1, (variants - 1) * (groups - 1))
    chance = (float(np.sum(rest**2)) + (variants - 1) / variants) / dfs[1]
    ratio = groups * variants * spread**2 / ((variants - 1) * chance)
    tail = (1 - confidence) / 2
    low = _noncentral(
        lambda nc: float(ncf.cdf(ratio, *dfs, nc)) - (1 - tail), float(central.cdf(ratio, *dfs)) - (1 - tail)
    )
    above = max(1.0, ratio)
    high = _noncentral(lambda nc: float(ncf.cdf(above, *dfs, nc)) - tail, float(central.cdf(above, *dfs)) - tail)
    ends = [math.sqrt(nc * chance / (groups * variants)) for nc in (low, high)]
    return Estimate(spread, Interval(min(ends[0], spread), max(ends[1], spread)), "noncentral F")


def _noncentral(distance: Callable[[float], float], at_zero: float) -> float:
    """Return the noncentrality at which a decreasing function is 0; 0 if the function is below 0 from the start."""
    if at_zero <= 0:
        return 0.0
    top = 1.0
    while distance(top) > 0 and top < _MOST:
        top *= 2
    return float(brentq(distance, 0.0 if distance(0.0) > 0 else 1e-12, top, xtol=1e-6)) if distance(top) <= 0 else top
