"""Fit one model of paired differences over training seeds and prompts, for interval, p-value and detectable difference.

    d[s, p] = Δ + seed[s] + query[q(p)] + noise[s, p]

Prompts that share a query are one cluster. With one seed, Δ is the difference of two *checkpoints* over queries not yet
written; with several it is the difference of two *methods*, over seeds not yet trained as well. Suffixes: `_S` seeds,
`_P` prompts, `_K` queries.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adhere.stats.bootstrap import Floats, finite, number_clusters
from adhere.stats.proportions import Interval, check_confidence

SMALLEST_P = 1e-12


class Crossed(NamedTuple):
    """Holds a mean difference and the parts of its variance.

    The interval's half-width at a confidence is

        t·√(var_seed + var_query)

    where t is the mean of t(df_seed) and t(df_query), weighted by the two variances: each part has the quantile of its
    own degrees of freedom (Cochran's approximation). One number of degrees of freedom for the sum (Satterthwaite's)
    covers too little with three seeds: 90 % where 95 % is claimed (docs/reference/statistics.md). The p-value is the
    confidence at which the interval just reaches 0, and the detectable difference is built from the same parts: the
    three never disagree.

    Attributes:
        value: The mean over seeds and prompts.
        var_seed, df_seed: Variance of the mean from seeds and noise; 0 and 1 with one seed.
        var_query, df_query: Variance of the mean from queries.
        var_least: The variance of the mean over these seeds alone; it is used if the two parts come out as 0.
        seeds, queries, prompts: Numbers of seeds, queries and prompts.
    """

    value: float
    var_seed: float
    df_seed: int
    var_query: float
    df_query: float
    var_least: float
    seeds: int
    queries: int
    prompts: int

    def half_width(self, confidence: float) -> float:
        """Return half the width of the interval, for differences not clipped to [-1, 1]."""
        return self._distance(0.5 + confidence / 2)

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return the interval of the mean, within [-1, 1]."""
        check_confidence(confidence)
        half = self.half_width(confidence)
        return Interval(max(-1.0, self.value - half), min(1.0, self.value + half))

    def lower(self, confidence: float) -> float:
        """Return the one-sided lower bound of the mean at `confidence` (0.975: the lower end of a 95 % interval)."""
        return self.value - self._distance(confidence)

    def upper(self, confidence: float) -> float:
        """Return the one-sided upper bound of the mean at `confidence`."""
        return self.value + self._distance(confidence)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of "the mean is 0": 1 minus the confidence at which the interval just excludes 0."""
        distance = abs(self.value)
        if distance <= self.half_width(1e-9):  # 0, or what rounding has left of it
            return 1.0
        if self.half_width(1 - SMALLEST_P) <= distance:
            return SMALLEST_P
        from scipy.optimize import brentq  # takes 0.7 s: commands that compare nothing start without it

        root = brentq(lambda p: self.half_width(1 - p) - distance, SMALLEST_P, 1 - 1e-9, xtol=1e-12)
        return float(root)

    def detectable(self, confidence: float = 0.95, *, power: float = 0.8) -> float:
        """Return the difference that a design like this one finds with `power`."""
        return self._distance(0.5 + confidence / 2) + self._distance(power)

    def with_more(self, *, seeds: int, queries: float) -> Crossed:
        """Return what to expect of another number of seeds and queries, if their variances stay the same.

        With one seed nothing is known of how seeds differ, and only `queries` may change.
        """
        if self.seeds == 1:
            share = self.queries / queries
            return self._replace(
                var_query=self.var_query * share,
                var_least=self.var_least * share,
                df_query=max(1, round(queries) - 1),
                queries=round(queries),
                prompts=round(self.prompts / share),
            )
        by_seed, by_query = self.seeds / seeds, self.queries / queries
        var_query = self.var_query * by_query
        # As if seeds were all of it: an upper bound where some of it is noise between cells.
        var_seed = self.var_seed * by_seed
        return self._replace(
            var_seed=var_seed,
            df_seed=seeds - 1,
            var_query=var_query,
            df_query=max(1, round(queries) - 1),
            var_least=self.var_least * by_query * by_seed,
            seeds=seeds,
            queries=round(queries),
            prompts=round(self.prompts / by_query),
        )

    def _distance(self, share: float) -> float:
        """Return how far the `share` quantile lies from the mean."""
        if share <= 0.5:
            return 0.0
        from scipy.special import stdtrit  # takes 0.3 s

        query = float(stdtrit(self.df_query, share))
        least = query * math.sqrt(self.var_least)
        if self.seeds == 1:
            return least
        seed = float(stdtrit(self.df_seed, share))
        total = self.var_seed + self.var_query
        if not total:
            return least
        quantile = (seed * self.var_seed + query * self.var_query) / total
        return quantile * math.sqrt(total)


def fit_crossed(d_SP: ArrayLike, *, clusters_P: Sequence[Hashable] | None = None, rates: bool = True) -> Crossed | None:
    """Fit the model of this module; None with fewer than two queries.

    Args:
        d_SP: One difference per (seed, prompt). A masked array has gaps where there was nothing to measure: the mean is
            then over the measured cells, and its parts are those of the linearised ratio.
        clusters_P: The query of each prompt; None: each has its own.
        rates: Whether the differences are of passes, in [-1, 1]. One prompt gained and one lost at one seed are then
            added to the spread between queries, as Bonett and Price (2012) do for paired rates: few prompts differ, and
            without it the interval of nothing seen would have width zero.

    The parts are the mean squares of the two-way analysis of variance; with one seed, of the queries alone.
    """
    x_SK, cells = _columns(d_SP, clusters_P)
    seeds, queries = x_SK.shape
    if seeds < 1 or queries < 2:
        return None
    value = float(x_SK.mean())
    prompts = round(cells / seeds)
    scale = queries * seeds / cells  # what one prompt of a query adds to its column
    # Mean squares, and what they expect with Q queries and S seeds: noise + S·var(query) for queries,
    # noise + Q·var(seed) for seeds, noise for the rest. The variance of the mean is var(seed)/S + var(query)/Q +
    # noise/(S·Q), which is (ms_seed + ms_query - ms_rest) / (S·Q): noise is in the seeds' part alone.
    query_K = x_SK.mean(axis=0) - value
    squares = seeds * float(np.sum(query_K**2)) + (2 * scale**2 / seeds if rates else 0.0)
    ms_query = squares / (queries - 1)
    least = ms_query / (seeds * queries)
    if seeds == 1:
        return Crossed(value, 0.0, 1, least, queries - 1, least, 1, queries, prompts)
    seed_S = x_SK.mean(axis=1) - value
    ms_seed = queries * float(np.sum(seed_S**2)) / (seeds - 1)
    rest = x_SK - value - seed_S[:, None] - query_K[None, :]
    ms_rest = float(np.sum(rest**2)) / ((seeds - 1) * (queries - 1))
    parts = seeds * queries
    var_query = max(0.0, ms_query - ms_rest) / parts  # an estimate of a variance may come out below 0
    return Crossed(value, ms_seed / parts, seeds - 1, var_query, queries - 1, least, seeds, queries, prompts)


def _columns(d_SP: ArrayLike, clusters_P: Sequence[Hashable] | None) -> tuple[Floats, int]:
    """Return one column for each query, and the number of (seed, prompt) cells that were measured.

    A gap adds nothing to its column, like an absent prompt: `value + Σ(d - value)` over what was measured, scaled so
    that the mean of the columns is the mean of the cells (Taylor's linearisation of a ratio). Seeds and prompts of
    which nothing was measured are left out.
    """
    gaps_SP = np.ma.getmaskarray(d_SP) if isinstance(d_SP, np.ma.MaskedArray) else None
    d = finite(np.ma.filled(d_SP, 0.0) if gaps_SP is not None else d_SP, dimensions=2)
    if gaps_SP is None or not gaps_SP.any():
        return (_by_query(d, clusters_P) if d.size else d), d.size
    is_seed_S, is_prompt_P = np.asarray(~gaps_SP.all(axis=1)), np.asarray(~gaps_SP.all(axis=0))
    d, gaps_SP = d[is_seed_S][:, is_prompt_P], gaps_SP[is_seed_S][:, is_prompt_P]
    if not d.size:
        return d, 0
    cells, value = int((~gaps_SP).sum()), float(d[~gaps_SP].mean())
    names: Sequence[Hashable] = range(len(is_prompt_P)) if clusters_P is None else clusters_P
    index_P, queries = number_clusters([name for name, has in zip(names, is_prompt_P, strict=True) if has])
    sums_SK = np.zeros((d.shape[0], queries))
    np.add.at(sums_SK.T, index_P, np.where(gaps_SP, 0.0, d - value).T)
    columns_SK: Floats = value + sums_SK * sums_SK.size / cells
    return columns_SK, cells


def _by_query(d_SP: Floats, clusters_P: Sequence[Hashable] | None) -> Floats:
    """Return one column for each query, linearised so that queries' sizes add no spread; the mean is over prompts."""
    if clusters_P is None:
        return d_SP
    index_P, queries = number_clusters(clusters_P)
    value = d_SP.mean()
    sums_SK = np.zeros((d_SP.shape[0], queries))
    np.add.at(sums_SK.T, index_P, (d_SP - value).T)
    columns_SK: Floats = value + sums_SK * queries / d_SP.shape[1]
    return columns_SK
