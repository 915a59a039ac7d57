"""Which writing system the letters of a text belong to, by Unicode block."""

from __future__ import annotations

import functools
import re

# Python takes raised and lowered digits and fractions for word characters that are no digits.
_LETTERS = re.compile(r"[^\W\d_\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2080-\u2089]+")
# Blocks of letters; marks and digits do not count, and a block may hold code points that no script uses.
_BLOCKS = {
    "Latin": r"A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f"
    r"\ua722-\ua7ff\uab30-\uab6f\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a",
    "Cyrillic": r"\u0400-\u052f\u1c80-\u1c8f\u1d2b\u1d78\ua640-\ua69f",
    "Greek": r"\u0370-\u03ff\u1f00-\u1fff",
    "Han": r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "Kana": r"\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f",
    "Hangul": r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc",
    "Arabic": r"\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufefe",
    "Hebrew": r"\u0590-\u05ff\ufb1d-\ufb4f",
    "Devanagari": r"\u0900-\u097f\ua8e0-\ua8ff",
    "Thai": r"\u0e01-\u0e3a\u0e40-\u0e5b",
}
SCRIPTS = tuple(_BLOCKS)


@functools.cache
def _run(script: str) -> re.Pattern[str]:
    return re.compile(f"[{_BLOCKS[script]}]+")


def count_letters(text: str, script: str | None = None) -> tuple[int, int]:
    """How many letters belong to `script`, one of SCRIPTS (None: to any), and how many letters there are."""
    letters = "".join(_LETTERS.findall(text))
    return len(letters) if script is None else sum(map(len, _run(script).findall(letters))), len(letters)


def first_foreign(text: str, script: str) -> tuple[int, int] | None:
    """(start, end) of the first letter that does not belong to `script`."""
    run = _run(script)
    for letters in _LETTERS.finditer(text):
        hit = run.match(letters.group())
        at = hit.end() if hit else 0
        if at < len(letters.group()):
            return letters.start() + at, letters.start() + at + 1
    return None
