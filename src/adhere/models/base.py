"""The Model: it answers chat requests and does not know how the answers are judged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from adhere.schema import EngineInfo, Message, Response, Sampling, Tool


class Request(NamedTuple):
    """Describes one answer to be drawn: its key, the conversation so far and its own seed.

    `suite` tells apart prompts of several suites that are asked at once. `tools` are those that the model is told
    of. `schema` is the JSON Schema that the answer should match, as text, for servers that are told to enforce it.
    `most_tokens` is the prompt's own limit of the answer, if it has one; the caller of the model puts it into the
    sampling.
    """

    prompt_id: str
    turn: int
    draw: int
    messages: tuple[Message, ...]
    seed: int
    suite: int = 0
    tools: tuple[Tool, ...] = ()
    most_tokens: int | None = None
    schema: str = ""

    @property
    def key(self) -> tuple[str, int, int]:
        """(prompt_id, turn, draw), the key of the Response, too."""
        return (self.prompt_id, self.turn, self.draw)


@runtime_checkable
class ResumableModel(Protocol):
    """A Model that keeps its submitted requests in a folder, to resume after an interruption."""

    folder: Path


@runtime_checkable
class Model(Protocol):
    """Answers requests. A failed call becomes a Response with status `error`; one request never raises."""

    name: str
    engine: EngineInfo

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Yield one Response for each request, in any order, each as soon as it is known."""

    def close(self) -> None:
        """Free what the model holds; it answers nothing afterwards."""
