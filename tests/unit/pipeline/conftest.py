"""A model made of a function, two broken constraints, and prompts for pipeline tests."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import ClassVar, Self

import pytest

from adhere.constraints import Constraint, Finding, registry
from adhere.models.base import Request
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn
from adhere.suites.base import Suite

NO_COMMAS = ConstraintRef("punctuation:no_commas")
TWO_LINES = ConstraintRef("structure:lines", {"count": 2})
FIVE_WORDS = ConstraintRef("length:at_least", {"least": 5})


class FunctionModel:
    """Answers each request by `answer(request)`; answers come in reverse order, which no caller may rely on."""

    def __init__(
        self, answer: Callable[[Request], str | Response], *, name: str = "fake/one", precision: str = "fp32"
    ) -> None:
        self.answer, self.name = answer, name
        self.engine = EngineInfo("function", "1", precision)
        self.asked: list[Request] = []
        self.closed_streams = 0

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        try:
            for request in reversed(requests):
                self.asked.append(request)
                answer = self.answer(request)
                if isinstance(answer, str):
                    key = (request.prompt_id, request.turn, request.draw)
                    answer = Response(*key, answer, "ok", seed=request.seed)
                yield answer
        finally:
            self.closed_streams += 1

    def close(self) -> None:
        pass


@dataclasses.dataclass(frozen=True)
class _Crashing(Constraint):
    """A kind whose verifier raises on texts that hold the word "crash"."""

    id: ClassVar[str] = "test:crashing"
    phrasings: ClassVar[tuple[str, ...]] = ("Do not crash.", "No crash.")
    passing: ClassVar = ({}, "fine")
    failing: ClassVar = ({}, "bad")
    version: ClassVar[int] = 7

    def check(self, text: str) -> Finding:
        if "crash" in text:
            raise ZeroDivisionError("crashed on purpose")
        return Finding("fail" if "bad" in text else "pass", "looked")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls()

    def witness(self) -> str:
        return "fine"

    def counter_witness(self) -> str:
        return "bad"


CRASHING = ConstraintRef("test:crashing")


@pytest.fixture(autouse=True)
def _crashing_kind() -> Iterator[None]:
    """Known to the registry during a test of this room only."""
    registry.add(_Crashing.id, _Crashing, owner=__name__)
    yield
    del registry._things[_Crashing.id]
    del registry._owners[_Crashing.id]


def prompt(name: str, *turns: Sequence[ConstraintRef], slice_name: str = "plain", system: str | None = None) -> Prompt:
    made = tuple(Turn(f"Turn {number} of {name}.", tuple(refs)) for number, refs in enumerate(turns or [[NO_COMMAS]]))
    return Prompt(name, made, system=system, tags={"slice": slice_name})


def suite(prompts: Sequence[Prompt], cut_answers: str = "fail") -> Suite:
    return Suite("tiny", "1", tuple(prompts), slices=("plain", "other"), cut_answers=cut_answers)


def answer(request: Request, text: str, status: str = "ok") -> Response:
    return Response(request.prompt_id, request.turn, request.draw, text, status)


class House:
    """Everything above, for tests: `house.prompt("p")`."""

    FunctionModel = FunctionModel
    Crashing = _Crashing
    NO_COMMAS, TWO_LINES, FIVE_WORDS, CRASHING = NO_COMMAS, TWO_LINES, FIVE_WORDS, CRASHING
    prompt = staticmethod(prompt)
    suite = staticmethod(suite)
    answer = staticmethod(answer)


@pytest.fixture
def house() -> type[House]:
    return House
