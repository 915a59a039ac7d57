"""IFTrain kinds about shape and copying.

`copy:`, `new:`, `paragraphs:`, `detectable_format:`, `count:counting_composition`.

Source: allenai/open-instruct IFEvalG (profile `iftrain`), behaviour reproduced with its quirks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import iterate, pieces
from adhere.constraints.published.ifbench.english.tokens import iterate_tokens
from adhere.constraints.published.ifbench.features import feature
from adhere.constraints.published.ifbench.kind import (
    IFTRAIN,
    REQUIRED,
    WORD,
    Check,
    accept,
    end_of,
    index,
    judge_copy,
    published_check,
    published_kind,
    quote,
    reject,
    start_of,
    verdict,
    whole,
)
from adhere.constraints.published.iftrain.phrases import phrases
from adhere.constraints.published.shared.features import Text


def _copy(prompt_to_repeat: str) -> Check:
    """Make a check that the answer is the request and nothing else, in any case."""
    expected = prompt_to_repeat.strip()
    lower = expected.lower()
    return lambda text: judge_copy(text, expected, is_same=text.stripped_lower == lower)


_COPY_SAID = "Repeat this without a change and say nothing else: {prompt_to_repeat}"
copy = published_kind("copy:copy", IFTRAIN, _COPY_SAID, prompt_to_repeat=REQUIRED)(_copy)
copying_simple = published_kind("copy:copying_simple", IFTRAIN, _COPY_SAID, prompt_to_repeat=REQUIRED)(_copy)


@published_check(
    "copy:copying_multiple",
    IFTRAIN,
    "Repeat this {N} times, separated by six asterisks: {prompt_to_repeat}",
    prompt_to_repeat=REQUIRED,
    N=whole(2, 3),
)
def copying_multiple(text: Text, prompt_to_repeat: str, N: float) -> Finding:
    """Compare each copy with the request, in any case, without white space around it."""
    expected = prompt_to_repeat.strip().lower()
    copies = text.raw.split("******")
    if len(copies) != N:
        return reject(f"found {amount(len(copies), 'parts')} between ******, needed {N}", len(copies), N)
    for order, part in enumerate(copies, 1):
        if part.strip().lower() != expected:
            return reject(f"part {order} is {quote(part.strip())}, needed {quote(prompt_to_repeat)}")
    return accept(f"found {N} copies", N, N)


@published_kind(
    "copy:repeat_phrase",
    IFTRAIN,
    "Repeat the phrase {phrase} {small_n} times, each time with one word in its middle replaced.",
    phrase=WORD,
    small_n=whole(2, 3),
)
def repeat_phrase(phrase: str, small_n: float) -> Check:
    """Check each piece of a line from the phrase's first word to its last; both words are raw patterns."""
    words = phrase.split()
    find = phrases(words[0], words[-1]) if words else None

    def check(text: Text) -> Finding:
        if find is None:
            return Finding("undecided", "the phrase is blank")
        copies = find(text.raw)
        if isinstance(copies, str):
            return Finding("undecided", copies)
        if len(copies) != small_n:
            return reject(f"found the phrase {len(copies)} times, needed {small_n}", len(copies), small_n)
        changed = 0
        for piece in copies:
            got = piece.split()
            changed = sum(left != right for left, right in zip(got, words, strict=False))
            if changed > 1 or len(got) != len(words):
                return reject(f"{quote(piece)} differs from the phrase in more than one word")
        # As published: of the copies before the last one, an unchanged one is let pass.
        return verdict(changed == 1, f"the last copy differs in {changed} words, needed 1", changed, 1)

    return check


@published_kind(
    "new:copy_span_idx",
    IFTRAIN,
    "Copy what lies from index {n_start} to {n_end} of: {prompt_to_repeat}",
    prompt_to_repeat=REQUIRED,
    n_start=index(start_of(list), zero_is_drawn=True),
    n_end=index(end_of(list), zero_is_drawn=True),
)
def copy_span_idx(prompt_to_repeat: str, n_start: int, n_end: int) -> Check:
    """Compare with a span by character indices, end excluded; the published code draws a start of 0 at random."""
    span = prompt_to_repeat[n_start:n_end].strip()
    lower = span.lower()
    return lambda text: judge_copy(text, span, is_same=text.stripped_lower == lower)


