"""Tell the language of a text, as far as a few dozen words do: enough to see that an answer left its request's."""

from __future__ import annotations

import re
from functools import lru_cache

from adhere.pipeline.responding.vocabulary import COMMONEST
from adhere.text.words import words

_FEWEST = 6
_LEAST, _MORE = 0.12, 1.3
_BEGINNING = 600
_NAMES = re.compile(
    r"\b(?:translat\w*|languages?|bilingual|in [A-Z][a-z]+|French|German|Spanish|Italian|Portuguese|Dutch|Latin|Greek|"
    r"Russian|Chinese|Japanese|Korean|Arabic|Hindi|Urdu|Farsi|Persian|Swahili|Tamil|Telugu|Kannada|Marathi|Gujarati|"
    r"Punjabi|Bengali|Nepali|Vietnamese|Thai|Finnish|Bulgarian|Polish|Turkish|Hebrew|Swedish|Hinglish|lyrics)\b"
)


def language_of(text: str) -> str | None:
    """Return `en`, another code of COMMONEST, `other` (mostly letters that are not Latin), or None: too little tells.

    Only the text's beginning is read. A text that is short, or has hardly any common words of a language, gives None.
    """
    return _language_of(text[:_BEGINNING])


@lru_cache(maxsize=2048)
def _language_of(start: str) -> str | None:
    if not start.isascii():
        letters = [letter for letter in start if letter.isalpha()]
        if sum(letter < "\u0250" for letter in letters) * 2 < len(letters):
            return "other"
    start_words = [word.lower() for word in words(start)]
    if len(start_words) < _FEWEST:
        return None
    shares = sorted(
        (
            (sum(map(common_words.__contains__, start_words)) / len(start_words), name)
            for name, common_words in COMMONEST.items()
        )
    )
    (second, _), (share, best) = shares[-2:]
    return best if share >= max(_LEAST, _MORE * second) else None


def is_readable(request: str) -> bool:
    """Tell whether a request is in English, or too short to tell: the measure reads no other language."""
    return language_of(request) in {"en", None}


def names_a_language(request: str) -> bool:
    """Tell whether a request speaks of a language, so that its answer may be in one."""
    return _NAMES.search(request) is not None
