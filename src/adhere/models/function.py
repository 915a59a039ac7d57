"""A plain Python function as a Model: `adhere.evaluate(function, suite, concurrency=8)`.

A function whose first parameter is called `messages` is given the conversation, `[{"role": …, "content": …}]`; any
other the text of the user's one message. It may be sync (called in threads) or async, and also takes `seed`,
`temperature`, `top_p` and `max_new_tokens` where it has parameters of these names.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import platform
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from adhere.errors import UsageError
from adhere.models.answers import failure_of
from adhere.models.base import Request
from adhere.schema import EngineInfo, Json, Response, Sampling

_OPTIONS = ("seed", "temperature", "top_p", "max_new_tokens")


class FunctionModel:
    """A Model that calls a function.

    Args:
        function: The function, as this module describes it. An exception counts as a failed call for that prompt.
        name: The Model's name [`python/` and the function's own name].
        concurrency: Most calls at once, at least 1.

    Raises:
        UsageError: The function cannot be called with one argument, or `concurrency` is below 1.
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None, concurrency: int = 1) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency is at least 1, got {concurrency}")
        self._function, self._concurrency = function, concurrency
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):  # some built-in functions have none
            parameters = inspect.Signature().parameters
        names = list(parameters)
        self.takes_messages = bool(names) and names[0] == "messages"
        self._options = [option for option in _OPTIONS if option in names[1:]]
        mandatory = [
            parameter.name
            for parameter in list(parameters.values())[1:]
            if parameter.default is parameter.empty
            and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        ]
        if lacking := [argument for argument in mandatory if argument not in _OPTIONS]:
            raise UsageError(
                f"{_name_of(function)} also needs {', '.join(lacking)}. It is called with one argument, the prompt's "
                f"text (or `messages`), and with {', '.join(_OPTIONS)} where it has them; bind the others with "
                "functools.partial"
            )
        self.name = name or f"python/{_name_of(function)}"
        settings: dict[str, Json] = {"function": _name_of(function), "code_sha256": _code_hash(function)}
        self.engine = EngineInfo("python", platform.python_version(), "none", None, settings)

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Yield one Response for each request, as each call ends.

        Raises:
            UsageError: A prompt is a conversation, and the function takes one text.
        """
        for request in requests:
            if not self.takes_messages and [message.role for message in request.messages] != ["user"]:
                raise UsageError(
                    f"{self.name}: prompt {request.prompt_id!r} is a conversation (or has a system message). Call the "
                    "function's first parameter `messages`, and it is given all of them"
                )
        room = asyncio.Semaphore(self._concurrency)
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="adhere-function") as threads:

            async def ask(request: Request) -> Response:
                async with room:
                    return await self._answer(request, sampling, threads)

            tasks = [asyncio.create_task(ask(request)) for request in requests]
            try:
                for task in asyncio.as_completed(tasks):
                    yield await task
            finally:
                for pending in tasks:
                    pending.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Do nothing: nothing is held."""

    async def _answer(self, request: Request, sampling: Sampling, threads: ThreadPoolExecutor) -> Response:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        values = {
            "seed": request.seed,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_new_tokens": sampling.max_new_tokens,
        }
        argument = messages if self.takes_messages else messages[0]["content"]
        call = partial(self._function, argument, **{name: values[name] for name in self._options})
        start = time.monotonic()
        try:
            if inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
                getattr(self._function, "__call__", None)  # noqa: B004 - an object may have an async one
            ):
                answer = await call()
            else:
                answer = await asyncio.get_running_loop().run_in_executor(threads, call)
                answer = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # noqa: BLE001 - the boundary of one model call: it is a failed call of this prompt
            return failure_of(request, RuntimeError(f"{type(error).__name__}: {error}"), model=self.name)
        if not isinstance(answer, str):
            reason = f"{self.name} returned {type(answer).__name__}, wanted a text"
            return failure_of(request, TypeError(reason), model=self.name)
        return Response(
            request.prompt_id, request.turn, request.draw, text=answer, status="ok" if answer.strip() else "empty",
            latency_s=time.monotonic() - start, seed=request.seed, served_model=self.name,
        )  # fmt: skip


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__).replace("<locals>.", "")


def _code_hash(function: Any) -> str | None:
    """Return the hash of a function's source; None if it has none, as a built-in.

    Bound arguments of a partial count by how they are shown.
    """
    bound = ""
    while isinstance(function, partial):
        bound += repr((function.args, sorted(function.keywords.items())))
        function = function.func
    try:
        source = inspect.getsource(function if hasattr(function, "__code__") else type(function))
    except (OSError, TypeError):
        return None
    return hashlib.sha256((source + bound).encode()).hexdigest()
