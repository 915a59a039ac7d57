"""The shape of a whole answer: lists, lines, labels, JSON."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, Self

from adhere.constraints.base import Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.kinds.shared.json_shape import refuse_constant
from adhere.constraints.rule import Rule, accept, decide, exactly, plural, quoted_list, reject
from adhere.text.parts import LINE_START, bullets, outside_code
from adhere.text.words import has_words, word_lines

# Possessive quantifiers: a long run of blanks is read once.
_NUMBER = re.compile(LINE_START + r"[ \t]*+(\d{1,4})[.)][ \t]++(?=[^\r\n]*[^\W_])", re.MULTILINE)


class _LineCount(Rule):
    """Is the base of the kinds that ask for a number of lines of some sort."""

    claims = frozenset({"shape", "wrap"})
    _unit = ""
    _marker = ""
    count: int

    def wording(self) -> dict[str, Any]:
        return {"count": self.count, "units": plural(self.count, self._unit)}

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(count=rng.choice((2, 3, 3, 4)))  # type: ignore[call-arg]

    def repairs(self, text: str) -> Iterator[str]:
        if (pieces := edits.split_into(text, self.count)) is not None:
            yield edits.join_lines(pieces, self._marker)

    def witness(self) -> str:
        return edits.join_lines(["Cats sleep."] * self.count, self._marker)

    def counter_witness(self) -> str:
        return edits.join_lines(["Cats sleep."] * (self.count + 1), self._marker)

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class Bullets(_LineCount):
    r"""Exactly `count` lines behind a bullet (-, *, + or •). With 2: "- Cats\n- Dogs" passes, "- Cats" fails.

    Other lines, such as an introduction, may stand around them; what stands in a code block is no bullet.
    """

    id = "structure:bullets"
    version = 2
    order = 51
    phrasings = (
        "Answer with exactly {units}, one per line.",
        'Write your answer as a list of {count} bullets, each starting with "- ".',
        'Use exactly {units} (lines that begin with "* " or "- ").',
        "Give {units}, no more and no fewer.",
        "Put what you have to say into a bulleted list that has {count} items.",
    )
    passing = ({"count": 2}, "- Cats\n- Dogs")
    failing = ({"count": 2}, "- Cats")
    _unit = "bullet point"
    _marker = "- "

    count: int = param(Whole(1, 1000))

    def judge(self, text: str) -> Finding:
        return exactly(sum(1 for _ in bullets(text)), self.count, self._unit)


@kind
class Numbered(_LineCount):
    r"""Exactly `count` lines numbered from 1. With 2: "1. Cats\n2. Dogs" passes, "1. Cats\n3. Dogs" fails.

    What stands in a code block is no item.
    """

    id = "structure:numbered"
    version = 3
    order = 51
    excludes = frozenset({"punctuation:no_periods"})
    phrasings = (
        "Answer with a numbered list of exactly {units}.",
        'Write exactly {units}, numbered "1.", "2." and so on, one per line.',
        "Number your points from 1 to {count}, each on its own line.",
        "Give a list with {units} that carry the numbers 1 to {count}.",
        "Your answer must be an ordered list whose last number is {count}.",
    )
    passing = ({"count": 2}, "1. Cats\n2. Dogs")
    failing = ({"count": 2}, "1. Cats\n3. Dogs")
    _unit = "item"
    _marker = "{n}. "

    count: int = param(Whole(1, 1000))

    def judge(self, text: str) -> Finding:
        numbers = [int(match.group(1)) for match in outside_code(text, _NUMBER)]
        if len(numbers) != self.count:
            return exactly(len(numbers), self.count, "numbered item")
        in_order = numbers == list(range(1, self.count + 1))
        reason = f"found {plural(len(numbers), 'item')} numbered {numbers[:8]}, needed 1 to {self.count} in order"
        return decide(in_order, reason, measured=len(numbers), needed=self.count, score=0.9)


@kind
class Lines(_LineCount):
    r"""Exactly `count` lines that hold a word. With 2: "Cats\nDogs" passes, "Cats and dogs" fails."""

    id = "structure:lines"
    version = 3
    order = 52
    phrasings = (
        "Write your answer on exactly {units}.",
        "Break your answer into {units}, no more and no fewer.",
        "Your answer must be {units} long (empty lines do not count).",
        "Spread the answer over exactly {units}.",
        "After all line breaks, the answer should have {units} of text.",
    )
    passing = ({"count": 2}, "Cats\nDogs")
    failing = ({"count": 2}, "Cats and dogs")
    _unit = "line"

    count: int = param(Whole(1, 1000))

    def judge(self, text: str) -> Finding:
        return exactly(len(word_lines(text)), self.count, self._unit)


_LABELS = (
    ("Answer", "Reason"), ("Claim", "Example"), ("Short", "Long"), ("Idea", "Detail"), ("Fact", "Opinion"),
    ("Summary", "Tip"), ("First", "Second"), ("Yes", "No"), ("Point", "Proof"), ("Now", "Later"),
)  # fmt: skip


@kind
class Labels(Rule):
    r"""Each label begins one line, in this order, with text behind it.

    With ("A", "B"): "A: cats\nB: dogs" passes; "A: cats" fails.
    """

    id = "structure:labels"
    version = 2
    claims = frozenset({"shape", "wrap"})
    order = 51
    phrasings = (
        "Write one line for each of the labels {labels}, with the label at its start.",
        "Use these labels, each on a line of its own and followed by your text: {labels}.",
        "Structure your answer in labelled lines: {labels}, in this order.",
        "Your answer must have lines that start with {labels}.",
        "Divide what you say into lines which open on {labels} respectively.",
    )
    passing = ({"labels": ("Answer", "Reason")}, "Answer: cats\nReason: they sleep")
    failing = ({"labels": ("Answer", "Reason")}, "Answer: cats")

    labels: tuple[str, ...] = param(ListOf(Words(30), 1, 6), drawn=_LABELS)

    def wording(self) -> dict[str, Any]:
        return {"labels": quoted_list([f"{label}:" for label in self.labels])}

    def judge(self, text: str) -> Finding:
        at = 0
        for number, label in enumerate(self.labels):
            pattern = re.compile(
                rf"^[ \t]*+[*_#]{{0,4}}[ \t]?{re.escape(label)}[*_]{{0,3}}:(?=[^\n]*[^\W_])",
                re.IGNORECASE | re.MULTILINE,
            )
            hit = pattern.search(text, at)
            if hit is None:
                reason = f'found no line that starts with "{label}:" and goes on, after {number} of {len(self.labels)}'
                return reject(reason, measured=number, needed=len(self.labels), score=number / len(self.labels))
            at = hit.end()
        return accept(f"found {quoted_list(self.labels)}", measured=len(self.labels), needed=len(self.labels), score=1)

    def repairs(self, text: str) -> Iterator[str]:
        if (pieces := edits.split_into(text, len(self.labels))) is not None:
            yield "\n".join(f"{label}: {piece}" for label, piece in zip(self.labels, pieces, strict=True))

    def witness(self) -> str:
        return "\n".join(f"{label}: cats" for label in self.labels)

    def literals(self) -> tuple[str, ...]:
        return self.labels

    def fewest_words(self) -> int:
        return 4 * len(self.labels)


_KEYS = (
    ("answer", "reason"), ("title", "text"), ("name", "description"), ("topic", "summary"), ("idea", "example"),
    ("question", "answer"), ("claim", "evidence"), ("fact", "source"), ("first", "second"), ("short", "long"),
    ("problem", "solution"), ("label", "value"), ("opinion", "why"), ("main", "extra"), ("subject", "details"),
    ("answer",), ("text",), ("reply",), ("response",), ("result",),
)  # fmt: skip


@kind
class JsonObject(Rule):
    """The whole answer is one JSON object with exactly `keys`, none of them empty. With ("a",): '{"a": "cats"}' passes.

    Text around it fails, a ```json fence as well: a program that reads the answer as JSON would stop at either.
    """

    id = "structure:json_object"
    version = 2
    claims = frozenset({"shape", "wrap", "start", "end", "last", "title", "sentence case"})
    order = 55
    excludes = frozenset({"case:upper", "case:title"})  # the keys keep their case
    phrasings = (
        "Answer with a JSON object that has exactly the {noun} {keys}, and nothing else.",
        "Your whole answer must be one valid JSON object with the {noun} {keys}.",
        "Reply in JSON, as an object with the {noun} {keys}; write no text around it.",
        "Give your answer as a single JSON object whose {noun} {are} {keys}, without a code fence.",
        "A program will parse your answer: send pure JSON, an object holding the {noun} {keys} only.",
    )
    passing = ({"keys": ("a",)}, '{"a": "cats"}')
    failing = ({"keys": ("a",)}, '```json\n{"a": "cats"}\n```')

    keys: tuple[str, ...] = param(ListOf(Words(40), 1, 8), drawn=_KEYS)

    def wording(self) -> dict[str, Any]:
        noun, verb = ("key", "is") if len(self.keys) == 1 else ("keys", "are")
        return {"keys": quoted_list(self.keys), "noun": noun, "are": verb}

    def judge(self, text: str) -> Finding:
        body = text.strip()
        if not body.startswith("{"):
            return reject(f"the answer begins with {body[:12]!r}, not with a JSON object", span=(0, 1), score=0)
        value, problem = _parse(body)
        if value is None:
            return reject(f"not one JSON object: {problem}", score=0)
        names = [name for name, _ in value]
        wrong = [f"lacks {quoted_list([key])}" for key in self.keys if key not in names]
        wrong += [f"has the further key {name[:40]!r}" for name in names if name not in self.keys][:3]
        wrong += [f"repeats {name[:40]!r}" for name in self.keys if names.count(name) > 1]
        wrong += [f"has nothing under {name[:40]!r}" for name, item in value if not _says_something(item)]
        present = sum(key in names for key in self.keys) / len(self.keys)
        reason = f"the JSON object {wrong[0]}" if wrong else f"found a JSON object with {quoted_list(self.keys)}"
        return decide(not wrong, reason, measured=len(names), needed=len(self.keys), score=(1 + present) / 2)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, len(self.keys))
        if pieces is not None:
            yield json.dumps(dict(zip(self.keys, pieces, strict=True)), ensure_ascii=False)

    def witness(self) -> str:
        return json.dumps(dict.fromkeys(self.keys, "cats"), ensure_ascii=False)

    def literals(self) -> tuple[str, ...]:
        return (*self.keys, *([", "] if len(self.keys) > 1 else []))

    def fewest_words(self) -> int:
        return 3 * len(self.keys)

    def rules_out(self, literal: str) -> bool:
        return "{" in literal or '"' in literal


class _Pairs(list[tuple[str, Any]]):
    """Holds the members of a JSON object in order, with repeated keys."""


def _says_something(item: object) -> bool:
    """Tell whether a JSON value is more than null, an empty container or a string without words."""
    return has_words(item) if isinstance(item, str) else item is not None and item != []


def _parse(body: str) -> tuple[_Pairs | None, str]:
    """Read `body` as one JSON object; return (members, ""), or (None, what is wrong)."""
    try:
        value = json.loads(body, object_pairs_hook=_Pairs, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        return None, f"{error.msg} at position {error.pos}"
    except RecursionError:
        return None, "nested too deeply"
    except ValueError as error:  # NaN, Infinity, or an integer of thousands of digits
        return None, str(error)[:80]
    return (value, "") if isinstance(value, _Pairs) else (None, "another value")
