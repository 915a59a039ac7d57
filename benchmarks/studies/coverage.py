"""How often the interval of a study's verdict holds the truth, and how often a study of nothing is answered YES or NO.

    python -m benchmarks.studies.coverage [--studies 4000]             intervals
    python -m benchmarks.studies.coverage --fragile [--studies 2000]   the whole rule of a verdict about methods

Simulated studies: every (arm, seed, prompt) passes or fails. Prompts share queries, four each; how hard a prompt is
comes from its query and from itself and is the same for both arms and all seeds; each arm has prompts that suit it
better; training seeds move an arm as a whole. `small` and `large`: how much seeds differ, as the standard deviation of
the difference between two arms at one seed, 0.5 and 4 points; `none`: not at all. `aligned`: one in seven outcomes
differs between arms, as after a common SFT; `loose`: one in three. An a-a study compares two arms that are the same.
With one seed the truth is the difference of those two checkpoints over all prompts; with several that of the methods
over all seeds and prompts.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adhere.stats import fit_crossed, fit_kinds, leave_kinds_out, leave_one_out

PER_QUERY = 4
SEEDS, PROMPTS = (1, 3, 5, 10), (200, 1000)
SPREADS = {"none": 0.0, "small": 0.005, "large": 0.04}  # of the difference of two arms at one seed, in rates
HARDNESS = {"aligned": 3.0, "loose": 1.0}  # spread of how hard prompts are, in probits: the more, the more arms agree
OWN = 0.3  # spread of how much better a prompt suits one arm, in probits
EFFECT = 0.05  # of studies with a difference
WORTH = 0.03


class World(NamedTuple):
    """Prompts drawn once, very many, to know the truth."""

    base: np.ndarray
    own: np.ndarray

    def difference(self, shift: float) -> float:
        """The mean difference of two arms that differ by `shift` probits."""
        return float(np.mean(ndtr(self.base + (self.own + shift) / 2) - ndtr(self.base - (self.own + shift) / 2)))


def world(hardness: float, rng: np.random.Generator, *, prompts: int = 200_000) -> World:
    base, own = _items(hardness, rng, prompts, queries=prompts)
    own = np.concatenate([own, -own])  # so that nothing differs on average, exactly
    return World(np.concatenate([base, base]), own)


def _items(hardness: float, rng: np.random.Generator, prompts: int, *, queries: int) -> tuple[np.ndarray, np.ndarray]:
    query_P = np.arange(prompts) % queries
    half = np.sqrt(0.5)
    base = hardness * (half * rng.normal(size=queries)[query_P] + half * rng.normal(size=prompts))
    own = OWN * (half * rng.normal(size=queries)[query_P] + half * rng.normal(size=prompts))
    return base, own


class Row(NamedTuple):
    hardness: str
    seeds: int
    prompts: int
    spread: str
    effect: float
    covered: float
    width: float
    wrong: float  # share of a-a studies that say YES or NO
    right: float  # share of studies with an effect that say YES


def simulate(hardness: str, seeds: int, prompts: int, spread: str, *, effect: float, studies: int, root: int) -> Row:
    rng = np.random.default_rng([root, seeds, prompts, *map(ord, hardness + spread), round(1000 * effect)])
    known = world(HARDNESS[hardness], np.random.default_rng(0))
    slope = (known.difference(0.02) - known.difference(-0.02)) / 0.04  # rate a probit
    shift, sd = effect / slope, SPREADS[spread] / slope
    grid = np.linspace(shift - 6 * sd - 1e-9, shift + 6 * sd + 1e-9, 41)
    truths = np.array([known.difference(value) for value in grid])
    weights = np.exp(-((grid - shift) ** 2) / (2 * max(sd, 1e-9) ** 2))
    over_seeds = float(np.sum(weights * truths) / np.sum(weights))
    queries = prompts // PER_QUERY
    clusters = [place % queries for place in range(prompts)]
    covered = decided = said_yes = 0
    widths = []
    for _ in range(studies):
        base_P, own_P = _items(HARDNESS[hardness], rng, prompts, queries=queries)
        shift_S = rng.normal(shift, sd, size=seeds)
        half_SP = (own_P + shift_S[:, None]) / 2
        a_SP = rng.random((seeds, prompts)) < ndtr(base_P + half_SP)
        b_SP = rng.random((seeds, prompts)) < ndtr(base_P - half_SP)
        fit = fit_crossed(a_SP.astype(float) - b_SP, clusters_P=clusters)
        assert fit is not None
        low, high = fit.interval()
        truth = float(np.interp(shift_S[0], grid, truths)) if seeds == 1 else over_seeds
        covered += low <= truth <= high
        decided += low > 0 or high < 0
        said_yes += low > 0
        widths.append(high - low)
    n = studies
    return Row(
        hardness, seeds, prompts, spread, effect, covered / n, float(np.mean(widths)) / 2, decided / n, said_yes / n
    )


KIND_SIZES = (55,) * 10 + (7,) * 15  # prompts with one constraint, as in examples/study.toml; as many have several
BY_KIND = {  # standard deviations, in rates: of what training at one seed does to a kind, of what the method does to it
    "alike": (0.0, 0.0),
    "by chance at each seed": (0.06, 0.0),
    "for good": (0.02, 0.05),
}


class Ruled(NamedTuple):
    """Shares of simulated studies."""

    plain: float  # YES by the interval alone
    general: float  # YES about the methods
    limited: float  # YES about the methods on these kinds
    wrongly_limited: float  # of all studies: the mean of these kinds is not above 0
    fragile: float  # YES by the interval, but a single seed or kind decides


def ruled(seeds: int, by_kind: str, *, effect: float, studies: int, root: int) -> Ruled:
    """The rule of `adhere.study.outcome.verdict` on studies whose kinds differ in this way."""
    rng = np.random.default_rng([root, seeds, *map(ord, by_kind), round(1000 * effect)])
    chance, method = BY_KIND[by_kind]
    kind_P = np.repeat(np.arange(len(KIND_SIZES)), KIND_SIZES)
    prompts, kinds = len(kind_P), kind_P.tolist()
    asks_P = [{kind} for kind in kinds]
    queries = [place % (prompts // PER_QUERY) for place in range(prompts)]
    counts = dict.fromkeys(("plain", "general", "limited", "wrong", "fragile"), 0)
    for _ in range(studies):
        base_P = (
            rng.normal(0, 1.5, len(KIND_SIZES))[kind_P] + _items(1.0, rng, prompts, queries=prompts // PER_QUERY)[0]
        )
        pass_P = ndtr(base_P)
        of_kind_P = rng.normal(effect, method, len(KIND_SIZES))[kind_P]
        shift_SP = (
            of_kind_P + rng.normal(0, chance, (seeds, len(KIND_SIZES)))[:, kind_P] + rng.normal(0, 0.01, (seeds, 1))
        ) / 2
        a_SP = rng.random((seeds, prompts)) < np.clip(pass_P + shift_SP, 0, 1)
        b_SP = rng.random((seeds, prompts)) < np.clip(pass_P - shift_SP, 0, 1)
        d_SP = a_SP.astype(float) - b_SP
        fit, over_kinds = fit_crossed(d_SP, clusters_P=queries), fit_kinds(d_SP, kinds)
        assert fit is not None
        assert over_kinds is not None
        if fit.interval().low <= 0:
            continue
        counts["plain"] += 1
        without_kind = (leave_kinds_out(d_SP, asks_P, {kind}, clusters_P=queries) for kind in set(kinds))
        left = [*leave_one_out(d_SP, clusters_P=queries), *(one for one in without_kind if one is not None)]
        if any(one.interval().low <= 0 for one in left):
            counts["fragile"] += 1
        elif over_kinds.interval().low > 0:
            counts["general"] += 1
        else:
            counts["limited"] += 1
            counts["wrong"] += bool(of_kind_P.mean() <= 0)
    return Ruled(*(value / studies for value in counts.values()))


def print_rule(*, studies: int, root: int) -> None:
    """A row a world: equal arms first, then gains of 3 and 5 points."""
    print(
        "| kinds differ | seeds | true gain | YES by the interval alone | FRAGILE | **YES about the methods** | "
        "YES on these kinds | of these wrong |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for effect in (0.0, 0.03, 0.05):
        for by_kind in BY_KIND:
            for seeds in (5, 10):
                row = ruled(seeds, by_kind, effect=effect, studies=studies, root=root)
                print(
                    f"| {by_kind} | {seeds} | {100 * effect:.0f} | {row.plain:.1%} | {row.fragile:.1%} | "
                    f"**{row.general:.1%}** | {row.limited:.1%} | {row.wrongly_limited:.1%} |",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=4000, help="simulated for every row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fragile", action="store_true", help="the whole rule: leave-one-out and kinds")
    asked = parser.parse_args()
    started = time.perf_counter()
    if asked.fragile:
        print_rule(studies=asked.studies, root=asked.seed)
        print(f"\n{asked.studies} simulated studies a row, {time.perf_counter() - started:.0f} s")
        return
    print(
        "| arms | seeds | prompts | seeds differ | covered, no difference | covered, "
        "5 points | half width | a-a studies answered YES or NO | 5 points answered YES |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for hardness in HARDNESS:
        for seeds in SEEDS:
            for prompts in PROMPTS:
                for spread in ("none", "large") if seeds == 1 else ("small", "large"):
                    null = simulate(
                        hardness, seeds, prompts, spread, effect=0.0, studies=asked.studies, root=asked.seed
                    )
                    some = simulate(
                        hardness, seeds, prompts, spread, effect=EFFECT, studies=asked.studies, root=asked.seed
                    )
                    wrong = (
                        "–" if seeds == 1 and spread != "none" else f"{null.wrong:.1%}"
                    )  # such checkpoints do differ
                    print(
                        f"| {hardness} | {seeds} | {prompts:,} | {spread} | {null.covered:.1%} | {some.covered:.1%} | "
                        f"{100 * null.width:.1f} | {wrong} | {some.right:.1%} |",
                        flush=True,
                    )
    print(f"\n{asked.studies} simulated studies a row and column, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
