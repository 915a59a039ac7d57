"""The public fake endpoint (`adhere.testing.FakeEndpoint`).

It serves hundreds of models with scripted answers, speeds and faults.

    with FakeEndpoint({"good": FakeModel(), "flaky": FakeModel(faults=("503", None))}, capacity=50) as endpoint:
        ...  # adhere sweep endpoint.url

It listens on 127.0.0.1 only. `python -m adhere.models.fake.endpoint` serves one from the command line.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from adhere.models.chat import conversation
from adhere.models.fake.apis import Apis
from adhere.schema import Json, Message

Answer = Callable[[str], str]
FAULTS = (
    "429", "429 retry", "402", "402 in flight", "401", "403", "403 key", "403 moderation", "404", "400", "400 context",
    "408", "500", "502", "503", "503 retry", "529", "200 error", "200 error 429", "200 empty", "200 blank",
    "200 broken", "200 list", "200 no choices", "200 choice error", "200 finish error", "padded", "null content",
    "length", "length null", "refusal", "content filter", "reasoning", "reasoning_content", "think", "parts",
    "surrogate", "hang", "drip", "huge", "reset", "redirect", "cut stream",
)  # fmt: skip
"""All faults and oddities that can be made to happen. A number is an HTTP status."""


def echo(text: str) -> str:
    """Return the last user message, a FakeModel's default answer."""
    return text


@dataclass
class FakeModel:
    """Describes one model of a FakeEndpoint.

    Args:
        answer: Function from the last message to the text.
        reply: Function from the whole request to the assistant's message, which may call tools; None: `answer` is used.
        latency_s: How long an answer takes; None: the endpoint's `latency_s`.
        capacity: Most requests at once, beyond which it answers 429; None: no limit of its own.
        faults: The fault of the first request, the second, …, then again from the start; None: it is answered.
        fault_of: Function from the last user message to a fault, which takes precedence over `faults`.
        usage: The usage that it reports; None: the true one.
        listing: More fields of its row in `/models` (`pricing`, `context_length`, …).
    """

    answer: Answer = echo
    reply: Callable[[Mapping[str, Any]], Message] | None = None
    latency_s: float | None = None
    capacity: int | None = None
    faults: Sequence[str | None] = ()
    fault_of: Callable[[str], str | None] | None = None
    usage: Mapping[str, Json] | None = None
    listing: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for fault in self.faults:
            if fault is not None and fault not in FAULTS:
                raise ValueError(f"Unknown fault {fault!r}. Faults: {', '.join(FAULTS)}")


