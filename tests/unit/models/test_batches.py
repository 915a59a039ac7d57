"""Greedy answers in fp32 do not depend on how many are decoded together: what studies and evaluations rest on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adhere.models.base import Request
from adhere.models.local.transformers import TransformersModel, load_weights
from adhere.schema import Message, Sampling

WORDS = "the quick brown fox jumps over a lazy dog and writes two sentences about the sea".split()


@pytest.mark.parametrize("family", ["llama", "qwen"])
def test_answers_at_batches_of_1_7_and_64_are_equal(family: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(f"tiny_{family}_dir")
    model, tokenizer = load_weights(folder)
    asked = [
        Request(f"p{at}", 0, 0, (Message("user", " ".join(WORDS[: 1 + at % 16] * (1 + at % 3))),), at)
        for at in range(70)
    ]
    found = []
    for rows, requests in ((64, asked), (7, asked), (1, asked[:16])):  # one at a time takes as many steps as all
        one = TransformersModel(model, tokenizer, name="tiny", rows=rows)
        assert one.engine.settings["batch_invariant"] == "yes"

        async def answers(one: TransformersModel = one, requests: list[Request] = requests) -> dict[str, str]:
            return {answer.prompt_id: answer.text async for answer in one.respond(requests, Sampling(12))}

        found.append(asyncio.run(answers()))
    assert found[0] == found[1]
    assert found[2].items() <= found[0].items()
    assert len(set(found[0].values())) > 10, "they are different answers"
