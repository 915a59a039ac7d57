"""Kinds about the words that an answer holds. Keywords are found as whole words in any case."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from adhere.constraints.base import Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.rule import (
    Rule,
    accept,
    at_least,
    decide,
    exactly,
    pick,
    quoted_list,
    reject,
    topic_word,
    topic_words,
)
from adhere.text.words import count_words, sentence_spans, sentences

# Words that ordinary answers use often, with what can stand in their place.
_OFTEN = {
    "and": "plus", "also": "too", "can": "may", "very": "quite", "important": "key", "many": "several",
    "because": "since", "however": "but", "people": "folks", "help": "aid", "helps": "aids", "good": "fine",
    "often": "frequently", "use": "employ", "used": "employed", "make": "create", "makes": "creates",
    "such": "like", "different": "various", "great": "fine", "like": "such as", "which": "that", "more": "further",
    "most": "nearly all", "well": "nicely", "should": "ought to", "will": "is going to", "need": "require",
}  # fmt: skip

_SENTENCES = (
    "This is also about {word}.",
    "It has a lot to do with {word}.",
    "A good keyword here is {word}.",
    "Think of {word} as well.",
    "Here {word} matters too.",
    "The word {word} fits in here.",
    "It all comes back to {word}.",
)
_SENTENCES_FOR_SEVERAL = (
    "This is also about {word}.",
    "It has a lot to do with {word}.",
    "Good keywords here are {word}.",
    "Think of {word} as well.",
    "Here {word} matter too.",
    "The words {word} fit in here.",
    "It all comes back to {word}.",
)
_CLAUSES = (", with {word} in mind", " (think of {word})", "; think of {word} too", " – {word} included")
_AGAIN = (
    "Again, the key word is {word}.",
    "So {word} matters here.",
    "Once more: {word}.",
    "That is why {word} comes up again.",
    "Remember the word {word}.",
)


def _weave(text: str, words: Sequence[str], *, again: bool = False) -> Iterator[str]:
    """Yield the text with `words` in a short further sentence, and with them in a clause of its last one."""
    word_list = " and ".join(words)
    options = _AGAIN if again else _SENTENCES if len(words) == 1 else _SENTENCES_FOR_SEVERAL
    yield edits.add_sentence(text, edits.capitalise(pick(options, text, word_list).format(word=word_list)))
    yield edits.add_clause(text, pick(_CLAUSES, text, word_list).format(word=word_list))


@kind
class Include(Rule):
    """Every one of `words` occurs. With ("milk",): "Cats drink milk." passes, "Cats drink water." fails."""

    id = "keywords:include"
    version = 2
    order = 30
    phrasings = (
        "Include the {noun} {quoted} in your answer.",
        "Make sure to use the {noun} {quoted}.",
        "Your answer must contain the {noun} {quoted}.",
        "Mention {quoted} somewhere in your answer.",
        "An answer without the {noun} {quoted} does not count.",
    )
    passing = ({"words": ("milk",)}, "Cats drink milk.")
    failing = ({"words": ("milk",)}, "Cats drink water.")

    words: tuple[str, ...] = param(ListOf(Words(60), 1, 10))

    def wording(self) -> dict[str, Any]:
        return {"quoted": quoted_list(self.words), "noun": "word" if len(self.words) == 1 else "words"}

    def judge(self, text: str) -> Finding:
        spans = {word: phrases.first(text, word) for word in self.words}
        missing = [word for word, span in spans.items() if span is None]
        present = len(spans) - len(missing)
        reason = f"missing {quoted_list(missing)}" if missing else f"found {quoted_list(self.words)}"
        return decide(
            not missing,
            reason,
            measured=present,
            needed=len(self.words),
            span=None if missing else spans[self.words[0]],
            score=present / len(self.words),
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, rng.choice((1, 2, 2))))

    def repairs(self, text: str) -> Iterator[str]:
        missing = [word for word in self.words if not phrases.contains(text, word)]
        yield from _weave(text, missing)

    def witness(self) -> str:
        return f"This is about {' and '.join(self.words)}."

    def counter_witness(self) -> str:
        return phrases.write_without(*self.words)

    def literals(self) -> tuple[str, ...]:
        return self.words

    def fewest_words(self) -> int:
        return 3 + count_words(" ".join(self.words))


@kind
class Forbid(Rule):
    """None of `words` occurs. With ("milk",): "Cats drink water." passes, "Cats drink milk." fails."""

    id = "keywords:forbid"
    version = 2
    order = 10
    phrasings = (
        "Do not use the {noun} {either}.",
        "Your answer must not contain the {noun} {either}.",
        "Avoid the {noun} {either} entirely.",
        "Answer without using the {noun} {either}.",
        "The {noun} {either} may not appear anywhere in your answer.",
    )
    passing = ({"words": ("milk",)}, "Cats drink water.")
    failing = ({"words": ("milk",)}, "Cats drink milk.")

    words: tuple[str, ...] = param(ListOf(Words(60), 1, 10))

    def wording(self) -> dict[str, Any]:
        either = quoted_list(self.words).replace('" and "', '" or "')
        return {"either": either, "noun": "word" if len(self.words) == 1 else "words"}

    def judge(self, text: str) -> Finding:
        spans = {word: span for word in self.words if (span := phrases.first(text, word))}
        reason = f"found the forbidden {quoted_list(list(spans))}" if spans else f"found no {quoted_list(self.words)}"
        span = min(spans.values()) if spans else None
        return decide(not spans, reason, measured=len(spans), needed=0, span=span)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        often = rng.sample(sorted(_OFTEN), 2)
        topics = topic_words(rng, words, 1)
        return cls(tuple(often) if rng.random() < 0.6 else tuple(dict.fromkeys((*topics, often[0]))))

    def repairs(self, text: str) -> Iterator[str]:
        replaced = text
        for word in self.words:
            instead = _OFTEN.get(word.lower())
            if instead and not self.rules_out(instead):
                replaced = edits.replace_matches(replaced, phrases.pattern(word), instead)
        yield replaced
        clean = [piece for piece in sentences(replaced) if not self.rules_out(piece)]
        if clean:
            yield " ".join(clean)
        for word in self.words:
            replaced = edits.replace_matches(replaced, phrases.pattern(word), "it")
        yield replaced

    def witness(self) -> str:
        return phrases.write_without(*self.words)

    def counter_witness(self) -> str:
        return f"This is about {self.words[0]}."

    def rules_out(self, literal: str) -> bool:
        return any(phrases.contains(literal, word) for word in self.words)


@dataclasses.dataclass(frozen=True)
class _KeywordCount(Rule):
    """Is the base of the kinds that count one keyword."""

    word: str = param(Words(60))
    count: int = param(Whole(1, 100), noun="time")

    def repairs(self, text: str) -> Iterator[str]:
        for variant in (0, 1):
            edited = text
            for _ in range(min(self.count, 8)):
                present = phrases.count(edited, self.word)
                if present >= self.count:
                    break
                edited = list(_weave(edited, [self.word], again=present > 0))[variant]
            yield edited

    def witness(self) -> str:
        return " ".join([f"It is {self.word}."] * self.count)

    def literals(self) -> tuple[str, ...]:
        return (self.word,)

    def fewest_words(self) -> int:
        return 4 * self.count + count_words(self.word)


@kind
class AtLeastTimes(_KeywordCount):
    """`word` occurs at least `count` times. With ("milk", 2): "Milk is milk." passes, "Milk is good." fails."""

    id = "keywords:times"
    version = 2
    claims = frozenset({"keyword count"})
    order = 31
    phrasings = (
        'Use the word "{word}" at least {times}.',
        'The word "{word}" must appear {times} or more in your answer.',
        'Mention "{word}" no fewer than {times}.',
        'Repeat the word "{word}" so that it occurs at least {times}.',
        'I want to read the word "{word}" {times} or more often.',
    )
    passing = ({"word": "milk", "count": 2}, "Milk is milk.")
    failing = ({"word": "milk", "count": 2}, "Milk is good.")

    def judge(self, text: str) -> Finding:
        return at_least(
            phrases.count(text, self.word),
            self.count,
            f'occurrence of "{self.word}"',
            span=phrases.first(text, self.word),
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, 1)[0], rng.choice((2, 2, 3)))

    def counter_witness(self) -> str:
        return phrases.write_without(self.word)


@kind
class ExactTimes(_KeywordCount):
    """`word` occurs exactly `count` times. With ("milk", 1): "Cats drink milk." passes, "Milk is milk." fails."""

    id = "keywords:exactly"
    version = 2
    claims = frozenset({"keyword count"})
    order = 31
    phrasings = (
        'Use the word "{word}" exactly {times}.',
        'The word "{word}" must appear {times}, neither more nor less often.',
        'Mention "{word}" precisely {times} in your answer.',
        'Your answer has to contain the word "{word}" {times}, and not more often than that.',
        'Count your use of the word "{word}": it has to occur exactly {times}.',
    )
    passing = ({"word": "milk", "count": 1}, "Cats drink milk.")
    failing = ({"word": "milk", "count": 1}, "Milk is milk.")

    def judge(self, text: str) -> Finding:
        return exactly(phrases.count(text, self.word), self.count, f'occurrence of "{self.word}"')

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, 1)[0], rng.choice((1, 2)))

    def repairs(self, text: str) -> Iterator[str]:
        if phrases.count(text, self.word) <= self.count:
            yield from super().repairs(text)
            return
        head = sentences(text)
        while len(head) > 1 and phrases.count(" ".join(head), self.word) > self.count:
            head.pop()
        yield " ".join(head)
        remaining = self.count
        pieces, end = [], 0
        for hit in phrases.pattern(self.word).finditer(text):
            if remaining > 0:
                remaining -= 1
                continue
            pieces += [text[end : hit.start()], edits.like(hit.group(), "it")]
            end = hit.end()
        yield "".join([*pieces, text[end:]])

    def counter_witness(self) -> str:
        return " ".join([f"It is {self.word}."] * (self.count + 1))


@kind
class Opening(Rule):
    """`word` occurs in the first sentence. With "milk": "Cats like milk. They do." passes, "They do. Milk." fails."""

    id = "keywords:opening"
    version = 2
    order = 32
    phrasings = (
        'Use the word "{word}" in your first sentence.',
        'The first sentence of your answer must contain the word "{word}".',
        'Mention "{word}" right in the opening sentence.',
        'Your opening sentence has to include "{word}".',
        'Do not wait with the word "{word}": it belongs in sentence number one.',
    )
    passing = ({"word": "milk"}, "Cats like milk. They do.")
    failing = ({"word": "milk"}, "They do. Milk is good.")
    right_text = "It is about {word}."
    _openers: ClassVar[tuple[str, ...]] = ("As for {word}, ", "Speaking of {word}, ", "About {word}: ")

    word: str = param(Words(60), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        start, end = sentence_spans(text, most=1)[0]
        span = phrases.first(text[start:end], self.word)
        if span:
            return accept(f'found "{self.word}" in the first sentence', span=(start + span[0], start + span[1]))
        where = "only in a later one" if phrases.contains(text, self.word) else "nowhere"
        return reject(f'needed "{self.word}" in the first sentence, found it {where}', span=(start, end))

    def repairs(self, text: str) -> Iterator[str]:
        opener = pick(self._openers, text, self.word).format(word=self.word)
        yield opener + edits.decapitalise(text.lstrip())
        yield f"It is about {self.word}. {text.lstrip()}"

    def counter_witness(self) -> str:
        return phrases.write_without(self.word)

    def literals(self) -> tuple[str, ...]:
        return (self.word,)

    def fewest_words(self) -> int:
        return 3 + count_words(self.word)
