"""What a difference hangs on: against enumeration, closed forms and simulated worlds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from adhere.stats import fit_crossed, fit_kinds, leave_one_out, sign_flip_p


def test_sign_flips_by_hand() -> None:
    assert sign_flip_p([1, 2, -1]) == 0.75
    assert sign_flip_p([1.0, 2.0, 3.0, 4.0, 5.0]) == 2 / 32, "five seeds of one sign: as low as it can be"
    assert sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([1.0]) is None


@pytest.mark.parametrize("seeds", [2, 5, 8])
def test_sign_flips_are_an_enumeration(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    for _ in range(20):
        d = rng.integers(-3, 4, size=seeds) / 10  # with ties
        sums = [abs(float(np.dot(signs, d))) for signs in product((1, -1), repeat=seeds)]
        assert sign_flip_p(d) == np.mean([one >= abs(float(d.sum())) - 1e-9 for one in sums])


def test_sign_flips_of_forty_seeds_take_no_hour() -> None:
    assert sign_flip_p([1.0] * 40) == 2.0**-39
    assert sign_flip_p([1.0] * 41) is None


def test_leaving_out_the_seed_that_decides_takes_the_interval_away() -> None:
    d = np.zeros((4, 100))
    d[:, :8] = 1.0
    d[0, :50] = 1.0
    fits = leave_one_out(d)
    assert [round(fit.value, 3) for fit in fits] == [0.08, 0.22, 0.22, 0.22]
    assert fits[0] == fit_crossed(d[1:])
    assert fits[0].interval().low > 0 > fits[1].interval().low
    assert leave_one_out(d[:1]) == []


def test_kinds_of_equal_size_are_plain_clusters() -> None:
    rng = np.random.default_rng(0)
    d, kinds = rng.choice([-1.0, 0.0, 1.0], size=(5, 60)), [place % 6 for place in range(60)]
    found, plain = fit_kinds(d, kinds), fit_crossed(d, clusters_P=kinds)
    assert found is not None
    assert plain is not None
    assert found == pytest.approx(plain)
    assert fit_kinds(d, ["one"] * 60) is None


def test_uneven_kinds_have_fewer_degrees_of_freedom_and_more_variance() -> None:
    rng = np.random.default_rng(0)
    kinds = [0] * 40 + [1] * 40 + [2, 3, 4, 5] * 5
    d = rng.choice([-1.0, 0.0, 1.0], size=(5, 100)) + np.array([0.4, -0.4, 0, 0, 0, 0])[kinds]
    found, plain = fit_kinds(d, kinds), fit_crossed(d, clusters_P=kinds)
    assert found is not None
    assert plain is not None
    assert found.df_query < 3
    assert found.var_query > 1.1 * plain.var_query
    assert found.value == plain.value


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[55] * 10 + [7] * 15, [60] * 6 + [5] * 6])
def test_the_interval_over_kinds_covers(sizes: list[int]) -> None:
    """Ten seeds, kinds that differ by 8 points, uneven as in our studies: plain clusters covered 92 and 91 %."""
    rng = np.random.default_rng(2)
    kinds = np.repeat(np.arange(len(sizes)), sizes)
    covered, studies = 0, 800
    for _ in range(studies):
        hard = rng.uniform(0.1, 0.9, len(kinds))
        half = rng.normal(0, 0.04, len(sizes))[kinds] + rng.normal(0, 0.005, (10, 1))
        a, b = (rng.random((10, len(kinds))) < np.clip(hard + side * half, 0, 1) for side in (1, -1))
        found = fit_kinds(a.astype(float) - b, kinds.tolist())
        assert found is not None
        covered += found.interval().low <= 0 <= found.interval().high
    assert covered / studies > 0.93
