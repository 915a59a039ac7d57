"""Test on what a paired difference over training seeds depends: single seeds, their signs, the kinds of constraint.

Array suffixes: `_S` seeds, `_P` prompts, `_K` kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from adhere.stats.bootstrap import Floats, finite
from adhere.stats.crossed import Crossed, fit_crossed

MOST_SEEDS = 40  # of the exact sign-flip test: each half of them has 2^20 sums


def leave_one_out(d_SP: ArrayLike, *, clusters_P: Sequence[Hashable] | None = None) -> list[Crossed]:
    """Fit the model of `fit_crossed` without each seed in turn; empty with one seed, or if nothing can be fitted.

    With two seeds, one pair of checkpoints is left, whose interval knows nothing of how seeds differ.
    """
    d = np.asanyarray(d_SP)  # a masked array keeps its gaps
    if len(d) < 2:
        return []
    fits = [fit_crossed(d[np.arange(len(d)) != seed], clusters_P=clusters_P) for seed in range(len(d))]
    return [fit for fit in fits if fit is not None]


def leave_kinds_out(
    d_SP: ArrayLike,
    kinds_P: Sequence[Collection[Hashable]],
    left_out: Collection[Hashable],
    *,
    clusters_P: Sequence[Hashable] | None = None,
) -> Crossed | None:
    """Fit the model of `fit_crossed` without every prompt that asks for any of the kinds `left_out`.

    Args:
        d_SP: One difference per (seed, prompt).
        kinds_P: The kinds of constraint that each prompt asks for.
        left_out: One kind, or several together.
        clusters_P: The query of each prompt; None: each has its own.
    """
    d = np.asanyarray(d_SP)
    columns = [place for place, kinds in enumerate(kinds_P) if not set(left_out) & set(kinds)]
    clusters = None if clusters_P is None else [clusters_P[column] for column in columns]
    return fit_crossed(d[:, columns], clusters_P=clusters)


def sign_flip_p(d_S: ArrayLike) -> float | None:
    """Return the exact two-sided p-value of a mean over seeds if the sign of each seed's difference is a coin toss.

    It is the share of all 2^S choices of signs whose sum is at least as far from 0 as the observed one. It assumes
    nothing about how seeds differ, and cannot fall below 2^(1 - S): 0.0625 with five seeds. None with fewer than two
    seeds, and with more than `MOST_SEEDS`.

    Worked: 1, 2, -1. The sum is 2; of the eight sums 4, 2, 2, 0, 0, -2, -2, -4 six are at least as far: p = 0.75.
    """
    d = finite(d_S, dimensions=1)
    if not 2 <= len(d) <= MOST_SEEDS:
        return None
    distance = abs(float(d.sum()))
    tie = 1e-9 * max(1.0, float(np.abs(d).sum()))  # equal sums differ in the last bit by the order of summation
    # All sums of one half of the seeds against those of the other, sorted: 2^(S/2) sums instead of 2^S.
    first, second = _signed_sums(d[: len(d) // 2]), np.sort(_signed_sums(d[len(d) // 2 :]))
    above = len(second) - np.searchsorted(second, distance - tie - first, side="left")
    below = np.searchsorted(second, -distance + tie - first, side="right")
    as_far = len(first) * len(second) if distance <= tie else int(above.sum() + below.sum())
    return as_far / (len(first) * len(second))


def _signed_sums(d_S: Floats) -> Floats:
    if len(d_S) <= 12:
        signs = np.array(list(product((1.0, -1.0), repeat=len(d_S))))
        return np.asarray(signs @ d_S, dtype=np.float64)
    rest = _signed_sums(d_S[1:])
    return np.concatenate([rest + d_S[0], rest - d_S[0]])


def fit_kinds(d_SP: ArrayLike, kinds_P: Sequence[Hashable]) -> Crossed | None:
    """Fit the model of `fit_crossed` with kinds as clusters: the difference over kinds of constraint not yet written.

    Kinds may have very different numbers of prompts. The mean squares of weighted sums then fall short of the variance
    of the mean, and have fewer degrees of freedom than K - 1; both are corrected. With weights w (shares of the
    prompts) and A = M'M, where M = diag(w)·(I - 1·w'), independent kinds of equal variance give

        variance of the mean / its estimate = Σw² / tr(A),     degrees of freedom = tr(A)² / tr(A²)

    Kinds of equal size have K / (K - 1) and K - 1. None with fewer than two kinds.

    Source: R. M. Bell, D. F. McCaffrey, Surv. Methodol. 28 (2002) 169, for the weighted mean of independent clusters.
    """
    fit = fit_crossed(d_SP, clusters_P=kinds_P)
    if fit is None:
        return None
    sizes: dict[Hashable, int] = {}
    for kind, count in zip(kinds_P, np.atleast_1d(np.ma.count(np.ma.asanyarray(d_SP), axis=0)), strict=True):
        sizes[kind] = sizes.get(kind, 0) + int(count)
    w_K = np.array([size for size in sizes.values() if size], dtype=np.float64)
    w_K /= w_K.sum()
    centred = w_K[:, None] * (np.eye(len(w_K)) - w_K[None, :])
    a = centred.T @ centred
    # The mean squares of the fit hold the factor K / (K - 1) already.
    short = float((w_K**2).sum() / np.trace(a)) * (fit.queries - 1) / fit.queries
    return fit._replace(
        var_query=fit.var_query * short,
        var_least=fit.var_least * short,
        df_query=float(np.trace(a) ** 2 / np.trace(a @ a)),
    )
