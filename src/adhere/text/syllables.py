"""Estimate how many syllables an English word has, and how hard a text is to read.

Groups of vowel letters are counted, with corrections for a silent `e` and for the endings that most often mislead. No
dictionary is used, so rare words are treated as common ones and every text has one result.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

from adhere.text.words import sentence_spans, words

_VOWELS = re.compile(r"[aeiouyà-æè-ïò-öø-ýœ]+")
_SILENT = re.compile(r"(?:[^aeiouylr]e|[aeiouy]re|[aeiouy]le|[^aeiouytd]ed|[^aeiouyszxch]es|[^cs]hes)\Z")
_APART = re.compile(
    r"i(?:a(?!l\Z|ge)|o(?!us|n)|um|ent|et)|eo(?!n\Z|ple)|(?<=..)ea\Z|oet|ua|uo(?!y)|sci(?=e)|[^aeiouy]ying\Z|"
    r"creat|being|doing|going"
)
_LONGEST = 60


@functools.lru_cache(maxsize=8192)
def _estimate(word: str) -> int:
    groups = len(_VOWELS.findall(word)) + len(_APART.findall(word))
    if groups > 1 and _SILENT.search(word):
        groups -= 1
    return max(1, groups)


def syllables(word: str) -> int:
    """Estimate the number of syllables, at least 1; above 60 letters, one for every three letters."""
    return _estimate(word.lower()) if len(word) <= _LONGEST else len(word) // 3


def reading_ease(text: str, *, most_sentences: int) -> float | None:
    """Return the Flesch reading ease (higher is easier; plain English is 60 to 70), or None without words.

    206.835 - 1.015 words per sentence - 84.6 syllables per word, with estimated syllables. Only the first
    `most_sentences` sentences count.

    Source: R. Flesch, "A new readability yardstick", Journal of Applied Psychology 32 (1948).
    """
    spans = sentence_spans(text, most=most_sentences)
    if not spans:
        return None
    every = words(text[: spans[-1][1]])
    if not every:
        return None
    total = sum(syllables(word) * count for word, count in Counter(every).items())
    return 206.835 - 1.015 * len(every) / len(spans) - 84.6 * total / len(every)
