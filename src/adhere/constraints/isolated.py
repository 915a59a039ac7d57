"""Run verifiers of plug-ins from threads other than the main one, each thread in a process of its own.

A process can be ended, but Python cannot stop a thread in the middle of a call into C. One match of a careless regular
expression would block the interpreter, and with it the whole program, for ever. Our own and the published kinds run no
such pattern; a plug-in may. In the main thread a signal ends such a call, so nothing is isolated there.

The process imports the plug-in's module afresh, so a verifier must depend on nothing but its text and its parameters. A
class that cannot be imported (written at a prompt, or in a function) is run in the thread itself.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, BinaryIO

from adhere.constraints import limit
from adhere.constraints.limit import OverTime, clock_of_this_thread

if TYPE_CHECKING:
    from adhere.constraints.base import Constraint

_HEADER = 8  # bytes that say how long a message is
START_S = 120.0  # to start Python and import the plug-in, which is no time of the verifier's; busy machines take long


class NotHere(Exception):
    """Raised if the process cannot run a verifier; the caller then has to run it."""


class _Process:
    """Runs verifiers in one process, one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this Python, and this module
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # what is read ahead is nothing that `select` sees
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def ask(self, question: bytes, patience_s: float) -> Any:
        """Send a question to the process, and return what the verifier returned.

        Raises:
            NotHere: The process cannot load the verifier.
            OverTime: The verifier took too long.
            RuntimeError: The verifier raised.
        """
        to, back = self._process.stdin, self._process.stdout
        if to is None or back is None:
            raise AssertionError("the process was started without pipes")
        _send(to, question)
        kind, content = self._hear(back, START_S)
        if kind == "loaded":
            kind, content = self._hear(back, patience_s)
        if kind == "found":
            return content
        raise {"late": OverTime, "not here": NotHere}.get(kind, RuntimeError)(content)

    def _hear(self, back: BinaryIO | Any, patience_s: float) -> tuple[str, Any]:
        """Return the process's next message, which must come within `patience_s` seconds."""
        if not select.select([back], [], [], patience_s)[0]:
            raise OverTime
        message: tuple[str, Any] = pickle.loads(_receive(back))  # noqa: S301 - from a process of our own
        return message

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def __del__(self) -> None:
        if self._process.returncode is None:
            self.end()


_local = threading.local()
_not_here: set[type] = set()


def is_needed() -> bool:
    """Tell whether this is not the main thread: in such a thread nothing can end a call into C."""
    return threading.current_thread() is not threading.main_thread()


def check(constraint: Constraint, text: str, reasoning: str | None) -> Any:
    """Run a plug-in's verifier on a text in the process that belongs to this thread, and return its result.

    Raises:
        NotHere: The verifier can only be run in this thread.
        OverTime: The verifier took too long.
        RuntimeError: The verifier raised.
    """
    if type(constraint) in _not_here:
        raise NotHere
    process = getattr(_local, "process", None) or _Process()
    _local.process = process
    try:
        question = pickle.dumps((constraint, text, reasoning, limit.LIMIT_S, limit.WAIT_S, limit.LOOK_S))
    except Exception as error:
        _not_here.add(type(constraint))
        raise NotHere from error
    try:
        return process.ask(question, limit.WAIT_S + limit.LIMIT_S)
    except NotHere:
        _not_here.add(type(constraint))
        raise
    except (OverTime, EOFError, OSError):  # it is still at it, or gone
        _local.process = None
        process.end()
        raise


def serve() -> None:
    """Answer the parent's questions until the parent closes the pipe."""
    source, to = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a verifier prints is no answer
    while True:
        try:
            question = _receive(source)
        except EOFError:
            return
        try:
            constraint, text, reasoning, limit.LIMIT_S, limit.WAIT_S, limit.LOOK_S = pickle.loads(question)  # noqa: S301 - from our parent
        except Exception as error:  # noqa: BLE001 - whatever keeps a module from being imported here
            _send(to, pickle.dumps(("not here", repr(error))))
            continue
        _send(to, pickle.dumps(("loaded", None)))
        _send(to, pickle.dumps(_answer(constraint, text, reasoning)))


def _answer(constraint: Constraint, text: str, reasoning: str | None) -> tuple[str, Any]:
    clock = clock_of_this_thread()
    try:
        clock.start()
        finding = constraint.check_with(text, reasoning) if constraint.reads_reasoning else constraint.check(text)
        clock.stop()
        pickle.dumps(finding)
    except OverTime:
        clock.stop()
        return "late", None
    except Exception as error:  # noqa: BLE001 - it is told to the caller
        clock.stop()
        return "raised", f"{type(error).__name__}: {error}"
    return "found", finding


def _send(pipe: BinaryIO | Any, message: bytes) -> None:
    rest = memoryview(len(message).to_bytes(_HEADER, "big") + message)
    while rest:
        rest = rest[pipe.write(rest) :]  # an unbuffered pipe may take a part
    pipe.flush()


def _receive(pipe: BinaryIO | Any) -> bytes:
    return _read(pipe, int.from_bytes(_read(pipe, _HEADER), "big"))


def _read(pipe: BinaryIO | Any, size: int) -> bytes:
    """Read exactly `size` bytes, although a pipe returns them in parts."""
    parts = bytearray()
    while len(parts) < size:
        part = pipe.read(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
