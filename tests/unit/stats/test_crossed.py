"""One model for interval, p-value and detectable difference; closed forms where there are some, simulated coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from adhere.stats import fit_crossed


def test_one_seed_without_clusters_is_the_t_interval_with_two_prompts_added() -> None:
    d = np.array([1.0] * 30 + [0.0] * 60 + [-1.0] * 10)
    fit = fit_crossed([d])
    assert fit is not None
    assert fit.value == pytest.approx(0.2)
    error = np.sqrt((np.sum((d - 0.2) ** 2) + 2) / 99 / 100)
    low, high = fit.interval()
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 99) * error)
    assert fit.p_value == pytest.approx(2 * stats.t.sf(0.2 / error, 99), rel=1e-6)
    assert fit.detectable() == pytest.approx((stats.t.ppf(0.975, 99) + stats.t.ppf(0.8, 99)) * error)


def test_seeds_that_alone_differ_give_the_t_interval_over_seeds() -> None:
    rates = np.array([0.10, 0.14, 0.03, 0.08, 0.11])
    fit = fit_crossed(np.repeat(rates[:, None], 400, axis=1), rates=False)
    assert fit is not None
    expected = stats.t.interval(0.95, 4, loc=rates.mean(), scale=stats.sem(rates))
    assert tuple(fit.interval()) == pytest.approx(expected)
    assert fit.p_value == pytest.approx(stats.ttest_1samp(rates, 0).pvalue, rel=1e-6)


def test_the_p_value_is_where_the_interval_reaches_zero() -> None:
    rng = np.random.default_rng(1)
    d = (rng.random((3, 60)) < 0.4).astype(float) - (rng.random((3, 60)) < 0.3)
    fit = fit_crossed(d, clusters_P=[i // 3 for i in range(60)])
    assert fit is not None
    low, high = fit.interval(1 - fit.p_value)
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-6)


def test_clusters_of_equal_prompts_count_once() -> None:
    rng = np.random.default_rng(2)
    once = (rng.random((4, 50)) < 0.5).astype(float)
    fourfold = np.repeat(once, 4, axis=1)
    fit = fit_crossed(fourfold, clusters_P=np.repeat(np.arange(50), 4).tolist(), rates=False)
    alone = fit_crossed(once, rates=False)
    assert fit is not None
    assert alone is not None
    assert tuple(fit.interval()) == pytest.approx(tuple(alone.interval()))
    assert (fit.prompts, fit.queries) == (200, 50)


def test_nothing_seen_is_not_certainty() -> None:
    for seeds in (1, 3, 5):
        fit = fit_crossed(np.zeros((seeds, 100)))
        assert fit is not None
        assert fit.value == 0
        assert 0.002 < fit.half_width(0.95) < 0.05
        assert fit.p_value == 1.0
    assert fit_crossed(np.zeros((3, 1))) is None
    assert fit_crossed(np.zeros((0, 0))) is None


def test_more_seeds_and_prompts_find_less() -> None:
    rng = np.random.default_rng(3)
    d = (rng.random((3, 200)) < 0.4).astype(float) - (rng.random((3, 200)) < 0.3) + rng.normal(0, 0.03, 3)[:, None]
    fit = fit_crossed(d)
    assert fit is not None
    assert fit.with_more(seeds=10, queries=200).detectable() < fit.with_more(seeds=5, queries=200).detectable()
    assert fit.with_more(seeds=5, queries=200).detectable() < fit.detectable()
    assert fit.with_more(seeds=3, queries=800).detectable() < fit.detectable()
    assert fit.with_more(seeds=3, queries=200).detectable() == pytest.approx(fit.detectable())


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 3, 5])
def test_coverage(seeds: int) -> None:
    """The table of docs/reference/statistics.md, in small: 93 to 97.5 % of 95 % intervals hold the truth."""
    from benchmarks.studies.coverage import simulate

    row = simulate("aligned", seeds, 200, "none" if seeds == 1 else "large", effect=0.0, studies=1500, root=1)
    assert 0.93 <= row.covered <= 0.975
    assert row.wrong <= 0.07


def test_what_rounding_leaves_of_no_difference_has_a_p_of_one() -> None:
    fit = fit_crossed([[1.0, -1.0, 0.0, 0.0]] * 3)
    assert fit is not None
    assert fit._replace(value=1e-18).p_value == 1.0


def test_a_gap_is_no_difference_of_zero_and_a_whole_table_is_as_before():
    rng = np.random.default_rng(3)
    d = rng.choice([-1.0, 0.0, 1.0], size=(4, 30))
    queries = [str(place // 3) for place in range(30)]
    whole, masked = fit_crossed(d, clusters_P=queries), fit_crossed(np.ma.masked_array(d), clusters_P=queries)
    assert whole == masked
    gaps = rng.random(d.shape) < 0.4
    fit = fit_crossed(np.ma.masked_array(np.where(gaps, 9.0, d), gaps), clusters_P=queries)
    assert fit is not None
    assert fit.value == pytest.approx(d[~gaps].mean())
    assert fit.seeds, fit.queries == (4, 10)
    gaps[2] = True
    gaps[:, :3] = True
    left = fit_crossed(np.ma.masked_array(d, gaps), clusters_P=queries)
    assert left is not None
    assert (left.seeds, left.queries) == (3, 9), "what was never measured is no seed and no query"
    assert fit_crossed(np.ma.masked_array(d, np.ones_like(gaps))) is None


def test_intervals_with_gaps_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(11)
    held, repeats = 0, 400
    for _ in range(repeats):
        seed, query = rng.normal(0, 0.08, (4, 1)), np.repeat(rng.normal(0, 0.2, 12), 5)[None, :]
        d = 0.1 + seed + query + rng.normal(0, 0.4, (4, 60))
        gaps = rng.random((4, 60)) < np.repeat(rng.uniform(0.1, 0.7, 12), 5)
        fit = fit_crossed(np.ma.masked_array(d, gaps), clusters_P=[str(place // 5) for place in range(60)], rates=False)
        assert fit is not None
        low, high = fit.interval(0.95)
        held += low <= 0.1 <= high
    assert held / repeats > 0.92


@pytest.mark.parametrize(("seeds", "draws"), [(5, 1), (10, 4)])
def test_simulated_studies_of_checkpoints_say_yes_to_nothing_and_hold_the_truth(seeds: int, draws: int) -> None:
    """A slice of `python -m benchmarks.studies.referee`, whose fits for many studies at once are those of `fit_crossed`."""
    from benchmarks.studies.referee import PROMPTS, intervals, simulate

    rng = np.random.default_rng(seeds)
    d_NSP = rng.integers(-1, 2, size=(6, seeds, PROMPTS)) * (rng.random((6, seeds, PROMPTS)) < 0.3)
    d_NSP[0] = 0
    clusters = [place % 50 for place in range(PROMPTS)]
    for d_SP, found in zip(d_NSP, intervals(d_NSP.astype(float), queries=50), strict=True):
        fit = fit_crossed(d_SP, clusters_P=clusters)
        assert fit is not None
        assert tuple(found) == pytest.approx(tuple(fit.interval()), abs=1e-12)
    nothing, gain = (simulate(seeds, draws, effect=effect, studies=600) for effect in (0.0, 0.05))
    assert nothing.yes <= 0.03
    assert nothing.no <= 0.03
    assert 0.92 <= nothing.covered <= 0.98, "of 600 studies three standard errors are 2.7 points"
    assert 0.92 <= gain.covered <= 0.98
    assert gain.no == 0
    assert gain.yes > 0.1
