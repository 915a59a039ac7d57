"""Measurements on one answer for several IFBench and IFTrain kinds, kept with its `Text` so that each is made once."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import TypeVar, cast

from adhere.constraints.published.shared.features import Text

T = TypeVar("T")

MARKS = string.punctuation
"""The 32 ASCII punctuation marks, which the published code means by "punctuation"."""
EDGES = MARKS + " "
"""What it strips from the ends of a word or a sentence."""

_MARK_BYTES = MARKS.encode("ascii")
_MARK = re.compile(f"[{re.escape(MARKS)}]+")
_SIGMA = "\u03a3"  # the one letter whose lower case depends on its neighbours


def feature(compute: Callable[[Text], T]) -> Callable[[Text], T]:
    """Compute a feature once per text; the value lies beside the text's own features."""
    name = f"ifbench.{compute.__name__}"

    def once(text: Text) -> T:
        values = text.__dict__
        if name in values:
            return cast("T", values[name])
        value = compute(text)
        values[name] = value
        return value

    once.__doc__ = compute.__doc__
    return once


def without_marks(text: str) -> str:
    """`text` without its ASCII punctuation marks."""
    if text.isascii():
        return text.encode("ascii").translate(None, _MARK_BYTES).decode("ascii")
    return _MARK.sub("", text)


@feature
def bare(text: Text) -> str:
    """The text without ASCII punctuation marks."""
    return without_marks(text.raw)


@feature
def bare_words(text: Text) -> list[str]:
    """White-space words of `bare`."""
    return bare(text).split()


@feature
def bare_then_lower_words(text: Text) -> list[str]:
    """Marks removed, then lower-cased, then cut at white space."""
    return bare(text).lower().split()


@feature
def lower_then_bare_words(text: Text) -> list[str]:
    """Lower-cased, then marks removed, then cut at white space: differs from the other order in Greek only."""
    if _SIGMA in text.raw:
        return without_marks(text.lower).split()
    return bare_then_lower_words(text)


@feature
def lower_chunks(text: Text) -> list[str]:
    """Lower-cased, then cut at white space."""
    return text.lower.split()
