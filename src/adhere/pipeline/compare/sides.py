"""Test what a change must not cost: knowledge, maths, code, safety, plain text. Non-inferiority, item by item.

Array suffixes: `_S` seeds, `_P` items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from adhere.schema import Record
from adhere.stats import Crossed, fit_crossed

CONFIDENCE = 0.95
MARGIN = 0.02
"""Largest fall of a rate that is tolerated, as a share: two points."""
PERPLEXITY_MARGIN = 0.1
"""Largest rise of a perplexity that is tolerated, as a share."""

Outcome = Literal["holds", "violated", "undecided"]
Unit = Literal["rate", "perplexity"]


class SideTest(Record, frozen=True):
    """Tells whether a is worse than b by more than a margin at one task beside the following of instructions.

    `outcome` is `holds` if the whole interval of `worse` lies below `margin`, `violated` if it lies above, and
    `undecided` otherwise. To claim that several tasks all hold needs no correction, for each of them must hold.

    Attributes:
        task: Name of the task, or of the group whose tasks are pooled.
        harness: Name of the harness that scored it.
        score: Name of the harness's score.
        unit: `rate`: values and margin are shares in [0, 1]. `perplexity`: values are perplexities for a unit of text,
            and `worse` is a / b less 1.
        n: Items that both measured. `left_out`: items that one side did not measure, or that were asked differently.
        value_a, value_b: Means over items.
        worse, low, high: How much worse a is, and the ends of the interval.
        needed: Items with which this margin would be decided 4 times in 5 if a and b did not differ.
        reason: Why undecided, where nothing could be measured.
    """

    task: str
    harness: str
    score: str
    unit: Unit
    n: int
    left_out: int
    value_a: float | None
    value_b: float | None
    worse: float | None
    low: float | None
    high: float | None
    margin: float
    outcome: Outcome
    needed: int | None = None
    reason: str = ""


class Measure(NamedTuple):
    """Describes a measure that is compared: its names, its unit, and whether less of it is better."""

    task: str
    harness: str
    score: str
    unit: Unit = "rate"
    lower_is_better: bool = False


def side_test(
    measure: Measure,
    a_S: Sequence[Mapping[str, float]],
    b_S: Sequence[Mapping[str, float]],
    *,
    margin: float,
    left_out: int = 0,
    confidence: float = CONFIDENCE,
) -> SideTest:
    """Test that a is not worse than b at one task by more than a margin.

    Args:
        measure: Names and unit of the numbers.
        a_S: One mapping for each training seed, item -> value (a rate, or nats for a unit of text). Without seeds it is
            one mapping.
        b_S: The same for b, of the same seeds.
        margin: As `SideTest.margin`.
        left_out: Number of items that were left out before; those left out here are added.
        confidence: Confidence of the interval.
    """
    rows = [*a_S, *b_S]
    every = dict.fromkeys(item for row in rows for item in row)
    items = [item for item in every if all(item in row for row in rows)]
    left_out += len(every) - len(items)
    a_SP, b_SP = (np.asarray([[row[item] for item in items] for row in side], dtype=np.float64) for side in (a_S, b_S))
    is_rate = measure.unit == "rate"
    test = partial(
        SideTest,
        task=measure.task,
        harness=measure.harness,
        score=measure.score,
        unit=measure.unit,
        n=len(items),
        left_out=left_out,
        margin=margin,
    )
    undecided = partial(test, value_a=None, value_b=None, worse=None, low=None, high=None, outcome="undecided")
    if is_rate and items and (min(a_SP.min(), b_SP.min()) < 0 or max(a_SP.max(), b_SP.max()) > 1):
        return undecided(reason=f"{measure.score} is no rate in [0, 1]; choose another score")
    sign = 1.0 if measure.lower_is_better or not is_rate else -1.0
    fit = fit_crossed(sign * (a_SP - b_SP), rates=is_rate) if items else None
    if fit is None:
        return undecided(reason="one item alone has no spread" if items else "no item in common")
    half = fit.half_width(confidence)
    low, high = (_in_unit(value, measure.unit) for value in (fit.value - half, fit.value + half))
    outcome: Outcome = "holds" if high < margin else "violated" if low > margin else "undecided"
    return test(
        value_a=_value(float(a_SP.mean()), measure.unit),
        value_b=_value(float(b_SP.mean()), measure.unit),
        worse=_in_unit(fit.value, measure.unit),
        low=low,
        high=high,
        outcome=outcome,
        needed=_count_needed(fit, margin, measure.unit, confidence) if outcome == "undecided" else None,
    )


def rest(sides: Sequence[SideTest]) -> Outcome | None:
    """Combine all tests: violated if any is, holds if every one does, else undecided; None without any."""
    if not sides:
        return None
    outcomes = {side.outcome for side in sides}
    return "violated" if "violated" in outcomes else "holds" if outcomes == {"holds"} else "undecided"


def _in_unit(difference: float, unit: Unit) -> float:
    """Return a difference in the measure's unit; for perplexities, whose difference is in nats, a / b less 1."""
    return difference if unit == "rate" else math.expm1(difference)


def _value(mean: float, unit: Unit) -> float:
    return mean if unit == "rate" else math.exp(mean)


def _count_needed(fit: Crossed, margin: float, unit: Unit, confidence: float) -> int:
    threshold = margin if unit == "rate" else math.log1p(margin)
    return math.ceil(fit.prompts * (fit.detectable(confidence) / threshold) ** 2)
