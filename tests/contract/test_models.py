"""What every Model promises, on every Model that this machine can open."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from adhere.errors import AdhereError, MissingModel
from adhere.models.base import Model, Request
from adhere.models.catalog import open_model
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.local.fetch import gguf_path
from adhere.schema import Message, Response, Sampling, Tool, ToolCall

Opener = Callable[[], Model]
GREEDY = Sampling(max_new_tokens=8)
SAMPLED = Sampling(max_new_tokens=8, temperature=1.0)


def request(number: int, text: str = "", *, seed: int = 0) -> Request:
    return Request(f"p{number}", 0, 0, (Message("user", text or f"Write about the sea and {number} ships."),), seed)


def ask(model: Model, requests: Sequence[Request], sampling: Sampling = GREEDY) -> list[Response]:
    async def collect() -> list[Response]:
        return [response async for response in model.respond(requests, sampling)]

    return asyncio.run(collect())


def by_key(responses: Sequence[Response]) -> dict[tuple[str, int, int], str]:
    return {response.key: response.text for response in responses}


@pytest.fixture(scope="module", params=["scripted", "transformers-llama", "transformers-qwen", "openvino"])
def opened(request: pytest.FixtureRequest) -> Opener:
    match request.param:
        case "scripted":
            return lambda: ScriptedModel(lambda asked: f"{asked.messages[-1].content} {asked.seed}")
        case "openvino":
            if importlib.util.find_spec("openvino_genai") is None:
                pytest.skip("the `local` extra is not installed")
            try:
                gguf_path("local/smollm2-135m")
            except MissingModel as error:
                pytest.skip(str(error))
            return lambda: open_model("local/smollm2-135m")
        case name:
            pytest.importorskip("torch")
            directory: Path = request.getfixturevalue(f"tiny_{name.removeprefix('transformers-')}_dir")
            return lambda: open_model(f"hf/{directory}", threads=1)


@pytest.fixture(scope="module")
def model(opened: Opener) -> Iterator[Model]:
    model = opened()
    yield model
    model.close()


def test_is_a_model_and_says_what_it_runs_on(model: Model) -> None:
    assert isinstance(model, Model)
    assert model.name
    assert model.engine.name
    assert model.engine.version
    assert model.engine.precision


def test_one_response_a_request_with_its_key_and_seed(model: Model) -> None:
    requests = [request(number)._replace(turn=number % 2, draw=number, seed=number) for number in range(5)]
    responses = ask(model, requests)
    assert sorted(response.key for response in responses) == sorted((r.prompt_id, r.turn, r.draw) for r in requests)
    seeds = {(r.prompt_id, r.turn, r.draw): r.seed for r in requests}
    for response in responses:
        assert response.seed == seeds[response.key]
        assert response.status in {"ok", "truncated", "empty"}
        assert response.stop_reason == ("length" if response.status == "truncated" else "stop")
        assert 0 <= (response.usage.completion_tokens or 0) <= GREEDY.max_new_tokens


def test_no_request_no_response(model: Model) -> None:
    assert ask(model, []) == []


def test_greedy_answers_are_the_same_again(model: Model) -> None:
    requests = [request(number) for number in range(4)]
    assert by_key(ask(model, requests)) == by_key(ask(model, requests))


def test_seeds_matter_when_sampling_and_repeat(model: Model) -> None:
    def texts(first: int) -> list[str]:
        requests = [request(0)._replace(draw=draw, seed=first + draw) for draw in range(4)]
        return list(by_key(ask(model, requests, SAMPLED)).values())

    first = texts(0)
    assert sorted(first) == sorted(texts(0))
    assert len(set(first)) > 1
    assert sorted(first) != sorted(texts(100))


def test_a_request_that_fails_is_a_row_and_spoils_no_other(model: Model) -> None:
    if isinstance(model, ScriptedModel):

        def script(asked: Request) -> str:
            if asked.prompt_id == "p1":
                raise ValueError("the server is down")
            return "fine"

        model = ScriptedModel(script)
    responses = {r.prompt_id: r for r in ask(model, [request(0), request(1, "sea " * 20_000), request(2)])}
    assert responses["p1"].status == "error"
    assert responses["p1"].error
    assert responses["p1"].text == ""
    assert {responses["p0"].status, responses["p2"].status} <= {"ok", "truncated", "empty"}


def test_a_consumer_may_leave_early(model: Model) -> None:
    async def first() -> Response:
        stream = model.respond([request(number) for number in range(6)], GREEDY)
        async for response in stream:
            await stream.aclose()  # type: ignore[attr-defined]  # every Model is an async generator
            return response
        raise AssertionError("no response")

    assert asyncio.run(first()).prompt_id.startswith("p")
    assert len(ask(model, [request(0)])) == 1, "and it answers again afterwards"


@pytest.mark.parametrize("text", ["", " ", "é🙂\u200b", "<|im_end|>", "a\x00b", "{{ 7 * 7 }}"])
def test_odd_text_is_answered_or_a_row_with_its_error(model: Model, text: str) -> None:
    (response,) = ask(model, [Request("odd", 0, 0, (Message("user", text),), 0)])
    assert response.key == ("odd", 0, 0)
    assert response.status != "error" or response.error


def test_a_closed_model_answers_nothing(opened: Opener) -> None:
    model = opened()
    model.close()
    with pytest.raises((AdhereError, RuntimeError), match="closed"):
        ask(model, [request(0)])


def test_a_local_model_reads_no_weights_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a Run of which every answer is stored needs none."""
    genai = pytest.importorskip("openvino_genai")
    opened: list[str] = []
    monkeypatch.setattr(genai, "ContinuousBatchingPipeline", lambda path, *_rest: opened.append(path))
    try:
        model = open_model("local/smollm2-135m")
    except MissingModel as error:
        pytest.skip(str(error))
    assert model.engine.weights_sha256
    assert opened == []
    model.close()


def test_transformers_weights_are_read_when_first_asked(tiny_llama_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from adhere.models.local import transformers

    read: list[Path] = []
    load = transformers.load_weights
    monkeypatch.setattr(
        transformers,
        "load_weights",
        lambda directory, device="cpu", **more: (read.append(directory), load(directory, device, **more))[1],
    )
    model = open_model(f"hf/{tiny_llama_dir}", threads=1)
    loaded = transformers.TransformersModel.load(tiny_llama_dir, name=model.name, threads=1)
    assert model.engine == loaded.engine, "what it says before reading is what it says after"
    assert len(read) == 1
    assert [response.status for response in ask(model, [request(0)])] in (["ok"], ["truncated"])
    assert len(read) == 2
    model.close()
    with pytest.raises(AdhereError, match="is closed"):
        ask(model, [request(1)])


def test_given_messages_are_said_or_the_call_fails(model: Model) -> None:
    """No template here was made for tools: an engine that answers all the same has shown the model something else."""
    user, call = Message("user", "What is a plum?"), ToolCall("c1", "look_up", {"word": "plum"})
    tool = Tool("look_up", "Looks a word up.", {"type": "object", "properties": {"word": {"type": "string"}}})
    said = Request("said", 0, 0, (user, Message("assistant", "A fruit."), Message("user", "Which colour?")), 0)
    called = (user, Message("assistant", "", (call,)), Message("tool", "A fruit.", call_id="c1"))
    found = {one.prompt_id: one for one in ask(model, [said, Request("called", 0, 0, called, 0, tools=(tool,))])}
    assert found["said"].status != "error"
    if model.engine.name == "scripted":
        assert found["called"].status == "ok"
    else:
        assert found["called"].status == "error"
        assert "knows no tools" in str(found["called"].error)
