"""Rank models that were measured on the same prompts, with the uncertainty of the ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adhere.stats.proportions import check_confidence

Floats = NDArray[np.float64]


class RankRange(NamedTuple):
    """Holds the ranks that a model may truly have: from 1 + certainly better models, to n - certainly worse ones."""

    low: int
    high: int


class Ranks(NamedTuple):
    """Holds the rank ranges of models, in the order given, and the smallest difference that is called certain.

    Attributes:
        ranges: One range for each model.
        resolvable: The smallest difference of two rates that is called certain between two typical models (the median
            over pairs of what the first step of Holm's method asks for, by the normal approximation, but never fewer
            prompts than an exact test needs if all of them agree). 1.0: not even that can be. None with fewer than two
            models, or where no two share a prompt.
    """

    ranges: list[RankRange]
    resolvable: float | None


def ranks_of(rates: Sequence[float]) -> list[int]:
    """Return for each rate 1 + the number of higher rates; equal rates have equal ranks."""
    ordered = np.sort(np.asarray(rates, dtype=np.float64))
    return [int(len(ordered) - np.searchsorted(ordered, rate, side="right")) + 1 for rate in rates]


def rank_ranges(values_M_P: ArrayLike, *, confidence: float = 0.95) -> Ranks:
    """Return for each model a range that holds its true rank with at least `confidence`.

    A model is compared with every other on the prompts that both answered, in both directions: by the exact binomial
    test of discordant prompts (McNemar's, one-sided) where values are pass or fail, else by the t-test of paired
    differences. The 2·(M - 1) one-sided p-values of one model are adjusted by Holm's method, so the chance that *any*
    claim in its range is false is at most 1 - confidence. The guarantee holds for each model, not for all ranges at
    once.

    Worked: two models on 20 prompts, 9 pass only under the first, 0 only under the second: p = 2^-9, times 2 = 0.004,
    so the ranges are 1…1 and 2…2. With 4 against 0 it is 2·2^-4 = 0.125, and both are 1…2.

    Args:
        values_M_P: Result of each model (row) on each prompt (column), in [0, 1]; NaN if it was not measured.
        confidence: Confidence of each range.

    Source: M. Mogstad et al., Rev. Econ. Stud. 91 (2024) 476: ranks from multiple tests of differences. Ours tests
        pairs exactly instead of bootstrapping their maximum, which is wider.
    """
    check_confidence(confidence)
    values = np.asarray(values_M_P, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"One row a model and one column a prompt, got {values.ndim} dimension(s)")
    count = len(values)
    if count < 2:
        return Ranks([RankRange(1, 1)] * count, None)
    from scipy.special import bdtr, ndtri  # takes 0.3 s, and a sweep of one model ranks nothing

    has_value_M_P = (~np.isnan(values)).astype(np.float64)
    filled_M_P = np.where(has_value_M_P > 0, values, 0.0)
    shared_M_M = has_value_M_P @ has_value_M_P.T
    square_M_M = (filled_M_P**2) @ has_value_M_P.T
    # Sums of squared differences over shared prompts: Σ(a - b)² = Σa² + Σb² - 2Σab.
    squares_M_M = np.maximum(square_M_M + square_M_M.T - 2 * filled_M_P @ filled_M_P.T, 0.0)
    if bool(np.isin(filled_M_P, (0.0, 1.0)).all()):
        only_M_M = np.rint(filled_M_P @ (has_value_M_P - filled_M_P).T)  # passes under the row's model only
        # Chance that of the discordant prompts, fair coins, so few are passed by the column's model alone.
        better_M_M = bdtr(only_M_M.T, (only_M_M + only_M_M.T).astype(np.int64), 0.5)
    else:
        better_M_M = _paired_t(filled_M_P @ has_value_M_P.T, squares_M_M, shared_M_M)
    alpha = 1 - confidence
    off = ~np.eye(count, dtype=bool)  # no model is compared with itself
    better = better_M_M[off].reshape(count, count - 1)
    worse = better_M_M.T[off].reshape(count, count - 1)
    certain = _holm_rejects(np.concatenate([better, worse], axis=1), alpha)
    is_better, is_worse = certain[:, : count - 1], certain[:, count - 1 :]
    ranges = [
        RankRange(1 + int(above), count - int(below))
        for above, below in zip(is_worse.sum(axis=1), is_better.sum(axis=1), strict=True)
    ]
    apart = off & (shared_M_M > 0)
    if not apart.any():
        return Ranks(ranges, None)
    z = -float(ndtri(alpha / (2 * (count - 1))))
    typical = z * float(np.median(np.sqrt(squares_M_M[apart]) / shared_M_M[apart]))
    fewest = math.ceil(math.log2(2 * (count - 1) / alpha)) / float(np.median(shared_M_M[apart]))  # all of one sign
    return Ranks(ranges, min(1.0, max(typical, fewest)))


def _paired_t(sums_M_M: Floats, squares_M_M: Floats, shared_M_M: Floats) -> Floats:
    """Return the one-sided p-values of "the row's model is no better than the column's"."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (sums_M_M - sums_M_M.T) / shared_M_M
        variance = np.maximum(squares_M_M - shared_M_M * mean**2, 0.0) / (shared_M_M - 1)
        t = mean / np.sqrt(variance / shared_M_M)
        p = stdtr(np.maximum(shared_M_M - 1, 1), -t)
    # With equal differences there is no spread to judge by; then, and never below it, all signs agree by chance.
    p = np.maximum(np.where(np.isnan(t), 1.0, p), 0.5**shared_M_M)
    return np.asarray(np.where(shared_M_M < 2, 1.0, p), dtype=np.float64)


def _holm_rejects(p_M_H: Floats, alpha: float) -> NDArray[np.bool_]:
    """Tell which hypotheses of each row Holm's method rejects.

    See `stats.multiple.holm`, of which this is the vector form.
    """
    order = np.argsort(p_M_H, axis=1, kind="stable")
    steps = np.arange(p_M_H.shape[1], 0, -1)
    holds = np.take_along_axis(p_M_H, order, axis=1) * steps <= alpha
    rejected = np.logical_and.accumulate(holds, axis=1)
    rejected_M_H = np.empty_like(rejected)
    np.put_along_axis(rejected_M_H, order, rejected, axis=1)
    return rejected_M_H
