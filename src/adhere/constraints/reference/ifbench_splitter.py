"""Sentences as the 2025 IFBench checkers and the IFTrain checkers cut them: by substitution, not by Punkt.

Source: `split_into_sentences` of allenai/open-instruct IFEvalG and of IFBench before December 2025 (both from
google-research's `instructions_util`), reproduced step by step: a full stop that ends no sentence is hidden as `<prd>`,
`<stop>` is put after every other end mark, the text is cut there. An answer that holds these two markers literally is
cut by them, as in the original. Linear: no step looks further than a few characters around a full stop.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adhere.constraints.reference.features import Text
from adhere.constraints.reference.ifbench_features import kept

_HIDDEN, _CUT = "<prd>", "<stop>"
_STARTERS = (
    r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\s|She\s|It\s|They\s|Their\s|Our\s|We\s|But\s|However\s|That\s|This\s|Wherever)"
)
_LETTER = "([A-Za-z])"
_COMPANY = "(Inc|Ltd|Jr|Sr|Co)"


class _Step(NamedTuple):
    """A substitution, and a cheaper pattern without which it finds nothing: it looks at full stops only."""

    guard: re.Pattern[str]
    pattern: re.Pattern[str]
    replacement: str


def _step(pattern: str, replacement: str, *before: str, after: str = "") -> _Step:
    """`before` are fixed-width alternatives for what stands up to the full stop, `after` for what follows it."""
    behind = "|".join(rf"(?<={piece}\.)" for piece in before)
    return _Step(re.compile(rf"\.(?:{behind}){after}"), re.compile(pattern), replacement)


# In the order of the original; each acts on what the ones before left.
_COMPANY_BEFORE = (" Inc", " Ltd", " Jr", " Sr", " Co")
_BEFORE_DEGREES = (
    _step(r"(Mr|St|Mrs|Ms|Dr)\.", rf"\1{_HIDDEN}", "Mr", "St", "Mrs", "Ms", "Dr"),
    _step(r"\.(com|net|org|io|gov|edu|me)", rf"{_HIDDEN}\1", "", after="[cnoigem]"),
    _step(r"([0-9])\.([0-9])", rf"\1{_HIDDEN}\2", "[0-9]", after="[0-9]"),
)
_DOTS = re.compile(r"\.{2,}")
_AFTER_DEGREES = (
    _step(rf"\s{_LETTER}\. ", rf" \1{_HIDDEN} ", r"\s[A-Za-z]", after=" "),
    _step(rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) {_STARTERS}", rf"\1{_CUT} \2", r"[A-Z]\.[A-Z]", after=" [A-Z]"),
    _step(
        rf"{_LETTER}\.{_LETTER}\.{_LETTER}\.",
        rf"\1{_HIDDEN}\2{_HIDDEN}\3{_HIDDEN}",
        r"[A-Za-z]\.[A-Za-z]\.[A-Za-z]",
    ),
    _step(rf"{_LETTER}\.{_LETTER}\.", rf"\1{_HIDDEN}\2{_HIDDEN}", r"[A-Za-z]\.[A-Za-z]"),
    _step(rf" {_COMPANY}\. {_STARTERS}", rf" \1{_CUT} \2", *_COMPANY_BEFORE, after=" [A-Z]"),
    _step(rf" {_COMPANY}\.", rf" \1{_HIDDEN}", *_COMPANY_BEFORE),
    _step(rf" {_LETTER}\.", rf" \1{_HIDDEN}", " [A-Za-z]"),
)
_QUOTES_OUTSIDE = ((".”", "”."), ('."', '".'), ('!"', '"!'), ('?"', '"?'))
_ENDS = (".", "?", "!")


def split(text: str) -> list[str]:
    """The stripped pieces; an empty piece counts, except the last."""
    text = f" {text}  ".replace("\n", " ")
    if "." in text:
        text = _hide_inner_stops(text)
    for inside, outside in _QUOTES_OUTSIDE:
        text = text.replace(inside, outside)
    for end in _ENDS:
        text = text.replace(end, end + _CUT)
    pieces = [piece.strip() for piece in text.replace(_HIDDEN, ".").split(_CUT)]
    if not pieces[-1]:
        pieces.pop()
    return pieces


def _hide_inner_stops(text: str) -> str:
    for step in _BEFORE_DEGREES:
        if step.guard.search(text):
            text = step.pattern.sub(step.replacement, text)
    if ".." in text:
        text = _DOTS.sub(lambda dots: _HIDDEN * len(dots[0]) + _CUT, text)
    text = text.replace("Ph.D.", f"Ph{_HIDDEN}D{_HIDDEN}")
    for step in _AFTER_DEGREES:
        if step.guard.search(text):
            text = step.pattern.sub(step.replacement, text)
    return text


@kept
def pieces(text: Text) -> list[str]:
    """`split` of an answer."""
    return split(text.raw)
