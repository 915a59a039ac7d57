"""Held-out family: how an answer reads, as far as a program can tell. Never trained on.

Syllables are estimated (`adhere.text.syllables`), and every list of words that counts is in this module or said in the
prompt.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Finding, Whole, kind, param
from adhere.constraints.kinds.held_out import style_words  # noqa: F401 - registers its kinds
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.rule import MOST_SENTENCES, HeldOut, at_least, decide, exactly, plural, reject
from adhere.text.syllables import reading_ease
from adhere.text.words import count_words, sentence_spans, word_lines, words

_CLOSERS = "\"'”’»)]}*_"


@kind
class ReadingEase(HeldOut):
    """The Flesch reading ease, with estimated syllables, is at least `score`. With 80: "Cats sleep a lot." passes."""

    id = "style:reading_ease"
    version = 2
    phrasings = (
        "Write so simply that the Flesch reading ease of your answer is at least {score}.",
        "Your answer must reach a Flesch reading-ease score of {score} or more (short words, short sentences).",
        "Keep the text easy: Flesch reading ease {score} or higher.",
        "The readability of your answer, as a Flesch score, has to be no lower than {score}.",
        "Use short sentences and short words; the Flesch formula should give {score} or better.",
    )
    passing = ({"score": 80}, "Cats sleep a lot.")
    failing = ({"score": 80}, "Domesticated carnivores habitually economise physiological resources.")
    right_text = "The cat naps a lot."
    wrong_text = "Domesticated carnivores habitually economise physiological resources."

    score: int = param(Whole(0, 100), drawn=(60, 65, 70, 80))

    def judge(self, text: str) -> Finding:
        ease = reading_ease(text, most_sentences=MOST_SENTENCES)
        if ease is None:
            return reject("found no sentence to score")
        reason = f"the Flesch reading ease is about {ease:.0f}, needed at least {self.score}"
        closeness = max(0.0, ease) / max(self.score, 1)
        return decide(ease >= self.score, reason, measured=round(ease, 1), needed=self.score, score=closeness)


@kind
class SentenceAverage(HeldOut):
    """Sentences have at most `words` words on average.

    With 2: "Cats sleep. Dogs bark." passes, "Cats sleep a lot." fails.
    """

    id = "style:sentence_average"
    version = 2
    claims = frozenset({"sentence length"})
    phrasings = (
        "Keep your sentences short: at most {words} words on average.",
        "The average length of your sentences must not be above {words} words.",
        "On average, a sentence of your answer may have {words} words, not more.",
        "Write in short sentences, {words} words or fewer in the mean.",
        "Number of words divided by number of sentences: that has to be {words} or less.",
    )
    passing = ({"words": 2}, "Cats sleep. Dogs bark.")
    failing = ({"words": 2}, "Cats sleep a lot.")
    right_text = "Yes."

    words: int = param(Whole(1, 500), drawn=(8, 10, 12, 14))

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        if not spans:
            return reject("found no sentence")
        average = count_words(text[: spans[-1][1]]) / len(spans)
        reason = f"the sentences have {average:.1f} words on average, allowed {self.words}"
        return decide(
            average <= self.words,
            reason,
            measured=round(average, 2),
            needed=self.words,
            score=self.words / max(average, 1),
        )

    def repairs(self, text: str) -> Iterator[str]:
        yield edits.add_sentence(text, "That is it.")
        for count in range(2, 6):
            if (pieces := edits.split_into(text, count)) is not None:
                yield " ".join(pieces)

    def counter_witness(self) -> str:
        return f"{'so ' * self.words}much."


@kind
class WordAverage(HeldOut):
    """Words have at least `letters` letters on average.

    With 5: "Clever kittens sleep." passes, "It is a cat." fails.
    """

    id = "style:word_average"
    version = 2
    phrasings = (
        "Use long words: at least {letters} letters per word on average.",
        "The average word of your answer must have {letters} letters or more.",
        "On average, your words should be no shorter than {letters} letters.",
        "Choose an elevated style in which a word has {letters} or more letters in the mean.",
        "Letters divided by words: that has to give {letters} or more.",
    )
    passing = ({"letters": 5}, "Clever kittens sleep.")
    failing = ({"letters": 5}, "It is a cat.")
    wrong_text = "I."

    letters: int = param(Whole(2, 20), drawn=(4, 5, 5, 6))

    def judge(self, text: str) -> Finding:
        every = words(text)
        average = sum(map(len, every)) / len(every)
        reason = f"a word has {average:.2f} characters on average, needed {self.letters}"
        return decide(
            average >= self.letters,
            reason,
            measured=round(average, 2),
            needed=self.letters,
            score=average / self.letters,
        )

    def witness(self) -> str:
        return f"{'a' * self.letters} {'b' * self.letters}."


@kind
class SecondPerson(HeldOut):
    """A pronoun of the second person occurs at least `count` times.

    With 1: "Your cat sleeps." passes, "Cats sleep." fails.
    """

    id = "style:second_person"
    version = 2
    order = 43
    phrasings = (
        "Address the reader directly: use you, your or yours at least {times}.",
        'Words of the second person ("you", "your", "yourself") must occur {times} or more.',
        "Speak to the reader as you, no fewer than {times}.",
        "Your answer has to say you or your {times} at the minimum.",
        "I will count how often you talk to me as you (or your): it must be {times} or more.",
    )
    passing = ({"count": 1}, "Your cat sleeps.")
    failing = ({"count": 1}, "Cats sleep.")
    _pattern = phrases.any_of(("you", "your", "yours", "yourself", "yourselves", "you're", "you've", "you'll", "you'd"))

    count: int = param(Whole(1, 500), drawn=(1, 2, 2, 3), noun="time")

    def judge(self, text: str) -> Finding:
        hits = [hit.span() for hit in self._pattern.finditer(text)]
        return at_least(len(hits), self.count, "word of the second person", span=hits[0] if hits else None)

    def repairs(self, text: str) -> Iterator[str]:
        missing = self.count - sum(1 for _ in self._pattern.finditer(text))
        closing = ("Now you know.", "Now you know it for yourself.", "Now you know it, and you can tell your friends.")
        if missing <= len(closing):
            yield edits.add_sentence(text, closing[max(0, missing - 1)])

    def witness(self) -> str:
        return "You know. " * self.count


def _openings(text: str) -> list[tuple[int, str]]:
    """Return (start, first word in lower case) of each sentence."""
    spans = sentence_spans(text, most=MOST_SENTENCES)
    starts = ((start, words(text[start : min(end, start + 200)])) for start, end in spans)
    return [(start, first[0].casefold()) for start, first in starts if first]


class _Variety(HeldOut):
    """Is the base of the kinds that need `count` sentences with different beginnings; `start` picks what differs."""

    count: int
    _noun = ""

    def start(self, word: str) -> str:
        """Return the part of a sentence's first word that must differ between sentences."""
        raise NotImplementedError

    def judge(self, text: str) -> Finding:
        openings = _openings(text)
        seen: set[str] = set()
        for position, word in openings:
            opening = self.start(word)
            if opening in seen:
                span = (position, position + 1)
                return reject(f'two sentences begin with {self._noun} "{opening[:40]}"', measured=len(seen), span=span)
            seen.add(opening)
        return at_least(len(openings), self.count, f"sentence with another {self._noun} at its start")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(count=rng.choice((2, 3)))  # type: ignore[call-arg]

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.count) or []
        yield " ".join(pieces)
        yield " ".join(
            [
                *pieces[:1],
                *(
                    edits.add_opening(piece, opener, clause=True)
                    for piece, opener in zip(pieces[1:], ("So", "Now", "Besides"), strict=False)
                ),
            ]
        )

    def witness(self) -> str:
        return " ".join(f"{chr(ord('A') + number)}nd so." for number in range(min(self.count, 26)))

    def counter_witness(self) -> str:
        return "Cats sleep. Cats eat."

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class VariedStarts(_Variety):
    """At least `count` sentences, no two with the same first word.

    With 2: "Cats nap. Dogs run." passes, "Cats." fails.
    """

    id = "style:varied_starts"
    version = 2
    claims = frozenset({"sentence starts"})
    order = 52
    phrasings = (
        "Write at least {count} sentences and begin no two of them with the same word.",
        "Each of your {count} or more sentences must start with a different word.",
        "Vary your sentences (no fewer than {count}): a word that began one may not begin another.",
        "Use {count} sentences or more whose first words all differ.",
        "No word may open two sentences; there have to be {count} sentences at the least.",
    )
    passing = ({"count": 2}, "Cats nap. Dogs run.")
    failing = ({"count": 2}, "Cats nap. Cats run.")
    _noun = "word"

    count: int = param(Whole(2, 26))

    def start(self, word: str) -> str:
        return word


