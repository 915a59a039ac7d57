"""Compute from several draws of one prompt whether any of k passes (pass@k), or all of k (pass^k).

Two conventions, which give different numbers of the same draws:

| | pass@k | pass^k | used by |
|---|---|---|---|
| unbiased: k of the n draws, none twice | 1 - C(n-c, k) / C(n, k) | C(c, k) / C(n, k) | Codex, lighteval; tau-bench |
| plug-in: k draws at the observed rate c/n | 1 - (1 - c/n)^k | (c/n)^k | verl's `best@k`, `worst@k` |

Here c of n draws passed. The plug-in is too low for pass@k and too high for pass^k on average, but is defined for k >
n.

Source: M. Chen et al., arXiv 2107.03374, section 2.1; S. Yao et al., arXiv 2406.12045, section 3.
"""

from __future__ import annotations

from math import comb
from typing import Literal

Convention = Literal["unbiased", "plug-in"]


def any_of(k: int, passed: int, n: int, convention: Convention = "unbiased") -> float:
    """Return pass@k of one prompt: the chance that at least one of `k` draws passes.

    Raises:
        ValueError: `passed` is impossible, or `k` exceeds `n` under the unbiased convention.
    """
    return 1.0 - all_of(k, n - passed, n, convention)


def all_of(k: int, passed: int, n: int, convention: Convention = "unbiased") -> float:
    """Return pass^k of one prompt: the chance that all of `k` draws pass. Raises as `any_of`."""
    if not 0 <= passed <= n or k < 1 or (k > n and convention == "unbiased") or not n:
        raise ValueError(f"k={k}: {passed} of {n} draws passed; needs 1 <= k <= n and 0 <= passed <= n")
    return comb(passed, k) / comb(n, k) if convention == "unbiased" else (passed / n) ** k


def steps_to(draws: int) -> tuple[int, ...]:
    """Return the k that are reported for `draws` draws: 1, 2, 4, 8, … and all of them."""
    return tuple(sorted({draws, *(2**power for power in range(draws.bit_length()) if 2**power <= draws)}))
