"""Train family: where in an answer its words stand. Words are found as whole words in any case."""

from __future__ import annotations

import bisect
import random
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Constraint, Finding, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.kinds.trained.position_pairs import say_phrase, share_a_word
from adhere.constraints.rule import (
    MOST_SENTENCES,
    Rule,
    accept,
    at_least,
    decide,
    exactly,
    pick,
    plural,
    reject,
    topic_word,
    topic_words,
)
from adhere.text.words import count_words, has_words, paragraphs, sentence_spans, word_lines, word_spans

_CLAUSES = (", with {} in mind", " (think of {})", " – {} included")


def _woven(piece: str, phrase: str) -> str:
    """Return a sentence with a clause about `phrase` added."""
    return edits.add_clause(piece, pick(_CLAUSES, piece, phrase).format(phrase))


def _one_word(rng: random.Random, words: Sequence[str]) -> str:
    return next(word for word in topic_words(rng, words, len(words) + 12) if count_words(word) == 1)


class _Position(Rule):
    """Is the base of the kinds that say where one word or phrase must occur."""

    word: str

    def problem(self) -> str | None:
        return None if has_words(self.word) else f"word={self.word!r} must hold a letter or digit"

    def counter_witness(self) -> str:
        return phrases.write_without(self.word)

    def literals(self) -> tuple[str, ...]:
        return (self.word,)

    def conflicts_with(self, other: Constraint) -> bool:
        return super().conflicts_with(other) or share_a_word(self, other)


@kind
class NthWord(_Position):
    """The word with that number is `word`. With ("cats", 2): "All cats sleep." passes, "Cats sleep." fails."""

    id = "position:nth_word"
    version = 2
    order = 76
    phrasings = (
        'Word number {number} of your answer must be "{word}".',
        'Let "{word}" be the word at position {number} of your answer (the first word has position one).',
        'Count your words: the one with the number {number} has to be "{word}".',
        'Place the word "{word}" so that it is word {number} of the answer.',
        'At position {number}, counted in words from the start, there must be "{word}".',
    )
    passing = ({"word": "cats", "number": 2}, "All cats sleep.")
    failing = ({"word": "cats", "number": 2}, "Cats sleep.")

    word: str = param(Words(40))
    number: int = param(Whole(2, 1000))

    def problem(self) -> str | None:
        return None if count_words(self.word) == 1 else f"word={self.word!r} must be one word"

    def judge(self, text: str) -> Finding:
        spans = word_spans(text, most=self.number)
        if len(spans) < self.number:
            return reject(f"found only {plural(len(spans), 'word')}, needed {self.word!r} as word {self.number}")
        start, end = spans[self.number - 1]
        reason = f'word {self.number} is "{text[start:end][:60]}", needed "{self.word}"'
        return decide(phrases.contains(text[start:end], self.word), reason, needed=self.word, span=(start, end))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(_one_word(rng, words), rng.randint(2, 6))

    def repairs(self, text: str) -> Iterator[str]:
        spans = word_spans(text)
        if len(spans) >= self.number:
            at = spans[self.number - 1][0]
            yield f"{text[:at]}({self.word}) {text[at:]}"

    def witness(self) -> str:
        return f"{'so ' * (self.number - 1)}{self.word}."

    def fewest_words(self) -> int:
        return self.number + 1


