"""Declare the IFBench and IFTrain kinds, each as a function of its parameters that returns the check.

The declared parameters say what the published code does with a missing one: it refuses to build the instruction, or
draws a value at random in the range given here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, cast

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, declare, is_absent_or_negative, is_falsy
from adhere.schema import Json

BOTH = ("ifbench-2026", "ifbench-2025")
NEW = ("ifbench-2026",)
OLD = ("ifbench-2025",)
IFTRAIN = ("iftrain",)

Draw = Callable[[random.Random, Mapping[str, Json]], Json]


def number(low: int, high: int) -> Param:
    """Declare a number; the published code draws a whole one from `low` to `high` if it is absent or negative."""
    return Param("number", is_drawn=is_absent_or_negative, draw=lambda rng, _params: rng.randint(low, high))


def whole(low: int, high: int) -> Param:
    """Declare a whole number; the published code draws one from `low` to `high` if it is absent or 0."""
    return Param("integer", is_drawn=is_falsy, draw=lambda rng, _params: rng.randint(low, high))


def number_drawn(draw: Draw) -> Param:
    """Declare a number that `draw` draws, by the other parameters, if it is absent or negative."""
    return Param("number", is_drawn=is_absent_or_negative, draw=draw)


def index(draw: Draw, *, zero_is_drawn: bool = False) -> Param:
    """Declare a whole number that `draw` draws, by the other parameters, if it is absent; `zero_is_drawn`: or 0."""
    if zero_is_drawn:
        return Param("integer", is_drawn=is_falsy, draw=draw)
    return Param("integer", draw=draw)


def start_of(split: Callable[[str], list[str]]) -> Draw:
    """Return the draw of a span's first index in `prompt_to_repeat`, which `split` cuts into what is counted."""
    return lambda rng, params: rng.randint(0, max(0, len(split(str(params["prompt_to_repeat"]))) - 2))


def end_of(split: Callable[[str], list[str]]) -> Draw:
    """Return the draw of a span's end, which is behind `n_start`; `split` as in `start_of`."""

    def draw(rng: random.Random, params: Mapping[str, Json]) -> Json:
        low = cast("int", params["n_start"]) + 1
        return rng.randint(low, max(low, len(split(str(params["prompt_to_repeat"]))) - 1))

    return draw


def one_of(*choices: str, drawn_if_empty: bool = False) -> Param:
    """Declare a text; the published code picks one of `choices` if it is absent (or empty)."""
    if drawn_if_empty:
        return Param("string", is_drawn=is_falsy, draw=lambda rng, _params: rng.choice(choices))
    return Param("string", draw=lambda rng, _params: rng.choice(choices))


WORD = Param("string", is_drawn=is_falsy)
"""A text; if it is absent or empty, the published code draws a word of a list, which is not reproduced here."""
WORDS = Param("strings", is_drawn=is_falsy)
"""A text as WORD, or a list as some published rows have it, of which the first entry counts."""
GIVEN = Param("string")
"""A text; if it is absent, the published code draws a word of a list, which is not reproduced here."""
REQUIRED = Param("string", required=True)
"""A text without which the published code refuses to build the instruction."""


def published_kind(
    id: str,  # noqa: A002 - the field's word
    profiles: tuple[str, ...],
    description: str,
    *,
    version: int = 1,
    **params: Param,
) -> Callable[[Callable[..., Check]], Kind]:
    """Make a Kind of a function that takes the parameters by name and returns the check.

    `description` is filled with the parameters by name.
    """

    def build(make: Callable[..., Check]) -> Kind:
        def compile_rule(values: Mapping[str, Json]) -> Check:
            return make(**{name: values[name] for name in params})

        return declare(id, profiles, compile_rule, description, version=version, **params)

    return build


def published_check(
    id: str,  # noqa: A002 - the field's word
    profiles: tuple[str, ...],
    description: str,
    *,
    version: int = 1,
    **params: Param,
) -> Callable[[Callable[..., Finding]], Kind]:
    """Make a Kind of a function that judges a text, given the parameters by name; nothing is prepared."""

    def build(judge: Callable[..., Finding]) -> Kind:
        def make(**values: Json) -> Check:
            return lambda text: judge(text, **values)

        return published_kind(id, profiles, description, version=version, **params)(make)

    return build


def published_pair(
    id: str,  # noqa: A002 - the field's word
    description: str,
    new: Any,
    old: Any,
    **params: Param,
) -> Callable[[Callable[..., Finding]], tuple[Kind, Kind]]:
    """Make two Kinds of one rule, those of 2026 and of 2025.

    The function takes a text, then `new` or `old`, the only difference of the two, then the parameters by name.
    """

    def build(judge: Callable[..., Finding]) -> tuple[Kind, Kind]:
        def of(profiles: tuple[str, ...], differs: Any) -> Kind:
            return published_check(id, profiles, description, version=1, **params)(
                lambda text, **values: judge(text, differs, **values)
            )

        return of(NEW, new), of(OLD, old)

    return build


def kinds_of(module: ModuleType) -> Iterator[Kind]:
    """Yield the Kinds that a module declares, pairs among them, in the module's order."""
    for value in vars(module).values():
        declared = (value,) if isinstance(value, Kind) else value if isinstance(value, tuple) else ()
        yield from (kind for kind in declared if isinstance(kind, Kind))


def accept(reason: str, measured: Json = None, needed: Json = None, span: tuple[int, int] | None = None) -> Finding:
    """Make a Finding that passes."""
    return Finding("pass", reason, measured, needed, span)


def reject(reason: str, measured: Json = None, needed: Json = None, span: tuple[int, int] | None = None) -> Finding:
    """Make a Finding that fails."""
    return Finding("fail", reason, measured, needed, span)


def at_least(count: int, fewest: float, units: str) -> Finding:
    """Judge a count that must reach `fewest`."""
    return verdict(count >= fewest, f"found {amount(count, units)}, needed at least {fewest}", count, fewest)


def exactly(count: int, target: float, units: str) -> Finding:
    """Judge a count that must equal `target`."""
    return verdict(count == target, f"found {amount(count, units)}, needed exactly {target}", count, target)


def judge_copy(text: Text, expected: str, *, is_same: bool) -> Finding:
    """Make the Finding about an answer that must be `expected` and nothing else."""
    answer = quote(text.stripped)
    return verdict(is_same, f"found {answer}, needed {quote(expected)}", answer, expected)


def quote(piece: str) -> str:
    """Return a piece of the answer as a reason quotes it: at most 40 characters, printable."""
    return repr(piece if len(piece) <= 40 else f"{piece[:37]}...")


__all__ = [
    "BOTH", "GIVEN", "IFTRAIN", "NEW", "OLD", "REQUIRED", "WORD", "WORDS", "Check", "Draw", "accept", "at_least",
    "end_of", "exactly", "index", "judge_copy", "kinds_of", "number", "number_drawn", "one_of", "published_check",
    "published_kind", "published_pair", "quote", "reject", "start_of", "verdict", "whole",
]  # fmt: skip
