"""Kinds of the family `data` whose answer is JSON, and the base of the family."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any, Self

from adhere.constraints.base import Constraint, Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.kinds.shared.json_shape import depth, instance, mismatch, parse, schema_problem
from adhere.constraints.rule import Rule, accept, decide, exactly, plural, quoted_list, reject
from adhere.text.words import has_words, lines

WHOLE = frozenset({"shape", "wrap", "start", "end", "last", "title", "sentence case", "case", "mark count"})
_TEXT = {"type": "string", "minLength": 1}
KEYS = (
    ("name", "reason"), ("title", "text"), ("item", "detail"), ("step", "result"), ("word", "meaning"),
    ("question", "answer"), ("claim", "evidence"), ("idea", "example"),
)  # fmt: skip


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these keys."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class Data(Rule):
    """Is the base of the kinds whose whole answer is data."""

    claims = WHOLE
    order = 55

    def rules_out(self, literal: str) -> bool:
        return any(mark in literal for mark in '{}"<>')

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether the two conflict; so does a ban on commas, without which most data cannot be written."""
        return super().conflicts_with(other) or other.id == "punctuation:no_commas"


class _Json(Data):
    """Is the base of the kinds whose whole answer is JSON that matches `shape`."""

    def shape(self) -> dict[str, Any]:
        """Return the schema that the answer must match."""
        raise NotImplementedError

    def judge(self, text: str) -> Finding:
        value, problem = parse(text.strip())
        if problem is not None:
            return reject(f"the answer is {problem}", score=0)
        problem = mismatch(value, self.shape())
        return decide(problem is None, problem or "the JSON has the shape that was asked for", score=0.5)

    def fill(self, pieces: Sequence[str]) -> object:
        """Return an answer as a value, with `pieces` of prose as its texts."""
        raise NotImplementedError

    def slots(self) -> int:
        """Return the number of pieces that `fill` takes."""
        raise NotImplementedError

    def repairs(self, text: str) -> Iterator[str]:
        if (pieces := edits.split_into(text, self.slots())) is not None:
            yield _dump(self.fill(pieces))

    def witness(self) -> str:
        return _dump(instance(self.shape()))

    def fewest_words(self) -> int:
        return 3 * self.slots()


@kind
class JsonArray(_Json):
    """The answer is a JSON array of exactly `count` texts. With 2: '["Cats", "Dogs"]' passes, '["Cats"]' fails."""

    id = "data:json_array"
    version = 2
    phrasings = (
        "Answer with a JSON array of exactly {strings} and nothing else.",
        "Your whole answer must be a valid JSON list that holds {strings}, none of them empty.",
        "Reply in pure JSON: an array with {count} non-empty strings, without a code fence.",
        "Send one JSON array; it must have {count} elements, all of them strings with some text.",
        "A program will read your answer as a JSON array and expects {strings} in it, no text around.",
    )
    passing = ({"count": 2}, '["Cats", "Dogs"]')
    failing = ({"count": 2}, '["Cats"]')

    count: int = param(Whole(1, 1000), drawn=(2, 3, 3, 4), noun="string")

    def shape(self) -> dict[str, Any]:
        return {"type": "array", "minItems": self.count, "maxItems": self.count, "items": _TEXT}

    def fill(self, pieces: Sequence[str]) -> object:
        return list(pieces)

    def slots(self) -> int:
        return self.count


