"""Servers that only this machine may talk to.

A page of any site can send requests to 127.0.0.1, and by rebinding its own name to that address it can read the
answers. Therefore such a server answers only requests whose Host is a loopback name with its own port, and whose
Origin, where one is given, is the server itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Middleware

from adhere.models.http.keys import is_loopback

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Refuse = Callable[[str], web.Response]
HOST = "127.0.0.1"
PATIENCE_S = 30.0
KEEPALIVE_S, LINGER_S = 75.0, 1.0
_logger = logging.getLogger("adhere.loopback")
_logger.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))


def refusal(request: web.Request, port: int) -> str:
    """Return why a request does not come from this machine itself; empty: it does."""
    host = request.headers.get("Host", "")
    if not _is_here(f"http://{host}", port):
        return f"Host {host!r} is not this server: use http://{HOST}:{port}"
    origin = request.headers.get("Origin")
    if origin is not None and not _is_here(origin, port):
        return f"Origin {origin!r} is another site"
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        return "another site's page asks"
    return ""


def _is_here(url: str, port: int) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and is_loopback(url) and (parts.port or 80) == port and not parts.username
    except ValueError:
        return False


def guard(port: Callable[[], int], refuse: Refuse) -> Middleware:
    """Make the middleware that applies `refusal`.

    Args:
        port: Returns the port that the server listens on.
        refuse: Makes a response with status 403 from the reason.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        reason = refusal(request, port())
        return refuse(reason) if reason else await handler(request)

    return middleware


async def listen(
    application: web.Application, port: int, *, patience_s: float = PATIENCE_S
) -> tuple[web.AppRunner, int]:
    """Start serving on 127.0.0.1; return the runner and the port (0 takes any free one).

    The caller must clean up the runner. A request is cancelled if its client has gone. A connection that sends no whole
    request within `patience_s` is closed. Anything but HTTP gets a 400 and no traceback on our terminal.

    Raises:
        OSError: The port is taken.
    """
    with_request = set[web.RequestHandler]()

    @web.middleware
    async def whole(request: web.Request, handler: Handler) -> web.StreamResponse:
        with_request.add(request.protocol)
        try:
            async with asyncio.timeout(patience_s):
                await request.read()  # it is kept, so the handler reads it again at no cost
        except TimeoutError:
            reason = f"The body did not come within {patience_s:g} s"
            raise web.HTTPRequestTimeout(reason=reason, headers={"Connection": "close"}) from None
        return await handler(request)

    async def close_silent() -> None:
        silent_since: dict[web.RequestHandler, float] = {}
        while True:
            await asyncio.sleep(patience_s / 4)
            now, connections = time.monotonic(), runner.server.connections if runner.server is not None else []
            with_request.intersection_update(connections)
            silent_since = {
                connection: silent_since.get(connection, now)
                for connection in connections
                if connection not in with_request
            }
            for connection, since in silent_since.items():
                if now - since > patience_s and connection.transport is not None:
                    connection.transport.abort()

    async def closing(_: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(close_silent())
        yield
        task.cancel()

    application.middlewares.append(whole)
    application.cleanup_ctx.append(closing)
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=1.0,
        handler_cancellation=True,
        keepalive_timeout=KEEPALIVE_S,
        lingering_time=LINGER_S,
        logger=_logger,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
    except BaseException:
        await runner.cleanup()
        raise
    return runner, int(runner.addresses[0][1])
