"""Count the pronouns of an answer as the two versions of `count:pronouns` do."""

from __future__ import annotations

import functools
import re

from adhere.constraints.published.ifbench.features import feature, without_marks
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.punkt import sentence_spans
from adhere.constraints.published.shared.treebank import tokenize

_PERSONAL = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself they them their theirs themselves"
)
_OLD = frozenset(_PERSONAL.split())
_NEW = _OLD | frozenset(
    (
        "this that these those who whom whose which what whoever whomever whatever whichever anybody anyone "
        "anything everybody everyone everything nobody nothing somebody someone something each either neither "
        "both all some any none"
    ).split()
)
_CLOSERS = "])}>\"'»”’"  # what the Treebank rules let stand between a sentence's last full stop and its end

_OTHER_BLANK = re.compile(r"[^\S ]")


@feature
def count_old(text: Text) -> int:
    """Count pronouns among white-space words of the lower-cased text without marks."""
    words = without_marks(text.raw.replace("/", " ").lower()).split()
    return sum(map(_OLD.__contains__, words))


@feature
def count_new(text: Text) -> int:
    """Count pronouns among the tokens of NLTK's `word_tokenize`, lower-cased, with `/` read as a blank.

    The Treebank rules split white-space chunks one by one, except for a sentence's last full stop. So a chunk's count
    is cached, and only a sentence's end is tokenised afresh.
    """
    raw = text.raw
    lower = raw.replace("/", " ").lower() if "/" in raw else text.lower
    if len(lower) > _LONG and not _may_hold_one(lower):
        return 0
    return sum(_in_sentence(lower[start:end]) for start, end in sentence_spans(lower))


def _in_sentence(sentence: str) -> int:
    body = sentence.rstrip().rstrip(_CLOSERS + " \t\n\r\x0b\x0c")
    chunks = body.split()
    if not chunks:
        return _count(tokenize(sentence))
    if "'" in body and _OTHER_BLANK.search(body):  # a clitic is only cut off before a plain blank
        return _count(tokenize(sentence))
    start_of_end = len(body.rstrip()) - len(chunks.pop())
    count = _in_end(sentence[start_of_end:])
    for chunk in chunks:
        if chunk in _NEW:
            count += 1
        elif not chunk.isalpha() or chunk in _FUSED:
            count += _in_chunk(chunk)
    return count


_FUSED = frozenset(["gimme", "lemme"])  # which the Treebank rules cut before the "me"
_MAY_BE = _NEW | _FUSED
# Runs of small letters; but the "i" of a lower-cased dotted I is never a word.
_LETTERS = re.compile("[a-z]{2,}|[a-hj-z]|i(?!\u0307)")
_LONGEST_CACHED = 40
_LONG = 10_000


def _chunk(chunk: str) -> int:
    return _in_end(f"{chunk} x")


_cached_chunk = functools.lru_cache(maxsize=1 << 14)(_chunk)


def _in_chunk(chunk: str) -> int:
    return _cached_chunk(chunk) if len(chunk) <= _LONGEST_CACHED else _chunk(chunk)


def _in_end(piece: str) -> int:
    """Count pronouns as the rules do; 0 at once if no run of letters could become one (1 MB of commas)."""
    return _count(tokenize(piece)) if _may_hold_one(piece) else 0


def _may_hold_one(piece: str) -> bool:
    return "n't" in piece or not _MAY_BE.isdisjoint(_LETTERS.findall(piece))


def _count(tokens: list[str]) -> int:
    return sum(map(_NEW.__contains__, tokens))


def forget() -> None:
    """Empty the cache of chunks, for measurements."""
    _cached_chunk.cache_clear()
