"""Held-out family: an episode in a world reaches its goal and keeps each rule. Never trained on.

The episode is replayed from its messages, without a model (`worlds.replay`), so a verdict can be derived again at any
time. An answer without such messages fails.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any, ClassVar, Self, final

from adhere.constraints.base import Choice, Constraint, Whole, Words, kind, param
from adhere.constraints.finding import Finding
from adhere.constraints.rule import decide, reject
from adhere.errors import AdhereError
from adhere.schema import Message, Part, encode, read_whole
from adhere.schema import Whole as Answer
from adhere.worlds import Episode, Judgement, open_world, replay
from adhere.worlds.replay import FORMS, Form, as_answer

SCRIPT = "script"
EXAMPLE: dict[str, Any] = {"world": "shop", "seed": 1, "form": "tools", "user": SCRIPT}


@functools.lru_cache(maxsize=8)
def _judge_episode(world: str, seed: int, form: Form, user: str, whole: str) -> Judgement:
    """Replay an episode and judge it; the result is cached, as all rules of one answer need it."""
    return replay(world, seed, form, read_whole(whole).steps, plays_user=user != SCRIPT)[1]


def solve(world: str, seed: int, form: Form = "tools") -> str:
    """Return, as JSON, the answer that the world's own solver gives."""
    episode = Episode(open_world(world), seed, form)
    steps: list[Message] = []
    for number, action in enumerate(episode.world.solver()):
        answer = as_answer(action, form, number, has_tools=bool(episode.world.tools))
        steps += (answer, *episode.take(answer))
    return _whole(steps)


def _whole(steps: Sequence[Message]) -> str:
    return encode(Answer("", tuple(call for step in steps for call in step.calls), tuple(steps))).decode()


class OfAnEpisode(Constraint):
    """Is the base of the kinds about an episode in a world: its goal is reached, one of its rules is kept.

    Version 3: episodes whose goal no fixed action reaches (second versions of our worlds). Version 2: a customer is
    found by an address that the user gave, a statement of SQL does what SQLite reads in it, and a number told among
    more than twenty is not told.
    """

    version = 3
    part: ClassVar[Part] = "held-out"
    is_task = True
    reads_calls = True
    claims = frozenset({"world"})
    world: str
    seed: int
    form: str
    user: str

    def problem(self) -> str | None:
        try:
            open_world(self.world)
        except AdhereError as error:
            return f"world={self.world!r} must be a world: {error}"
        return None

    @final
    def check(self, text: str) -> Finding:
        if not read_whole(text).steps:
            return reject("nothing was done in the world")
        form = next(form for form in FORMS if form == self.form)
        return self.judge(_judge_episode(self.world, self.seed, form, self.user, text))

    def judge(self, judgement: Judgement) -> Finding:
        """Turn the episode's judgement into the finding of this kind."""
        raise NotImplementedError

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        """Return the example; real constraints come from suites of worlds."""
        return cls(**cls.passing[0])

    def witness(self) -> str:
        form = next(form for form in FORMS if form == self.form)
        return solve(self.world, self.seed, form)

    def counter_witness(self) -> str:
        return self.failing[1]


@kind
class Solved(OfAnEpisode):
    """The goal of the episode is reached: the solver's actions pass, no action fails."""

    id = "world:solved"
    phrasings = (
        "Reach the goal of episode {seed} of the world {world} by {form} (user: {user}).",
        "Solve episode {seed} of the world {world}, acting by {form}, with the user {user}.",
        "In the world {world}, episode {seed}, do by {form} what the user ({user}) wants.",
        "Episode {seed} of {world} ({form}, user {user}) has a goal; reach it.",
    )
    passing = (EXAMPLE, solve("shop", 1))
    failing = (EXAMPLE, "I did nothing.")

    world: str = param(Words())
    seed: int = param(Whole(0, 2**53))
    form: str = param(Choice(FORMS))
    user: str = param(Words(), default=SCRIPT)

    def judge(self, judgement: Judgement) -> Finding:
        return decide(judgement.outcome == "pass", judgement.reason[:900])


@kind
class Keeps(OfAnEpisode):
    """One rule of the world was kept in every step: the solver's actions pass, no action fails.

    `measured` is the number of the first action that broke it.
    """

    id = "world:keeps"
    phrasings = (
        "In episode {seed} of the world {world} ({form}, user {user}), never break the rule {rule}.",
        "Keep the rule {rule} of the world {world} throughout episode {seed} (by {form}, user {user}).",
        "The rule {rule} holds in {world}, episode {seed} (by {form}, user {user}), from beginning to end.",
        "Whatever the user {user} says in episode {seed} of {world} (by {form}), the rule {rule} stands.",
    )
    passing = ({**EXAMPLE, "rule": "limit"}, solve("shop", 1))
    failing = (passing[0], "I did nothing.")

    world: str = param(Words())
    seed: int = param(Whole(0, 2**53))
    form: str = param(Choice(FORMS))
    rule: str = param(Words())
    user: str = param(Words(), default=SCRIPT)

    def problem(self) -> str | None:
        if world_problem := super().problem():
            return world_problem
        rules = open_world(self.world).rules
        return None if self.rule in rules else f"rule={self.rule!r} must be one of {', '.join(rules)}"

    def judge(self, judgement: Judgement) -> Finding:
        breaks = [breach for breach in judgement.broken if breach.rule == self.rule]
        if not breaks:
            return decide(ok=True, reason=f"{self.rule} was kept in every step")
        more = {1: "", 2: " and once more"}.get(len(breaks), f" and {len(breaks) - 1} times more")
        return reject(
            f"{self.rule}, action {breaks[0].action}: {breaks[0].reason}{more}"[:900], measured=breaks[0].action
        )
