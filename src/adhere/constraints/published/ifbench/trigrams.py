"""How many runs of three characters, or of three words, an answer shares with a text: `ratio:overlap`."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.whole_words import joined_words

Trigram = tuple[str, str, str]


def trigrams(units: Sequence[str]) -> set[Trigram]:
    """The different runs of three."""
    return set(zip(units, units[1:], units[2:], strict=False))


def lower_words(text: str) -> list[str]:
    """Runs of letters and digits, lower-cased; none reaches over white space."""
    return joined_words(text.lower())


def shared_characters(text: Text, reference_trigrams: set[Trigram]) -> tuple[int, int]:
    """How many different trigrams of characters are in `reference_trigrams`, and how many there are."""
    text_trigrams = trigrams(text.raw)
    return len(text_trigrams & reference_trigrams), len(text_trigrams)


def shared_words(text: Text, reference_trigrams: set[Trigram]) -> tuple[int, int]:
    """How many different trigrams of words are in `reference_trigrams`, and how many there are."""
    text_trigrams = trigrams(lower_words(text.raw))
    return len(text_trigrams & reference_trigrams), len(text_trigrams)
