"""Make an answer satisfy several constraints at once by small edits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from adhere.constraints.base import Constraint
from adhere.text.words import has_words

# How many edited texts one plan may look at; each costs a check a constraint.
_TRIES_PER_PLAN = 24
_TIGHTEST = 5


def passes_all(text: str, constraints: Sequence[Constraint]) -> bool:
    """Tell whether every constraint passes."""
    return all(constraint.check(text).outcome == "pass" for constraint in constraints)


def repair_all(text: str, constraints: Sequence[Constraint], *, longest: int = 20_000) -> str | None:
    """Return an edited `text` for which ALL constraints pass, or None if no small edits were found.

    Repairs run in their kinds' `order` (content, shape, ends, case, marks, wrapping), and a second round mends what
    they break. Then plans with tighter limits are tried, which leave room for what others add, and plans that add
    before they cut.

    Args:
        text: The answer; returned unchanged if it passes already. An answer without words cannot be repaired.
        constraints: Rules that do not conflict.
        longest: The most characters of a text that is repaired; longer ones are no ordinary answers.
    """
    if len(text) > longest or not has_words(text):
        return None
    if passes_all(text, constraints):
        return text
    return next((edited for plan in _plans(constraints) if (edited := _follow(text, plan, constraints))), None)


def _plans(constraints: Sequence[Constraint]) -> Iterator[list[Constraint]]:
    """Yield orders in which to repair: by `order` with ever tighter limits, then with the cuts after the additions."""
    ordered = sorted(constraints, key=lambda constraint: (constraint.order, constraint.id))
    plans: list[list[Constraint]] = []
    for level in range(_TIGHTEST + 1):
        plan = [constraint.tightened(level) for constraint in ordered]
        if plan not in plans:
            plans.append(plan)
            yield plan
    cuts = [constraint for constraint in ordered if 20 <= constraint.order < 30]
    rest = [constraint for constraint in ordered if constraint not in cuts]
    if cuts and rest:
        additions = [constraint for constraint in rest if constraint.order < 50]
        yield [*additions, *cuts, *rest[len(additions) :]] if rest[: len(additions)] == additions else [*rest, *cuts]
        yield [*rest, *cuts]


def _follow(text: str, plan: Sequence[Constraint], constraints: Sequence[Constraint]) -> str | None:
    """Walk a plan depth first over each repair's candidates; a second round mends what later steps broke."""
    tries = itertools.count()

    def walk(text: str, at: int, rounds: int) -> str | None:
        if next(tries) > _TRIES_PER_PLAN:
            return None
        if at == len(plan):
            if passes_all(text, constraints):
                return text
            return walk(text, 0, rounds - 1) if rounds else None
        step = plan[at]
        if step.check(text).outcome == "pass":
            return walk(text, at + 1, rounds)
        for edited in step.repairs(text):
            if edited != text and step.check(edited).outcome == "pass" and (done := walk(edited, at + 1, rounds)):
                return done
        # no candidate worked: a later step may still bring it about, or the text passes the untightened rule
        return walk(text, at + 1, rounds)

    return walk(text, 0, 1)
