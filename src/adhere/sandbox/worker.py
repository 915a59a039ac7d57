"""The program of a worker: it reads calls from its standard input, forks once for each, and writes the outcomes.

The worker itself never runs code of a call. It loads the modules that checks use, fences its files and drops its
privileges once; each fork then gives up the rest (system calls, memory, processor time, the worker's own pipes) before
the code runs. This file is sent as text to an interpreter that has the standard library and nothing else.

A call answers through a pipe of its own, which nobody else can write to and which is read until the process has ended.
The worker takes the answer only with the token that it gave this one fork, so what the code writes to its file
descriptors is not taken for an answer. It forwards the value unread; the reader takes it for JSON or for nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import math
import os
import resource
import secrets
import select
import signal
import struct
import sys
import sysconfig
import time
from collections.abc import Callable
from typing import Any

from adhere.sandbox import lockdown

# The C library's fork rather than Python's: this process has one thread, so nothing needs to be set right after a fork,
# and what os.fork does then touches half of all pages that a call touches (0.4 of 1.5 ms).
_fork = ctypes.PyDLL(None).fork
MOST_BYTES = 1 << 20  # of an answer
MOST_DEPTH = 100  # of a value's nesting
MOST_REASON = 300  # characters
_TOKEN_BYTES = 16
_PRELOADED = (
    "abc", "ast", "base64", "bisect", "calendar", "cmath", "collections", "collections.abc", "contextlib", "copy",
    "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq",
    "html", "html.parser", "io", "itertools", "json", "locale", "math", "numbers", "operator", "random", "re",
    "statistics", "string", "struct", "textwrap", "time", "traceback", "types", "typing", "unicodedata", "urllib.parse",
    "xml.etree.ElementTree",
)  # fmt: skip


def serve(landlock: bool) -> None:  # noqa: FBT001 - as it comes over the pipe
    """Answer calls until standard input ends.

    The first answer names the fences of this worker, or says why there are none.

    Args:
        landlock: Whether to fence the files with Landlock; without it, code can open none.
    """
    calls_in, calls_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.environ.clear()
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _PRELOADED:
        importlib.import_module(name)
    fences = []
    try:
        lockdown.drop_privileges()
        if landlock:
            _fence_files()
            fences.append("landlock")
        system_calls = lockdown.SystemCalls(files=landlock)
    except (lockdown.Unavailable, OSError) as problem:
        _answer(calls_out, {"refused": str(problem)})
        return
    gc.collect()
    gc.freeze()
    _answer(calls_out, {"fences": [*fences, "seccomp"]})
    while (call := _next_call(calls_in)) is not None:
        header, payload = _one(call, system_calls, (calls_in, calls_out, nothing))
        _answer(calls_out, header, payload)


def _fence_files() -> None:
    """Leave the standard library readable, without the packages that were installed into it."""
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    lockdown.fence_files([path for folder in folders for path in readable_in(folder)], sorted(folders))


def readable_in(folder: str) -> list[str]:
    """List the entries of a folder of the standard library that code may read.

    Installed packages and links to nowhere are left out.
    """
    packages = {"site-packages", "dist-packages"}
    return [
        entry.path
        for entry in os.scandir(folder)
        if entry.name not in packages and os.path.exists(entry.path)  # noqa: PTH110 - this file imports little
    ]


def _next_call(stream: int) -> dict[str, Any] | None:
    head = _exactly(stream, 4)
    if head is None:
        return None
    body = _exactly(stream, struct.unpack(">I", head)[0])
    return None if body is None else json.loads(body)


def _exactly(stream: int, size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(stream, min(size, 1 << 16))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _answer(stream: int, header: dict[str, Any], payload: bytes = b"") -> None:
    head = json.dumps({**header, "bytes": len(payload)}).encode()
    data = memoryview(struct.pack(">I", len(head)) + head + payload)
    while data:
        data = data[os.write(stream, data) :]


def _one(
    call: dict[str, Any], system_calls: lockdown.SystemCalls, pipes: tuple[int, int, int]
) -> tuple[dict[str, Any], bytes]:
    """Run one call in a fork of its own; return the header and the payload of the answer."""
    token = secrets.token_bytes(_TOKEN_BYTES)
    reading, writing = os.pipe()
    child = _fork()
    if child < 0:
        return {"status": "error", "reason": "this machine starts no more processes"}, b""
    if child == 0:
        # whatever happens in here, this process ends in here
        try:
            _inside(call, system_calls, pipes, writing, token)
        finally:
            os._exit(1)
    os.close(writing)
    try:
        answer, ran_out = _read_all(reading, child, call["timeout_s"])
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, wait_status, usage = os.wait4(child, 0)
    if ran_out == "computed":
        return {"status": "timeout", "reason": f"used more than {call['timeout_s']:g} s of processor time"}, b""
    if ran_out:
        reason = (
            f"came to no {call['timeout_s']:g} s of processor time in {2 * call['timeout_s']:g} s: it waits, "
            "or the machine is busy"
        )
        return {"status": "waited", "reason": reason}, b""
    return _outcome(answer, token, wait_status, usage, call)


def _outcome(
    answer: bytes, token: bytes, wait_status: int, usage: resource.struct_rusage, call: dict[str, Any]
) -> tuple[dict[str, Any], bytes]:
    kind = {b"v": "ok", b"e": "error", b"m": "memory"}.get(answer[_TOKEN_BYTES : _TOKEN_BYTES + 1])
    if wait_status == 0 and len(answer) <= MOST_BYTES and kind and secrets.compare_digest(answer[:_TOKEN_BYTES], token):
        rest = answer[_TOKEN_BYTES + 1 :]
        if kind == "ok":
            return {"status": "ok", "reason": ""}, rest
        return {"status": kind, "reason": rest.decode("utf-8", "replace")[:MOST_REASON]}, b""
    if os.WIFSIGNALED(wait_status):
        name = signal.Signals(os.WTERMSIG(wait_status)).name
        if name in {"SIGXCPU", "SIGKILL"}:
            return {"status": "timeout", "reason": f"used more than {call['timeout_s']:g} s of processor time"}, b""
        status = "memory" if usage.ru_maxrss * 1024 > 0.8 * call["memory_mb"] * 1e6 else "error"
        return {"status": status, "reason": f"the process died of {name}"}, b""
    return {"status": "error", "reason": "the process ended without an answer of its runner"}, b""


def _read_all(stream: int, child: int, timeout_s: float) -> tuple[bytes, str]:
    """Read everything until the process ends; return it, and which time ran out: `computed`, `waited`, or empty.

    `timeout_s` limits the processor time of the process. A process that waits, or that a busy machine does not let run,
    is ended after twice that time.
    """
    start, size = time.monotonic(), 0
    parts: list[bytes] = []
    clock = (~child << 3) | 2  # the processor time of another process: linux/posix-timers.h, CPUCLOCK_SCHED
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    while True:
        waited_s = time.monotonic() - start
        computed_s = time.clock_gettime(clock)
        remaining_s = min(timeout_s - computed_s, 2 * timeout_s - waited_s)
        if remaining_s <= 0:
            return b"", "computed" if computed_s >= timeout_s else "waited"
        if not poll.poll(min(remaining_s, 0.5) * 1000 + 1):
            continue
        part = os.read(stream, 1 << 16)
        if not part:
            return b"".join(parts), ""
        size += len(part)
        if size <= MOST_BYTES + 1:
            parts.append(part)


def _inside(
    call: dict[str, Any], system_calls: lockdown.SystemCalls, pipes: tuple[int, ...], writing: int, token: bytes
) -> None:
    """Give everything up, run the code, write one answer, and end; this is the fork."""
    for pipe in pipes:
        os.close(pipe)
    os.dup2(writing, 3)
    os.closerange(4, 256)
    memory = int(call["memory_mb"] * 1_000_000)
    seconds = math.ceil(call["timeout_s"]) + 1
    limits = {
        resource.RLIMIT_AS: memory, resource.RLIMIT_DATA: memory, resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 16, resource.RLIMIT_CORE: 0, resource.RLIMIT_NPROC: 0, resource.RLIMIT_MEMLOCK: 0,
    }  # fmt: skip
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    system_calls.restrict()
    kind, payload = _call(call["source"], call["function"], call["args"])
    data = memoryview(token + kind + payload)
    while data:
        data = data[os.write(3, data) :]
    os._exit(0)


def _call(source: str, function: str, args: list[Any]) -> tuple[bytes, bytes]:
    """Return (kind, payload) of one call: `v` with JSON, `e` with a reason, `m` if the memory did not suffice."""
    try:
        space: dict[str, Any] = {"__name__": "sandboxed", "__builtins__": __builtins__}
        exec(compile(source, "<code>", "exec", dont_inherit=True), space)  # noqa: S102 - what all of this is for
        target: Callable[..., Any] | None = space.get(function)
        if not callable(target):
            return b"e", f"the source defines no function {function!r}".encode("utf-8", "replace")
        value = json.dumps(_plain(target(*args), MOST_DEPTH), allow_nan=False).encode()
    except MemoryError:
        return b"m", b"needed more memory than it may have"
    except BaseException as problem:  # noqa: BLE001 - whatever the code throws is what came of the call
        with contextlib.suppress(BaseException):
            return b"e", f"{type(problem).__name__}: {problem}"[:MOST_REASON].encode("utf-8", "replace")
        return b"e", b"raised something that cannot be shown"
    if len(value) > MOST_BYTES - 100:
        return b"e", f"returned {len(value)} bytes of JSON; at most {MOST_BYTES - 100} are taken".encode()
    return b"v", value


def _plain(value: Any, depth: int) -> Any:
    """Return the value if it is plain JSON: exact types, so that no code of the call runs while it is written."""
    if depth == 0:
        raise ValueError(f"returned a value nested deeper than {MOST_DEPTH}")
    kind = type(value)
    if value is None or kind in {bool, int, str}:
        return value
    if kind is float:
        if not math.isfinite(value):
            raise ValueError(f"returned {value}, which is no JSON value")
        return value
    if kind in {list, tuple}:
        return [_plain(item, depth - 1) for item in value]
    if kind is dict:
        if any(type(key) is not str for key in value):
            raise TypeError("returned a dict with a key that is no str, which is no JSON value")
        return {key: _plain(item, depth - 1) for key, item in value.items()}
    raise TypeError(f"returned a {kind.__name__}, which is no JSON value")


if __name__ == "__main__":  # pragma: no cover - a worker is started with its text, see workers.py
    sys.exit("This file is not run by hand; use adhere.sandbox.run")
