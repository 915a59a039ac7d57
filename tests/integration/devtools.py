"""Drives a headless Chromium over its DevTools protocol: enough to click, look and take pictures. Loaded by path."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-port=0",
]  # fmt: skip


class Tab:
    """One page.

    `requests` are all addresses it asked for, `messages` what it wrote to the console, refusals included.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.requests: list[str] = []
        self.messages: list[str] = []
        self._loaded = asyncio.Event()

    async def listen(self) -> None:
        async for message in self._socket:
            found = json.loads(message.data)
            if "id" in found:
                self._waiting.pop(found["id"]).set_result(found)
                continue
            values = found.get("params", {})
            match found["method"]:
                case "Network.requestWillBeSent":
                    self.requests.append(values["request"]["url"])
                case "Runtime.consoleAPICalled":
                    self.messages.append(f"{values['type']}: {[one.get('value') for one in values['args']]}")
                case "Runtime.exceptionThrown":
                    self.messages.append(f"exception: {values['exceptionDetails']}")
                case "Log.entryAdded":
                    self.messages.append(f"{values['entry']['level']}: {values['entry']['text']}")
                case "Page.javascriptDialogOpening":
                    self.messages.append(f"dialog: {values['message']}")
                case "Page.loadEventFired":
                    self._loaded.set()

    async def send(self, method: str, **values: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": values})
        found = await asyncio.wait_for(self._waiting[number], 120)
        assert "error" not in found, found
        return dict(found["result"])

    async def open(self, address: str) -> float:
        """Go there; seconds until the page had loaded."""
        self._loaded.clear()
        start = time.monotonic()
        await self.send("Page.navigate", url=address)
        await asyncio.wait_for(self._loaded.wait(), 120)
        return time.monotonic() - start

    async def run(self, script: str) -> Any:
        """The value of an expression (promises are awaited)."""
        found = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, script: str, *, seconds: float = 20) -> Any:
        """Wait for an expression to become true."""
        end = time.monotonic() + seconds
        while not (found := await self.run(script)):
            assert time.monotonic() < end, f"{script} never became true"
            await asyncio.sleep(0.05)
        return found

    async def size(self, width: int, height: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    async def scheme(self, name: str) -> None:
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    async def picture(self, path: Path, *, whole: bool = False) -> bytes:
        found = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        data = base64.b64decode(found["data"])
        await asyncio.to_thread(path.write_bytes, data)
        return data


@contextlib.asynccontextmanager
async def tab(profile: Path) -> AsyncIterator[Tab]:
    """A new browser with one page, whose profile goes into a folder of its own."""
    assert CHROMIUM is not None
    browser = subprocess.Popen(  # noqa: ASYNC220 - it runs beside us
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        file = profile / "DevToolsActivePort"
        end = time.monotonic() + 60
        while not file.exists() or "\n" not in file.read_text():
            assert time.monotonic() < end, "Chromium did not start"
            await asyncio.sleep(0.05)
        port = file.read_text().splitlines()[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as reply:
                pages = [one for one in await reply.json() if one["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                found = Tab(socket)
                listening = asyncio.create_task(found.listen())
                for room in ("Page", "Runtime", "Network", "Log"):
                    await found.send(f"{room}.enable")
                yield found
                listening.cancel()
    finally:
        browser.terminate()
        browser.wait(30)
