"""Decide by intervals, never by a point alone, whether a run is good enough for a build to pass.

| gate | holds | does not hold | cannot tell |
|---|---|---|---|
| `--fail-below RATE` | the interval lies at or above RATE | it lies below RATE | RATE is inside: too few prompts |
| `--fail-if-worse-than RUN --margin M` | the difference's interval lies above −M | it lies below −M | −M is inside |

A gate passes only where it is shown to hold. "Cannot tell" is an outcome of its own, with its own exit code and the
number of prompts that would tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import quoteattr

from adhere.errors import Incomplete, UsageError
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.compare.paired import Difference
from adhere.schema import Record
from adhere.stats import Interval, wilson_clustered
from adhere.store.run import Run

Held = Literal["holds", "does not hold", "cannot tell"]
_MOST = 1_000_000
"""Largest number of prompts that is worth advising."""
_PARTS = 27_720  # the least common multiple of 1 to 12
"""Trials that stand for a prompt's answers. Every share of up to twelve answers is a whole number of trials."""


class Gate(Record, frozen=True):
    """Holds one gate of one run: the run, what was asked, what came of it, and why in a sentence."""

    run: str
    gate: str
    outcome: Held
    why: str


def outcome_of(low: float, high: float, least: float) -> Held:
    """Tell whether a gate at `least` holds, by the interval from `low` to `high`."""
    return "does not hold" if high < least else "holds" if low >= least else "cannot tell"


def gate_below(run: Run, least: float) -> Gate:
    """Test a run's pass rate (all constraints of a prompt, strict) against a least rate in [0, 1].

    Raises:
        Incomplete: The run has no rate.
    """
    rate = run.summary().overall.prompt_strict
    if rate.of_all is None or rate.low is None or rate.high is None:
        raise Incomplete(f"{run.directory}: no rate to hold against --fail-below {least:g}: {rate.reason}")
    return _below(str(run.directory), rate.of_all, Interval(rate.low, rate.high), rate.n, least)


def gate_rates_below(name: str, rates: Mapping[str, float | None], least: float) -> Gate:
    """Test the mean of rates by prompt, as other harnesses store them, against a least mean in [0, 1].

    Prompts that were not measured (None) are left out, as in a run. Several answers of a prompt are one cluster.

    Raises:
        UsageError: A rate is not in [0, 1].
        Incomplete: Nothing was measured.
    """
    measured_rates = [rate for rate in rates.values() if rate is not None]
    if any(not 0 <= rate <= 1 for rate in measured_rates):
        raise UsageError(f"{name}: --fail-below holds a share against a share; this score goes beyond 0 to 1 (--score)")
    interval = wilson_clustered([round(_PARTS * rate) for rate in measured_rates], [_PARTS] * len(measured_rates))
    if interval is None:
        raise Incomplete(f"{name}: no rate to hold against --fail-below {least:g}: nothing was measured")
    return _below(name, sum(measured_rates) / len(measured_rates), interval, len(measured_rates), least)


def _below(run: str, rate: float, interval: Interval, n: int, least: float) -> Gate:
    outcome = outcome_of(interval.low, interval.high, least)
    measurement = f"{100 * rate:.1f} % of {n} prompts passed ({100 * interval.low:.1f}…{100 * interval.high:.1f})"
    why = {
        "holds": f"{measurement}, at or above {100 * least:g} %",
        "does not hold": f"{measurement}, below {100 * least:g} %",
        "cannot tell": f"{measurement}: too few prompts to tell it from {100 * least:g} %"
        + _enough(n, rate, least, (interval.low, interval.high)),
    }[outcome]
    return Gate(run, f"--fail-below {least:g}", outcome, why)


def _enough(n: int, value: float, limit: float, interval: tuple[float, float]) -> str:
    """Say how many prompts would tell if the rates stay, for an interval narrows with the root of their number.

    Only the side of the interval towards `limit` counts: a rate's interval is longer away from 0 and 1.
    """
    low, high = interval
    reach = high - value if value < limit else value - low
    n_prompts = math.ceil(n * (reach / (value - limit)) ** 2) if value != limit else math.inf
    return (
        f"; about {n_prompts:,} prompts would tell" if n_prompts < _MOST else "; the rates are too close for any number"
    )


def gate_worse(run: Run, baseline: Run, margin: float) -> Gate:
    """Test that a run is worse than `baseline`, on the same prompts, by at most `margin`, a share.

    Raises:
        RunMismatch: The two Runs cannot be paired.
        Incomplete: Nothing was measured in both.
    """
    name = f"--fail-if-worse-than {baseline.directory} --margin {margin:g}"
    return gate_difference(compare_runs(run, baseline).overall, str(run.directory), name, margin)


def gate_difference(difference: Difference, run: str, name: str, margin: float) -> Gate:
    """Test a paired difference of rates against the margin by which the first may be worse, a share.

    Args:
        difference: Rates of the run minus those of its baseline.
        run: Name of the run.
        name: Name of the gate.
        margin: In [0, 1].

    Raises:
        Incomplete: Nothing was measured in both.
    """
    rate, low, high = difference.difference, difference.low, difference.high
    if rate is None or low is None or high is None:
        raise Incomplete(f"{run}: no difference to hold against {name}: {difference.reason}")
    outcome = outcome_of(low, high, -margin)
    measurement = (
        f"{100 * rate:+.1f} points on {difference.n} prompts ({100 * low:+.1f}…{100 * high:+.1f}; "
        f"{difference.gained} gained, {difference.lost} lost)"
    )
    why = {
        "holds": f"{measurement}: not worse by more than {100 * margin:g} points",
        "does not hold": f"{measurement}: worse by more than {100 * margin:g} points",
        "cannot tell": f"{measurement}: too few prompts to tell whether it is worse by {100 * margin:g} points"
        + _enough(difference.n, rate, -margin, (low, high)),
    }[outcome]
    return Gate(run, name, outcome, why)


def junit(gates: list[Gate]) -> str:
    """Return gates as JUnit's XML: `does not hold` is a failure, `cannot tell` is skipped."""
    failures = sum(gate.outcome == "does not hold" for gate in gates)
    skipped = sum(gate.outcome == "cannot tell" for gate in gates)
    cases = []
    for gate in gates:
        inner = {
            "holds": "",
            "does not hold": f"<failure message={quoteattr(gate.why)}/>",
            "cannot tell": f"<skipped message={quoteattr(gate.why)}/>",
        }[gate.outcome]
        cases.append(f"  <testcase classname={quoteattr(gate.run)} name={quoteattr(gate.gate)}>{inner}</testcase>")
    head = f'<testsuite name="adhere" tests="{len(gates)}" failures="{failures}" skipped="{skipped}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""])


def markdown(gates: list[Gate]) -> str:
    """Return gates as a Markdown table, as `$GITHUB_STEP_SUMMARY` shows it."""
    marks = {"holds": "✅ holds", "does not hold": "❌ does not hold", "cannot tell": "❔ cannot tell"}
    rows = [
        f"| {_cell(Path(gate.run).name)} | `{_cell(gate.gate)}` | {marks[gate.outcome]} | {_cell(gate.why)} |"
        for gate in gates
    ]
    return "\n".join(["| run | gate | | why |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