@kind
class JsonRecords(_Json):
    """The answer is a JSON array of `count` objects with exactly `keys`. With (1, ("a",)): '[{"a": "cats"}]' passes."""

    id = "data:json_records"
    version = 2
    phrasings = (
        "Answer with a JSON array of exactly {objects}; the keys of each are {keys}. Write nothing around it.",
        "Your whole answer must be valid JSON: an array of {objects}, every one with exactly these keys: {keys}.",
        "Send a JSON list with {count} entries, each an object that has just the keys {keys} with strings as values.",
        "Reply in pure JSON, as {objects} in one array. Each has to have {keys} and no other key.",
        "A program expects a JSON array with {count} elements whose keys are {keys}; all values are non-empty strings.",
    )
    passing = ({"count": 1, "keys": ("a",)}, '[{"a": "cats"}]')
    failing = ({"count": 1, "keys": ("a",)}, '{"a": "cats"}')

    count: int = param(Whole(1, 200))
    keys: tuple[str, ...] = param(ListOf(Words(40), 1, 8))

    def wording(self) -> dict[str, Any]:
        return {"count": self.count, "objects": plural(self.count, "object"), "keys": quoted_list(self.keys)}

    def shape(self) -> dict[str, Any]:
        return {
            "type": "array",
            "minItems": self.count,
            "maxItems": self.count,
            "items": _object(dict.fromkeys(self.keys, _TEXT)),
        }

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(2, rng.choice(KEYS))

    def fill(self, pieces: Sequence[str]) -> object:
        width = len(self.keys)
        rows = [pieces[at : at + width] for at in range(0, len(pieces), width)]
        return [dict(zip(self.keys, row, strict=True)) for row in rows]

    def slots(self) -> int:
        return self.count * len(self.keys)

    def literals(self) -> tuple[str, ...]:
        return self.keys


@kind
class JsonTypes(_Json):
    """A JSON object with a text, a number and a true or false.

    With ("a", "n", "ok"): '{"a": "x", "n": 1, "ok": true}' passes.
    """

    id = "data:json_types"
    version = 2
    phrasings = (
        (
            'Answer with a JSON object that has a string under "{text}", a number under "{number}" and a boolean '
            'under "{flag}", and nothing else.'
        ),
        (
            'Your whole answer must be one JSON object with exactly three keys: "{text}" (string), '
            '"{number}" (number), "{flag}" (true or false).'
        ),
        (
            'Reply in pure JSON with the keys "{text}", "{number}" and "{flag}"; their types are '
            "string, number and boolean."
        ),
        (
            'Send an object in JSON: "{text}" holds text, "{number}" a number without quotes, '
            '"{flag}" either true or false.'
        ),
        (
            'A program will check the types: "{text}" must be a string, "{number}" a number, "{flag}" a boolean; '
            "pure JSON, no further key."
        ),
    )
    passing = ({"text": "a", "number": "n", "flag": "ok"}, '{"a": "x", "n": 1, "ok": true}')
    failing = ({"text": "a", "number": "n", "flag": "ok"}, '{"a": "x", "n": "1", "ok": true}')

    text: str = param(Words(40))
    number: str = param(Words(40))
    flag: str = param(Words(40))

    def problem(self) -> str | None:
        names = {self.text, self.number, self.flag}
        return None if len(names) == 3 else f"text, number and flag must be three different keys, got {sorted(names)}"

    def shape(self) -> dict[str, Any]:
        return _object({self.text: _TEXT, self.number: {"type": "number"}, self.flag: {"type": "boolean"}})

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        text = rng.choice(("answer", "text", "summary", "reply"))
        return cls(text, rng.choice(("confidence", "year", "amount", "score")), rng.choice(("sure", "common", "known")))

    def fill(self, pieces: Sequence[str]) -> object:
        return {self.text: pieces[0], self.number: 1, self.flag: True}

    def slots(self) -> int:
        return 1

    def literals(self) -> tuple[str, ...]:
        return (self.text, self.number, self.flag)


