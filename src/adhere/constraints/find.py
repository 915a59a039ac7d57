"""Finds a word or phrase in a text: whole words, any case, linear time."""

from __future__ import annotations

import functools
import re
import unicodedata

from adhere.text.words import WORD_CHARACTER


@functools.lru_cache(maxsize=4096)
def pattern(phrase: str) -> re.Pattern[str]:
    """Matches `phrase` in any case, composed or decomposed accents, not inside a longer word; a blank is any few blanks.

    "cat" is found in "cat's", "cat-like" and "_cat_", not in "cats".
    """
    forms = dict.fromkeys(unicodedata.normalize(form, phrase) for form in ("NFC", "NFD"))
    bodies = (r"\s{1,4}".join(map(re.escape, form.split())) for form in forms)
    return re.compile(rf"(?<!{WORD_CHARACTER})(?:{'|'.join(bodies)})(?!{WORD_CHARACTER})", re.IGNORECASE)


def count(text: str, phrase: str) -> int:
    """How often `phrase` occurs, without overlaps."""
    return sum(1 for _ in pattern(phrase).finditer(text))


def first(text: str, phrase: str) -> tuple[int, int] | None:
    """(start, end) of the first occurrence."""
    match = pattern(phrase).search(text)
    return match.span() if match else None


def contains(text: str, phrase: str) -> bool:
    """Whether `phrase` occurs."""
    return pattern(phrase).search(text) is not None
