"""Verdicts as one number, for training. The reward is the evaluation: the same verdicts, the same strict view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from adhere.schema import Verdict

RewardKind = Literal["dense", "binary"]
REWARD_KINDS: tuple[RewardKind, ...] = ("dense", "binary")


def reward(verdicts: Iterable[Verdict], *, kind: RewardKind) -> float | None:
    """How well one answer does what it was told, in [0, 1], from the strict view.

    Args:
        verdicts: Of one response. Other views are left aside.
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only where all pass.

    Returns:
        None where there is no strict verdict (a failed call, a prompt without constraints) or where any is undecided:
        no measurement, no number.
    """
    if kind not in REWARD_KINDS:
        raise ValueError(f"Unknown reward kind {kind!r}. It is one of {', '.join(map(repr, REWARD_KINDS))}")
    outcomes = [verdict.outcome for verdict in verdicts if verdict.view == "strict"]
    if not outcomes or "undecided" in outcomes:
        return None
    passed = outcomes.count("pass")
    if kind == "binary":
        return float(passed == len(outcomes))
    return passed / len(outcomes)
