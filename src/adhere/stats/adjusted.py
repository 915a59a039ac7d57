"""Compute a paired difference at equal length of answers: what is left once longer answers explain what they can.

Array suffixes: `_P` prompts, `_K` clusters.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from adhere.stats.bootstrap import Floats, finite, number_clusters
from adhere.stats.proportions import Interval, check_confidence


class AtEqualLength(NamedTuple):
    """Holds the mean difference that there would be if both answers to each prompt were equally long.

    Attributes:
        value: The difference at equal length; None, with the `reason`, where the data cannot say.
        interval: Interval of `value`, within [-1, 1].
        slope: The share of the difference that goes with length: how much `tanh` of one standard deviation more length
            moves the difference, divided by tanh(1).
        scale: Standard deviation of the length differences, in the unit of length.
    """

    value: float | None
    interval: Interval | None
    slope: float | None
    scale: float
    reason: str = ""


def length_controlled(
    d_P: ArrayLike, more_P: ArrayLike, *, clusters_P: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> AtEqualLength:
    """Regress paired differences on how much longer one answer is, and read the line off at equal length.

        d[p] = Δ + φ·tanh(more[p] / s) + noise[p],     s = standard deviation of `more`

    Least squares; the interval of Δ is that of the delete-one-cluster jackknife with t on clusters - 2 degrees of
    freedom. One prompt gained and one lost are added to the noise, as in `crossed`, so that nothing seen is not
    certainty.

    Args:
        d_P: One difference per prompt, in [-1, 1]: passed by a minus passed by b.
        more_P: How much longer a's answer to the prompt is than b's, in any unit.
        clusters_P: The cluster of each prompt; None: each prompt is its own.
        confidence: Confidence of the interval.

    Source: Y. Dubois et al., Length-Controlled AlpacaEval, arXiv 2404.04475, equation 2. Ours has the same tanh of
    standardised length differences and also reads the model off at 0. It differs: (1) what is explained is a program's
    pass or fail of both models, not a judge's preference, so the line is of differences (points) and not of logits; (2)
    a prompt's difficulty cancels in the difference, so it has no term of its own; (3) φ is not shrunk; (4) there is an
    interval; (5) where one of the two is always longer, equal length was never seen, and there is no number.
    """
    check_confidence(confidence)
    d, more = finite(d_P, dimensions=1), finite(more_P, dimensions=1)
    if d.shape != more.shape:
        raise ValueError(f"d_P has {d.size} values and more_P {more.size}: one of each per prompt")
    scale = float(more.std()) if more.size else 0.0
    if not scale:
        same = bool(more.size) and not more.any()
        reason = (
            "all answers are equally long: the plain difference is it"
            if same
            else "lengths differ by the same everywhere"
        )
        return AtEqualLength(None, None, None, scale, reason if more.size else "no prompt was measured")
    if more.min() > 0 or more.max() < 0:
        return AtEqualLength(
            None, None, None, scale, "one of the two is longer on every prompt: equal length was never seen"
        )
    x = np.tanh(more / scale)
    sums_K = _cluster_sums(x, d, clusters_P)
    if len(sums_K) < 4:
        return AtEqualLength(None, None, None, scale, f"{len(sums_K)} clusters of prompts are too few for a line")
    total = sums_K.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        without_K = _lines(total - sums_K)[0]
    if not np.isfinite(without_K).all():
        return AtEqualLength(None, None, None, scale, "lengths differ in one cluster of prompts only")
    value, slope = (float(coefficient) for coefficient in _lines(total))
    clusters, n = len(sums_K), d.size
    # Delete-one jackknife: (K - 1) / K times the sum of squares of the values without each cluster.
    spread = float(np.sum((without_K - without_K.mean()) ** 2)) * (clusters - 1) / clusters
    # Variance of the line at x = 0, per unit of noise: 1/n where x has mean 0, more where lengths lean to one side.
    leverage = float(np.sum(x**2) / (n * np.sum((x - x.mean()) ** 2)))
    # One prompt gained and one lost have a sum of squares of 2.
    error = math.sqrt(spread + 2 / (n - 1) * leverage)
    half = float(stdtrit(clusters - 2, 0.5 + confidence / 2)) * error
    return AtEqualLength(value, Interval(max(-1.0, value - half), min(1.0, value + half)), slope * math.tanh(1), scale)


def _cluster_sums(x: Floats, d: Floats, clusters_P: Sequence[Hashable] | None) -> Floats:
    """Return n, Σx, Σx², Σd and Σxd of each cluster."""
    parts = np.stack([np.ones_like(x), x, x * x, d, x * d], axis=1)
    if clusters_P is None:
        return parts
    index_P, clusters = number_clusters(clusters_P)
    sums = np.zeros((clusters, 5))
    np.add.at(sums, index_P, parts)
    return sums


def _lines(sums: Floats) -> tuple[Floats, Floats]:
    """Return (value at 0, slope) of the least-squares line of each row of sums."""
    n, sx, sxx, sd, sxd = np.moveaxis(sums, -1, 0)
    below = n * sxx - sx * sx
    return (sxx * sd - sx * sxd) / below, (n * sxd - sx * sd) / below