@kind
class JsonEnum(_Json):
    """A JSON object with one of `values` under `key` and a text under `text`.

    So '{"mood": "good", "why": "cats"}' may pass.
    """

    id = "data:json_enum"
    version = 2
    phrasings = (
        'Answer with a JSON object: under "{key}" one of {values}, under "{text}" a string, and nothing else.',
        'Your whole answer must be JSON with exactly the keys "{key}" and "{text}"; "{key}" may only be {values}.',
        'Reply in pure JSON. The value of "{key}" has to be {values}, and "{text}" holds your words.',
        'Send one JSON object with "{key}" (allowed: {values}) and "{text}" (a non-empty string).',
        'A program will read "{key}" and "{text}" from your JSON; it knows only {values} for the former.',
    )
    passing = ({"key": "mood", "values": ("good", "bad"), "text": "why"}, '{"mood": "good", "why": "cats"}')
    failing = ({"key": "mood", "values": ("good", "bad"), "text": "why"}, '{"mood": "great", "why": "cats"}')

    key: str = param(Words(40))
    values: tuple[str, ...] = param(ListOf(Words(40), 2, 8))
    text: str = param(Words(40))

    def problem(self) -> str | None:
        return None if self.key != self.text else f"key and text must differ, both are {self.key!r}"

    def wording(self) -> dict[str, Any]:
        return {"key": self.key, "text": self.text, "values": quoted_list(self.values).replace('" and "', '" or "')}

    def shape(self) -> dict[str, Any]:
        return _object({self.key: {"enum": list(self.values)}, self.text: _TEXT})

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        pairs = (
            ("level", ("easy", "medium", "hard")),
            ("kind", ("fact", "opinion")),
            ("certainty", ("low", "high")),
            ("tone", ("neutral", "positive", "negative")),
        )
        key, values = rng.choice(pairs)
        return cls(key, values, rng.choice(("answer", "text", "reason")))

    def fill(self, pieces: Sequence[str]) -> object:
        return {self.key: self.values[0], self.text: pieces[0]}

    def slots(self) -> int:
        return 1

    def literals(self) -> tuple[str, ...]:
        return (self.key, self.text)


@kind
class JsonNested(_Json):
    """A JSON object whose one key `outer` holds an object with exactly `inner`. '{"a": {"b": "cats"}}' may pass."""

    id = "data:json_nested"
    version = 2
    phrasings = (
        'Answer with a JSON object that has the single key "{outer}"; its value is an object with the keys {inner}.',
        'Your whole answer must be JSON: "{outer}" is the only outer key and contains an object with exactly {inner}.',
        'Reply in pure, nested JSON. Inside "{outer}" there is an object whose keys are {inner}, all strings.',
        'Send JSON where "{outer}" wraps an inner object with {inner} and nothing more.',
        'A program reads {inner} from an object under "{outer}": give it just that JSON, with strings as inner values.',
    )
    passing = ({"outer": "a", "inner": ("b",)}, '{"a": {"b": "cats"}}')
    failing = ({"outer": "a", "inner": ("b",)}, '{"a": "cats", "b": "cats"}')

    outer: str = param(Words(40), drawn=("response", "data", "output", "content"))
    inner: tuple[str, ...] = param(ListOf(Words(40), 1, 8), drawn=KEYS)

    def wording(self) -> dict[str, Any]:
        return {"outer": self.outer, "inner": quoted_list(self.inner)}

    def shape(self) -> dict[str, Any]:
        return _object({self.outer: _object(dict.fromkeys(self.inner, _TEXT))})

    def fill(self, pieces: Sequence[str]) -> object:
        return {self.outer: dict(zip(self.inner, pieces, strict=True))}

    def slots(self) -> int:
        return len(self.inner)

    def literals(self) -> tuple[str, ...]:
        return (self.outer, *self.inner)


