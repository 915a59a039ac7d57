"""A server that echoes the key in every place and form it can: nothing of it reaches the disk or the screen."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

SECRET = 'Zq7planted/"key"+value=42é'
FORMS = {
    "plain": SECRET,
    "json": json.dumps(SECRET)[1:-1],
    "unicode escapes": "".join(f"\\u{ord(char):04x}" for char in SECRET),
    "html": html.escape(SECRET),
    "percent": quote(SECRET, safe=""),
    "hex": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64, after one byte": base64.b64encode(b":" + SECRET.encode()).decode()[2:-4],
    "base64, after two bytes": base64.b64encode(b"::" + SECRET.encode()).decode()[3:-4],
}
LONG = "x" * 470  # what is shown of an error is cut near here


def error(status: int, message: str, **more: Any) -> Callable[[web.Request, dict[str, Any]], web.Response]:
    return lambda _request, _body: web.json_response(
        {"error": {"code": status, "message": message, **more}}, status=status
    )


def answer(**more: Any) -> Callable[[web.Request, dict[str, Any]], web.Response]:
    def reply(_request: web.Request, body: dict[str, Any]) -> web.Response:
        message = {"role": "assistant", "content": more.get("content", "Paris"), **more.get("message", {})}
        choice = {"index": 0, "message": message, "finish_reason": "stop", **more.get("choice", {})}
        whole = {"id": SECRET, "model": body["model"], "choices": [choice], **more.get("whole", {})}
        return web.json_response(whole)

    return reply


PLACES: dict[str, Callable[[web.Request, dict[str, Any]], web.Response]] = {
    "400": error(400, f"bad key {SECRET}"),
    "400 late": error(400, f"{LONG} {SECRET}"),
    "401": error(401, f"bad key {SECRET}"),
    "402": error(402, f"no credit on {SECRET}"),
    "403 moderation": error(403, f"flagged {SECRET}", metadata={"reasons": [SECRET]}),
    "404": error(404, f"no model for {SECRET}"),
    "429 forever": error(429, f"slow down {SECRET}", availability={"retry_after": 1e9}),
    "500": error(500, f"crashed with {SECRET}"),
    "error as text": lambda _request, _body: web.json_response({"error": f"oh {SECRET}"}, status=400),
    "no json": lambda _request, _body: web.Response(body=f"<p>{html.escape(SECRET)}</p>".encode(), status=400),
    "location": lambda _request, _body: web.Response(status=302,
        headers={"Location": f"http://127.0.0.1:9/?k={quote(SECRET)}"}),
    "retry-after": lambda _request, _body: web.Response(status=400, headers={"Retry-After": quote(SECRET)},
        body=SECRET.encode()),
    "refusal": answer(message={"content": None, "refusal": f"no, {SECRET}"}),
    "finish reason": answer(choice={"finish_reason": SECRET}),
    "native finish": answer(choice={"native_finish_reason": SECRET}),
    "served model": answer(whole={"model": SECRET}),
    "provider": answer(whole={"provider": SECRET}),
    "usage": answer(whole={"usage": {"prompt_tokens": SECRET, "cost": SECRET}}),
    "reasoning": answer(message={"reasoning": f"the key is {SECRET}"}),
    "parts": answer(content=[{"type": "text", "text": SECRET[:9]}, {"type": "text", "text": SECRET[9:]}]),
    **{f"text, {name}": answer(content=f"It is {form} indeed") for name, form in FORMS.items()},
    **{f"error, {name}": error(400, f"bad {form}!") for name, form in FORMS.items()},
}  # fmt: skip


@contextmanager
def echoing() -> Iterator[str]:
    """A server on 127.0.0.1 in a thread of its own; gives its base URL."""
    started, ended = threading.Event(), None
    port = 0

    async def completion(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        assert request.headers["Authorization"] == f"Bearer {SECRET}".encode().decode("utf-8")
        place = body["model"].partition(" ~ ")[0]
        if place == "cut stream":
            events = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await events.prepare(request)
            for at in range(0, len(SECRET), 3):
                choice = {"index": 0, "delta": {"content": SECRET[at : at + 3]}, "finish_reason": None}
                await events.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
            last = {"index": 0, "delta": {}, "finish_reason": "stop"}
            await events.write(b"data: " + json.dumps({"choices": [last]}).encode() + b"\n\n")
            return events
        return PLACES[place](request, body)

    async def models(_request: web.Request) -> web.Response:
        names = [*PLACES, "cut stream"]
        rows = [{"id": name, "description": f"for {SECRET}", "owned_by": SECRET, SECRET: 1} for name in names]
        return web.json_response({"data": [*rows, {"id": f"400 ~ {SECRET}"}]})

    async def serve() -> None:
        nonlocal port, ended
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(ended.set))
        application = web.Application()
        application.router.add_get("/v1/models", models)
        application.router.add_post("/v1/chat/completions", completion)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        started.set()
        await ended.wait()
        await runner.cleanup()

    stop: list[Callable[[], Any]] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        stop[0]()
        thread.join(30)


def leaks(text: str) -> list[str]:
    return [name for name, form in FORMS.items() if form in text]


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param([[], ["--json"], ["--recheck", "--progress", "jsonl"]], id="whole"),
        pytest.param([["--stream", "--json"]], id="streamed"),
    ],
)
def test_the_key_reaches_neither_disk_nor_screen(tmp_path: Path, ways: list[list[str]]) -> None:
    with echoing() as url:
        arguments = [
            sys.executable, "-m", "adhere", "sweep", url, "--suite", "core:in-family", "--limit", "2", "--out",
            str(tmp_path / "out"),
            "--html", str(tmp_path / "x.html"), "--xlsx", str(tmp_path / "x.xlsx"), "--patience", "2",
        ]  # fmt: skip
        environment = {**os.environ, "ADHERE_API_KEY": SECRET}
        runs = [
            subprocess.run(
                [*arguments, *way], capture_output=True, text=True, timeout=200, check=False, env=environment
            )
            for way in ways
        ]
    for done in runs:
        assert done.returncode in {0, 3}, done.stderr
        assert "Traceback" not in done.stderr
        assert not leaks(done.stdout), leaks(done.stdout)
        assert not leaks(done.stderr), leaks(done.stderr)
    assert any("***" in done.stdout for done in runs)
    with zipfile.ZipFile(tmp_path / "x.xlsx") as book:
        book.extractall(tmp_path / "book")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert sum("responses" in file.parts for file in files) >= 10
    found = {str(file): leaks(file.read_bytes().decode("utf-8", "replace")) for file in files}
    assert not {name: forms for name, forms in found.items() if forms}
