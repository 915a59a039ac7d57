"""Keywords as the published code looks for them: unescaped regular expressions; here in linear time.

A keyword without metacharacters is found with plain string search where that gives the same. A regular expression with
a repetition is run on texts of ordinary length only, and one that may backtrack without bound is not run at all: the
answer is `undecided`, with the reason, because a guess would be a number without a measurement.
"""

from __future__ import annotations

import re
from functools import lru_cache

from adhere.constraints.reference.features import Text

_META = frozenset(r".^$*+?{}[]\|()")
_REPEAT = re.compile(r"(?<!\\)(?:\\\\)*[*+{]\+?")
_REPEATED_GROUP = re.compile(r"\)\s*[*+{]")
_LONGEST_FOR_REPEAT = 10_000


class Undecidable(Exception):
    """Why a pattern cannot be looked for in a text."""


class Pattern:
    """One keyword with what the published code puts around it.

    Args:
        keyword: As in the data; may hold metacharacters, by intent or by accident (`C++`, `$5`).
        before, after: What the published code puts around it.
        ignores_case: Whether it looks with `re.IGNORECASE`.
    """

    __slots__ = ("_lower", "_regex", "_repeats", "_trouble", "is_plain", "keyword")

    def __init__(self, keyword: str, *, before: str = "", after: str = "", ignores_case: bool = True) -> None:
        self.keyword = keyword
        self.is_plain = _META.isdisjoint(keyword)
        self._lower = keyword.lower() if ignores_case and self.is_plain and keyword.isascii() else None
        self._repeats = 0 if self.is_plain else len(_REPEAT.findall(keyword))
        self._trouble: str | None = None
        self._regex: re.Pattern[str] | None = None
        if self._repeats > 1 or (self._repeats and _REPEATED_GROUP.search(keyword)):
            self._trouble = f"{keyword!r} is a regular expression that may not end in reasonable time"
            return
        try:
            self._regex = re.compile(f"{before}{keyword}{after}", re.MULTILINE | (re.IGNORECASE if ignores_case else 0))
        except (re.error, RecursionError, OverflowError) as error:
            self._trouble = f"the published code reads {keyword!r} as a regular expression, and it is none: {error}"

    def is_ruled_out(self, text: Text) -> bool:
        """Whether plain string search says that the keyword is nowhere."""
        return self._lower is not None and text.lower_finds_ascii and self._lower not in text.lower

    def is_in(self, text: Text) -> bool:
        """Whether a keyword with nothing around it is in the text.

        Raises:
            Undecidable: It cannot be looked for.
        """
        if self._lower is not None and text.lower_finds_ascii:
            return self._lower in text.lower
        return self.regex(text.raw).search(text.raw) is not None

    def count(self, text: Text) -> int:
        """How often a keyword with nothing around it is in the text, without overlaps.

        Raises:
            Undecidable: It cannot be looked for.
        """
        if self._lower is not None and text.lower_finds_ascii:
            return text.lower.count(self._lower)
        return sum(1 for _ in self.regex(text.raw).finditer(text.raw))

    def regex(self, raw: str) -> re.Pattern[str]:
        """The regular expression to run on `raw`.

        Raises:
            Undecidable: It is none, or running it on such a text may take too long.
        """
        if self._regex is None:
            raise Undecidable(self._trouble)
        if self._repeats and len(raw) > _LONGEST_FOR_REPEAT:
            raise Undecidable(
                f"{self.keyword!r} is a regular expression with a repetition, and the text is longer than "
                f"{_LONGEST_FOR_REPEAT:,} characters"
            )
        return self._regex


@lru_cache(maxsize=4096)
def keyword_pattern(keyword: str) -> Pattern:
    """A keyword that may stand anywhere, in any case."""
    return Pattern(keyword)


@lru_cache(maxsize=4096)
def word_pattern(word: str) -> Pattern:
    r"""A keyword between `\b` and `\b`, in any case."""
    return Pattern(word, before=r"\b", after=r"\b")


@lru_cache(maxsize=1024)
def section_pattern(splitter: str) -> Pattern:
    """A section's mark and its number; the white space around them that the published code takes changes no count."""
    if _META.isdisjoint(splitter):
        return Pattern(splitter, after=r"\s?\d+", ignores_case=False)
    return Pattern(splitter, before=r"\s?", after=r"\s?\d+\s?", ignores_case=False)


@lru_cache(maxsize=1024)
def marker_pattern(marker: str) -> Pattern:
    """A postscript's mark, to be looked for in lower-cased text."""
    return Pattern(marker, ignores_case=False)
