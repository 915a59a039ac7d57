"""The votes of a panel of reviewers, as stored and printed."""

from __future__ import annotations

from typing import Literal

from adhere.schema import Record

Vote = Literal["conflict", "no conflict", "cannot say"]


class Ballot(Record, frozen=True):
    """Holds the vote of one reviewer on one conflict.

    `vote` is None, with the reason, if an answer failed, could not be read, or changed with the order of the lines.
    """

    conflict: str
    reviewer: str
    vote: Vote | None
    votes: tuple[str, ...]
    reason: str


class Panel(Record, frozen=True):
    """Holds all ballots.

    `agreement` is the share of pairs of valid votes on one conflict that are equal; None without a pair.
    """

    reviewers: tuple[str, ...]
    ballots: tuple[Ballot, ...]
    asked: int
    valid: int
    agreement: float | None
    pairs: int
