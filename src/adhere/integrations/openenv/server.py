"""The environment for OpenEnv: an `Environment` of its protocol, and the server that its clients connect to.

    python -m adhere.integrations.openenv.server core:x20 --port 8000
    python -m adhere.integrations.openenv.server world:shop:x20 --port 8000

An episode is one prompt. `reset` gives the messages to answer; each `step` takes one answer and gives the next
messages, and after the last turn `done` and the reward. A prompt of several turns goes on to its end. A reward of None
means that the answers could not be judged; `reasons` says why. In a world each step takes a text or tool calls and
gives the world's reply, until the episode is over.

`reset(seed=N)` takes the prompt at index N modulo their number; `reset(prompt_id=…)` the one named; otherwise the
next.

Written against openenv-core 0.3.0.
"""

from __future__ import annotations

import itertools
import sys
import uuid
from collections.abc import Callable
from typing import Any

from adhere.calls import calls_of
from adhere.environments.environment import Environment, messages_of
from adhere.environments.worlds import Rollout, WorldEnvironment
from adhere.errors import UsageError
from adhere.extras import need
from adhere.models.chat import conversation, definitions
from adhere.rewards.rows import answer_of, is_cut_by
from adhere.schema import Message
from adhere.shapes.messages import content_of, is_listed, is_message

need("openenv.core", extra="environments")

from openenv.core.env_server import types
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment as OpenEnvironment
from pydantic import Field, field_validator


class AnswerAction(types.Action):
    """An answer to the messages of the last observation."""

    answer: str = Field(description="What the model wrote, reasoning and all")
    is_cut: bool = Field(default=False, description="Whether the answer was cut at its token limit")
    tool_calls: list[dict[str, Any]] = Field(
        default_factory=list, description="In a world: calls of its tools, as chat completions have them"
    )

    @field_validator("answer", mode="before")
    @classmethod
    def _read_answer(cls, value: Any) -> Any:
        """Convert parts, messages, or None (a message that only calls tools) to the text that the model wrote."""
        if value is None or isinstance(value, str):
            return value or ""
        if is_message(value) or (is_listed(value) and any(map(is_message, value))):
            return answer_of(value)
        return content_of(value, "answer").text or ""

    @field_validator("is_cut", mode="before")
    @classmethod
    def _read_cut(cls, value: Any) -> Any:
        """Convert any form of a client's flag to a bool."""
        return is_cut_by({"is_truncated": value}) or False


class InstructionObservation(types.Observation):
    """The conversation to be answered next; empty when the episode is done."""

    prompt_id: str
    messages: list[dict[str, Any]] = Field(
        default_factory=list, description="as a chat model takes them; in a world from the second on only what is new"
    )
    tools: list[dict[str, Any]] = Field(default_factory=list, description="of a world, with its first messages")
    reasons: list[str] = Field(
        default_factory=list, description="why constraints failed or could not be judged, at the end of an episode"
    )
    metrics: dict[str, float] = Field(
        default_factory=dict, description="prompt_strict, prompt_loose, a pass rate a kind"
    )


