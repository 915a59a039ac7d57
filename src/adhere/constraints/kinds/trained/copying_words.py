"""Kinds of the family `copying` that write given words in another order or in another way."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Finding, ListOf, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.rule import Rule, accept, decide, quoted_list, reject, topic_words
from adhere.text.words import count_words, has_words, lines


class _SomeWords(Rule):
    """Is the base of the kinds that name some `words` and ask for them in another order than the given one."""

    words: tuple[str, ...]

    def problem(self) -> str | None:
        for word in self.words:
            if not has_words(word):
                return f"words: {word!r} must hold a letter or digit"
            if any(word != other and phrases.contains(other, word) for other in self.words):
                return f"words: {word!r} is part of another one"
        return None

    def wording(self) -> dict[str, object]:
        return {"quoted": quoted_list(self.words)}

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(words=topic_words(rng, words, 3))  # type: ignore[call-arg]

    def literals(self) -> tuple[str, ...]:
        return self.words

    def fewest_words(self) -> int:
        return 3 + count_words(" ".join(self.words))


@kind
class Reversed(_SomeWords):
    """The words occur first in the reverse of the given order. With ("a", "b"): "B or a" passes, "A or b" fails."""

    id = "copying:reversed"
    version = 2
    order = 34
    phrasings = (
        "Use these words in the reverse order, so that the last one comes first: {quoted}.",
        "Mention {quoted}, but from the last to the first.",
        "The words {quoted} must all occur, in exactly the opposite order.",
        "Read backwards, the order in which you first use them has to be {quoted}.",
        "Your answer should bring up {quoted} in reversed order.",
    )
    passing = ({"words": ("a", "b")}, "B or a")
    failing = ({"words": ("a", "b")}, "A or b")

    words: tuple[str, ...] = param(ListOf(Words(60), 2, 8))

    def judge(self, text: str) -> Finding:
        spans: dict[str, tuple[int, int]] = {}
        for word in self.words:
            span = phrases.first(text, word)
            if span is None:
                score = len(spans) / (1 + len(self.words))
                return reject(f'missing "{word}"', measured=len(spans), needed=len(self.words), score=score)
            spans[word] = span
        order = sorted(self.words, key=lambda word: spans[word])
        expected = self.words[::-1]
        reason = f"found the order {quoted_list(order)}, needed {quoted_list(expected)}"
        return decide(tuple(order) == expected, reason, measured=order, needed=list(expected), score=0.8)

    def repairs(self, text: str) -> Iterator[str]:
        word_list = ", ".join(self.words[::-1])
        if not any(phrases.contains(text, word) for word in self.words):
            yield edits.add_sentence(text, f"Keywords: {word_list}.")
        yield f"Keywords: {word_list}. {text.lstrip()}"

    def witness(self) -> str:
        return f"There are {', '.join(self.words[::-1])}."

    def counter_witness(self) -> str:
        return f"There are {', '.join(self.words)}."


@kind
class Sorted(_SomeWords):
    r"""One line holds exactly the words in alphabetical order, with ", " between.

    With ("b", "a"): "So:\na, b" passes.
    """

    id = "copying:sorted"
    version = 2
    claims = frozenset({"wrap"})
    order = 77
    phrasings = (
        "Include a line that lists these words in alphabetical order, separated by commas, and nothing else: {quoted}.",
        "Sort {quoted} alphabetically and write them on one line of their own with commas in between.",
        "One line of your answer must hold just the words {quoted}, sorted from A to Z and divided by commas.",
        "Give a separate line with {quoted} in alphabetical order, comma-separated.",
        (
            "Somewhere a line has to consist of {quoted}, put into alphabetical order with a comma "
            "after each but the last."
        ),
    )
    passing = ({"words": ("b", "a")}, "So:\na, b")
    failing = ({"words": ("b", "a")}, "So:\nb, a")

    words: tuple[str, ...] = param(ListOf(Words(60), 2, 8))

    def _row(self) -> str:
        return ", ".join(sorted(self.words, key=str.casefold))

    def judge(self, text: str) -> Finding:
        row = self._row()
        folded = row.casefold()
        length = len(row) + 40
        for line in lines(text):
            if "," in line and len(line) < length and re.sub(r" *, *", ", ", line.strip(" \t.*")).casefold() == folded:
                return accept(f"found the line {row!r}", needed=row)
        return reject(f"found no line that reads {row!r}", needed=row)

    def repairs(self, text: str) -> Iterator[str]:
        yield f"{text.rstrip()}\n{self._row()}"

    def witness(self) -> str:
        return f"Here:\n{self._row()}"

    def counter_witness(self) -> str:
        return ", ".join(sorted(self.words, key=str.casefold, reverse=True))

    def literals(self) -> tuple[str, ...]:
        return (*self.words, ", ")


class _OneWord(Rule):
    """Is the base of the kinds that write one word in another way."""

    word: str

    def problem(self) -> str | None:
        if not self.word.isalpha() or len(self.word) < 2 or self.word.casefold() == self.word[::-1].casefold():
            return f"word={self.word!r} must be letters only, two or more, and no palindrome"
        return None

    def form(self) -> str:
        """Return the word as it must be written."""
        raise NotImplementedError

    def judge(self, text: str) -> Finding:
        span = phrases.first(text, self.form())
        return decide(
            span is not None, f'{"found" if span else "missing"} "{self.form()}"', needed=self.form(), span=span
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        fitting = (word for word in topic_words(rng, words, len(words) + 12) if word.isalpha() and word != word[::-1])
        return cls(word=next(fitting))  # type: ignore[call-arg]

    def repairs(self, text: str) -> Iterator[str]:
        yield edits.add_clause(text, f" ({self.form()})")

    def witness(self) -> str:
        return f"Here it is: {self.form()}."

    def counter_witness(self) -> str:
        return f"Here it is: {self.word}."

    def literals(self) -> tuple[str, ...]:
        return (self.form(),)


@kind
class Spelled(_OneWord):
    """The word is spelled out with hyphens. With "cat": "It is c-a-t." passes, "It is a cat." fails."""

    id = "copying:spelled"
    version = 2
    order = 40
    phrasings = (
        'Spell the word "{word}" with hyphens between its letters somewhere in your answer.',
        'Your answer must contain "{word}" letter by letter, with a hyphen between every two letters.',
        'Write out "{word}" once as single letters joined by hyphens.',
        'Somewhere, spell "{word}" like this: letter, hyphen, letter, hyphen and so on.',
        'Include the spelling of "{word}", its letters connected with hyphens.',
    )
    passing = ({"word": "cat"}, "It is c-a-t.")
    failing = ({"word": "cat"}, "It is a cat.")

    word: str = param(Words(30))

    def form(self) -> str:
        return "-".join(self.word)


@kind
class Backwards(_OneWord):
    """The word occurs backwards. With "cat": "It is tac." passes, "It is a cat." fails."""

    id = "copying:backwards"
    version = 2
    order = 40
    phrasings = (
        'Write the word "{word}" backwards somewhere in your answer.',
        'Your answer must contain "{word}" spelled in reverse.',
        'Include the reversal of "{word}", from its last letter to its first.',
        'Turn the word "{word}" around and use the result in your answer.',
        'Read from right to left, one of your words has to be "{word}".',
    )
    passing = ({"word": "cat"}, "It is tac.")
    failing = ({"word": "cat"}, "It is a cat.")

    word: str = param(Words(30))

    def form(self) -> str:
        return self.word[::-1]
