"""Serves any local Model as OpenAI's chat completions, on 127.0.0.1 only, for a sweep or any OpenAI client.

    async with ModelServer(model) as server:
        ...  # server.url is http://127.0.0.1:PORT/v1

One answer is drawn at a time: local engines use the whole machine, and an answer drawn beside others may differ (see
`models/local/embedded.py`). Requests wait in order; beyond `most_waiting` they are rejected with 429 and
Retry-After. Engines give whole answers, so a streamed answer arrives in one piece.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

from aiohttp import web

from adhere.errors import AdhereError
from adhere.models.base import Model, Request
from adhere.models.chat import conversation
from adhere.models.fake.loopback import guard, listen
from adhere.schema import Message, Response
from adhere.serve.chat_request import BadRequest, ChatRequest, read

OWNER = "adhere"
_FINISH = {"truncated": "length", "refused": "content_filter"}
_TOO_LONG = "The prompt has"
"""Beginning of the engines' reason if prompt and answer do not fit into the context (`_check_length`)."""
_NOT_SAID = "The chat template"
"""Beginning of the reason if the template cannot express the messages (`models.chat`); asking again never helps."""


class ModelServer:
    """Serves one Model; an async context manager.

    Args:
        model: The Model, open; the caller closes it.
        port: 0: any free one.
        most_waiting: Requests that may wait for their turn.
        max_new_tokens: Limit of answers to requests that set none.

    Attributes:
        port: The port that it listens on.
        served, rejected: Numbers of requests that were answered, and rejected.
    """

    def __init__(self, model: Model, *, port: int = 0, most_waiting: int = 8, max_new_tokens: int = 512) -> None:
        self.model, self.port = model, port
        self.most_waiting, self.max_new_tokens = most_waiting, max_new_tokens
        self.served = self.rejected = 0
        self.created = int(time.time())
        self._turn = asyncio.Lock()
        self._inside = 0
        self._mean_s = 1.0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._runner, self.port = await listen(self._application(), self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _application(self) -> web.Application:
        refuse = guard(lambda: self.port, lambda reason: _error(403, reason, code="forbidden_host"))
        application = web.Application(client_max_size=16 << 20, middlewares=[refuse, _phrase_error])
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/v1/models/{name:.+}", self._one_model)
        application.router.add_post("/v1/chat/completions", self._completion)
        return application

    def _row(self) -> dict[str, Any]:
        return {"id": self.model.name, "object": "model", "created": self.created, "owned_by": OWNER}

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [self._row()]})

    async def _one_model(self, request: web.Request) -> web.Response:
        self._check_model(request.match_info["name"])
        return web.json_response(self._row())

    def _check_model(self, name: str) -> None:
        if name != self.model.name:
            raise BadRequest(
                f"The model {name!r} is not served here; {self.model.name!r} is", field="model", code="model_not_found"
            )

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        chat_request = read(await request.read(), max_new_tokens=self.max_new_tokens, seed=secrets.randbits(31))
        self._check_model(chat_request.model)
        if self._inside > self.most_waiting:  # one is being answered, the others wait
            self.rejected += 1
            pause = min(60, max(1, math.ceil(self._mean_s * self._inside)))
            return _error(
                429,
                f"{self._inside - 1} requests are waiting already: ask for fewer at once",
                type="rate_limit_error",
                code="queue_full",
                headers={"Retry-After": str(pause)},
            )
        self._inside += 1
        try:
            async with self._turn:
                response = await self._answer(chat_request)
        finally:
            self._inside -= 1
        if response.status == "error":
            return _failure(response)
        self.served += 1
        if chat_request.is_streamed:
            return await self._stream(request, response, with_usage=chat_request.with_usage)
        choice = {"index": 0, "message": _message(response), "finish_reason": _finish(response), "logprobs": None}
        return web.json_response({**self._head("chat.completion"), "choices": [choice], "usage": _usage(response)})

    async def _answer(self, chat_request: ChatRequest) -> Response:
        """Draw one answer; an exception of the engine becomes a failed call."""
        name = f"request-{secrets.token_hex(4)}"
        request = Request(name, 0, 0, chat_request.messages, chat_request.sampling.seed, tools=chat_request.tools)
        start = time.monotonic()
        try:
            async with _closing(self.model.respond([request], chat_request.sampling)) as answers:
                async for response in answers:
                    return response
        except (AdhereError, OSError, RuntimeError, ValueError, TypeError) as error:
            return Response(request.prompt_id, 0, 0, "", "error", error=f"{type(error).__name__}: {error}")
        finally:
            self._mean_s += 0.2 * (time.monotonic() - start - self._mean_s)
        return Response(request.prompt_id, 0, 0, "", "error", error="the model ended without answering")

    async def _stream(self, request: web.Request, response: Response, *, with_usage: bool) -> web.StreamResponse:
        events = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await events.prepare(request)
        head = self._head("chat.completion.chunk")
        more = {"usage": None} if with_usage else {}
        for delta, finish in ((_message(response), None), ({}, _finish(response))):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            await events.write(_event({**head, "choices": [choice], **more}))
        if with_usage:
            await events.write(_event({**head, "choices": [], "usage": _usage(response)}))
        await events.write(b"data: [DONE]\n\n")
        return events

    def _head(self, kind: str) -> dict[str, Any]:
        number = f"chatcmpl-{secrets.token_hex(12)}"
        engine = self.model.engine
        fingerprint = f"{engine.name} {engine.version} {engine.precision}"
        return {
            "id": number,
            "object": kind,
            "created": int(time.time()),
            "model": self.model.name,
            "system_fingerprint": fingerprint,
        }


