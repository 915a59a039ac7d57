"""Starts a server on this machine, waits until it answers, and stops it.

    with start_server([vllm, "serve", folder, "--port", str(port)], base_url=url, log=log) as server:
        ...                                  server.base_url answers; what it prints is in `log`

A server that ends before it answers, or does not answer in time, is an error with the last lines that it printed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from adhere.errors import AdhereError, UsageError
from adhere.terminal import one_line

WAIT_S = 900.0
"""Seconds that a server may take to answer: reading large weights and compiling graphs take many minutes."""
STOP_S = 15.0
KNOCK_S = 0.5
TELL_S = 30.0
LAST_LINES = 12
_LAST_BYTES = 16_384


class StartedServer:
    """A running server; as a context manager, it stops the server at the end.

    Attributes:
        base_url: The URL at which it answers.
        log: The file with its output.
        process: Its process, which leads a group of its own.
    """

    def __init__(self, process: subprocess.Popen[bytes], base_url: str, log: Path) -> None:
        self.process, self.base_url, self.log = process, base_url, log
        atexit.register(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether the server's process has not ended."""
        return self.process.poll() is None

    def last_lines(self, count: int = LAST_LINES) -> list[str]:
        """Return the last lines of the server's output, without control characters."""
        return last_lines(self.log, count)

    def stop(self) -> None:
        """End the server and everything that it started; do nothing if it has ended."""
        atexit.unregister(self.stop)
        for signal_number, wait_s in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, STOP_S)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal_number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(wait_s)
                if signal_number == signal.SIGKILL or not _has_group(self.process.pid):
                    return


def start_server(
    command: Sequence[str],
    *,
    base_url: str,
    log: Path,
    wait_s: float = WAIT_S,
    env: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> StartedServer:
    """Start a command and return when its server answers.

    Args:
        command: Program and arguments; the first may be a name on PATH.
        base_url: The URL at which it will answer: GET base_url/models with status 200.
        log: A file for its output, both streams. Output is appended, and the folder is created.
        wait_s: How long it may take until it answers.
        env: Variables besides this process's own.
        say: Called with a line when it is started, and now and then while it is waited for.

    Raises:
        UsageError: There is no such program.
        AdhereError: The server ended before it answered, or took too long; the message has its last lines.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    command_line = shlex.join(command)
    say(f"Starting {command_line} (log: {log})")
    try:
        with log.open("ab") as out:
            process = subprocess.Popen(  # noqa: S603 - what it starts is a user's own program, without a shell
                list(command), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})}, start_new_session=True,
            )  # fmt: skip
    except OSError as error:
        raise UsageError(
            f"{command[0]} cannot be started: {error.strerror or error}. The command was: {command_line}"
        ) from None
    server = StartedServer(process, base_url, log)
    try:
        _wait(server, command_line, wait_s, say)
    except BaseException:
        server.stop()
        raise
    return server


def _wait(server: StartedServer, command_line: str, wait_s: float, say: Callable[[str], None]) -> None:
    start = last_told_s = time.monotonic()
    while not _lists_models(server.base_url):
        now = time.monotonic()
        if not server.is_running:
            raise AdhereError(
                _problem(server, f"ended with exit code {server.process.returncode} before it answered", command_line)
            )
        if now - start > wait_s:
            raise AdhereError(
                _problem(server, f"did not answer at {server.base_url} within {wait_s:g} s", command_line)
            )
        if now - last_told_s >= TELL_S:
            last_told_s = now
            latest = server.last_lines(1)
            say(
                f"Waiting for {server.base_url} ({now - start:.0f} s of at most {wait_s:g} s)"
                + "".join(f": {line}" for line in latest)
            )
        time.sleep(KNOCK_S)


def _problem(server: StartedServer, event: str, command_line: str) -> str:
    lines = server.last_lines() or ["(it printed nothing)"]
    return "\n  ".join(
        [f"The server {event}. Its last lines ({server.log}):", *lines, f"The command was: {command_line}"]
    )


def _lists_models(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/models", timeout=5) as reply:  # noqa: S310 - the caller's own URL
            return bool(reply.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False


def last_lines(log: Path, count: int = LAST_LINES) -> list[str]:
    """Return the last lines of a log, without control characters; empty if there is no such file."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [one_line(line)[:300] for line in text.splitlines() if line.strip()][-count:]


def free_port() -> int:
    """Return a port of 127.0.0.1 at which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _has_group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
