"""Small prompts, specs and answers for store tests."""

from __future__ import annotations

import pytest

from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Verdict
from adhere.store.run import RunSpec


class Pieces:
    """Makers of the rows that a Run holds."""

    @staticmethod
    def prompts(n: int = 3) -> list[Prompt]:
        ref = ConstraintRef("length:at_least", {"least": 3})
        return [Prompt(f"p{number}", (Turn(f"Say {number}.", (ref,)),)) for number in range(n)]

    @staticmethod
    def spec(**changes: object) -> RunSpec:
        fields = {
            "model": "scripted/echo",
            "engine": EngineInfo("scripted", "1", "none"),
            "suite": "tiny",
            "suite_version": "1",
            "suite_sha256": "0" * 64,
            "sampling": Sampling(),
        }
        return RunSpec(**{**fields, **changes})

    @staticmethod
    def response(number: int, text: str = "one two three", status: str = "ok", draw: int = 0) -> Response:
        return Response(f"p{number}", 0, draw, text, status, error="boom" if status == "error" else None)

    @staticmethod
    def verdict(number: int, outcome: str = "pass", view: str = "strict", version: str = "1.1") -> Verdict:
        return Verdict(
            f"p{number}", 0, 0, 0, "length:at_least", view, outcome, "found 3 words", verifier_version=version
        )


@pytest.fixture
def pieces() -> type[Pieces]:
    return Pieces