@kind
class NthParagraph(_Position):
    r"""The paragraph with that number holds `word`.

    With ("dogs", 2): "Cats.\n\nDogs." passes, "Dogs.\n\nCats." fails.
    """

    id = "position:nth_paragraph"
    version = 2
    claims = frozenset({"shape"})
    order = 53
    phrasings = (
        'Use the word "{word}" in paragraph {number} (paragraphs are separated by a blank line).',
        'Paragraph number {number} of your answer must contain "{word}".',
        'Write several paragraphs with blank lines between them and mention "{word}" in paragraph {number}.',
        'There must be a paragraph {number}, and it has to say "{word}".',
        'Make sure that "{word}" occurs in the paragraph with the number {number}.',
    )
    passing = ({"word": "dogs", "number": 2}, "Cats.\n\nDogs.")
    failing = ({"word": "dogs", "number": 2}, "Dogs.\n\nCats.")

    word: str = param(Words(60))
    number: int = param(Whole(2, 50))

    def judge(self, text: str) -> Finding:
        pieces = [piece for piece in paragraphs(text) if has_words(piece)]
        if len(pieces) < self.number:
            return reject(f"found {plural(len(pieces), 'paragraph')}, needed at least {self.number}", score=0)
        ok = phrases.contains(pieces[self.number - 1], self.word)
        reason = f'paragraph {self.number} {"holds" if ok else "does not hold"} "{self.word}"'
        return decide(ok, reason, measured=len(pieces), needed=self.number, score=0.5)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, 1)[0], 2)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [piece for piece in paragraphs(text) if has_words(piece)]
        if len(pieces) < self.number:
            pieces = edits.split_into(text, self.number) or []
        if len(pieces) >= self.number:
            yield "\n\n".join(pieces)
            pieces[self.number - 1] = _woven(pieces[self.number - 1], self.word)
            yield "\n\n".join(pieces)

    def witness(self) -> str:
        return "\n\n".join(["Cats sleep."] * (self.number - 1) + [f"So does {self.word}."])

    def fewest_words(self) -> int:
        return 4 * self.number