@published_check("detectable_format:sentence_hyphens", IFTRAIN, "Join all sentences by hyphens, without blanks.")
def sentence_hyphens(text: Text) -> Finding:
    """Compare the pieces between hyphens, pair by pair, with the sentences of the text with hyphens as blanks."""
    sentences = iterate(text.raw.replace("-", " "))
    for order, (piece, sentence) in enumerate(zip(text.raw.split("-"), sentences, strict=False), 1):
        if piece != sentence:
            return reject(f"piece {order} between hyphens is {quote(piece)}, the sentence {quote(sentence)}")
    return accept("each sentence is joined to the next by a hyphen")


@published_check("detectable_format:square_brackets", IFTRAIN, "Put every word in square brackets.")
def square_brackets(text: Text) -> Finding:
    """Check that every white-space word stands in square brackets."""
    for order, word in enumerate(text.chunks, 1):
        if word[0] != "[" or word[-1] != "]":
            return reject(f"word {order}, {quote(word)}, is not in square brackets", word[:40])
    return accept("every word is in square brackets")


@published_check(
    "detectable_format:bigram_wrapping", IFTRAIN, "Wrap each pair of words in double angular brackets, <<like this>>."
)
def bigram_wrapping(text: Text) -> Finding:
    """Check that each pair of words stands in double angular brackets; an odd last word is ignored."""
    words = text.chunks
    for left, right in zip(words[::2], words[1::2], strict=False):
        if not (left.startswith("<<") and right.endswith(">>")):
            return reject(f"{quote(f'{left[:40]} {right[:40]}')} is not in double angular brackets")
    return accept("each pair of words is in double angular brackets")


_DIVIDER = re.compile(r"\s?\*\*\*\s?")


@feature
def _split_at_dividers(text: Text) -> list[str]:
    return _DIVIDER.split(text.raw) if "***" in text.raw else [text.raw]


def _two_paragraphs(paragraphs: list[str]) -> Finding:
    """Check for two paragraphs; a blank one is allowed at either end."""
    count = len(paragraphs)
    for at, paragraph in enumerate(paragraphs):
        if not paragraph or paragraph.isspace():
            if 0 < at < len(paragraphs) - 1:
                return reject(f"paragraph {at + 1} is empty")
            count -= 1
    return verdict(count == 2, f"found {amount(count, 'paragraphs')}, needed 2", count, 2)


@published_kind("paragraphs:paragraphs", IFTRAIN, "Write two paragraphs, separated by ***.")
def paragraphs() -> Check:
    """Check for two paragraphs with a divider, which may be anywhere."""
    return lambda text: _two_paragraphs(_split_at_dividers(text))


@published_kind("paragraphs:paragraphs2", IFTRAIN, "Write two paragraphs, separated by two line breaks.")
def paragraphs2() -> Check:
    """Check for two paragraphs; a third line break belongs to the paragraph after it."""
    return lambda text: _two_paragraphs(text.raw.split("\n\n"))


def judge_composition(
    parts: Sequence[str],
    n_sent: float,
    n_words: float,
    *,
    sentences_of: Callable[[str], Iterable[str]] = iterate,
    words_of: Callable[[str], Iterable[str]] = iterate_tokens,
) -> Finding:
    """Judge whether there are three parts, of `n_sent` sentences each, of `n_words` words each."""
    most = max(1000, math.ceil(n_sent) + 1)  # counting on would change no verdict
    for order, part in enumerate(parts, 1):
        sentences = list(islice(sentences_of(part), most))
        if len(sentences) != n_sent or not part.strip():
            return reject(f"paragraph {order} has {len(sentences)} sentences, needed {n_sent}", len(sentences), n_sent)
        for sentence in sentences:
            count = sum(1 for _ in words_of(sentence))
            if count != n_words:
                return reject(f"{quote(sentence)} has {count} words, needed {n_words}", count, n_words)
    return verdict(len(parts) == 3, f"found {amount(len(parts), 'paragraphs')}, needed 3", len(parts), 3)


@published_check(
    "count:counting_composition",
    IFTRAIN,
    "Write 3 paragraphs separated by ***, of {n_sent} sentences each, of {n_words} words each.",
    n_sent=whole(2, 3),
    n_words=whole(2, 3),
)
def counting_composition(text: Text, n_sent: float, n_words: float) -> Finding:
    """Check paragraphs by sentences cut by substitution and by all Treebank tokens, marks too.

    No divider may be at either end.
    """
    parts = _split_at_dividers(text)
    sentences_of = iterate if len(parts) > 1 else lambda _text: pieces(text)
    return judge_composition(parts, n_sent, n_words, sentences_of=sentences_of)
