r"""Tell letters from other characters, and which writing system they belong to, by Unicode block.

A letter is what Unicode calls one (general category L), and belongs to a writing system. So `①`, `⅓`, `²` and `Ⅻ` are
no letters, though Python's `\w` matches them. Nor are modifiers that belong to no single writing system, such as the ʻ
of Hawaiʻi.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

_RUNS = re.compile(r"[^\W\d_]+")
_MODIFIERS = "".join(map(chr, (*range(0x2B9, 0x2E0), *range(0x2E5, 0x300))))
_NO_MODIFIER = {ord(character): None for character in _MODIFIERS}
# Blocks of letters; marks and digits do not count, and a block may hold code points that no script uses.
_BLOCKS = {
    "Latin": r"A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02b8\u02e0-\u02e4"
    r"\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f"
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
# Scripts that put no blanks between words: those in which a character is about a word (Bopomofo and Yi among them), and
# Thai, Lao, Tibetan, Burmese, Khmer, and the scripts of Java, Bali and the Tai.
_SYLLABIC = re.compile(rf"[{_BLOCKS['Han']}{_BLOCKS['Kana']}\u3100-\u312f\u31a0-\u31bf\ua000-\ua4cf]")
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aad\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf]")
_LETTERS_A_WORD = 4
# Scripts whose sentences end in marks of their own, or in none: Armenian, those of India, all of _UNSPACED, Ethiopic.
_OTHER_STOPS = re.compile(rf"[\u0530-\u058f\u0900-\u0dff\u1200-\u139f{_UNSPACED.pattern[1:-1]}]")


@functools.cache
def _run(script: str) -> re.Pattern[str]:
    return re.compile(f"[{_BLOCKS[script]}]+")


def is_letter(character: str) -> bool:
    """Tell whether a character is a letter of some writing system."""
    return character.isalpha() and character not in _MODIFIERS


def letters(text: str) -> str:
    """Return the letters of a text, without the characters between them."""
    all_letters = "".join(_RUNS.findall(text))
    if not all_letters.isalpha():
        all_letters = "".join(filter(str.isalpha, all_letters))
    return all_letters if all_letters.isascii() else all_letters.translate(_NO_MODIFIER)


def count_letters(text: str, script: str | None = None) -> tuple[int, int]:
    """Return (letters that belong to `script`, one of SCRIPTS, or to any if None; all letters)."""
    all_letters = letters(text)
    return len(all_letters) if script is None else sum(map(len, _run(script).findall(all_letters))), len(all_letters)


def writes_words(text: str) -> bool:
    """Tell whether words can be counted in a text: most of it is in scripts with blanks between words.

    In mixed texts each part counts by its approximate number of words, so `Python 是什么？` is Chinese.
    """
    all_letters = letters(text)
    unspaced = len(_SYLLABIC.findall(all_letters)) + len(_UNSPACED.findall(all_letters)) / _LETTERS_A_WORD
    if not unspaced:
        return True
    rest = _UNSPACED.sub(" ", _SYLLABIC.sub(" ", text))
    return unspaced <= sum(map(any, (map(str.isalpha, word) for word in rest.split())))


def ends_sentences(text: str) -> bool:
    """Tell whether most of a text is in scripts whose sentences end in the marks that `text.words` knows."""
    all_letters = letters(text)
    return 2 * len(_OTHER_STOPS.findall(all_letters)) <= len(all_letters)


def letters_beyond_ascii(text: str) -> Iterator[re.Match[str]]:
    """Return the matches, one for each letter that is neither ASCII nor one of the ordinals ª and º."""
    return (hit for hit in _BEYOND_ASCII.finditer(text) if is_letter(hit.group()))


_BEYOND_ASCII = re.compile(r"[^\W\d_\x00-\x7fªº]")


def first_foreign(text: str, script: str) -> tuple[int, int] | None:
    """Return (start, end) of the first letter that does not belong to `script`, or None."""
    foreign = (hit for hit in _foreign(script).finditer(text) if is_letter(hit.group()))
    first = next(foreign, None)
    return first.span() if first else None


@functools.cache
def _foreign(script: str) -> re.Pattern[str]:
    return re.compile(f"(?![{_BLOCKS[script]}])[^\\W\\d_]")
