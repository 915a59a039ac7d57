"""List the package's families and the module of each, without importing them; read and write suite names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adhere.errors import UsageError, nearest

OWN = {
    "atomic": "robustness.atomic",
    "calls": "tasks.calls",
    "chain": "tasks.chain",
    "code": "tasks.code",
    "data": "tasks.data",
    "density": "robustness.density",
    "drawing": "visual.drawing",
    "hierarchy": "conversation.hierarchy",
    "injection": "conversation.injection",
    "labels": "robustness.labels",
    "length": "tasks.length",
    "logic": "tasks.logic",
    "long": "long.contexts",
    "math": "tasks.math",
    "multi-turn": "conversation.multi_turn",
    "multilingual": "robustness.multilingual",
    "order": "robustness.order",
    "override": "conversation.override",
    "paraphrase": "robustness.paraphrase",
    "plan": "tasks.plan",
    "puzzle": "tasks.puzzle",
    "rag": "tasks.rag",
    "reasoning": "tasks.reasoning",
    "rewrite": "tasks.rewrite",
    "system": "conversation.system",
    "visual": "visual.pictures",
}


class SuiteOptions(NamedTuple):
    """Holds what stands behind the colon of a suite's name; None or empty if it says nothing.

    Without a seed there, `seed` is the one that `read_argument` was given, or else 0.
    """

    number: int | None
    seed: int
    chosen: tuple[str, ...]
    limits: Mapping[str, int]


_PART = re.compile(r"x(?P<number>\d{1,6})|seed(?P<seed>-?\d{1,18})")
_LIMIT = re.compile(r"([a-z]+)([1-9]\d{0,6})")


def read_argument(
    suite: str,
    argument: str | None,
    *,
    seed: int | None,
    counts: str,
    choices: Sequence[str] = (),
    limits: Sequence[str] = (),
) -> SuiteOptions:
    """Read a number (`x25`), a seed (`seed7`), some of `choices`, and limits, joined by `+`, each at most once.

    Args:
        suite: The name before the colon, for messages.
        argument: The text behind the colon; None: no colon.
        seed: The seed if the argument has none; None: 0.
        counts: What the number counts, for messages: "groups".
        choices: Other words that the suite knows.
        limits: Words that take a number from 1 on.

    Raises:
        UsageError: A part is none of these, or is repeated.
    """
    numbers: dict[str, int] = {}
    chosen: list[str] = []
    most: dict[str, int] = {}
    for part in [] if argument is None else argument.split("+"):
        match, limit = _PART.fullmatch(part), _LIMIT.fullmatch(part)
        if match is not None and match.lastgroup not in numbers:
            numbers[str(match.lastgroup)] = int(match[str(match.lastgroup)])
        elif part in choices and part not in chosen:
            chosen.append(part)
        elif limit is not None and limit[1] in limits and limit[1] not in most:
            most[limit[1]] = int(limit[2])
        else:
            further = f", {' or '.join(limits)} and a number from 1" if limits else ""
            others = f", or one of {', '.join(choices)}" if choices else ""
            suggestion = nearest(
                part.rstrip("0123456789"), [choice for choice in (*choices, *limits) if choice not in most]
            )
            raise UsageError(
                f"{suite}:{argument}: {part!r} must be x and a number ({counts}), seed and a number{further}{others}, "
                f"each at most once.{suggestion} For example: {suite}:x25+seed7"
            )
    return SuiteOptions(numbers.get("number"), numbers.get("seed", seed or 0), tuple(chosen), most)


def name_of(suite: str, *parts: str) -> str:
    """Return the suite's name with these parts; empty ones are left out: `diagnostic:x25+seed7`."""
    present = [part for part in parts if part]
    return f"{suite}:{'+'.join(present)}" if present else suite
