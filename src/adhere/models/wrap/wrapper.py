"""A Model that asks another Model, in rounds, and lets a method choose or make the answer.

A method is a generator: it yields calls, gets their Responses, and returns the Response that is its answer. All
requests go through a round together, so that an engine with batches answers them as one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from adhere.errors import UsageError
from adhere.models.base import Model, Request
from adhere.schema import EngineInfo, Message, Response, Sampling, Usage

Checker = Callable[[Request, str], Sequence[str]]
"""Function that returns the reasons why an answer breaks its constraints, a sentence each; empty: it breaks none.

It comes from whoever scores the answer, so a method that uses it is an oracle.
"""
DRAWN_AT = 0.8
"""Temperature of calls that must differ, if the Run itself is greedy."""

T = TypeVar("T", int, float)


class Call(NamedTuple):
    """One question to the inner model: the conversation, and whether its answer is one of several that must differ."""

    messages: tuple[Message, ...]
    is_drawn: bool = False


Method = Callable[[Request, Checker | None], Generator[list[Call], list[Response], Response]]


class WrappedModel:
    """A Model that applies a method to another Model.

    Args:
        inner: The Model that is asked.
        label: The method in the name, e.g. `best-of-8`.
        method: The method, a function of wrapped requests (see `methods`).
        is_oracle: Whether it uses the checker that scores the answers; such a Run is not ranked with others.
    """

    def __init__(self, inner: Model, label: str, method: Method, *, is_oracle: bool = False) -> None:
        self.inner, self.method, self.is_oracle = inner, method, is_oracle
        self.name = f"{label}({inner.name})"
        settings = {**inner.engine.settings, "method": label, "oracle": is_oracle}
        if settings.get("batch_invariant", "yes") != "yes":  # its own way of asking decides what shares a batch
            settings["batch_invariant"] = "no"
        self.engine: EngineInfo = msgspec.structs.replace(inner.engine, settings=settings)
        self._checker: Checker | None = None

    def use(self, checker: Checker) -> None:
        """Give an oracle the checker that scores its answers."""
        self._checker = checker

    def close(self) -> None:
        self.inner.close()

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Apply the method to all requests, round by round, and yield a Response for each.

        Raises:
            UsageError: The method needs a checker and has none.
        """
        if self.is_oracle and self._checker is None:
            raise UsageError(
                f"{self.name} chooses by the verifiers of a suite, so it can only be measured (adhere eval)"
            )
        return self._rounds(requests, sampling)

    async def _rounds(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        working = {
            number: _Work(request, self.method(request, self._checker)) for number, request in enumerate(requests)
        }
        for work in working.values():
            work.begin()
        while working:
            calls = [(number, at, call) for number, work in working.items() for at, call in enumerate(work.calls)]
            for is_drawn in (False, True):
                batch = {
                    f"{number}.{at}": Request(
                        f"{number}.{at}",
                        0,
                        0,
                        call.messages,
                        working[number].seed(at),
                        tools=working[number].request.tools,
                    )
                    for number, at, call in calls
                    if call.is_drawn == is_drawn
                }
                # Greedy answers to one conversation would be the same, so calls that must differ are drawn.
                temperature = DRAWN_AT if is_drawn and sampling.temperature == 0 else sampling.temperature
                if batch:
                    own = msgspec.structs.replace(sampling, temperature=temperature)
                    async for response in self.inner.respond(list(batch.values()), own):
                        whose, _, place = response.prompt_id.partition(".")
                        working[int(whose)].got[int(place)] = response
            for number, work in list(working.items()):
                done = work.advance()
                if done is not None:
                    del working[number]
                    yield done


class _Work:
    """One request in progress: its generator, its open calls, and the Responses of all its calls."""

    def __init__(self, request: Request, generator: Generator[list[Call], list[Response], Response]) -> None:
        self.request, self.generator = request, generator
        self.calls: list[Call] = []
        self.got: dict[int, Response] = {}
        self.spent: list[Response] = []
        self._round = 0

    def begin(self) -> None:
        """Run the generator up to its first calls."""
        self.calls = next(self.generator)

    def seed(self, at: int) -> int:
        """Return the seed of one call.

        The first call has the request's own seed, so that a single call equals what the inner model does alone.
        """
        return (self.request.seed + 1_000_003 * self._round + 7919 * at) % (1 << 63)

    def advance(self) -> Response | None:
        """Give the generator its answers; return the final Response, or None if there are more calls."""
        answers = [self.got.get(at) for at in range(len(self.calls))]
        responses = [answer for answer in answers if answer is not None]
        self.spent += responses
        failed = next((answer for answer in responses if answer.status == "error"), None)
        if failed is not None or len(responses) < len(answers):
            why = failed.error if failed is not None else "the inner model ended without answering"
            return self._final(Response("", 0, 0, text="", status="error", error=f"a call failed: {why}"))
        self._round, self.got = self._round + 1, {}
        try:
            self.calls = self.generator.send(responses)
        except StopIteration as end:
            chosen: Response = end.value
            return self._final(chosen)
        return None

    def _final(self, chosen: Response) -> Response:
        """Return the chosen answer under the request's key, with the cost of all calls."""
        prompt_id, turn, draw = self.request.key
        return msgspec.structs.replace(
            chosen,
            prompt_id=prompt_id,
            turn=turn,
            draw=draw,
            seed=self.request.seed,
            usage=Usage(
                *(total([getattr(response.usage, name) for response in self.spent]) for name in Usage.__struct_fields__)
            ),
            latency_s=total([response.latency_s for response in self.spent]),
            first_token_s=None,
        )


def total(values: Sequence[T | None]) -> T | None:
    """Add up the values; None if any is None, since a sum of the others would be too small."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers and len(numbers) == len(values) else None
