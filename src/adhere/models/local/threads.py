"""Turns a blocking computation in a thread into an async stream, so that the event loop (and Ctrl-C) responds."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ConsumerLeft(Exception):
    """Raised inside the working thread by `Sender.check` once the stream has been closed."""


class Sender(Generic[T]):
    """The working thread's end of a stream."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[T | BaseException | None] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.left = threading.Event()

    def send(self, item: T | BaseException | None) -> None:
        """Send a result, or the error that ended the work, or None at the end."""
        if not self.left.is_set():
            with contextlib.suppress(RuntimeError):  # the loop closed between the two lines: nobody listens
                self.loop.call_soon_threadsafe(self.queue.put_nowait, item)

    def check(self) -> None:
        """Stop the work if the stream is closed; call it between steps.

        Raises:
            ConsumerLeft: The stream was closed.
        """
        if self.left.is_set():
            raise ConsumerLeft


async def stream(work: Callable[[Sender[T]], None]) -> AsyncGenerator[T, None]:
    """Run `work` in a thread of its own, yield what it sends, and raise what it raises.

    Closing the stream early makes the next `Sender.check` raise, and waits for the thread to end.
    """
    sender: Sender[T] = Sender()

    def run() -> None:
        try:
            work(sender)
        except ConsumerLeft:
            return
        except BaseException as error:  # noqa: BLE001 - raised again in the consumer's thread
            sender.send(error)
        else:
            sender.send(None)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    try:
        while (item := await sender.queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        sender.left.set()
        await asyncio.to_thread(worker.join)
