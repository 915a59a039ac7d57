"""Kinds of the family `position` about the order and distance of two words."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Constraint, Finding, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.rule import Rule, at_least, decide, pick, plural, reject, topic_words
from adhere.text.words import count_words, has_words

_SENTENCES = ("It has to do with {}.", "This is about {}.", "Think of {} as well.", "The key word here is {}.")


def say_phrase(text: str, phrase: str) -> str:
    """Return a sentence about `phrase`."""
    return edits.capitalise(pick(_SENTENCES, text, phrase).format(phrase))


def share_a_word(first: Constraint, second: Constraint) -> bool:
    """Tell whether both constraints ask for the same word.

    What one says of the word's places may exclude the other.
    """
    literals = {literal.casefold() for literal in first.literals()}
    return any(literal.casefold() in literals for literal in second.literals())


class _Pair(Rule):
    """Is the base of the kinds about the order or distance of two words or phrases."""

    first: str
    second: str

    def problem(self) -> str | None:
        if not has_words(self.first) or not has_words(self.second):
            return f"first={self.first!r} and second={self.second!r} must hold a letter or digit"
        if phrases.contains(self.first, self.second) or phrases.contains(self.second, self.first):
            return f"first={self.first!r} and second={self.second!r} must not contain each other"
        return None

    def judge(self, text: str) -> Finding:
        first, second = phrases.first(text, self.first), phrases.first(text, self.second)
        missing = [word for word, span in ((self.first, first), (self.second, second)) if span is None]
        if first is None or second is None:
            return reject(f'missing "{missing[0]}"', measured=2 - len(missing), needed=2, score=(2 - len(missing)) / 4)
        return self.place(text, first, second)

    def place(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> Finding:
        """Judge a text that holds both, given the span of each one's first occurrence."""
        raise NotImplementedError

    def counter_witness(self) -> str:
        return phrases.write_without(self.first, self.second)

    def literals(self) -> tuple[str, ...]:
        return (self.first, self.second)

    def fewest_words(self) -> int:
        return 3 + count_words(f"{self.first} {self.second}")

    @classmethod
    def _two(cls, rng: random.Random, words: Sequence[str]) -> tuple[str, str]:
        first, second = topic_words(rng, words, 2)
        return first, second

    def conflicts_with(self, other: Constraint) -> bool:
        return super().conflicts_with(other) or share_a_word(self, other)

    def _missing(self, text: str) -> list[str]:
        return [word for word in (self.first, self.second) if not phrases.contains(text, word)]


@kind
class Before(_Pair):
    """`first` occurs before `second` does. With ("cat", "dog"): "A cat and a dog." passes, "A dog and a cat." fails."""

    id = "position:before"
    version = 2
    order = 34
    phrasings = (
        'Use the words "{first}" and "{second}", and use "{first}" before "{second}".',
        'Mention "{first}" first and "{second}" only after it.',
        '"{second}" must occur in your answer, but not before "{first}" has occurred.',
        'In your answer, "{first}" has to come earlier than "{second}"; both are required.',
        'The first "{first}" must stand in front of the first "{second}".',
    )
    passing = ({"first": "cat", "second": "dog"}, "A cat and a dog.")
    failing = ({"first": "cat", "second": "dog"}, "A dog and a cat.")
    right_text = "First {first}, then {second}."

    first: str = param(Words(60))
    second: str = param(Words(60))

    def place(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> Finding:
        ok = first[0] < second[0]
        reason = f'"{self.first}" stands {"before" if ok else "after"} "{self.second}"'
        return decide(ok, reason, span=first if ok else second, score=0.75)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*cls._two(rng, words))

    def repairs(self, text: str) -> Iterator[str]:
        if self._missing(text) == [self.second]:
            yield edits.add_sentence(text, say_phrase(text, self.second))
        yield f"{say_phrase(text, self.first)} {text.lstrip()}"
        yield edits.add_sentence(text, say_phrase(text, f"{self.first} and {self.second}"))


@kind
class Apart(_Pair):
    """At least `distance` words between the first `first` and `second`.

    With 1: "A cat and dog." passes, "Cat, dog." fails.
    """

    id = "position:apart"
    version = 2
    order = 34
    phrasings = (
        'Use the words "{first}" and "{second}" with at least {distance} other words between their first uses.',
        'Between the first "{first}" and the first "{second}" there must be {distance} or more words.',
        'Mention "{first}" and "{second}", the first times with {distance} words or more in between.',
        'Your answer has to contain "{first}" and "{second}", their first uses separated by at least {distance} words.',
        'Put a gap of at least {distance} words between the first "{first}" and the first "{second}".',
    )
    passing = ({"first": "cat", "second": "dog", "distance": 1}, "A cat and dog.")
    failing = ({"first": "cat", "second": "dog", "distance": 1}, "Cat, dog.")

    first: str = param(Words(60))
    second: str = param(Words(60))
    distance: int = param(Whole(1, 500))

    def place(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> Finding:
        start, end = min(first, second)[1], max(first, second)[0]
        return at_least(count_words(text[start:end]), self.distance, "word in between", span=(start, max(start, end)))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*cls._two(rng, words), rng.randint(3, 6))

    def repairs(self, text: str) -> Iterator[str]:
        missing = self._missing(text)
        if len(missing) == 2:
            yield edits.add_sentence(f"{say_phrase(text, self.first)} {text.lstrip()}", say_phrase(text, self.second))
        for word in missing:
            yield edits.add_sentence(text, say_phrase(text, word))
            yield f"{say_phrase(text, word)} {text.lstrip()}"
        for word in (self.first, self.second):
            yield f"Let us begin with {word}, which is what this answer is all about. {text.lstrip()}"

    def witness(self) -> str:
        return f"{self.first} {'so ' * self.distance}{self.second}."

    def fewest_words(self) -> int:
        return super().fewest_words() + self.distance


@kind
class Near(_Pair):
    """At most `distance` words between the first `first` and `second`. With 1: "A cat and dog." passes."""

    id = "position:near"
    version = 2
    order = 34
    phrasings = (
        'Use the words "{first}" and "{second}" with at most {distance} other words between their first uses.',
        'Between the first "{first}" and the first "{second}" no more than {distance} words may stand.',
        'Mention "{first}" and "{second}", the first times close together: {distance} words in between at most.',
        'Your answer has to contain "{first}" and "{second}", their first uses at most {distance} words apart.',
        'Keep the gap between the first "{first}" and the first "{second}" to {distance} words or fewer.',
    )
    passing = ({"first": "cat", "second": "dog", "distance": 1}, "A cat and dog.")
    failing = ({"first": "cat", "second": "dog", "distance": 1}, "A cat and a dog.")
    right_text = "There is {first} and {second}."

    first: str = param(Words(60))
    second: str = param(Words(60))
    distance: int = param(Whole(1, 500))

    def place(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> Finding:
        start, end = min(first, second)[1], max(first, second)[0]
        gap = count_words(text[start:end])
        reason = f'found {plural(gap, "word")} between "{self.first}" and "{self.second}", allowed {self.distance}'
        return decide(
            gap <= self.distance,
            reason,
            measured=gap,
            needed=self.distance,
            span=(start, max(start, end)),
            score=self.distance / max(gap, 1),
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*cls._two(rng, words), rng.randint(2, 5))

    def repairs(self, text: str) -> Iterator[str]:
        yield edits.add_sentence(text, say_phrase(text, f"{self.first} and {self.second}"))
        yield f"{say_phrase(text, f'{self.first} and {self.second}')} {text.lstrip()}"
