"""Train family: what an answer has to copy, letter by letter, and in which order."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Self

from adhere.constraints.base import Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.kinds.trained import copying_words  # noqa: F401 - registers its kinds
from adhere.constraints.rule import MOST_SENTENCES, Rule, decide, exactly, plural, quoted_list, reject, topic_words
from adhere.text.words import count_words, has_words, lines, paragraphs, sentence_spans, sentences, word_lines, words

_SHAPE = frozenset({"shape", "wrap"})
_OPENERS = " \t\r\n\"'“‘«([{*_#>-•+"
_FIRST = re.compile(r"[^\W_]")
_PHRASES = (
    "Slow and steady wins the race", "Practice makes perfect", "Every little helps", "Time will tell",
    "Better late than never", "Knowledge is power", "The early bird catches the worm", "Less is more",
)  # fmt: skip
# Short words of different letters, for lines or sentences whose first letters spell them.
_SPELLED = ("cat", "sun", "tea", "map", "ship", "bird", "plan", "moon", "star", "tide")
# How a line or sentence may begin with each letter.
_STARTS = {
    "a": "All in all", "b": "By the way", "c": "Clearly", "d": "Day by day", "e": "Even so", "f": "For example",
    "g": "Generally", "h": "Here", "i": "In fact", "j": "Just so", "k": "Keep in mind", "l": "Likewise",
    "m": "Moreover", "n": "Now", "o": "Of course", "p": "Perhaps", "q": "Quite often", "r": "Really", "s": "So",
    "t": "Then", "u": "Usually", "v": "Very often", "w": "Well", "x": "Xenially", "y": "Yes", "z": "Zealously",
}  # fmt: skip


def _phrase_problem(**phrases: str) -> str | None:
    return next(
        (f"{name}={text!r} must hold a letter or digit" for name, text in phrases.items() if not has_words(text)), None
    )


class _Exact(Rule):
    """Is the base of the kinds whose copy keeps its case; rules on the case of the whole answer conflict."""

    claims = frozenset({"case"})

    def counter_witness(self) -> str:
        return "Zzz."


@kind
class RepeatLine(_Exact):
    r"""Exactly `count` lines hold `phrase` and nothing else. With ("Go", 2): "Go\nGo" passes, "Go" and "Go Go" fail."""

    id = "copying:repeat_line"
    version = 2
    claims = frozenset({"case", "wrap"})
    order = 77
    phrasings = (
        'Write the line "{phrase}" exactly {times}, each on a line of its own.',
        'Your answer must have exactly {count} lines that read "{phrase}" and nothing else.',
        'Copy this line {times}, letter by letter, one copy a line: "{phrase}"',
        'Repeat "{phrase}" on separate lines, {times} in total; other lines may stand around them.',
        'There have to be {count} lines, no more and no fewer, that consist of "{phrase}" only.',
    )
    passing = ({"phrase": "Go", "count": 2}, "Go\nGo")
    failing = ({"phrase": "Go", "count": 2}, "Go")

    phrase: str = param(Words(), drawn=_PHRASES)
    count: int = param(Whole(1, 100), drawn=(2, 2, 3), noun="time")

    def problem(self) -> str | None:
        return _phrase_problem(phrase=self.phrase)

    def judge(self, text: str) -> Finding:
        count = sum(line.strip() == self.phrase for line in lines(text))
        return exactly(count, self.count, "line with the phrase")

    def repairs(self, text: str) -> Iterator[str]:
        others = [line for line in lines(text) if line.strip() != self.phrase]
        yield "\n".join([*others, *[self.phrase] * self.count]).strip()

    def witness(self) -> str:
        return "\n".join([self.phrase] * self.count)

    def literals(self) -> tuple[str, ...]:
        return (self.phrase,)

    def fewest_words(self) -> int:
        return 3 + self.count * count_words(self.phrase)


@kind
class QuoteFirst(_Exact):
    r"""The first line is `sentence` in double quotation marks; the answer stands below.

    With "Why?": "\"Why?\"\nSo." passes.
    """

    id = "copying:quote_first"
    version = 2
    claims = frozenset({"case", "start", "wrap", "title"})
    order = 73
    phrasings = (
        "Begin with a line that quotes this sentence in double quotation marks, then answer below it: {sentence}",
        'The first line of your answer must be "{sentence}", with the quotation marks; everything else comes after it.',
        "Copy the following onto the first line, in double quotes and without a change: {sentence} Then go on below.",
        'Start by quoting "{sentence}" on a line of its own, quotation marks included, and continue on the next line.',
        'Line one has to be the exact quotation "{sentence}"; further lines follow.',
    )
    passing = ({"sentence": "Why?"}, '"Why?"\nSo.')
    failing = ({"sentence": "Why?"}, "Why?\nSo.")
    right_text = '"{sentence}"\nWell, it depends.'

    sentence: str = param(Words(300))

    def problem(self) -> str | None:
        return _phrase_problem(sentence=self.sentence)

    def judge(self, text: str) -> Finding:
        first, _, rest = text.strip().replace("\r\n", "\n").partition("\n")
        line = first.strip()
        if line not in {f'"{self.sentence}"', f"“{self.sentence}”"}:
            return reject(f'the first line is {line[:60]!r}, needed the quotation "{self.sentence}"')
        return decide(has_words(rest), "found the quotation" + ("" if has_words(rest) else ", but nothing below it"))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        topic = topic_words(rng, words, 1)[0]
        form = rng.choice(("What should I know about {}?", "Why does {} matter?", "Tell me about {}, please."))
        return cls(form.format(topic))

    def repairs(self, text: str) -> Iterator[str]:
        yield f'"{self.sentence}"\n{text.lstrip()}'

    def literals(self) -> tuple[str, ...]:
        return (self.sentence,)

    def fewest_words(self) -> int:
        return 3 + count_words(self.sentence)


@kind
class FirstIsLast(_Exact):
    """The last of at least three sentences repeats the first.

    "Cats nap. Dogs run. Cats nap." passes; "Cats nap." fails.
    """

    id = "copying:first_is_last"
    version = 2
    claims = frozenset({"end"})
    order = 78
    phrasings = (
        "End your answer with the same sentence that it begins with; at least one other sentence stands between.",
        "Your last sentence must be an exact copy of your first one, with something in between.",
        "Repeat your opening sentence word for word as the final sentence, after at least one other.",
        "Come full circle: the first and the last of at least three sentences have to be identical.",
        "Let the answer of three or more sentences close with a copy of its first sentence.",
    )
    passing = ({}, "Cats nap. Dogs run. Cats nap.")
    failing = ({}, "Cats nap.")

    def judge(self, text: str) -> Finding:
        spans = sentence_spans(text, most=MOST_SENTENCES)
        if len(spans) < 3:
            return reject(f"found {plural(len(spans), 'sentence')}, needed at least 3", measured=len(spans), needed=3)
        first, last = (" ".join(text[start:end].split()) for start, end in (spans[0], spans[-1]))
        reason = f"the last sentence is {last[:60]!r}, the first is {first[:60]!r}"
        return decide(first == last, reason, span=spans[-1])

    def repairs(self, text: str) -> Iterator[str]:
        every = sentences(text)
        yield edits.add_sentence(text, every[0])
        halves = edits.split_into(text, 2) or [text]
        yield edits.add_sentence(" ".join(halves), halves[0])

    def fewest_words(self) -> int:
        return 9


def _initials(pieces: Sequence[str]) -> str:
    return "".join(hit.group() for piece in pieces if (hit := _FIRST.search(piece)))


class _Spelling(Rule):
    """Is the base of the kinds where the first letters of lines or sentences spell a word."""

    _noun = ""
    _gap = ""
    word: str

    def problem(self) -> str | None:
        return None if self.word.isalpha() else f"word={self.word!r} must be letters only"

    def wording(self) -> dict[str, object]:
        return {"word": self.word, "count": len(self.word)}

    def pieces(self, text: str) -> list[str]:
        """Return the pieces (lines or sentences) whose first letters spell the word."""
        raise NotImplementedError

    def judge(self, text: str) -> Finding:
        initials = _initials(self.pieces(text))
        right = sum(char == letter for char, letter in zip(initials.casefold(), self.word.casefold(), strict=False))
        reason = f'the first letters of the {self._noun}s spell "{initials[:60]}", needed "{self.word}"'
        return decide(
            initials.casefold() == self.word.casefold(),
            reason,
            measured=initials[:200],
            needed=self.word,
            score=right / max(len(initials), len(self.word)),
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(word=rng.choice(_SPELLED))  # type: ignore[call-arg]

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, len(self.word)) or []
        yield self._gap.join(
            piece
            if piece.lstrip(_OPENERS)[:1].lower() == letter
            else edits.add_opening(piece, _STARTS.get(letter, letter), clause=True)
            for piece, letter in zip(pieces, self.word.lower(), strict=False)
        )

    def witness(self) -> str:
        return self._gap.join(f"{letter.upper()}nd so." for letter in self.word)

    def counter_witness(self) -> str:
        return f"{'Q' if self.word[:1].lower() != 'q' else 'Z'}uite."

    def fewest_words(self) -> int:
        return 3 * len(self.word)


@kind
class Acrostic(_Spelling):
    r"""The first letters of the lines spell `word`. With "no": "Now\nOr never" passes, "Now or never" fails."""

    id = "copying:acrostic"
    version = 2
    claims = _SHAPE | {"start", "sentence starts"}
    order = 52
    phrasings = (
        'Write an acrostic: the first letters of your {count} lines must spell "{word}".',
        'Answer in {count} lines whose first letters, read from top to bottom, make the word "{word}".',
        'Each line begins with the next letter of "{word}", so that there are {count} lines.',
        'Read downwards, the first letters of the lines of your answer have to form "{word}".',
        'Let the lines of your answer start with the letters of "{word}", one after the other.',
    )
    passing = ({"word": "no"}, "Now\nOr never")
    failing = ({"word": "no"}, "Now or never")
    _noun = "line"
    _gap = "\n"

    word: str = param(Words(30))

    def pieces(self, text: str) -> list[str]:
        return word_lines(text, most=MOST_SENTENCES)


@kind
class Initials(_Spelling):
    """The first letters of the sentences spell `word`. With "no": "Now. Or never." passes, "Now or never." fails."""

    id = "copying:initials"
    version = 2
    claims = frozenset({"shape", "start", "sentence starts"})
    order = 52
    phrasings = (
        'The first letters of your {count} sentences must spell "{word}".',
        'Answer in {count} sentences that begin with the letters of "{word}", in this order.',
        'Start each sentence with the next letter of "{word}", until it is spelled out.',
        'Hide a word: taken together, the first letters of all your sentences have to read "{word}".',
        'Let your sentences begin with the letters of "{word}", one sentence a letter.',
    )
    passing = ({"word": "no"}, "Now. Or never.")
    failing = ({"word": "no"}, "Now or never.")
    _noun = "sentence"
    _gap = " "

    word: str = param(Words(30))

    def pieces(self, text: str) -> list[str]:
        return [text[start:end] for start, end in sentence_spans(text, most=MOST_SENTENCES)]


@kind
class Refrain(_Exact):
    r"""Exactly `count` paragraphs that each end with `phrase`, in its case. With ("Go", 2): "A: Go.\n\nGo!" passes."""

    id = "copying:refrain"
    version = 2
    claims = frozenset({"case", "shape", "end"})
    order = 78
    phrasings = (
        'Write exactly {count} paragraphs, with a blank line between them, that all end with "{phrase}".',
        'Your answer must have {count} paragraphs (blank lines between them); close each with the words "{phrase}".',
        'Use "{phrase}" as a refrain at the end of each of {count} paragraphs, divided by blank lines.',
        'Split your answer into {count} paragraphs by blank lines and finish every one with "{phrase}".',
        'There have to be {count} paragraphs, and the last words of each must be "{phrase}".',
    )
    passing = ({"phrase": "Go", "count": 2}, "A: Go.\n\nGo!")
    failing = ({"phrase": "Go", "count": 2}, "So go.\n\nGo!")

    phrase: str = param(Words())
    count: int = param(Whole(2, 50))

    def problem(self) -> str | None:
        return _phrase_problem(phrase=self.phrase)

    def judge(self, text: str) -> Finding:
        pieces = [piece for piece in paragraphs(text) if has_words(piece)]
        if len(pieces) != self.count:
            return exactly(len(pieces), self.count, "paragraph")
        bare = self.phrase.rstrip(".!?…")
        ending = sum(edits.without_ending(piece).endswith(bare) for piece in pieces)
        reason = (
            f'{ending} of {plural(len(pieces), "paragraph")} end with "{self.phrase}", '
            f"needed {self.count} of {self.count}"
        )
        return decide(ending == self.count, reason, measured=ending, needed=self.count, score=ending / self.count)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(rng.choice(_PHRASES), 2)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.count) or []
        yield "\n\n".join(f"{edits.end_sentence(piece)} {edits.end_sentence(self.phrase)}" for piece in pieces)

    def witness(self) -> str:
        return "\n\n".join([f"Yes: {edits.end_sentence(self.phrase)}"] * self.count)

    def literals(self) -> tuple[str, ...]:
        return (self.phrase,)

    def fewest_words(self) -> int:
        return self.count * (3 + count_words(self.phrase))


@kind
class CopyList(_Exact):
    r"""Each of `items` stands alone on a line, in this order, with text below. With ("a", "b"): "a\nb\nSo." passes."""

    id = "copying:list"
    version = 2
    claims = frozenset({"case", "wrap", "start", "title"})
    order = 77
    phrasings = (
        "Copy these items one per line, in this order and unchanged, and write your answer below them: {quoted}.",
        "Begin with the lines {quoted}, each on its own line, exactly as they are here; then answer.",
        "First list {quoted}, one item a line without numbers or bullets; after that list comes your answer.",
        "The first lines of your answer must read {quoted}, in the same order, followed by further lines.",
        "Put {quoted} on separate lines at the top, letter by letter, and go on below.",
    )
    passing = ({"items": ("a", "b")}, "a\nb\nSo.")
    failing = ({"items": ("a", "b")}, "b\na\nSo.")

    items: tuple[str, ...] = param(ListOf(Words(80), 1, 8))

    def problem(self) -> str | None:
        return _phrase_problem(items=" ".join(self.items))

    def wording(self) -> dict[str, object]:
        return {"quoted": quoted_list(self.items)}

    def judge(self, text: str) -> Finding:
        full_lines = [line.strip() for line in lines(text) if line and not line.isspace()]
        count = len(self.items)
        right = sum(line == item for line, item in zip(full_lines, self.items, strict=False))
        if right < count:
            wrong = next((n for n, item in enumerate(self.items) if n >= len(full_lines) or full_lines[n] != item), 0)
            reason = f'line {wrong + 1} is not "{self.items[wrong]}"'
            return reject(reason, measured=right, needed=count, score=right / (count + 1))
        below = has_words("".join(full_lines[count:]))
        reason = f"found the {plural(count, 'line')}{'' if below else ', but nothing below'}"
        return decide(below, reason, measured=right, needed=count, score=right / (count + 1))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, rng.choice((2, 3))))

    def repairs(self, text: str) -> Iterator[str]:
        yield "\n".join([*self.items, text.lstrip()])

    def witness(self) -> str:
        return "\n".join([*self.items, "Cats sleep."])

    def literals(self) -> tuple[str, ...]:
        return self.items

    def fewest_words(self) -> int:
        return 3 + count_words(" ".join(self.items))


@kind
class Code(_Exact):
    r"""`code` occurs exactly once, alone on the last line.

    With "A-1": "Cats sleep.\nA-1" passes, "A-1: cats sleep." fails.
    """

    id = "copying:code"
    version = 2
    claims = frozenset({"case", "end", "wrap"})
    order = 79
    excludes = frozenset({"punctuation:ends_with"})
    phrasings = (
        'Put the reference "{code}" alone on the last line of your answer and nowhere else.',
        'End with a line that holds exactly "{code}"; do not mention it before.',
        'Your last line must be the code "{code}", copied without a change and used only there.',
        'Sign off with "{code}" on a line of its own, and only once.',
        'The code "{code}" has to make up the final line and may not occur in any other place.',
    )
    passing = ({"code": "A-1"}, "Cats sleep.\nA-1")
    failing = ({"code": "A-1"}, "A-1: cats sleep.")
    right_text = "So be it.\n{code}"

    code: str = param(Words(60))

    def problem(self) -> str | None:
        return _phrase_problem(code=self.code)

    def judge(self, text: str) -> Finding:
        count = text.count(self.code)
        if count != 1:
            return exactly(count, 1, f'occurrence of "{self.code}"')
        last = text.rstrip().rpartition("\n")[2].strip()
        return decide(
            last == self.code, f"the last line is {last[-60:]!r}, needed {self.code!r}", needed=self.code, score=0.5
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(f"{''.join(rng.sample('ABCDEFGHKLMNPRSTXZ', 2))}-{rng.randint(1000, 9999)}")

    def repairs(self, text: str) -> Iterator[str]:
        if self.code not in text:
            yield f"{text.rstrip()}\n{self.code}"

    def literals(self) -> tuple[str, ...]:
        return (self.code,)


@kind
class Echo(Rule):
    """The last `count` words repeat the first ones.

    With 2: "Cats sleep, yes, cats sleep." passes, "Cats sleep." fails.
    """

    id = "copying:echo"
    version = 2
    claims = frozenset({"start", "end"})
    order = 78
    phrasings = (
        "End your answer with the same {count} words that it begins with.",
        "The last {count} words of your answer must repeat its first {count} words in the same order.",
        "Let your answer close as it opens: the {count} words at its start come again at its end.",
        "Repeat the first {count} words of the answer as its final words.",
        "Your opening {count} words have to return, unchanged, as your closing words.",
    )
    passing = ({"count": 2}, "Cats sleep, yes, cats sleep.")
    failing = ({"count": 2}, "Cats sleep.")

    count: int = param(Whole(2, 50), drawn=(2, 3, 3))

    def judge(self, text: str) -> Finding:
        every = words(text)
        if len(every) < 2 * self.count:
            return reject(f"found {plural(len(every), 'word')}, needed at least {2 * self.count}", measured=len(every))
        first, last = every[: self.count], every[-self.count :]
        right = sum(opening.casefold() == closing.casefold() for opening, closing in zip(first, last, strict=True))
        reason = f'the answer begins "{" ".join(first)[:80]}" and ends "{" ".join(last)[:80]}"'
        return decide(right == self.count, reason, measured=right, needed=self.count, score=right / self.count)

    def repairs(self, text: str) -> Iterator[str]:
        every = words(text)
        if len(every) >= self.count:
            yield edits.add_sentence(text, f"{' '.join(every[: self.count])}.")

    def witness(self) -> str:
        half = " ".join(["cats", "sleep", *["long"] * (self.count - 2)])
        return f"{half} and {half}."

    def fewest_words(self) -> int:
        return 2 * self.count + 2
