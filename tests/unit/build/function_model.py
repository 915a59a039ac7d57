"""A start model that is a function: it answers everyday sentences, some of which keep the rules.

In a file of its own because a killed process runs it too.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence

from adhere.models.base import Request
from adhere.schema import EngineInfo, Response, Sampling, Usage

SENTENCES = (
    "A good plan makes the whole day easier.",
    "Keep a glass of water near you, and drink it slowly.",
    "Most people like it when someone listens to them.",
    "The light in the morning is soft and golden!",
    "Ask a friend to help, because two people carry more.",
    "You can try again tomorrow if it does not work today.",
    "Small steps lead to a big change over time.",
    "It smells of fresh bread, warm milk and honey.",
)


def everyday(request: Request) -> Response:
    """One to three sentences, sometimes in small letters or cut, by the request's seed alone."""
    rng = random.Random(request.seed)
    text = " ".join(rng.sample(SENTENCES, rng.randint(1, 3)))
    if rng.random() < 0.2:
        text = text.lower()
    cut = rng.random() < 0.2
    if cut:
        text = text[: -rng.randint(5, 12)]
    return answer(request, text, "truncated" if cut else "ok")


def answer(request: Request, text: str, status: str = "ok", error: str | None = None) -> Response:
    return Response(
        request.prompt_id,
        request.turn,
        request.draw,
        text=text,
        status=status,  # type: ignore[arg-type]
        seed=request.seed,
        usage=Usage(completion_tokens=len(text.split())),
        error=error,
    )


class FunctionModel:
    """A Model whose answers are a function of the request; it counts what it was asked."""

    name = "function/everyday"
    engine = EngineInfo(name="function", version="1", precision="none")

    def __init__(self, function: Callable[[Request], Response] = everyday) -> None:
        self.function, self.asked = function, 0

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        for request in requests:
            self.asked += 1
            yield self.function(request)

    def close(self) -> None:
        pass
