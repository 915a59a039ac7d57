"""What a server on 127.0.0.1 does with clients that send no whole request, or no HTTP."""

from __future__ import annotations

import asyncio
import logging

import pytest
from aiohttp import web

from adhere.models.fake.loopback import listen


async def say(port: int, data: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def talk(*parts: bytes) -> list[bytes]:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=(await request.read()).decode())

    async def run() -> list[bytes]:
        application = web.Application()
        application.router.add_route("*", "/", answer)
        runner, port = await listen(application, 0, patience_s=0.4)
        try:
            return list(await asyncio.gather(*(say(port, part) for part in parts)))
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def test_half_a_request_is_not_waited_for() -> None:
    head = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n"
    silent, half, body, whole = talk(b"", head, head + b"\r\nab", head + b"Connection: close\r\n\r\nabcde")
    assert (silent, half) == (b"", b"")
    assert body.startswith(b"HTTP/1.1 408")
    assert whole.startswith(b"HTTP/1.1 200")
    assert whole.endswith(b"abcde")


def test_what_is_no_http_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        (reply,) = talk(b"GET / HTTP/1.1\r\nHost: here\r\nContent-Length: many\r\n\r\n")
    assert reply.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert not [record for record in caplog.records if record.exc_info]
