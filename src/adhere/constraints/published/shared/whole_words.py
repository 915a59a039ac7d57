"""Keywords as whole words, for fixed mode: taken literally, in any case, with no letter or digit on either side.

An underscore is no letter (`thanks_a lot` holds `thanks`), a combining mark is part of the letter before it, and where
a keyword ends in a script that is written without blanks (Han, kana, Thai, …) nothing is asked of what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.patterns import Pattern
from adhere.text.words import WORD_CHARACTER

_META = frozenset(r".^$*+?{}[]\|()")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(rf"[^\W_]++(?:(?:{WORD_CHARACTER}|['’.\-‐‑](?=[^\W_]))[^\W_]*+)*+")


@lru_cache(maxsize=4096)
def whole_word(keyword: str, *, is_literal: bool = True, is_whole: bool = True) -> Pattern:
    """A keyword to be looked for by `find` and `count`.

    Args:
        keyword: As in the data.
        is_literal: Whether its marks mean themselves (`C++`, `$5`), or what they mean in a regular expression.
        is_whole: Whether no letter or digit may stand next to a letter or digit at its ends.
    """
    literal = re.escape(keyword) if is_literal and not _META.isdisjoint(keyword) else keyword
    before = f"(?<!{WORD_CHARACTER})" if is_whole and _is_spaced(keyword[:1]) else ""
    after = f"(?!{WORD_CHARACTER})" if is_whole and _is_spaced(keyword[-1:]) else ""
    return Pattern(literal, before=f"{before}(?:", after=f"){after}")


def _is_spaced(character: str) -> bool:
    """Whether it is a letter or digit of a script that puts blanks between words."""
    return character.isalnum() and not _UNSPACED.match(character)


def find(pattern: Pattern, text: Text) -> re.Match[str] | None:
    """The first place where the keyword stands.

    Raises:
        Undecidable: It is a regular expression that cannot be run.
    """
    return None if pattern.is_ruled_out(text) else pattern.regex(text.raw).search(text.raw)


def count(pattern: Pattern, text: Text) -> int:
    """How often the keyword stands, without overlaps.

    Raises:
        Undecidable: It is a regular expression that cannot be run.
    """
    return 0 if pattern.is_ruled_out(text) else sum(1 for _ in pattern.regex(text.raw).finditer(text.raw))


def joined_words(raw: str) -> list[str]:
    """Runs of letters and digits; an apostrophe, hyphen or point between two of them joins them (`don't`, `U.S.A`)."""
    return _WORD.findall(raw)


def iterate_words(raw: str) -> Iterator[str]:
    """`joined_words`, one after the other."""
    return (match.group() for match in _WORD.finditer(raw))


def first_word(piece: str) -> str:
    """The word with which the piece begins; "" where it begins with a mark or blank."""
    match = _WORD.match(piece)
    return match.group() if match else ""
