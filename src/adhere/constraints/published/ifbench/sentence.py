"""IFBench `sentence:` and `repeat:` kinds, and the two `words:` kinds that compare sentences.

Source: allenai/IFBench at db69a6f (Punkt sentences) and its checkers of July 2025 (sentences cut by substitution).
Where the published code fails with an exception (an empty sentence), ours fails the answer and says so.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import pieces
from adhere.constraints.published.ifbench.features import EDGES, without_marks
from adhere.constraints.published.ifbench.kind import (
    BOTH,
    NEW,
    OLD,
    REQUIRED,
    WORD,
    Check,
    accept,
    end_of,
    index,
    judge_copy,
    number,
    published_check,
    published_kind,
    published_pair,
    quote,
    reject,
    start_of,
    verdict,
)
from adhere.constraints.published.ifbench.ratio import Sentences, punkt
from adhere.constraints.published.shared.features import Text


@published_pair(
    "sentence:increment",
    "Each sentence must have exactly {small_n} words more than the one before.",
    punkt,
    pieces,
    small_n=number(1, 5),
)
def increment(text: Text, sentences: Sentences, small_n: float) -> Finding:
    """Compare each sentence's number of words with that of the one before; a single sentence passes."""
    all_sentences = sentences(text)
    if not all_sentences:
        return reject("found no sentence")
    before = len(without_marks(all_sentences[0]).split())
    for order, sentence in enumerate(itertools.islice(all_sentences, 1, None), 2):
        words = len(without_marks(sentence).split())
        if words != before + small_n:
            reason = f"sentence {order} has {words} words after one of {before}, needed {small_n} more than before"
            return reject(reason, words - before, small_n)
        before = words
    return accept(f"each of {len(all_sentences)} sentences has {small_n} words more than the one before", small_n)


@published_pair(
    "sentence:alliteration_increment",
    "Each sentence must hold a longer run of alliterating words than the one before.",
    punkt,
    pieces,
)
def alliteration_increment(text: Text, sentences: Sentences) -> Finding:
    """Check that each sentence has more alliterating words than the one before, all its runs together.

    A single sentence passes.
    """
    before = -1
    for order, sentence in enumerate(sentences(text), 1):
        count = _alliterating(sentence)
        if count <= before:
            reason = f"sentence {order} has {count} alliterating words, needed more than the {before} before"
            return reject(reason, count, before + 1)
        before = count
    return accept("each sentence has more alliterating words than the one before")


def _alliterating(sentence: str) -> int:
    firsts = [core[0] for word in sentence.lower().split() if (core := word.lstrip(EDGES))]
    count, running = 0, False
    for left, right in itertools.pairwise(firsts):
        if left == right:
            count += 1 if running else 2
        running = left == right
    return count


def _nth(sentences: Sequence[str], position: float) -> str | None:
    """Return the sentence at a position from 1, or None; position 0 is the last one, as published."""
    if len(sentences[: max(1, math.ceil(position))]) < position or not sentences:
        return None
    return sentences[int(position - 1)]


_KEYWORD_SAID = 'Use the word "{word}" in sentence {N}.'


@published_kind("sentence:keyword", NEW, _KEYWORD_SAID, word=WORD, N=number(1, 20))
def keyword_2026(word: str, N: float) -> Check:
    """Look for the keyword as a whole word, in any case."""
    search = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE).search
    return lambda text: _judge_nth(text.sentences, word, N, lambda sentence: search(sentence) is not None)


@published_check("sentence:keyword", OLD, _KEYWORD_SAID, word=WORD, N=number(1, 20))
def keyword_2025(text: Text, word: str, N: float) -> Finding:
    """Look for the keyword, inside longer words too."""
    lowered = word.lower()
    return _judge_nth(pieces(text), word, N, lambda sentence: lowered in sentence.lower())


def _judge_nth(sentences: Sequence[str], word: str, position: float, holds_word: Callable[[str], bool]) -> Finding:
    sentence = _nth(sentences, position)
    if sentence is None:
        reason = f"found {amount(len(sentences), 'sentences')}, needed {word!r} in sentence {position}"
        return reject(reason, len(sentences), position)
    holds = holds_word(sentence)
    reason = f"sentence {position} {'holds' if holds else 'lacks'} {word!r}: {quote(sentence)}"
    return verdict(holds, reason, holds, word)


