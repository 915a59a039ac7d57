"""Lead episodes in worlds: prompts whose later turns are what the world says to each answer.

Episodes are asked, stored and resumed a step at a time. An ended episode is one Response, so verdicts, rates, reports
and exports treat it as any other answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol, Self

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.models.base import Model, Request
from adhere.schema import Message, Prompt, Response, Sampling, Usage, derive_seed
from adhere.store.run import EpisodeStep
from adhere.worlds import Episode, Limits, open_world
from adhere.worlds.replay import DONE, FORMS, Form
from adhere.worlds.simulated import STOP

USER_TOKENS = 256


class StepLog(Protocol):
    """Keeps the steps of episodes; a Run is one."""

    def append_step(self, step: EpisodeStep) -> None:
        """Keep one step."""

    def steps(self) -> dict[tuple[str, int], list[EpisodeStep]]:
        """Return the steps by (prompt_id, draw), in order."""


class Setting(NamedTuple):
    """Describes the episode of a prompt, as the prompt's tags say it.

    The parts are the world, its seed, how the model acts, who plays the user (empty: a script), and the limits.
    """

    world: str
    seed: int
    form: Form
    user: str
    limits: Limits

    @classmethod
    def of(cls, prompt: Prompt) -> Self:
        """Read the setting from the tags of a prompt that begins an episode (`is_episode`)."""
        tags = prompt.tags
        form = next(form for form in FORMS if form == tags["form"])
        limits = Limits(
            int(tags["most_steps"]),
            int(tags["most_tokens"]) if "most_tokens" in tags else None,
            float(tags["most_seconds"]) if "most_seconds" in tags else None,
        )
        return cls(tags["world"], int(tags["world_seed"]), form, tags.get("user", ""), limits)


def is_episode(prompt: Prompt) -> bool:
    """Tell whether a prompt begins an episode in a world."""
    return "world" in prompt.tags


class Play:
    """Plays one episode.

    Args:
        prompt: The prompt that begins the episode.
        draw: Number of the draw.
        stored_steps: The steps played so far. They are played again, and the world has to say the same.

    Raises:
        IntegrityError: The world says something else: another version of it wrote the steps.
    """

    def __init__(self, prompt: Prompt, draw: int, stored_steps: Sequence[EpisodeStep] = ()) -> None:
        self.prompt, self.draw, self.setting = prompt, draw, Setting.of(prompt)
        self.episode = Episode(
            open_world(self.setting.world), self.setting.seed, self.setting.form, plays_user=bool(self.setting.user)
        )
        if self.episode.first != prompt.text:
            raise IntegrityError(
                f"prompt {prompt.id}: the world {self.setting.world} begins otherwise now: {self.episode.first!r:.200}"
            )
        self.steps: list[EpisodeStep] = []
        for step in stored_steps:
            messages = self._act(step.answer)
            if messages is None and step.heard:
                messages = self.episode.hear(step.heard[0].content)
            if messages != step.heard:
                raise IntegrityError(
                    f"prompt {prompt.id}, step {step.answer.turn}: stored is {step.heard!r:.200}, "
                    f"the world says {messages!r:.200}. It was changed since; ask into another directory"
                )
            self.steps.append(step)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages after the first observation."""
        return tuple(message for step in self.steps for message in (_as_message(step.answer), *(step.heard or ())))

    @property
    def ended(self) -> str | None:
        """Reason why the episode is over; None while it goes on."""
        if self.episode.done:
            return DONE
        if self.episode.waiting is not None:
            return None
        tokens = sum(step.answer.usage.completion_tokens or 0 for step in self.steps)
        seconds = sum(step.answer.latency_s or 0.0 for step in self.steps)
        return self.setting.limits.reached(len(self.steps), tokens, seconds)

    def request(self, sampling: Sampling) -> Request:
        """Return the request for the model's next answer."""
        number = len(self.steps)
        seed = derive_seed(sampling.seed, self.prompt.id, number, self.draw)
        messages = (*self.prompt.messages(), *self.messages)
        return Request(self.prompt.id, number, self.draw, messages, seed, tools=self.prompt.tools)

    def take(self, answer: Response) -> EpisodeStep:
        """Let the world act on the model's answer, add both as a step, and return the step."""
        self.steps.append(EpisodeStep(answer, self._act(answer)))
        return self.steps[-1]

    def _act(self, answer: Response) -> tuple[Message, ...] | None:
        messages = self.episode.take(_as_message(answer))
        return None if self.episode.waiting is not None else messages

    def user_request(self, sampling: Sampling) -> Request:
        """Return the request for the user's reply: the conversation so far, with the roles exchanged."""
        number = len(self.steps) - 1
        # What was said first stands in the brief: many templates insist on beginning with the user.
        talk = [
            Message("user" if message.role == "assistant" else "assistant", message.content)
            for message in self.messages
            if message.role in {"user", "assistant"} and message.content.strip()
        ]
        seed = derive_seed(sampling.seed, "user", self.prompt.id, number, self.draw)
        brief = Message("system", self.episode.world.brief())
        return Request(self.prompt.id, number, self.draw, (brief, *talk), seed)

    def hear(self, reply: Response) -> EpisodeStep:
        """Let the world hear the user's reply, and return the last step, now with what the user said."""
        self.steps[-1] = EpisodeStep(self.steps[-1].answer, self.episode.hear(reply.text.strip() or STOP))
        return self.steps[-1]

    def response(self, stop_reason: str) -> Response:
        """Return the whole episode as one Response."""
        answers = [step.answer for step in self.steps]
        last = answers[-1]
        return Response(
            self.prompt.id,
            0,
            self.draw,
            last.text,
            "ok" if stop_reason == DONE else "truncated",
            stop_reason=stop_reason,
            usage=Usage(
                *(_total(getattr(answer.usage, name) for answer in answers) for name in Usage.__struct_fields__)
            ),
            latency_s=_total(answer.latency_s for answer in answers),
            seed=derive_seed(self.setting.seed),
            served_model=last.served_model,
            provider=last.provider,
            steps=self.messages,
        )

    def go_on(self, answer: Response, log: StepLog | None) -> Response | None:
        """Take an answer of the model, or of the model that plays the user.

        Returns the whole episode if the answer ends it, the failure if the call failed, else None.
        """
        if answer.status == "error":
            return self.failure(answer)
        step = self.take(answer) if self.episode.waiting is None else self.hear(answer)
        if log is not None:
            log.append_step(step)
        return self.response(self.ended) if self.ended else None

    def failure(self, failed: Response) -> Response:
        """Return the Response to an episode in which a call failed.

        If a further call may succeed, it is an error, and the episode resumes from there when asked for again. If not,
        the episode ends with the steps it has.
        """
        if failed.failure == "final" and self.steps:
            return self.response(f"no further answer: {failed.error}")
        error = f"step {failed.turn}: {failed.error}"
        return msgspec.structs.replace(failed, turn=0, error=error, seed=derive_seed(self.setting.seed))


