"""Held-out family: one part of a longer answer is right, whatever else it says. Never trained on.

`exact` compares the whole answer; these kinds find the piece that was asked for: a labelled line, a quotation. So a
right answer in the wrong format differs from a wrong one in the right format.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

from adhere.constraints.base import Choice, Finding, Whole, Words, kind, param
from adhere.constraints.kinds.held_out.exact import AnswerText
from adhere.constraints.kinds.shared import closeness, normalisers
from adhere.constraints.rule import COMMON_TOPICS, HeldOut, accept, decide, reject
from adhere.text.words import has_words, lines, words

_QUOTATION = re.compile(r'["“”„«»]([^"“”„«»\n]{1,2000})["“”„«»]')
_SHOWN = 120
_MARKUP = re.compile(r"[ \t]*(?:[-*+•>#]+|\d{1,3}[.)])?[ \t]*[*_`]*[ \t]*")


def _text(piece: str) -> str:
    return normalisers.text(piece.strip().strip("*_`").strip())


def _plain(text: str) -> str:
    """Return the text in lower case, with one form of apostrophe."""
    return text.lower().replace("’", "'")


def _number(piece: str) -> str:
    plain = normalisers.number(piece.strip().strip("*_`$").strip())
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


NORMALISERS: dict[str, Callable[[str], str]] = {
    "text": _text,
    "any case": lambda piece: _text(piece).casefold(),
    "number": _number,
    "items": lambda piece: ", ".join(normalisers.items(piece.strip().strip("*_`"))),
}


@kind
class Labelled(HeldOut):
    r"""The last line that begins with the label holds the expected answer.

    With "Answer", "12": "So:\nAnswer: 12" passes, "12" fails. Forgiven: Markdown emphasis, the case of the label, what
    the normaliser names (`number`: commas between thousands, trailing zeros of decimals). `expected` is the answer key;
    no wording says it.
    """

    id = "answer:labelled"
    version = 2
    phrasings = (
        'Give the result on a line of its own that begins with "{label}:" (compared as: {normaliser}).',
        'One line of your answer must begin with "{label}:" and hold nothing but the result behind it ({normaliser}).',
        'Write "{label}:" and behind it, on the same line, the result alone; it is compared as {normaliser}.',
        'The result goes behind "{label}:" at the start of a line. What is forgiven: the normaliser {normaliser}.',
    )
    passing = ({"label": "Answer", "expected": "12", "normaliser": "number"}, "6 and 6:\nAnswer: 12")
    failing = ({"label": "Answer", "expected": "12", "normaliser": "number"}, "12")
    right_text = "{label}: {expected}"
    wrong_text = "{label}: {expected}x1"

    label: str = param(Words(40))
    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(tuple(NORMALISERS)))

    def problem(self) -> str | None:
        normal = NORMALISERS[self.normaliser](self.expected)
        if normal != self.expected or "\n" in self.expected:
            return f"expected={self.expected!r} must be one line as the normaliser leaves it, {normal!r}"
        return None if ":" not in self.label else f"label={self.label!r} must not hold a colon"

    def judge(self, text: str) -> Finding:
        answer = next(self._find_results(reversed(lines(text))), None)
        if answer is None:
            return reject(f'no line begins with "{self.label}:"', needed=self.expected[:_SHOWN], score=0)
        got = NORMALISERS[self.normaliser](answer) if len(answer) <= normalisers.LONGEST_ANSWER else answer
        ok = got == self.expected
        reason = f"{self.label}: found {got[:_SHOWN]!r}, needed {self.expected[:_SHOWN]!r}"
        score = 1.0 if ok else closeness.of_texts(got[: 2 * normalisers.LONGEST_EXPECTED], self.expected)
        return decide(ok, reason, measured=got[:_SHOWN], needed=self.expected[:_SHOWN], score=score)

    def _find_results(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the text behind the label on each line that begins with the label."""
        label = self.label.casefold()
        for line in texts:
            if ":" not in line:
                continue
            markup = _MARKUP.match(line)
            head, colon, rest = line[markup.end() if markup else 0 :].partition(":")
            if colon and len(head) <= len(self.label) + 8 and head.rstrip("*_ ").casefold() == label:
                yield rest.lstrip("*_ ")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        label = rng.choice(("Answer", "Result", "Step 1"))
        if rng.random() < 0.5:
            return cls(label, str(rng.randint(1000, 99999)), "number")
        return cls(label, rng.choice(COMMON_TOPICS), rng.choice(("text", "any case", "items")))


