"""Minimum detectable effects, several tests at once, and numbers per seed: against the tables they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, ttest_1samp

from adhere.stats import (
    benjamini_hochberg,
    holm,
    mcnemar_exact,
    mde_from_error,
    mde_paired,
    mde_seeds,
    over_seeds,
    power_paired,
    prompts_needed,
)


@pytest.mark.parametrize(
    ("n", "points"),
    [(300, [3.6, 5.0, 6.2, 7.1, 8.7]), (541, [2.7, 3.8, 4.6, 5.3, 6.5]), (1200, [1.8, 2.5, 3.1, 3.6, 4.4]), (2041, [1.4, 2.0, 2.4, 2.8, 3.4])],
)  # fmt: skip
def test_mde_is_the_table_of_our_notes(n: int, points: list[float]):
    for discordance, expected in zip((0.05, 0.10, 0.15, 0.20, 0.30), points, strict=True):
        assert 100 * mde_paired(n, discordance) == pytest.approx(expected, abs=0.051)


def test_mde_solves_its_equation():
    d = mde_paired(200, 0.25)
    assert d == pytest.approx(2.801585 * math.sqrt((0.25 - d * d) / 200), rel=1e-6)
    assert power_paired(200, 0.25, d) == pytest.approx(0.8, abs=1e-4)
    assert prompts_needed(d, 0.25) in {200, 201}


def test_what_no_change_could_show_has_no_mde():
    assert mde_paired(0, 0.1) is None
    assert mde_paired(100, 0.0) is None
    assert mde_paired(100, 0.01) is None, "one discordant prompt of 100 cannot be significant"


def test_power_is_what_a_simulation_finds():
    """Exact McNemar is conservative, so the approximation may exceed it by a few points, not fall below by much."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(300, [0.125, 0.045, 0.83], size=1500)
    found = np.mean([mcnemar_exact(b, c) < 0.05 for b, c, _ in counts.tolist()])
    assert power_paired(300, 0.17, 0.08) == pytest.approx(found, abs=0.05)


def test_seeds_alone():
    """Standard deviation 1.5 points between seeds: the notes' 5.9, 3.4, 2.7, 1.9 points."""
    assert [100 * mde_seeds(seeds, 0.015) for seeds in (1, 3, 5, 10)] == pytest.approx([5.9, 3.4, 2.7, 1.9], abs=0.06)
    assert mde_from_error(0.01) == pytest.approx(0.028016, abs=1e-5)
    assert mde_from_error(0.01, df=2) == pytest.approx(0.01 * (4.302653 + 1.060660), abs=1e-6)


def test_several_tests_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([0.02, None, 0.9]) == [0.04, None, 0.9]
    assert benjamini_hochberg([None]) == [None]
    assert holm([]) == []
    with pytest.raises(ValueError, match="position 1"):
        holm([0.1, 1.2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjustments_keep_order_and_agree_with_scipy(p_values: list[float]):
    strict, loose = holm(p_values), benjamini_hochberg(p_values)
    assert loose == pytest.approx(list(false_discovery_control(p_values)))
    for p_value, by_holm, by_bh in zip(p_values, strict, loose, strict=True):
        assert p_value <= by_bh + 1e-12
        assert by_bh <= by_holm + 1e-12
    order = np.argsort(p_values)
    assert list(np.diff(np.array(strict)[order]) >= -1e-12) == [True] * (len(p_values) - 1)


def test_seeds_are_summed_up_by_t():
    values = [0.31, 0.36, 0.33, 0.30]
    found = over_seeds(values)
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.interval == pytest.approx((expected.low, expected.high))
    assert (found.n, found.lowest, found.highest) == (4, 0.30, 0.36)


def test_seeds_that_cannot_tell():
    assert over_seeds([]).mean is None
    assert over_seeds([0.4]).sd is None
    equal = over_seeds([0.4, 0.4, 0.4])
    assert equal.interval is None
    assert "same value" in equal.reason
    with pytest.raises(ValueError, match="not finite"):
        over_seeds([0.4, math.nan])


@pytest.mark.parametrize(
    "call",
    [
        lambda: mde_paired(-1, 0.1),
        lambda: mde_paired(10, 1.1),
        lambda: mde_paired(10, 0.1, power=80),
        lambda: power_paired(10, 0.1, 0.2),
        lambda: prompts_needed(0.0, 0.1),
        lambda: mde_seeds(0, 0.01),
        lambda: mde_from_error(-1),
    ],
)
def test_impossible_designs_are_refused(call):
    with pytest.raises(ValueError, match=r"must|cannot|exceeds"):
        call()
