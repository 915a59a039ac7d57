"""Show side measures in words and rows: what a change cost apart from following instructions.

Shared by comparisons and studies.
"""

from __future__ import annotations

from collections.abc import Sequence

from adhere.pipeline.compare.sides import SideTest, rest
from adhere.report.pieces.numbers import count, decimal, percent, percent_change, plural, points, points_interval

SIDE_HEADINGS = ("side task", "n", "left out", "values", "worse by", "interval", "margin", "verdict")


def rest_sentence(following: str, sides: Sequence[SideTest]) -> str:
    """Return `following` with an addition that says whether the side tasks became worse."""
    tasks_by_outcome = {
        outcome: [side.task for side in sides if side.outcome == outcome]
        for outcome in ("violated", "undecided", "holds")
    }
    match rest(sides):
        case "violated":
            others = (
                f"; undecided at {', '.join(tasks_by_outcome['undecided'])}" if tasks_by_outcome["undecided"] else ""
            )
            return f"{following}, worse at {', '.join(tasks_by_outcome['violated'])}{others}"
        case "holds":
            return (
                f"{following}, not worse at the rest ({plural(len(tasks_by_outcome['holds']), 'side task')}, "
                "each within its margin)"
            )
    not_worse = f"not worse at {', '.join(tasks_by_outcome['holds'])}, " if tasks_by_outcome["holds"] else ""
    return f"{following}, {not_worse}undecided at {', '.join(tasks_by_outcome['undecided'])}"


def following_words(difference: float | None, low: float | None, high: float | None) -> str:
    """Say whether following became better or worse, by the interval of the difference."""
    if low is None or high is None or low <= 0 <= high:
        return "following undecided"
    return (
        f"{'better' if low > 0 else 'worse'} at following ({points(difference)} points, "
        f"interval {points_interval(low, high)})"
    )


def side_row(side: SideTest) -> list[str]:
    """Return the cells under SIDE_HEADINGS: points for rates, per cent for perplexities."""
    is_rate = side.unit == "rate"
    values = [
        "–" if value is None else percent(value) if is_rate else decimal(value, digits=2)
        for value in (side.value_a, side.value_b)
    ]
    change = points if is_rate else percent_change
    ends = (
        points_interval(side.low, side.high) if is_rate else f"{percent_change(side.low)}…{percent_change(side.high)}"
    )
    return [
        side.task, count(side.n), count(side.left_out), f"{values[0]}, {values[1]}", change(side.worse),
        "–" if side.low is None else ends, change(side.margin), side.outcome,
    ]  # fmt: skip


def side_reasons(sides: Sequence[SideTest]) -> list[str]:
    """List why tests are undecided: nothing was measured, or how many items would decide them."""
    reasons = [f"{side.task}: {side.reason}" for side in sides if side.reason]
    return reasons + [
        f"{side.task}: about {count(side.needed)} items would decide it if there is no difference"
        for side in sides
        if side.needed
    ]


def side_scores(sides: Sequence[SideTest]) -> str:
    """Name the scores that counted, each with all of its tasks."""
    tasks: dict[str, list[str]] = {}
    for side in sides:
        tasks.setdefault(f"{side.harness}'s {side.score}", []).append(side.task)
    return "; ".join(f"{score} ({', '.join(names)})" for score, names in tasks.items())
