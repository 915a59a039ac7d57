"""Find keywords as whole words, for fixed mode: literally, in any case, without a letter or digit beside them.

An underscore is no letter (`thanks_a lot` holds `thanks`), a combining mark is part of the letter before it, and if a
keyword ends in a script that is written without blanks (Han, kana, Thai, …), anything may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.patterns import META, Pattern
from adhere.text.words import WORD_CHARACTER

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(rf"[^\W_]++(?:(?:{WORD_CHARACTER}|['’.\-‐‑](?=[^\W_]))[^\W_]*+)*+")


@lru_cache(maxsize=4096)
def whole_word(keyword: str, *, is_literal: bool = True, is_whole: bool = True) -> Pattern:
    """Make a pattern of a keyword for `find` and `count`.

    Args:
        keyword: The keyword as in the data.
        is_literal: Whether its marks mean themselves (`C++`, `$5`), or what they mean in a regular expression.
        is_whole: Whether no letter or digit may stand next to a letter or digit at its ends.
    """
    literal = re.escape(keyword) if is_literal and not META.isdisjoint(keyword) else keyword
    before = f"(?<!{WORD_CHARACTER})" if is_whole and _is_spaced(keyword[:1]) else ""
    after = f"(?!{WORD_CHARACTER})" if is_whole and _is_spaced(keyword[-1:]) else ""
    return Pattern(literal, before=f"{before}(?:", after=f"){after}")


def _is_spaced(character: str) -> bool:
    """Tell whether a character is a letter or digit of a script with blanks between words."""
    return character.isalnum() and not _UNSPACED.match(character)


def find(pattern: Pattern, text: Text) -> re.Match[str] | None:
    """Return the first occurrence of the keyword, or None.

    Raises:
        Undecidable: The keyword is a regular expression that cannot be run.
    """
    return None if pattern.is_ruled_out(text) else pattern.regex(text.raw).search(text.raw)


def count(pattern: Pattern, text: Text) -> int:
    """Count the occurrences of the keyword, without overlaps.

    Raises:
        Undecidable: The keyword is a regular expression that cannot be run.
    """
    return 0 if pattern.is_ruled_out(text) else sum(1 for _ in pattern.regex(text.raw).finditer(text.raw))


def joined_words(raw: str) -> list[str]:
    """Return runs of letters and digits, joined by an apostrophe, hyphen or point between them (`don't`, `U.S.A`)."""
    return _WORD.findall(raw)


def iterate_words(raw: str) -> Iterator[str]:
    """Yield `joined_words` one at a time."""
    return (match.group() for match in _WORD.finditer(raw))


def first_word(piece: str) -> str:
    """Return the word with which the piece begins; "" if it begins with a mark or blank."""
    match = _WORD.match(piece)
    return match.group() if match else ""
