"""Find the copies that `copy:repeat_phrase` counts: a first word, anything on one line, a last word."""

from __future__ import annotations

import re
from collections.abc import Callable

from adhere.constraints.published.shared.patterns import META, Pattern, Undecidable


def phrases(first: str, last: str) -> Callable[[str], list[str] | str]:
    """Return a search that finds what `re.findall(f"{first} .*? {last}", text)` does, or says why it cannot."""
    if META.isdisjoint(first) and META.isdisjoint(last):
        return lambda text: literal_phrases(f"{first} ", f" {last}", text)
    pattern = Pattern(f"{first} .*? {last}", flags=re.NOFLAG)

    def find(text: str) -> list[str] | str:
        try:
            return [match[0] for match in pattern.regex(text).finditer(text)]
        except Undecidable as why:
            return str(why)

    return find


def literal_phrases(first: str, last: str, text: str) -> list[str]:
    """Find the same copies for words without metacharacters, in linear time."""
    matches: list[str] = []
    at = text.find(first)
    end_of_line = close = -1
    while at >= 0:
        body = at + len(first)
        if close < body:  # else it is still the next one
            close = text.find(last, body)
        if close < 0:
            break
        if end_of_line < body:
            end_of_line = text.find("\n", body)
            if end_of_line < 0:
                end_of_line = len(text)
        if close < end_of_line:
            matches.append(text[at : close + len(last)])
            at = text.find(first, close + len(last))
        else:
            at = text.find(first, max(at + 1, end_of_line - len(first)))
    return matches