@kind
class FirstHalf(_Position):
    """`word` occurs, and only in the first half of the words.

    With "cats": "Cats sleep." passes, "Sleep, cats." fails.
    """

    id = "position:first_half"
    version = 2
    claims = frozenset({"keyword count"})
    order = 34
    phrasings = (
        'Use the word "{word}" in the first half of your answer and not in the second half.',
        '"{word}" must occur, but only among the first half of your words.',
        'Mention "{word}" early: never in the second half of the answer.',
        'The word "{word}" has to appear in the first half of the answer; the second half must be without it.',
        'Once half of your words are written, "{word}" may not occur any more; before that it must.',
    )
    passing = ({"word": "cats"}, "Cats sleep.")
    failing = ({"word": "cats"}, "Sleep, cats.")

    word: str = param(Words(60), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        hits = [hit.span() for hit in phrases.pattern(self.word).finditer(text)]
        if not hits:
            return reject(f'missing "{self.word}"', measured=0)
        starts = [start for start, _ in word_spans(text)]
        late = [span for span in hits if 2 * _word_at(starts, span[1] - 1) >= len(starts)]
        reason = f'found "{self.word}" {plural(len(hits), "time")}, {len(late)} of them in the second half'
        return decide(not late, reason, measured=len(hits), span=(late or hits)[0], score=1 - len(late) / len(hits))

    def repairs(self, text: str) -> Iterator[str]:
        if not phrases.contains(text, self.word):
            yield f"{say_phrase(text, self.word)} {text.lstrip()}"

    def witness(self) -> str:
        return f"{self.word}: {'cats sleep ' * count_words(self.word)}a lot."

    def counter_witness(self) -> str:
        return f"So then {self.word}."


def _word_at(starts: Sequence[int], position: int) -> int:
    """Return the index of the word at a character; `starts` holds where the words begin."""
    return bisect.bisect_right(starts, position) - 1


@kind
class FirstAndLast(_Position):
    """The first and the last of several sentences hold `word`. With "cat": "A cat. A dog. My cat." passes."""

    id = "position:first_and_last"
    version = 2
    order = 37
    phrasings = (
        'Use the word "{word}" both in your first and in your last sentence.',
        'Write at least two sentences; the first and the last one must contain "{word}".',
        'Begin and end with it: "{word}" has to occur in the opening and in the closing sentence.',
        'Mention "{word}" in the first sentence and again in the last one.',
        'The opening sentence needs the word "{word}", and so does a final sentence after it.',
    )
    passing = ({"word": "cat"}, "A cat. A dog. My cat.")
    failing = ({"word": "cat"}, "A cat. A dog.")
    right_text = "This is {word}. That is {word}."

    word: str = param(Words(60), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        if len(spans) < 2:
            return reject("found one sentence, needed a first and a last one", measured=len(spans), needed=2, score=0)
        has_word = [phrases.contains(text[start:end], self.word) for start, end in (spans[0], spans[-1])]
        names = [name for name, ok in zip(("first", "last"), has_word, strict=True) if not ok]
        reason = f'"{self.word}" is missing in the {" and the ".join(names)} sentence' if names else "found in both"
        return decide(all(has_word), reason, measured=sum(has_word), needed=2, span=spans[0], score=sum(has_word) / 2)

    def repairs(self, text: str) -> Iterator[str]:
        spans = sentence_spans(text)
        edited = (
            text
            if phrases.contains(text[: spans[0][1]], self.word)
            else f"{say_phrase(text, self.word)} {text.lstrip()}"
        )
        yield edited
        yield edits.add_sentence(edited, f"That is what {self.word} is about.")

    def fewest_words(self) -> int:
        return 4 + 2 * count_words(self.word)


@kind
class EverySentence(_Position):
    """At least `count` sentences, and every one holds `word`.

    With ("cat", 2): "A cat. My cat." passes, "A cat." fails.
    """

    id = "position:every_sentence"
    version = 2
    order = 38
    phrasings = (
        'Write at least {count} sentences and use the word "{word}" in every one of them.',
        'Each sentence of your answer must contain "{word}", and there must be {count} sentences or more.',
        'No sentence may be without the word "{word}"; write no fewer than {count}.',
        '"{word}" has to occur in all of your sentences, of which I expect {count} or more.',
        'Mention "{word}" in each of your (at least {count}) sentences.',
    )
    passing = ({"word": "cat", "count": 2}, "A cat. My cat.")
    failing = ({"word": "cat", "count": 2}, "A cat.")

    word: str = param(Words(60))
    count: int = param(Whole(1, 200))

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        without = [(start, end) for start, end in spans if not phrases.contains(text[start:end], self.word)]
        if not without:
            return at_least(len(spans), self.count, f'sentence with "{self.word}"')
        reason = f'{len(without)} of {plural(len(spans), "sentence")} do not hold "{self.word}"'
        return reject(
            reason,
            measured=len(spans) - len(without),
            needed=len(spans),
            span=without[0],
            score=1 - len(without) / len(spans),
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, 1)[0], 2)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [text[start:end] for start, end in sentence_spans(text)]
        woven = [piece if phrases.contains(piece, self.word) else _woven(piece, self.word) for piece in pieces]
        extra = [say_phrase(text + str(number), self.word) for number in range(self.count - len(woven))]
        if len(extra) <= 2:
            yield " ".join([*woven, *extra])

    def witness(self) -> str:
        return " ".join([f"This is {self.word}."] * self.count)

    def fewest_words(self) -> int:
        return self.count * (2 + count_words(self.word))


@kind
class EveryParagraph(_Position):
    r"""Exactly `count` paragraphs that all hold `word`. With ("cat", 2): "A cat.\n\nMy cat." passes, "A cat." fails."""

    id = "position:every_paragraph"
    version = 2
    claims = frozenset({"shape"})
    order = 54
    phrasings = (
        'Write exactly {count} paragraphs, separated by blank lines, and use the word "{word}" in each.',
        'Your answer must have {count} paragraphs (a blank line between them) that all mention "{word}".',
        'Use {count} paragraphs; none of them may lack the word "{word}". Leave a blank line between paragraphs.',
        'Split the answer into {count} paragraphs by blank lines. Every paragraph has to contain "{word}".',
        '"{word}" must come up in each one of {count} paragraphs, which a blank line divides.',
    )
    passing = ({"word": "cat", "count": 2}, "A cat.\n\nMy cat.")
    failing = ({"word": "cat", "count": 2}, "A cat.")

    word: str = param(Words(60))
    count: int = param(Whole(2, 100))

    def judge(self, text: str) -> Finding:
        pieces = [piece for piece in paragraphs(text) if has_words(piece)]
        if len(pieces) != self.count:
            return exactly(len(pieces), self.count, "paragraph")
        holding = sum(phrases.contains(piece, self.word) for piece in pieces)
        reason = (
            f'{holding} of {plural(len(pieces), "paragraph")} hold "{self.word}", needed {self.count} of {self.count}'
        )
        return decide(holding == self.count, reason, measured=holding, needed=self.count, score=holding / self.count)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, 1)[0], 2)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.count) or []
        yield "\n\n".join(piece if phrases.contains(piece, self.word) else _woven(piece, self.word) for piece in pieces)

    def witness(self) -> str:
        return "\n\n".join([f"This is {self.word}."] * self.count)

    def fewest_words(self) -> int:
        return self.count * (3 + count_words(self.word))


