"""Limit the time that one verifier may take on one answer, in any thread.

    clock = clock_of_this_thread()
    try:
        clock.start()
        ...
        clock.stop()
    except OverTime:
        clock.stop()
        ...                      no verdict
    except BaseException:
        clock.stop()
        raise

The limit is on the processor time of the thread, so that a busy machine changes no verdict. A verifier that only waits
(it sleeps, or asks a network) is stopped after WAIT_S. Starting and stopping cost a fifth of a microsecond: they only
note that a verifier runs, and a watching thread looks at the notes every LOOK_S.

How a verifier is stopped:

* In the main thread by a signal (SIGVTALRM, from a timer of the process's own time or from the watching thread), which
  also ends a regular expression or a sleep. A program that uses this signal itself keeps it; then as in other threads.
* In another thread by an exception that Python raises there before its next instruction. One call into C (a sleep, one
  match of a regular expression) ends before that; what the verifier then says is not used. For plug-ins, of which
  nobody knows how long that takes, `isolated.py` has a way out.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from types import FrameType

LIMIT_S = 10.0
"""Seconds of processor time. On 1,000,000 characters (`text.size`), our slowest kind takes about two."""
WAIT_S = 60.0
"""Seconds on the clock, for a verifier that waits."""
LOOK_S = 0.5
_IDLE_LOOKS = 10
_HAS_SIGNALS = hasattr(signal, "SIGVTALRM") and hasattr(signal, "pthread_kill")


class OverTime(BaseException):
    """Raised in a verifier whose time is up.

    This is no Exception, so that a verifier that catches all Exceptions is stopped too.
    """


class Clock:
    """Records for one thread whether a verifier runs, and since when."""

    __slots__ = (
        "_cpu_at", "_cpu_clock", "_due", "_is_signalled", "_looks", "_seen", "is_watched", "runs", "serial", "struck",
        "thread",
    )  # fmt: skip

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.runs = False
        self.serial = 0  # which verifier of this thread it is
        self.is_watched = False
        self.struck: str | None = None  # "aiming": the watch is about to interrupt this thread; "done": it has
        self._seen, self._looks, self._cpu_at = -1, 0, 0.0
        self._cpu_clock = time.pthread_getcpuclockid(self.thread) if hasattr(time, "pthread_getcpuclockid") else None
        self._is_signalled = False
        self._due = -1  # the verifier for which the watch has sent a signal

    def start(self) -> None:
        """Note that a verifier begins."""
        if not self.is_watched:
            self._watch()
        self.serial += 1
        self.runs = True

    def stop(self) -> None:
        """Note that the verifier has ended or was stopped.

        From the return of this call on, nothing interrupts the thread.
        """
        self.runs = False
        while self.struck is not None:
            try:
                if self.struck == "aiming":
                    time.sleep(0)
                    continue
                _interrupt(self.thread, None)
                self.struck = None
            except OverTime:  # it was on its way
                continue

    def is_over(self, *, looks: int) -> bool:
        """Tell whether the running verifier's time is up; `looks` is 1 for the watching thread's calls, else 0."""
        if not self.runs:
            self._seen = -1
            return False
        cpu = time.clock_gettime(self._cpu_clock) if self._cpu_clock is not None else time.process_time()
        if self.serial != self._seen:
            self._seen, self._looks, self._cpu_at = self.serial, 0, cpu
            return False
        self._looks += looks
        is_over = cpu - self._cpu_at >= LIMIT_S or self._looks * LOOK_S >= WAIT_S
        if is_over:
            self._seen = -1  # one that catches the interruption has its time once more
        return is_over

    def strike(self) -> None:
        """Interrupt the verifier; the watching thread calls this."""
        if self._is_signalled:
            self._due = self.serial
            signal.pthread_kill(self.thread, signal.SIGVTALRM)
            return
        serial = self.serial
        self.struck = "aiming"
        if self.runs and self.serial == serial:
            _interrupt(self.thread, OverTime)
            self.struck = "done"
        else:
            self.struck = None

    def is_due(self) -> bool:
        """Tell whether the running verifier must stop; asked when a signal arrives in the main thread."""
        was_sent, self._due = self.runs and self._due == self.serial, -1
        return was_sent or self.is_over(looks=0)

    def _watch(self) -> None:
        self.is_watched = True
        if _HAS_SIGNALS and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGVTALRM) in {signal.SIG_DFL, signal.SIG_IGN}:
                signal.signal(signal.SIGVTALRM, _on_signal)
                signal.siginterrupt(signal.SIGVTALRM, False)  # noqa: FBT003 - system calls of others go on
            self._is_signalled = signal.getsignal(signal.SIGVTALRM) is _on_signal
            if self._is_signalled:
                atexit.register(_at_exit)
                signal.setitimer(signal.ITIMER_VIRTUAL, LOOK_S)
        _Watch.of_this_process().wake()


class _Watch:
    """Stops the verifiers of this process whose time is up, from a thread that sleeps if none has run for a while."""

    _only: _Watch | None = None

    def __init__(self) -> None:
        self.clocks: list[Clock] = []
        self._awake = threading.Event()
        threading.Thread(target=self._look, name="adhere-verifier-limit", daemon=True).start()

    @classmethod
    def of_this_process(cls) -> _Watch:
        if cls._only is None:
            cls._only = cls()
        return cls._only

    def wake(self) -> None:
        self._awake.set()

    def _look(self) -> None:
        idle = 0
        while True:
            self._awake.wait()
            time.sleep(LOOK_S)
            idle = 0 if any(clock.runs for clock in self.clocks) else idle + 1
            for clock in tuple(self.clocks):
                try:
                    if clock.is_over(looks=1):
                        clock.strike()
                except (OSError, ProcessLookupError):  # the thread has ended
                    self.clocks.remove(clock)
            if idle >= _IDLE_LOOKS:
                self._awake.clear()
                for clock in self.clocks:
                    clock.is_watched = False
                if any(clock.runs for clock in self.clocks):  # one that had just looked whether it is watched
                    self._awake.set()


def clock_of_this_thread() -> Clock:
    """Return the clock of the calling thread."""
    try:
        return _local.clock  # type: ignore[no-any-return]
    except AttributeError:
        clock = _local.clock = Clock()
        _Watch.of_this_process().clocks.append(clock)
        return clock


def _on_signal(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - what signals call
    """Stop the verifier that runs in the main thread, if its time is up."""
    clock = clock_of_this_thread()
    if clock.is_watched:
        signal.setitimer(signal.ITIMER_VIRTUAL, LOOK_S)
    if clock.is_due():
        raise OverTime


def _at_exit() -> None:
    """Switch the timer and its signal off before Python ends.

    Python removes its signal handlers as it ends; a timer that runs out after that would kill the process.
    """
    if signal.getsignal(signal.SIGVTALRM) is _on_signal:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)


def _interrupt(thread: int, error: type[BaseException] | None) -> None:
    """Make Python raise `error` in a thread before its next instruction; None cancels that."""
    import ctypes  # 5 ms that are spent only where a limit was reached

    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )


_local = threading.local()


def _after_fork() -> None:
    """Reset the clocks in a child process, which has no watching thread and no timer."""
    global _local  # noqa: PLW0603 - the parent's clocks are of threads that are not here
    _local = threading.local()
    _Watch._only = None  # noqa: SLF001 - same module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
