"""Fit paired differences if every seed has its own prompts and its own draw of kinds: an incomplete crossing.

    d[s, k, p] = Δ + seed[s] + kind[k] + cell[s, k] + noise[p]

A kind has prompts only at the seeds that drew it. Suffix `_P`: prompts of all seeds, concatenated.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adhere.stats.bootstrap import Floats, finite, number_clusters
from adhere.stats.proportions import Interval, check_confidence


class Incomplete(NamedTuple):
    """Holds a mean difference with the standard error of seeds and kinds together.

    Attributes:
        value: The mean over seeds of their means over prompts.
        error: Standard error of the mean, with seeds and kinds as samples.
        df: Degrees of freedom: the smaller number of clusters less one.
        seeds, kinds, prompts: Numbers of seeds, kinds and prompts.
        var_seed, var_kind, var_cell: The variances of the mean by clusters of seeds, of kinds, and of both.
    """

    value: float
    error: float
    df: int
    seeds: int
    kinds: int
    prompts: int
    var_seed: float
    var_kind: float
    var_cell: float

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return the interval of the mean, within [-1, 1]."""
        check_confidence(confidence)
        half = self._quantile(0.5 + confidence / 2) * self.error
        return Interval(max(-1.0, self.value - half), min(1.0, self.value + half))

    @property
    def p_value(self) -> float:
        """Two-sided p-value of "the mean is 0"."""
        from scipy.special import stdtr  # takes 0.3 s

        return float(2 * stdtr(self.df, -abs(self.value) / self.error))

    def detectable(self, confidence: float = 0.95, *, power: float = 0.8) -> float:
        """Return the difference that a design like this one finds with `power`."""
        return (self._quantile(0.5 + confidence / 2) + self._quantile(power)) * self.error

    def _quantile(self, share: float) -> float:
        from scipy.special import stdtrit

        return float(stdtrit(self.df, share))


def fit_incomplete(d_P: ArrayLike, seeds_P: Sequence[Hashable], kinds_P: Sequence[Hashable]) -> Incomplete | None:
    """Fit the model of this module; None with fewer than two seeds or two kinds.

    The variance is that of two-way clusters (Cameron, Gelbach and Miller 2011): clusters of seeds plus clusters of
    kinds less their cells, each with its factor for few clusters. It can come out below one of the first two, or below
    0; the largest is taken, so that kinds never make an interval narrower than seeds alone do. Nor is it less than that
    of independent prompts, with one prompt gained and one lost besides, as `fit_crossed` has them: few prompts differ,
    and what was not seen would else have an interval of width zero.

    Args:
        d_P: One difference per prompt, in [-1, 1].
        seeds_P: The seed of each prompt.
        kinds_P: The kind that each prompt asks for.

    Raises:
        ValueError: The arguments are not equally long, or a difference is not finite.
    """
    d = finite(d_P, dimensions=1)
    if not d.size == len(seeds_P) == len(kinds_P):
        raise ValueError(f"{d.size} differences, {len(seeds_P)} seeds and {len(kinds_P)} kinds must be equally many")
    if len(set(seeds_P)) < 2 or len(set(kinds_P)) < 2:
        return None
    seed_P, seeds = number_clusters(seeds_P)
    # The mean over seeds of the seeds' means: seeds weigh the same, whatever number of prompts they have.
    share_P: Floats = 1.0 / (np.bincount(seed_P)[seed_P] * seeds)
    value = float(np.sum(d * share_P))
    # What each prompt adds to the error of the mean: its own difference from the mean, by its weight.
    added_P = (d - value) * share_P
    by_seed = _variance_by(added_P, seeds_P)
    by_kind = _variance_by(added_P, kinds_P)
    by_cell = _variance_by(added_P, list(zip(seeds_P, kinds_P, strict=True)))
    least = float(np.sum(added_P**2) + 2 * np.max(share_P) ** 2)
    variance = max(by_seed + by_kind - by_cell, by_seed, by_kind, least)
    counts = len(set(seeds_P)), len(set(kinds_P))
    return Incomplete(value, math.sqrt(variance), min(counts) - 1, *counts, d.size, by_seed, by_kind, by_cell)


def _variance_by(added_P: Floats, clusters_P: Sequence[Hashable]) -> float:
    """Return the sum of squares of the clusters' contributions, times G/(G-1) for G clusters."""
    index_P, _ = number_clusters(clusters_P)
    sums = np.bincount(index_P, weights=added_P)
    return float(np.sum(sums**2)) * len(sums) / (len(sums) - 1)
