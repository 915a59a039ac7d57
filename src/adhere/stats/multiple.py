"""Several tests at once: Holm for what was fixed beforehand, Benjamini-Hochberg for exploration."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that keep the chance of *any* false claim below alpha; None (not tested) stays None, uncounted.

    The i-th smallest of m (from 0) is multiplied by m - i; adjusted values never decrease along the order.

    Worked: 0.01, 0.04, 0.03 -> 3·0.01 = 0.03; 2·0.03 = 0.06; max(0.06, 1·0.04) = 0.06, in the order given 0.03, 0.06, 0.06.

    Source: S. Holm, Scand. J. Stat. 6 (1979) 65.
    """
    order = _ascending(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p_value, index) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_value))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that keep the expected *share* of false claims below alpha; None stays None, uncounted.

    The i-th smallest of m (from 1) is multiplied by m / i; adjusted values never increase towards the smaller ones.

    Worked: 0.01, 0.04, 0.03 -> 3·0.04/3 = 0.04; min(0.04, 3·0.03/2) = 0.04; min(0.04, 3·0.01) = 0.03.

    Source: Y. Benjamini, Y. Hochberg, J. R. Stat. Soc. B 57 (1995) 289.
    """
    order = _ascending(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    smallest = 1.0
    for rank, (p_value, index) in reversed(list(enumerate(order, start=1))):
        smallest = min(smallest, p_value * len(order) / rank)
        adjusted[index] = smallest
    return adjusted


def _ascending(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    order = sorted((p_value, index) for index, p_value in enumerate(p_values) if p_value is not None)
    for p_value, index in order:
        if not 0 <= p_value <= 1:
            raise ValueError(f"p-value {p_value} at position {index} is not in [0, 1]")
    return order