@kind
class JsonSchema(_Json):
    """The answer is JSON that matches `schema`, in the subset of JSON Schema that `json_shape` names."""

    id = "data:json_schema"
    version = 2
    phrasings = (
        "Answer with JSON that matches this JSON Schema, and with nothing else: {schema}",
        "Your whole answer must be a JSON value that is valid under the schema {schema}",
        "Reply in pure JSON without a code fence. It will be validated against {schema}",
        "This JSON Schema describes your answer: {schema} Send only the matching JSON.",
        "Produce one JSON document, no text around it, that conforms to {schema}",
    )
    passing = ({"schema": '{"type": "array", "minItems": 1, "items": {"type": "string"}}'}, '["cats"]')
    failing = ({"schema": '{"type": "array", "minItems": 1, "items": {"type": "string"}}'}, '["cats", 3]')

    schema: str = param(Words(4000))

    def problem(self) -> str | None:
        value, problem = parse(self.schema)
        problem = problem or schema_problem(value)
        if problem is None:
            sample = instance(value)
            problem = mismatch(sample, value) or (None if has_words(_dump(sample)) else "no value of it holds a word")
        return problem and f"schema={self.schema[:80]!r}: {problem}"

    def shape(self) -> dict[str, Any]:
        shape: dict[str, Any] = json.loads(self.schema)
        return shape

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        text, low = rng.choice(("answer", "summary", "reply")), rng.choice((0, 1))
        scale = {"type": "integer", "minimum": low, "maximum": rng.choice((5, 10))}
        many = {"type": "array", "minItems": 1, "maxItems": rng.choice((3, 4)), "items": _TEXT}
        options = (
            _object({text: _TEXT, "certainty": scale}),
            _object({text: _TEXT, "points": many}),
            {"type": "array", "minItems": 2, "maxItems": 3, "items": _object({text: _TEXT})},
            _object({text: _object({"short": _TEXT, "certainty": scale})}),
        )
        return cls(_dump(rng.choice(options)))

    def repairs(self, text: str) -> Iterator[str]:
        prose = edits.plain(text)

        def said(value: object) -> object:
            if isinstance(value, dict):
                return {key: said(item) for key, item in value.items()}
            if isinstance(value, list):
                return [said(item) for item in value]
            return prose if value == "cats" else value

        yield _dump(said(instance(self.shape())))

    def slots(self) -> int:
        return 1


@kind
class JsonDepth(Data):
    """Valid JSON, nested exactly `levels` deep. With 2: '{"a": ["cats"]}' passes, '["cats"]' fails."""

    id = "data:json_depth"
    version = 2
    phrasings = (
        "Answer in pure JSON that is nested exactly {levels} levels deep (objects and arrays count as levels).",
        "Your whole answer must be valid JSON in which objects and arrays are nested {levels} levels deep.",
        "Reply with one JSON value; count the brackets that are open at its deepest place: {levels}.",
        "Send JSON without any text around it, with a nesting depth of {levels}.",
        "The JSON document that you answer with has to reach depth {levels}, not less and not more.",
    )
    passing = ({"levels": 2}, '{"a": ["cats"]}')
    failing = ({"levels": 2}, '["cats"]')

    levels: int = param(Whole(1, 50), drawn=(2, 3, 3, 4))

    def judge(self, text: str) -> Finding:
        value, problem = parse(text.strip())
        if problem is not None:
            return reject(f"the answer is {problem}", score=0)
        return exactly(depth(value), self.levels, "level of nesting")

    def _nest(self, text: str) -> str:
        value: object = text
        for level in range(self.levels):
            value = [value] if level % 2 == 0 else {"answer": value}
        return _dump(value)

    def repairs(self, text: str) -> Iterator[str]:
        yield self._nest(edits.plain(text))

    def witness(self) -> str:
        return self._nest("cats")