class InstructionEnvironment(OpenEnvironment[AnswerAction, InstructionObservation, types.State]):
    """Runs one session: episodes over the prompts of an Environment.

    Args:
        environment: The Environment with the prompts.
        next_place: Returns the index of the next prompt if `reset` names none; sessions of a server share it.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, environment: Environment, next_place: Callable[[], int] | None = None) -> None:
        super().__init__()
        self._environment = environment
        self._next_place = next_place or itertools.count().__next__
        self._prompt = environment.prompts[0]
        self._answers: list[str] = []
        self._is_open = False
        self._state = types.State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, prompt_id: str | None = None, **kwargs: Any
    ) -> InstructionObservation:
        """Begin an episode and return its first messages.

        Raises:
            UnknownName: There is no such prompt.
            UsageError: Another argument was given.
        """
        if kwargs:
            raise UsageError(f"reset takes seed, episode_id and prompt_id, got {', '.join(kwargs)}")
        prompts = self._environment.prompts
        place = (self._next_place() if seed is None else seed) % len(prompts)
        self._prompt = prompts[place] if prompt_id is None else self._environment.prompt(prompt_id)
        self._answers, self._is_open = [], True
        self._state = types.State(episode_id=episode_id or str(uuid.uuid4()), step_count=0)
        return self._observe()

    def step(self, action: AnswerAction, timeout_s: float | None = None, **kwargs: Any) -> InstructionObservation:
        """Take an answer and return the next messages; after the last turn, the reward.

        Raises:
            UsageError: No episode is under way.
        """
        if not self._is_open:
            raise UsageError("This episode is over, or was never begun: call reset first")
        self._answers.append(action.answer)
        self._state.step_count += 1
        # A cut answer ends the conversation: a model that ran out of tokens has nothing to go on from.
        self._is_open = len(self._answers) < len(self._prompt.turns) and not action.is_cut
        if self._is_open:
            return self._observe()
        judgement = self._environment.judge(self._prompt, self._answers, is_cut=action.is_cut)
        return InstructionObservation(
            prompt_id=self._prompt.id,
            done=True,
            reward=judgement.score,
            metrics=judgement.metrics,
            reasons=list(judgement.reasons),
        )

    @property
    def state(self) -> types.State:
        """Episode id and number of answers so far."""
        return self._state

    def _observe(self) -> InstructionObservation:
        return InstructionObservation(prompt_id=self._prompt.id, messages=messages_of(self._prompt, self._answers))


class WorldSession(OpenEnvironment[AnswerAction, InstructionObservation, types.State]):
    """Runs one session in a world: episodes, step by step.

    Args:
        environment: The environment with the episodes.
        next_place: The same as in InstructionEnvironment.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, environment: WorldEnvironment, next_place: Callable[[], int] | None = None) -> None:
        super().__init__()
        self._environment = environment
        self._next_place = next_place or itertools.count().__next__
        self._rollout: Rollout | None = None
        self._state = types.State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, prompt_id: str | None = None, **kwargs: Any
    ) -> InstructionObservation:
        """Begin an episode and return its first messages and the world's tools; see `InstructionEnvironment.reset`."""
        if kwargs:
            raise UsageError(f"reset takes seed, episode_id and prompt_id, got {', '.join(kwargs)}")
        prompts = self._environment.prompts
        place = (self._next_place() if seed is None else seed) % len(prompts)
        self._rollout = rollout = self._environment.begin(prompts[place] if prompt_id is None else prompt_id)
        self._state = types.State(episode_id=episode_id or str(uuid.uuid4()), step_count=0)
        return InstructionObservation(
            prompt_id=rollout.prompt.id,
            messages=conversation(rollout.messages, is_sent=True),
            tools=definitions(rollout.prompt.tools),
        )

    def step(self, action: AnswerAction, timeout_s: float | None = None, **kwargs: Any) -> InstructionObservation:
        """Take one action and return what the world says; at the end of the episode, also the reward.

        Raises:
            UsageError: No episode is under way.
        """
        rollout = self._rollout
        if rollout is None:
            raise UsageError("This episode is over, or was never begun: call reset first")
        calls = calls_of({"tool_calls": action.tool_calls})
        messages = rollout.step(Message("assistant", action.answer, calls) if calls else action.answer)
        self._state.step_count += 1
        observation = InstructionObservation(prompt_id=rollout.prompt.id, messages=conversation(messages, is_sent=True))
        if not rollout.done:
            return observation
        self._rollout, judgement = None, rollout.judge()
        observation.done, observation.reward, observation.metrics = True, judgement.score, judgement.metrics
        observation.reasons = list(judgement.reasons)
        return observation

    @property
    def state(self) -> types.State:
        """Episode id and number of steps so far."""
        return self._state


def make_app(environment: Environment | WorldEnvironment, *, most_sessions: int = 64) -> Any:
    """Make the FastAPI application that OpenEnv's clients talk to.

    Args:
        environment: The environment to serve; all sessions share it, as it holds no state of an episode.
        most_sessions: Most clients that may hold an episode at once.

    Raises:
        UsageError: The suite is empty.
    """
    if not environment.prompts:
        raise UsageError(f"Suite {environment.suite.name!r} has no prompts")
    places = itertools.count()

    def session() -> OpenEnvironment[AnswerAction, InstructionObservation, types.State]:
        if isinstance(environment, WorldEnvironment):
            return WorldSession(environment, places.__next__)
        return InstructionEnvironment(environment, places.__next__)

    return create_app(
        session, AnswerAction, InstructionObservation, env_name="adhere", max_concurrent_envs=most_sessions
    )


def main(arguments: list[str] | None = None) -> None:
    """Serve a suite; see the module's first lines."""
    from adhere.environments.command import parse

    options = parse("adhere.integrations.openenv.server", arguments, worlds=True)
    need("uvicorn", extra="environments").run(make_app(options.environment), host=options.host, port=options.port)


if __name__ == "__main__":
    main(sys.argv[1:])
