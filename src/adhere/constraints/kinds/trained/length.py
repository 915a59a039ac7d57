"""How long an answer is: words, sentences, paragraphs, characters."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Constraint, Finding, Whole, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.rule import MOST_SENTENCES, Rule, at_least, at_most, decide, exactly, pick, plural
from adhere.text.words import count_words, has_words, paragraphs, sentence_spans, sentences, word_spans

_PROSE = (
    "Cats sleep for most of the day because hunting takes a lot of energy and rest helps them save it for later. They "
    "wake up in the evening, stretch, eat a little, and then look around for something that moves."
)


def _prose(count: int) -> str:
    """Return a text of exactly `count` words."""
    spans = word_spans(_PROSE)
    repeats, rest = divmod(count, len(spans))
    pieces = [_PROSE] * repeats
    if rest:
        pieces.append(edits.without_ending(_PROSE[: spans[rest - 1][1]]) + ".")
    return " ".join(pieces)


# Closing remarks that fit below any answer, for one that is a few words short.
_REMARKS = (
    "That is the main point.",
    "There is more to say about it, of course.",
    "This is the most important thing to know here.",
    "If you want to know more, just ask and I will gladly explain.",
    "Much depends on the details, so take this as a first short answer only.",
)


def _pad(text: str, least: int) -> Iterator[str]:
    """Yield edits of a text that lacks up to 18 words: with the shortest remarks that reach `least`, or a clause."""
    missing = least - count_words(text)
    if not 0 < missing <= 18:
        return
    pairs = [f"{remark} {other}" for remark in _REMARKS for other in _REMARKS if remark != other]
    enough = [remark for remark in (*_REMARKS, *pairs) if count_words(remark) >= missing]
    for remark in sorted(enough, key=count_words)[:2]:
        yield edits.add_sentence(text, remark)
    for clause in (" in most cases", ", as far as I know", " in most cases, as far as I know"):
        yield edits.add_clause(text, clause)


@kind
class AtMostWords(Rule):
    """At most `limit` words. With limit 5: "Cats sleep a lot." passes, "Cats sleep for most of the day." fails."""

    id = "length:at_most"
    version = 2
    claims = frozenset({"length"})
    order = 20
    phrasings = (
        "Answer in at most {limit} words.",
        "Use no more than {limit} words.",
        "Keep your answer to {limit} words or fewer.",
        "Your answer must not be longer than {limit} words.",
        "Stay within a limit of {limit} words.",
    )
    passing = ({"limit": 5}, "Cats sleep a lot.")
    failing = ({"limit": 5}, "Cats sleep for most of the day.")

    limit: int = param(Whole(1, 100_000), drawn=range(8, 31))

    def judge(self, text: str) -> Finding:
        return at_most(count_words(text), self.limit, "word")

    def repairs(self, text: str) -> Iterator[str]:
        if (shorter := edits.cut_to_words(text, self.limit)) is not None:
            yield shorter

    def tightened(self, level: int) -> Constraint:
        return AtMostWords(max(min(4, self.limit), self.limit - 3 * level))

    def witness(self) -> str:
        return _prose(min(self.limit, 6))

    def counter_witness(self) -> str:
        return "cats " * self.limit + "sleep"

    def fewest_words(self) -> int:
        return min(self.limit, 3)

    def most_words(self) -> int | None:
        return self.limit


@kind
class AtLeastWords(Rule):
    """At least `least` words. With least 5: "Cats sleep for most of the day." passes, "Cats sleep a lot." fails."""

    id = "length:at_least"
    version = 2
    claims = frozenset({"length"})
    order = 45
    phrasings = (
        "Answer in at least {least} words.",
        "Use {least} or more words.",
        "Your answer must contain no fewer than {least} words.",
        "Write at the very least {least} words.",
        "Make sure that your answer is {least} words long or longer.",
    )
    passing = ({"least": 5}, "Cats sleep for most of the day.")
    failing = ({"least": 5}, "Cats sleep a lot.")

    least: int = param(Whole(2, 100_000), drawn=range(12, 31))

    def judge(self, text: str) -> Finding:
        return at_least(count_words(text), self.least, "word")

    def repairs(self, text: str) -> Iterator[str]:
        yield from _pad(text, self.least)

    def witness(self) -> str:
        return _prose(self.least)

    def counter_witness(self) -> str:
        return _prose(self.least - 1)

    def fewest_words(self) -> int:
        return self.least


@kind
class BetweenWords(Rule):
    """From `low` to `high` words. With 4 and 6: "Cats sleep a lot." passes, "Cats sleep." fails."""

    id = "length:between"
    version = 2
    claims = frozenset({"length"})
    order = 20
    phrasings = (
        "Answer in {low} to {high} words.",
        "Your answer should be between {low} and {high} words long.",
        "Use at least {low} but at most {high} words.",
        "Write no fewer than {low} and no more than {high} words.",
        "Keep the length of your answer in the range of {low}-{high} words.",
    )
    passing = ({"low": 4, "high": 6}, "Cats sleep a lot.")
    failing = ({"low": 4, "high": 6}, "Cats sleep.")

    low: int = param(Whole(1, 100_000))
    high: int = param(Whole(2, 100_000))

    def problem(self) -> str | None:
        return None if self.low < self.high else f"low={self.low} must be below high={self.high}"

    def judge(self, text: str) -> Finding:
        count = count_words(text)
        score = count / self.low if count < self.low else self.high / count
        reason = f"found {plural(count, 'word')}, needed {self.low} to {self.high}"
        return decide(self.low <= count <= self.high, reason, measured=count, needed=[self.low, self.high], score=score)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        low = rng.randint(8, 20)
        return cls(low, low + rng.choice((5, 8, 10)))

    def repairs(self, text: str) -> Iterator[str]:
        if (shorter := edits.cut_to_words(text, self.high)) is not None:
            yield shorter
        if (shorter := edits.cut_words_only(text, self.high)) is not None:
            yield shorter
        yield from _pad(text, self.low)

    def tightened(self, level: int) -> Constraint:
        return BetweenWords(self.low, max(self.low + 1, self.high - 3 * level))

    def witness(self) -> str:
        return _prose(self.low)

    def counter_witness(self) -> str:
        return _prose(self.high + 1)

    def fewest_words(self) -> int:
        return self.low

    def most_words(self) -> int | None:
        return self.high


@kind
class AtMostCharacters(Rule):
    """At most `limit` characters, blanks and marks counted.

    With 20: "Cats sleep a lot." passes, a longer text fails.
    """

    id = "length:characters"
    version = 2
    claims = frozenset({"length"})
    order = 21
    phrasings = (
        "Answer in at most {limit} characters.",
        "Use no more than {limit} characters, spaces included.",
        "Let your answer be {limit} characters long or shorter.",
        "Your answer has to fit into {limit} characters.",
        "The whole answer may be {limit} characters long, not longer.",
    )
    passing = ({"limit": 20}, "Cats sleep a lot.")
    failing = ({"limit": 20}, "Cats sleep for most of the day.")

    limit: int = param(Whole(10, 1_000_000), drawn=range(80, 201, 10))

    def judge(self, text: str) -> Finding:
        return at_most(len(text.strip()), self.limit, "character")

    def repairs(self, text: str) -> Iterator[str]:
        if (shorter := edits.cut_to_characters(text, self.limit)) is not None:
            yield shorter

    def tightened(self, level: int) -> Constraint:
        return AtMostCharacters(max(min(30, self.limit), self.limit - 15 * level))

    def witness(self) -> str:
        return "Cats sleep."[: self.limit]

    def counter_witness(self) -> str:
        return "a" * (self.limit + 1)

    def most_words(self) -> int | None:
        return max(1, self.limit // 6)


_FEWEST_SENTENCES = {"copying:first_is_last": 3, "position:first_and_last": 2, "position:only_last_sentence": 2}
_COUNTS_SENTENCES = frozenset(
    (
        "counting:questions counting:sentences_with_number position:every_sentence style:varied_letters "
        "style:varied_starts"
    ).split()
)


def _fewest_sentences(other: Constraint) -> int:
    """Return the number of sentences that an answer that keeps `other` has at least."""
    if other.id in _COUNTS_SENTENCES:
        return int(getattr(other, "count"))  # noqa: B009 - all of them have it
    return _FEWEST_SENTENCES.get(other.id, 1)


@kind
class Sentences(Rule):
    """Exactly `count` sentences. With 2: "Cats sleep. Dogs bark." passes, "Cats sleep." fails."""

    id = "length:sentences"
    version = 2
    claims = frozenset({"shape"})
    order = 22
    phrasings = (
        "Answer in exactly {sentences}.",
        "Your answer must consist of {sentences}, no more and no fewer.",
        "Write precisely {sentences}.",
        "Use {sentences} to answer, not one more or less.",
        "The number of sentences in your answer has to be {count}.",
    )
    passing = ({"count": 2}, "Cats sleep. Dogs bark.")
    failing = ({"count": 2}, "Cats sleep.")

    count: int = param(Whole(1, 500), drawn=(1, 2, 2, 3, 3), noun="sentence")

    def judge(self, text: str) -> Finding:
        return exactly(len(sentence_spans(text, most=MOST_SENTENCES)), self.count, "sentence")

    def repairs(self, text: str) -> Iterator[str]:
        pieces = sentences(edits.plain(text))
        if len(pieces) >= self.count:
            yield " ".join(pieces[: self.count])
            return
        yield " ".join(edits.split_clauses(pieces, self.count))
        first = pick(range(len(_REMARKS)), text)
        yield " ".join(
            [*map(edits.end_sentence, pieces), *(_REMARKS[first:] + _REMARKS[:first])[: self.count - len(pieces)]]
        )
        if (split := edits.split_into(text, self.count)) is not None:
            yield " ".join(map(edits.end_sentence, split))

    def conflicts_with(self, other: Constraint) -> bool:
        return super().conflicts_with(other) or self.count < _fewest_sentences(other)

    def tightened(self, level: int) -> Constraint:
        return Sentences(max(1, self.count - level))

    def witness(self) -> str:
        return " ".join(["Cats sleep a lot."] * self.count)

    def counter_witness(self) -> str:
        return " ".join(["Cats sleep a lot."] * (self.count + 1))

    def fewest_words(self) -> int:
        return 4 * self.count


@kind
class Paragraphs(Rule):
    """Exactly `count` paragraphs with a blank line between them. With 1: "Cats sleep." passes; two paragraphs fail."""

    id = "length:paragraphs"
    version = 2
    claims = frozenset({"shape"})
    order = 50
    phrasings = (
        "Write exactly {paragraphs}, separated by a blank line.",
        "Split your answer into {count} paragraphs with an empty line between them.",
        "Your answer must have {paragraphs}; leave one line blank between paragraphs.",
        "Structure the answer as {paragraphs}, each followed by a blank line except the last.",
        "I want to see {paragraphs} (a paragraph ends at a blank line).",
    )
    passing = ({"count": 2}, "Cats sleep.\n\nDogs bark.")
    failing = ({"count": 2}, "Cats sleep.\nDogs bark.")

    count: int = param(Whole(1, 500), drawn=(2, 2, 3), noun="paragraph")

    def judge(self, text: str) -> Finding:
        return exactly(sum(map(has_words, paragraphs(text))), self.count, "paragraph")

    def repairs(self, text: str) -> Iterator[str]:
        if (pieces := edits.split_into(text, self.count)) is not None:
            yield "\n\n".join(pieces)

    def witness(self) -> str:
        return "\n\n".join(["Cats sleep a lot."] * self.count)

    def counter_witness(self) -> str:
        return "\n\n".join(["Cats sleep a lot."] * (self.count + 1))

    def fewest_words(self) -> int:
        return 4 * self.count
