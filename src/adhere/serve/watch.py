"""Reads the progress of runs, sweeps and studies on disk while they are being written; it writes nothing.

`store.shelf` lists the items below a directory. A `Watch` follows one of them and reads only what came since it last
looked.
"""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from adhere.errors import AdhereError
from adhere.report.pieces.guards import floor_cell
from adhere.report.pieces.numbers import percent, percent_interval
from adhere.schema import Record, Response, Status, decode
from adhere.store.files import read_regular
from adhere.store.follow import Follower
from adhere.store.manifest import Manifest
from adhere.store.run import is_held, replaces
from adhere.store.sharded import manifest_of
from adhere.store.shelf import Item, Kind, Word, item_of, last_change, runs_in, state_word
from adhere.store.summary import Summary
from adhere.study.outcome.result import StudyResult
from adhere.suites.base import first_of_slices
from adhere.sweep.board import Leaderboard
from adhere.sweep.rows import Entry, Liveness, Snapshot, Trouble
from adhere.sweep.spec import SweepSpec

ModelStage = Literal["unasked", "dead", "answering", "stopped", "complete"]
MOST_OF_A_NAME = 10_000
"""Largest number in a suite's name for which the suite is made in order to count its prompts."""
QUIET_S = 60.0
"""Seconds without a new row after which nobody is assumed to be writing."""
_WINDOW_S = 60.0
Key = tuple[int, str, int, int]


class ModelState(Record, frozen=True):
    """Holds the progress of one model of a sweep, or of one arm of a study at one seed.

    `troubles` counts attempts that brought no answer; `reason` says why a model is dead. `id` is the Run of an arm,
    `result` its result.
    """

    model: str
    state: ModelStage
    done: int
    total: int | None
    failed: int
    troubles: int
    reason: str = ""
    id: str = ""
    result: Result | None = None
    asked: str = ""


class Result(Record, frozen=True):
    """Holds the result of an item, for a list: a few words, a number to sort by, and further details."""

    words: str
    value: float | None = None
    note: str = ""


class State(Record, frozen=True):
    """Holds the progress of an item.

    `done` counts answers, `failed` the failed calls among them. `total` is None if it is unknown; `per_second` is
    the mean of the last minute, None before the first answers. `state` is the word of `store.shelf`; an item is at
    work while rows come (at most `QUIET_S` apart) or a process holds the directory. `result` is set once the item is
    sealed; `asked` is equal for runs that can be compared answer by answer.
    """

    id: str
    kind: Kind
    name: str
    title: str
    state: Word
    done: int
    total: int | None
    failed: int
    per_second: float | None
    left_s: float | None
    changed: float
    has_report: bool
    note: str = ""
    statuses: dict[str, int] = {}
    alive: int | None = None
    dead: int | None = None
    unasked: int | None = None
    troubles: dict[str, int] = {}
    models: tuple[ModelState, ...] = ()
    result: Result | None = None
    asked: str = ""


class _Speed:
    """Computes the answers per second over the last minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, done: int) -> float | None:
        now = self._clock()
        self._seen.append((now, done))
        while now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        start_s, before = self._seen[0]
        return (done - before) / (now - start_s) if now - start_s >= 0.5 else None


def watch(item: Item, *, clock: Callable[[], float] = time.monotonic) -> Watch:
    """Return the Watch for an item's kind."""
    return {"run": RunWatch, "sweep": SweepWatch, "study": StudyWatch}[item.kind](item, _Speed(clock))


class Watch:
    """Follows one item; `state()` reads what is new."""

    def __init__(self, item: Item, speed: _Speed) -> None:
        self.item = item
        self._speed = speed
        self._result: tuple[int, Result] | None = None  # of a file of that time

    def state(self, *, with_models: bool = False) -> State:
        """Return the item's progress; `with_models` adds every model of a sweep, or every measured arm of a study."""
        raise NotImplementedError

    def _sealed(self, name: str, result_of: Callable[[bytes], Result]) -> Result | None:
        """Read the result in a sealed file, once for each time that it is written.

        It is None if the file is missing or cannot be read.
        """
        file = self.item.directory / name
        try:
            time_ns = file.stat().st_mtime_ns
            if self._result is None or self._result[0] != time_ns:
                self._result = time_ns, result_of(read_regular(file))
        except (AdhereError, OSError):
            return None
        return self._result[1]

    def _has_report(self) -> bool:
        return any(
            (self.item.directory / name).exists() for name in ("summary.json", "result.json", "leaderboard.json")
        )

    def _state(
        self,
        title: str,
        *,
        done: int,
        total: int | None,
        failed: int,
        change_time_s: float,
        is_sealed: bool,
        **more: Any,
    ) -> State:
        rate = self._speed.at(done)
        is_quiet = time.time() - change_time_s > QUIET_S and not is_held(self.item.directory)
        state = state_word(n_asked=total, n_answered=done, failed=failed, is_sealed=is_sealed, is_at_work=not is_quiet)
        left_s = (total - done) / rate if rate and total is not None and state == "running" else None
        return State(
            id=self.item.id,
            kind=self.item.kind,
            name=self.item.name,
            title=title,
            state=state,
            done=done,
            total=total,
            failed=failed,
            per_second=rate if state == "running" else None,
            left_s=left_s,
            changed=change_time_s,
            has_report=self._has_report(),
            **more,
        )


