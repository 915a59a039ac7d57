"""Capital and small letters. Letters without case (digits, CJK) count as neither."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Finding, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.rule import MOST_SENTENCES, Rule, accept, at_least, plural, reject, topic_word
from adhere.text.words import sentence_spans, word_spans, words


def _first(text: str, *, upper: bool) -> int | None:
    """Return the position of the first letter that is (not) a capital, or None."""
    if text == (text.lower() if upper else text.upper()):
        return None
    return next((at for at, letter in enumerate(text) if (letter.isupper() if upper else letter.islower())), None)


class _OneCase(Rule):
    """Is the base of the two kinds about the case of every letter."""

    _upper = False

    def judge(self, text: str) -> Finding:
        at = _first(text, upper=not self._upper)
        if at is not None:
            name = "small" if self._upper else "capital"
            return reject(f"found the {name} letter {text[at]!r} at position {at}", span=(at, at + 1))
        if text.lower() == text.upper():
            return reject("found no letter that has a case")
        return accept(f"found only {'capital' if self._upper else 'small'} letters")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls()


@kind
class Lower(_OneCase):
    """No capital letter. "cats sleep." passes, "Cats sleep." fails."""

    id = "case:lower"
    version = 2
    claims = frozenset({"case"})
    order = 80
    phrasings = (
        "Write your whole answer in lower case.",
        "Do not use any capital letters.",
        "Use small letters only, even at the start of a sentence.",
        "Your answer must be entirely in lowercase letters.",
        "No letter of your answer may be a capital one.",
    )
    passing = ({}, "cats sleep.")
    failing = ({}, "Cats sleep.")

    def repairs(self, text: str) -> Iterator[str]:
        yield text.lower()


@kind
class Upper(_OneCase):
    """No small letter. "CATS SLEEP." passes, "Cats sleep." fails."""

    id = "case:upper"
    version = 2
    claims = frozenset({"case", "capitals"})
    order = 80
    phrasings = (
        "Write your whole answer in capital letters.",
        "Use ALL CAPS throughout your answer.",
        "Your answer must be entirely in uppercase letters.",
        "Do not use a single small letter.",
        "Every letter of your answer has to be a capital one.",
    )
    passing = ({}, "CATS SLEEP.")
    failing = ({}, "Cats sleep.")
    _upper = True

    def repairs(self, text: str) -> Iterator[str]:
        yield text.upper()


@kind
class TitleCase(Rule):
    """Every word that begins with a letter begins with a capital. "Cats Sleep." passes, "Cats sleep." fails."""

    id = "case:title"
    version = 2
    claims = frozenset({"case"})
    order = 80
    phrasings = (
        "Start every word of your answer with a capital letter.",
        "Write Your Answer Like This, with a capital at the start of each word.",
        "Capitalize the first letter of each word.",
        "Every single word must begin with a capital letter.",
        "Let no word of the answer begin with a small letter.",
    )
    passing = ({}, "Cats Sleep.")
    failing = ({}, "Cats sleep.")

    def judge(self, text: str) -> Finding:
        spans = word_spans(text)
        small = [span for span in spans if text[span[0]].islower()]
        if small:
            start, end = small[0]
            reason = (
                f"found {plural(len(small), 'word')} with a small first letter, the first is {text[start:end][:40]!r}"
            )
            return reject(reason, measured=len(small), needed=0, span=small[0], score=1 - len(small) / len(spans))
        if not any(text[start].isupper() or text[start].istitle() for start, _ in spans):
            return reject("found no word that begins with a capital letter", score=0.0)
        return accept("found a capital letter at the start of every word", measured=0, needed=0, score=1.0)

    def repairs(self, text: str) -> Iterator[str]:
        pieces, end = [], 0
        for start, _ in word_spans(text):
            pieces += [text[end:start], text[start].upper()]
            end = start + 1
        yield "".join([*pieces, text[end:]])


@kind
class SentenceStarts(Rule):
    """Every sentence begins with a capital letter. "Cats sleep. Dogs bark." passes, "Cats sleep. dogs bark." fails."""

    id = "case:sentences"
    version = 2
    claims = frozenset({"sentence case"})
    order = 81
    excludes = frozenset({"case:lower"})
    phrasings = (
        "Begin every sentence with a capital letter.",
        "Each sentence of your answer must start with a capital letter.",
        "Capitalize the first word of every sentence.",
        "No sentence may begin with a small letter or a digit.",
        "Let each of your sentences open with an uppercase letter.",
    )
    passing = ({}, "Cats sleep. Dogs bark.")
    failing = ({}, "Cats sleep. dogs bark.")

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        small = [span for span in spans if not _first_letter(text, span).isupper()]
        if not small:
            return accept(f"found a capital letter at the start of {plural(len(spans), 'sentence')}", score=1.0)
        start, end = small[0]
        reason = (
            f"found {plural(len(small), 'sentence')} without a capital letter at the start: {text[start:end][:40]!r}"
        )
        return reject(reason, measured=len(small), needed=0, span=small[0], score=1 - len(small) / len(spans))

    def repairs(self, text: str) -> Iterator[str]:
        pieces, end = [], 0
        for start, stop in sentence_spans(text):
            pieces += [text[end:start], edits.capitalise(text[start:stop])]
            end = stop
        yield "".join([*pieces, text[end:]])


def _first_letter(text: str, span: tuple[int, int]) -> str:
    """Return the first letter or digit of a sentence, without quotes and list marks before it."""
    at, end = span
    marker = edits.MARKER.match(text, at, end)
    at = marker.end() if marker else at
    return next((text[i] for i in range(at, end) if text[i].isalnum()), "")


@kind
class CapitalWords(Rule):
    """At least `count` words of two or more letters in capitals. With 1: "Cats SLEEP." passes, "I sleep." fails."""

    id = "case:capital_words"
    version = 2
    claims = frozenset({"capitals"})
    order = 60
    excludes = frozenset({"case:lower"})
    phrasings = (
        "Write at least {words} in all capital letters.",
        "Your answer must contain {count} or more words in ALL CAPS.",
        "Put no fewer than {words} in capitals.",
        "Stress something: at least {words} must be fully capitalized.",
        "I expect {words} or more written in uppercase letters only.",
    )
    passing = ({"count": 1}, "Cats SLEEP.")
    failing = ({"count": 1}, "I sleep.")
    wrong_text = "cats sleep."

    count: int = param(Whole(1, 1000), drawn=(1, 2, 2, 3), noun="word")

    def judge(self, text: str) -> Finding:
        count = sum(1 for word in words(text) if len(word) > 1 and word.isupper())
        return at_least(count, self.count, "word in capitals")

    def repairs(self, text: str) -> Iterator[str]:
        spans = word_spans(text)
        missing = self.count - sum(1 for start, end in spans if end - start > 1 and text[start:end].isupper())
        plain = [(start, end) for start, end in spans if end - start > 1 and not text[start:end].isupper()]
        edited = text
        for start, end in sorted(plain, key=lambda span: span[0] - span[1])[:missing]:
            # the longest words are the ones worth stressing
            edited = edited[:start] + text[start:end].upper() + edited[end:]
        yield edited

    def witness(self) -> str:
        return " ".join(["CATS"] * self.count) + " sleep."

    def fewest_words(self) -> int:
        return self.count + 2


@kind
class CapitalKeyword(Rule):
    """`word` occurs in capitals, and never otherwise.

    With "milk": "Cats drink MILK." passes, "Cats drink milk." fails.
    """

    id = "case:keyword"
    version = 2
    claims = frozenset({"capitals"})
    order = 61
    excludes = frozenset({"case:lower"})
    phrasings = (
        'Use the word "{word}" and write it in capital letters.',
        'Your answer must mention "{word}", always in ALL CAPS.',
        'Write "{word}" in uppercase wherever you use it, at least once.',
        'Include the word "{word}", spelled with capital letters only.',
        'Let "{word}" appear in your answer, with each of its letters a capital.',
    )
    passing = ({"word": "milk"}, "Cats drink MILK.")
    failing = ({"word": "milk"}, "Cats drink milk.")

    word: str = param(Words(60), drawn=topic_word)

    def problem(self) -> str | None:
        return (
            None if self.word.upper() != self.word.lower() else f"word={self.word!r} must hold a letter that has a case"
        )

    def judge(self, text: str) -> Finding:
        hits = list(phrases.pattern(self.word).finditer(text))
        small = [hit for hit in hits if not hit.group().isupper()]
        if not hits:
            return reject(f'found no "{self.word}"', measured=0, needed=1)
        if small:
            return reject(f'found "{small[0].group()}", needed it in capitals', span=small[0].span())
        return accept(f'found "{hits[0].group()}"', measured=len(hits), needed=1, span=hits[0].span())

    def repairs(self, text: str) -> Iterator[str]:
        word = self.word.upper()
        if phrases.contains(text, word):
            yield phrases.pattern(word).sub(lambda hit: hit.group().upper(), text)
        else:
            yield edits.add_sentence(text, f"The key word is {word}.")
            yield edits.add_clause(text, f" ({word})")

    def witness(self) -> str:
        return f"It is {self.word.upper()}."

    def counter_witness(self) -> str:
        return f"It is {self.word.lower()}."

    def literals(self) -> tuple[str, ...]:
        return (self.word,)

    def fewest_words(self) -> int:
        return 4
