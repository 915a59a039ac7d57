"""Find the first and last tokens of an answer without tokenising the text between them.

The Treebank rules look no further than one chunk (a piece between blanks), and Punkt no further than the chunk after
it. So the tokens of a few chunks at either end are known without the rest. A text in one piece has no chunks to count
by; if it holds no stop, and so no sentence ends, a stretch of it is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adhere.constraints.published.ifbench.features import feature
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.punkt import iterate_spans
from adhere.constraints.published.shared.treebank import is_contracted, iterate, tokenize

_BLANKS = " \n\t\r\x0b\x0c"
_CHUNK = re.compile(rf"[^{_BLANKS}]+")
_MOST = 3  # tokens, which stand in as many chunks or fewer
_CHUNKS = _MOST + 2
_LONG = 800  # characters; shorter texts are tokenised as a whole
_MUCH = 10_000  # characters of a few chunks
_STRETCH = 400
_AT_CUT = 12  # tokens of a stretch that the cut may have changed


def _head(raw: str, most: int) -> str | None:
    """Return the text up to the chunk after the first `most`; None if it has no more chunks.

    Only ASCII blanks separate chunks, because Punkt takes a no-break space for a letter.
    """
    count = 0
    for match in _CHUNK.finditer(raw):
        count += not match[0].isspace()
        if count > most:
            return raw[: match.start()]
    return None


def _tail(raw: str, most: int) -> str | None:
    """Return the end of the text, from the blank before its last `most` chunks; None without such a blank.

    A chunk is a run of characters without blanks.
    """
    start = len(raw)
    for _ in range(most):
        end = len(raw[:start].rstrip())
        start = max(raw.rfind(blank, 0, end) for blank in _BLANKS)
        if start < 0:
            return None
    return raw[start:]


@feature
def _opening(text: Text) -> list[str]:
    raw = text.raw
    if len(raw) < _LONG:
        return text.tokens[:_MOST]
    head = _head(raw, _CHUNKS)
    return (text if head is None else Text(f"{head}x")).tokens[:_MOST]


@feature
def _closing(text: Text) -> list[str]:
    raw = text.raw.rstrip()
    if len(raw) < _LONG:
        return text.tokens[-_MOST:]
    tail = _tail(raw, _CHUNKS)
    if tail is not None:
        raw, text = f"x{tail}", Text(f"x{tail}")
        if len(raw) < _MUCH:
            return text.tokens[-_MOST:]
    start, end = (0, len(raw)) if _has_no_stop(text) else text.sentence_spans[-1]
    clean_cut = _CLEAN_CUT.search(raw, end - _STRETCH, end - _STRETCH // 2) if end - start >= _LONG else None
    if clean_cut is not None:
        tokens = tokenize(raw[clean_cut.start() : end])
        if len(tokens) >= _AT_CUT + _MOST:
            return tokens[-_MOST:]
    tokens = []
    for start, end in reversed(text.sentence_spans):
        tokens = tokenize(raw[start:end]) + tokens
        if len(tokens) >= _MOST:
            break
    return tokens[-_MOST:]


_CLEAN_CUT = re.compile(r"""(?<=[^'`".-])[^'`".-]""")
"""A place to cut: no mark is next to it that can form one token with others."""


@feature
def _has_no_stop(text: Text) -> bool:
    return not any(mark in text.raw for mark in ".?!")


def plain_chunks(text: Text) -> Iterator[str]:
    """Yield the chunks of letters and digits alone; each is one of `Text.tokens`, wherever sentences end."""
    return (chunk for chunk in text.chunks if chunk.isalnum() and not is_contracted(chunk))


def tokens_of(text: Text) -> Iterator[str]:
    """Yield `Text.tokens`, sentence by sentence, for callers that need only the first few."""
    return (token for sentence in text.sentences for token in iterate(sentence))


def iterate_tokens(sentence: str) -> Iterator[str]:
    """Yield the tokens of NLTK's `word_tokenize(sentence)`, one by one.

    The sentence is searched for sentences again, which may find several.
    """
    for start, end in iterate_spans(sentence):
        yield from iterate(sentence[start:end])


def leading_tokens(sentence: str, most: int) -> list[str]:
    """Return the first `most` tokens of NLTK's `word_tokenize(sentence)`."""
    head = _head(sentence, most + 2)
    return Text(sentence if head is None else f"{head}x").tokens[:most]


def first_tokens(text: Text, most: int) -> list[str]:
    """Return the first `most` (at most 3) of `Text.tokens`."""
    return _opening(text)[:most]


def last_tokens(text: Text, most: int) -> list[str]:
    """Return the last `most` (at most 3) of `Text.tokens`."""
    return _closing(text)[-most:]
