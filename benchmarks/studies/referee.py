"""Simulated studies of checkpoints: how often an A-A study says YES, and how often the interval holds the truth.

    python -m benchmarks.studies.referee [--studies 10000]

As in `coverage`, whose prompts and seeds these are, with the rule of a verdict but for single kinds (the interval, and that no single
seed decides) and with several answers a prompt: every (arm, seed, prompt) has a rate of passing that its weights fix,
and an outcome is the mean of `draws` draws of it. Greedy answers are one draw of a rate of 0 or 1.

`fit_crossed` is done here for many studies at once; tests hold both equal.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from benchmarks.studies.coverage import EFFECT, HARDNESS, OWN, PER_QUERY, SPREADS, world
from scipy.special import ndtr, stdtrit

DESIGNS = tuple((seeds, draws) for seeds in (5, 10) for draws in (1, 4))
PROMPTS = 200
BLOCK = 250  # studies at once


class Found(NamedTuple):
    studies: int
    yes: float
    no: float
    covered: float


def intervals(d_NSP: np.ndarray, *, queries: int) -> np.ndarray:
    """The 95 % intervals (N, 2) of N studies, as `fit_crossed` has them; prompt p belongs to query p % queries."""
    count, seeds, prompts = d_NSP.shape
    x_NSK = d_NSP.reshape(count, seeds, prompts // queries, queries).mean(axis=2)  # queries are of one size
    value_N = x_NSK.mean(axis=(1, 2))
    query_NK = x_NSK.mean(axis=1) - value_N[:, None]
    seed_NS = x_NSK.mean(axis=2) - value_N[:, None]
    ms_query_N = (seeds * np.sum(query_NK**2, axis=1) + 2 * (queries / prompts) ** 2 / seeds) / (queries - 1)
    ms_seed_N = queries * np.sum(seed_NS**2, axis=1) / (seeds - 1)
    rest_NSK = x_NSK - value_N[:, None, None] - seed_NS[:, :, None] - query_NK[:, None, :]
    ms_rest_N = np.sum(rest_NSK**2, axis=(1, 2)) / ((seeds - 1) * (queries - 1))
    cells = seeds * queries
    var_seed_N, var_query_N = ms_seed_N / cells, np.maximum(0.0, ms_query_N - ms_rest_N) / cells
    by_seed, by_query = stdtrit(seeds - 1, 0.975), stdtrit(queries - 1, 0.975)
    total_N = var_seed_N + var_query_N
    with np.errstate(invalid="ignore"):
        mixed_N = (by_seed * var_seed_N + by_query * var_query_N) / total_N * np.sqrt(total_N)
    half_N = np.where(total_N > 0, mixed_N, by_query * np.sqrt(ms_query_N / cells))
    return np.stack([np.maximum(-1.0, value_N - half_N), np.minimum(1.0, value_N + half_N)], axis=1)


def _items(count: int, rng: np.random.Generator, *, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """How hard prompts are and how much better they suit one arm, (N, P) each, as `coverage` draws them."""
    query_P, half = np.arange(PROMPTS) % queries, np.sqrt(0.5)
    base, own = (
        half * rng.normal(size=(count, queries))[:, query_P] + half * rng.normal(size=(count, PROMPTS))
        for _ in range(2)
    )
    return HARDNESS["aligned"] * base, OWN * own


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
    yes = no = covered = 0
    for begun in range(0, studies, BLOCK):
        count = min(BLOCK, studies - begun)
        base_NP, own_NP = _items(count, rng, queries=queries)
        half_NSP = (own_NP[:, None, :] + rng.normal(shift, sd, size=(count, seeds, 1))) / 2
        a, b = (rng.binomial(draws, ndtr(base_NP[:, None, :] + sign * half_NSP)) / draws for sign in (1, -1))
        d_NSP = a - b
        low_N, high_N = intervals(d_NSP, queries=queries).T
        covered += int(np.sum((low_N <= truth) & (truth <= high_N)))
        # Without any one seed the interval still lies on one side, else a single seed decides.
        left = [intervals(np.delete(d_NSP, seed, axis=1), queries=queries) for seed in range(seeds)]
        is_firm_N = np.all([(one[:, 0] > 0) | (one[:, 1] < 0) for one in left], axis=0)
        yes, no = yes + int(np.sum((low_N > 0) & is_firm_N)), no + int(np.sum((high_N < 0) & is_firm_N))
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
