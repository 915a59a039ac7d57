"""McNemar, the score interval and paired differences: by hand, against scipy, by simulated coverage, and where there is no change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from adhere.stats import mcnemar_exact, paired_difference, score_interval, sign_flip

NO_CHANGE = [True, False] * 50


def test_mcnemar_by_hand():
    """b = 1, c = 5: 2 · (1 + 6) / 64; mid-p: less 6/64. b = c = 2: p = 1; mid-p 1 - C(4,2)/16/2."""
    assert mcnemar_exact(1, 5) == pytest.approx(14 / 64)
    assert mcnemar_exact(1, 5, mid_p=True) == pytest.approx(8 / 64)
    assert mcnemar_exact(2, 2) == 1.0
    assert mcnemar_exact(2, 2, mid_p=True) == pytest.approx(1 - 6 / 32)
    assert mcnemar_exact(0, 0) == 1.0


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(b: int, c: int):
    expected = binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(expected)
    assert mcnemar_exact(b, c) == pytest.approx(mcnemar_exact(c, b))
    assert mcnemar_exact(b, c, mid_p=True) <= mcnemar_exact(b, c)


def test_score_interval_without_change_by_hand():
    """b = c = 0: ± z² / (n + z²) = 3.841459 / 103.841459."""
    assert score_interval(0, 0, 100) == pytest.approx((-0.0369935, 0.0369935), abs=1e-6)


def test_score_interval_ends_where_the_score_test_rejects():
    """Tango's own statement: the ends solve (b - c - n·δ) = ± z · sqrt(n · (2·p21 + δ·(1 - δ))), p21 the larger root."""
    b, c, n, z = 14, 5, 120, 1.959963984540054
    for delta, side in zip(score_interval(b, c, n), (1, -1), strict=True):
        big, mid, last = 2 * n, -b - c + (2 * n - b + c) * delta, -c * delta * (1 - delta)
        p21 = (-mid + math.sqrt(mid * mid - 4 * big * last)) / (2 * big)
        assert b - c - n * delta == pytest.approx(side * z * math.sqrt(n * (2 * p21 + delta * (1 - delta))), abs=1e-6)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_score_interval_holds_the_difference_mirrors_and_has_a_width(counts: tuple[int, int, int]):
    n, b, c = counts
    if b + c > n:
        return
    interval, mirrored = score_interval(b, c, n), score_interval(c, b, n)
    assert -1 <= interval.low <= (b - c) / n <= interval.high <= 1
    assert interval.width > 0
    assert interval == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-6)


def test_a_paired_difference_says_who_changed():
    """100 prompts; 12 pass only under a, 4 only under b, 30 under both: rates 0.42 and 0.34."""
    a = [True] * 12 + [False] * 4 + [True] * 30 + [False] * 54
    b = [False] * 12 + [True] * 4 + [True] * 30 + [False] * 54
    found = paired_difference(a, b, seed=0)
    assert (found.n, found.b, found.c) == (100, 12, 4)
    assert (found.rate_a, found.rate_b, found.difference) == pytest.approx((0.42, 0.34, 0.08))
    assert found.discordance == pytest.approx(0.16)
    assert found.p_value == pytest.approx(binomtest(4, 16).pvalue)
    assert found.interval == score_interval(12, 4, 100)


def test_no_change_at_all_is_not_certainty():
    found = paired_difference(NO_CHANGE, NO_CHANGE, seed=0)
    assert found.difference == 0
    assert found.p_value == 1.0
    assert found.interval.low < -0.03
    assert found.interval.high > 0.03


def test_nothing_measured_has_no_numbers_but_a_reason():
    found = paired_difference([], [], seed=0)
    assert found[:5] == (0, None, None, None, None)
    assert found.p_value is None
    assert "no prompt" in found.reason


def test_means_of_draws_are_resampled():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 80) / 4, rng.integers(0, 4, 80) / 4
    found = paired_difference(a, b, seed=1, resamples=2000)
    assert found.method == "BCa bootstrap, sign flips"
    assert found.interval.low < found.difference < found.interval.high
    assert found == paired_difference(a, b, seed=1, resamples=2000), "the seed decides everything"


def test_clusters_widen_and_unequal_clusters_keep_the_mean():
    a = [True] * 20 + [False] * 60
    b = [False] * 80
    clusters = [number // 10 for number in range(80)]
    alone, together = paired_difference(a, b, seed=0), paired_difference(a, b, seed=0, clusters_P=clusters)
    assert alone.difference == together.difference == 0.25
    assert together.interval.width > 1.5 * alone.interval.width
    assert alone.p_value < 1e-5
    assert together.p_value == pytest.approx(0.5, abs=0.03), "two clusters of eight changed: 2 of 2² signs are as far"


def test_sign_flips_of_single_prompts_are_mcnemar():
    d = [1] * 9 + [-1] * 2 + [0] * 50
    assert sign_flip(d, seed=0, resamples=20_000) == pytest.approx(mcnemar_exact(9, 2), abs=0.01)
    assert sign_flip([], seed=0) is None
    assert sign_flip([0, 0], seed=0, resamples=99) == 1.0


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0, 0.0]), ([math.nan], [1.0]), ([2.0], [1.0])])
def test_what_cannot_be_paired_is_refused(a: list[float], b: list[float]):
    with pytest.raises(ValueError, match=r"equal length|Rates must lie"):
        paired_difference(a, b, seed=0)


@pytest.mark.parametrize(("n", "discordance", "difference"), [(60, 0.1, 0.0), (120, 0.06, 0.02), (200, 0.2, 0.1)])
def test_score_interval_covers(n: int, discordance: float, difference: float):
    """Exact coverage over all (b, c), not simulated: at least 93 % and not far above 95 %."""
    from scipy.stats import multinomial

    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    most = int(n * discordance + 8 * math.sqrt(n * discordance))
    pairs = [(b, c) for b in range(most) for c in range(most) if b + c <= most]
    weights = multinomial.pmf([[b, c, n - b - c] for b, c in pairs], n, shares)
    covered = sum(
        weight
        for (b, c), weight in zip(pairs, weights, strict=True)
        if weight > 1e-7 and score_interval(b, c, n).low <= difference <= score_interval(b, c, n).high
    )
    assert sum(weights) == pytest.approx(1, abs=1e-4)
    assert 0.93 <= covered <= 0.985