@kind
class OnlyLastSentence(_Position):
    """Only the last of several sentences holds `word`. With "cat": "A dog. A cat." passes, "A cat. A cat." fails."""

    id = "position:only_last_sentence"
    version = 2
    claims = frozenset({"keyword count"})
    order = 39
    phrasings = (
        'Use the word "{word}" in your last sentence, but in no sentence before it.',
        'Save it for the end: "{word}" must occur in the last of several sentences and nowhere else.',
        'Only the final sentence may (and must) contain "{word}"; write at least one sentence before it.',
        'Do not mention "{word}" until your last sentence, which has to contain it and must not be the only one.',
        'The word "{word}" belongs into the closing sentence alone, after at least one other sentence.',
    )
    passing = ({"word": "cat"}, "A dog. A cat.")
    failing = ({"word": "cat"}, "A cat. A cat.")

    word: str = param(Words(60), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        if len(spans) < 2:
            return reject("found one sentence, needed one before the last", measured=len(spans), needed=2)
        start = spans[-1][0]
        early = phrases.first(text[:start], self.word)
        if early is not None:
            return reject(f'found "{self.word}" before the last sentence', span=early)
        ok = phrases.contains(text[start:], self.word)
        return decide(ok, f'the last sentence {"holds" if ok else "lacks"} "{self.word}"', span=spans[-1])

    def repairs(self, text: str) -> Iterator[str]:
        without = edits.replace_matches(text, phrases.pattern(self.word), "it")
        yield edits.add_sentence(without, say_phrase(text, self.word))

    def witness(self) -> str:
        return f"{phrases.write_without(self.word)} This is {self.word}."

    def fewest_words(self) -> int:
        return 5 + count_words(self.word)


@kind
class LastLine(_Position):
    r"""The last of several lines holds `word` and nothing else.

    With "cats": "They sleep.\nCats" passes, "Cats" fails.
    """

    id = "position:last_line"
    version = 2
    claims = frozenset({"end", "wrap"})
    order = 75
    excludes = frozenset({"punctuation:ends_with"})
    phrasings = (
        'Finish with a line that holds only the word "{word}".',
        'The last line of your answer must be just "{word}", below the rest.',
        'After your answer, write "{word}" on a line of its own and then stop.',
        'Close with "{word}" alone on the last line; it must not be the only line.',
        'Let the final line consist of "{word}" and nothing else, after at least one other line.',
    )
    passing = ({"word": "cats"}, "They sleep.\nCats")
    failing = ({"word": "cats"}, "Cats")
    right_text = "Cats sleep.\n{word}"

    word: str = param(Words(60), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        full_lines = word_lines(text)
        if len(full_lines) < 2:
            return reject(f'found one line, needed "{self.word}" on a line below others', measured=1, needed=2)
        last = full_lines[-1].strip()
        ok = last.strip("\"'“”*_.!").casefold() == self.word.casefold()
        if ok:
            return accept(f'the last line is "{self.word}"')
        return reject(f'the last line is {last[:40]!r}, needed "{self.word}" alone', needed=self.word)

    def repairs(self, text: str) -> Iterator[str]:
        yield f"{text.rstrip()}\n{edits.capitalise(self.word)}"
