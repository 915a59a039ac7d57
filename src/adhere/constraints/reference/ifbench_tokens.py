"""The first and last tokens of an answer, without tokenising what lies between.

The Treebank rules look no further than one chunk (what stands between white space) and Punkt no further than the chunk
after it, so the tokens of a few chunks at either end are known without the rest. A text in one piece has no chunks to
count by; if it holds no stop, and so no sentence ends, a stretch of it will do.
"""

from __future__ import annotations

from collections.abc import Iterator

from adhere.constraints.reference.features import Text
from adhere.constraints.reference.ifbench_features import kept

_MOST = 3  # tokens, which stand in as many chunks or fewer
_CHUNKS = _MOST + 2
_LONG = 800  # characters; shorter texts are tokenised as a whole
_STRETCH = 400
_AT_CUT = 8  # tokens of a stretch that the cut may have changed


@kept
def _opening(text: Text) -> list[str]:
    raw = text.raw
    if len(raw) < _LONG:
        return text.tokens[:_MOST]
    *chunks, rest = raw.split(None, _CHUNKS) or [""]
    if len(chunks) == _CHUNKS:
        return Text(f"{raw[: len(raw) - len(rest)]}x").tokens[:_MOST]
    return stretch(text)[:_MOST]


@kept
def _closing(text: Text) -> list[str]:
    raw = text.raw.rstrip()
    if len(raw) < _LONG:
        return text.tokens[-_MOST:]
    rest, *chunks = raw.rsplit(None, _CHUNKS) or [""]
    if len(chunks) == _CHUNKS:
        return Text(f"x{raw[len(rest) :]}").tokens[-_MOST:]
    if _has_no_stop(text):
        found = Text(raw[-_STRETCH:]).tokens
        if len(found) >= _AT_CUT + _MOST:
            return found[-_MOST:]
    return text.tokens[-_MOST:]


def stretch(text: Text) -> list[str]:
    """Some of the first of `Text.tokens` if the text has no stops; else all of them."""
    if _has_no_stop(text):
        start = len(text.raw) - len(text.raw.lstrip())
        found = Text(text.raw[: start + _STRETCH]).tokens
        if len(found) >= _AT_CUT + _MOST:
            return found[:-_AT_CUT]
    return text.tokens


@kept
def _has_no_stop(text: Text) -> bool:
    return not any(mark in text.raw for mark in ".?!")


CONTRACTED = frozenset(["cannot", "gimme", "gonna", "gotta", "lemme", "wanna"])
"""Words that are two tokens."""


def plain_chunks(text: Text) -> Iterator[str]:
    """The chunks of letters and digits alone; each is one of `Text.tokens`, wherever sentences end."""
    return (chunk for chunk in text.chunks if chunk.isalnum() and chunk.lower() not in CONTRACTED)


def leading_tokens(sentence: str, most: int) -> list[str]:
    """The first `most` tokens of NLTK's `word_tokenize(sentence)`."""
    *chunks, rest = sentence.split(None, most + 2) or [""]
    if len(chunks) == most + 2:
        return Text(f"{sentence[: len(sentence) - len(rest)]}x").tokens[:most]
    return Text(sentence).tokens[:most]


def first_tokens(text: Text, most: int) -> list[str]:
    """The first `most` (at most 3) of `Text.tokens`."""
    return _opening(text)[:most]


def last_tokens(text: Text, most: int) -> list[str]:
    """The last `most` (at most 3) of `Text.tokens`."""
    return _closing(text)[-most:]
