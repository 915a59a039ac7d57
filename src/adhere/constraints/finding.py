"""The result of one check of one text.

Apart from `base`, whose dataclasses a reward worker with published kinds never needs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adhere.schema import Json, Outcome

_PLURAL = re.compile(r"s\b")


def amount(count: int, units: str) -> str:
    """`3 words in capitals`, `1 word in capitals`: the first word in -s is the noun."""
    return f"{count} {_PLURAL.sub('', units, count=1) if count == 1 else units}"


class Finding(NamedTuple):
    """The result of one check of one text.

    `reason` is one sentence for a person: "found 212 words, needed at least 300". `score` in [0, 1] is closeness, where
    it means something; `span` (start, end) is where the decisive piece of the text lies.
    """

    outcome: Outcome
    reason: str
    measured: Json = None
    needed: Json = None
    span: tuple[int, int] | None = None
    score: float | None = None


class Fault(Finding):
    """No outcome, for a reason that lies in the verifier or the machine.

    It raised, took too long, or returned what is no Finding.
    """

    __slots__ = ()


class FinalFailure(Finding):
    """A failure that no loose variant can turn into a pass. Without some lines or stars there is only less to count."""

    __slots__ = ()


def verdict(  # noqa: PLR0917 - in the order of Finding
    holds: bool,  # noqa: FBT001 - reads as a claim at every call
    reason: str,
    measured: Json = None,
    needed: Json = None,
    span: tuple[int, int] | None = None,
    score: float | None = None,
) -> Finding:
    """Pass or fail, with what was found."""
    return Finding("pass" if holds else "fail", reason, measured, needed, span, score)
