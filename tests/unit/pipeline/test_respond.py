"""Asking: one Response a key, seeds that depend on nothing else, turns in order, models held to their contract."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adhere.errors import AdhereError
from adhere.pipeline.respond import respond, settle
from adhere.schema import Message, Response, Sampling, derive_seed


def _ask(model: Any, prompts: list[Any], **options: Any) -> dict[tuple[str, int, int], Response]:
    async def collect() -> list[Response]:
        return [response async for response in respond(model, prompts, sampling=Sampling(seed=5), **options)]

    responses = asyncio.run(collect())
    by_key = {response.key: response for response in responses}
    assert len(by_key) == len(responses), "no key twice"
    return by_key


def test_every_key_is_answered_with_its_own_seed(house: Any):
    model = house.FunctionModel(lambda request: f"seed {request.seed}")
    found = _ask(model, [house.prompt("a"), house.prompt("b")], draws=2)
    assert set(found) == {("a", 0, 0), ("a", 0, 1), ("b", 0, 0), ("b", 0, 1)}
    assert found["b", 0, 1].text == f"seed {derive_seed(5, 'b', 0, 1)}"
    alone = _ask(house.FunctionModel(lambda request: f"seed {request.seed}"), [house.prompt("b")], keys=[("b", 0, 1)])
    assert alone == {("b", 0, 1): found["b", 0, 1]}, "what else is asked changes nothing"
    assert len({response.text for response in found.values()}) == 4


def test_turns_follow_each_other_with_the_conversation_so_far(house: Any):
    model = house.FunctionModel(lambda request: f"answer {request.turn}")
    prompt = house.prompt("m", [house.NO_COMMAS], [house.NO_COMMAS], [house.NO_COMMAS], system="Be brief.")
    _ask(model, [prompt, house.prompt("single")])
    last = next(request for request in model.asked if request.turn == 2)
    assert last.messages == (
        Message("system", "Be brief."),
        Message("user", "Turn 0 of m."),
        Message("assistant", "answer 0"),
        Message("user", "Turn 1 of m."),
        Message("assistant", "answer 1"),
        Message("user", "Turn 2 of m."),
    )
    assert [request.turn for request in model.asked] == [0, 0, 1, 2]


def test_a_failed_turn_fails_the_later_ones_without_asking(house: Any):
    def answer(request: Any) -> Response:
        status = "error" if request.turn == 0 else "ok"
        return Response(request.prompt_id, request.turn, request.draw, "", status, error="no connection")

    model = house.FunctionModel(answer)
    found = _ask(model, [house.prompt("m", [house.NO_COMMAS], [house.NO_COMMAS])])
    assert found["m", 1, 0].status == "error"
    assert found["m", 1, 0].error == "turn 0 has no answer: no connection"
    assert [request.turn for request in model.asked] == [0]


def test_a_later_turn_alone_needs_the_stored_answer(house: Any):
    prompt = house.prompt("m", [house.NO_COMMAS], [house.NO_COMMAS])
    model = house.FunctionModel(lambda request: "later")
    stored = {("m", 0, 0): Response("m", 0, 0, "stored", "ok")}
    found = _ask(model, [prompt], keys=[("m", 1, 0)], earlier_responses=stored)
    assert found["m", 1, 0].text == "later"
    assert Message("assistant", "stored") in model.asked[0].messages
    assert _ask(model, [prompt], keys=[("m", 1, 0)])["m", 1, 0].status == "error"


def test_a_model_that_forgets_a_request_leaves_an_error(house: Any):
    class Forgetful(house.FunctionModel):
        async def respond(self, requests, sampling):
            async for response in super().respond(requests[1:], sampling):
                yield response

    found = _ask(Forgetful(lambda request: "x"), [house.prompt("a"), house.prompt("b")])
    assert found["a", 0, 0].status == "error"
    assert "ended without answering" in found["a", 0, 0].error
    assert found["b", 0, 0].status == "ok"


def test_a_model_that_answers_what_was_not_asked_is_stopped(house: Any):
    model = house.FunctionModel(lambda request: Response("z", 0, 0, "x", "ok"))
    with pytest.raises(AdhereError, match=r"fake/one answered \('z', 0, 0\)"):
        _ask(model, [house.prompt("a")])
    twice = house.FunctionModel(lambda request: Response("a", 0, 0, "x", "ok"))
    with pytest.raises(AdhereError, match="answered already"):
        _ask(twice, [house.prompt("a"), house.prompt("b")])


def test_leaving_early_closes_the_models_stream(house: Any):
    model = house.FunctionModel(lambda request: "x")

    async def first() -> None:
        stream = respond(model, [house.prompt("a"), house.prompt("b")], sampling=Sampling())
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(first())
    assert (len(model.asked), model.closed_streams) == (1, 1)


@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        ("plain", "ok", ("plain", None, "ok")),
        (" \n", "ok", (" \n", None, "empty")),
        ("<think>so</think>\nanswer", "ok", ("answer", "so", "ok")),
        ("so</think>answer", "ok", ("answer", "so", "ok")),
        ("<think>for ever", "ok", ("", "for ever", "truncated")),
        ("<think>for ever", "truncated", ("", "for ever", "truncated")),
        ("", "error", ("", None, "error")),
    ],
)
def test_reasoning_is_no_answer(text: str, status: str, expected: tuple[str, str | None, str]):
    found = settle(Response("p", 0, 0, text, status))
    assert (found.text, found.reasoning, found.status) == expected
