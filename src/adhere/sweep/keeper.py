"""Keep everything of a sweep on disk.

This is the pinned list, the journal of answers, what was spent, and the Runs made from the answers. Rows wait in memory
for half a second at most, and are then written by a thread, so that asking never waits for the disk. Answers are kept
in memory only until they are written; after that only their places are. Which of several rows on one answer counts is
decided as in a Run (`store.run.replaces`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import AdhereError, ResourceError, RunMismatch, UsageError
from adhere.models.base import Request
from adhere.models.http.attempt import Attempt
from adhere.models.http.client import Endpoint, Unreachable
from adhere.models.http.discover import parse_models, select
from adhere.models.http.dispatch import Dispatcher
from adhere.pipeline.episodes import is_episode
from adhere.pipeline.evaluate import EvalSpec, count_stored, judge_stored
from adhere.pipeline.respond import request_of, settle
from adhere.progress import Progress, Silent, Step
from adhere.schema import Failure, Prompt, Response, Status, decode, encode, write_atomic
from adhere.store.manifest import differences
from adhere.store.run import Run, all_keys, alone, replaces
from adhere.store.segments import Damage, SegmentWriter, read_segments
from adhere.store.spending import FOLDER, SpentSoFar, read_spent
from adhere.store.tables.cells import Reader, Spot, read_spots
from adhere.suites.base import Suite, first_of_slices
from adhere.sweep.episodes import Episodes, longest
from adhere.sweep.record import Sweep
from adhere.sweep.rows import Entry, Liveness, Snapshot, Trouble
from adhere.sweep.spec import SweepSpec

FLUSH_S = 0.5
HALT_S = 5.0
JUDGES = 2
"""Number of threads that judge while other models are asked.

They mostly wait for the disk, and share the processor with the event loop.
"""
Name = tuple[int, str, int, int]
"""Name of an answer: (place of the suite, prompt, turn, draw)."""


class JudgingStop(AdhereError):
    """Says that judging was interrupted; what was judged is stored."""


class _Identity:
    """Holds the facts about a model that a Run's spec needs."""

    def __init__(self, spec: SweepSpec, model: str) -> None:
        self.name, self.engine = spec.model_name(model), spec.engine


class _Answers:
    """Holds the answers of one model: texts that are not written yet, and the places of the others."""

    def __init__(self) -> None:
        self.fresh: dict[Name, Response] = {}
        self.spots: dict[Name, Spot] = {}

    def status(self, name: Name) -> tuple[Status, Failure | None] | None:
        """Return the status and failure of the row that counts, or None if there is none."""
        row = self.fresh.get(name) or self.spots.get(name)
        return None if row is None else (row.status, row.failure)

    def response(self, name: Name) -> Response | None:
        """Return the row that counts, read from the journal if it is not in memory, or None."""
        if (fresh := self.fresh.get(name)) is not None:
            return fresh
        spot = self.spots.get(name)
        return None if spot is None else next(read_spots([spot]))[1]

    def everything(self) -> dict[Name, Response]:
        """Return every row that counts, by name."""
        by_rank = {spot.rank: name for name, spot in self.spots.items() if name not in self.fresh}
        journal_rows = read_spots(spot for name, spot in self.spots.items() if name not in self.fresh)
        return {by_rank[rank]: response for rank, response in journal_rows} | self.fresh


