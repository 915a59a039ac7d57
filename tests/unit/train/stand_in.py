"""A stand-in for a vLLM server, on 127.0.0.1.

It reads the weights that it is told to, and draws from them with our decoder.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from adhere.models.local.decoder.decode import Decoder, DecodeRow
from adhere.models.local.transformers import load_weights


class StandIn:
    """What the server was asked, and how it behaves.

    `stale`: it says that it has read new weights, and goes on with the old ones. `busy`: so many calls are answered
    503. `mute`: it does not say which tokens it drew.
    """

    def __init__(self, weights: Path) -> None:
        self.model, _ = load_weights(weights)
        self.url, self.loaded, self.resets = "", list[str](), 0
        self.asked = list[dict[str, Any]]()
        self.stale = self.mute = self.is_production = False
        self.busy = 0

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "policy"}]})

    async def rpc(self, request: web.Request) -> web.Response:
        if self.is_production:
            return web.Response(status=404)
        body = await request.json()
        assert body["method"] == "reload_weights"
        self.loaded.append(body["kwargs"]["weights_path"])
        if not self.stale:
            self.model, _ = load_weights(Path(self.loaded[-1]))
        return web.json_response({"results": [None]})

    async def reset(self, _: web.Request) -> web.Response:
        self.resets += 1
        return web.Response()

    async def completions(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.busy:
            self.busy -= 1
            return web.Response(status=503, text="busy")
        self.asked.append(body)
        decoder = Decoder(self.model, end_ids=body["stop_token_ids"], rows=1)
        (drawn,) = decoder.decode(
            [DecodeRow(tuple(body["prompt"]), body["seed"])],
            max_new_tokens=body["max_tokens"],
            temperature=body["temperature"],
            log_probs="logprobs" in body,
        )
        choice: dict[str, Any] = {"text": "", "finish_reason": "stop" if drawn.stopped else "length"}
        if not self.mute:
            choice |= {"token_ids": list(drawn.drawn)}
        if "logprobs" in body:
            choice["logprobs"] = {"token_logprobs": list(drawn.log_probs)}
        return web.json_response({"choices": [choice]})


@contextlib.contextmanager
def serving(weights: Path) -> Iterator[StandIn]:
    """The server in a thread of its own."""
    server, ready, loop = StandIn(weights), threading.Event(), asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=2**24)
        app.router.add_get("/v1/models", server.models)
        app.router.add_post("/v1/completions", server.completions)
        app.router.add_post("/collective_rpc", server.rpc)
        app.router.add_post("/reset_prefix_cache", server.reset)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
