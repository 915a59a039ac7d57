"""A Model that asks another Model, in rounds, and answers with what a method makes of the answers.

A method is a generator: it yields the calls that it wants made, gets their Responses, and returns the one that is its
answer. All requests go through a round together, so that an engine with batches answers them as one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from adhere.errors import UsageError
from adhere.models.base import Model, Request
from adhere.schema import EngineInfo, Message, Response, Sampling, Usage

Checker = Callable[[Request, str], Sequence[str]]
"""Why an answer breaks what was asked, a sentence each; none: it keeps everything.

From who will score it, so an oracle.
"""
DRAWN_AT = 0.8
"""Temperature of calls that must differ, where the Run itself is greedy."""

T = TypeVar("T", int, float)


class Call(NamedTuple):
    """One question to the inner model: the conversation, and whether its answer is one of several that must differ."""

    messages: tuple[Message, ...]
    is_drawn: bool = False


Method = Callable[[Request, Checker | None], Generator[list[Call], list[Response], Response]]


class WrappedModel:
    """A Model made of a Model by a method.

    Args:
        inner: Who is asked.
        label: How the method is called in the name, e.g. `best-of-8`.
        method: What it does.
        is_oracle: Whether it uses the checker that scores the answers; a Run of it is ranked with no other.
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
        """Give an oracle the checker that scores its answers; whoever measures it does this."""
        self._checker = checker

    def close(self) -> None:
        """Free what the inner model holds."""
        self.inner.close()

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """See Model.

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
                if batch:
                    async for response in self.inner.respond(
                        list(batch.values()), _as_drawn(sampling, is_drawn=is_drawn)
                    ):
                        whose, _, place = response.prompt_id.partition(".")
                        working[int(whose)].got[int(place)] = response
            for number, work in list(working.items()):
                done = work.advance()
                if done is not None:
                    del working[number]
                    yield done


def _as_drawn(sampling: Sampling, *, is_drawn: bool) -> Sampling:
    if is_drawn and sampling.temperature == 0:
        return msgspec.structs.replace(sampling, temperature=DRAWN_AT)
    return sampling


class _Work:
    """One request on its way: the generator, its open calls and what all calls cost."""

    def __init__(self, request: Request, generator: Generator[list[Call], list[Response], Response]) -> None:
        self.request, self.generator = request, generator
        self.calls: list[Call] = []
        self.got: dict[int, Response] = {}
        self.spent: list[Response] = []
        self._round = 0

    def begin(self) -> None:
        """To the first calls."""
        self.calls = next(self.generator)

    def seed(self, at: int) -> int:
        """The seed of one call.

        The first of all has the request's own, so that one call is what the inner model does alone.
        """
        return (self.request.seed + 1_000_003 * self._round + 7919 * at) % (1 << 63)

    def advance(self) -> Response | None:
        """Give the generator its answers; the final Response once there is one."""
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
        """The chosen answer under the request's key, with the cost of every call."""
        prompt_id, turn, draw = self.request.key
        return msgspec.structs.replace(
            chosen,
            prompt_id=prompt_id,
            turn=turn,
            draw=draw,
            seed=self.request.seed,
            usage=_sum([response.usage for response in self.spent]),
            latency_s=_total([response.latency_s for response in self.spent]),
            first_token_s=None,
        )


def _sum(usages: Sequence[Usage]) -> Usage:
    return Usage(
        prompt_tokens=_total([usage.prompt_tokens for usage in usages]),
        completion_tokens=_total([usage.completion_tokens for usage in usages]),
        reasoning_tokens=_total([usage.reasoning_tokens for usage in usages]),
        cost_usd=_total([usage.cost_usd for usage in usages]),
    )


def _total(values: Sequence[T | None]) -> T | None:
    """The sum; None where any call did not report it, since a sum of the others would be too small."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers and len(numbers) == len(values) else None
