"""A start model that is a function: it answers everyday sentences, some of which keep the rules.

In a file of its own because a killed process runs it too.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence

from adhere.models.base import Request
from adhere.schema import EngineInfo, Response, Sampling, Usage

NOUNS = "plan glass friend morning bread honey road river window garden letter train coat stone field lamp".split()
VERBS = "carries follows opens mends lights crosses warms finds paints lifts joins holds turns shares builds".split()
ADJECTIVES = "soft golden quiet early steady narrow bright cold heavy gentle busy distant hollow simple warm".split()


def everyday(request: Request) -> Response:
    """One to three sentences of its own, sometimes in small letters or cut, by the request's seed alone."""
    rng = random.Random(request.seed)
    text = " ".join(sentence(rng) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.2:
        text = text.lower()
    cut = rng.random() < 0.2
    if cut:
        text = text[: -rng.randint(5, 12)]
    return answer(request, text, "truncated" if cut else "ok")


def sentence(rng: random.Random) -> str:
    """Return a sentence that hardly any other draw says, so that it is no answer to every prompt."""
    nouns, verbs, adjectives = rng.sample(NOUNS, 3), rng.sample(VERBS, 2), rng.sample(ADJECTIVES, 3)
    joint = rng.choice(["and", "while it", "so it", "because it"])
    first = f"{rng.choice(['A', 'Your', 'That'])} {adjectives[0]} {nouns[0]} {verbs[0]} some {adjectives[1]} {nouns[1]}"
    return f"{first}{rng.choice([',', ''])} {joint} {verbs[1]} {adjectives[2]} {nouns[2]}s{rng.choice('..!')}"


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
