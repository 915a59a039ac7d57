"""Describe designs of studies and the parts of a difference's variance."""

from __future__ import annotations

from typing import NamedTuple

from adhere.schema import Record

EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.1)
SEEDS, PROMPTS = (3, 5, 8, 10, 15, 20), (200, 500, 1000, 2000)
WANTED = 0.8


class Components(Record, frozen=True):
    """Holds the parts of the variance of one paired difference, on one query at one seed, as variances of rates.

    Attributes:
        name: Name of the study.
        seed: Variance between seeds, of the whole difference.
        query: Variance between queries.
        noise: The remaining variance.
        prompts_per_query: Prompts that share a query.
        minutes_per_seed: Minutes that a seed took in that study, training included; None: not known.
    """

    name: str
    seed: float
    query: float
    noise: float
    prompts_per_query: float
    minutes_per_seed: float | None = None


KNOWN = (  # of the committed studies; tests/unit/study/test_power.py computes them again
    Components("study", 2.703794871794877e-05, 0.0005857682937435909, 0.021454562051282048, 250 / 49, 50.77),
    Components("study-3", 0.004132082051282052, 0.00016365303593572563, 0.04698254017094018, 250 / 49, 159.07),
    Components("study-4", 0.00496325606837607, 0.004096813370901882, 0.054381188376068375, 250 / 49, 8.88),
)


class Design(NamedTuple):
    """Says how many seeds both arms of a question have, and on how many prompts it is asked."""

    seeds: int
    prompts: int


class PowerRow(Record, frozen=True):
    """Holds one design: its detectable difference (80 % power), the power for each effect of EFFECTS, and its cost."""

    seeds: int
    prompts: int
    detectable: float
    power: list[float]
    hours: float | None
