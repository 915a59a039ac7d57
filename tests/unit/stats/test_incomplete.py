"""Seeds that draw their own kinds: the interval holds what it says, and kinds never narrow it."""

from __future__ import annotations

import numpy as np
import pytest

from adhere.stats import fit_incomplete


def study(
    rng: np.random.Generator,
    *,
    seeds: int = 8,
    drawn: int = 10,
    among: int = 28,
    prompts: int = 12,
    sd: tuple[float, float, float],
) -> tuple[list[float], list[int], list[int]]:
    """One simulated study: differences of -1, 0 or 1 around 0, with spreads of seeds, kinds and cells."""
    kind_K = rng.normal(0, sd[1], among)
    d, of_seed, of_kind = [], [], []
    for seed in range(seeds):
        shift = rng.normal(0, sd[0])
        for kind in rng.choice(among, drawn, replace=False):
            mean = float(np.clip(shift + kind_K[kind] + rng.normal(0, sd[2]), -0.9, 0.9))
            differ = max(0.35, abs(mean))
            d += list(rng.choice([1, 0, -1], size=prompts, p=[(differ + mean) / 2, 1 - differ, (differ - mean) / 2]))
            of_seed += [seed] * prompts
            of_kind += [int(kind)] * prompts
    return d, of_seed, of_kind


@pytest.mark.parametrize("sd", [(0.062, 0.128, 0.212), (0.06, 0.0, 0.0), (0.0, 0.2, 0.0)])
def test_the_interval_holds_the_truth_as_often_as_it_says(sd: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(7)
    held = above = 0
    for _ in range(300):
        fit = fit_incomplete(*study(rng, sd=sd))
        assert fit is not None
        low, high = fit.interval()
        held += low <= 0 <= high
        above += low > 0
        assert (fit.p_value < 0.05) == (not low <= 0 <= high)
    assert held >= 279, "93 % of 300"
    assert above <= 12


def test_one_kind_that_decides_widens_the_interval() -> None:
    d, of_seed, of_kind = [], [], []
    for seed in range(6):
        for kind in range(4):
            d += [1.0 if kind == 0 else 0.0] * 10
            of_seed += [seed] * 10
            of_kind += [kind] * 10
    fit = fit_incomplete(d, of_seed, of_kind)
    assert fit is not None
    assert fit.value == pytest.approx(0.25)
    assert fit.interval().low < 0, "no seed differs, but one kind of four makes all of it"
    assert (fit.seeds, fit.kinds, fit.df, fit.prompts) == (6, 4, 3, 240)


def test_nothing_seen_is_no_proof_that_nothing_is_there() -> None:
    fit = fit_incomplete([0.0] * 24, [0, 1, 2] * 8, [0, 1] * 12)
    assert fit is not None
    low, high = fit.interval()
    assert low < -0.1 < 0.1 < high, "24 prompts that do not differ exclude no difference of 10 points"
    assert fit.p_value == 1.0


def test_seeds_weigh_the_same_however_many_prompts_they_have() -> None:
    fit = fit_incomplete([1.0] * 30 + [0.0] * 2, [0] * 30 + [1] * 2, [0, 1] * 16)
    assert fit is not None
    assert fit.value == pytest.approx(0.5)
    assert fit.detectable() > fit.interval().high - fit.value


def test_one_seed_or_one_kind_says_nothing_of_others() -> None:
    assert fit_incomplete([1.0, 0.0], [0, 0], [0, 1]) is None
    assert fit_incomplete([1.0, 0.0], [0, 1], [0, 0]) is None
    assert fit_incomplete([], [], []) is None
    with pytest.raises(ValueError, match="equally many"):
        fit_incomplete([1.0, 0.0], [0], [0, 1])