class RunWatch(Watch):
    """Follows one Run: its answers among those that it asks for."""

    def __init__(self, item: Item, speed: _Speed) -> None:
        super().__init__(item, speed)
        self._manifest: Manifest | None = None
        self._responses = [Follower(part / "responses", Response) for part in runs_in(item)]
        self._status: dict[tuple[str, int, int], Status] = {}

    def state(self, *, with_models: bool = False) -> State:
        manifest = self._manifest = self._manifest or manifest_of(self.item.directory)
        for response in chain.from_iterable(part.fresh() for part in self._responses):
            if replaces(response.status, self._status.get(response.key)):
                self._status[response.key] = response.status
        statuses = Counter(self._status.values())
        spec = manifest.spec
        is_sealed = (self.item.directory / "summary.json").exists()
        turns = max((turn for _, turn, _ in self._status), default=0) + 1
        return self._state(
            f"{spec.model} on {spec.suite}",
            done=len(self._status),
            # of suites with several turns only the answers themselves say how many
            total=manifest.n_prompts * spec.draws if turns == 1 else None,
            failed=statuses["error"],
            change_time_s=max(last_change(self.item.directory), *(part.changed for part in self._responses)),
            is_sealed=is_sealed,
            statuses=dict(statuses),
            result=self._sealed("summary.json", _run_result),
            asked=f"{spec.suite} {manifest.prompts_sha256}",
        )


class StudyWatch(Watch):
    """Follows one Study: cells trained, and arms measured."""

    def __init__(self, item: Item, speed: _Speed) -> None:
        super().__init__(item, speed)
        self._arms: dict[str, Watch] = {}

    def _arm(self, directory: Path) -> ModelState | None:
        """Return the state of an arm's Run; None while the Run is being made."""
        try:
            part = item_of("run", directory.name, directory)
            state = self._arms.setdefault(part.id, watch(part)).state()
        except (AdhereError, OSError):
            return None
        stage: ModelStage = (
            "complete" if state.result else "answering" if state.state in {"running", "judging"} else "stopped"
        )
        counts = state.done, state.total, state.failed
        return ModelState(part.name, stage, *counts, 0, "", part.id, state.result, state.asked)

    def state(self, *, with_models: bool = False) -> State:
        directory = self.item.directory
        cells = len(list(directory.glob("cells/*/cell.json")))
        arms_measured = len(list(directory.glob("runs/*/summary.json")))
        is_sealed = (directory / "result.json").exists()
        change_time_s = max(
            [
                last_change(directory),
                *map(last_change, directory.glob("cells/*")),
                *map(last_change, directory.glob("runs/*")),
            ]
        )
        return self._state(
            f"study: {cells} cells trained, {arms_measured} arms measured",
            done=cells + arms_measured,
            total=None,
            failed=0,
            change_time_s=change_time_s,
            is_sealed=is_sealed,
            result=self._sealed("result.json", _study_result),
            models=tuple(filter(None, map(self._arm, runs_in(self.item)))) if with_models else (),
        )


