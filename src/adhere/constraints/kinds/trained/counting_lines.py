"""Kinds of the family `counting` that measure each sentence, line or paragraph."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Finding, Whole, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.rule import MOST_SENTENCES, Rule, decide, exactly, plural
from adhere.text.markdown import bullets
from adhere.text.words import count_words, has_words, paragraphs, sentence_spans, sentences, word_lines

_PROSE = "Cats sleep for most of the day because hunting takes energy and rest helps them save it for later".split()
_SHAPE = frozenset({"shape", "wrap"})


def sentence_of(count: int) -> str:
    """Return a sentence of `count` words."""
    repeats, rest = divmod(count, len(_PROSE))
    return " ".join([*_PROSE * repeats, *_PROSE[:rest]]).capitalize() + "."


def _lengths(pieces: Sequence[str]) -> list[int]:
    return [count_words(piece) for piece in pieces]


def _shorten(counts: Sequence[int]) -> str:
    """Return `"3, 5 and 2"`, cut short after eight numbers."""
    numbers = [str(count) for count in counts[:8]] + (["…"] if len(counts) > 8 else [])
    return numbers[0] if len(numbers) == 1 else f"{', '.join(numbers[:-1])} and {numbers[-1]}"


def first_sentences(text: str) -> list[str]:
    """Return the sentences, at most MOST_SENTENCES of them."""
    return [text[start:end] for start, end in sentence_spans(text, most=MOST_SENTENCES)]


def _match(counts: Sequence[int], expected: Sequence[int], noun: str) -> Finding:
    """Judge a list of word counts against the only right list."""
    if len(counts) != len(expected):
        return exactly(len(counts), len(expected), noun)
    right = sum(count == expected_count for count, expected_count in zip(counts, expected, strict=True))
    reason = f"the {noun}s have {_shorten(counts)} words, needed {_shorten(expected)}"
    return decide(
        right == len(expected),
        reason,
        measured=list(counts[:50]),
        needed=list(expected[:50]),
        score=right / len(expected),
    )


@kind
class BulletWords(Rule):
    r"""A list of `bullets` bullets with exactly `words` words each.

    With (2, 1): "- Cats\n- Dogs" passes, "- Cats" fails.
    """

    id = "counting:bullet_words"
    version = 2
    claims = _SHAPE | {"length"}
    order = 51
    phrasings = (
        "Answer with {bullets} bullet points of exactly {words} words each.",
        'Write a list of {bullets} lines that start with "- ", and give each exactly {words} words.',
        "Use exactly {bullets} bullets; every bullet must have {words} words, no more and no fewer.",
        "I want {bullets} bullet points, {words} words in each of them.",
        "Each of your {bullets} list items has to be {words} words long.",
    )
    passing = ({"bullets": 2, "words": 1}, "- Cats\n- Dogs")
    failing = ({"bullets": 2, "words": 1}, "- Cats")

    bullets: int = param(Whole(1, 200), drawn=(2, 3))
    words: int = param(Whole(1, 200), drawn=range(3, 7))

    def judge(self, text: str) -> Finding:
        return _match(_lengths([bullet.text for bullet in bullets(text)]), [self.words] * self.bullets, "bullet")

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [edits.cut_words_only(piece, self.words) for piece in edits.split_into(text, self.bullets) or ()]
        if all(pieces):
            yield edits.join_lines([piece for piece in pieces if piece], "- ")
        every = " ".join(sentences(edits.plain(text))).split()
        starts = range(0, self.bullets * self.words, self.words)
        yield edits.join_lines([" ".join(every[at : at + self.words]) for at in starts], "- ")

    def witness(self) -> str:
        return edits.join_lines([sentence_of(self.words)] * self.bullets, "- ")

    def counter_witness(self) -> str:
        return edits.join_lines([sentence_of(self.words + 1)] * self.bullets, "- ")

    def fewest_words(self) -> int:
        return self.bullets * self.words


@kind
class ShrinkingSentences(Rule):
    """Exactly `count` sentences, each with fewer words than the one before.

    With 2: "All cats sleep. Dogs bark." passes.
    """

    id = "counting:shrinking_sentences"
    version = 2
    claims = frozenset({"shape"})
    order = 23
    phrasings = (
        "Write exactly {count} sentences, each with fewer words than the one before it.",
        "Answer in {count} sentences that get shorter and shorter, counted in words.",
        "Use {count} sentences and make every sentence shorter (in words) than the previous one.",
        "Your {count} sentences have to shrink: each must hold fewer words than the last.",
        "The word counts of your {count} sentences must strictly decrease.",
    )
    passing = ({"count": 2}, "All cats sleep. Dogs bark.")
    failing = ({"count": 2}, "Cats sleep. Dogs bark.")

    count: int = param(Whole(2, 50), drawn=(2, 2, 3))

    def judge(self, text: str) -> Finding:
        lengths = _lengths(first_sentences(text))
        if len(lengths) != self.count:
            return exactly(len(lengths), self.count, "sentence")
        right = sum(length > after for length, after in itertools.pairwise(lengths))
        reason = f"the sentences have {_shorten(lengths)} words, needed fewer from one to the next"
        return decide(
            right == self.count - 1, reason, measured=lengths[:50], needed=self.count, score=right / (self.count - 1)
        )

    def repairs(self, text: str) -> Iterator[str]:
        yield " ".join(sorted(edits.split_into(text, self.count) or (), key=count_words, reverse=True))
        yield edits.add_sentence(" ".join(edits.split_into(text, self.count - 1) or ()), "That is it.")

    def witness(self) -> str:
        return " ".join(sentence_of(self.count + 1 - number) for number in range(self.count))

    def counter_witness(self) -> str:
        return "Cats sleep. " * self.count

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class EvenParagraphs(Rule):
    r"""`paragraphs` paragraphs with exactly `sentences` sentences each.

    With (2, 1): "Cats sleep.\n\nDogs bark." passes.
    """

    id = "counting:even_paragraphs"
    version = 2
    claims = frozenset({"shape"})
    order = 50
    phrasings = (
        "Write {paragraphs} paragraphs (with a blank line between them) of exactly {sentences} each.",
        "Your answer must have {paragraphs} paragraphs, and each paragraph {sentences}.",
        "Use {paragraphs} paragraphs; give every one of them precisely {sentences}.",
        "Split your answer into {paragraphs} paragraphs by blank lines, with {sentences} in each.",
        "Each of the {paragraphs} paragraphs of your answer has to consist of {sentences}.",
    )
    passing = ({"paragraphs": 2, "sentences": 1}, "Cats sleep.\n\nDogs bark.")
    failing = ({"paragraphs": 2, "sentences": 1}, "Cats sleep.\n\nDogs bark. They do.")

    paragraphs: int = param(Whole(2, 50))
    sentences: int = param(Whole(1, 50), noun="sentence")

    def judge(self, text: str) -> Finding:
        pieces = [piece for piece in paragraphs(text) if has_words(piece)]
        if len(pieces) != self.paragraphs:
            return exactly(len(pieces), self.paragraphs, "paragraph")
        counts = [len(sentence_spans(piece, most=MOST_SENTENCES)) for piece in pieces]
        right = counts.count(self.sentences)
        reason = f"the paragraphs have {_shorten(counts)} sentences, needed {self.sentences} in each"
        return decide(
            right == self.paragraphs, reason, measured=counts, needed=self.sentences, score=right / self.paragraphs
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(2, rng.choice((1, 2, 2)))

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.paragraphs * self.sentences) or []
        groups = [pieces[at : at + self.sentences] for at in range(0, len(pieces), self.sentences)]
        yield "\n\n".join(" ".join(group) for group in groups)

    def witness(self) -> str:
        return "\n\n".join([" ".join(["Cats sleep."] * self.sentences)] * self.paragraphs)

    def fewest_words(self) -> int:
        return 4 * self.paragraphs * self.sentences


@kind
class SentenceWords(Rule):
    """Every sentence has `low` to `high` words. With (2, 4): "Cats sleep. Dogs bark a lot." passes, "Cats." fails."""

    id = "counting:sentence_words"
    version = 2
    claims = frozenset({"sentence length"})
    order = 24
    phrasings = (
        "Every sentence must have between {low} and {high} words.",
        "Write only sentences of {low} to {high} words.",
        "Keep each sentence to at least {low} and at most {high} words.",
        "No sentence may have fewer than {low} or more than {high} words.",
        "The length of every single sentence should lie in the range of {low}-{high} words.",
    )
    passing = ({"low": 2, "high": 4}, "Cats sleep. Dogs bark a lot.")
    failing = ({"low": 2, "high": 4}, "Cats.")

    low: int = param(Whole(1, 500))
    high: int = param(Whole(2, 1000))

    def problem(self) -> str | None:
        return None if self.low < self.high else f"low={self.low} must be below high={self.high}"

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        lengths = [count_words(text[start:end]) for start, end in spans]
        wrong = [at for at, length in enumerate(lengths) if not self.low <= length <= self.high]
        reason = (
            f"{plural(len(spans), 'sentence')} of {_shorten(lengths)} words, needed {self.low} to {self.high} in each"
        )
        return decide(
            not wrong,
            reason,
            measured=lengths[wrong[0]] if wrong else min(lengths, default=0),
            needed=[self.low, self.high],
            span=spans[wrong[0]] if wrong else None,
            score=1 - len(wrong) / max(1, len(spans)),
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        low = rng.randint(4, 7)
        return cls(low, low + rng.choice((6, 8, 10)))

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [edits.cut_words_only(piece, self.high) or piece for piece in sentences(text)]
        yield " ".join(pieces)
        long_enough = [piece for piece in pieces if count_words(piece) >= self.low]
        yield " ".join(long_enough)

    def witness(self) -> str:
        return sentence_of(self.low)

    def counter_witness(self) -> str:
        return sentence_of(self.high + 1)

    def fewest_words(self) -> int:
        return self.low


@kind
class LineWords(Rule):
    r"""Exactly `lines` lines of exactly `words` words each.

    With (2, 2): "Cats sleep\nDogs bark" passes, "Cats sleep" fails.
    """

    id = "counting:line_words"
    version = 2
    claims = _SHAPE | {"length"}
    order = 52
    phrasings = (
        "Write exactly {lines} lines with exactly {words} words on each line.",
        "Your answer must be {lines} lines long, and every line must have {words} words.",
        "Use {lines} lines; each of them holds {words} words, no more and no fewer.",
        "I want {lines} lines of {words} words each.",
        "Spread your answer over {lines} lines that have precisely {words} words apiece.",
    )
    passing = ({"lines": 2, "words": 2}, "Cats sleep\nDogs bark")
    failing = ({"lines": 2, "words": 2}, "Cats sleep")

    lines: int = param(Whole(1, 200), drawn=(2, 3, 3))
    words: int = param(Whole(1, 200), drawn=range(3, 7))

    def judge(self, text: str) -> Finding:
        return _match(_lengths(word_lines(text, most=MOST_SENTENCES)), [self.words] * self.lines, "line")

    def repairs(self, text: str) -> Iterator[str]:
        every = " ".join(sentences(edits.plain(text))).split()
        total = self.lines * self.words
        if len(every) >= total:
            rows = [" ".join(every[at : at + self.words]) for at in range(0, total, self.words)]
            yield "\n".join([*rows[:-1], edits.end_sentence(rows[-1])])

    def witness(self) -> str:
        return "\n".join([sentence_of(self.words)] * self.lines)

    def counter_witness(self) -> str:
        return "\n".join([sentence_of(self.words + 1)] * self.lines)

    def fewest_words(self) -> int:
        return self.lines * self.words


@kind
class ThreeLines(Rule):
    r"""Three lines with `first`, `second` and `third` words. With (1, 2, 1): "Cats\nsleep long\nthere" passes."""

    id = "counting:three_lines"
    version = 2
    claims = _SHAPE | {"length"}
    order = 52
    phrasings = (
        "Write three lines: the first with {first}, the second with {second} and the third with {third} words.",
        "Answer in a short poem of three lines that have {first}, {second} and {third} words.",
        "Your answer must be three lines of {first}, {second} and {third} words, in this order.",
        "Use exactly three lines. Their word counts have to be {first}, {second}, {third}.",
        "Give me {first} words on line one, {second} on line two and {third} on line three, and no more lines.",
    )
    passing = ({"first": 1, "second": 2, "third": 1}, "Cats\nsleep long\nthere")
    failing = ({"first": 1, "second": 2, "third": 1}, "Cats\nsleep\nthere")

    first: int = param(Whole(1, 100))
    second: int = param(Whole(1, 100))
    third: int = param(Whole(1, 100))

    def judge(self, text: str) -> Finding:
        return _match(_lengths(word_lines(text, most=MOST_SENTENCES)), [self.first, self.second, self.third], "line")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*rng.choice(((3, 5, 3), (5, 7, 5), (2, 4, 6), (6, 4, 2), (4, 5, 4))))

    def repairs(self, text: str) -> Iterator[str]:
        every = " ".join(sentences(edits.plain(text))).split()
        first_end, second_end = self.first, self.first + self.second
        if len(every) >= second_end + self.third:
            rows = every[:first_end], every[first_end:second_end], every[second_end : second_end + self.third]
            yield edits.end_sentence("\n".join(map(" ".join, rows)))

    def witness(self) -> str:
        return "\n".join(map(sentence_of, (self.first, self.second, self.third)))

    def counter_witness(self) -> str:
        return sentence_of(self.first)

    def fewest_words(self) -> int:
        return self.first + self.second + self.third
