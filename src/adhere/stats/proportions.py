"""Compute the interval of one proportion."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from statistics import NormalDist  # scipy takes 0.3 s to import, which whoever only counts need not wait for
from typing import NamedTuple


class Interval(NamedTuple):
    """Holds a two-sided confidence interval."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Distance of the ends."""
        return self.high - self.low


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a probability strictly between 0 and 1 (95 is a likely slip for 0.95)."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1, e.g. 0.95")


class ClusterSums(NamedTuple):
    """Holds the sums over clusters of trials that an interval needs.

    Sums of other clusters can be added.

    Attributes:
        clusters: Number of clusters with trials.
        trials: Sum of n, the trials of a cluster.
        passed: Sum of p, the passed trials of a cluster, at most n.
        trials_squared, products, passed_squared: Sums of n², n·p and p².
    """

    clusters: int = 0
    trials: int = 0
    passed: int = 0
    trials_squared: int = 0
    products: int = 0
    passed_squared: int = 0

    @classmethod
    def of(cls, passed_K: Sequence[int], n_K: Sequence[int]) -> ClusterSums:
        """Return the sums of some clusters; clusters without trials are left out.

        Raises:
            ValueError: A cluster has more passed trials than trials.
        """
        pairs = [(int(passed), int(n)) for passed, n in zip(passed_K, n_K, strict=True) if n]
        for passed, n in pairs:
            if not 0 <= passed <= n:
                raise ValueError(f"{passed} successes of {n} are impossible; 0 <= successes <= n")
        return cls(
            len(pairs),
            sum(n for _, n in pairs),
            sum(passed for passed, _ in pairs),
            sum(n * n for _, n in pairs),
            sum(n * passed for passed, n in pairs),
            sum(passed * passed for passed, _ in pairs),
        )

    def plus(self, other: ClusterSums) -> ClusterSums:
        """Return the sums with those of other clusters added."""
        return ClusterSums(*map(operator.add, self, other))

    def wilson(self, confidence: float = 0.95) -> Interval | None:
        """Return Wilson's interval, or None without trials; see `wilson_clustered`."""
        check_confidence(confidence)
        clusters, trials, passed, trials_squared, products, passed_squared = self
        if not trials:
            return None
        share = passed / trials
        if trials == clusters or share in (0.0, 1.0) or clusters == 1:
            return _wilson(share, clusters, confidence)
        # The sum over clusters of (passed - share * n)², times trials²: in whole numbers, so that nothing cancels.
        between = trials**2 * passed_squared - 2 * passed * trials * products + passed**2 * trials_squared
        variance = clusters / (clusters - 1) * (between / trials**4)
        design_effect = max(1.0, variance * trials / (share * (1 - share)))
        return _wilson(share, trials / design_effect, confidence)


def wilson_clustered(passed_K: Sequence[int], n_K: Sequence[int], confidence: float = 0.95) -> Interval | None:
    """Return Wilson's interval for a share whose trials come in clusters (a prompt's constraints, its draws).

    Without trials it is None. The number of trials is divided by the design effect: the cluster-robust variance of the
    share over the binomial one, at least 1. Where all trials agree there is no variance to compare, and each cluster
    counts as one trial.

    Args:
        passed_K: Successes of each cluster.
        n_K: Trials of each cluster; clusters without trials are left out.
        confidence: Confidence of the interval.

    Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209; for clusters E. L. Korn, B. I. Graubard, Surv. Methodol. 24
    (1998) 193, with Wilson's interval in place of the exact one. It stays inside [0, 1], and has a width where all
    trials agree.
    """
    return ClusterSums.of(passed_K, n_K).wilson(confidence)


def _wilson(share: float, n: float, confidence: float) -> Interval:
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the two terms are equal up to rounding; the interval then ends exactly where it must.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return Interval(low, high)
