"""Progress of anything that takes longer than two seconds: a bar with an ETA on a terminal, plain lines elsewhere.

Rooms below the CLI take a `Progress` and know nothing of terminals. Everything goes to stderr; stdout is for results.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from adhere.terminal import one_line, plain

WAITING_S = 30.0
"""Seconds without progress after which a line says so."""


class Step(Protocol):
    """Reports the progress of one running piece of work."""

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Count `amount` units as done; `note` (short) replaces the text after the bar."""


class Progress(Protocol):
    """Receives the reports of a long computation."""

    def say(self, line: str) -> None:
        """Print one line above the bars."""

    def step(self, label: str, total: int | None, unit: str = "", done: int = 0) -> Any:
        """Return a context manager that gives a Step of `total` units (None: unknown), `done` of them done before."""


class _NoStep:
    def advance(self, amount: int = 1, note: str = "") -> None:
        pass


class Silent:
    """Reports nothing."""

    def say(self, line: str) -> None:
        """Drop the line."""

    @contextmanager
    def step(self, label: str, total: int | None, unit: str = "", done: int = 0) -> Iterator[Step]:
        """Give a Step that counts nothing."""
        yield _NoStep()


class _LineStep:
    """Prints a line on progress, at most every `every_s`; `waits` prints one if there is none."""

    def __init__(self, out: TextIO, label: str, total: int | None, unit: str, *, every_s: float, done: int) -> None:
        self.out, self.label, self.total, self.unit, self.every_s = out, label, total, unit, every_s
        self.done = self.before = done
        self.start = self.last = self.advanced = time.monotonic()
        self.first: tuple[float, int] | None = None  # when the first came, and how many

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.done += amount
        self.advanced = now = time.monotonic()
        time_left = self._left(now)
        if self.first is None:
            self.first = now, self.done
        if now - self.last >= self.every_s:
            self.last = now
            self._print(time_left + (f"  {note}" if note else ""))

    def waits(self) -> None:
        """Say that there was no progress for a while; called from another thread."""
        now = time.monotonic()
        if now - self.last >= WAITING_S:
            self.last = now
            self._print(f", nothing for {now - self.advanced:.0f} s")

    def _left(self, now: float) -> str:
        """Return the time left, at the pace since the first units came; empty if it is not known yet.

        Time before the first units, such as loading a model, does not count. It is not known until a twentieth of the
        work is done since then, or a fifth came at once.
        """
        if self.total is None:
            return ""
        since, done_before = self.first or (self.start, self.before)
        came = self.done - done_before
        if came < max(2, (self.total - self.before) / (20 if self.first else 5)) or now <= since:
            return ""
        return f", {(now - since) / came * (self.total - self.done):.0f} s left"

    def _print(self, more: str) -> None:
        of = f"/{self.total}" if self.total is not None else ""
        line = f"{self.label}: {self.done}{of} {self.unit}{more}"
        print("  " + plain(line).replace("\n", " "), file=self.out, flush=True)


class Lines:
    """Prints plain lines, at most one for each step in `every_s` seconds: for logs, CI and pipes.

    Without progress, a line says so now and then.
    """

    def __init__(self, out: TextIO | None = None, every_s: float = 10.0) -> None:
        self.out = out if out is not None else sys.stderr
        self.every_s = every_s

    def say(self, line: str) -> None:
        """Print the line."""
        print(plain(line), file=self.out, flush=True)

    @contextmanager
    def step(self, label: str, total: int | None, unit: str = "", done: int = 0) -> Iterator[Step]:
        """Give a Step that prints a line now and then."""
        step, end_event = _LineStep(self.out, label, total, unit, every_s=self.every_s, done=done), threading.Event()

        def look() -> None:
            while not end_event.wait(WAITING_S):
                step.waits()

        threading.Thread(target=look, name="adhere-progress", daemon=True).start()
        try:
            yield step
        finally:
            end_event.set()


class _BarStep:
    def __init__(self, bars: Any, task: Any) -> None:
        self.bars, self.task = bars, task

    def advance(self, amount: int = 1, note: str = "") -> None:
        changes = {"note": one_line(note)} if note else {}
        self.bars.update(self.task, advance=amount, **changes)


class Bars:
    """Draws rich progress bars on stderr."""

    def __init__(self) -> None:
        from rich.console import Console  # 60 ms that `adhere --help` does not pay

        self.console = Console(stderr=True)

    def say(self, line: str) -> None:
        """Print the line above the bars."""
        self.console.print(plain(line), markup=False, highlight=False)

    @contextmanager
    def step(self, label: str, total: int | None, unit: str = "", done: int = 0) -> Iterator[Step]:
        """Give a Step drawn as a bar that vanishes when it ends."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("  {task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn(unit, markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        with Progress(*columns, console=self.console, transient=True) as bars:
            yield _BarStep(bars, bars.add_task(one_line(label), total=total, completed=done, note=""))


def for_terminal() -> Progress:
    """Return Bars if stderr is a terminal, else Lines."""
    return Bars() if sys.stderr.isatty() else Lines()
