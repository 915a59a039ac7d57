"""Find forms that nobody asked for: what a policy learns of one rule and shows everywhere."""

from __future__ import annotations

import re
from typing import Literal

from adhere.text.words import words

Leak = Literal["lower case", "capitals", "quotes", "bullets"]

_FEWEST_WORDS, _BEGINNING = 3, 200
_BULLET = re.compile(r"^[ \t]*[-*+•][ \t]+\S", re.MULTILINE)
_QUOTED = re.compile(r"\A\s*[\"“](?=[^\"“”]*[\"”]\s*\Z)[\s\S]*[\"”]\s*\Z")
_ASKS_FOR: dict[Leak, re.Pattern[str]] = {
    "lower case": re.compile(r"lower|capital|\bcaps?\b|\bcase\b|upper", re.IGNORECASE),
    "capitals": re.compile(r"lower|capital|\bcaps?\b|\bcase\b|upper", re.IGNORECASE),
    "quotes": re.compile(r"quot|\bsay|says?\b|slogan|title|name|[\"“”]", re.IGNORECASE),
    "bullets": re.compile(
        r"bullet|\blists?\b|\bpoints?\b|\bitems?\b|markdown|\btips\b|\bways\b|\bsteps\b|\bideas\b|\bplan\b|recipe|outline|"
        r"itinerary|\b(?:two|three|four|five|six|seven|eight|nine|ten|\d+)\b|"
        r"pros|format|structur|section|\bline\b",
        re.IGNORECASE,
    ),
}


def style_leaks(request: str, text: str) -> tuple[Leak, ...]:
    """Return the forms of an answer that its request does not mention: one case, wholly in quotes, in bullets."""
    leaks: list[Leak] = []
    if len(words(text[:_BEGINNING])) >= _FEWEST_WORDS:
        if text.islower():
            leaks.append("lower case")
        if text.isupper():
            leaks.append("capitals")
        if _QUOTED.match(text):
            leaks.append("quotes")
        if _BULLET.search(text):
            leaks.append("bullets")
    return tuple(leak for leak in leaks if not _ASKS_FOR[leak].search(request))
