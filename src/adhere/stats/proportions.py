"""One proportion and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist  # scipy takes 0.3 s to import, which whoever only counts need not wait for
from typing import NamedTuple


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart the ends are."""
        return self.high - self.low


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a probability strictly between 0 and 1 (95 is a likely slip for 0.95)."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1, e.g. 0.95")


def wilson_clustered(passed_K: Sequence[int], n_K: Sequence[int], confidence: float = 0.95) -> Interval | None:
    """Wilson's interval for a share whose trials come in clusters (a prompt's constraints, its draws); None without trials.

    The number of trials is divided by the design effect: the cluster-robust variance of the share over the binomial one,
    at least 1. Where all trials agree there is no variance to compare, and each cluster counts as one trial.

    Args:
        passed_K: Successes of each cluster.
        n_K: Trials of each cluster; clusters without any are left out.
        confidence: Of the interval.

    Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209; for clusters E. L. Korn, B. I. Graubard, Surv. Methodol. 24 (1998) 193,
    with Wilson's interval in place of the exact one. It stays inside [0, 1], and has a width where all trials agree.
    """
    check_confidence(confidence)
    pairs = [(passed, n) for passed, n in zip(passed_K, n_K, strict=True) if n]
    for passed, n in pairs:
        if not 0 <= passed <= n:
            raise ValueError(f"{passed} successes of {n} are impossible; 0 <= successes <= n")
    trials, clusters = sum(n for _, n in pairs), len(pairs)
    if not trials:
        return None
    share = sum(passed for passed, _ in pairs) / trials
    if trials == clusters or share in (0.0, 1.0) or clusters == 1:
        return _wilson(share, clusters, confidence)
    between = sum((passed - share * n) ** 2 for passed, n in pairs)
    variance = clusters / (clusters - 1) * between / trials**2
    design_effect = max(1.0, variance * trials / (share * (1 - share)))
    return _wilson(share, trials / design_effect, confidence)


def _wilson(share: float, n: float, confidence: float) -> Interval:
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the two terms are equal up to rounding; the interval then ends exactly where it must.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return Interval(low, high)
