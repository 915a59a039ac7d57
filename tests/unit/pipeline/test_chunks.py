"""What shares a batch is fixed by the suite: not by the limit, an interruption, or what is stored already."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from adhere.models.base import Request
from adhere.pipeline.chunks import Chunks
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.respond import respond
from adhere.schema import EngineInfo, Prompt, Response, Sampling, Turn
from adhere.suites.base import Suite


class Neighbourly:
    """Answers with the ids of all that share its batch, in their order: what a real engine's rounding depends on."""

    def __init__(self, *, dies_after: int | None = None, chunk: int | None = 4) -> None:
        self.name, self.engine, self.chunk = "neighbourly", EngineInfo("test", "1", "none"), chunk
        self.left = dies_after
        self.batches: list[list[str]] = []

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        said = " ".join(f"{one.prompt_id}.{one.turn}.{one.draw}" for one in requests)
        self.batches.append([one.prompt_id for one in requests])
        for one in reversed(requests):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left = None if self.left is None else self.left - 1
            yield Response(one.prompt_id, one.turn, one.draw, said + str(len(one.messages)), "ok", seed=one.seed)

    def close(self) -> None:
        """Nothing to free."""


def suite_of(count: int, *, turns: int = 1) -> Suite:
    prompts = tuple(
        Prompt(
            f"p{at}",
            tuple(Turn(f"Say {at}.{turn}") for turn in range(turns if at % 3 else 1)),
            tags={"slice": f"s{at % 2}"},
        )
        for at in range(count)
    )
    return Suite("test", "1", prompts, slices=("s0", "s1"))


def texts(
    suite: Suite, folder: Path, *, limit: int | None = None, draws: int = 1, model: Neighbourly | None = None
) -> dict[tuple[str, int, int], str]:
    run = evaluate_sync(model or Neighbourly(), suite, folder, limit=limit, draws=draws)
    return {one.key: one.text for one in run.responses()}


@pytest.mark.parametrize("turns", [1, 3])
def test_a_limit_takes_answers_of_the_whole(tmp_path: Path, turns: int) -> None:
    suite = suite_of(21, turns=turns)
    whole = texts(suite, tmp_path / "whole", draws=2)
    for limit in (1, 6, 10, 11, 20):
        found = texts(suite, tmp_path / str(limit), limit=limit, draws=2)
        assert found.items() <= whole.items()
        assert len({key[0] for key in found}) == limit
    assert texts(suite, tmp_path / "one", limit=10).items() <= whole.items(), "a draw does not depend on the others"


@pytest.mark.parametrize("dies_after", [1, 5, 9, 14])
def test_an_interrupted_run_equals_one_that_was_not(tmp_path: Path, dies_after: int) -> None:
    suite = suite_of(18, turns=2)
    whole = texts(suite, tmp_path / "whole")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            texts(suite, tmp_path / "killed", model=Neighbourly(dies_after=dies_after))
    assert texts(suite, tmp_path / "killed") == whole


def test_without_chunks_nothing_more_is_asked(tmp_path: Path) -> None:
    model = Neighbourly(chunk=None)
    texts(suite_of(9), tmp_path, limit=3, model=model)
    assert [len(batch) for batch in model.batches] == [3]


def test_a_chunk_is_asked_whole_and_in_the_suites_order() -> None:
    suite = suite_of(10)
    chunks = Chunks(suite.prompts, 4)
    prompts, keys = chunks.whole([("p5", 0, 1)])
    assert list(prompts) == ["p4", "p5", "p6", "p7"]
    assert keys == [(f"p{at}", 0, 1) for at in (4, 5, 6, 7)]
    model = Neighbourly()

    async def ask() -> list[Response]:
        stream = respond(model, suite.prompts[:6], sampling=Sampling(), keys=[("p5", 0, 0)], whole=suite.prompts)
        return [one async for one in stream]

    assert [one.key for one in asyncio.run(ask())] == [("p5", 0, 0)]
    assert model.batches == [["p4", "p5", "p6", "p7"]]
