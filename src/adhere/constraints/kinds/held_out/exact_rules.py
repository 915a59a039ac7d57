"""Judge the rules of `exact:rule_set`: sentences of fixed forms about the words or lines of an answer."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

Pieces = Sequence[str]

PLAIN_WORDS = "each word has only lowercase letters a to z"
PLAIN_LINES = "each line has only lowercase letters a to z and single spaces"
DIFFERENT = "no word stands twice"
SORTED = "the words are in alphabetical order"

_PLAIN_LINE = re.compile(r"[a-z]+(?: [a-z]+)*")
_PLAIN_WORD = re.compile(r"[a-z]+")
_NUMBER = r"(\d{1,3})"


class RuleResult(NamedTuple):
    """Holds whether a rule holds, and what it found, in words."""

    holds: bool
    found: str


def _count(pieces: Pieces, expected: str) -> RuleResult:
    return RuleResult(len(pieces) == int(expected), str(len(pieces)))


def _sizes(pieces: Pieces, low: str, high: str) -> RuleResult:
    odd = next((piece for piece in pieces if not int(low) <= len(piece) <= int(high)), None)
    return RuleResult(bool(pieces) and odd is None, "nothing" if odd is None else f"{odd[:40]!r} with {len(odd)}")


def _without(pieces: Pieces, letters: str) -> RuleResult:
    banned = set(letters.split(" or "))
    odd = next((piece for piece in pieces if not banned.isdisjoint(piece.lower())), None)
    return RuleResult(bool(pieces) and odd is None, "nothing" if odd is None else repr(odd[:40]))


def _different(pieces: Pieces) -> RuleResult:
    return RuleResult(len(set(pieces)) == len(pieces) > 0, f"{len(pieces) - len(set(pieces))} repeated")


def _see_order(pieces: Pieces) -> RuleResult:
    odd = next((later for earlier, later in itertools.pairwise(pieces) if later < earlier), None)
    return RuleResult(bool(pieces) and odd is None, "nothing" if odd is None else f"{odd[:40]!r} too late")


def _plain(pieces: Pieces, shape: re.Pattern[str]) -> RuleResult:
    odd = next((piece for piece in pieces if not shape.fullmatch(piece)), None)
    return RuleResult(bool(pieces) and odd is None, "nothing" if odd is None else repr(odd[:40]))


def _starts(pieces: Pieces, at: str, letter: str) -> RuleResult:
    piece = _piece(pieces, at)
    return RuleResult(piece.startswith(letter), repr(piece[:1]))


def _line_words(pieces: Pieces, at: str, expected: str) -> RuleResult:
    count = len(_piece(pieces, at).split())
    return RuleResult(count == int(expected), str(count))


def _piece(pieces: Pieces, at: str) -> str:
    return pieces[int(at) - 1] if 0 < int(at) <= len(pieces) else ""


# The form of a sentence, and what judges it, given the pieces and the groups of the form.
FORMS: dict[str, Callable[..., RuleResult]] = {
    rf"exactly {_NUMBER} (?:words?|lines?)": _count,
    rf"each word has {_NUMBER} to {_NUMBER} letters": _sizes,
    r"no (?:word|line) contains ([a-z](?: or [a-z])*)": _without,
    re.escape(DIFFERENT): _different,
    re.escape(SORTED): _see_order,
    re.escape(PLAIN_WORDS): lambda pieces: _plain(pieces, _PLAIN_WORD),
    re.escape(PLAIN_LINES): lambda pieces: _plain(pieces, _PLAIN_LINE),
    rf"(?:word|line) {_NUMBER} starts with ([a-z])": _starts,
    rf"line {_NUMBER} has {_NUMBER} words?": _line_words,
}
_COMPILED = [(re.compile(form), judge) for form, judge in FORMS.items()]


def judge_rule(rule: str, pieces: Pieces) -> RuleResult:
    """Judge the words, or the lines, of an answer by one rule.

    Raises:
        ValueError: The sentence has none of the FORMS.
    """
    for form, judge in _COMPILED:
        if (match := form.fullmatch(rule)) is not None:
            return judge(pieces, *match.groups())
    raise ValueError(f"{rule!r} has none of the forms of a rule")


def is_rule(rule: object) -> bool:
    """Tell whether the sentence has one of the FORMS."""
    return isinstance(rule, str) and any(form.fullmatch(rule) for form, _ in _COMPILED)


@dataclasses.dataclass(frozen=True)
class RuleText:
    """One sentence of a form in FORMS."""

    def problem(self, value: object) -> str | None:
        return None if is_rule(value) else "must be a rule such as 'exactly 3 words' or 'line 2 starts with k'"

    def invalid(self) -> Sequence[object]:
        return ["", "exactly three words", "line 1 starts with K", 3, None]


def exactly(count: int, piece: str) -> str:
    """Return the rule that the answer has `count` words, or lines."""
    return f"exactly {count} {piece}{'' if count == 1 else 's'}"


def sizes(low: int, high: int) -> str:
    """Return the rule that each word has `low` to `high` letters."""
    return f"each word has {low} to {high} letters"


def without(letters: Sequence[str], piece: str) -> str:
    """Return the rule that no word, or line, contains one of some letters."""
    return f"no {piece} contains {' or '.join(letters)}"


def starts(place: int, letter: str, piece: str) -> str:
    """Return the rule about the first letter of one word, or line."""
    return f"{piece} {place} starts with {letter}"


def line_words(line: int, count: int) -> str:
    """Return the rule about the number of words of a line."""
    return f"line {line} has {count} word{'' if count == 1 else 's'}"
