"""Measure how far two judges agree beyond chance."""

from __future__ import annotations


def cohens_kappa(both: int, only_first: int, only_second: int, neither: int) -> float | None:
    """Return (observed - expected) / (1 - expected) agreement; None without answers or if expected agreement is 1.

    Source: Cohen (1960), A coefficient of agreement for nominal scales.
    """
    total = both + only_first + only_second + neither
    if total == 0:
        return None
    observed = (both + neither) / total
    yes = (both + only_first) * (both + only_second) / total**2
    no = (neither + only_second) * (neither + only_first) / total**2
    expected = yes + no
    return None if expected == 1 else (observed - expected) / (1 - expected)
