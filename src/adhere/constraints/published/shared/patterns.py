"""Look for keywords as the published code does, as unescaped regular expressions, but in bounded time.

A keyword without metacharacters is found with plain string search if that gives the same result. A regular expression
is run only if its steps on the text are bounded so that it takes a fraction of a second. Else the answer is
`undecided`, with the reason, because a guess would be a number without a measurement. No published keyword is
undecided.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from adhere.constraints.published.shared.features import Text

if TYPE_CHECKING:
    from adhere.constraints.published.shared.regex_cost import Cost

META = frozenset(r".^$*+?{}[]\|()")
"""Characters that mean something else than themselves in a regular expression."""
_REPEATS = frozenset("*+?{\\(")
"""Characters without which a pattern takes a fixed number of steps a character."""
_MOST_STEPS = 20_000_000


class Undecidable(Exception):
    """Raised if a pattern cannot be looked for in a text; the message says why."""


class Pattern:
    """Looks for one keyword with what the published code puts around it.

    Args:
        keyword: The keyword as in the data, perhaps with metacharacters, by intent or by accident (`C++`, `$5`).
        before, after: What the published code puts around it.
        flags: The flags of the regular expression.
    """

    __slots__ = ("_cost", "_lower", "_regex", "_trouble", "is_plain", "keyword")

    def __init__(self, keyword: str, *, before: str = "", after: str = "", flags: re.RegexFlag = re.IGNORECASE) -> None:
        self.keyword = keyword
        self.is_plain = META.isdisjoint(keyword)
        self._lower = keyword.lower() if flags & re.IGNORECASE and self.is_plain and keyword.isascii() else None
        self._trouble: str | None = None
        self._regex: re.Pattern[str] | None = None
        self._cost: Cost | None = None
        whole = f"{before}{keyword}{after}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # `[[` may mean something else one day
                self._regex = re.compile(whole, flags)
                if not self.is_plain and not _REPEATS.isdisjoint(keyword):
                    self._measure(whole, flags)
        except (re.error, RecursionError, OverflowError) as error:
            self._regex = None
            self._trouble = f"the published code reads {keyword!r} as a regular expression, and it is none: {error}"

    def _measure(self, whole: str, flags: int) -> None:
        from adhere.constraints.published.shared.regex_cost import cost

        self._cost = cost(whole, flags)
        if self._cost is None:
            self._regex = None
            self._trouble = f"{self.keyword!r} is a regular expression that may not end in reasonable time"

    def is_ruled_out(self, text: Text) -> bool:
        """Tell whether plain string search shows that the keyword does not occur."""
        return self._lower is not None and text.lower_finds_ascii and self._lower not in text.lower

    def is_in(self, text: Text) -> bool:
        """Tell whether the keyword occurs. Only for patterns made without `before` and `after`.

        Raises:
            Undecidable: The keyword cannot be looked for.
        """
        if self._lower is not None and text.lower_finds_ascii:
            return self._lower in text.lower
        return self.regex(text.raw).search(text.raw) is not None

    def count(self, text: Text) -> int:
        """Count the keyword without overlaps. Only for patterns made without `before` and `after`.

        Raises:
            Undecidable: The keyword cannot be looked for.
        """
        if self._lower is not None and text.lower_finds_ascii:
            return text.lower.count(self._lower)
        return sum(1 for _ in self.regex(text.raw).finditer(text.raw))

    def regex(self, raw: str) -> re.Pattern[str]:
        """Return the regular expression to run on `raw`.

        Raises:
            Undecidable: The pattern is no regular expression, or running it on this text may take too long.
        """
        if self._regex is None:
            raise Undecidable(self._trouble)
        if self._cost is not None and self._cost.steps(raw, self._regex.flags) > _MOST_STEPS:
            raise Undecidable(
                f"{self.keyword!r} is a regular expression that may take more than {_MOST_STEPS:,} steps on this text"
            )
        return self._regex


@lru_cache(maxsize=4096)
def keyword_pattern(keyword: str) -> Pattern:
    """Make a pattern for a keyword anywhere, in any case."""
    return Pattern(keyword)


@lru_cache(maxsize=4096)
def word_pattern(word: str) -> Pattern:
    r"""Make a pattern for a keyword between `\b` and `\b`, in any case."""
    return Pattern(word, before=r"\b", after=r"\b")


@lru_cache(maxsize=1024)
def section_pattern(splitter: str) -> Pattern:
    """Make a pattern for a section's mark and its number.

    The white space around them that the published code also matches changes no count.
    """
    if META.isdisjoint(splitter):
        return Pattern(splitter, after=r"\s?\d+", flags=re.NOFLAG)
    return Pattern(splitter, before=r"\s?", after=r"\s?\d+\s?", flags=re.NOFLAG)


@lru_cache(maxsize=1024)
def marker_pattern(marker: str) -> Pattern:
    """Make a pattern for a postscript's mark in lower-cased text, the only one whose `^` and `$` mean lines.

    The white space before it and the rest of its line, which the published code also matches, are added only if they
    change what the mark means.
    """
    before = r"\s*" if marker[:1] in {"?", "+", "*", "{"} else ""
    return Pattern(marker, before=before, after=".*$" if marker[-1:] == "\\" else "", flags=re.MULTILINE)
