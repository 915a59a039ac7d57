"""Rank ranges: worked cases, and the coverage that they promise, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adhere.stats.multiple import holm
from adhere.stats.ranks import _holm_rejects, rank_ranges, ranks_of


def rows(*passed: str) -> list[list[float]]:
    return [[{"1": 1.0, "0": 0.0, "-": math.nan}[mark] for mark in one] for one in passed]


def test_equal_rates_share_a_rank() -> None:
    assert ranks_of([0.5, 0.9, 0.5, 0.1]) == [2, 1, 2, 4]
    assert ranks_of([]) == []


def test_the_worked_cases() -> None:
    sure = rank_ranges(rows("1" * 20, "1" * 11 + "0" * 9))
    assert sure.ranges == [(1, 1), (2, 2)]
    unsure = rank_ranges(rows("1" * 20, "1" * 16 + "0" * 4))
    assert unsure.ranges == [(1, 2), (1, 2)]


def test_one_model_no_model_and_nothing_shared() -> None:
    assert rank_ranges(np.zeros((0, 5))) == ([], None)
    assert rank_ranges(rows("101")) == ([(1, 1)], None)
    assert rank_ranges(rows("11--", "--00")) == ([(1, 2), (1, 2)], None)
    with pytest.raises(ValueError, match="dimension"):
        rank_ranges([1.0, 0.0])


def test_only_shared_prompts_count() -> None:
    shared = "1" * 12 + "0" * 8
    worse = "0" * 20
    assert rank_ranges(rows(shared + "-" * 30, worse + "1" * 30)).ranges == rank_ranges(rows(shared, worse)).ranges


def test_means_of_several_draws_use_the_t_test() -> None:
    better = [1.0, 0.75, 1.0, 0.5, 0.75, 1.0, 1.0, 0.75, 0.5, 1.0] * 3
    worse = [0.25, 0.0, 0.5, 0.25, 0.5, 0.25, 0.0, 0.25, 0.0, 0.5] * 3
    assert rank_ranges([worse, better]).ranges == [(2, 2), (1, 1)]
    assert rank_ranges([better, better]).ranges == [(1, 2), (1, 2)]
    constant = rank_ranges([[0.75, 0.75, 0.75], [0.5, 0.5, 0.5]])  # no spread: three equal signs prove nothing
    assert constant.ranges == [(1, 2), (1, 2)]


def test_the_vector_form_of_holm_is_holm() -> None:
    p_values = np.random.default_rng(3).uniform(0, 0.3, size=(40, 9)) ** 2
    expected = [[adjusted is not None and adjusted <= 0.05 for adjusted in holm(list(row))] for row in p_values]
    assert _holm_rejects(p_values, 0.05).tolist() == expected
    assert 0 < sum(map(sum, expected)) < 360


def test_what_can_be_resolved_shrinks_with_more_prompts() -> None:
    rng = np.random.default_rng(1)
    few, many = (rank_ranges((rng.random((10, size)) < 0.5).astype(float)).resolvable for size in (100, 1600))
    assert few is not None
    assert many is not None
    assert many == pytest.approx(few / 4, rel=0.15)
    # 10 prompts cannot: 2^-10 · 2 · 29 > 0.05, though all ten agree
    assert rank_ranges((rng.random((30, 10)) < 0.5).astype(float)).resolvable == 1.0


@pytest.mark.parametrize("spread", [0.0, 0.15, 0.5])
def test_each_range_holds_the_true_rank_with_95_percent(spread: float) -> None:
    """Prompts differ in difficulty, so answers are correlated, as in a real suite.

    Rates are means over many prompts.
    """
    rng, models, prompts, repeats = np.random.default_rng(7), 20, 120, 150
    ability_M = np.linspace(-spread, spread, models) * 4
    difficulty = rng.normal(size=100_000)
    true_M = np.array([np.mean(1 / (1 + np.exp(difficulty - ability))) for ability in ability_M])
    low_M = np.array([1 + np.sum(true_M > rate + 1e-12) for rate in true_M])  # equal models may have any of their ranks
    high_M = np.array([models - np.sum(true_M < rate - 1e-12) for rate in true_M])
    held_M, width = np.zeros(models), 0.0
    for _ in range(repeats):
        chance_M_P = 1 / (1 + np.exp(rng.choice(difficulty, prompts)[None, :] - ability_M[:, None]))
        ranges = rank_ranges((rng.random((models, prompts)) < chance_M_P).astype(float)).ranges
        held_M += [
            low <= first and last <= high for (low, high), first, last in zip(ranges, low_M, high_M, strict=True)
        ]
        width += sum(high - low + 1 for low, high in ranges) / models
    assert (held_M / repeats).min() >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / repeats)
    assert held_M.mean() / repeats >= 0.95
    if spread == 0.5:
        assert width / repeats < 0.6 * models  # and they say something


def test_coverage_with_several_draws() -> None:
    rng, models, prompts, repeats, held = np.random.default_rng(8), 12, 60, 150, 0
    chance_M = np.linspace(0.3, 0.7, models)
    for _ in range(repeats):
        values = rng.binomial(4, chance_M[:, None], size=(models, prompts)) / 4
        ranges = rank_ranges(values).ranges
        held += sum(low <= models - place <= high for place, (low, high) in enumerate(ranges))
    assert held / (repeats * models) >= 0.95


def test_three_hundred_models_take_little_time() -> None:
    import time

    values = (np.random.default_rng(1).random((300, 541)) < 0.5).astype(float)
    start = time.process_time()
    rank_ranges(values)
    assert time.process_time() - start < 2.0
