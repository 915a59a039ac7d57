"""Compute intervals by resampling prompts, or clusters of prompts (BCa).

Array suffixes: `_P` prompts, `_B` resamples, `_K` clusters. Every function takes its seed; none is global.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adhere.stats.proportions import Interval, check_confidence

Floats = NDArray[np.float64]
_MANY_CLUSTERS, _FEW_KINDS = 10_000, 1_000  # from where on clusters that are alike are drawn together
_CELLS_AT_ONCE = 4_000_000  # bounds the memory of a resample to about 32 MB


class Estimate(NamedTuple):
    """Holds a mean and its interval.

    `interval` is None, with the `reason`, if the data carry no information about their own spread.
    """

    value: float
    interval: Interval | None
    method: str
    reason: str = ""


def paired_bootstrap(
    d_P: ArrayLike,
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
    clusters_P: Sequence[Hashable] | None = None,
) -> Estimate:
    """Return the mean of paired differences with a bias-corrected, accelerated (BCa) bootstrap interval.

    Where all differences are equal, resampling would give an interval of width zero, which claims certainty from
    silence. The interval is then the exact bound of `unanimous_bound` (for differences in [-1, 1] and without clusters)
    or None.

    Args:
        d_P: One difference per prompt, in [-1, 1] for rates.
        seed: Seed of the resampling.
        resamples: Number of resamples.
        confidence: Confidence of the interval.
        clusters_P: The cluster of each difference (e.g. the query that several prompts were made from). Whole clusters
            are resampled, and the mean stays the mean over prompts.

    Source: B. Efron, J. Am. Stat. Assoc. 82 (1987) 171. Ours differs in z0: ties count half, because rates are
    discrete.
    """
    check_confidence(confidence)
    d = finite(d_P, dimensions=1)
    if not d.size:
        return Estimate(math.nan, None, "none", reason="no prompt was measured")
    value = float(d.mean())
    sums_K, counts_K = cluster_sums(d, clusters_P)
    if clusters_P is not None and len(sums_K) < 2:
        return Estimate(value, None, "none", reason="all prompts share one cluster, so its spread cannot be known")
    if np.all(d == d[0]):
        return _unanimous(d, value, confidence, is_clustered=clusters_P is not None)
    means_B = _resampled_means(sums_K, counts_K, resamples, np.random.default_rng(seed))
    without_K: Floats = (sums_K.sum() - sums_K) / (counts_K.sum() - counts_K)  # the jackknife: each cluster left out
    interval = _bca(means_B, value, without_K, confidence)
    return Estimate(value, interval, "BCa bootstrap")


def unanimous_bound(value: float, n: int, confidence: float = 0.95) -> Interval:
    """Return an interval for a mean over [-1, 1] of which `n` independent draws all gave `value`.

    At least a share L = (1 - confidence)^(1/n) of the population gives `value` (else n equal draws would have been less
    likely than 1 - confidence), and the rest lies anywhere in [-1, 1]:

        [L·value - (1 - L), L·value + (1 - L)]

    With value 0 and 95 % this is the rule of three, ±3/n: 100 prompts without any change bound the difference to
    ±0.0295.
    """
    check_confidence(confidence)
    if n < 1 or not -1 <= value <= 1:
        raise ValueError(f"value={value} of n={n} draws: needs n >= 1 and a value in [-1, 1]")
    share = (1 - confidence) ** (1 / n)
    return Interval(max(-1.0, share * value - (1 - share)), min(1.0, share * value + (1 - share)))


def finite(values: ArrayLike, *, dimensions: int) -> Floats:
    """Return the values as an array of float64; refuse any that is not finite.

    Raises:
        ValueError: There is another number of dimensions, or a value is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ValueError(f"Expected {dimensions} dimension(s), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("A difference is not finite; leave out what was not measured before computing")
    return array


def number_clusters(clusters_P: Sequence[Hashable]) -> tuple[NDArray[np.int64], int]:
    """Return the number of each prompt's cluster, counted from 0 as they come, and how many clusters there are."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters_P], dtype=np.int64), len(numbers)


def cluster_sums(d_P: Floats, clusters_P: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of prompts of each cluster; without clusters every prompt is its own."""
    if clusters_P is None:
        return d_P, np.ones_like(d_P)
    if len(clusters_P) != len(d_P):
        raise ValueError(f"{len(clusters_P)} clusters for {len(d_P)} differences")
    index_P, _ = number_clusters(clusters_P)
    sums_K: Floats = np.bincount(index_P, weights=d_P).astype(np.float64)
    return sums_K, np.bincount(index_P).astype(np.float64)


def _unanimous(d_P: Floats, value: float, confidence: float, *, is_clustered: bool) -> Estimate:
    same = f"all {len(d_P)} differences are {d_P[0]:g}, so their spread cannot be resampled"
    if is_clustered or abs(d_P[0]) > 1:
        return Estimate(value, None, "none", reason=same)
    return Estimate(value, unanimous_bound(float(d_P[0]), len(d_P), confidence), "exact bound", reason=same)


def _resampled_means(sums_K: Floats, counts_K: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    clusters = len(sums_K)
    if clusters >= _MANY_CLUSTERS:
        kinds, of_kind = np.unique(np.stack([sums_K, counts_K]), axis=1, return_counts=True)
        if len(of_kind) <= _FEW_KINDS:  # a resample is known by how often it has each kind of cluster: multinomial
            drawn_BK = rng.multinomial(clusters, of_kind / clusters, size=resamples)
            return np.asarray(drawn_BK @ kinds[0] / (drawn_BK @ kinds[1]))
    means_B = np.empty(resamples)
    step = max(1, _CELLS_AT_ONCE // clusters)
    for start in range(0, resamples, step):
        stop = min(resamples, start + step)
        drawn_BK = rng.integers(0, clusters, size=(stop - start, clusters))
        means_B[start:stop] = sums_K[drawn_BK].sum(axis=1) / counts_K[drawn_BK].sum(axis=1)
    return means_B


def _bca(means_B: Floats, value: float, jackknife_K: Floats, confidence: float) -> Interval:
    from scipy.special import ndtr, ndtri  # takes 0.3 s: not all that counts draws an interval

    # Equal means differ in the last bit by the order of summation; without the tolerance a tie would count as below.
    tie = 1e-12 * max(1.0, abs(value))
    below = np.mean(means_B < value - tie) + 0.5 * np.mean(np.abs(means_B - value) <= tie)
    limit = 0.5 / len(means_B)  # keeps z0 finite where all means lie on one side
    # Bias correction z0, acceleration a; an end of the interval is the quantile Φ(z0 + (z0 + z) / (1 - a (z0 + z))).
    z0 = float(ndtri(np.clip(below, limit, 1 - limit)))
    pull_K = jackknife_K.mean() - jackknife_K
    spread = float(np.sum(pull_K**2))
    acceleration = float(np.sum(pull_K**3)) / (6 * spread**1.5) if spread > 0 else 0.0
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        shifted = z0 + float(ndtri(tail))
        ends.append(float(ndtr(z0 + shifted / (1 - acceleration * shifted))))
    low, high = np.quantile(means_B, ends)
    return Interval(float(low), float(high))
