"""Define a family of generated prompts: a seed gives items, each with checks, a level and an answer that passes.

    FAMILY = Family(
        "rewrite", answers="Does it apply …?", paper="…", levels=(Level("1 step", "…"), …), draw=draw,
    )

`draw(rng, level)` makes one item, or the variants of one item, for one level. At every level of a group the generator
starts from the same state, so a family that first draws the base of an item asks the same thing at each level. The
contract suite (`adhere.testing.check_family`) tests every family, those of plug-ins too.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from adhere.constraints.base import Constraint
from adhere.errors import AdhereError, UsageError, nearest
from adhere.plugins import Registry
from adhere.schema import ConstraintRef, GivenMessages, Media, Prompt, Sampling, Turn, derive_seed, packed
from adhere.suites.base import Suite
from adhere.suites.generated.names import OWN, name_of, read_argument

PUBLIC_SEED = 0
MOST_GROUPS = 100_000
REDRAWS = 50


class Level(NamedTuple):
    """Describes one step of difficulty: its name in results, and what makes it harder than the one before."""

    name: str
    meaning: str


class SolvedTurn(NamedTuple):
    """Holds one user turn: its text, the constraints on its answer, and one answer that passes.

    `answer` is for the solver of the contract suite and is never stored. A leading `<think>…</think>` in it is the
    reasoning. `roles` names what each constraint measures (`task`, `format`, …), so that results can be reported by
    role; empty: no roles. `media` holds pictures and sounds shown with the text.
    """

    text: str
    constraints: Sequence[Constraint | ConstraintRef]
    answer: str
    roles: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()


class Item(NamedTuple):
    """Holds one prompt before it has an id.

    `variant` distinguishes the items of one group and level; `tags` are shown in results. `given` is what the prompt
    itself puts into the conversation: tools, and messages of others.
    """

    turns: tuple[SolvedTurn, ...]
    system: str | None = None
    variant: str = ""
    tags: dict[str, str] = {}
    given: GivenMessages | msgspec.UnsetType = msgspec.UNSET


class SolvedPrompt(NamedTuple):
    """Holds a prompt and, for each turn, an answer that passes."""

    prompt: Prompt
    answers: tuple[str, ...]


def single(
    text: str,
    constraints: Sequence[Constraint | ConstraintRef],
    answer: str,
    *,
    roles: tuple[str, ...] = (),
    system: str | None = None,
    variant: str = "",
    tags: dict[str, str] | None = None,
    media: tuple[Media, ...] = (),
    given_messages: GivenMessages | msgspec.UnsetType = msgspec.UNSET,
) -> Item:
    """Make an item of one turn."""
    return Item((SolvedTurn(text, constraints, answer, roles, media),), system, variant, tags or {}, given_messages)


@dataclasses.dataclass(frozen=True)
class Family:
    """Describes a generated suite.

    Attributes:
        name: The name on the command line.
        answers: The question about a model that the suite answers.
        paper: The paper that the suite follows.
        levels: The levels, from easy to hard.
        draw: Makes the item of a level (numbered from 0), or its variants, from a generator.
        groups: Number of groups of the default suite; a group is one item of every level (or its variants).
        version: Goes up when a seed gives other prompts.
        usual_levels: Number of levels of the default suite; None: all.
        profile_levels: Number of levels in the suite `profile`; None: as `usual_levels`.
        max_new_tokens: The default token limit of an answer.
        in_profile: Whether the suite `profile` has a slice of it; False if only some models can be asked.
    """

    name: str
    answers: str
    paper: str
    levels: tuple[Level, ...]
    draw: Callable[[random.Random, int], Sequence[Item]]
    groups: int = 20
    version: str = "1"
    usual_levels: int | None = None
    profile_levels: int | None = None
    max_new_tokens: int = 512
    in_profile: bool = True

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels, in order."""
        return tuple(level.name for level in self.levels)

    @property
    def size(self) -> int:
        """Number of prompts of the default suite; all groups have as many as the first."""
        return self.groups * len(self._group(PUBLIC_SEED, 1, self._numbers(None), set()))

    def stream(
        self, seed: int = PUBLIC_SEED, groups: int | None = None, levels: Sequence[str] | None = None
    ) -> Iterator[SolvedPrompt]:
        """Yield the prompts one at a time, so that long ones are not all held in memory.

        A prompt depends only on the seed, the group's number and its level, so more groups begin with the same prompts.

        Raises:
            UsageError: `groups` is out of range, or a level is unknown.
            AdhereError: The family ran out of different items.
        """
        count = self.groups if groups is None else groups
        if not 1 <= count <= MOST_GROUPS:
            raise UsageError(f"{self.name}: {count} groups: must be 1 to {MOST_GROUPS:,}, e.g. {self.name}:x25")
        level_numbers = self._numbers(levels)
        seen: set[int] = set()
        for number in range(1, count + 1):
            yield from self._group(seed, number, level_numbers, seen)

    def _group(self, seed: int, number: int, levels: Sequence[int], seen: set[int]) -> list[SolvedPrompt]:
        for attempt in range(REDRAWS):
            root = derive_seed(seed, self.name, self.version, number, attempt)
            group = [
                self._make(item, seed, number, level)
                for level in levels
                for item in self.draw(random.Random(root), level)
            ]
            fresh = {hash_of(solved_prompt.prompt) for solved_prompt in group}
            if len(fresh) == len(group) and seen.isdisjoint(fresh):
                seen |= fresh
                return group
        raise AdhereError(f"{self.name}: no new group number {number} for seed {seed} in {REDRAWS} draws")

    def _make(self, item: Item, seed: int, number: int, level: int) -> SolvedPrompt:
        variant = item.variant.replace(" ", "-")
        tags = {
            "slice": self.levels[level].name,
            "family": self.name,
            "level": str(level + 1),
            "group": f"s{seed}-{number:04d}",
            **({"variant": variant} if variant else {}),
            **item.tags,
        }
        if roles := ";".join(",".join(turn.roles) for turn in item.turns).strip(";"):
            tags["roles"] = roles
        prompt = Prompt(
            id=f"{self.name}{self._edition}-s{seed}-{number:04d}-{level + 1}{f'-{variant}' if variant else ''}",
            turns=tuple(
                Turn(turn.text, tuple(map(_as_reference, turn.constraints)), turn.media or msgspec.UNSET)
                for turn in item.turns
            ),
            system=item.system,
            source=self.name,
            tags=tags,
            given=item.given,
        )
        return SolvedPrompt(prompt, tuple(turn.answer for turn in item.turns))

    @property
    def _edition(self) -> str:
        """Part of the ids of every version but the first, so that an id never means another prompt."""
        return "" if self.version == "1" else f"-v{self.version}"

    def _numbers(self, levels: Sequence[str] | None) -> list[int]:
        if not levels:
            return list(range(self.usual_levels or len(self.levels)))
        for name in levels:
            if name not in self.level_names:
                raise UsageError(
                    f"{self.name}: unknown level {name!r}.{nearest(name, self.level_names)} It has: "
                    f"{', '.join(self.level_names)}"
                )
        return [number for number, name in enumerate(self.level_names) if name in levels]

    def suite(self, seed: int = PUBLIC_SEED, groups: int | None = None, levels: Sequence[str] | None = None) -> Suite:
        """Make the suite of the prompts of `stream`, with its arguments and errors."""
        count = self.groups if groups is None else groups
        numbers = self._numbers(levels)
        chosen = tuple(self.level_names[number] for number in numbers)
        return Suite(
            name=name_of(
                self.name,
                f"x{count}" if count != self.groups else "",
                *(chosen if levels else ()),
                f"seed{seed}" if seed != PUBLIC_SEED else "",
            ),
            version=self.version,
            prompts=tuple(packed(solved_prompt.prompt) for solved_prompt in self.stream(seed, count, levels)),
            slices=chosen,
            settings={"seed": seed, "groups": count, "levels": ", ".join(chosen)},
            citation=f"After {self.paper}. Items: adhere.",
            sampling=Sampling(max_new_tokens=self.max_new_tokens),
        )

    def load(self, argument: str | None, seed: int | None) -> Suite:
        """Load `NAME:ARGUMENT`; the argument joins groups (`x25`), seed (`seed7`) and levels by `+`.

        Raises:
            UsageError: A part is none of these, or is repeated.
        """
        options = read_argument(self.name, argument, seed=seed, counts="groups", choices=self.level_names)
        return self.suite(options.seed, options.number, options.chosen)


def hash_of(prompt: Prompt) -> int:
    """Return a number that differs between prompts with different content, whatever their ids."""
    pictures = [medium.sha256 for turn in prompt.turns for medium in turn.media or ()]
    return derive_seed(prompt.system or "", *(turn.text for turn in prompt.turns), *pictures)


def _as_reference(constraint: Constraint | ConstraintRef) -> ConstraintRef:
    return constraint if isinstance(constraint, ConstraintRef) else constraint.ref()


def family_problem(name: object, family: object) -> str | None:
    """Return why `family` cannot be the family called `name`, in words for its author; None if it can."""
    if not isinstance(family, Family):
        return f"must be an adhere.suites.generated.family.Family, is {family!r}"
    if family.name != name:
        return f"has the name {family.name!r}; it must be that of its entry point, {name!r}"
    if not (family.answers and family.paper and family.levels and all(level.meaning for level in family.levels)):
        return "must say which question it answers, what it learns from, and what each of its levels means"
    return None


registry: Registry[Family] = Registry(
    "family",
    group="adhere.families",
    listing="adhere list suites",
    modules={name: f"adhere.suites.generated.{module}" for name, module in OWN.items()},
    constant="FAMILY",
    problem=family_problem,
)
