"""An episode: a model's answers become actions, and what the world says becomes messages.

A stored episode is replayed in the same way, without a model. There are two forms. With `tools`, actions are calls of
tools; a world of texts has the one tool `act`. With `text`, an answer is the action: a command, what is said to the
user, or a call written as JSON, `{"name": …, "arguments": {…}}`.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from adhere.calls import written_calls
from adhere.errors import IntegrityError
from adhere.schema import Message, Tool, ToolCall, encode
from adhere.worlds.simulated import STOP
from adhere.worlds.world import Action, Judgement, Step, World, open_world

Form = Literal["tools", "text"]
FORMS: tuple[Form, ...] = get_args(Form)
ACT = Tool(
    "act",
    "Do something in the world.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
NO_CALL = "Call the tool act with a command."
DONE = "done"
"""The reason of an episode that ended by itself."""


class Limits(NamedTuple):
    """Limits one episode: answers of the model, tokens that it writes, and seconds that its answers take.

    None: no limit.
    """

    steps: int = 30
    tokens: int | None = None
    seconds: float | None = None

    def reached(self, steps: int, tokens: int, seconds: float) -> str | None:
        """Name the limit that is reached; None if none is."""
        if steps >= self.steps:
            return f"limit of {self.steps} steps"
        if self.tokens is not None and tokens >= self.tokens:
            return f"limit of {self.tokens} tokens"
        if self.seconds is not None and seconds >= self.seconds:
            return f"limit of {self.seconds:g} seconds"
        return None


def introduction(world: World, form: Form) -> tuple[str, tuple[Tool, ...]]:
    """Return the system message and the tools of a world in a form."""
    if form == "tools":
        return world.system, world.tools or (ACT,)
    if not world.tools:
        return f"{world.system}\nAnswer with one command and nothing else.", ()
    tool_lines = "".join(
        f"\n{tool.name}: {tool.description} {json.dumps(tool.parameters, ensure_ascii=False)}" for tool in world.tools
    )
    return (
        f'{world.system}\nTo call a tool, answer with nothing but {{"name": …, "arguments": {{…}}}}. The tools, '
        "each with the JSON schema of "
        f"its arguments:{tool_lines}"
    ), ()


class Episode:
    """Leads one episode of a world, step by step.

    Args:
        world: The world; it is reset.
        seed: The episode's seed.
        form: How the model acts.
        plays_user: Whether a model plays the user, so that a text waits for `hear`.

    Attributes:
        first: What the world says first.
        done: Whether the episode is over.
        waiting: What was said to the user and is not answered yet; None: nothing.
    """

    def __init__(self, world: World, seed: int, form: Form, *, plays_user: bool = False) -> None:
        self.world, self.form = world, form
        self.plays_user = plays_user and world.has_user
        self.first = world.reset(seed)
        self.done = False
        self.waiting: str | None = None

    def take(self, answer: Message) -> tuple[Message, ...]:
        """Act on an answer and return the world's reply; empty while the user's reply is awaited."""
        if answer.calls and self.form == "tools":
            return tuple(Message("tool", self._do(self._meant(call)), call_id=call.id) for call in answer.calls)
        text = answer.content.strip()
        calls = written_calls(text)[1] if self.form == "text" and self.world.tools else ()
        if calls:
            return (Message("user", "\n".join(f"{call.name}: {self._do(call)}" for call in calls)),)
        if not text:
            return (Message("user", "You said nothing."),)
        if self.form == "tools" and not self.world.tools:
            return (Message("user", NO_CALL),)
        if self.plays_user:
            self.waiting = text
            return ()
        return (Message("user", self._do(text)),)

    def hear(self, reply: str) -> tuple[Message, ...]:
        """Pass on the reply of a user whom a model plays, and return what the model sees next."""
        text, self.waiting = self.waiting, None
        if text is None:
            raise IntegrityError("nothing was said to the user, so there is nothing to reply to")
        return (Message("user", self._show_step(self.world.hear(text, reply.strip() or STOP))),)

    def _meant(self, call: ToolCall) -> Action:
        if self.world.tools:
            return call
        command = call.arguments.get("command")
        return command if call.name == ACT.name and isinstance(command, str) else ""

    def _do(self, action: Action) -> str:
        return self._show_step(self.world.step(action)) if action else NO_CALL

    def _show_step(self, step: Step) -> str:
        self.done = self.done or step.done
        return step.observation


def as_answer(action: Action, form: Form, number: int, *, has_tools: bool) -> Message:
    """Return an action as the answer that a model would give."""
    if isinstance(action, ToolCall):
        if form == "tools":
            return Message("assistant", "", (ToolCall(f"call_{number}", action.name, action.arguments),))
        return Message("assistant", encode({"name": action.name, "arguments": action.arguments}).decode())
    if form == "tools" and not has_tools:
        return Message("assistant", "", (ToolCall(f"call_{number}", ACT.name, {"command": action}),))
    return Message("assistant", action)


def replay(
    name: str, seed: int, form: Form, steps: Sequence[Message], *, plays_user: bool = False
) -> tuple[Episode, Judgement]:
    """Replay an episode from its messages, without a model; return the episode and its judgement.

    Args:
        name: The world's name.
        seed: The episode's seed.
        form: How the model acted.
        steps: All messages after the first observation.
        plays_user: Whether a model played the user: the user's words are then taken from the messages.

    Raises:
        IntegrityError: The world says something else than is stored; the error names the message.
    """
    episode = Episode(_at_hand(name, threading.get_ident()), seed, form, plays_user=plays_user)
    place = 0
    while place < len(steps):
        replies = episode.take(steps[place])
        place += 1
        if episode.waiting is not None:
            if place == len(steps):
                break  # the user was not heard any more
            replies = episode.hear(steps[place].content)
        for message in replies:
            if place == len(steps) or steps[place] != message:
                stored_text = steps[place].content if place < len(steps) else "nothing"
                raise IntegrityError(
                    f"world {name}, seed {seed}, message {place + 1}: stored is {stored_text!r:.200}, "
                    f"the world says {message.content!r:.200}"
                )
            place += 1
    return episode, episode.world.verdict()


@functools.lru_cache(maxsize=16)
def _at_hand(name: str, _thread: int) -> World:
    """Return a world for this thread: a world has one state, so threads that judge at once need one each."""
    return open_world(name)
