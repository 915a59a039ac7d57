"""Resampled intervals: against closed forms, scipy, and the coverage that they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from adhere.stats import paired_bootstrap, unanimous_bound


def test_bca_agrees_with_scipy():
    d = np.random.default_rng(3).exponential(size=60) - 0.5  # skewed, so that bias and acceleration matter
    ours = paired_bootstrap(d, seed=0, resamples=20_000).interval
    theirs = scipy_bootstrap(
        (d,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.015)
    plain = np.quantile(np.random.default_rng(0).choice(d, (20_000, 60)).mean(axis=1), [0.025, 0.975])
    assert ours.low - plain[0] > 0.01, "skew must move the interval"


def test_bca_of_large_samples_is_normal():
    d = np.random.default_rng(0).choice([-1, 0, 1], size=1000, p=[0.1, 0.75, 0.15])
    found = paired_bootstrap(d, seed=0, resamples=20_000)
    half = 1.96 * d.std(ddof=1) / math.sqrt(len(d))
    assert found.interval == pytest.approx((d.mean() - half, d.mean() + half), abs=0.002)


def test_equal_differences_give_the_exact_bound_not_a_point():
    """value 0, n = 100: L = 0.05^(1/100) = 0.970487; ± 0.029513. value 1, n = 10: [2·0.05^(1/10) - 1, 1]."""
    found = paired_bootstrap([0] * 100, seed=0)
    assert found.interval == pytest.approx((-0.029513, 0.029513), abs=1e-6)
    assert found.method == "exact bound"
    assert "cannot be resampled" in found.reason
    assert unanimous_bound(1.0, 10) == pytest.approx((2 * 0.05**0.1 - 1, 1.0))
    assert paired_bootstrap([0.25], seed=0).interval.width > 0.9, "one prompt says next to nothing"


def test_what_clusters_hide_has_no_interval():
    assert paired_bootstrap([0, 0, 0], seed=0, clusters_P=["x", "y", "z"]).interval is None
    alone = paired_bootstrap([0, 1, 1], seed=0, clusters_P=["x", "x", "x"])
    assert alone.interval is None
    assert "one cluster" in alone.reason
    with pytest.raises(ValueError, match="2 clusters for 3"):
        paired_bootstrap([0, 1, 1], seed=0, clusters_P=["x", "y"])


def test_nothing_measured():
    assert paired_bootstrap([], seed=0).interval is None
    with pytest.raises(ValueError, match="not finite"):
        paired_bootstrap([0.0, math.nan], seed=0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "discordance"), [(100, 0.1), (300, 0.2)])
def test_bca_covers(n: int, discordance: float):
    rng = np.random.default_rng(0)
    covered = 0
    for number in range(1500):
        d = rng.choice([1, -1, 0], size=n, p=[0.7 * discordance, 0.3 * discordance, 1 - discordance])
        low, high = paired_bootstrap(d, seed=number, resamples=1500).interval
        covered += low <= 0.4 * discordance <= high
    assert covered / 1500 == pytest.approx(0.945, abs=0.02)