class SweepWatch(Watch):
    """Follows one Sweep by its journal."""

    def __init__(self, item: Item, speed: _Speed) -> None:
        super().__init__(item, speed)
        directory = item.directory
        self._spec = decode(read_regular(directory / "sweep.json"), SweepSpec)
        self._snapshot: Snapshot | None = None
        self._journal = Follower(directory / "journal", Entry)
        self._alive = Follower(directory / "liveness", Liveness)
        self._attempts = Follower(directory / "attempts", Trouble)
        self._status: dict[str, dict[Key, Status]] = {}
        self._statuses: Counter[str] = Counter()
        self._liveness: dict[str, Liveness] = {}
        self._troubles: dict[str, Counter[str]] = {}
        self._per_model = self._count_owed()

    def _count_owed(self) -> int | None:
        """Count the answers that each model owes; None if the suites cannot be loaded here as they were then."""
        from adhere import suites

        total = 0
        for name, _, sha256 in self._spec.suites:
            if any(int(number) > MOST_OF_A_NAME for number in re.findall(r"\d{1,18}", name)):
                return None  # generating a huge suite only to count it would hold up everybody who looks
            try:
                suite = suites.load(name)
            except (AdhereError, OSError):
                return None
            if suite.sha256 != sha256:
                return None
            prompts = first_of_slices(suite.prompts, self._spec.limit)
            total += self._spec.draws * sum(len(prompt.turns) for prompt in prompts)
        return total

    def _read(self) -> None:
        file = self.item.directory / "models.json"
        if self._snapshot is None and file.exists():
            self._snapshot = decode(read_regular(file), Snapshot)
        for row in self._alive.fresh():
            self._liveness[row.model] = row
        for trouble in self._attempts.fresh():
            self._troubles.setdefault(trouble.model, Counter())[trouble.kind] += 1
        for entry in self._journal.fresh():
            statuses = self._status.setdefault(entry.model, {})
            key = (entry.suite, *entry.response.key)
            status = entry.response.status
            if not replaces(status, statuses.get(key)):
                continue
            if key in statuses:
                self._statuses[statuses[key]] -= 1
            statuses[key] = status
            self._statuses[status] += 1

    def state(self, *, with_models: bool = False) -> State:
        self._read()
        models: Sequence[str] = self._snapshot.wanted if self._snapshot else ()
        alive = [model for model in models if model in self._liveness and self._liveness[model].alive]
        dead = sum(1 for row in self._liveness.values() if not row.alive)
        n_unasked = len(models) - len(self._liveness)
        seal_times = [file.stat().st_mtime for file in self.item.directory.glob("runs/*/summary.json")]
        is_whole = bool(alive) and not n_unasked and len(seal_times) >= len(alive) * len(self._spec.suites)
        change_time_s = max(
            [
                self._journal.changed,
                self._alive.changed,
                self._attempts.changed,
                *seal_times,
                last_change(self.item.directory),
            ]
        )
        is_sealed = (
            is_whole and min(seal_times) >= self._journal.changed - 1
            if seal_times
            else bool(models) and not n_unasked and not alive
        )
        total = None if self._per_model is None or n_unasked else self._per_model * len(alive)
        names = ", ".join(name for name, _, _ in self._spec.suites)
        stage = f"asking which of {len(models)} models answer: {len(self._liveness)} asked" if n_unasked else ""
        return self._state(
            f"{self._spec.base_url} on {names}",
            done=sum(self._statuses.values()),
            total=total,
            failed=self._statuses["error"],
            change_time_s=change_time_s,
            is_sealed=is_sealed,
            note=stage,
            statuses={name: count for name, count in self._statuses.items() if count},
            alive=len(alive),
            dead=dead,
            unasked=n_unasked,
            troubles=dict(sum(self._troubles.values(), Counter())),
            models=tuple(self._model(model, is_sealed=is_sealed) for model in models) if with_models else (),
            result=self._sealed("leaderboard.json", _sweep_result),
        )

    def _model(self, model: str, *, is_sealed: bool) -> ModelState:
        statuses = self._status.get(model, {})
        row = self._liveness.get(model)
        done = len(statuses)
        failed = sum(1 for status in statuses.values() if status == "error")
        if row is None:
            state: ModelStage = "unasked"
        elif not row.alive:
            state = "dead"
        else:
            is_through = done >= self._per_model if self._per_model is not None else is_sealed
            state = "complete" if is_through else "stopped" if is_sealed else "answering"
        troubles = sum(self._troubles.get(model, Counter()).values())
        reason = row.reason if row is not None and not row.alive else ""
        return ModelState(model, state, done, self._per_model if state != "dead" else None, failed, troubles, reason)


def _run_result(data: bytes) -> Result:
    summary = decode(data, Summary)
    rate = summary.overall.prompt_strict
    if rate.of_all is None:
        return Result("–", None, rate.reason)
    note = f"{rate.passed:,} of {rate.n:,} ({percent_interval(rate.low, rate.high)})"
    if summary.floor is not None:
        note += f", floor {floor_cell(summary.floor)}"
    return Result(percent(rate.of_all), rate.of_all, note)


def _study_result(data: bytes) -> Result:
    verdict = decode(data, StudyResult).verdict
    return Result(verdict.answer, None, verdict.question)


def _sweep_result(data: bytes) -> Result:
    """Return the best rate, with the model that has it, or the number of models if several share it."""
    rows = [row for row in decode(data, Leaderboard).rows if row.rank == 1 and row.prompt_strict.of_all is not None]
    if not rows:
        return Result("–", None, "no model has a rank")
    best = rows[0].prompt_strict.of_all
    equal = [row for row in rows if row.prompt_strict.of_all == best and row.suite == rows[0].suite]
    who = rows[0].model if len(equal) == 1 else f"{len(equal)} models alike"
    return Result(percent(best), best, f"the best: {who}")
