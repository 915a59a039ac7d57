"""The World: it is reset to a seed, takes actions, returns observations, and judges; and the worlds by name.

world = open_world("shop")
print(world.reset(7))                        # what the user says first
for action in world.solver():                # or whatever a model does
    print(world.step(action).observation)
print(world.verdict())
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from adhere.errors import AdhereError, UsageError
from adhere.plugins import Registry
from adhere.schema import Outcome, Tool, ToolCall

Action = str | ToolCall
"""A text (a command, or what is said to the user), or the call of a tool."""


class Step(NamedTuple):
    """Holds the result of an action: the observation, and whether the episode is over."""

    observation: str
    done: bool = False


class BrokenRule(NamedTuple):
    """Names a rule that an action broke. `action` counts the actions of the episode, from 1."""

    rule: str
    action: int
    reason: str


class Judgement(NamedTuple):
    """Says whether the goal is reached and which rules were broken.

    Attributes:
        outcome: `pass` if the goal is reached.
        reason: Why, in one sentence.
        broken: The rules that were broken, in order.
        progress: How far the state has come towards the goal, in [0, 1]; 0 in a world without such a measure.
    """

    outcome: Outcome
    reason: str
    broken: tuple[BrokenRule, ...] = ()
    progress: float = 0.0

    @property
    def status(self) -> Outcome:
        """The outcome, under the name that other verifiers give it."""
        return self.outcome


@runtime_checkable
class World(Protocol):
    """A World is what a model acts in. Everything that happens in it follows from the seed and the actions.

    Attributes:
        name: The name by which it is opened.
        version: Goes up when a seed and the same actions would lead to anything else.
        system: What the model is told before: where it is, and the rules, in words.
        tools: Tools that the model may call; none: its actions are texts.
        rules: Ids of the rules that a program checks; where episodes have different ones, all of them until `reset`,
            then those of the episode.
        has_user: Whether a text is said to a user, whom a model can play (`brief`, `hear`).

    A world of given tasks also has `episodes`, the number of its tasks; seeds are then the tasks' places, from 0.
    """

    name: str
    version: str
    system: str
    tools: tuple[Tool, ...]
    rules: tuple[str, ...]
    has_user: bool

    def reset(self, seed: int) -> str:
        """Begin the episode of a seed; return the first observation, or what the user wants."""

    def step(self, action: Action) -> Step:
        """Carry out an action. The observation says what was wrong with an invalid action; it raises nothing."""

    def verdict(self) -> Judgement:
        """Judge the episode so far."""

    def solver(self) -> Sequence[Action]:
        """Return actions from the beginning that reach the goal and keep every rule."""

    def brief(self) -> str:
        """Return the instructions for a model that plays the user. Only of a world with a user."""

    def hear(self, text: str, reply: str) -> Step:
        """Say a text to the user, as `step` does, but with the given reply. Only of a world with a user."""


class NoUser:
    """Gives a world without a user and without rules what it has of a World."""

    name: str
    tools: tuple[Tool, ...] = ()
    rules: tuple[str, ...] = ()
    has_user = False

    def brief(self) -> str:
        """Raise NotImplementedError: there is no user."""
        raise NotImplementedError(f"{self.name} has no user")

    def hear(self, text: str, reply: str) -> Step:
        """Raise NotImplementedError: there is no user."""
        raise NotImplementedError(f"{self.name} has no user")


OVER = Step("The episode is over.", done=True)
"""What an action after the end comes to."""


def _problem(_name: str, factory: object) -> str | None:
    return None if callable(factory) else f"must be a class or a function that makes a World, is {factory!r}"


registry: Registry[Callable[..., World]] = Registry(
    "world",
    group="adhere.worlds",
    listing="adhere list suites",
    modules={
        **{name: f"adhere.worlds.tools.{name}" for name in ("shop", "calendar", "files", "database")},
        "gymnasium": "adhere.worlds.text.gymnasium",
        "repo": "adhere.rules.repo.world",  # by name, as a plug-in's: its rules are judged in a room above the judge
        "tau2": "adhere.worlds.text.tau2",
        "textworld": "adhere.worlds.text.textworld",
    },
    problem=_problem,
)


def open_world(name: str) -> World:
    """Open a new world by name: `shop`, `gymnasium:FrozenLake-v1`, or a plug-in's.

    Raises:
        UnknownName: There is no such world.
        UsageError: The world takes no argument, and one stands behind the colon.
        MissingExtra: The world's library is not installed.
    """
    kind, _, argument = name.partition(":")
    factory = registry.get(kind)
    if argument and not inspect.signature(factory).parameters:
        raise UsageError(f"world {kind}: {argument!r} stands behind its name, and there is one world of this name only")
    return factory(argument) if argument else factory()


def validate(name: str, seeds: Sequence[int]) -> None:
    """Check without a model that a world's solver reaches the goal of every seed, keeps every rule, and is repeatable.

    Raises:
        AdhereError: A seed fails the check; the message has the reason.
    """
    world, again = open_world(name), open_world(name)
    for seed in seeds:
        first = world.reset(seed)
        if world.verdict().outcome == "pass":
            raise AdhereError(f"world {name}, seed {seed}: the goal is reached before anything was done")
        if again.reset(seed) != first:
            raise AdhereError(f"world {name}, seed {seed}: two resets say different things")
        for number, action in enumerate(world.solver(), start=1):
            step, other = world.step(action), again.step(action)
            if step != other:
                raise AdhereError(
                    f"world {name}, seed {seed}: action {number} ({action!r:.80}) comes to different things"
                )
        judgement = world.verdict()
        if judgement.outcome != "pass" or judgement.broken:
            broken_rules = "; ".join(f"{breach.rule}: {breach.reason}" for breach in judgement.broken)
            raise AdhereError(
                f"world {name}, seed {seed}: the solver comes to {judgement.outcome}: {judgement.reason} {broken_rules}".rstrip()
            )