@asynccontextmanager
async def _closing(answers: AsyncIterator[Response]) -> AsyncIterator[AsyncIterator[Response]]:
    """Close the engine's generator at the end of the block; other iterators have nothing to close."""
    try:
        yield answers
    finally:
        if isinstance(answers, AsyncGenerator):
            await answers.aclose()


@web.middleware
async def _phrase_error(request: web.Request, handler: Any) -> web.StreamResponse:
    """Turn errors into OpenAI's form."""
    try:
        answer: web.StreamResponse = await handler(request)
    except BadRequest as error:
        status = 404 if error.code == "model_not_found" else 400
        return _error(status, str(error), code=error.code, param=error.field)
    except web.HTTPException as error:
        served_paths = "GET /v1/models and POST /v1/chat/completions are served"
        return _error(error.status, f"{request.method} {request.path}: {error.reason}; {served_paths}")
    return answer


def _message(response: Response) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": response.text}
    if response.calls:
        sent_message = conversation([Message("assistant", response.text, response.calls)], is_sent=True)[0]
        calls = [{**call, "index": place} for place, call in enumerate(sent_message["tool_calls"])]
        message |= {"content": sent_message["content"], "tool_calls": calls}
    if response.status == "refused":
        message["refusal"] = response.evidence or "refused"
    if response.reasoning:
        message["reasoning"] = response.reasoning
    return message


def _finish(response: Response) -> str:
    return "tool_calls" if response.calls else _FINISH.get(response.status, "stop")


def _usage(response: Response) -> dict[str, int] | None:
    """Return token counts; None if the engine does not count both, because clients refuse a usage that lacks one."""
    prompt, completion = response.usage.prompt_tokens, response.usage.completion_tokens
    if prompt is None or completion is None:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _failure(response: Response) -> web.Response:
    reason = response.error or "the engine gave no reason"
    if reason.startswith(_TOO_LONG):
        return _error(400, reason, code="context_length_exceeded", param="messages")
    if reason.startswith(_NOT_SAID):
        return _error(400, reason, code="unsupported_messages", param="messages")
    return _error(500, reason, type="server_error", code="engine_failed")


def _error(
    status: int,
    message: str,
    *,
    type: str = "invalid_request_error",  # noqa: A002 - OpenAI's name
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    error = {"message": message, "type": type, "param": param, "code": code}
    return web.json_response({"error": error}, status=status, headers=headers)


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
