"""The other APIs that a FakeEndpoint serves, as documented.

They are Anthropic's and Gemini's own APIs, and batches of OpenAI and Anthropic. A batch is answered once it was polled
`patience` times, by the same models as single requests. `batch_faults` are assigned to its requests in turn, and
`batch_end` is its final state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

Answer = Callable[[str, str], tuple[str, str | None]]
"""Function from the model's id and the user's last text to the answer and its fault."""


class Apis:
    """Serves the routes of these APIs.

    Args:
        answer: See Answer.
        refusal: Returns the refusal of a request without the right key; None: the key is right.

    Attributes:
        batches: Batches by id, as the server shows them.
        files: The bytes of files by id.
        sent: The requests of every batch that was submitted.
    """

    def __init__(self, answer: Answer, refusal: Callable[[web.Request], web.Response | None]) -> None:
        self.answer, self.refusal = answer, refusal
        self.patience, self.batch_end = 1, "completed"
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.sent: list[list[dict[str, Any]]] = []
        self.batch_faults: list[str | None] = [None]
        self._looked: dict[str, int] = {}

    def add_to(self, application: web.Application) -> None:
        """Add the routes below /v1 and /v1beta to the application."""
        routes: Mapping[tuple[str, str], Callable[[web.Request], Any]] = {
            ("POST", "/v1/messages"): self._message,
            ("POST", "/v1beta/models/{call}"): self._generate,
            ("GET", "/v1beta/models"): self._list,
            ("POST", "/v1/files"): self._file,
            ("GET", "/v1/files/{id}/content"): self._content,
            ("POST", "/v1/batches"): self._open,
            ("GET", "/v1/batches"): self._all,
            ("GET", "/v1/batches/{id}"): self._look,
            ("POST", "/v1/messages/batches"): self._open_messages,
            ("GET", "/v1/messages/batches/{id}"): self._look,
            ("GET", "/v1/messages/batches/{id}/results"): self._results,
        }
        for (method, path), handler in routes.items():
            application.router.add_route(method, path, self._guarded(handler))

    def _guarded(self, handler: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
        async def guarded(request: web.Request) -> web.Response:
            return self.refusal(request) or await handler(request)

        return guarded

    async def _message(self, request: web.Request) -> web.Response:
        if request.headers.get("anthropic-version") is None:
            return web.json_response(
                {
                    "type": "error",
                    "error": {"type": "invalid_request_error", "message": "anthropic-version: header is required"},
                },
                status=400,
            )
        return web.json_response(self.message(await request.json()))

    def message(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return Anthropic's answer to one request body."""
        blocks = body["messages"][-1]["content"]
        prompt = blocks if isinstance(blocks, str) else "".join(block.get("text", "") for block in blocks)
        text, fault = self.answer(body["model"], prompt)
        thinking = [{"type": "thinking", "thinking": "because of this", "signature": "x"}] if "thinking" in body else []
        stop = {"length": "max_tokens", "refusal": "refusal"}.get(str(fault), "end_turn")
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [*thinking, *([] if fault == "refusal" else [{"type": "text", "text": text}])],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 0,
                "output_tokens": 7,
            },
        }

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": "models/fake-gemini", "displayName": "Fake"}]})

    async def _generate(self, request: web.Request) -> web.Response:
        model, _, verb = request.match_info["call"].partition(":")
        if verb != "generateContent":
            return web.json_response(
                {"error": {"code": 404, "message": "no such method", "status": "NOT_FOUND"}}, status=404
            )
        body = await request.json()
        text, fault = self.answer(model, "".join(part.get("text", "") for part in body["contents"][-1]["parts"]))
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 20}
        if fault == "content filter":
            return web.json_response({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage})
        thinks = body["generationConfig"].get("thinkingConfig", {}).get("includeThoughts")
        parts = [*([{"text": "because of this", "thought": True}] if thinks else []), {"text": text}]
        reason = {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(str(fault), "STOP")
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
        return web.json_response({"candidates": [candidate], "usageMetadata": usage, "modelVersion": model})

    async def _file(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        if form.get("purpose") != "batch" or not isinstance(file, web.FileField):
            return web.json_response(
                {"error": {"message": "purpose must be batch", "type": "invalid_request_error"}}, status=400
            )
        name = f"file-{len(self.files) + 1}"
        self.files[name] = file.file.read()
        return web.json_response({"id": name, "object": "file", "purpose": "batch", "bytes": len(self.files[name])})

    async def _content(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]])

    async def _open(self, request: web.Request) -> web.Response:
        body = await request.json()
        rows = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        fits = body["endpoint"] == "/v1/chat/completions" and body["completion_window"] == "24h"
        if not fits or any("stream" in row["body"] for row in rows):
            return web.json_response(
                {"error": {"message": "Invalid batch", "type": "invalid_request_error"}}, status=400
            )
        return web.json_response(
            self._open_batch(rows, {"object": "batch", "status": "validating", "metadata": body.get("metadata")})
        )

    async def _open_messages(self, request: web.Request) -> web.Response:
        rows = (await request.json())["requests"]
        return web.json_response(self._open_batch(rows, {"type": "message_batch", "processing_status": "in_progress"}))

    def _open_batch(self, rows: list[dict[str, Any]], fields: dict[str, Any]) -> dict[str, Any]:
        name = f"batch_{len(self.batches) + 1}"
        self.sent.append(rows)
        self.batches[name] = {"id": name, **fields}
        return self.batches[name]

    async def _all(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": list(self.batches.values()), "has_more": False})

    async def _look(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        batch = self.batches[name]
        self._looked[name] = self._looked.get(name, 0) + 1
        if self._looked[name] > self.patience:
            if "processing_status" in batch:
                batch["processing_status"] = "ended"
            elif "output_file_id" not in batch:
                lines = self._lines(name, self._line)
                self.files[f"out-{name}"] = "".join(line for line, is_error in lines if not is_error).encode()
                self.files[f"err-{name}"] = "".join(line for line, is_error in lines if is_error).encode()
                batch |= {"status": self.batch_end, "output_file_id": f"out-{name}", "error_file_id": f"err-{name}"}
        elif "status" in batch:
            batch["status"] = "in_progress"
        return web.json_response(batch)

    async def _results(self, request: web.Request) -> web.Response:
        lines = self._lines(request.match_info["id"], self._message_line)
        return web.Response(body="".join(line for line, _ in lines).encode())

    def _lines(self, name: str, make: Callable[[dict[str, Any], str | None], Any]) -> list[tuple[str, bool]]:
        """Return (line, whether it is an error) for each answer of a batch, last request first.

        That the order is not the requests' is what the providers document.
        """
        rows = self.sent[int(name.rpartition("_")[2]) - 1]
        answer_rows = [
            (row["custom_id"], *make(row, fault))
            for place, row in enumerate(rows)
            if (fault := self.batch_faults[place % len(self.batch_faults)]) != "missing"
        ]
        return [
            (json.dumps({"custom_id": row, **fields}) + "\n", is_error)
            for row, fields, is_error in reversed(answer_rows)
        ]

    def _line(self, row: dict[str, Any], fault: str | None) -> tuple[dict[str, Any], bool]:
        if fault == "expired":
            return {
                "response": None,
                "error": {
                    "code": "batch_expired",
                    "message": "This request could not be executed before the completion window expired.",
                },
            }, True
        if fault in {"400", "500"}:
            body: dict[str, Any] = {
                "error": {
                    "message": f"a {fault}",
                    "type": "invalid_request_error" if fault == "400" else "server_error",
                }
            }
            return {"response": {"status_code": int(fault), "body": body}, "error": None}, True
        prompt = row["body"]["messages"][-1]["content"]
        text, _ = self.answer(row["body"]["model"], prompt)
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = {"id": "chatcmpl-1", "model": row["body"]["model"], "choices": [choice], "usage": usage}
        return {"response": {"status_code": 200, "request_id": "req_1", "body": body}, "error": None}, False

    def _message_line(self, row: dict[str, Any], fault: str | None) -> tuple[dict[str, Any], bool]:
        if fault == "expired":
            return {"result": {"type": "expired"}}, False
        if fault in {"400", "500"}:
            error = {"type": "invalid_request_error" if fault == "400" else "api_error", "message": f"a {fault}"}
            return {"result": {"type": "errored", "error": {"type": "error", "error": error}}}, False
        return {"result": {"type": "succeeded", "message": self.message(row["params"])}}, False
