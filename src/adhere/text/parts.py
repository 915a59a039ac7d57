"""Find the parts of an answer as spans: paragraphs, lines, sentences, bullet points, code blocks.

The parts are defined as in `text.words` (paragraph, line, sentence) and `text.markdown` (bullet point without its
marker, code block without its fences), which return texts. All but code blocks count only if they hold a letter or
digit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from adhere.text.words import sentence_spans, trim_span

Unit = Literal["paragraph", "line", "sentence", "bullet point", "code block"]
Span = tuple[int, int]

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_BREAK = re.compile(r"[\r\n]")
# The possessive `?+` keeps CRLF one line break.
_BLANK_LINES = re.compile(r"(?:\r\n?+|\n)\s*[\r\n]\s*")
LINE_START = r"(?:^|(?<=\r)(?!\n))"
"""A pattern for the beginning of a line, for re.MULTILINE; CRLF is one break."""
BULLET_MARK = r"([ \t]*+)([-*•+])[ \t]++"
"""A pattern for the start of a bullet point: its indent, its mark, and a blank."""
_BULLET = re.compile(LINE_START + BULLET_MARK + r"(?=[^\r\n]*[^\W_])", re.MULTILINE)
_FENCE = re.compile(LINE_START + r"[ \t]{0,3}(`{3,}+|~{3,}+)[ \t]*+([^`\r\n]*)(?:\r\n?+|\n|\Z)", re.MULTILINE)
_FIRST_WINDOW = 4096


class FencedBlock(NamedTuple):
    """Holds a code block: `span` is the code, `outer` adds fences and last line break, `info` is the opening text."""

    span: Span
    outer: Span
    info: str


def spans(text: str, unit: Unit, *, most: int | None = None) -> list[Span]:
    """Return (start, end) of each part, in order and without blanks around it, for at most `most` parts."""
    if unit == "sentence":
        return sentence_spans(text, most=most)
    return list(islice(_FINDERS[unit](text), most))


def last_span(text: str, unit: Unit) -> Span | None:
    """Return (start, end) of the last part, or None if there is none.

    The search goes over longer and longer ends of the text; a part that is not the first in such an end is whole.
    """
    window = _FIRST_WINDOW
    while window < len(text) and unit in {"paragraph", "line", "sentence"}:
        start = len(text) - window
        end_spans = spans(text[start:], unit)
        if len(end_spans) >= 3:
            return start + end_spans[-1][0], start + end_spans[-1][1]
        window *= 4
    end_spans = spans(text, unit)
    return end_spans[-1] if end_spans else None


def code_blocks(text: str) -> Iterator[FencedBlock]:
    """Yield the closed fences, in order."""
    if "```" not in text and "~~~" not in text:
        return
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif fence[1].startswith(opening[1]) and not fence[2]:
            code = opening.end(), max(opening.end(), fence.start())
            yield FencedBlock(code, (opening.start(), fence.end()), opening[2].strip())
            opening = None


def _code(text: str) -> Iterator[Span]:
    for block in code_blocks(text):
        yield block.span


def _lines(text: str) -> Iterator[Span]:
    end = 0
    while (letter := _LETTER_OR_DIGIT.search(text, end)) is not None:
        at = letter.start()
        start = max(end, text.rfind("\n", end, at) + 1, text.rfind("\r", end, at) + 1)
        stop = _BREAK.search(text, at)
        end = stop.start() if stop else len(text)
        yield trim_span(text, start, end)


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for gap in _BLANK_LINES.finditer(text):
        if _LETTER_OR_DIGIT.search(text, start, gap.start()):
            yield trim_span(text, start, gap.start())
        start = gap.end()
    if _LETTER_OR_DIGIT.search(text, start):
        yield trim_span(text, start, len(text))


def bullets(text: str) -> Iterator[tuple[re.Match[str], Span]]:
    """Yield the bullet points outside code, in order: the match of BULLET_MARK, and the span of the text behind it.

    Only this function defines a bullet; `text.markdown` and the kinds that count bullets use it.
    """
    for marker in outside_code(text, _BULLET):
        stop = _BREAK.search(text, marker.end())
        yield marker, trim_span(text, marker.end(), stop.start() if stop else len(text))


def outside_code(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches that do not begin in a closed fence, in order."""
    blocks = code_blocks(text)
    block = next(blocks, None)
    for hit in pattern.finditer(text):
        while block is not None and block.outer[1] <= hit.start():
            block = next(blocks, None)
        if block is None or hit.start() < block.outer[0]:
            yield hit


_FINDERS: dict[Unit, Callable[[str], Iterator[Span]]] = {
    "paragraph": _paragraphs,
    "line": _lines,
    "bullet point": lambda text: (span for _, span in bullets(text)),
    "code block": _code,
}
