"""Wilson's interval, alone and clustered, against values worked by hand and against its own coverage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from adhere.stats import Interval, wilson_clustered


def wilson(k: int, n: int) -> Interval:
    """Of single trials."""
    found = wilson_clustered([1] * k + [0] * (n - k), [1] * n)
    assert found is not None
    return found


def test_wilson_by_hand():
    """k = 8, n = 10, z = 1.959964: centre (0.8 + 0.192073) / 1.384146 = 0.716740,
    half 1.959964 / 1.384146 · sqrt(0.016 + 0.0096036) = 0.226578."""
    assert wilson(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-5)


def test_wilson_of_nothing_and_of_all_has_a_width():
    """k = 0: high = z² / (n + z²) = 3.841459 / 103.841459."""
    assert wilson(0, 100) == pytest.approx((0.0, 0.0369935), abs=1e-6)
    assert wilson(100, 100) == pytest.approx((1 - 0.0369935, 1.0), abs=1e-6)
    assert wilson_clustered([], []) is None
    assert wilson_clustered([0, 0], [0, 0]) is None


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_mirrors(counts: tuple[int, int]):
    k, n = counts
    interval, mirrored = wilson(k, n), wilson(n - k, n)
    assert 0 <= interval.low <= k / n <= interval.high <= 1
    assert interval.width > 0
    assert interval == pytest.approx((1 - mirrored.high, 1 - mirrored.low))


@pytest.mark.parametrize("share", [0.02, 0.1, 0.35, 0.5, 0.9])
def test_wilson_covers_on_average_what_it_claims(share: float):
    """Exact coverage, averaged over n so that the lattice of counts evens out."""
    coverages = []
    for n in range(100, 160):
        covered = [k for k in range(n + 1) if wilson(k, n).low <= share <= wilson(k, n).high]
        coverages.append(float(binom.pmf(covered, n, share).sum()))
    assert sum(coverages) / len(coverages) == pytest.approx(0.95, abs=0.015)


def test_trials_that_agree_within_a_prompt_count_once():
    """20 prompts of 5 trials that all agree: the design effect is 5 · 20/19, about as few as 20 trials."""
    clustered = wilson_clustered([5] * 8 + [0] * 12, [5] * 20)
    assert clustered is not None
    assert clustered.width > 1.9 * wilson(40, 100).width
    assert clustered.width == pytest.approx(wilson(8, 20).width, rel=0.05)
    assert wilson_clustered([5] * 20, [5] * 20) == pytest.approx(wilson(20, 20))


@pytest.mark.parametrize("bad", [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 95), (1, 2, 0.0)])
def test_impossible_input_is_refused(bad: tuple[int, int, float]):
    k, n, confidence = bad
    with pytest.raises(ValueError, match=r"impossible|between 0 and 1"):
        wilson_clustered([k], [n], confidence)