@kind
class JsonSortedKeys(Data):
    """A JSON object of at least `count` keys in alphabetical order.

    With 2: '{"a": 1, "b": 2}' passes, '{"b": 1, "a": 2}' fails.
    """

    id = "data:json_sorted_keys"
    version = 2
    phrasings = (
        "Answer with a JSON object of at least {keys} in alphabetical order, and nothing else.",
        "Your whole answer must be a JSON object with {count} or more keys, sorted from A to Z.",
        "Reply in pure JSON: an object whose keys (no fewer than {count}) are in alphabetical order.",
        "Send one JSON object. It needs {keys} or more, and each key must come after the one before in the alphabet.",
        "A program will check that the keys of your JSON object are sorted and that there are at least {count}.",
    )
    passing = ({"count": 2}, '{"a": 1, "b": 2}')
    failing = ({"count": 2}, '{"b": 1, "a": 2}')

    count: int = param(Whole(2, 100), drawn=(2, 3, 3), noun="key")

    def judge(self, text: str) -> Finding:
        value, problem = parse(text.strip())
        if problem is not None:
            return reject(f"the answer is {problem}", score=0)
        if not isinstance(value, dict):
            return reject("the JSON is not an object", score=0)
        keys = [key.casefold() for key in value]
        if len(keys) < self.count:
            return reject(
                f"found {plural(len(keys), 'key')}, needed at least {self.count}",
                measured=len(keys),
                needed=self.count,
                score=len(keys) / (2 * self.count),
            )
        wrong = next((late for early, late in itertools.pairwise(keys) if early > late), None)
        reason = "the keys are sorted" if wrong is None else f"the key {wrong[:40]!r} stands behind a later one"
        return decide(wrong is None, reason, measured=len(keys), needed=self.count, score=0.5)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.count) or []
        yield _dump({f"point{number:02d}": piece for number, piece in enumerate(pieces, start=1)})

    def witness(self) -> str:
        return _dump({f"key{number:03d}": "cats" for number in range(self.count)})

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class JsonLines(Data):
    r"""`count` lines, each a JSON object with exactly `keys`.

    With (2, ("a",)): '{"a": 1}\n{"a": 2}' passes, '[{"a": 1}]' fails.
    """

    id = "data:json_lines"
    version = 2
    phrasings = (
        "Answer in JSON Lines: exactly {lines}, each a JSON object with the keys {keys}.",
        "Write {count} JSON objects, one per line and without an array around them; the keys of each are {keys}.",
        "Your whole answer must be {lines} of JSON. Every line is an object that has exactly {keys}.",
        "Use the JSONL format with {count} records; each has to have {keys} and nothing else.",
        "A program reads your answer line by line: {lines}, and each parses as an object whose keys are {keys}.",
    )
    passing = ({"count": 2, "keys": ("a",)}, '{"a": 1}\n{"a": 2}')
    failing = ({"count": 2, "keys": ("a",)}, '[{"a": 1}, {"a": 2}]')

    count: int = param(Whole(1, 200), drawn=(2, 2, 3))
    keys: tuple[str, ...] = param(ListOf(Words(40), 1, 8), drawn=(*KEYS, ("text",), ("point",)))

    def wording(self) -> dict[str, Any]:
        return {"count": self.count, "lines": plural(self.count, "line"), "keys": quoted_list(self.keys)}

    def judge(self, text: str) -> Finding:
        full_lines = [line for line in lines(text.strip()) if line and not line.isspace()]
        if len(full_lines) != self.count:
            return exactly(len(full_lines), self.count, "line")
        shape = _object({key: {} for key in self.keys})
        for number, line in enumerate(full_lines):
            value, problem = parse(line)
            problem = problem or mismatch(value, shape, "the object")
            if problem is not None:
                reason = f"line {number + 1}: {problem}"
                return reject(reason, measured=number, needed=self.count, score=number / self.count)
        return accept(f"found {plural(self.count, 'line')} of JSON", measured=self.count, needed=self.count, score=1)

    def repairs(self, text: str) -> Iterator[str]:
        width = len(self.keys)
        pieces = edits.split_into(text, self.count * width) or []
        rows = [pieces[at : at + width] for at in range(0, len(pieces), width)]
        yield "\n".join(_dump(dict(zip(self.keys, row, strict=True))) for row in rows)

    def witness(self) -> str:
        return "\n".join([_dump(dict.fromkeys(self.keys, "cats"))] * self.count)

    def literals(self) -> tuple[str, ...]:
        return self.keys

    def fewest_words(self) -> int:
        return 3 * self.count * len(self.keys)
