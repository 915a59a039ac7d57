"""Cut sentences as the IFBench checkers of 2025 and the IFTrain checkers do: by substitution, not by Punkt.

Source: `split_into_sentences` of allenai/open-instruct IFEvalG and of IFBench before December 2025 (both from
google-research's `instructions_util`), reproduced step by step: a full stop that ends no sentence is hidden as `<prd>`,
`<stop>` is put after every other end mark, the text is cut there. An answer that holds these two markers literally is
cut by them, as in the original. Linear: no step looks further than a few characters around a full stop. So a long text
is cut block by block, and a caller that needs only its first sentences does not pay for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from adhere.constraints.published.ifbench.features import feature
from adhere.constraints.published.shared.features import Text

_HIDDEN, _CUT = "<prd>", "<stop>"
_STARTERS = (
    r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\s|She\s|It\s|They\s|Their\s|Our\s|We\s|But\s|However\s|That\s|This\s|Wherever)"
)
_LETTER = "([A-Za-z])"
_COMPANY = "(Inc|Ltd|Jr|Sr|Co)"


class _Step(NamedTuple):
    """Holds a substitution around full stops, and a cheaper pattern without which it finds nothing."""

    guard: re.Pattern[str]
    pattern: re.Pattern[str]
    around: tuple[tuple[str, str], ...]
    """Text put before and after each group; the replacement consists of the groups and this text alone."""

    def substitute(self, text: str) -> str:
        """Apply the substitution to a text.

        This is several times faster than `re.sub`, which fills the replacement in anew for each match.
        """
        if not self.guard.search(text):
            return text
        parts = self.pattern.split(text)
        step = len(self.around) + 1
        for group, (before, after) in enumerate(self.around, 1):
            parts[group::step] = [f"{before}{part}{after}" for part in parts[group::step]]
        return "".join(parts)


def _step(pattern: str, around: str, *before: str, after: str = "") -> _Step:
    """Make a step whose replacement is `around`, with a `%` for each group.

    `before` holds fixed-width alternatives for the text up to the full stop, `after` a pattern for the text behind it.
    """
    behind = "|".join(rf"(?<={piece}\.)" for piece in before)
    first, *others = around.split("%")
    return _Step(
        re.compile(rf"\.(?:{behind}){after}"),
        re.compile(pattern),
        tuple((first if at == 0 else "", other) for at, other in enumerate(others)),
    )


# In the order of the original; each acts on what the ones before left.
_COMPANY_BEFORE = (" Inc", " Ltd", " Jr", " Sr", " Co")
_BEFORE_DEGREES = (
    _step(r"(Mr|St|Mrs|Ms|Dr)\.", f"%{_HIDDEN}", "Mr", "St", "Mrs", "Ms", "Dr"),
    _step(r"\.(com|net|org|io|gov|edu|me)", f"{_HIDDEN}%", "", after="[cnoigem]"),
    _step(r"([0-9])\.([0-9])", f"%{_HIDDEN}%", "[0-9]", after="[0-9]"),
)
_DOTS = re.compile(r"(\.{2,})")
_AFTER_DEGREES = (
    _step(rf"\s{_LETTER}\. ", f" %{_HIDDEN} ", r"\s[A-Za-z]", after=" "),
    _step(rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) {_STARTERS}", f"%{_CUT} %", r"[A-Z]\.[A-Z]", after=" [A-Z]"),
    _step(rf"{_LETTER}\.{_LETTER}\.{_LETTER}\.", f"%{_HIDDEN}%{_HIDDEN}%{_HIDDEN}", r"[A-Za-z]\.[A-Za-z]\.[A-Za-z]"),
    _step(rf"{_LETTER}\.{_LETTER}\.", f"%{_HIDDEN}%{_HIDDEN}", r"[A-Za-z]\.[A-Za-z]"),
    _step(rf" {_COMPANY}\. {_STARTERS}", f" %{_CUT} %", *_COMPANY_BEFORE, after=" [A-Z]"),
    _step(rf" {_COMPANY}\.", f" %{_HIDDEN}", *_COMPANY_BEFORE),
    _step(rf" {_LETTER}\.", f" %{_HIDDEN}", " [A-Za-z]"),
)
_QUOTES_OUTSIDE = ((".”", "”."), ('."', '".'), ('!"', '"!'), ('?"', '"?'))
_ENDS = (".", "?", "!")

# Where a text may be cut with no step looking over the cut: before a blank after no stop and no starter, or after the
# stop of a longer word, of a number or of marks (the steps look over a blank behind single letters and companies only);
# and behind a mark that is in no step.
_BLOCK_END = re.compile(
    r"(?:[^.](?<! He| It| We)(?<! She| Our| But)(?<! They| That| This)(?<! Their)(?<! However)"
    r"|[^A-Za-z.]\.|[^\s][a-z](?<!nc|td|Jr|Sr|Co)\.) |[])(}{[:;,*@_#-]."
)
_LOOKED_BACK = 10  # characters, with some to spare
_BLOCK = 1 << 14


def split(text: str) -> list[str]:
    """Return the stripped pieces; empty pieces count, except the last."""
    pieces = list(map(str.strip, _cut_block(_pad(text))))
    if not pieces[-1]:
        pieces.pop()
    return pieces


def _pad(text: str) -> str:
    return f" {text}  ".replace("\n", " ")


def _block_ends(padded: str) -> Iterator[int]:
    at = _BLOCK
    while match := _BLOCK_END.search(padded, at):
        at = match.end() - 1
        yield at
        at += _BLOCK
    yield len(padded)


def _cut_block(text: str) -> list[str]:
    """Return pieces with the blanks around them; the rest after the last cut is one, even if empty."""
    if "." in text:
        text = _hide_inner_stops(text)
    for inside, outside in _QUOTES_OUTSIDE:
        text = text.replace(inside, outside)
    for end in _ENDS:
        text = text.replace(end, end + _CUT)
    return text.replace(_HIDDEN, ".").split(_CUT)


def _hide_inner_stops(text: str) -> str:
    for step in _BEFORE_DEGREES:
        text = step.substitute(text)
    if ".." in text:
        parts = _DOTS.split(text)
        parts[1::2] = [_HIDDEN * len(dots) + _CUT for dots in parts[1::2]]
        text = "".join(parts)
    text = text.replace("Ph.D.", f"Ph{_HIDDEN}D{_HIDDEN}")
    for step in _AFTER_DEGREES:
        text = step.substitute(text)
    return text


def iterate(text: str) -> Iterator[str]:
    """Yield the pieces of `split` one at a time, for callers that need only the first few of a long text."""
    padded = _pad(text)
    return _pieces(padded, _block_ends(padded), {})


def _pieces(padded: str, ends: Iterable[int], cut_blocks: dict[str, list[str]]) -> Iterator[str]:
    """Yield the pieces of blocks with these ends; a block that is not in `cut_blocks` is cut and added there."""
    open_piece, start = "", 0
    for end in ends:
        block = padded[start:end]
        if block not in cut_blocks:
            cut_blocks[block] = _cut_block(block)
        first, *others = cut_blocks[block]
        open_piece += first
        if others:
            yield open_piece.strip()
            open_piece = others.pop()
            yield from map(str.strip, others)
        start = end
    if last := open_piece.strip():
        yield last


@feature
def _blocks(text: Text) -> tuple[list[int], dict[str, list[str]]]:
    """Return where the blocks of a padded text end, and the blocks that are already cut (none at first)."""
    return list(_block_ends(_pad(text.raw))), {}


@feature
def pieces(text: Text) -> list[str]:
    """Return `split` of an answer."""
    if len(text.raw) <= _BLOCK:
        return split(text.raw)
    padded = _pad(text.raw)
    ends, cut_blocks = _blocks(text.whole or text)
    if text.whole is not None:  # its blocks, but for those that its first and its last characters are in
        ends = [end - text.offset for end in ends if _LOOKED_BACK <= end - text.offset <= len(text.raw)] + [len(padded)]
    return list(_pieces(padded, ends, cut_blocks))
