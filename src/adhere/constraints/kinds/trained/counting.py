"""Train family: numbers of words, sentences, lines and marks of some class in an answer."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Self

from adhere.constraints.base import Choice, Constraint, Finding, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.kinds.trained.counting_lines import first_sentences, sentence_of
from adhere.constraints.rule import Rule, at_least, decide, exactly, pick, plural, reject, topic_words
from adhere.text.words import count_words, has_words, sentences, words

_CLOSERS = "\"'”’»)]}*_"
# At most 15 digits before a point: what a longer run of digits means is no count.
_NUMBER = re.compile(r"(?<![0-9])(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}(?![0-9])|[0-9]++)(?:\.[0-9]{1,9}(?![0-9]))?")


@kind
class NumberSum(Rule):
    """The numbers written in digits add up to `total`. With 7: "3 cats, 4 dogs" passes, "3 cats, 3 dogs" fails.

    "1,000" is a thousand and "2.5" two and a half; a minus sign is not read, and an answer without digits fails.
    """

    id = "counting:number_sum"
    version = 2
    order = 35
    excludes = frozenset({"letters:no_digits", "structure:numbered"})
    phrasings = (
        "Use numbers in digits that add up to exactly {total}.",
        "The sum of all numbers in your answer (written in digits) must be {total}.",
        "Write at least one number in digits; all numbers together have to make {total}.",
        "If I add every number in your answer, I want to get {total}.",
        "Let the numerals of your answer sum to {total}.",
    )
    passing = ({"total": 7}, "3 cats, 4 dogs")
    failing = ({"total": 7}, "3 cats, 3 dogs")
    right_text = "There are {total} cats."
    wrong_text = "There are {total} cats and 1 dog."

    total: int = param(Whole(1, 1_000_000), drawn=range(3, 21))

    def judge(self, text: str) -> Finding:
        numbers = [hit.group().replace(",", "") for hit in _NUMBER.finditer(text)]
        if not numbers:
            return reject(f"found no number in digits, needed a sum of {self.total}", measured=0, needed=self.total)
        if any(len(number.partition(".")[0]) > 15 for number in numbers):
            return reject("found a number of more than 15 digits", needed=self.total)
        total = sum(map(Decimal, numbers), Decimal(0))
        reason = f"{plural(len(numbers), 'number')} add up to {total.normalize():f}, needed {self.total}"
        closeness = min(total, Decimal(self.total)) / max(total, Decimal(self.total))
        return decide(total == self.total, reason, measured=float(total), needed=self.total, score=float(closeness))

    def repairs(self, text: str) -> Iterator[str]:
        total = self.judge(text).measured
        missing = self.total - total if isinstance(total, int | float) else 0
        if missing > 0 and missing == int(missing):
            yield edits.add_clause(text, f" ({int(missing)} in all)")


_FILLERS = {
    3: ("now", "yes", "too"), 4: ("here", "also", "once"), 5: ("today", "again", "often"),
    6: ("always", "surely", "indeed"), 7: ("perhaps", "usually", "finally"), 8: ("actually", "probably", "possibly"),
    9: ("certainly", "generally", "naturally"),
}  # fmt: skip


@kind
class WordsOfLength(Rule):
    """At least `count` words have exactly `letters` letters. With (2, 4): "Cats rest." passes, "Cats sleep." fails."""

    id = "counting:words_of_length"
    version = 3
    order = 36
    phrasings = (
        "Use at least {words} of exactly {letters} letters.",
        "Your answer must contain {count} or more words that are {letters} letters long.",
        "Choose your words so that no fewer than {count} of them have {letters} letters each.",
        "I will count the words with exactly {letters} letters: there must be {count} or more.",
        "Let {count} words at the very least consist of {letters} letters.",
    )
    passing = ({"count": 2, "letters": 4}, "Cats rest.")
    failing = ({"count": 2, "letters": 4}, "Cats sleep.")

    count: int = param(Whole(1, 1000), drawn=(2, 3, 3), noun="word")
    letters: int = param(Whole(1, 30), drawn=range(4, 9))

    def judge(self, text: str) -> Finding:
        composed = unicodedata.normalize("NFC", text)  # an accent of its own is no letter
        count = sum(1 for word in words(composed) if len(word) == self.letters and word.isalpha())
        return at_least(count, self.count, f"word of exactly {self.letters} letters")

    def repairs(self, text: str) -> Iterator[str]:
        count = self.judge(text).measured
        missing = self.count - count if isinstance(count, int) else 0
        if 0 < missing <= 3 and self.letters in _FILLERS:
            yield edits.add_clause(text, f" ({', '.join(_FILLERS[self.letters][:missing])})")

    def witness(self) -> str:
        return " ".join(["a" * self.letters] * self.count)

    def counter_witness(self) -> str:
        return "a" * (self.letters + 1)

    def fewest_words(self) -> int:
        return 2 * self.count


_QUESTIONS = ("Did you know that?", "What do you think?", "Does that help?", "Is there more to say?")


@kind
class Questions(Rule):
    """Exactly `count` sentences end in a question mark. With 1: "Do cats sleep? Yes." passes, "Cats sleep." fails."""

    id = "counting:questions"
    version = 2
    order = 61
    phrasings = (
        "Ask exactly {questions} in your answer.",
        "Your answer must contain exactly {count} sentences that end in a question mark.",
        "Let precisely {questions} occur, no more and no fewer.",
        "Include {questions} (and not one more).",
        "The number of questions in your answer has to be {count}.",
    )
    passing = ({"count": 1}, "Do cats sleep? Yes.")
    failing = ({"count": 1}, "Cats sleep.")

    count: int = param(Whole(1, 200), drawn=(1, 1, 2), noun="question")

    def judge(self, text: str) -> Finding:
        questions = [piece for piece in first_sentences(text) if piece.rstrip(_CLOSERS).endswith(("?", "？"))]
        return exactly(len(questions), self.count, "question")

    def repairs(self, text: str) -> Iterator[str]:
        missing = self.count - text.count("?")
        if missing < 0:
            yield re.sub(r"\?+", ".", text, count=-missing)
        elif missing <= len(_QUESTIONS):
            yield edits.add_sentence(text, " ".join(_QUESTIONS[:missing]))

    def witness(self) -> str:
        return " ".join(["Do cats sleep?"] * self.count)

    def literals(self) -> tuple[str, ...]:
        return ("?",)

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class SentencesWithNumber(Rule):
    """At least `count` sentences hold a digit. With 1: "Cats sleep 15 hours." passes, "Cats sleep." fails."""

    id = "counting:sentences_with_number"
    version = 2
    order = 36
    excludes = frozenset({"letters:no_digits"})
    phrasings = (
        "At least {sentences} of your answer must contain a number in digits.",
        "Put a number (in digits) into {count} or more of your sentences.",
        "No fewer than {sentences} should hold a numeral.",
        "Be concrete: use figures such as 12 in at least {sentences}.",
        "I expect digits in {sentences} or more.",
    )
    passing = ({"count": 1}, "Cats sleep 15 hours.")
    failing = ({"count": 1}, "Cats sleep.")

    count: int = param(Whole(1, 200), drawn=(1, 1, 2), noun="sentence")

    def judge(self, text: str) -> Finding:
        count = sum(1 for piece in first_sentences(text) if _DIGIT.search(piece))
        return at_least(count, self.count, "sentence with a digit")

    def repairs(self, text: str) -> Iterator[str]:
        edited = text
        missing = self.count
        for piece in sentences(text):
            if missing and not _DIGIT.search(piece):
                edited = edited.replace(piece, edits.add_clause(piece, f" (point {self.count - missing + 1})"), 1)
            missing = max(0, missing - 1)
        yield edited
        yield edits.add_sentence(text, " ".join(f"That is point {n + 1}." for n in range(self.count)))

    def witness(self) -> str:
        return " ".join(["Cats sleep 15 hours."] * self.count)

    def fewest_words(self) -> int:
        return 3 * self.count


_DIGIT = re.compile(r"\d")

_TAILS = {1: " indeed", 2: " as well", 3: " in most cases", 4: ", as we all know", 5: " in most cases as well"}


@kind
class MultipleOf(Rule):
    """The number of words is a multiple of `number`. With 2: "Cats sleep." passes, "Cats sleep long." fails."""

    id = "counting:multiple_of"
    version = 2
    order = 46
    phrasings = (
        "The number of words of your answer must be a multiple of {number}.",
        "Write an answer whose word count can be divided by {number} without a remainder.",
        "Choose the length of your answer so that its words make full groups of {number}.",
        "Count your words: their number has to be divisible by {number}.",
        "Let the total number of words be some multiple of {number}.",
    )
    passing = ({"number": 2}, "Cats sleep.")
    failing = ({"number": 2}, "Cats sleep long.")

    number: int = param(Whole(2, 100), drawn=(2, 2, 3, 4, 5))

    def judge(self, text: str) -> Finding:
        count = count_words(text)
        reason = f"found {plural(count, 'word')}, needed a multiple of {self.number}"
        return decide(count % self.number == 0, reason, measured=count, needed=self.number)

    def repairs(self, text: str) -> Iterator[str]:
        missing = -count_words(text) % self.number
        if missing in _TAILS:
            yield edits.add_clause(text, _TAILS[missing])

    def witness(self) -> str:
        return sentence_of(self.number)

    def counter_witness(self) -> str:
        return sentence_of(self.number + 1)


@kind
class Marks(Rule):
    """The punctuation mark occurs exactly `count` times.

    With (":", 1): "Cats: they sleep." passes, "Cats sleep." fails.
    """

    id = "counting:marks"
    version = 2
    claims = frozenset({"mark count"})
    order = 93
    phrasings = (
        "Use exactly {marks} in your answer.",
        'The mark "{mark}" must occur exactly {times}.',
        "Write your answer so that it contains precisely {marks}.",
        'I will count the character "{mark}": it has to appear {times}, not more and not less.',
        "Your answer needs {marks}, no more and no fewer.",
    )
    passing = ({"mark": ":", "count": 1}, "Cats: they sleep.")
    failing = ({"mark": ":", "count": 1}, "Cats sleep.")
    _names: ClassVar[dict[str, str]] = {
        ",": "comma",
        ";": "semicolon",
        ":": "colon",
        "-": "hyphen",
        "?": "question mark",
    }
    _additions: ClassVar[dict[str, str]] = {
        ",": ", indeed",
        ";": "; that is all",
        ":": ": that is all",
        "-": " in a well-known way",
    }

    mark: str = param(Choice((",", ";", ":", "-", "?")))
    count: int = param(Whole(1, 200))

    def wording(self) -> dict[str, Any]:
        return {
            "mark": self.mark,
            "marks": f'{plural(self.count, self._names[self.mark])} ("{self.mark}")',
            "times": "once" if self.count == 1 else f"{self.count} times",
        }

    def judge(self, text: str) -> Finding:
        return exactly(text.count(self.mark), self.count, self._names[self.mark])

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*rng.choice(((",", 1), (",", 2), (",", 3), (";", 1), (":", 1), (":", 2), ("-", 1), ("?", 1))))

    def repairs(self, text: str) -> Iterator[str]:
        surplus = text.count(self.mark) - self.count
        instead = {"?": ".", "-": " "}.get(self.mark, "")
        if surplus > 0:
            start, *rest = text.rsplit(self.mark, surplus)
            yield instead.join([start, *rest])
        elif self.mark in self._additions and surplus >= -3:
            edited = text
            for _ in range(-surplus):
                edited = edits.add_clause(edited, self._additions[self.mark])
            yield edited
        else:
            yield edits.add_sentence(text, " ".join(_QUESTIONS[:-surplus]))

    def witness(self) -> str:
        return "Cats" + f"{self.mark} cats" * self.count

    def literals(self) -> tuple[str, ...]:
        return (self.mark,)

    def conflicts_with(self, other: Constraint) -> bool:
        # JSON, tables, lists and the like bring marks of their own
        brings = "wrap" in other.claims or other.id.startswith("punctuation:") or other.id == "counting:questions"
        return super().conflicts_with(other) or brings

    def rules_out(self, literal: str) -> bool:
        return literal.count(self.mark) > self.count


@kind
class Balance(Rule):
    """`first` and `second` occur equally often, at least once. With ("cat", "dog"): "A cat and a dog." passes."""

    id = "counting:balance"
    version = 2
    claims = frozenset({"keyword count"})
    order = 33
    phrasings = (
        'Use the words "{first}" and "{second}" equally often, and at least once.',
        '"{first}" must occur exactly as many times as "{second}", and both must occur.',
        'Mention "{first}" and "{second}" the same number of times (not zero).',
        'Your answer has to contain "{first}" as often as it contains "{second}"; leave out neither.',
        'Keep a balance: for every "{first}" there must be one "{second}", and there must be some.',
    )
    passing = ({"first": "cat", "second": "dog"}, "A cat and a dog.")
    failing = ({"first": "cat", "second": "dog"}, "A cat and a cat and a dog.")
    right_text = "First {first}, then {second}."
    wrong_text = "Only {first}."

    first: str = param(Words(60))
    second: str = param(Words(60))

    def problem(self) -> str | None:
        if phrases.contains(self.first, self.second) or phrases.contains(self.second, self.first):
            return f"first={self.first!r} and second={self.second!r} must not contain each other"
        return None if has_words(self.first) and has_words(self.second) else "first and second must hold a word"

    def judge(self, text: str) -> Finding:
        counts = phrases.count(text, self.first), phrases.count(text, self.second)
        reason = f'found "{self.first}" {plural(counts[0], "time")} and "{self.second}" {plural(counts[1], "time")}'
        score = min(counts) / max(*counts, 1)
        return decide(counts[0] == counts[1] > 0, f"{reason}, needed equally often", measured=list(counts), score=score)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*topic_words(rng, words, 2))

    def repairs(self, text: str) -> Iterator[str]:
        counts = phrases.count(text, self.first), phrases.count(text, self.second)
        more = max(*counts, 1)
        missing = [self.first] * (more - counts[0]) + [self.second] * (more - counts[1])
        if 0 < len(missing) <= 3:
            sentence = pick(("This is about {}.", "Think of {}.", "It has to do with {}."), text).format(
                " and ".join(missing)
            )
            yield edits.add_sentence(text, sentence)

    def literals(self) -> tuple[str, ...]:
        return (self.first, self.second)

    def fewest_words(self) -> int:
        return 3 + count_words(f"{self.first} {self.second}")
