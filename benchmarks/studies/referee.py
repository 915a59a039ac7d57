"""Simulated studies of checkpoints: how often an A-A study says YES, and how often the interval holds the truth.

    python -m benchmarks.studies.referee [--studies 10000]

As in `coverage`, whose prompts and seeds these are, with the rule of a verdict but for single kinds (the interval, and that no single
seed decides) and with several answers a prompt: every (arm, seed, prompt) has a rate of passing that its weights fix,
and an outcome is the mean of `draws` draws of it. Greedy answers are one draw of a rate of 0 or 1.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from benchmarks.studies.coverage import EFFECT, HARDNESS, PER_QUERY, SPREADS, _items, world
from scipy.special import ndtr

from adhere.stats import fit_crossed, leave_one_out

DESIGNS = tuple((seeds, draws) for seeds in (5, 10) for draws in (1, 4))
PROMPTS = 200


class Found(NamedTuple):
    studies: int
    yes: float
    no: float
    covered: float


def simulate(seeds: int, draws: int, *, effect: float, studies: int, root: int = 0, spread: str = "large") -> Found:
    """Studies of `PROMPTS` prompts. `effect` is the true difference of the methods, in rates."""
    rng = np.random.default_rng([root, seeds, draws, round(1000 * effect)])
    known = world(HARDNESS["aligned"], np.random.default_rng(0))
    slope = (known.difference(0.02) - known.difference(-0.02)) / 0.04
    shift, sd = effect / slope, SPREADS[spread] / slope
    grid = np.linspace(shift - 6 * sd, shift + 6 * sd, 41)
    weights = np.exp(-((grid - shift) ** 2) / (2 * sd**2))
    truth = float(np.sum(weights * [known.difference(value) for value in grid]) / np.sum(weights))
    queries = PROMPTS // PER_QUERY
    clusters = [place % queries for place in range(PROMPTS)]
    yes = no = covered = 0
    for _ in range(studies):
        base_P, own_P = _items(HARDNESS["aligned"], rng, PROMPTS, queries=queries)
        half_SP = (own_P + rng.normal(shift, sd, size=seeds)[:, None]) / 2
        arms = [rng.binomial(draws, ndtr(base_P + sign * half_SP)) / draws for sign in (1, -1)]
        d_SP = arms[0] - arms[1]
        fit = fit_crossed(d_SP, clusters_P=clusters)
        assert fit is not None
        low, high = fit.interval()
        covered += low <= truth <= high
        if low <= 0 <= high:
            continue
        without = [one.interval() for one in leave_one_out(d_SP, clusters_P=clusters)]
        if any(each.low <= 0 <= each.high for each in without):
            continue  # a single seed decides
        yes, no = yes + (low > 0), no + (high < 0)
    return Found(studies, yes / studies, no / studies, covered / studies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=10_000, help="of each design [10000]")
    asked = parser.parse_args()
    print("| seeds | draws | true difference | YES | NO | interval holds it |\n|---|---|---|---|---|---|")
    began = time.perf_counter()
    for seeds, draws in DESIGNS:
        for effect in (0.0, EFFECT):
            found = simulate(seeds, draws, effect=effect, studies=asked.studies)
            print(
                f"| {seeds} | {draws} | {effect:+.2f} | {found.yes:.1%} | {found.no:.1%} | {found.covered:.1%} |",
                flush=True,
            )
    print(f"\n{asked.studies} studies a row, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