Ask = Callable[[Model, Sequence[Request], Sampling], AsyncGenerator[Response, None]]


async def play(
    plays: Sequence[Play], model: Model, sampling: Sampling, *, ask: Ask, log: StepLog | None, user: Model | None
) -> AsyncGenerator[Response, None]:
    """Lead all episodes to their end, one step of each at a time, and yield each as one Response.

    Args:
        plays: The episodes, new or partly played.
        model: The model that acts.
        sampling: How answers are drawn.
        ask: Asks a model and holds it to its contract.
        log: Where each step is kept as it comes.
        user: The model that plays the users; None: scripts play them.

    Raises:
        UsageError: A prompt names a model as its user, and `user` is not that model.
    """
    user_name = "" if user is None else user.name
    for play in plays:
        if play.setting.user and play.setting.user != user_name:
            raise UsageError(
                f"prompt {play.prompt.id}: {play.setting.user} plays its user, "
                f"and {user_name or 'no model'} is given (--user)"
            )
    for play in plays:  # killed between the last step and the end
        if play.ended:
            yield play.response(play.ended)
    going = {(play.prompt.id, play.draw): play for play in plays if not play.ended}
    short = msgspec.structs.replace(sampling, max_new_tokens=USER_TOKENS)
    while going:
        acting = [play.request(sampling) for play in going.values() if play.episode.waiting is None]
        talking = [play.user_request(sampling) for play in going.values() if play.episode.waiting is not None]
        for who, requests, how in ((model, acting, sampling), (user, talking, short)):
            if who is None or not requests:
                continue
            async with aclosing(ask(who, requests, how)) as answers:
                async for answer in answers:
                    play = going[answer.prompt_id, answer.draw]
                    over = play.go_on(answer, log)
                    if over is not None:
                        del going[answer.prompt_id, answer.draw]
                        yield over


def _as_message(answer: Response) -> Message:
    return Message("assistant", answer.text, answer.calls or ())


def _total(values: Any) -> Any:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None
