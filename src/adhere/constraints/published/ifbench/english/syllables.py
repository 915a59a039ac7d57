"""Count syllables of English words as `syllapy` 0.8.0 does: by a list of words, else by groups of vowels."""

from __future__ import annotations

import functools
import re
from importlib import resources

_VOWELS = re.compile("[aeiouy]+")
_DIGIT = re.compile(r"\d")
_LONGEST_CACHED = 40


def syllables(word: str) -> int:
    """Return the number of syllables of a lower-cased word without marks; 0 if it holds a digit."""
    return _remembered(word) if len(word) <= _LONGEST_CACHED else _count(word)


@functools.cache
def _counts_of_words() -> dict[str, int]:
    rows = (resources.files(__package__) / "syllables.txt").read_text("utf-8").splitlines()
    return {word: count for count, row in enumerate(rows) for word in row.split()}


def _count(word: str) -> int:
    if _DIGIT.search(word):
        return 0
    dictionary_count = _counts_of_words().get(word)
    if dictionary_count is not None:
        return dictionary_count
    count = len(_VOWELS.findall(word))
    if word.endswith("e"):
        count -= 1
        if word.endswith("le") and len(word) > 2 and word[-3] not in "aeiouy":
            count += 1
    return count or 1


_remembered = functools.lru_cache(maxsize=1 << 14)(_count)


def forget() -> None:
    """Empty the cache of words, for measurements."""
    _remembered.cache_clear()