class Keeper:
    """Keeps one sweep on disk.

    Args:
        directory: Directory of the sweep.
        spec: The spec of the sweep.
        suites: The suites, in the order of the spec.
        progress: Where to report to.
        recheck: Ask again for answers that failed for good, and models that are dead for good.
    """

    def __init__(
        self, directory: Path, spec: SweepSpec, suites: Sequence[Suite], progress: Progress, *, recheck: bool = False
    ) -> None:
        self.directory, self.spec, self.suites, self.progress, self.recheck = directory, spec, suites, progress, recheck
        self.prompts = [first_of_slices(suite.prompts, spec.limit) for suite in suites]
        self.runs: dict[tuple[str, int], Path] = {}
        self._by_id = [{prompt.id: prompt for prompt in prompts} for prompts in self.prompts]
        self._answers: dict[str, _Answers] = {}
        self._open: Counter[str] = Counter()
        self._complete: set[str] = set()
        self._waiting: list[tuple[SegmentWriter[Any], Any]] = []
        self._writing = asyncio.Lock()
        self._disk = threading.Lock()
        self._journal: SegmentWriter[Entry] = SegmentWriter(directory / "journal")
        self._alive: SegmentWriter[Liveness] = SegmentWriter(directory / "liveness")
        self._troubles: SegmentWriter[Trouble] = SegmentWriter(directory / "attempts")
        self._spending: SegmentWriter[SpentSoFar] = SegmentWriter(directory / FOLDER)
        self._episodes = Episodes(directory)
        self._judging = ThreadPoolExecutor(JUDGES, thread_name_prefix="judge")
        self._written: dict[str, Future[list[Path]]] = {}
        self._halt = threading.Event()
        self._spent_usd = 0.0
        self._last_spent = (0.0, 0.0)
        self._dispatcher: Dispatcher | None = None
        self.damage = Damage()

    def open(self) -> None:
        """Start in the directory, or check that it holds this very sweep; then look up what is answered.

        Raises:
            RunMismatch: The directory holds another sweep.
            ResourceError: The directory cannot be written.
        """
        file = self.directory / "sweep.json"
        if not file.exists():
            self._write(file, encode(self.spec) + b"\n")
            return
        stored_spec = decode(file.read_bytes(), SweepSpec)
        if lines := differences(stored_spec, self.spec):
            raise RunMismatch(
                f"{self.directory} holds another sweep:\n  " + "\n  ".join(lines) + "\nChoose another directory"
            )
        reader = Reader(self.directory)
        for (model, place), spots in reader.journal(self.directory / "journal").items():
            model_spots = self._of(model).spots
            model_spots |= {(place, *key): spot for key, spot in spots.items()}
        self.damage += reader.damage
        self._episodes.read(self.damage)

    def _write(self, file: Path, data: bytes) -> None:
        try:
            write_atomic(file, data)
        except OSError as error:
            raise ResourceError(f"Cannot write {file}: {error.strerror or error}") from error

    def _of(self, model: str) -> _Answers:
        return self._answers.setdefault(model, _Answers())

    async def snapshot(self, endpoint: Endpoint) -> Snapshot:
        """Return the models that the endpoint listed when this sweep began; fetch them if it begins now.

        Raises:
            Unreachable: The endpoint lists no models, and none is named in full.
            UsageError: None of the listed models is wanted.
        """
        file = self.directory / "models.json"
        if file.exists():
            return decode(file.read_bytes(), Snapshot)
        model_filter = self.spec.filter
        try:
            rows = await endpoint.models()
        except Unreachable as error:
            rows = [{"id": glob} for glob in model_filter.globs]
            if error.status is None or not rows or any(set(glob) & set("*?[!") for glob in model_filter.globs):
                raise
            self.progress.say(f"{error}. Asking the models that are named")
        models, left_out = select(
            parse_models(rows),
            globs=model_filter.globs,
            max_price=model_filter.max_price,
            min_context=model_filter.min_context,
            modality=model_filter.modality,
        )
        left_out |= endpoint.unaskable
        if not models:
            raise UsageError(f"None of the {len(rows)} models of {endpoint.base_url} is wanted: {_commonest(left_out)}")
        snapshot = Snapshot(
            time.time(),
            endpoint.base_url,
            endpoint.dialect.name,
            tuple(rows),
            tuple(model.id for model in models),
            left_out,
        )
        self._write(file, encode(snapshot) + b"\n")
        return snapshot

    def liveness(self) -> dict[str, Liveness]:
        """Return which models answered the small question and which did not, by model; the last row of each counts."""
        return {row.model: row for row in read_segments(self.directory / "liveness", Liveness, self.damage)}

    def alive(self, row: Liveness) -> None:
        """Store one model's liveness."""
        self._waiting.append((self._alive, row))

    def wanting(self, model: str) -> list[tuple[Name, bool]]:
        """List the answers that a model lacks, each as (name, whether it can be asked now).

        Later turns wait for the earlier ones.
        """
        answers = self._of(model)
        open_names = []
        for place, prompts in enumerate(self.prompts):
            for key in all_keys(prompts, self.spec.draws):
                name = (place, *key)
                if not self._is_settled(answers.status(name)) and not self._has_ended(model, name):
                    earlier = ((place, key[0], turn, key[2]) for turn in range(key[1]))
                    can_be_asked = all((answers.status(prior) or ("error",))[0] != "error" for prior in earlier)
                    open_names.append((name, can_be_asked))
        self._open[model] = len(open_names)
        return open_names

    def _has_ended(self, model: str, name: Name) -> bool:
        """Tell whether this is an episode whose stored steps end it; if so, store it as an answer."""
        place, prompt_id, _, draw = name
        over = self._episodes.ended((model, place, prompt_id, draw), self._by_id[place][prompt_id])
        if over is not None:
            self._of(model).fresh[name] = over
            self._waiting.append((self._journal, Entry(model, place, over)))
        return over is not None

    def _is_settled(self, row: tuple[Status, Failure | None] | None) -> bool:
        """Tell whether asking again makes no sense: it is answered, or failed for good."""
        return row is not None and (row[0] != "error" or (row[1] == "final" and not self.recheck))

    def requests(self, model: str, names: Sequence[Name]) -> Iterator[Request]:
        """Yield the requests of these names, made one by one."""
        for name in names:
            request = self._request(model, name)
            if request is not None:
                yield request

    def _request(self, model: str, name: Name) -> Request | None:
        """Return the request of one turn; None while an earlier turn has no answer."""
        place, prompt_id, turn, draw = name
        answers, prompt, sampling = self._of(model), self._by_id[place][prompt_id], self.spec.sampling_of(place)
        if is_episode(prompt):
            return self._episodes.request((model, place, prompt_id, draw), prompt, sampling)._replace(suite=place)
        request = request_of(
            prompt,
            (prompt_id, turn, draw),
            lambda earlier: answers.response((place, prompt_id, earlier, draw)),
            sampling,
        )
        return request._replace(suite=place) if isinstance(request, Request) else None

    def priced(self, model: str, names: Sequence[tuple[Name, bool]]) -> Iterator[tuple[Request, int]]:
        """Yield stand-ins for the requests with these names, to compute their cost; they are never sent.

        Each comes with the number of requests that it stands for, and is as long as these may become. Each episode of a
        suite counts like one of the suite's longest prompt.
        """
        episodes_by_place = Counter(name[0] for name, _ in names if is_episode(self._prompt(name)))
        for place, count in episodes_by_place.items():
            prompt = max(self.prompts[place], key=lambda prompt: len(prompt.text))
            yield from (
                (request._replace(suite=place), count) for request in longest(prompt, self.spec.sampling_of(place))
            )
        for name, can_be_asked in names:
            if not is_episode(self._prompt(name)):
                request = self._request(model, name) if can_be_asked else self._later_turn(name)
                yield from [] if request is None else [(request, 1)]

    def _prompt(self, name: Name) -> Prompt:
        return self._by_id[name[0]][name[1]]

    def _later_turn(self, name: Name) -> Request:
        """Return a request as long as that of a later turn may become."""
        place, prompt_id, turn, draw = name
        whole = Response(prompt_id, 0, draw, text="x" * 3 * self.spec.sampling_of(place).max_new_tokens, status="ok")
        request = request_of(
            self._prompt(name), (prompt_id, turn, draw), lambda _earlier: whole, self.spec.sampling_of(place)
        )
        assert isinstance(request, Request)  # noqa: S101 - every earlier turn has an answer here
        return request._replace(suite=place)

    def answer(self, model: str, request: Request, raw: Response) -> list[Request]:
        """Take one answer; return the requests that can be made now."""
        place, prompt_id, draw = request.suite, request.prompt_id, request.draw
        if is_episode(self._by_id[place][prompt_id]):
            step_row, over = self._episodes.take((model, place, prompt_id, draw), raw)
            if step_row is not None:
                self._waiting.append((self._episodes.writer, step_row))
            if over is None:
                return list(self.requests(model, [(place, prompt_id, 0, draw)]))
            self._keep(model, place, over)
            return []
        response = settle(raw)
        self._keep(model, place, response)
        following: Name = (place, prompt_id, request.turn + 1, draw)
        if response.status == "error" or following[2] >= len(self._by_id[place][prompt_id].turns):
            return []
        return list(self.requests(model, [following]))

    def _keep(self, model: str, place: int, response: Response) -> None:
        """Store an answer in memory if it counts, and in the journal."""
        name: Name = (place, *response.key)
        answers = self._of(model)
        before = answers.status(name)
        if replaces(response.status, before[0] if before else None):
            answers.fresh[name] = response
        self._open[model] -= 1
        self._waiting.append((self._journal, Entry(model, place, response)))

    def trouble(self, model: str, request: Request, attempt: Attempt) -> None:
        """Log an attempt that brought no answer."""
        row = Trouble(time.time(), model, request.prompt_id, attempt.kind, attempt.reason)
        self._waiting.append((self._troubles, row))

    def spent_before(self) -> float:
        """Return the USD that earlier processes spent on this sweep; requests under way when one was killed count."""
        folder, total = self.directory / FOLDER, read_spent(self.directory, self.damage)
        if not folder.exists() and (self.directory / "journal").exists():  # of a version that did not store it
            costs = (row.response.usage.cost_usd for row in read_segments(self.directory / "journal", Entry, Damage()))
            total = sum(cost for cost in costs if cost is not None and cost > 0)
            if total:
                with SegmentWriter[SpentSoFar](folder) as writer:
                    writer.append(SpentSoFar(time.time(), total, 0.0))
        return total

    def pay(self, dispatcher: Dispatcher | None) -> None:
        """Record from now on what this dispatcher spends; None: the last dispatcher has ended."""
        if self._dispatcher is not None:
            self._spent_usd += self._dispatcher.counts.spent_usd
        self._dispatcher = dispatcher

    @asynccontextmanager
    async def flushing(self) -> AsyncIterator[Callable[[], None]]:
        """Write new rows to the disk twice a second, and all of them at the end.

        The context's value is a function that raises if the disk is full.

        Raises:
            ResourceError: The disk is full; what was flushed before is safe.
        """
        stop = asyncio.Event()

        async def keep_flushing() -> None:
            while not stop.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), FLUSH_S)
                await self.flush()

        flusher = asyncio.create_task(keep_flushing())

        def insist() -> None:
            if flusher.done():
                flusher.result()

        try:
            yield insist
        finally:
            stop.set()
            await flusher

    async def flush(self) -> None:
        """Write new rows to the disk.

        Raises:
            ResourceError: The disk is full; what was flushed before is safe.
        """
        async with self._writing:
            rows, self._waiting = self._waiting, []
            self._note_spending(rows)
            if rows:
                for row, (path, offset, length) in await asyncio.to_thread(self._store, rows):
                    self._stored(row, path, offset, length)
        for model in [model for model in self._complete if not self._of(model).fresh]:  # its answers are safe
            self._complete.discard(model)
            self._submit(model)

    def _store(self, rows: list[tuple[SegmentWriter[Any], Any]]) -> list[tuple[Entry, tuple[Path, int, int]]]:
        """Write and flush rows, in a thread; return each answer's place."""
        with self._disk:
            places = [(row, writer.append(row)) for writer, row in rows]
            for writer in dict.fromkeys(writer for writer, _ in rows):
                writer.flush()
        return [(row, place) for row, place in places if isinstance(row, Entry)]

    def _note_spending(self, rows: list[tuple[SegmentWriter[Any], Any]]) -> None:
        """Put a row of the money spent so far before the rows of the answers that it bought, if it changed."""
        at_work = self._dispatcher
        spent_usd = self._spent_usd + (at_work.counts.spent_usd if at_work is not None else 0.0)
        reserved_usd = at_work.reserved_usd if at_work is not None else 0.0
        if (spent_usd, reserved_usd) != self._last_spent:
            self._last_spent = (spent_usd, reserved_usd)
            rows.insert(0, (self._spending, SpentSoFar(time.time(), spent_usd, reserved_usd)))

    def _stored(self, entry: Entry, path: Path, offset: int, length: int) -> None:
        """Replace an answer in memory by its place on disk."""
        response = entry.response
        name: Name = (entry.suite, *response.key)
        answers = self._of(entry.model)
        if answers.fresh.get(name) is response:
            rank = (response.status != "error", False, path.name, offset)
            answers.spots[name] = Spot(rank, response.status, response.failure, path, offset, length)
            del answers.fresh[name]

    def write_when_complete(self, model: str) -> None:
        """Mark a model that has all its answers, so that they are judged while others are still asked."""
        if model not in self._written and not self._open[model]:
            self._complete.add(model)

    def _submit(self, model: str) -> None:
        answers = self._answers.pop(model, _Answers())
        self._written[model] = self._judging.submit(self._runs, model, answers)

    @property
    def is_caught_up(self) -> bool:
        """Whether every model that has all its answers is judged."""
        return not self._complete and all(future.done() for future in self._written.values())

    def collect(self) -> None:
        """Note the Runs that are written by now.

        Raises:
            AdhereError: A Run could not be written.
        """
        for model, future in self._written.items():
            is_new = future.done() and not future.cancelled() and (model, 0) not in self.runs
            if is_new and not isinstance(future.exception(), JudgingStop):
                self.runs |= {(model, place): path for place, path in enumerate(future.result())}

    @property
    def is_halted(self) -> bool:
        """Whether judging was stopped."""
        return self._halt.is_set()

    def halt(self) -> None:
        """Stop judging after the answer that is being judged."""
        self._halt.set()

    async def finish(self, sweep: Sweep) -> None:
        """Write a Run, judged and counted, for every alive model and suite, or as many as are done until `halt`."""
        await self.flush()
        for model in sweep.alive:
            if model not in self._written:
                self._submit(model)
        pending = {asyncio.wrap_future(future) for future in self._written.values()}
        # The first trouble is raised; the others are often the same (a full disk), and nobody asks for them.
        for job in pending:
            job.add_done_callback(lambda future: future.cancelled() or future.exception())
        try:
            with self.progress.step("judge", len(pending), "models") as step:
                while pending and not self._halt.is_set():
                    done, pending = await asyncio.wait(pending, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
                    for job in done:
                        if not isinstance(job.exception(), JudgingStop):
                            job.result()
                        step.advance()
        except BaseException:
            for job in pending:  # one that ends as the loop closes would never be asked
                job.cancel()
            raise
        if self._halt.is_set():
            self._judging.shutdown(wait=False, cancel_futures=True)
            if pending:
                await asyncio.wait(pending, timeout=HALT_S)
        self.collect()
        sweep.runs |= self.runs
        if self.damage:
            self.progress.say(f"{self.directory}: left out {self.damage}")

    def close(self) -> None:
        """Close files and threads; waiting rows are written if possible."""
        self._judging.shutdown(wait=False, cancel_futures=True)
        rows, self._waiting = self._waiting, []
        self.pay(None)
        self._note_spending(rows)
        try:
            self._store(rows)
        finally:
            for writer in (self._journal, self._alive, self._troubles, self._spending, self._episodes.writer):
                writer.close()

    def _runs(self, model: str, answers: _Answers) -> list[Path]:
        """Return the Runs of one model, one for each suite."""
        responses = answers.everything()
        return [self._run(model, place, responses) for place in range(len(self.suites))]

    def _run(self, model: str, place: int, responses: Mapping[Name, Response]) -> Path:
        spec, suite = self.spec, self.suites[place]
        eval_spec = EvalSpec(suite, spec.sampling_of(place), spec.draws, spec.mode)
        own = msgspec.structs.replace(eval_spec.run_spec(_Identity(spec, model)), limit=spec.limit)
        directory = own.directory(self.directory / "runs")
        prompts = self._by_id[place]
        with alone(directory), Run.open(directory, own, self.prompts[place]) as run:
            stored_responses = {response.key: response for response in run.responses()}
            fresh = [
                response
                for name, response in responses.items()
                if name[0] == place
                and response.prompt_id in prompts
                and _adds(stored_responses.get(response.key), response)
            ]
            if run.is_sealed and not fresh:
                return directory
            for response in fresh:
                run.append_response(response)
            run.flush()
            judge_stored(run, _Haltable(self._halt))
            run.seal(count_stored(run))
        return directory


class _Haltable(Silent):
    """Reports nothing, and ends the work at its next step once `halt` is set."""

    def __init__(self, halt: threading.Event) -> None:
        self.halt = halt

    @contextmanager
    def step(self, label: str, total: int | None, unit: str = "", done: int = 0) -> Iterator[Step]:
        """Yield a Step that raises when it is advanced after `halt`."""
        yield _HaltableStep(self.halt)


class _HaltableStep:
    def __init__(self, halt: threading.Event) -> None:
        self.halt = halt

    def advance(self, amount: int = 1, note: str = "") -> None:
        if self.halt.is_set():
            raise JudgingStop("Judging was interrupted")


def _adds(earlier: Response | None, response: Response) -> bool:
    """Tell whether a Run takes this answer: it has none yet, or a failed call that differs."""
    return earlier is None or (earlier.status == "error" and earlier != response)


def _commonest(reasons: Mapping[str, str]) -> str:
    return (
        ", ".join(f"{count}: {reason}" for reason, count in Counter(reasons.values()).most_common(3))
        or "none is listed"
    )