class FakeEndpoint:
    """Serves OpenAI's chat completions on 127.0.0.1; as a context manager, in a thread of its own.

    Args:
        models: Models by id; a sequence of ids gives models that echo.
        capacity: Most requests at once, to all models together, beyond which it answers 429.
        latency_s: How long answers take.
        key: The key that `Authorization: Bearer` must carry; None: anything.
        credit_usd: The credit left, as `/key` reports it.
        retry_after_s: The pause that faults with a pause ask for.
        words: The message of the fault `403`.
        port: 0: any free one.

    Attributes:
        served, rejected: Numbers of requests by model.
        is_listing_open: Whether the list of models needs no key.
        seen: The bodies of the last 10,000 requests.
        apis: Other APIs and batches, with what they saw (`fake.apis`).
    """

    def __init__(
        self,
        models: Mapping[str, FakeModel] | Sequence[str],
        *,
        capacity: int | None = None,
        latency_s: float = 0.0,
        key: str | None = None,
        credit_usd: float | None = None,
        retry_after_s: float = 1.0,
        words: str = "Forbidden",
        port: int = 0,
    ) -> None:
        self.models = dict(models) if isinstance(models, Mapping) else {name: FakeModel() for name in models}
        self.capacity, self.latency_s, self.key = capacity, latency_s, key
        self.credit_usd, self.retry_after_s, self.port = credit_usd, retry_after_s, port
        self.words, self.is_listing_open = words, False
        self.served: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.seen: list[dict[str, Any]] = []
        self.busy: Counter[str] = Counter()
        self.most_busy = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._ending: asyncio.Event | None = None
        self._runner: web.AppRunner | None = None
        self.apis = Apis(self._answer, self._unauthorized)

    @property
    def url(self) -> str:
        """The base URL, once it serves."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def is_idle(self) -> bool:
        """Whether no client is connected and nothing is being answered.

        A client that was killed may have left requests that no one has read yet: while its connections stand, they can
        still be served.
        """
        server = self._runner.server if self._runner is not None else None
        return not (server is not None and server.connections) and not sum(self.busy.values())

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True, name="fake-endpoint")
        self._thread.start()
        if not self._ready.wait(30):
            raise RuntimeError("The fake endpoint did not start within 30 s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is not None and self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
        if self._thread is not None:
            self._thread.join(30)

    async def serve(self, on_start: Callable[[], None] = lambda: None) -> None:
        """Serve in the running loop until the context manager ends, or this is cancelled."""
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application(client_max_size=64 << 20)
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/v1/key", self._credit)
        application.router.add_post("/v1/chat/completions", self._completion)
        self.apis.add_to(application)
        self._runner = runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # noqa: SLF001 - no other way
        self._ready.set()
        on_start()
        try:
            await self._ending.wait()
        finally:
            await runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        if (refusal := self._unauthorized(request)) and not self.is_listing_open:
            return refusal
        rows = [{"id": name, "object": "model", **model.listing} for name, model in self.models.items()]
        return web.json_response({"object": "list", "data": rows})

    async def _credit(self, request: web.Request) -> web.Response:
        return self._unauthorized(request) or web.json_response({"data": {"limit_remaining": self.credit_usd}})

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        keys = (request.headers.get(name) for name in ("x-api-key", "x-goog-api-key"))
        if self.key is None or request.headers.get("Authorization") == f"Bearer {self.key}" or self.key in keys:
            return None
        return _error(401, "No auth credentials found")

    def _answer(self, name: str, prompt: str) -> tuple[str, str | None]:
        """Answer as a model does through another API, and return the answer and its fault."""
        model = self.models.get(name) or FakeModel()
        number = self.asked[name]
        self.asked[name] += 1
        return model.answer(prompt), model.faults[number % len(model.faults)] if model.faults else None

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._unauthorized(request):
            return refusal
        body = json.loads(await request.read())
        self.seen.append(body)
        del self.seen[:-10_000]
        name = body.get("model", "")
        model = self.models.get(name)
        if model is None:
            return _error(404, f"No endpoints found for {name}.", type="model_not_found")
        number = self.asked[name]
        self.asked[name] += 1
        fault = model.fault_of(body["messages"][-1]["content"]) if model.fault_of is not None else None
        if fault is None and model.faults:
            fault = model.faults[number % len(model.faults)]
        if self._is_full(name, model):
            self.rejected[name] += 1
            return _error(429, "Rate limit exceeded")
        self.busy[name] += 1
        self.most_busy = max(self.most_busy, sum(self.busy.values()))
        try:
            await asyncio.sleep(self.latency_s if model.latency_s is None else model.latency_s)
            return await self._reply(request, body, model, fault)
        finally:
            self.busy[name] -= 1

    def _is_full(self, name: str, model: FakeModel) -> bool:
        whole = self.capacity is not None and sum(self.busy.values()) >= self.capacity
        return whole or (model.capacity is not None and self.busy[name] >= model.capacity)

    async def _reply(  # noqa: PLR0911 - one return a fault
        self, request: web.Request, body: dict[str, Any], model: FakeModel, fault: str | None
    ) -> web.StreamResponse:
        self.served[body["model"]] += 1
        prompt = body["messages"][-1]["content"]
        if fault in _ERRORS:
            status, message, more = _ERRORS[fault]
            message = self.words if fault == "403" else message
            wait = (
                {"Retry-After": f"{self.retry_after_s:g}"}
                if fault in {"429 retry", "402 in flight", "503 retry"}
                else {}
            )
            return _error(status, message, headers=wait, **more)
        if fault in _BODIES:
            return web.Response(body=_BODIES[fault], content_type="application/json")
        match fault:
            case "hang":
                await asyncio.sleep(3600)
            case "drip":
                return await self._drip(request)
            case "huge":
                return web.Response(body=b'{"choices":[' + b" " * (40 << 20) + b"]}", content_type="application/json")
            case "reset":
                assert request.transport is not None  # noqa: S101
                request.transport.abort()
                return web.Response()
            case "redirect":
                return web.Response(status=302, headers={"Location": "http://127.0.0.1:9/v1/chat/completions"})
        answer = Message("assistant", model.answer(prompt)) if model.reply is None else model.reply(body)
        prompt_text = "\n".join(str(message.get("content") or "") for message in body["messages"])
        completion = _completion_of(body["model"], prompt_text, answer, fault)
        if model.usage is not None:
            completion["usage"] = dict(model.usage)
        if body.get("stream"):
            return await self._stream(request, completion, is_cut=fault == "cut stream")
        data = json.dumps(completion).encode()
        return web.Response(body=b"\n  \n" * 50 + data if fault == "padded" else data, content_type="application/json")

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        """Send white space, which keeps the connection alive, and never an answer."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):  # the client lost its patience, as it should
            for _ in range(36_000):
                await response.write(b" ")
                await asyncio.sleep(0.1)
        return response

    async def _stream(self, request: web.Request, completion: dict[str, Any], *, is_cut: bool) -> web.StreamResponse:
        choice = completion["choices"][0]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b": PROCESSING\n\n")
        head = {name: completion[name] for name in ("id", "model", "provider")}
        deltas: list[dict[str, Any]] = [{"role": "assistant"}]
        message = choice["message"]
        deltas += [{name: message[name]} for name in ("reasoning", "reasoning_content", "refusal") if message.get(name)]
        content = message["content"] or ""
        content = content if isinstance(content, str) else content[0]["text"]
        deltas += [{"content": content[at : at + 7]} for at in range(0, len(content), 7)]
        for index, call in enumerate(message.get("tool_calls") or ()):
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            call_start: dict[str, Any] = {
                "index": index,
                "id": call["id"],
                "type": "function",
                "function": {"name": name, "arguments": ""},
            }
            deltas.append({"tool_calls": [call_start]})
            pieces = (arguments[at : at + 5] for at in range(0, len(arguments), 5))
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
        for delta in deltas[: len(deltas) // 2] if is_cut else deltas:
            await response.write(_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))
        if is_cut:
            return response
        last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        await response.write(_event({**head, "choices": [last], "usage": completion["usage"]}))
        await response.write(b"data: [DONE]\n\n")
        return response


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


