"""Worlds as environments: episodes that a trainer leads, step by step, and what they earn.

    environment = adhere.environments.worlds.world_env("world:shop:x200")
    rollout = environment.begin(environment.prompts[0])
    while not rollout.done:
        rollout.step(policy(rollout.messages))          # a text, or a Message with calls
    rollout.judge().score                               # by the one judge, from the episode's messages

For TRL (1.16 and later) the tools of the world are the tools of the policy, and `say` speaks to the user:

    trainer = GRPOTrainer(model, train_dataset=dataset(environment), environment_factory=factory(environment), …)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from adhere.environments.environment import JudgedEpisode, judged_of
from adhere.errors import UnknownName, UsageError, nearest, one_of
from adhere.extras import need
from adhere.pipeline.check import check
from adhere.pipeline.episodes import Play, is_episode
from adhere.pipeline.reward import REWARD_KINDS, RewardKind
from adhere.schema import Message, Prompt, Response, Tool, ToolCall
from adhere.suites import Suite, load
from adhere.text.reasoning import split_answer
from adhere.worlds import open_world
from adhere.worlds.replay import DONE

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


class WorldEnvironment:
    """Holds the episodes of a suite of one world.

    Args:
        suite: A suite of worlds with a scripted user.
        reward: `dense` is the goal times the share of rules kept; an episode that ended by itself without the goal gets
            half of the way towards it, as the world's state says. `binary` is 1.0 only if the goal is reached and every
            rule kept. Neither pays for keeping rules alone, nor for an episode that a limit ended without the goal.

    Raises:
        UsageError: A prompt is no episode, or a model is to play its user.
    """

    def __init__(self, suite: Suite, *, reward: RewardKind = "dense") -> None:
        self.suite, self.reward = suite, one_of(reward, REWARD_KINDS, "reward")
        for prompt in suite.prompts:
            if not is_episode(prompt) or "user" in prompt.tags:
                raise UsageError(
                    f"{suite.name}: {prompt.id!r} is no episode with a script as its user (world:shop:x50)"
                )
        self.prompts = suite.prompts
        self._by_id = {prompt.id: prompt for prompt in suite.prompts}

    def begin(self, prompt: Prompt | str) -> Rollout:
        """Begin a rollout of a prompt, given as one of `prompts` or its id.

        Raises:
            UnknownName: There is no such prompt.
        """
        own_prompt = self._by_id.get(prompt) if isinstance(prompt, str) else prompt
        if own_prompt is None:
            raise UnknownName(f"{self.suite.name} has no episode {prompt!r}.{nearest(str(prompt), list(self._by_id))}")
        return Rollout(own_prompt, self.reward)


class Rollout:
    """Runs one episode.

    Args:
        prompt: The prompt that the episode begins with.
        reward: See WorldEnvironment.
    """

    def __init__(self, prompt: Prompt, reward: RewardKind) -> None:
        self.prompt, self.reward = prompt, reward
        self._play = Play(prompt, 0)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, as it is sent to the policy."""
        return (*self.prompt.messages(), *self._play.messages)

    @property
    def done(self) -> bool:
        """Whether the episode is over: by itself, or at a limit."""
        return self._play.ended is not None

    def step(self, answer: str | Message) -> tuple[Message, ...]:
        """Take the policy's answer (a text without its reasoning) and return what the world says.

        Raises:
            UsageError: The episode is over.
        """
        if self.done:
            raise UsageError(f"{self.prompt.id}: the episode is over ({self._play.ended})")
        message = Message("assistant", split_answer(answer, "ok")[0]) if isinstance(answer, str) else answer
        number = len(self._play.steps)
        response = Response(self.prompt.id, number, 0, message.content, "ok", calls=message.calls or msgspec.UNSET)
        return self._play.take(response).heard or ()

    def judge(self) -> JudgedEpisode:
        """Judge the episode so far."""
        response = (
            self._play.response(self._play.ended or "not over")
            if self._play.steps
            else Response(self.prompt.id, 0, 0, "", "empty")
        )
        episode = judged_of(self.prompt, check(self.prompt, response), reward=self.reward)
        if self.reward == "binary" or episode.score is None:
            return episode
        return episode._replace(score=self._dense(episode.metrics))

    def _dense(self, rates: Mapping[str, float]) -> float:
        """Return the goal times the share of rules kept.

        An episode that ended by itself without the goal counts with its progress towards the goal.

        Args:
            rates: The rates of `world:solved` and `world:keeps`, both decided.
        """
        goal = rates["world:solved"]
        if not goal and self._play.ended == DONE:
            goal = self._play.episode.world.verdict().progress
        return goal * rates.get("world:keeps", 1.0)


