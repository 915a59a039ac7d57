"""Held-out family: pieces of markup in an answer. Never trained on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from adhere.constraints.base import Choice, Finding, Whole, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.rule import HeldOut, accept, at_least, exactly, pick, plural, reject
from adhere.text.words import has_words, word_spans

# Each piece lies within one line and holds no bracket of its own sort: a run of opening brackets is read once.
_TITLE = re.compile(r"<<([^<>\n]+)>>")
_HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,2})(?![\s*])([^*\n]+)(?<!\s)\1(?!\*)")
_PLACEHOLDER = re.compile(r"\[([^\[\]\n]+)\]")
_POSTSCRIPT = re.compile(r"(?<![^\W_])p\.[ \t]?s\.(?=[^\n]*[^\W_])|(?<![^\W_])ps:(?=[^\n]*[^\W_])", re.IGNORECASE)
_DIVIDER = re.compile(r"^[ \t]*+\*\*\*[ \t]*+$", re.MULTILINE)
_HASHTAG = re.compile(r"(?<![^\s])#[^\W\d_]\w*")


class _AtLeast(HeldOut):
    """Is the base of the kinds that ask for at least `count` pieces of markup."""

    _unit = ""
    _pattern: ClassVar[re.Pattern[str]]
    _group = 0
    count: int

    def wording(self) -> dict[str, Any]:
        return {"count": self.count, "units": plural(self.count, self._unit)}

    def judge(self, text: str) -> Finding:
        hits = [hit for hit in self._pattern.finditer(text) if has_words(hit.group(self._group))]
        return at_least(len(hits), self.count, self._unit, span=hits[0].span() if hits else None)

    def fewest_words(self) -> int:
        return 2 * self.count


@kind
class Title(HeldOut):
    """Holds a title in double angle brackets. "<<Cats>> They sleep." passes, "<Cats> They sleep." fails."""

    id = "format:title"
    version = 2
    claims = frozenset({"title", "start"})
    order = 73
    phrasings = (
        "Give your answer a title in double angular brackets, such as <<Title>>.",
        "Your answer must contain a title wrapped in << and >>.",
        "Add a title and write it like this: <<my title>>.",
        "Put a heading between double angle brackets (<< >>) into your answer.",
        "There must be a title, enclosed in << >>.",
    )
    passing = ({}, "<<Cats>> They sleep.")
    failing = ({}, "<Cats> They sleep.")
    right_text = "<<Cats>>\nThey sleep."

    def judge(self, text: str) -> Finding:
        hit = next((hit for hit in _TITLE.finditer(text) if has_words(hit.group(1))), None)
        if hit is None:
            return reject("found no title in << >>")
        return accept(f"found the title {hit.group(1)[:60]!r}", span=hit.span())

    def repairs(self, text: str) -> Iterator[str]:
        yield f"<<{edits.capitalise(edits.key_word(text))}>>\n{text.lstrip()}"


@kind
class Highlights(_AtLeast):
    """At least `count` pieces between asterisks. With 1: "Cats *sleep*." passes, "Cats sleep*." fails."""

    id = "format:highlights"
    version = 2
    order = 66
    phrasings = (
        "Highlight at least {units} of your answer with asterisks, like *this*.",
        "Your answer must contain {count} or more highlighted sections, i.e. *highlighted section*.",
        "Use markdown to emphasize no fewer than {units} (*emphasis* or **emphasis**).",
        "Mark {count} or more important parts with *asterisks*.",
        "At least {units} must stand between asterisks.",
    )
    passing = ({"count": 1}, "Cats *sleep*.")
    failing = ({"count": 1}, "Cats sleep*.")
    _unit = "section"
    _pattern = _HIGHLIGHT
    _group = 2

    count: int = param(Whole(1, 100), drawn=(1, 2, 2, 3))

    def repairs(self, text: str) -> Iterator[str]:
        spans = sorted(word_spans(text), key=lambda span: span[0] - span[1])[: self.count]
        edited = text
        for start, end in sorted(spans, reverse=True):
            edited = f"{edited[:start]}*{edited[start:end]}*{edited[end:]}"
        yield edited

    def witness(self) -> str:
        return " and ".join(["*cats*"] * self.count)


@kind
class Placeholders(_AtLeast):
    """At least `count` placeholders in square brackets. With 1: "Dear [name]." passes, "Dear (name)." fails."""

    id = "format:placeholders"
    version = 2
    order = 67
    phrasings = (
        "Use at least {units} in square brackets, such as [name].",
        "Your answer must contain {count} or more placeholders represented by square brackets, like [address].",
        "Leave gaps to fill in: no fewer than {units} of the form [word].",
        "Include {units} or more, written as [placeholder].",
        "At least {units} like [this] must occur.",
    )
    passing = ({"count": 1}, "Dear [name].")
    failing = ({"count": 1}, "Dear (name).")
    _unit = "placeholder"
    _pattern = _PLACEHOLDER
    _group = 1
    _fields: ClassVar[tuple[str, ...]] = ("[name]", "[place]", "[date]", "[number]", "[source]")

    count: int = param(Whole(1, 100), drawn=(1, 1, 2))

    def repairs(self, text: str) -> Iterator[str]:
        fields = [self._fields[number % len(self._fields)] for number in range(self.count)]
        yield edits.add_sentence(text, f"Ask {' or '.join(fields)} for more.")

    def witness(self) -> str:
        return "Dear " + " ".join(["[name]"] * self.count)


@kind
class Postscript(HeldOut):
    """Holds a postscript behind "P.S.". "Cats sleep. P.S. Dogs bark." passes, "Cats sleep. P.S." fails."""

    id = "format:postscript"
    version = 2
    claims = frozenset({"end"})
    order = 74
    phrasings = (
        'Add a postscript that starts with "P.S." at the end of your answer.',
        "At the end of your answer, please add a P.S.",
        'Your answer must close with a postscript introduced by "P.S."',
        'Finish with an afterthought: "P.S." and a few words.',
        'Let a postscript ("P.S.") follow your answer.',
    )
    passing = ({}, "Cats sleep. P.S. Dogs bark.")
    failing = ({}, "Cats sleep. P.S.")
    right_text = "Cats sleep.\n\nP.S. Dogs bark."

    def judge(self, text: str) -> Finding:
        hit = next(_POSTSCRIPT.finditer(text), None)
        if hit is None:
            return reject('found no "P.S." with words behind it')
        if not has_words(text[: hit.start()]):
            return reject("found a postscript but no answer before it", span=hit.span())
        return accept("found a postscript", span=hit.span())

    def repairs(self, text: str) -> Iterator[str]:
        afterthoughts = ("I hope this helps.", "Ask me for more.", "There is more to say about it.", "Take care.")
        yield f"{text.rstrip()}\n\nP.S. {pick(afterthoughts, text)}"


@kind
class Sections(HeldOut):
    r"""Exactly `count` parts with a line *** between them. With 2: "Cats\n***\nDogs" passes, "Cats\n\nDogs" fails."""

    id = "format:sections"
    version = 2
    claims = frozenset({"shape", "wrap"})
    order = 52
    phrasings = (
        "Write exactly {sections}, separated by a line that holds only ***.",
        "Give {sections} with the divider *** between them, on its own line.",
        "Your answer must have {count} parts; put a line of three asterisks (***) between two parts.",
        "Separate your answer into {sections} using *** lines.",
        "Three asterisks on a line (***) must divide your answer into {sections}.",
    )
    passing = ({"count": 2}, "Cats\n***\nDogs")
    failing = ({"count": 2}, "Cats\n\nDogs")

    count: int = param(Whole(2, 100), noun="section")

    def judge(self, text: str) -> Finding:
        return exactly(sum(map(has_words, _DIVIDER.split(text))), self.count, "section")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(2)

    def repairs(self, text: str) -> Iterator[str]:
        if (pieces := edits.split_into(text, self.count)) is not None:
            yield "\n***\n".join(pieces)

    def witness(self) -> str:
        return "\n***\n".join(["Cats sleep."] * self.count)

    def fewest_words(self) -> int:
        return 4 * self.count


@kind
class Hashtags(_AtLeast):
    """At least `count` hashtags. With 1: "Cats sleep. #cats" passes, "Cats sleep. # cats" fails."""

    id = "format:hashtags"
    version = 2
    claims = frozenset({"end"})
    order = 74
    phrasings = (
        "Add at least {units} to your answer.",
        "Your answer must contain {count} or more hashtags, such as #example.",
        "Include no fewer than {units}, like in a post on social media.",
        "Write it as a post that carries {units} or more.",
        "I want to see {units} or more, each with the # sign.",
    )
    passing = ({"count": 1}, "Cats sleep. #cats")
    failing = ({"count": 1}, "Cats sleep. # cats")
    _unit = "hashtag"
    _pattern = _HASHTAG

    count: int = param(Whole(1, 100), drawn=(1, 1, 2))

    def repairs(self, text: str) -> Iterator[str]:
        spans = sorted(word_spans(text), key=lambda span: span[0] - span[1])
        tags = dict.fromkeys(text[start:end].lower() for start, end in spans if text[start:end].isalpha())
        yield f"{text.rstrip()} {' '.join(f'#{tag}' for tag in list(tags)[: self.count])}"

    def witness(self) -> str:
        return "Cats sleep. " + " ".join(["#cats"] * self.count)


_TAGS = ("answer", "reply", "response", "output", "text")


@kind
class Tags(HeldOut):
    """The whole answer stands between an opening and a closing tag.

    "<answer>Cats</answer>" passes, "<answer>Cats" fails.
    """

    id = "format:tags"
    version = 2
    claims = frozenset({"wrap", "start", "end", "last"})
    order = 96
    phrasings = (
        "Wrap your whole answer in <{tag}> and </{tag}> tags.",
        "Put everything you write between <{tag}> and </{tag}>.",
        "Your answer must begin with <{tag}> and end with </{tag}>.",
        "Use the tags <{tag}>...</{tag}> around your answer.",
        "Nothing may stand outside of <{tag}></{tag}>.",
    )
    passing = ({"tag": "answer"}, "<answer>Cats</answer>")
    failing = ({"tag": "answer"}, "<answer>Cats")
    right_text = "<{tag}>Cats sleep.</{tag}>"

    tag: str = param(Choice(_TAGS), drawn=_TAGS)

    def judge(self, text: str) -> Finding:
        body = text.strip().lower()
        opening, closing = f"<{self.tag}>", f"</{self.tag}>"
        is_opened, is_closed = body.startswith(opening), body.endswith(closing)
        lacking = " and ".join(name for name, is_there in ((opening, is_opened), (closing, is_closed)) if not is_there)
        if lacking:
            return reject(f"the answer does not stand in tags: it lacks {lacking}", score=(is_opened + is_closed) / 2)
        if not has_words(body[len(opening) : len(body) - len(closing)]):
            return reject("found nothing between the tags", score=0.5)
        return accept(f"found {opening} and {closing} around the answer", score=1)

    def repairs(self, text: str) -> Iterator[str]:
        yield f"<{self.tag}>{text.strip()}</{self.tag}>"