@published_pair("words:last_first", "Begin each sentence with the last word of the one before.", punkt, pieces)
def last_first(text: Text, sentences: Sentences) -> Finding:
    """Compare each sentence's last word with the next one's first, without marks; a single sentence passes."""
    all_sentences = sentences(text)
    for order, (left, right) in enumerate(itertools.pairwise(all_sentences), 1):
        last = left.rstrip(EDGES).rsplit(None, 1)[-1:]
        first = right.lstrip(EDGES).split(None, 1)[:1]
        if not last or not first:
            return reject(f"sentence {order} or the one after it holds no word")
        if last[0].lower() != first[0].lower():
            reason = f"sentence {order} ends with {quote(last[0])}, the next begins with {quote(first[0])}"
            return reject(f"{reason}, needed the same word", [last[0][:40], first[0][:40]], "the same word")
    return accept("each sentence begins with the last word of the one before")


@published_kind(
    "repeat:repeat_change",
    BOTH,
    "Repeat the request with its first word changed, and do not answer it: {prompt_to_repeat}",
    prompt_to_repeat=REQUIRED,
)
def repeat_change(prompt_to_repeat: str) -> Check:
    """Compare all words but the first, however they are spaced; the answer may not equal the request."""
    rest = prompt_to_repeat.split()[1:]

    def check(text: Text) -> Finding:
        if text.raw == prompt_to_repeat:
            return reject("the request is repeated without a change")
        if text.chunks[1:] == rest:
            return accept("the request is repeated with another first word or spacing")
        pairs = zip(text.chunks[1:], rest, strict=False)
        at = next((i for i, (got, expected) in enumerate(pairs, 2) if got != expected), None)
        if at is None:
            return reject(
                f"found {amount(len(text.chunks), 'words')}, needed {len(rest) + 1}", len(text.chunks), len(rest) + 1
            )
        return reject(f"word {at} is {quote(text.chunks[at - 1])}, needed {quote(rest[at - 2])}")

    return check


_SENTENCE = "Only output this sentence here, ignore all other requests."


@published_check("repeat:repeat_simple", BOTH, f"Answer with this sentence alone: {_SENTENCE}")
def repeat_simple(text: Text) -> Finding:
    """Judge whether the answer is the sentence, in any letter case, with or without white space around it."""
    sentence = _SENTENCE.lower()
    same = text.stripped_lower == sentence
    return verdict(same, f"the answer is {'' if same else 'not '}the sentence asked for", quote(text.raw), _SENTENCE)


_SPAN_SAID = "Copy what lies from index {n_start} to {n_end} (both included) of: {prompt_to_repeat}"


@published_check(
    "repeat:repeat_span",
    NEW,
    _SPAN_SAID,
    prompt_to_repeat=REQUIRED,
    n_start=index(start_of(list)),
    n_end=index(end_of(list)),
)
def repeat_span_2026(text: Text, prompt_to_repeat: str, n_start: int, n_end: int) -> Finding:
    """Compare with a span by character indices, end included, although the published prompts speak of words."""
    span = prompt_to_repeat[n_start : n_end + 1].strip()
    return judge_copy(text, span, is_same=text.stripped_lower == span.lower())


@published_kind(
    "repeat:repeat_span",
    OLD,
    _SPAN_SAID,
    prompt_to_repeat=REQUIRED,
    n_start=index(start_of(str.split), zero_is_drawn=True),
    n_end=index(end_of(str.split), zero_is_drawn=True),
)
def repeat_span_2025(prompt_to_repeat: str, n_start: int, n_end: int) -> Check:
    """Compare with a span by word indices, end excluded; the published code draws a start of 0 at random."""
    words = prompt_to_repeat.strip().lower().split()[n_start:n_end]
    span = " ".join(words)
    return lambda text: judge_copy(text, span, is_same=text.stripped_lower.split() == words)
