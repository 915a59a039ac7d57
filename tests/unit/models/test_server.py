"""A local model behind OpenAI's chat completions: answers, errors in OpenAI's shape, the queue, and who may ask."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adhere.errors import MissingModel
from adhere.models.base import Request
from adhere.models.catalog import open_model
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.http.client import Endpoint, EndpointModel
from adhere.models.http.keys import address
from adhere.models.local.fetch import gguf_path
from adhere.schema import EngineInfo, Message, Response, Sampling, Usage
from adhere.serve.chat_request import BadRequest, read
from adhere.serve.server import ModelServer
from command_line import run_here

ASK: dict[str, Any] = {"model": "scripted/echo", "messages": [{"role": "user", "content": "one two three four"}]}


def serving(model: Any, body: Callable[[ModelServer, aiohttp.ClientSession], Awaitable[Any]], **settings: Any) -> Any:
    async def run() -> Any:
        async with ModelServer(model, **settings) as server, aiohttp.ClientSession() as session:
            return await body(server, session)

    return asyncio.run(run())


def post(body: Any, *, headers: dict[str, str] | None = None, model: Any = None) -> tuple[int, dict[str, Any]]:
    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> tuple[int, dict[str, Any]]:
        data = body if isinstance(body, bytes) else json.dumps(body)
        async with session.post(f"{server.url}/chat/completions", data=data, headers=headers) as reply:
            return reply.status, await reply.json()

    found: tuple[int, dict[str, Any]] = serving(model or open_model("scripted/echo"), ask)
    return found


def test_an_answer_has_the_shape_of_openai() -> None:
    status, body = post(ASK)
    assert status == 200
    assert (body["object"], body["model"]) == ("chat.completion", "scripted/echo")
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "one two three four"},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    assert body["usage"] == {"prompt_tokens": 4, "completion_tokens": 4, "total_tokens": 8}
    assert body["system_fingerprint"] == "scripted 1 none"


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_limit_cuts_and_says_so(field: str) -> None:
    _, body = post({**ASK, field: 2})
    assert body["choices"][0]["message"]["content"] == "one two"
    assert body["choices"][0]["finish_reason"] == "length"


def test_a_stream_ends_with_usage_and_done() -> None:
    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> tuple[str, list[str]]:
        asked = {**ASK, "stream": True, "stream_options": {"include_usage": True}}
        async with session.post(f"{server.url}/chat/completions", json=asked) as reply:
            return reply.content_type, (await reply.text()).split("\n\n")

    kind, events = serving(open_model("scripted/echo"), ask)
    assert kind == "text/event-stream"
    assert [event[:6] for event in events] == ["data: "] * 4 + [""]
    chunks = [json.loads(event[6:]) for event in events[:3]]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": "one two three four"}
    assert chunks[1]["choices"][0]["finish_reason"] == "stop"
    assert (chunks[2]["choices"], chunks[2]["usage"]) == (
        [],
        {"prompt_tokens": 4, "completion_tokens": 4, "total_tokens": 8},
    )
    assert events[3] == "data: [DONE]"


def test_our_own_client_measures_it() -> None:
    async def ask(server: ModelServer, _session: aiohttp.ClientSession) -> tuple[list[str], list[Response]]:
        async with Endpoint(address(server.url)) as endpoint:
            names = [row["id"] for row in await endpoint.models()]
        model = EndpointModel(f"{server.url}#scripted/echo")
        requests = [Request(f"p{n}", 0, 0, (Message("user", f"say {n}"),), n) for n in range(30)]
        return names, [response async for response in model.respond(requests, Sampling())]

    names, responses = serving(open_model("scripted/echo"), ask)
    assert names == ["scripted/echo"]
    assert {response.prompt_id: response.text for response in responses} == {f"p{n}": f"say {n}" for n in range(30)}
    assert {response.status for response in responses} == {"ok"}


def test_sampling_reaches_the_model() -> None:
    seen: list[tuple[Request, Sampling]] = []

    class Listening(ScriptedModel):
        def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
            seen.extend((request, sampling) for request in requests)
            return super().respond(requests, sampling)

    model = Listening(lambda _: "yes", name="scripted/echo")
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    ]
    post({**ASK, "messages": messages, "temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 11}, model=model)
    request, sampling = seen[0]
    assert request.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert request.seed == 7
    assert sampling == Sampling(max_new_tokens=11, temperature=0.5, top_p=0.9, seed=7)


@pytest.mark.parametrize(
    ("change", "status", "code", "said"),
    [
        (b"{", 400, "invalid_json", "not JSON"),
        (b"[]", 400, None, "must be a JSON object, got list"),
        (b"[" * 100_000, 400, "invalid_json", "not JSON"),
        ({"model": "other"}, 404, "model_not_found", "'scripted/echo' is"),
        ({"model": 3}, 400, None, "model must be a name"),
        ({"messages": []}, 400, None, "at least one message"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 400, None, "messages[0].tool_call_id must name the call"),
        ({"messages": [{"role": "critic", "content": "x"}]}, 400, None, "messages[0].role is 'critic'"),
        ({"messages": [{"role": "user", "content": "x", "name": "Bob"}]}, 400, None, "messages[0].name is not known"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, None, "only parts of type text"),
        ({"temperatur": 0.1}, 400, "unknown_parameter", "Did you mean 'temperature'?"),
        ({"stop": ["\n"]}, 400, "unsupported_value", "stop would change the answer"),
        ({"n": 2}, 400, "unsupported_value", "leave it out (or 1)"),
        ({"n": True}, 400, "unsupported_value", "n would change the answer"),
        ({"temperature": 3}, 400, None, "between 0 and 2, got 3"),
        ({"temperature": "hot"}, 400, None, 'temperature must be a number, got "hot"'),
        ({"max_tokens": 0}, 400, None, "at least 1, got 0"),
        ({"max_tokens": 3, "max_completion_tokens": 4}, 400, None, "must be one number"),
        ({"seed": 1.5}, 400, None, "seed must be a whole number"),
        ({"stream": "yes"}, 400, None, "stream must be true or false"),
    ],
)
def test_what_cannot_be_answered_is_an_error_that_says_why(
    change: Any, status: int, code: str | None, said: str
) -> None:
    found, body = post(change if isinstance(change, bytes) else {**ASK, **change})
    assert (found, body["error"]["code"], body["error"]["type"]) == (status, code, "invalid_request_error")
    assert said in body["error"]["message"]


def test_what_changes_nothing_is_accepted() -> None:
    neutral = {
        "n": 1,
        "stop": None,
        "presence_penalty": 0,
        "user": "u",
        "tools": [],
        "response_format": {"type": "text"},
    }
    assert post({**ASK, **neutral})[0] == 200
    with pytest.raises(BadRequest, match="logit_bias"):
        read(json.dumps({**ASK, "logit_bias": {"5": 1}}).encode(), max_new_tokens=1, seed=0)


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        ("The prompt has 9000 tokens; with 64 new tokens x takes at most 8128", 400, "context_length_exceeded"),
        ("The chat template knows no tools: the model was made without them", 400, "unsupported_messages"),
        ("out of memory", 500, "engine_failed"),
    ],
)
def test_a_failed_call_is_an_error_not_an_answer(reason: str, status: int, code: str) -> None:
    def broken(request: Request) -> Response:
        return Response(request.prompt_id, 0, 0, "", "error", error=reason)

    found, body = post(ASK, model=ScriptedModel(broken, name="scripted/echo"))
    assert (found, body["error"]["code"], body["error"]["message"]) == (status, code, reason)


def test_a_refusal_and_its_evidence_arrive() -> None:
    def refused(request: Request) -> Response:
        return Response(request.prompt_id, 0, 0, "", "refused", evidence="no", usage=Usage(3, 0), reasoning="hm")

    _, body = post(ASK, model=ScriptedModel(refused, name="scripted/echo"))
    message = {"role": "assistant", "content": "", "refusal": "no", "reasoning": "hm"}
    assert body["choices"][0]["message"] == message
    assert body["choices"][0]["finish_reason"] == "content_filter"
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3}


def test_one_answer_at_a_time_and_a_queue_with_an_end() -> None:
    most = [0, 0]

    class Counting:
        name, engine = "scripted/echo", EngineInfo("counting", "1", "none")

        async def respond(self, requests: Sequence[Request], _sampling: Sampling) -> AsyncIterator[Response]:
            most[0] += 1
            most[1] = max(most)
            await asyncio.sleep(0.05)
            most[0] -= 1
            yield Response(requests[0].prompt_id, 0, 0, "x", "ok")

        def close(self) -> None:
            pass

    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> list[tuple[int, str | None]]:
        async def one() -> tuple[int, str | None]:
            async with session.post(f"{server.url}/chat/completions", json=ASK) as reply:
                return reply.status, reply.headers.get("Retry-After")

        found = await asyncio.gather(*(one() for _ in range(10)))
        assert (server.served, server.rejected) == (4, 6)
        return found

    found = serving(Counting(), ask, most_waiting=3)
    assert sorted(status for status, _ in found) == [200] * 4 + [429] * 6
    assert all(pause is not None and 1 <= int(pause) <= 60 for status, pause in found if status == 429)
    assert most[1] == 1


def test_who_goes_away_is_not_answered() -> None:
    ended = []

    class Slow:
        name, engine = "scripted/echo", EngineInfo("slow", "1", "none")

        async def respond(self, requests: Sequence[Request], _sampling: Sampling) -> AsyncIterator[Response]:
            try:
                await asyncio.sleep(0.2 if ended else 60)
                yield Response(requests[0].prompt_id, 0, 0, "x", "ok")
            finally:
                ended.append(requests[0].prompt_id)

        def close(self) -> None:
            pass

    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> int:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), session.post(f"{server.url}/chat/completions", json=ASK):
                pass
        async with asyncio.timeout(5), session.post(f"{server.url}/chat/completions", json=ASK) as reply:
            return reply.status

    assert serving(Slow(), ask) == 200
    assert len(ended) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_sites_are_refused(headers: dict[str, str]) -> None:
    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> tuple[int, str, str | None]:
        sent = {name: value.format(port=server.port) for name, value in headers.items()}
        async with session.post(f"{server.url}/chat/completions", json=ASK, headers=sent) as reply:
            return reply.status, (await reply.json())["error"]["code"], reply.headers.get("Access-Control-Allow-Origin")

    assert serving(open_model("scripted/echo"), ask) == (403, "forbidden_host", None)


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}"])
def test_this_machine_is_not(host: str) -> None:
    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> int:
        async with session.get(f"{server.url}/models", headers={"Host": host.format(port=server.port)}) as reply:
            return reply.status

    assert serving(open_model("scripted/echo"), ask) == 200


def test_other_paths_have_openai_errors() -> None:
    async def ask(server: ModelServer, session: aiohttp.ClientSession) -> list[tuple[int, str]]:
        found = []
        for path in ("embeddings", "models/none", "models/scripted/echo"):
            async with session.get(f"{server.url}/{path}") as reply:
                body = await reply.json()
                found.append((reply.status, body["error"]["message"] if "error" in body else body["id"]))
        return found

    unknown, other, known = serving(open_model("scripted/echo"), ask)
    assert unknown == (404, "GET /v1/embeddings: Not Found; GET /v1/models and POST /v1/chat/completions are served")
    assert other == (404, "The model 'none' is not served here; 'scripted/echo' is")
    assert known == (200, "scripted/echo")


def test_it_listens_on_this_machine_only() -> None:
    async def ask(server: ModelServer, _session: aiohttp.ClientSession) -> list[Any]:
        assert server._runner is not None
        return [address[0] for address in server._runner.addresses]

    assert serving(open_model("scripted/echo"), ask) == ["127.0.0.1"]


def started(name: str) -> tuple[subprocess.Popen[str], str]:
    served = subprocess.Popen(
        [sys.executable, "-m", "adhere", "serve", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": ""},
        # A shell that puts its jobs in the background makes them, and so us and our children, deaf to SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    assert served.stdout is not None
    return served, served.stdout.readline().strip()


def ended(served: subprocess.Popen[str]) -> tuple[int, str]:
    served.send_signal(signal.SIGINT)
    _, said = served.communicate(timeout=30)
    return served.returncode, said


def test_command_prints_its_url_and_ends_cleanly() -> None:
    served, url = started("scripted/echo")
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
    finally:
        code, said = ended(served)
    assert code == 130
    assert f"adhere sweep {url}" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["openai/gpt-4o-mini", "http://127.0.0.1:1/v1#x"])
def test_command_refuses_what_runs_elsewhere(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adhere", "serve", name], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "is served elsewhere already" in done.stderr


def test_a_real_model_is_swept_without_a_key(tmp_path: Path) -> None:
    pytest.importorskip("openvino_genai", reason="openvino-genai is not installed (pip install adhere[local])")
    try:
        gguf_path("local/smollm2-135m")
    except MissingModel:
        pytest.skip("local/smollm2-135m is not here (adhere fetch local/smollm2-135m)")
    served, url = started("local/smollm2-135m")
    try:
        few = ["--suite", "core:in-family", "--limit", "3", "--max-new-tokens", "16"]
        quiet = ["--timeout", "120", "--model-concurrency", "1", "--progress", "none", "--json"]
        swept = run_here("sweep", url, *few, *quiet, "--out", tmp_path)
    finally:
        code, _ = ended(served)
    assert swept.returncode == 0, swept.stderr
    assert code == 130
    (directory,) = tmp_path.iterdir()
    rows = [
        json.loads(line)
        for file in directory.glob("runs/*/responses/*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert len(rows) == 3
    assert {row["served_model"] for row in rows} == {"local/smollm2-135m"}
    assert all(row["text"] and row["usage"]["prompt_tokens"] > 10 for row in rows)
