"""A family of generated prompts: a seed gives items, each with exact checks, a level and an answer that passes.

    FAMILY = Family(
        "rewrite", answers="Does it apply …?", paper="…", levels=(Level("1 step", "…"), …), draw=draw,
    )

`draw(rng, level)` makes one item, or the variants of one item, for one level. At every level of a group the generator
starts the same, so a family that draws the base of an item first asks the same thing at each level. The contract suite
(`adhere.testing.check_family`) runs every family through the same questions, those of plug-ins too.
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
    """One step of difficulty: how results name it, and what makes it harder than the one before."""

    name: str
    meaning: str


class SolvedTurn(NamedTuple):
    """One user turn: what it says, what its answer must satisfy, and one answer that does.

    `answer` is for the solver of the contract suite and is never stored. A leading `<think>…</think>` in it is the
    reasoning. `roles` names what each constraint measures (`task`, `format`, …), so that results can be given apart;
    empty: no roles. `media` is shown.
    """

    text: str
    constraints: Sequence[Constraint | ConstraintRef]
    answer: str
    roles: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()


class Item(NamedTuple):
    """One prompt before it has an id.

    `variant` tells apart the items of one group and level; `tags` are shown in results. `given` is what the prompt
    itself puts into the conversation: tools, and messages of others.
    """

    turns: tuple[SolvedTurn, ...]
    system: str | None = None
    variant: str = ""
    tags: dict[str, str] = {}
    given: GivenMessages | msgspec.UnsetType = msgspec.UNSET


class SolvedPrompt(NamedTuple):
    """A prompt and, turn by turn, an answer that passes."""

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
    """An item of one turn."""
    return Item((SolvedTurn(text, constraints, answer, roles, media),), system, variant, tags or {}, given_messages)


@dataclasses.dataclass(frozen=True)
class Family:
    """A generated suite.

    Attributes:
        name: On the command line.
        answers: The question about a model that it answers.
        paper: What it learns from.
        levels: From easy to hard.
        draw: (generator, number of the level from 0) to the item of that level, or its variants.
        groups: How many groups its default suite has; a group is one item of every level (or its variants).
        version: Raised when a seed would give other prompts.
        usual_levels: How many of the levels the default suite has.
        profile_levels: How many of them the suite `profile` has.
        max_new_tokens: How long its answers may be unless a person says otherwise.
        in_profile: Whether the suite `profile` has a slice of it. Not of what only some models can be asked.
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
        """Prompts of the default suite: every group has as many as the first."""
        return self.groups * len(self._group(PUBLIC_SEED, 1, self._numbers(None), set()))

    def stream(
        self, seed: int = PUBLIC_SEED, groups: int | None = None, levels: Sequence[str] | None = None
    ) -> Iterator[SolvedPrompt]:
        """Items one at a time, so that long ones never lie in memory together; the same arguments give the same bytes.

        An item depends on the seed, the group's number and its level: more groups begin with fewer ones.

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
            fresh = {hash_of(one.prompt) for one in group}
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
        """Stands in the ids of every version but the first, so that an id never means another prompt."""
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
        """The suite of `stream`; arguments and errors as there."""
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
        """The suite of what stands behind the colon of its name: groups (`x25`), seed (`seed7`), levels, joined by `+`.

        Raises:
            UsageError: A part is none of these, or stands twice.
        """
        options = read_argument(self.name, argument, counts="groups", choices=self.level_names)
        default = PUBLIC_SEED if seed is None else seed
        return self.suite(default if options.seed is None else options.seed, options.number, options.chosen)


def hash_of(prompt: Prompt) -> int:
    """A number that differs for prompts that ask something else, whatever their ids."""
    pictures = [one.sha256 for turn in prompt.turns for one in turn.media or ()]
    return derive_seed(prompt.system or "", *(turn.text for turn in prompt.turns), *pictures)


def _as_reference(constraint: Constraint | ConstraintRef) -> ConstraintRef:
    return constraint if isinstance(constraint, ConstraintRef) else constraint.ref()


def family_problem(name: object, thing: object) -> str | None:
    """Why `thing` cannot be the family called `name`, in words for its author, or None."""
    if not isinstance(thing, Family):
        return f"must be an adhere.suites.generated.family.Family, is {thing!r}"
    if thing.name != name:
        return f"has the name {thing.name!r}; it must be that of its entry point, {name!r}"
    if not (thing.answers and thing.paper and thing.levels and all(level.meaning for level in thing.levels)):
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
