"""The processes that wait for calls: one for each hash seed, started when first needed, replaced when one dies."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import resources
from typing import Any, NamedTuple

from adhere.sandbox import bubblewrap

HASH_SEEDS = (1, 2)
START_S = 30.0
GRACE_S = 10.0  # beyond the worker's own limit, before the worker itself is given up

_BOOT = """
import os, struct, json, sys, types
def exactly(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part: raise SystemExit
        data += part
    return data
texts, landlock = json.loads(exactly(struct.unpack(">I", exactly(4))[0]))
for name in ("adhere", "adhere.sandbox"):
    sys.modules[name] = types.ModuleType(name)
for name, text in texts:
    module = sys.modules["adhere.sandbox." + name] = types.ModuleType("adhere.sandbox." + name)
    setattr(sys.modules["adhere.sandbox"], name, module)
    exec(compile(text, "<sandbox " + name + ">", "exec"), module.__dict__)
module.serve(landlock)
"""
# A worker is used only if code in it cannot do any of this.
_PROBE = """
import os
def probe():
    held = []
    for name, attempt in (("open", lambda: open("/etc/passwd").read()), ("list", lambda: os.listdir("/")), ("fork", os.fork),
                          ("write", lambda: open("/tmp/adhere-probe", "w")), ("kill", lambda: os.kill(os.getppid(), 0)),
                          ("execute", lambda: os.execv("/bin/true", ["true"])), ("limit", lambda: limit())):
        try:
            attempt()
            held.append(name)
        except OSError:
            pass
    if os.environ:
        held.append("environment")
    try:
        import socket
        socket.socket()
        held.append("network")
    except (OSError, ImportError):
        pass
    return held
def limit():
    import resource
    resource.setrlimit(resource.RLIMIT_AS, resource.getrlimit(resource.RLIMIT_AS))
"""


class Answer(NamedTuple):
    """Holds a worker's report of one call; `payload` is the value's JSON, unread, if `status` is `ok`."""

    status: str
    reason: str
    payload: bytes


class NoIsolation(Exception):
    """Says that nothing here isolates code, and what is missing."""


class DeadWorker(Exception):
    """Says that a worker ended or did not answer."""


class Worker:
    """Starts one process that waits for calls, and sends calls to it.

    Args:
        hash_seed: PYTHONHASHSEED of the interpreter.
        bwrap: Whether to wrap the process in bubblewrap.
        landlock: Whether to fence its files with Landlock.

    Raises:
        NoIsolation: The process does not start, or code in it could do what it must not.
    """

    def __init__(self, hash_seed: int, *, bwrap: bool, landlock: bool) -> None:
        if sys.platform != "linux":
            raise NoIsolation(f"the sandbox needs Linux; this is {sys.platform}")
        interpreter = os.path.realpath(sys.executable) if sys.executable else ""
        if not interpreter:
            raise NoIsolation("the sandbox needs to know where the interpreter is, and sys.executable is empty")
        command = [interpreter, "-s", "-S", "-P", "-B", "-X", "utf8", "-c", _BOOT]
        if bwrap:
            inside = bubblewrap.wrap_command(command, hash_seed=hash_seed)
            if inside is None:
                raise NoIsolation("bubblewrap is not installed")
            command = inside
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, without a shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": str(hash_seed)},
            close_fds=True,
            start_new_session=True,
            cwd="/",
        )
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101
        self._in, self._out = self.process.stdin, self.process.stdout
        try:
            self._start(bwrap=bwrap, landlock=landlock)
        except BaseException:
            self.stop()
            raise

    def _start(self, *, bwrap: bool, landlock: bool) -> None:
        try:
            texts = [(name, _text(name)) for name in ("lockdown", "worker")]
            self._send([texts, landlock])
            header, _ = self._receive(time.monotonic() + START_S)
            if "refused" in header:
                raise NoIsolation(header["refused"])
            self.fences = tuple(header["fences"]) + (("bubblewrap",) if bwrap else ())
            answer = self.call(_PROBE, "probe", [], timeout_s=5.0, memory_mb=256)
        except DeadWorker as problem:
            raise NoIsolation(f"a worker{' in bubblewrap' if bwrap else ''} does not start: {problem}") from problem
        if answer.status != "ok" or answer.payload != b"[]":
            escapes = answer.payload.decode() if answer.status == "ok" else f"{answer.status}, {answer.reason}"
            raise NoIsolation(f"code in a worker could still do what it must not: {escapes}")

    def begin(self, source: str, function: str, args: list[Any], *, timeout_s: float, memory_mb: int) -> float:
        """Send one call; return the deadline (monotonic, in seconds) of its answer."""
        call = {"source": source, "function": function, "args": args, "timeout_s": timeout_s, "memory_mb": memory_mb}
        self._send(call)
        return time.monotonic() + 2 * timeout_s + GRACE_S

    def finish(self, until: float) -> Answer:
        """Wait for the answer to the call that was begun, until the deadline `until`."""
        header, payload = self._receive(until)
        return Answer(header["status"], header["reason"], payload)

    def call(self, source: str, function: str, args: list[Any], *, timeout_s: float, memory_mb: int) -> Answer:
        """Run one call.

        Raises:
            DeadWorker: The worker ended or did not answer, and must be replaced.
        """
        return self.finish(self.begin(source, function, args, timeout_s=timeout_s, memory_mb=memory_mb))

    def stop(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.process.wait()

    def _send(self, value: object) -> None:
        body = json.dumps(value).encode()
        data = memoryview(struct.pack(">I", len(body)) + body)
        try:
            while data:
                data = data[os.write(self._in.fileno(), data) :]
        except (OSError, ValueError) as error:  # ValueError: it was stopped, so the pipe is closed
            raise DeadWorker(f"it does not take calls ({error})") from error

    def _receive(self, until: float) -> tuple[dict[str, Any], bytes]:
        head = json.loads(self._read(struct.unpack(">I", self._read(4, until))[0], until))
        return head, self._read(head["bytes"], until)

    def _read(self, size: int, until: float) -> bytes:
        parts = []
        while size:
            stream = self._out.fileno()
            watch = select.poll()  # not select.select, which takes no number above 1023
            watch.register(stream, select.POLLIN)
            ready = watch.poll(max(0.0, until - time.monotonic()) * 1000)
            part = os.read(stream, size) if ready else b""
            if not part:
                raise DeadWorker("it ended" if ready else "it does not answer")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _text(name: str) -> str:
    return resources.files("adhere.sandbox").joinpath(f"{name}.py").read_text(encoding="utf-8")


# (bubblewrap, Landlock), strongest first. Without either, code can read no file at all, only what was imported before.
FENCES = ((True, True), (True, False), (False, True), (False, False))


class Pool:
    """Holds the workers of this process: one for each hash seed, with the strongest fences that work here.

    Args:
        fences: The fences to try, in order.

    Raises:
        NoIsolation: None of the fences works here.
    """

    def __init__(self, fences: Sequence[tuple[bool, bool]] = FENCES) -> None:
        self.lock = threading.Lock()
        problems = []
        for bwrap, landlock in fences:
            self._fences = {"bwrap": bwrap, "landlock": landlock}
            try:
                self.workers = [Worker(seed, **self._fences) for seed in HASH_SEEDS]
            except NoIsolation as problem:
                problems.append(str(problem))
            else:
                self.fences = self.workers[0].fences
                return
        raise NoIsolation("; ".join(dict.fromkeys(problems)))

    def replace(self, index: int) -> None:
        """Start a new worker in place of one that died."""
        self.workers[index].stop()
        self.workers[index] = Worker(HASH_SEEDS[index], **self._fences)

    def stop(self) -> None:
        """End all workers."""
        for worker in self.workers:
            worker.stop()

    def forget(self) -> None:
        """Close the pipes to the parent's workers without ending them, in a process that was forked."""
        for worker in self.workers:
            for pipe in (worker.process.stdin, worker.process.stdout):
                if pipe is not None:
                    pipe.close()
            worker.process.returncode = 0  # not a child of this process, so nothing to wait for


_pool: Pool | str | None = None  # the pool, or why there is none
_making = threading.Lock()


def pool() -> Pool:
    """Return the workers of this process; a process that was forked gets its own.

    Raises:
        NoIsolation: There is no isolation here; this is remembered.
    """
    global _pool  # noqa: PLW0603 - one pool a process
    with _making:
        if _pool is None:
            try:
                _pool = Pool()
            except NoIsolation as problem:
                _pool = str(problem)
        if isinstance(_pool, str):
            raise NoIsolation(_pool)
        return _pool


def _at_exit() -> None:
    if isinstance(_pool, Pool):
        _pool.stop()


def _after_fork() -> None:
    """Make a new lock and forget the parent's workers, in a process that was just forked."""
    global _making, _pool  # noqa: PLW0603 - one pool a process
    _making = threading.Lock()
    if isinstance(_pool, Pool):
        _pool.forget()
        _pool = None


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
