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
    """Return the sentences as the 2026 checkers cut them."""
    return text.sentences


@functools.cache
def _stop_words() -> tuple[frozenset[str], frozenset[bytes]]:
    words = (
        (resources.files("adhere.constraints.published.ifbench.english") / "stopwords.txt").read_text("utf-8").split()
    )
    return frozenset(words), frozenset(word.encode("ascii") for word in words)


def _count_stop_words(text: Text) -> tuple[int, int]:
    """Return (stop words, words)."""
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
    """Measure the share of NLTK's 198 English stop words among runs of word characters."""
    count, words = _count_stop_words(text)
    if not words:
        return reject("found no words to take a share of", needed=percentage)
    share = (count / words) * 100
    reason = f"{count} of {words} words ({share:.1f}%) are stop words, needed at most {percentage}%"
    return verdict(share <= percentage, reason, share, percentage)


@published_kind(
    "ratio:overlap",
    BOTH,
    "Share {percentage}% (give or take 2) of your trigrams with this text: {reference_text}",
    reference_text=REQUIRED,
    percentage=number(1, 100),
)
def overlap(reference_text: str, percentage: float) -> Check:
    """Measure the share of trigrams of characters, as published (the prompt means words)."""
    reference_trigrams = trigrams(reference_text)
    return lambda text: judge_overlap(shared_characters(text, reference_trigrams), percentage, "character")


def judge_overlap(counts: tuple[int, int], percentage: float, unit: str) -> Finding:
    """Judge (trigrams shared with the text given, all trigrams), of the units named; two percent more or less pass."""
    shared, total = counts
    bounds = f"{percentage - 2} to {percentage + 2}"
    if not total:
        return reject(f"found no three {unit}s to compare", needed=bounds)
    share = shared / total * 100
    reason = f"{share:.1f}% of the {unit} trigrams are in the text given, needed {bounds}%"
    return verdict(percentage - 2 <= share <= percentage + 2, reason, share, bounds)


def _ends(sentences: Iterable[str]) -> tuple[int, int, int]:
    """Count the sentences that end in `.`, in `?` and in `!`."""
    ends = Counter(sentence[-1:] for sentence in sentences)
    return ends["."], ends["?"], ends["!"]


def judge_types(sentences: Iterable[str], *, vacuous: bool = True) -> Finding:
    """Judge whether there are two statements for each question; `vacuous`: having neither passes."""
    statements, questions, _ = _ends(sentences)
    summary = f"{amount(statements, 'sentences')} with a full stop and {questions} with a question mark"
    holds = statements == 2 * questions and (vacuous or questions > 0)
    return verdict(holds, f"found {summary}, needed 2 to 1", [statements, questions], "2 to 1")


@published_pair("ratio:sentence_type", "Keep a 2:1 ratio of declarative to interrogative sentences.", punkt, pieces)
def sentence_type(text: Text, sentences: Sentences) -> Finding:
    """Judge the sentences as published: a text with neither kind passes."""
    return judge_types(sentences(text))


def judge_balance(sentences: Iterable[str], *, vacuous: bool = True) -> Finding:
    """Judge whether statements, questions and exclamations are equally many; `vacuous`: having none passes."""
    statements, questions, exclamations = _ends(sentences)
    summary = (
        f"{amount(statements, 'sentences')} with a full stop, {questions} with a question mark and {exclamations} "
        "with an exclamation mark"
    )
    holds = statements == questions == exclamations and (vacuous or statements > 0)
    return verdict(
        holds, f"found {summary}, needed as many of each", [statements, questions, exclamations], "as many of each"
    )


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
    """Check for three sentences of equal length; as published, their words are not compared."""
    all_sentences = sentences(text)
    if len(all_sentences) != 3:
        return reject(f"found {amount(len(all_sentences), 'sentences')}, needed 3", len(all_sentences), 3)
    lengths = [len(sentence.strip()) for sentence in all_sentences]
    reason = f"the sentences have {lengths[0]}, {lengths[1]} and {lengths[2]} characters, needed three times the same"
    return verdict(len(set(lengths)) == 1, reason, lengths, "equal lengths")