@kind
class VariedLetters(_Variety):
    """At least `count` sentences, no two with the same first letter.

    With 2: "Cats nap. Dogs run." passes, "Cats nap. Cows moo." fails.
    """

    id = "style:varied_letters"
    version = 2
    claims = frozenset({"sentence starts"})
    order = 52
    phrasings = (
        "Write at least {count} sentences that all begin with different letters.",
        "Start each of your {count} or more sentences with another letter of the alphabet.",
        "No two sentences (of no fewer than {count}) may have the same first letter.",
        "Use {count} sentences or more, and never repeat the letter at the start of a sentence.",
        "The first letters of your sentences must all differ, and I want {count} sentences at the least.",
    )
    passing = ({"count": 2}, "Cats nap. Dogs run.")
    failing = ({"count": 2}, "Cats nap. Cows moo.")
    _noun = "letter"

    count: int = param(Whole(2, 26))

    def start(self, word: str) -> str:
        return word[:1]


@kind
class AlternatingLines(HeldOut):
    r"""`count` lines by turns longer and shorter than the one before. With 3: "Cats\nsleep a lot\nhere" passes."""

    id = "style:alternating_lines"
    version = 2
    claims = frozenset({"shape", "wrap"})
    order = 52
    phrasings = (
        "Write exactly {count} lines of which each is, by turns, longer and shorter in words than the one before.",
        "Answer in {count} lines and let long and short ones alternate (counted in words).",
        "Your answer must have {count} lines; if one has more words than the previous line, the next one has fewer.",
        "Use {count} lines with a zigzag of lengths: short and long, or long and short, always in turn.",
        "The word counts of your {count} lines have to go up and down in turn.",
    )
    passing = ({"count": 3}, "Cats\nsleep a lot\nhere")
    failing = ({"count": 3}, "Cats\nsleep here\nand also there")

    count: int = param(Whole(2, 100), drawn=(3, 3, 4))

    def judge(self, text: str) -> Finding:
        lengths = [count_words(line) for line in word_lines(text, most=MOST_SENTENCES)]
        if len(lengths) != self.count:
            return exactly(len(lengths), self.count, "line")
        steps = [later - earlier for earlier, later in itertools.pairwise(lengths)]
        turns = sum(step * after < 0 for step, after in itertools.pairwise(steps))
        reason = f"the lines have {', '.join(map(str, lengths[:12]))} words, needed up and down in turn"
        ok = steps[0] != 0 and turns == len(steps) - 1
        return decide(ok, reason, measured=lengths[:50], needed=self.count, score=(turns + 1) / (len(steps) + 1))

    def repairs(self, text: str) -> Iterator[str]:
        # lines of one word between longer ones, which share what is left
        every = text.split()
        short, long = (self.count + 1) // 2, self.count // 2
        share = (len(every) - short) // long
        if share >= 2:
            widths = [1 if number % 2 == 0 else share for number in range(self.count)]
            widths[1] += len(every) - sum(widths)
            starts = [sum(widths[:number]) for number in range(self.count)]
            yield "\n".join(" ".join(every[at : at + width]) for at, width in zip(starts, widths, strict=True))

    def witness(self) -> str:
        return "\n".join("Cats" if number % 2 == 0 else "sleep a lot" for number in range(self.count))

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class OnlyQuestions(HeldOut):
    """Every sentence ends in a question mark. "Do cats sleep? Why?" passes, "Do cats sleep? Yes." fails."""

    id = "style:only_questions"
    version = 2
    claims = frozenset({"last", "sentence ends"})
    order = 61
    excludes = frozenset({"counting:questions"})
    phrasings = (
        "Answer in questions only.",
        "Every sentence of your answer must end in a question mark.",
        "Write nothing but questions.",
        "Let each of your sentences be a question.",
        "Speak like Socrates: no sentence without a question mark at its end.",
    )
    passing = ({}, "Do cats sleep? Why?")
    failing = ({}, "Do cats sleep? Yes.")

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        wrong = [(at, end) for at, end in spans if not text[at:end].rstrip(_CLOSERS).endswith(("?", "？"))]
        right = len(spans) - len(wrong)
        reason = f"{right} of {plural(len(spans), 'sentence')} end in a question mark, needed all"
        return decide(
            not wrong,
            reason,
            measured=right,
            needed=len(spans),
            span=wrong[0] if wrong else None,
            score=right / max(1, len(spans)),
        )

    def literals(self) -> tuple[str, ...]:
        return ("?",)