_Error = tuple[int, str, dict[str, Any]]
_MODERATED = {"metadata": {"reasons": ["violence"], "error_type": "moderation"}}
_ERRORS: dict[str | None, _Error] = {
    "429": (429, "Rate limit exceeded", {}),
    "429 retry": (429, "Rate limit exceeded", {}),
    "402": (402, "Insufficient credits", {}),
    "402 in flight": (
        402,
        "Too many requests in flight",
        {"metadata": {"limit_source": "openrouter_in_flight_budget"}},
    ),
    "401": (401, "Invalid key", {}),
    "403 key": (403, "Key limit exceeded", {"metadata": {"limit_source": "openrouter_key_limit"}}),
    "403": (403, "Forbidden", {}),
    "403 moderation": (403, "The input was flagged by moderation", _MODERATED),
    "404": (404, "No endpoints found", {}),
    "400": (400, "Unknown parameter", {}),
    "400 context": (400, "This model's maximum context length is 4096 tokens", {"type": "context_length_exceeded"}),
    "408": (408, "Request timed out", {}),
    "500": (500, "Internal error", {}),
    "502": (502, "Bad gateway", {}),
    "503": (503, "Provider overloaded", {}),
    "503 retry": (503, "Loading model", {}),
    "529": (529, "Overloaded", {}),
    "200 error": (200, "Provider returned error", {"code": 502}),
    "200 error 429": (200, "Upstream is rate limited", {"code": 429, "metadata": {"provider_name": "upstream"}}),
}
_BODIES: dict[str | None, bytes] = {
    "200 empty": b"",
    "200 blank": b"   \n\n  ",
    "200 broken": b'{"choices": [{"message": {"con',
    "200 list": b"[1, 2, 3]",
    "200 no choices": b'{"id": "x", "choices": null}',
    "200 choice error": (
        b'{"choices": [{"error": {"code": 503, "message": "provider died"}, "message": {"content": "half"}}]}'
    ),
    "200 finish error": b'{"choices": [{"finish_reason": "error", "message": {"content": ""}}]}',
}


def _error(
    status: int, message: str, *, headers: Mapping[str, str] | None = None, code: int | None = None, **more: Any
) -> web.Response:
    error = {"code": code or status, "message": message, **more}
    return web.json_response({"error": error, "user_id": "user_secret_account"}, status=status, headers=headers)


def _completion_of(model: str, prompt_text: str, answer: Message, fault: str | None) -> dict[str, Any]:
    text = answer.content
    message: dict[str, Any] = conversation([answer], is_sent=True)[0]
    for call, sent_call in zip(answer.calls, message.get("tool_calls", ()), strict=True):
        sent_call["function"]["arguments"] = call.broken or sent_call["function"]["arguments"]
    finish = "tool_calls" if answer.calls else "stop"
    match fault:
        case "null content":
            message["content"] = None
        case "length":
            finish = "length"
        case "length null":
            finish, message = "length", {"role": "assistant", "content": None, "reasoning": "thinking and thinking"}
        case "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        case "content filter":
            finish = "content_filter"
        case "reasoning" | "reasoning_content":
            message[fault] = "because of this"
        case "think":
            message["content"] = f"<think>because of this</think>{text}"
        case "parts":
            message["content"] = [{"type": "text", "text": text}]
        case "surrogate":
            message["content"] = f"{text} \ud83d"
    prompt, completion = len(prompt_text.split()), len(text.split())
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "cost": 1e-6 * (prompt + completion),
    }
    if message.get("reasoning"):
        usage["completion_tokens_details"] = {"reasoning_tokens": len(message["reasoning"].split())}
    choice = {"index": 0, "message": message, "finish_reason": finish, "native_finish_reason": finish}
    return {"id": "gen-1", "model": model, "provider": "FakeProvider", "choices": [choice], "usage": usage}


def main() -> None:
    """Serve until interrupted; prints the base URL."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--models", type=int, default=256)
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    endpoint = FakeEndpoint(
        [f"fake/model-{number:03d}" for number in range(options.models)],
        capacity=options.capacity,
        latency_s=options.latency,
        port=options.port,
    )
    try:
        asyncio.run(endpoint.serve(lambda: print(endpoint.url, flush=True)))  # noqa: T201 - it is what is asked for
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
