"""Gates of `adhere rules --fail-below`, like those of `adhere eval`."""

from __future__ import annotations

from adhere.errors import Incomplete
from adhere.pipeline.gates import Gate, Held, outcome_of
from adhere.rules.examine import Examination
from adhere.rules.rates import Rate


def gates_of(examination: Examination, least: float) -> list[Gate]:
    """Return the gate of all rules together, then one for each rule that has a rate.

    Raises:
        Incomplete: No session kept or broke a rule.
    """
    total = examination.overall
    if total.rate is None:
        raise Incomplete(f"no rate to hold against --fail-below {least:g}: {total.reason}")
    rates = [total, *(rate for rate in examination.by_rule() if rate.rate is not None)]
    return [_gate(rate, least) for rate in rates]


def _gate(rate: Rate, least: float) -> Gate:
    share, low, high = rate.rate or 0.0, rate.low or 0.0, rate.high if rate.high is not None else 1.0
    summary = f"{100 * share:.1f} % of {rate.kept + rate.broken} kept ({100 * low:.1f}…{100 * high:.1f})"
    # No interval of a finite number reaches 1: all kept is then what was asked for.
    outcome: Held = "holds" if least == share == 1.0 else outcome_of(low, high, least)
    why = {
        "holds": f"{summary}, at or above {100 * least:g} %",
        "does not hold": f"{summary}, below {100 * least:g} %",
        "cannot tell": f"{summary}: too few sessions to tell it from {100 * least:g} %",
    }[outcome]
    return Gate(f"rules: {rate.name}", f"--fail-below {least:g}", outcome, why)
