"""Show a running sweep: a live table on a terminal, plain lines elsewhere, or JSON lines.

If all work that is left waits for models in trouble, the leaderboard so far is shown, with the models that are
waited for and until when.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from adhere.models.http.dispatch import Counts, Dispatcher, LaneWait
from adhere.models.http.lane import lane_states, waiting_line
from adhere.schema import encode
from adhere.sweep.record import Sweep
from adhere.sweep.stages import NoWatcher, Watcher
from adhere.terminal import columns, json_text, one_line, plain

LABELS = {"alive": "who answers", "ask": "asking"}


def watcher_for(form: str, out: TextIO) -> Watcher:
    """Return the watcher of a `--progress` value: auto, lines, jsonl or none."""
    if form == "none":
        return NoWatcher()
    if form == "jsonl":
        return _Json(out)
    return _Table(out) if form == "auto" and out.isatty() else _Lines(out)


@contextmanager
def watching(form: str, out: TextIO) -> Iterator[Watcher]:
    """Provide the watcher of `watcher_for`, and restore the terminal in the end, whatever ends the sweep."""
    watcher = watcher_for(form, out)
    try:
        yield watcher
    finally:
        if isinstance(watcher, _Watching):
            watcher.end()


class _Watching:
    """Watches the dispatcher at work, and knows when the state was last shown."""

    every_s = 10.0

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.name, self.total = "", 0
        self.dispatcher: Dispatcher | None = None
        self.start = self.last = time.monotonic()
        self._is_done = False

    def stage(self, name: str, dispatcher: Dispatcher, total: int) -> None:
        """Begin to watch a stage."""
        self.name, self.total, self.dispatcher = name, total, dispatcher
        self.start = time.monotonic()
        self.last, self._is_done = 0.0, False
        self.tick()

    def tick(self) -> None:
        """Show the state if it is time to."""
        now, counts = time.monotonic(), self._counts()
        is_done = counts.answered + counts.failed >= self.total
        if now - self.last >= self.every_s or (is_done and not self._is_done):
            self.last, self._is_done = now, is_done
            self.show()

    def waiting(self, sweep: Sweep, waits: Sequence[LaneWait]) -> None:
        """Show the leaderboard so far, and the models that are waited for."""
        from adhere.report.leaderboard.text import leaderboard_text
        from adhere.sweep.leaderboard import leaderboard

        board = ""
        if sweep.runs:
            board = leaderboard_text(leaderboard(sweep), width=columns(otherwise=120)) + "\n"
        self.end()
        line = f"{board}So far; {waiting_line(waits)}. --patience says for how long, Ctrl-C ends it"
        print(plain(line), file=self.out, flush=True)

    def _counts(self) -> Counts:
        assert self.dispatcher is not None, "tick() before stage()"  # noqa: S101
        return self.dispatcher.counts

    def state(self) -> dict[str, Any]:
        """Return the state to be shown, as JSON values."""
        counts, elapsed_s = self._counts(), max(1e-9, time.monotonic() - self.start)
        dispatcher = self.dispatcher
        assert dispatcher is not None  # noqa: S101
        done = counts.answered + counts.failed
        rate, total = done / elapsed_s, max(self.total, done)  # later turns are not in the first total
        return {
            "stage": self.name,
            "done": done,
            "total": total,
            "failed": counts.failed,
            "per_second": round(rate, 2),
            "left_s": round((total - done) / rate, 1) if done else None,
            "spent_usd": round(dispatcher.spent_usd, 6),
            "in_flight": dispatcher.in_flight,
            "limited_share": round(counts.limited_share, 4),
            "models": dict(lane_states(dispatcher.lanes.values())),
            "waiting": waiting_line(dispatcher.waited_for()) if not dispatcher.in_flight else "",
        }

    def show(self) -> None:
        """Show the state."""
        raise NotImplementedError

    def end(self) -> None:
        """Stop: nothing more will be shown."""


class _Json(_Watching):
    every_s = 1.0

    def show(self) -> None:
        self._print(self.state())

    def waiting(self, sweep: Sweep, waits: Sequence[LaneWait]) -> None:
        self._print({"stage": "waiting", "models": [wait._asdict() for wait in waits], "done": len(sweep.runs)})

    def _print(self, state: dict[str, Any]) -> None:
        print(json_text(encode(state)), file=self.out, flush=True)


class _Lines(_Watching):
    def show(self) -> None:
        print(plain("  " + state_line(self.state())), file=self.out, flush=True)


class _Table(_Watching):
    """Shows a live table by rich: one line of totals, then the models that still have work."""

    every_s = 0.3

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._live: Any = None

    def show(self) -> None:
        from rich.console import Console
        from rich.live import Live

        if self._live is None:
            self._live = Live(console=Console(file=self.out), transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(self._drawn(), refresh=True)
        state = self.state()
        if self._is_done:
            self.end()
            print(plain("  " + state_line(state)), file=self.out, flush=True)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _drawn(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        state, dispatcher = self.state(), self.dispatcher
        assert dispatcher is not None  # noqa: S101
        table = Table(title=Text(plain(state_line(state))), title_justify="left", box=None, pad_edge=False)
        for name in ("model", "state", "answered", "failed", "at once", "limit"):
            table.add_column(name, justify="left" if name in {"model", "state"} else "right")
        lanes = [lane for lane in dispatcher.lanes.values() if lane.open_requests or lane.stopped]
        lanes.sort(key=lambda lane: (bool(lane.stopped), -lane.limiter.in_flight, lane.name))
        for lane in lanes[:12]:
            cells = (
                one_line(lane.name),
                one_line(lane.stopped or lane.trouble)[:60] or lane.state,
                lane.counts.answered,
                lane.counts.failed,
                lane.limiter.in_flight,
                int(lane.limiter.limit),
            )
            table.add_row(*(Text(str(cell)) for cell in cells))
        if len(lanes) > 12:
            table.add_row(Text(f"… and {len(lanes) - 12} more"))
        return table


def state_line(state: dict[str, Any]) -> str:
    """Return the state as one line for a person."""
    models = ", ".join(f"{count} {name}" for name, count in sorted(state["models"].items()))
    time_left = (
        f", {state['left_s']:.0f} s left" if state["left_s"] is not None and state["done"] < state["total"] else ""
    )
    cost_text = f", ${state['spent_usd']:.4f}" if state["spent_usd"] else ""
    waiting = f"; {state['waiting']}" if state["waiting"] else ""
    return (
        f"{LABELS.get(state['stage'], state['stage'])}: {state['done']:,}/{state['total']:,} ({state['failed']:,} "
        f"failed), {state['per_second']:.{2 if state['per_second'] < 1 else 1}f}/s{time_left}{cost_text}, "
        f"{state['in_flight']} at once, {state['limited_share']:.1%} rejected; {models}{waiting}"
    )
