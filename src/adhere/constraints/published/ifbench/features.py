"""Measure an answer once for several IFBench and IFTrain kinds; the values are kept with its `Text`."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from adhere.constraints.published.shared.features import Text

T = TypeVar("T")

MARKS = string.punctuation
"""The 32 ASCII punctuation marks, which the published code means by "punctuation"."""
EDGES = MARKS + " "
"""Characters that the published code strips from both ends of a word or a sentence."""

_MARK_BYTES = MARKS.encode("ascii")
_MARK = re.compile(f"[{re.escape(MARKS)}]+")
_SIGMA = "\u03a3"  # the one letter whose lower case depends on its neighbours


def feature(compute: Callable[[Text], T]) -> Callable[[Text], T]:
    """Make a function compute its value once for each text; the value is kept with the text."""
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
    """Return `text` without its ASCII punctuation marks."""
    if text.isascii():
        return text.encode("ascii").translate(None, _MARK_BYTES).decode("ascii")
    return _MARK.sub("", text)


def find_repeat(words: Iterable[str]) -> str | None:
    """Return the first word that occurred before, or None."""
    seen: set[str] = set()
    for word in words:
        if word in seen:
            return word
        seen.add(word)
    return None


@feature
def bare(text: Text) -> str:
    """Return the text without ASCII punctuation marks."""
    return without_marks(text.raw)


@feature
def bare_words(text: Text) -> list[str]:
    """Return the white-space words of `bare`."""
    return bare(text).split()


@feature
def bare_then_lower_words(text: Text) -> list[str]:
    """Remove marks, then lower the case, then split at white space."""
    return bare(text).lower().split()


@feature
def lower_then_bare_words(text: Text) -> list[str]:
    """Lower the case, then remove marks, then split at white space; the order matters for Greek only."""
    if _SIGMA in text.raw:
        return without_marks(text.lower).split()
    return bare_then_lower_words(text)


@feature
def lower_chunks(text: Text) -> list[str]:
    """Lower the case, then split at white space."""
    return text.lower.split()
