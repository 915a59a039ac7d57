"""Count the runs of three characters, or of three words, that an answer shares with a text: `ratio:overlap`."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.whole_words import joined_words

Trigram = tuple[str, str, str]


def trigrams(units: Sequence[str]) -> set[Trigram]:
    """Return the different runs of three."""
    return set(zip(units, units[1:], units[2:], strict=False))


def lower_words(text: str) -> list[str]:
    """Return runs of letters and digits in lower case, without white space in them."""
    return joined_words(text.lower())


def shared_characters(text: Text, reference_trigrams: set[Trigram]) -> tuple[int, int]:
    """Return (different trigrams of characters that are in `reference_trigrams`, all different ones)."""
    text_trigrams = trigrams(text.raw)
    return len(text_trigrams & reference_trigrams), len(text_trigrams)


def shared_words(text: Text, reference_trigrams: set[Trigram]) -> tuple[int, int]:
    """Return (different trigrams of words that are in `reference_trigrams`, all different ones)."""
    text_trigrams = trigrams(lower_words(text.raw))
    return len(text_trigrams & reference_trigrams), len(text_trigrams)
