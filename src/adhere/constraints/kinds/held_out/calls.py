"""Constraints on the tools that an answer calls: which, with what, in which order, and whether it asks first.

Never trained on. They get the whole answer as JSON (`schema.Whole`): its text and its calls. A text that is no such
JSON calls nothing. Parameters write a call as a text, `refund({"order":7})`, and a tool with the JSON schema of its
arguments likewise.
"""

from __future__ import annotations

import dataclasses
import json
import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self, final

from adhere.constraints.base import Choice, Constraint, ListOf, Words, kind, param
from adhere.constraints.finding import Finding
from adhere.constraints.rule import decide, plural, quoted_list, reject
from adhere.extras import import_jsonschema
from adhere.schema import Json, Part, ToolCall, Whole, encode, read_whole
from adhere.text.words import has_words

SEQUENCES = ("this", "any")


@dataclasses.dataclass(frozen=True)
class NamedObjects:
    """A tuple of `fewest` to `most` texts NAME(OBJECT), the object in JSON."""

    fewest: int
    most: int

    def problem(self, value: object) -> str | None:
        if isinstance(value, tuple) and self.fewest <= len(value) <= self.most and all(map(_is_named_object, value)):
            return None
        return f"must be {self.fewest} to {self.most} texts like 'refund({{\"order\":7}})'"

    def invalid(self) -> Sequence[object]:
        return [(), "refund({})", ("refund",), ("refund(7)",), ("({})",), ("refund({)",), (3,), None]


