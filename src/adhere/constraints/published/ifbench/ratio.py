"""IFBench `ratio:` kinds: stop words, trigram overlap, sentence types.

Source: allenai/IFBench at db69a6f and its checkers of July 2025; the latter cut sentences by substitution.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import resources

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import pieces
from adhere.constraints.published.ifbench.kind import (
    BOTH,
    REQUIRED,
    Check,
    number,
    published_check,
    published_kind,
    published_pair,
    reject,
    verdict,
)
from adhere.constraints.published.ifbench.trigrams import shared_characters, trigrams
from adhere.constraints.published.shared.features import Text

Sentences = Callable[[Text], Sequence[str]]


def punkt(text: Text) -> Sequence[str]:
    """Sentences of the 2026 checkers."""
    return text.sentences


@functools.cache
def _stop_words() -> tuple[frozenset[str], frozenset[bytes]]:
    words = (
        (resources.files("adhere.constraints.published.ifbench.english") / "stopwords.txt").read_text("utf-8").split()
    )
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


@published_check(
    "ratio:stop_words", BOTH, "At most {percentage}% of the words may be stop words.", percentage=number(1, 100)
)
def stop_words(text: Text, percentage: float) -> Finding:
    """The 198 English stop words of NLTK, among runs of word characters."""
    found, words = _count_stop_words(text)
    if not words:
        return reject("found no words to take a share of", needed=percentage)
    share = (found / words) * 100
    reason = f"{found} of {words} words ({share:.1f}%) are stop words, needed at most {percentage}%"
    return verdict(share <= percentage, reason, share, percentage)


@published_kind(
    "ratio:overlap",
    BOTH,
    "Share {percentage}% (give or take 2) of your trigrams with this text: {reference_text}",
    reference_text=REQUIRED,
    percentage=number(1, 100),
)
def overlap(reference_text: str, percentage: float) -> Check:
    """Trigrams of characters, as published (the prompt means words)."""
    wanted = trigrams(reference_text)

    def check(text: Text) -> Finding:
        shared, found = shared_characters(text, wanted)
        needed = f"{percentage - 2} to {percentage + 2}"
        if not found:
            return reject("found no three characters to compare", needed=needed)
        share = shared / found * 100
        reason = f"{share:.1f}% of the character trigrams are in the text given, needed {needed}%"
        return verdict(percentage - 2 <= share <= percentage + 2, reason, share, needed)

    return check


def _ends(sentences: Iterable[str]) -> tuple[int, int, int]:
    """How many sentences end in each of the marks `.?!`."""
    ends = Counter(sentence[-1:] for sentence in sentences)
    return ends["."], ends["?"], ends["!"]


def judge_types(sentences: Iterable[str], *, vacuous: bool = True) -> Finding:
    """Tell whether two statements come to a question; `vacuous`: neither kind will do."""
    stated, asked, _ = _ends(sentences)
    said = f"{amount(stated, 'sentences')} with a full stop and {asked} with a question mark"
    holds = stated == 2 * asked and (vacuous or asked > 0)
    return verdict(holds, f"found {said}, needed 2 to 1", [stated, asked], "2 to 1")


@published_pair("ratio:sentence_type", "Keep a 2:1 ratio of declarative to interrogative sentences.", punkt, pieces)
def sentence_type(text: Text, sentences: Sentences) -> Finding:
    """Judge the sentences as published: a text with neither kind passes."""
    return judge_types(sentences(text))


def judge_balance(sentences: Iterable[str], *, vacuous: bool = True) -> Finding:
    """Tell whether statements, questions and exclamations are equally many; `vacuous`: none of them will do."""
    stated, asked, exclaimed = _ends(sentences)
    said = (
        f"{amount(stated, 'sentences')} with a full stop, {asked} with a question mark and {exclaimed} "
        "with an exclamation mark"
    )
    holds = stated == asked == exclaimed and (vacuous or stated > 0)
    return verdict(holds, f"found {said}, needed as many of each", [stated, asked, exclaimed], "as many of each")


@published_pair(
    "ratio:sentence_balance", "Use as many declarative as interrogative and exclamatory sentences.", punkt, pieces
)
def sentence_balance(text: Text, sentences: Sentences) -> Finding:
    """Judge the sentences as published: a text with none of the three passes."""
    return judge_balance(sentences(text))


@published_pair(
    "ratio:sentence_words",
    "Answer in three sentences of the same number of characters, all with different words.",
    punkt,
    pieces,
)
def sentence_words(text: Text, sentences: Sentences) -> Finding:
    """Three sentences of equal length; that their words differ is not looked at, as published."""
    found = sentences(text)
    if len(found) != 3:
        return reject(f"found {amount(len(found), 'sentences')}, needed 3", len(found), 3)
    lengths = [len(sentence.strip()) for sentence in found]
    reason = f"the sentences have {lengths[0]}, {lengths[1]} and {lengths[2]} characters, needed three times the same"
    return verdict(len(set(lengths)) == 1, reason, lengths, "equal lengths")
