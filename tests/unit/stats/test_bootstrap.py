"""Resampled and crossed intervals: against closed forms, scipy, and the coverage that they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from adhere.stats import paired_bootstrap, two_way_bootstrap, two_way_interval, unanimous_bound


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
    assert found.standard_error == pytest.approx(half / 1.96, rel=0.04)


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
    assert two_way_interval(np.empty((3, 0))).interval is None
    with pytest.raises(ValueError, match="not finite"):
        paired_bootstrap([0.0, math.nan], seed=0)


def test_crossed_interval_by_hand():
    """d = [[0, 1, 1], [0, 0, 1]] (2 seeds × 3 prompts), mean 1/2. Seed means 2/3, 1/3; prompt means 0, 1/2, 1.
    MS_S = 3·2·(1/6)² / 1 = 1/6; MS_P = 2·(1/4 + 0 + 1/4) / 2 = 1/2; the rest is ±1/6, ±1/3, ±1/6: SS = 2·(1/36 + 4/36 + 1/36)
    = 1/3, MS_E = 1/6. Variance (1/6 + 1/2 - 1/6) / 6 = 1/12; df = (2/3)² / (1/36 + 1/8) = 2.9091."""
    found = two_way_interval([[0, 1, 1], [0, 0, 1]])
    assert found.value == pytest.approx(0.5)
    assert found.standard_error == pytest.approx(math.sqrt(1 / 12))
    assert found.df == pytest.approx((4 / 9) / (1 / 36 + 1 / 8))


@pytest.mark.parametrize("method", [two_way_interval, lambda d: two_way_bootstrap(d, seed=0, resamples=200)])
def test_seeds_that_cannot_tell_have_no_interval(method):
    assert "one seed" in method(np.array([[0, 1, 0]])).reason
    assert "one prompt" in method(np.array([[0], [1]])).reason
    same = method(np.zeros((3, 50)))
    assert same.interval is None
    assert "all 150 differences are 0" in same.reason
    noisy = method(np.array([[1, -1], [-1, 1]]))  # effects cancel exactly
    assert noisy.interval.width > 0


def _crossed(rng: np.random.Generator, seeds: int, prompts: int, seed_sd: float) -> np.ndarray:
    return (
        0.05
        + rng.normal(0, seed_sd, (seeds, 1))
        + rng.normal(0, 0.1, (1, prompts))
        + rng.normal(0, 0.4, (seeds, prompts))
    )


@pytest.mark.parametrize("seed_sd", [0.0, 0.02, 0.06])
def test_crossed_interval_covers(seed_sd: float):
    rng = np.random.default_rng(7)
    intervals = [two_way_interval(_crossed(rng, 3, 100, seed_sd)).interval for _ in range(600)]
    covered = np.mean([low <= 0.05 <= high for low, high in intervals])
    assert covered > 0.91, "standard error of this estimate: 0.009"


def test_crossed_interval_sees_seeds_that_prompts_alone_hide():
    """With 400 prompts and seeds that differ by 6 points, resampling the prompts of pooled seeds claims far too much."""
    rng = np.random.default_rng(1)
    misses = 0
    for number in range(60):
        d = _crossed(rng, 3, 400, 0.06)
        low, high = paired_bootstrap(d.mean(axis=0), seed=number, resamples=300).interval
        misses += not low <= 0.05 <= high
    assert misses > 20


def test_two_way_bootstrap_is_conservative_and_repeatable():
    rng = np.random.default_rng(5)
    found = []
    for number in range(40):
        d = _crossed(rng, 4, 60, 0.02)
        resampled, crossed = two_way_bootstrap(d, seed=number, resamples=400), two_way_interval(d)
        assert resampled == two_way_bootstrap(d, seed=number, resamples=400)
        assert resampled.interval.width > 0.9 * crossed.interval.width
        found.append(resampled.interval.low <= 0.05 <= resampled.interval.high)
    assert np.mean(found) > 0.9


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


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_crossed_interval_covers_pass_and_fail(seeds: int):
    """Binary outcomes of two arms on the same prompts, as in a study: 200 prompts, seeds that differ by 1.5 points."""
    rng = np.random.default_rng(seeds)
    covered = 0
    for _ in range(2000):
        base_P = rng.uniform(0.1, 0.8, 200)
        arms = [rng.random((seeds, 200)) < base_P + shift + rng.normal(0, 0.015, (seeds, 1)) for shift in (0.04, 0.0)]
        low, high = two_way_interval(arms[0].astype(float) - arms[1]).interval
        covered += low <= 0.04 <= high
    assert covered / 2000 > 0.925


def test_two_sided_p_is_the_t_test_of_the_estimate() -> None:
    from scipy.stats import t

    from adhere.stats import Estimate, Interval, two_sided_p

    estimate = Estimate(0.1, Interval(0.0, 0.2), "x", standard_error=0.05, df=4.0)
    assert two_sided_p(estimate) == pytest.approx(2 * t.sf(2.0, 4.0))
    assert two_sided_p(estimate._replace(df=None)) == pytest.approx(0.0455, abs=1e-4)
    assert two_sided_p(estimate._replace(standard_error=None)) is None
    assert two_sided_p(estimate._replace(standard_error=0.0)) is None
