"""Kinds about the marks that an answer holds and how it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from adhere.constraints.base import Choice, Finding, Whole, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.rule import Rule, at_least, decide, pick, plural
from adhere.text.words import has_words

# Full-width brackets are round ones, too; what stands behind ] is the address of a link.
_REMARK = re.compile(r"(?<!\])\([^()\n]+\)|\uff08[^\uff08\uff09\n]+\uff09")


class _Without(Rule):
    """Is the base of the kinds that forbid marks."""

    _marks: ClassVar[str]
    _noun: ClassVar[str]

    def judge(self, text: str) -> Finding:
        count = sum(map(text.count, self._marks))
        at = min((at for mark in self._marks if (at := text.find(mark)) >= 0), default=None)
        span = None if at is None else (at, at + 1)
        return decide(
            count == 0, f"found {plural(count, self._noun)}, allowed none", measured=count, needed=0, span=span
        )

    def rules_out(self, literal: str) -> bool:
        return any(mark in literal for mark in self._marks)


@kind
class NoCommas(_Without):
    """No comma. "Cats sleep." passes, "Well, cats sleep." fails."""

    id = "punctuation:no_commas"
    version = 2
    order = 90
    phrasings = (
        "Do not use any commas.",
        "Your answer must not contain a comma.",
        "Write your answer without commas.",
        "Refrain from using commas.",
        "Not a single comma is allowed in your answer.",
    )
    passing = ({}, "Cats sleep.")
    failing = ({}, "Well, cats sleep.")
    _marks = ",，、،"
    _noun = "comma"

    def repairs(self, text: str) -> Iterator[str]:
        edited = re.sub(r"(?<=\d),(?=\d{3})", "", text)
        yield re.sub(r"[,，、،]+", "", edited)


@kind
class NoPeriods(_Without):
    """No full stop anywhere. "Cats sleep!" passes, "Cats sleep." fails."""

    id = "punctuation:no_periods"
    version = 2
    order = 91
    phrasings = (
        "Do not use any periods.",
        "Your answer must not contain a full stop.",
        'Write without the character ".".',
        "Avoid periods altogether, even at the end of a sentence.",
        "Not a single full stop is allowed in your answer.",
    )
    passing = ({}, "Cats sleep!")
    failing = ({}, "Cats sleep.")
    _marks = ".。"
    _noun = "full stop"

    def repairs(self, text: str) -> Iterator[str]:
        inner = re.sub(r"(?<=\d)\.(?=\d)", " point ", text)
        # abbreviations lose their points, sentences run on behind a semicolon, and the last one just ends
        inner = re.sub(r"(?<=\b[A-Za-z])\.(?=[A-Za-z]|\s[a-z])", "", inner)
        ended = re.sub(r"[.。]+(?=[\"'”’)\]*_]*\s*(?:\n|\Z))", "", inner)
        joined = re.sub(
            r"[.。]+([\"'”’)\]*_]*)[ \t]+(\S+)", lambda hit: f"{hit[1]}; {edits.decapitalise(hit[2])}", ended
        )
        yield re.sub(r"[.。]+(?=\s)", ";", joined).replace(".", "").replace("。", "")
        yield re.sub(r"[.。]+", "!", inner)


@kind
class NoExclamation(_Without):
    """No exclamation mark. "Cats sleep." passes, "Cats sleep!" fails."""

    id = "punctuation:no_exclamation"
    version = 2
    claims = frozenset({"exclamation"})
    order = 90
    phrasings = (
        "Do not use exclamation marks.",
        'Keep the tone calm: no "!" anywhere in your answer.',
        "Your answer must not contain an exclamation mark.",
        "Write without any exclamation points.",
        "Not a single exclamation mark is allowed in your answer.",
    )
    passing = ({}, "Cats sleep.")
    failing = ({}, "Cats sleep!")
    _marks = "!！"
    _noun = "exclamation mark"

    def repairs(self, text: str) -> Iterator[str]:
        yield re.sub(r"[!！]+(?=\?)|(?<=[?.])[!！]+", "", text).replace("!", ".").replace("！", ".")


@kind
class Exclamations(Rule):
    """At least `count` exclamation marks. With 2: "Cats sleep! They do!" passes, "Cats sleep!" fails."""

    id = "punctuation:exclamations"
    version = 2
    claims = frozenset({"exclamation"})
    order = 62
    phrasings = (
        "Use at least {marks}.",
        "Your answer must contain {count} or more exclamation marks.",
        'Sound excited: use "!" no fewer than {times}.',
        "Put {marks} or more into your answer.",
        "I would like to see at least {marks} in the answer.",
    )
    passing = ({"count": 2}, "Cats sleep! They do!")
    failing = ({"count": 2}, "Cats sleep!")

    count: int = param(Whole(1, 1000), drawn=(1, 2, 2))

    def wording(self) -> dict[str, Any]:
        times = "once" if self.count == 1 else f"{self.count} times"
        return {"count": self.count, "marks": plural(self.count, "exclamation mark"), "times": times}

    def judge(self, text: str) -> Finding:
        return at_least(text.count("!") + text.count("！"), self.count, "exclamation mark")

    def repairs(self, text: str) -> Iterator[str]:
        missing = self.count - text.count("!")
        stops = [match.start() for match in re.finditer(r"(?<!\.)\.(?=\s|\Z)", text)]
        edited = text
        for at in stops[-missing:]:
            edited = edited[:at] + "!" + edited[at + 1 :]
        if len(stops) < missing:
            edited = edits.with_ending(edited, "!" * (missing - len(stops) + 1))
        yield edited
        yield edits.with_ending(text, "!" * max(1, self.count - edits.without_ending(text).count("!")))

    def witness(self) -> str:
        return "Cats sleep" + "!" * self.count


@kind
class EndsWith(Rule):
    """The last character is `mark`. With "?": "Do cats sleep?" passes, "Cats sleep." fails."""

    id = "punctuation:ends_with"
    version = 2
    claims = frozenset({"end", "last"})
    order = 92
    phrasings = (
        "End your answer with {name}.",
        "The last character of your answer must be {name}.",
        "Finish with {name} and nothing after it.",
        "Your answer has to close with {name}.",
        "Let {name} be the very last thing in your answer.",
    )
    passing = ({"mark": "?"}, "Do cats sleep?")
    failing = ({"mark": "?"}, "Cats sleep.")
    right_text = "Cats sleep{mark}"
    wrong_text = "Cats sleep;"
    _names: ClassVar[dict[str, str]] = {
        "?": 'a question mark ("?")',
        "!": 'an exclamation mark ("!")',
        "...": 'three dots ("...")',
    }
    _questions: ClassVar[tuple[str, ...]] = (
        "Does that help?", "What do you think?", "Does that answer your question?", "Makes sense?",
        "Would you like to know more?", "Isn't that interesting?", "Did you know that?",
    )  # fmt: skip

    mark: str = param(Choice(("?", "!", "...")), drawn=("?", "?", "!", "..."))

    def wording(self) -> dict[str, Any]:
        return {"name": self._names[self.mark]}

    def judge(self, text: str) -> Finding:
        body = text.rstrip()
        reason = f"found the end {body[-12:]!r}, needed {self.mark!r} at the end"
        return decide(body.endswith(self.mark), reason, span=(max(0, len(body) - 1), len(body)))

    def repairs(self, text: str) -> Iterator[str]:
        if self.mark == "?":
            yield edits.add_sentence(text, pick(self._questions, text))
            yield edits.add_clause(text, " – right").rstrip(edits.ENDINGS) + "?"
            yield edits.strip_quote(edits.without_ending(text)) + "?"
        else:
            yield edits.strip_quote(edits.without_ending(text)) + self.mark

    def literals(self) -> tuple[str, ...]:
        return (self.mark,)


@kind
class Semicolons(Rule):
    """At least `count` semicolons. With 1: "Cats sleep; dogs bark." passes, "Cats sleep." fails."""

    id = "punctuation:semicolons"
    version = 2
    order = 63
    phrasings = (
        "Use at least {semicolons}.",
        "Your answer must contain {count} or more semicolons (;).",
        "Include no fewer than {semicolons} in your answer.",
        "Join some of your clauses: at least {semicolons} must occur.",
        "The answer needs {semicolons} or more.",
    )
    passing = ({"count": 1}, "Cats sleep; dogs bark.")
    failing = ({"count": 1}, "Cats sleep.")

    count: int = param(Whole(1, 100), drawn=(1, 1, 2), noun="semicolon")

    def judge(self, text: str) -> Finding:
        return at_least(text.count(";"), self.count, "semicolon")

    def repairs(self, text: str) -> Iterator[str]:
        edited = text
        for pattern in (r"(?<=[a-z])\. ", r", and ", r", ", r" (?=and |but |because |which )"):
            missing = self.count - edited.count(";")
            if missing > 0:
                edited = re.sub(
                    pattern + r"(\S+)", lambda hit: "; " + edits.decapitalise(hit[1]), edited, count=missing
                )
        yield edited
        yield edits.add_clause(text, "; that is the point" * (self.count - text.count(";")))

    def witness(self) -> str:
        return "; ".join(["cats sleep"] * (self.count + 1))

    def fewest_words(self) -> int:
        return 3 * (self.count + 1)


@kind
class Parentheses(Rule):
    """At least `count` remarks in round brackets. With 1: "Cats (big ones) sleep." passes, "Cats sleep." fails."""

    id = "punctuation:parentheses"
    version = 3
    order = 64
    phrasings = (
        "Put at least {remarks} in parentheses.",
        "Your answer must contain {count} or more remarks in round brackets.",
        "Add a side note (like this one) at least {times}.",
        "Use parentheses around {remarks} or more.",
        "Somewhere in the answer, place no fewer than {remarks} between ( and ).",
    )
    passing = ({"count": 1}, "Cats (big ones) sleep.")
    failing = ({"count": 1}, "Cats sleep.")
    _remarks: ClassVar[tuple[str, ...]] = (
        " (in general)", " (as far as I know)", " (more or less)", " (at least usually)", " (in most cases)",
        " (in short)",
    )  # fmt: skip

    count: int = param(Whole(1, 100), drawn=(1, 1, 2))

    def wording(self) -> dict[str, Any]:
        times = "once" if self.count == 1 else f"{self.count} times"
        return {"count": self.count, "remarks": plural(self.count, "remark"), "times": times}

    def judge(self, text: str) -> Finding:
        remarks = [match for match in _REMARK.finditer(text) if has_words(match.group())]
        span = remarks[0].span() if remarks else None
        return at_least(len(remarks), self.count, "remark in parentheses", span=span)

    def repairs(self, text: str) -> Iterator[str]:
        first = self._remarks.index(pick(self._remarks, text))
        remarks = self._remarks[first:] + self._remarks[:first]
        edited = text
        for number in range(min(self.count, 9)):
            if self.judge(edited).outcome == "pass":
                break
            remark = remarks[number % len(remarks)]
            stop = edited.find(". ")
            if number == 0 and stop > 0:
                edited = edited[:stop] + remark + edited[stop:]
            else:
                edited = edits.add_clause(edited, remark)
        yield edited

    def witness(self) -> str:
        return "Cats (all) " * self.count + "sleep."

    def fewest_words(self) -> int:
        return 3 + self.count