@kind
class Once(Labelled):
    r"""The result of `answer:labelled` stands on one line alone.

    A second line with the label fails, right or wrong, so nothing is gained by guessing. With "Answer", "12", "last
    line": "So:\nAnswer: 12" passes, "Answer: 12\nAnswer: 13" and "Answer: 12\nBye." fail.
    """

    id = "answer:once"
    version = 2
    phrasings = (
        'Give the result once, on one line ({place}) that begins with "{label}:" (compared as: {normaliser}).',
        (
            'Exactly one line, namely {place}, must begin with "{label}:" and hold nothing but the result '
            "behind it ({normaliser})."
        ),
        (
            'Write "{label}:" and behind it the result alone, on one line and never again; which line: {place}; '
            "it is compared as {normaliser}."
        ),
        (
            'The result goes behind "{label}:" at the start of just one line: {place}. What is forgiven: '
            "the normaliser {normaliser}."
        ),
    )
    passing = ({**Labelled.passing[0], "place": "last line"}, "6 and 6:\nAnswer: 12")
    failing = ({**Labelled.passing[0], "place": "last line"}, "Answer: 12\nAnswer: 13")

    place: str = param(Choice(("any line", "last line")))

    def judge(self, text: str) -> Finding:
        full_lines = [line for line in lines(text) if has_words(line)]
        count = sum(1 for _ in self._find_results(full_lines))
        if count > 1:
            return reject(
                f'{count} lines begin with "{self.label}:", allowed 1', measured=count, needed=1, score=1 / count
            )
        if count and self.place == "last line" and next(self._find_results(full_lines[-1:]), None) is None:
            return reject(
                f'the line that begins with "{self.label}:" is not the last one', needed=self.place, score=0.5
            )
        return super().judge(text)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        like = Labelled.draw(rng, words=words)
        return cls(like.label, like.expected, like.normaliser, rng.choice(("any line", "last line")))


@kind
class Quotes(HeldOut):
    """A quotation of some words in a row stands between double quotation marks.

    Of "the sea is calm today", 3: 'He says "sea is calm".' passes, "the sea is calm" fails. Compared word by word, in
    any case; several quotations may stand there, one has to be right.
    """

    id = "answer:quotes"
    version = 3
    phrasings = (
        'Quote at least {count} word(s) in a row, between double quotation marks, from: "{passage}"',
        'Your answer must hold {count} or more successive word(s) of this text in double quotation marks: "{passage}"',
        'Cite word for word, in double quotation marks, {count} word(s) or more of "{passage}"',
        'Put a literal piece ({count} word(s) or longer) of "{passage}" between double quotation marks in your answer.',
    )
    passing = ({"passage": "the sea is calm today", "count": 3}, 'It says: "sea is calm".')
    failing = ({"passage": "the sea is calm today", "count": 3}, "the sea is calm")
    wrong_text = "It says nothing of the kind."

    passage: str = param(Words(2000))
    count: int = param(Whole(1, 50))

    def problem(self) -> str | None:
        most = len(words(self.passage))
        return None if most >= self.count else f"count={self.count} must be at most the words of passage, {most}"

    def judge(self, text: str) -> Finding:
        source = f" {' '.join(words(_plain(self.passage)))} "
        longest = 0
        for quotation in _QUOTATION.findall(_plain(text))[:200]:
            quoted_words = words(quotation)
            if len(quoted_words) > longest and f" {' '.join(quoted_words)} " in source:
                longest = len(quoted_words)
        if longest >= self.count:
            return accept(f"quotes {longest} words in a row", measured=longest, needed=self.count, score=1.0)
        return reject(
            f"found {longest} quoted words in a row, needed at least {self.count}",
            measured=longest,
            needed=self.count,
            score=longest / self.count,
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(" ".join(rng.sample(COMMON_TOPICS, 6)), rng.randint(2, 4))

    def witness(self) -> str:
        return f'It says: "{" ".join(words(self.passage)[: self.count])}".'
