"""IFBench `ratio:` kinds: stop words, trigram overlap, sentence types.

Source: allenai/IFBench at db69a6f and its checkers of July 2025; the latter cut sentences by substitution.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import resources

from adhere.constraints.base import Finding
from adhere.constraints.reference.features import Text
from adhere.constraints.reference.ifbench_kind import (
    BOTH,
    NEW,
    OLD,
    REQUIRED,
    Check,
    failed,
    number,
    rule,
    verdict,
)
from adhere.constraints.reference.ifbench_splitter import pieces

Sentences = Callable[[Text], Sequence[str]]


def punkt(text: Text) -> Sequence[str]:
    """Sentences of the 2026 checkers."""
    return text.sentences


@functools.cache
def _stop_words() -> tuple[frozenset[str], frozenset[bytes]]:
    words = (resources.files("adhere.constraints.reference") / "ifbench_stopwords.txt").read_text("utf-8").split()
    return frozenset(words), frozenset(word.encode("ascii") for word in words)


def _count_stop_words(text: Text) -> tuple[int, int]:
    """(stop words, words)."""
    stop, stop_bytes = _stop_words()
    if text.raw.isascii():
        words = text.lower.encode("ascii").translate(_WORD_BYTES).split()
        return sum(map(stop_bytes.__contains__, words)), len(words)
    lowered = list(map(str.lower, text.words))
    return sum(map(stop.__contains__, lowered)), len(lowered)


_WORD_BYTES = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)) + bytes(128)


@rule("ratio:stop_words", BOTH, "At most {percentage}% of the words may be stop words.", percentage=number(1, 100))
def stop_words(percentage: float) -> Check:
    """The 198 English stop words of NLTK, among runs of word characters."""

    def check(text: Text) -> Finding:
        found, words = _count_stop_words(text)
        if not words:
            return failed("found no words to take a share of", needed=percentage)
        share = (found / words) * 100
        reason = f"{found} of {words} words ({share:.1f}%) are stop words, needed at most {percentage}%"
        return verdict(share <= percentage, reason, share, percentage)

    return check


@rule(
    "ratio:overlap",
    BOTH,
    "Share {percentage}% (give or take 2) of your trigrams with this text: {reference_text}",
    reference_text=REQUIRED,
    percentage=number(1, 100),
)
def overlap(reference_text: str, percentage: float) -> Check:
    """Trigrams of characters, as published (the prompt means words)."""
    wanted = _trigrams(reference_text)

    def check(text: Text) -> Finding:
        found = _trigrams(text.raw)
        needed = f"{percentage - 2} to {percentage + 2}"
        if not found:
            return failed("found no three characters to compare", needed=needed)
        share = len(found & wanted) / len(found) * 100
        reason = f"{share:.1f}% of the character trigrams are in the text given, needed {needed}%"
        return verdict(percentage - 2 <= share <= percentage + 2, reason, share, needed)

    return check


def _trigrams(text: str) -> set[tuple[str, str, str]]:
    return set(zip(text, text[1:], text[2:], strict=False))


def _sentence_type(sentences: Sentences) -> Callable[[], Check]:
    def sentence_type() -> Check:
        def check(text: Text) -> Finding:
            found = sentences(text)
            stated = sum(sentence.endswith(".") for sentence in found)
            asked = sum(sentence.endswith("?") for sentence in found)
            reason = f"found {stated} sentences with a full stop and {asked} with a question mark, needed 2 to 1"
            return verdict(stated == 2 * asked, reason, [stated, asked], "2 to 1")

        return check

    return sentence_type


_TYPE_SAID = "Keep a 2:1 ratio of declarative to interrogative sentences."
sentence_type_2026 = rule("ratio:sentence_type", NEW, _TYPE_SAID)(_sentence_type(punkt))
sentence_type_2025 = rule("ratio:sentence_type", OLD, _TYPE_SAID)(_sentence_type(pieces))


def _sentence_balance(sentences: Sentences) -> Callable[[], Check]:
    def sentence_balance() -> Check:
        def check(text: Text) -> Finding:
            found = sentences(text)
            counts = [sum(sentence.endswith(mark) for sentence in found) for mark in ".?!"]
            reason = "found {} sentences with a full stop, {} with a question mark and {} with an exclamation mark, needed as many of each"
            return verdict(counts[0] == counts[1] == counts[2], reason.format(*counts), counts, "as many of each")

        return check

    return sentence_balance


_BALANCE_SAID = "Use as many declarative as interrogative and exclamatory sentences."
sentence_balance_2026 = rule("ratio:sentence_balance", NEW, _BALANCE_SAID)(_sentence_balance(punkt))
sentence_balance_2025 = rule("ratio:sentence_balance", OLD, _BALANCE_SAID)(_sentence_balance(pieces))


def _sentence_words(sentences: Sentences) -> Callable[[], Check]:
    def sentence_words() -> Check:
        """Three sentences of equal length; that their words differ is not looked at, as published."""

        def check(text: Text) -> Finding:
            found = sentences(text)
            if len(found) != 3:
                return failed(f"found {len(found)} sentences, needed 3", len(found), 3)
            lengths = [len(sentence.strip()) for sentence in found]
            reason = f"the sentences have {lengths[0]}, {lengths[1]} and {lengths[2]} characters, needed three times the same"
            return verdict(len(set(lengths)) == 1, reason, lengths, "equal lengths")

        return check

    return sentence_words


_WORDS_SAID = "Answer in three sentences of the same number of characters, all with different words."
sentence_words_2026 = rule("ratio:sentence_words", NEW, _WORDS_SAID)(_sentence_words(punkt))
sentence_words_2025 = rule("ratio:sentence_words", OLD, _WORDS_SAID)(_sentence_words(pieces))

KINDS = (
    stop_words,
    overlap,
    sentence_type_2026,
    sentence_type_2025,
    sentence_balance_2026,
    sentence_balance_2025,
    sentence_words_2026,
    sentence_words_2025,
)
