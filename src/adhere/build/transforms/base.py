"""Define a transform, its settings and result, and the registry of transforms.

Another package adds a transform by an entry point of `adhere.transforms`.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from adhere.errors import UsageError, nearest
from adhere.plugins import Registry
from adhere.schema import derive_seed

Row = dict[str, Any]


class UnfitRow(Exception):
    """Raised for a row that cannot be transformed; the message says why, and the row is left out."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Holds the settings of a transform.

    Attributes:
        seed: The seed from which all its draws derive.
        options: The transform's own options, each of its default's type.
        ask: Asks a model: requests to answers, in order; None without a model.
    """

    seed: int = 0
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ask: Callable[[Sequence[str]], Sequence[str]] | None = None

    def rng(self, *parts: object) -> random.Random:
        """Return a random generator seeded by `seed` and `parts`."""
        return random.Random(derive_seed(self.seed, *parts))

    def model(self, name: str) -> Callable[[Sequence[str]], Sequence[str]]:
        """Return `ask`, for the transform called `name`.

        Raises:
            UsageError: No model was given.
        """
        if self.ask is None:
            raise UsageError(f"The transform {name!r} asks a model: say which with --model")
        return self.ask


class Result(NamedTuple):
    """Holds the rows that came out, and (number, reason) for those left out; rows are numbered from 1.

    One row may give several, and several may give one.
    """

    rows: list[Row]
    left_out: list[tuple[int, str]]


class Transform(NamedTuple):
    """Describes one transform of a table.

    Attributes:
        name: What the registry calls it.
        version: Goes up when the resulting rows change.
        paper: The paper that it is from.
        tables: The tables that it takes: `sft`, `pairs`, `rl`, or `text` (documents, a column `text`).
        summary: One sentence.
        options: Its options with their defaults.
        apply: Makes the rows.
    """

    name: str
    version: int
    paper: str
    tables: tuple[str, ...]
    summary: str
    apply: Callable[[Sequence[Row], Settings], Result]
    options: Mapping[str, Any] = {}


def _problem(name: str, candidate: Any) -> str | None:
    if not isinstance(candidate, Transform):
        return f"must be an adhere.build.transforms.Transform, is {candidate!r}"
    return None if candidate.name == name else f"is called {candidate.name!r}, not {name!r}"


_NAMES = (
    "chain", "difficulty", "documents", "hindsight", "mixture", "normalise", "role_rules", "six_criteria",
    "system_prompts",
)  # fmt: skip
_MOVED = (
    "concatenate", "curriculum", "hierarchy", "instruction_backtranslation", "length_aware", "length_matched",
    "minimal_difference", "pseudo_code", "refine", "reverse_preference", "sequential",
)  # fmt: skip
TRANSFORMS: Registry[Transform] = Registry(
    "transform",
    group="adhere.transforms",
    listing="adhere list transforms",
    modules={name: f"adhere.build.transforms.{name}" for name in _NAMES},
    constant="TRANSFORM",
    problem=_problem,
    elsewhere=dict.fromkeys(_MOVED, "examples/plugins/adhere-more"),
)


@dataclasses.dataclass(frozen=True)
class each:  # noqa: N801 - reads as what it says where transforms are registered
    """Makes a transform that works row by row; `change` raises UnfitRow for rows that cannot be transformed."""

    change: Callable[[Row, random.Random, Mapping[str, Any]], Row | list[Row]]

    def __call__(self, rows: Sequence[Row], settings: Settings) -> Result:
        new_rows: list[Row] = []
        left_out = []
        for number, row in enumerate(rows, start=1):
            try:
                new_rows += self.of(row, number, settings)
            except UnfitRow as reason:
                left_out.append((number, str(reason)))
        return Result(new_rows, left_out)

    def of(self, row: Row, number: int, settings: Settings) -> list[Row]:
        """Transform one row into one or several; random draws depend on `number`.

        Raises:
            UnfitRow: The row cannot be transformed.
        """
        row_or_rows = self.change(row, settings.rng(number), settings.options)
        return row_or_rows if isinstance(row_or_rows, list) else [row_or_rows]


def pairs_of(rows: Sequence[Row], settings: Settings, size: int) -> Iterator[list[tuple[int, Row]]]:
    """Yield the rows in groups of `size`, each as (number from 1, row), in a seeded order; the last may be smaller."""
    order = list(enumerate(rows, start=1))
    settings.rng("order").shuffle(order)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def transform(name: str, rows: Sequence[Row], table: str, settings: Settings = Settings()) -> Result:
    """Apply a transform to the rows of a table.

    Raises:
        UnknownName, UsageError: `choose` raises it, or the transform needs a model and none was given.
    """
    choice, settings = choose(name, table, settings)
    return choice.apply(rows, settings)


def choose(name: str, table: str, settings: Settings) -> tuple[Transform, Settings]:
    """Return a transform, and the settings with its default options filled in.

    Raises:
        UnknownName: There is no such transform.
        UsageError: The transform does not take this table, lacks an option, or an option's value has the wrong type.
    """
    choice = TRANSFORMS.get(name)
    if table not in choice.tables:
        raise UsageError(f"The transform {name!r} takes {' or '.join(choice.tables)} rows, not {table!r}")
    for option, value in settings.options.items():
        if option not in choice.options:
            raise UsageError(
                f"The transform {name!r} has no option {option!r}.{nearest(option, choice.options)} It has: "
                f"{', '.join(choice.options) or 'none'}"
            )
        if type(value) is not type(choice.options[option]) and not (
            isinstance(value, int) and isinstance(choice.options[option], float)
        ):
            raise UsageError(f"{name}: {option}={value!r} must be a {type(choice.options[option]).__name__}")
    return choice, dataclasses.replace(settings, options={**choice.options, **settings.options})
