"""Define the result of one check of one text.

This stands apart from `base`, whose dataclasses a reward worker with published kinds does not need.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adhere.schema import Json, Outcome

_PLURAL = re.compile(r"s\b")


def amount(count: int, units: str) -> str:
    """Return `3 words in capitals` or `1 word in capitals`; the first word in -s is the noun."""
    return f"{count} {_PLURAL.sub('', units, count=1) if count == 1 else units}"


class Finding(NamedTuple):
    """Holds the result of one check of one text.

    `reason` is one sentence for a person: "found 212 words, needed at least 300". `score` in [0, 1] says how close the
    text came; None if that has no meaning. `span` (start, end) is the decisive piece of the text.
    """

    outcome: Outcome
    reason: str
    measured: Json = None
    needed: Json = None
    span: tuple[int, int] | None = None
    score: float | None = None


class Fault(Finding):
    """Is an undecided Finding whose cause is the verifier or the machine, whatever the text is.

    The verifier raised, took too long, or returned something else than a Finding.
    """

    __slots__ = ()


class FinalFailure(Finding):
    """Is a failure that the loose view does not judge again.

    The loose variants of a text lack some of its lines or its stars, and this failure cannot become a pass by that.
    """

    __slots__ = ()


def verdict(  # noqa: PLR0917 - in the order of Finding
    holds: bool,  # noqa: FBT001 - reads as a claim at every call
    reason: str,
    measured: Json = None,
    needed: Json = None,
    span: tuple[int, int] | None = None,
    score: float | None = None,
) -> Finding:
    """Make a Finding with outcome pass or fail."""
    return Finding("pass" if holds else "fail", reason, measured, needed, span, score)
