"""Held-out family: which letters and digits the words of an answer are made of. Never trained on. Case is ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from adhere.constraints.base import Choice, Finding, Whole, kind, param
from adhere.constraints.rule import MOST_SENTENCES, HeldOut, at_least, decide, plural
from adhere.text.words import sentence_spans, words

_ALPHABET = tuple("abcdefghijklmnopqrstuvwxyz")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_OPENERS = " \t\r\n\"'“‘«([{*_#>-•+"


def _starts(word: str) -> str:
    return word[:1].lower()


@kind
class Avoid(HeldOut):
    """The letter, small or capital, does not occur. With "z": "Cats sleep." passes, "Zoos sleep." fails."""

    id = "letters:avoid"
    version = 2
    phrasings = (
        'Do not use the letter "{letter}" anywhere in your answer.',
        'Your answer must not contain a single "{letter}".',
        'Write without the letter "{letter}".',
        'Avoid every word that has the letter "{letter}" in it.',
        'The letter "{letter}" is broken on your keyboard: answer without it.',
    )
    passing = ({"letter": "z"}, "Cats sleep.")
    failing = ({"letter": "z"}, "Zoos sleep.")
    wrong_text = "It is {letter}."

    # rare letters are easy to avoid, "o" and "c" are not
    letter: str = param(Choice(_ALPHABET), drawn="zqxjkvbwgco")

    def judge(self, text: str) -> Finding:
        lower = text.lower() if len(text.lower()) == len(text) else text
        at = lower.find(self.letter)
        count = lower.count(self.letter) + (text.count(self.letter.upper()) if lower is text else 0)
        span = (at, at + 1) if at >= 0 else None
        return decide(
            count == 0,
            f'found "{self.letter}" {plural(count, "time")}, allowed none',
            measured=count,
            needed=0,
            span=span,
        )

    def witness(self) -> str:
        return next(text for text in ("Cats run.", "Blue kid.", "My fox.") if self.letter not in text.lower())

    def rules_out(self, literal: str) -> bool:
        return self.letter in literal.lower()


@kind
class AtLeastLetter(HeldOut):
    """The letter, small or capital, occurs at least `count` times.

    With ("s", 2): "Cats sleep." passes, "Cats run." fails.
    """

    id = "letters:at_least"
    version = 2
    phrasings = (
        'Use the letter "{letter}" at least {times}.',
        'The letter "{letter}" must appear {times} or more in your answer.',
        'Choose your words so that "{letter}" occurs no fewer than {times}.',
        'Your answer has to contain {times} or more the letter "{letter}".',
        'Count the letter "{letter}" in your answer: at least {times}, please.',
    )
    passing = ({"letter": "s", "count": 2}, "Cats sleep.")
    failing = ({"letter": "s", "count": 2}, "Cats run.")

    letter: str = param(Choice(_ALPHABET), drawn="bcdfghlmpuwy")
    count: int = param(Whole(1, 1000), drawn=range(2, 6), noun="time")

    def judge(self, text: str) -> Finding:
        count = text.count(self.letter) + text.count(self.letter.upper())
        return at_least(count, self.count, f'occurrence of "{self.letter}"')

    def witness(self) -> str:
        return f"It is {self.letter * self.count}."

    def counter_witness(self) -> str:
        return "Oh." if self.letter not in "oh" else "It."


@kind
class FirstLetter(HeldOut):
    """The first word begins with the letter, in either case. With "c": "Cats run." passes, "The cats run." fails."""

    id = "letters:first"
    version = 2
    claims = frozenset({"start"})
    phrasings = (
        'The first word of your answer must start with the letter "{letter}".',
        'Begin your answer with a word that starts with "{letter}".',
        'Let the first letter of your answer be "{letter}".',
        'Your answer has to open with the letter "{letter}".',
        'Choose a first word which begins with "{letter}".',
    )
    passing = ({"letter": "c"}, "Cats sleep.")
    failing = ({"letter": "c"}, "The cats sleep.")
    right_text = "{letter}."

    letter: str = param(Choice(_ALPHABET), drawn="abcfhimnopstwy")

    def judge(self, text: str) -> Finding:
        body = text.lstrip(_OPENERS)
        start = len(text) - len(body)
        reason = f'the answer begins with {body[:1]!r}, needed "{self.letter}"'
        return decide(
            body[:1].lower() == self.letter, reason, measured=body[:1], needed=self.letter, span=(start, start + 1)
        )

    def counter_witness(self) -> str:
        return "Oh." if self.letter != "o" else "It."


@kind
class Alliteration(HeldOut):
    """At least `count` words begin with the letter, in either case.

    With ("c", 2): "Cats can sleep." passes, "Cats sleep." fails.
    """

    id = "letters:alliteration"
    version = 2
    phrasings = (
        'Use at least {words} starting with the letter "{letter}".',
        'Your answer must contain {count} or more words that start with "{letter}".',
        'Choose no fewer than {words} whose first letter is "{letter}".',
        'Let {words} or more begin with the letter "{letter}".',
        'Words beginning with "{letter}" must occur; I will count at least {count} of them.',
    )
    passing = ({"letter": "c", "count": 2}, "Cats can sleep.")
    failing = ({"letter": "c", "count": 2}, "Cats sleep.")

    letter: str = param(Choice(_ALPHABET), drawn="abcfhmopstw")
    count: int = param(Whole(1, 1000), drawn=(2, 2, 3), noun="word")

    def judge(self, text: str) -> Finding:
        count = sum(1 for word in words(text) if _starts(word) == self.letter)
        return at_least(count, self.count, f'word starting with "{self.letter}"')

    def witness(self) -> str:
        return " ".join([self.letter] * self.count) + "."

    def counter_witness(self) -> str:
        return "Oh." if self.letter != "o" else "It."

    def fewest_words(self) -> int:
        return self.count + 2


@kind
class EverySentence(HeldOut):
    """Every sentence begins with the letter, in either case.

    With "c": "Cats sleep. Cows too." passes, "Cats sleep. Dogs too." fails.
    """

    id = "letters:every_sentence"
    version = 2
    claims = frozenset({"start", "sentence starts"})
    phrasings = (
        'Start every sentence with the letter "{letter}".',
        'Each sentence of your answer must begin with a word that starts with "{letter}".',
        'Let all of your sentences open with "{letter}".',
        'The first letter of every sentence has to be "{letter}".',
        'No sentence may begin with a letter other than "{letter}".',
    )
    passing = ({"letter": "c"}, "Cats sleep. Cows too.")
    failing = ({"letter": "c"}, "Cats sleep. Dogs too.")

    letter: str = param(Choice(_ALPHABET), drawn="aist")

    def judge(self, text: str) -> Finding:
        starts = [text[at:end].lstrip(_OPENERS)[:1].lower() for at, end in sentence_spans(text, most=MOST_SENTENCES)]
        right = starts.count(self.letter)
        reason = f'{right} of {plural(len(starts), "sentence")} begin with "{self.letter}", needed all'
        return decide(
            right == len(starts) > 0, reason, measured=right, needed=len(starts), score=right / max(len(starts), 1)
        )

    def witness(self) -> str:
        return f"{self.letter.upper()} sleeps."

    def counter_witness(self) -> str:
        return "Oh." if self.letter != "o" else "It."


@kind
class NoDigits(HeldOut):
    """No digit occurs. "Nine cats sleep." passes, "9 cats sleep." fails."""

    id = "letters:no_digits"
    version = 2
    excludes = frozenset({"structure:numbered"})
    phrasings = (
        "Do not use any digits (0-9).",
        "Write every number as a word, without digits.",
        "Your answer must not contain a digit.",
        "Spell out all numbers; no digit may occur.",
        "Answer without a single numeral such as 3 or 27.",
    )
    passing = ({}, "Nine cats sleep.")
    failing = ({}, "9 cats sleep.")

    def judge(self, text: str) -> Finding:
        count = sum(1 for _ in _DIGIT.finditer(text))
        first = _DIGIT.search(text)
        return decide(
            count == 0,
            f"found {plural(count, 'digit')}, allowed none",
            measured=count,
            needed=0,
            span=first and first.span(),
        )

    def repairs(self, text: str) -> Iterator[str]:
        names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
        yield _DIGITS.sub(lambda hit: " ".join(names[int(digit)] for digit in hit.group()), text)

    def rules_out(self, literal: str) -> bool:
        return _DIGIT.search(literal) is not None


@kind
class ShortWords(HeldOut):
    """No word has more than `longest` letters. With 4: "Cats rest." passes, "Cats sleep." fails."""

    id = "letters:short_words"
    version = 2
    phrasings = (
        "Use only words of at most {longest} letters.",
        "Do not use any word that is longer than {longest} letters.",
        "Every word of your answer must have {longest} letters or fewer.",
        "Keep it simple: no word may exceed {longest} letters.",
        "Short words only, please: {longest} letters are the limit.",
    )
    passing = ({"longest": 4}, "Cats rest.")
    failing = ({"longest": 4}, "Cats sleep.")
    right_text = "Cat is in."

    longest: int = param(Whole(3, 40), drawn=(8, 10, 10, 12))

    def judge(self, text: str) -> Finding:
        every = words(text)
        long = [word for word in every if len(word) > self.longest]
        reason = f"found {plural(len(long), 'word')} of more than {self.longest} letters"
        if long:
            reason += f", the first is {long[0][:60]!r}"
        return decide(
            not long, reason, measured=max(map(len, every)), needed=self.longest, score=1 - len(long) / len(every)
        )

    def counter_witness(self) -> str:
        return "Ca" + "t" * self.longest

    def rules_out(self, literal: str) -> bool:
        return any(len(word) > self.longest for word in words(literal))


@kind
class LongWord(HeldOut):
    """At least one word of `shortest` letters or more. With 8: "Elephants sleep." passes, "Cats sleep." fails."""

    id = "letters:long_word"
    version = 2
    phrasings = (
        "Use at least one word that has {shortest} letters or more.",
        "Your answer must contain a word of {shortest} or more letters.",
        "Include a long word: {shortest} letters at least.",
        "Let one of your words be at least {shortest} letters long.",
        "Somewhere, a word with no fewer than {shortest} letters must occur.",
    )
    passing = ({"shortest": 8}, "Elephants sleep.")
    failing = ({"shortest": 8}, "Cats sleep.")
    wrong_text = "A."

    shortest: int = param(Whole(2, 40), drawn=(8, 9, 10, 11))

    def judge(self, text: str) -> Finding:
        longest = max((len(word) for word in words(text)), default=0)
        reason = f"the longest word has {plural(longest, 'letter')}, needed {self.shortest}"
        return decide(
            longest >= self.shortest, reason, measured=longest, needed=self.shortest, score=longest / self.shortest
        )

    def witness(self) -> str:
        return "Ca" + "t" * self.shortest

    def conflicts_with(self, other: Any) -> bool:
        return super().conflicts_with(other) or (isinstance(other, ShortWords) and other.longest < self.shortest)
