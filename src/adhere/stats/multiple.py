"""Adjust the p-values of several tests by Holm's method."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted so that the chance of *any* false claim stays below alpha; None (not tested) stays None.

    None does not count as a test. The i-th smallest of m (from 0) is multiplied by m - i; adjusted values never
    decrease along the order.

    Worked: 0.01, 0.04, 0.03 -> 3·0.01 = 0.03; 2·0.03 = 0.06; max(0.06, 1·0.04) = 0.06, in the order given 0.03, 0.06,
    0.06.

    Source: S. Holm, Scand. J. Stat. 6 (1979) 65.
    """
    order = sorted((p_value, index) for index, p_value in enumerate(p_values) if p_value is not None)
    for p_value, index in order:
        if not 0 <= p_value <= 1:
            raise ValueError(f"p-value {p_value} at position {index} is not in [0, 1]")
    p_adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p_value, index) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_value))
        p_adjusted[index] = largest
    return p_adjusted
