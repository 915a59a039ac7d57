"""The public fake: a Model whose answers are written beforehand, with faults on demand. For tests and examples.

scripted/echo            answers with the last user turn
scripted/fixed:TEXT      answers TEXT
scripted/file:PATH       answers stored in JSON lines with `key` (the prompt's id) and `response`
scripted/solver          acts in worlds as their own solvers do
scripted/breaker:0.3     acts in world:repo as its solver does, and breaks each rule with that probability
ScriptedModel(function)  anything: the function gets a Request and returns a text or a Response
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from adhere.errors import SpecError, UnknownName, UsageError
from adhere.models.base import Request
from adhere.schema import EngineInfo, Message, Response, Sampling, Usage
from adhere.worlds import Action, open_world
from adhere.worlds.replay import Form, as_answer

Script = Callable[[Request], str | Message | Response]


class ScriptedModel:
    """A Model that answers by a function.

    Args:
        script: Gets a Request; returns the text, a Message with calls, or a whole Response (with the request's
            key). An exception becomes a Response with status `error`, like a failed call.
        name: The model's name in a Run.
        latency_s: How long each answer takes.
    """

    def __init__(self, script: Script, *, name: str = "scripted/function", latency_s: float = 0.0) -> None:
        self.script, self.name, self.latency_s = script, name, latency_s
        self.engine = EngineInfo(name="scripted", version="1", precision="none")
        self.asked: list[Request] = []
        self.closed = False

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        return self._stream(requests, sampling)

    async def _stream(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        if self.closed:
            raise RuntimeError(f"{self.name} is closed")
        for request in requests:
            self.asked.append(request)
            await asyncio.sleep(self.latency_s)
            yield self._answer(request, sampling)

    def _answer(self, request: Request, sampling: Sampling) -> Response:
        try:
            answer = self.script(request)
        except Exception as error:  # noqa: BLE001 - one failed call is a row, as it is for a real model
            return Response(
                request.prompt_id,
                request.turn,
                request.draw,
                text="",
                status="error",
                error=repr(error),
                seed=request.seed,
            )
        if isinstance(answer, Response):
            return answer
        answer_message = Message("assistant", answer) if isinstance(answer, str) else answer
        tokens = answer_message.content.split()
        is_cut = len(tokens) > sampling.max_new_tokens
        text = " ".join(tokens[: sampling.max_new_tokens]) if is_cut else answer_message.content
        return Response(
            request.prompt_id,
            request.turn,
            request.draw,
            text=text,
            status="truncated" if is_cut else "ok" if text.strip() or answer_message.calls else "empty",
            stop_reason="length" if is_cut else "stop",
            usage=Usage(
                prompt_tokens=sum(message.content.count(" ") + 1 for message in request.messages),
                completion_tokens=min(len(tokens), sampling.max_new_tokens),
            ),
            latency_s=self.latency_s,
            seed=request.seed,
            served_model=self.name,
            calls=answer_message.calls or msgspec.UNSET,
        )

    def close(self) -> None:
        self.closed = True


def open_scripted(name: str) -> ScriptedModel:
    """Open the fake that a name on the command line stands for.

    Raises:
        UnknownName: There is no such script.
        SpecError: A file of answers cannot be read; the message names file and line.
    """
    script, _, argument = name.removeprefix("scripted/").partition(":")
    match script:
        case "echo":
            return ScriptedModel(lambda request: request.messages[-1].content, name=name)
        case "fixed":
            return ScriptedModel(lambda _: argument, name=name)
        case "file":
            answers = _answers(Path(argument))
            return ScriptedModel(lambda request: answers[request.prompt_id], name=name)
        case "solver":
            return ScriptedModel(functools.partial(_act, rate=None), name=name)
        case "breaker":
            return ScriptedModel(functools.partial(_act, rate=_rate(argument, name)), name=name)
    raise UnknownName(
        f"Unknown script {script!r} in model {name!r}. Scripts: echo, fixed:TEXT, file:PATH, solver, breaker:RATE"
    )


@functools.lru_cache(maxsize=4096)
def _solution(world: str, seed: int, rate: float | None) -> tuple[Sequence[Action], bool]:
    opened_world = open_world(world)
    opened_world.reset(seed)
    if rate is None:
        return opened_world.solver(), bool(opened_world.tools)
    breaker = getattr(opened_world, "breaker", None)
    if breaker is None:
        raise UsageError(f"world {world} has no breaker; world:repo has one")
    return breaker(rate), bool(opened_world.tools)


def _rate(text: str, name: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise UsageError(f"model {name!r}: {text!r} must be a share from 0 to 1, as scripted/breaker:0.3")
    return rate


def _act(request: Request, *, rate: float | None) -> Message:
    """Return the next action of the world's own solver, as a model would answer it.

    With a `rate` the solver breaks each rule with that probability.
    """
    kind, _, rest = request.prompt_id.partition(":")
    world, _, seed = rest.rpartition(":")
    if kind != "world":
        raise UsageError(f"scripted/solver solves worlds (--suite world:shop), and {request.prompt_id!r} is in none")
    actions, has_tools = _solution(world, int(seed), rate)
    done = sum(message.role == "assistant" for message in request.messages)
    form: Form = "tools" if request.tools else "text"
    action = actions[done] if done < len(actions) else "I am finished."  # another user than its own may talk on
    return as_answer(action, form, done, has_tools=has_tools)


def _answers(path: Path) -> Mapping[str, str]:
    answers: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            answers[str(row["key"])] = str(row["response"])
        except (ValueError, TypeError, KeyError) as error:
            raise SpecError(
                f"{path}:{number}: wanted an object with `key` and `response`, got {line[:80]!r}"
            ) from error
    return answers