def judge_answers(prompt: Prompt, answers: Sequence[str], reward: RewardKind = "dense") -> JudgedEpisode:
    """Judge an episode in the form `text` with these answers of the policy; answers after its end are ignored."""
    rollout = Rollout(prompt, reward)
    for answer in answers:
        if not rollout.done:
            rollout.step(answer)
    return rollout.judge()


def is_world(suite: Suite) -> bool:
    """Tell whether the prompts of a suite are episodes."""
    return any(map(is_episode, suite.prompts))


def insist_on_no_gate(suite: Suite) -> None:
    """Refuse `traps` for episodes.

    Raises:
        UsageError: The prompts of the suite are episodes.
    """
    if is_world(suite):
        raise UsageError(
            f"{suite.name}: the intent gate reads texts, and a program decides an episode by what was "
            "done. Leave traps out"
        )


def world_env(
    suite: str | Suite, *, reward: RewardKind = "dense", limit: int | None = None, seed: int | None = None
) -> WorldEnvironment:
    """Make the environment of a suite of worlds; arguments as in `adhere.environments.env`.

    Raises:
        UnknownName, UsageError: There is no such suite, or its prompts are no episodes.
    """
    return WorldEnvironment(load(suite, limit=limit, seed=seed) if isinstance(suite, str) else suite, reward=reward)


def dataset(environment: WorldEnvironment) -> Any:
    """Return the episodes as a `datasets.Dataset` for `factory`: the first messages, and `prompt_id`.

    Raises:
        MissingExtra: The package datasets is not installed.
    """
    rows = [
        {
            "prompt": [{"role": message.role, "content": message.content} for message in prompt.messages()],
            "prompt_id": prompt.id,
        }
        for prompt in environment.prompts
    ]
    return need("datasets", extra="environments").Dataset.from_list(rows)


def factory(environment: WorldEnvironment) -> Callable[[], Any]:
    """Return a class for TRL's `environment_factory`: an instance is one episode, with a method for each tool.

    Raises:
        UsageError: The suite's form is `text`.
    """
    first = environment.prompts[0]
    if first.tags["form"] != "tools":
        raise UsageError(f"{environment.suite.name}: TRL's policies act by tools; leave +text out")
    base = _Talking if open_world(first.tags["world"]).has_user else _Episode
    return type(
        "WorldEpisode", (base,), {"environment": environment, **{tool.name: _method(tool) for tool in first.tools}}
    )


class _Episode:
    """Runs one rollout for TRL; subclasses made by `factory` have the world's tools as methods."""

    environment: WorldEnvironment

    def reset(self, prompt_id: str, **_: Any) -> str | None:
        """Begin the episode of a row."""
        self._rollout = self.environment.begin(prompt_id)
        return None

    def get_reward(self) -> float | None:
        """Return what the episode earned."""
        return self._rollout.judge().score

    def _act(self, answer: str | Message) -> str:
        if self._rollout.done:
            return "The episode is over."
        return "\n".join(message.content for message in self._rollout.step(answer))


class _Talking(_Episode):
    """Adds a user, to whom the policy can speak."""

    def say(self, text: str) -> str:
        """Say something to the user, and read the reply.

        Args:
            text: What is said.
        """
        return self._act(text)


def _method(tool: Tool) -> Callable[..., str]:
    """Return a tool as a method with a signature and a docstring, from which trainers make the tool's schema."""
    properties: Any = tool.parameters.get("properties", {})
    names: Sequence[str] = [str(name) for name in properties]

    def method(self: _Episode, **arguments: Any) -> str:
        return self._act(Message("assistant", "", (ToolCall("call", tool.name, arguments),)))

    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    own += [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=_TYPES[properties[name]["type"]])
        for name in names
    ]
    method.__name__ = tool.name
    method.__doc__ = (
        f"{tool.description}\n\nArgs:\n" + "".join(f"    {name}: The {name}.\n" for name in names)
        if names
        else tool.description
    )
    method.__signature__ = inspect.Signature(own, return_annotation=str)  # type: ignore[attr-defined]
    method.__annotations__ = {parameter.name: parameter.annotation for parameter in own[1:]} | {"return": str}
    return method
