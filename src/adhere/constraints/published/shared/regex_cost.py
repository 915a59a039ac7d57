"""Bound the steps that a regular expression may take on a text, before it is run.

Keywords of published data are run as patterns, and Python's matcher backtracks. Its tries from one start are at most
the product of the ways to take each repetition; a repetition of one character can be taken in as many ways as the
longest run of such characters in the text is long. A repetition inside a repetition (`(a+)+`) has no such bound. The
bound is read from the tree of Python's own parser, so a repetition is what the matcher takes for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None)}
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
_ANYTHING = r"(?s:.)"
_FEW = 8
"""The most ways of a repetition that counts as a constant factor; others depend on the text."""


class Cost(NamedTuple):
    """Holds what bounds the steps of a pattern: from each place, `factor` times the length of a run for each of `runs`.

    A run is the longest stretch in the text of characters that one of the pattern's repetitions can repeat.
    """

    factor: int
    runs: tuple[str, ...]
    first: str | None
    """The character that a match begins with; None if it is not fixed."""

    def steps(self, text: str, flags: int) -> int:
        """Return the most steps that finding all matches in `text` may take."""
        starts = len(text)
        if self.first is not None:
            starts = text.count(self.first)
            if flags & re.IGNORECASE and not (self.first.isascii() and text.isascii()):
                starts = len(text)
            elif flags & re.IGNORECASE and self.first.isalpha():
                starts = text.count(self.first.lower()) + text.count(self.first.upper())
        steps = len(text) + starts * self.factor
        for run in self.runs:
            longest = (
                max(map(len, re.findall(f"(?:{run})+", text, flags)), default=0) if run != _ANYTHING else len(text)
            )
            steps *= longest + 1
        return steps


class _UnboundedRepetition(Exception):
    """Raised for a repetition that can match one text in more ways than the length of a run bounds."""


def cost(pattern: str, flags: int) -> Cost | None:
    """Return the bound of the steps of a valid pattern, or None if there is none."""
    tree = _parser.parse(pattern, flags)
    runs: list[str] = []
    try:
        factor = _ways(tree, runs, is_repeated=False)
    except _UnboundedRepetition:
        return None
    if len(tree) and tree[-1][0] is sre.MAX_REPEAT and runs and runs[-1] == _run(tree[-1][1][2]) != _ANYTHING:
        runs.pop()  # what ends a pattern takes all it can and is never tried again
    first = chr(tree[0][1]) if len(tree) and tree[0][0] is sre.LITERAL else None
    return Cost(factor, tuple(runs), first)


def _ways(items: Iterable[tuple[Any, Any]], runs: list[str], *, is_repeated: bool) -> int:
    """Return the constant factor of a sequence; repetitions that depend on the text are added to `runs`.

    Raises:
        _UnboundedRepetition: Something inside a repetition (`is_repeated`) can be matched in more than one way.
    """
    factor = 1
    for code, value in items:
        if code in _REPEATS:
            low, high, body = value
            factor *= _repeat_ways(low, high, body, runs, is_repeated=is_repeated)
        elif code is sre.BRANCH:
            branches = value[1]
            if is_repeated and not _begin_differently(branches):
                raise _UnboundedRepetition
            factor *= sum(_ways(branch, runs, is_repeated=is_repeated) for branch in branches)
        elif code is sre.SUBPATTERN:
            factor *= _ways(value[-1], runs, is_repeated=is_repeated)
        elif code in {sre.ASSERT, sre.ASSERT_NOT}:
            factor *= 1 + _ways(value[1], runs, is_repeated=is_repeated)
        elif code is getattr(sre, "ATOMIC_GROUP", None):
            factor *= _ways(value, runs, is_repeated=is_repeated)
        elif code in {sre.GROUPREF, sre.GROUPREF_EXISTS}:
            if is_repeated or code is sre.GROUPREF_EXISTS:
                raise _UnboundedRepetition
            runs.append(_ANYTHING)
    return factor


def _repeat_ways(low: int, high: int, body: Any, runs: list[str], *, is_repeated: bool) -> int:
    if low == high and high <= _FEW:
        return high * _ways(body, runs, is_repeated=is_repeated) or 1
    if is_repeated:
        raise _UnboundedRepetition
    if high <= 1:
        return 1 + _ways(body, runs, is_repeated=False)
    _ways(body, [], is_repeated=True)
    if high - low <= _FEW and high <= _FEW:
        return high + 1
    runs.append(_run(body))
    return 1


def _begin_differently(branches: list[Any]) -> bool:
    firsts = [chr(branch[0][1]).lower() if len(branch) and branch[0][0] is sre.LITERAL else None for branch in branches]
    return None not in firsts and len(set(firsts)) == len(firsts)


def _run(body: Any) -> str:
    """Return a pattern for one of the characters that a repetition runs over.

    If the repeated part is not one character, it is a pattern for any character.
    """
    if len(body) == 1:
        code, value = body[0]
        if code is sre.LITERAL:
            return re.escape(chr(value))
        if code is sre.NOT_LITERAL:
            return f"[^{re.escape(chr(value))}]"
        if code is sre.ANY:
            return "."
        if code is sre.IN:
            return f"[{''.join(map(_member, value))}]"
    return _ANYTHING


def _member(item: tuple[Any, Any]) -> str:
    code, value = item
    if code is sre.NEGATE:
        return "^"
    if code is sre.CATEGORY:
        return _CATEGORIES[value]
    if code is sre.RANGE:
        return "-".join(re.escape(chr(end)) for end in value)
    return re.escape(chr(value))