def _is_named_object(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(_named_object(value)[0])
    except (ValueError, RecursionError):
        return False


def _named_object(text: str) -> tuple[str, dict[str, Json]]:
    name, bracket, rest = text.partition("(")
    inside = json.loads(rest.removesuffix(")"))
    if not (bracket and rest.endswith(")") and isinstance(inside, dict)):
        raise ValueError(text)
    return name, inside


def _canonical(name: str, arguments: Json) -> str:
    """Return a text that is the same for equal calls.

    7 equals 7.0, and the order of arguments does not matter.
    """
    return f"{name}({encode(_even(arguments)).decode()})"


def _even(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _even(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_even(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class CallRule(Constraint):
    """Is the base of these kinds; an answer without a word or a call fails."""

    part: ClassVar[Part] = "held-out"
    is_task = True
    reads_calls = True
    claims = frozenset({"calls"})

    @final
    def check(self, text: str) -> Finding:
        answer = read_whole(text)
        if not answer.calls and not has_words(answer.text):
            return reject("the answer has no words and calls no tool")
        return self.judge(answer)

    @abstractmethod
    def judge(self, answer: Whole) -> Finding:
        """Judge an answer that says or calls something; `check` fails all others."""

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        """Return the example; real constraints come from suites, which have the tools."""
        return cls(**cls.passing[0])

    def witness(self) -> str:
        return self.passing[1]

    def counter_witness(self) -> str:
        return self.failing[1]


def _whole(text: str, *calls: str) -> str:
    pairs = (_named_object(call) for call in calls)
    return encode(
        Whole(text, tuple(ToolCall(f"c{place}", *call) for place, call in enumerate(pairs, start=1)))
    ).decode()


@kind
class Exactly(CallRule):
    """Calls exactly these tools with these arguments.

    With `refund({"order":7})`: that call alone passes, order 8 fails. Numbers count by value (7 is 7.0); arguments that
    are no JSON object equal nothing.
    """

    id = "calls:exactly"
    phrasings = (
        "Call exactly these tools, in {sequence} order: {listed}.",
        "These calls, and no others, are to be made in {sequence} order: {listed}.",
        "Make the following calls of tools in {sequence} order, nothing more and nothing less: {listed}.",
        "In {sequence} order, what must be called is {listed}, and only that.",
    )
    passing = ({"calls": ('refund({"order":7})',), "sequence": "this"}, _whole("", 'refund({"order":7})'))
    failing = (passing[0], _whole("", 'refund({"order":8})'))

    calls: tuple[str, ...] = param(NamedObjects(1, 64))
    sequence: str = param(Choice(SEQUENCES), default="this")

    def wording(self) -> dict[str, Any]:
        return {"sequence": self.sequence, "listed": ", ".join(self.calls)}

    def judge(self, answer: Whole) -> Finding:
        expected = [_canonical(*_named_object(call)) for call in self.calls]
        calls = [f"{call.name}(?)" if call.broken else _canonical(call.name, call.arguments) for call in answer.calls]
        missing = Counter(expected) - Counter(calls)
        extra = Counter(calls) - Counter(expected)
        is_in_order = self.sequence == "any" or calls == expected
        if missing or extra:
            parts = [f"not called: {', '.join(missing)}"] * bool(missing) + [
                f"called besides: {', '.join(extra)}"
            ] * bool(extra)
            reason = "; ".join(parts)
        else:
            reason = (
                f"{plural(len(calls), 'call')} as wanted" if is_in_order else "the calls are right, their order is not"
            )
        hits = (Counter(expected) & Counter(calls)).total()
        ok = not missing and not extra and is_in_order
        return decide(
            ok, reason[:900], measured=calls[:64], needed=expected, score=hits / max(len(expected), len(calls))
        )


@kind
class Never(CallRule):
    """Never calls these tools. With `refund`: "Done." passes, an answer that calls it fails."""

    id = "calls:never"
    phrasings = (
        "Never call {listed}.",
        "Do not call {listed}, whatever happens.",
        "You are not allowed to call {listed}.",
        "What must not be called: {listed}.",
    )
    passing = ({"tools": ("refund",)}, _whole("It is done."))
    failing = (passing[0], _whole("", 'refund({"order":7})'))

    tools: tuple[str, ...] = param(ListOf(Words(), 1, 64))

    def wording(self) -> dict[str, Any]:
        return {"listed": quoted_list(self.tools)}

    def judge(self, answer: Whole) -> Finding:
        forbidden_call = next((call for call in answer.calls if call.name in self.tools), None)
        if forbidden_call is not None:
            return reject(f"it calls {forbidden_call.said}"[:900])
        return decide(ok=True, reason=f"{plural(len(answer.calls), 'call')}, none of {quoted_list(self.tools)}"[:900])


@kind
class Valid(CallRule):
    """Calls a tool, and every call is of a known one with arguments that its JSON schema allows.

    With a schema that wants a number `order`: `refund({"order":7})` passes, `refund({"order":"seven"})` fails.
    """

    id = "calls:valid"
    phrasings = (
        "Call one of the tools with valid arguments.",
        "Use a tool, with arguments as its schema wants them.",
        "Make at least one call of a tool, and only calls that the schemas allow.",
        "Every call, and there has to be one, must have the arguments that its tool takes.",
    )
    passing = (
        {"schemas": ('refund({"properties":{"order":{"type":"integer"}},"required":["order"],"type":"object"})',)},
        _whole("", 'refund({"order":7})'),
    )
    failing = (passing[0], _whole("", 'refund({"order":"seven"})'))

    schemas: tuple[str, ...] = param(NamedObjects(1, 64), said=False)

    def problem(self) -> str | None:
        jsonschema = import_jsonschema()
        for text in self.schemas:
            try:
                jsonschema.Draft202012Validator.check_schema(_named_object(text)[1])
            except jsonschema.SchemaError as error:
                return f"schemas={text[:60]!r} must hold a JSON schema: {error.message[:200]}"
        return None

    def judge(self, answer: Whole) -> Finding:
        validator = import_jsonschema().Draft202012Validator
        schemas = dict(map(_named_object, self.schemas))
        if not answer.calls:
            return reject("it calls no tool")
        for number, call in enumerate(answer.calls, start=1):
            if call.name not in schemas:
                return reject(f"call {number}: there is no tool {call.name!r}"[:900])
            if call.broken:
                return reject(f"call {number}: the arguments of {call.name} are no JSON object: {call.broken!r}"[:900])
            error = next(validator(schemas[call.name]).iter_errors(call.arguments), None)
            if error is not None:
                return reject(f"call {number}: {call.name}: {error.json_path}: {error.message}"[:900])
        return decide(ok=True, reason=f"{plural(len(answer.calls), 'call')} with valid arguments")


@kind
class AsksFirst(CallRule):
    """Asks before it acts: the answer holds a question and calls none of these tools.

    With `refund`: "Shall I refund order 7?" passes, the call itself fails, and so does "I will refund it."
    """

    id = "calls:asks_first"
    phrasings = (
        "Ask the user before you call {listed}.",
        "Before any call of {listed}, ask the user a question.",
        "Do not call {listed} yet; ask the user whether you should.",
        "First ask the user, and leave {listed} uncalled for now.",
    )
    passing = ({"tools": ("refund",)}, _whole("Shall I refund order 7?"))
    failing = (passing[0], _whole("Shall I?", 'refund({"order":7})'))

    tools: tuple[str, ...] = param(ListOf(Words(), 1, 64))

    def wording(self) -> dict[str, Any]:
        return {"listed": quoted_list(self.tools)}

    def judge(self, answer: Whole) -> Finding:
        action = next((call for call in answer.calls if call.name in self.tools), None)
        if action is not None:
            return reject(f"it calls {action.said} without having asked"[:900])
        asks = any(mark in answer.text for mark in "?？؟")
        return decide(asks, "it asks, and does not act yet" if asks else "it asks no question")
