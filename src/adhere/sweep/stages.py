"""Measure every model of an endpoint, on one page: list, see which answer, estimate, ask, judge, count.

    models.json      what the endpoint listed when the sweep began, and which of it was wanted: the pinned snapshot
    liveness/        stage 1: a small question to each; dead models stay in the report, with the reason
    journal/         stage 2: every answer as it came, append-only; the truth while the sweep runs
    steps/           of episodes in worlds: every step as it came; an ended episode is an answer in the journal
    attempts/        what was not an answer: rejections, failures, and their evidence
    spend/           what every process spent, so that a cap holds over all of them
    runs/            one Run a model and suite, as `adhere eval` makes them, written when a model has its answers

Safe to interrupt: every answer that is in the journal stays, and the same command asks for the rest.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from msgspec import structs

from adhere.errors import UsageError
from adhere.lines.workers import WHOLE, Shard
from adhere.models.base import Request
from adhere.models.http.client import TELL_S, Endpoint, Unreachable
from adhere.models.http.discover import parse_models
from adhere.models.http.dispatch import Dispatcher, Lane, LaneWait, Policy
from adhere.models.http.lane import waiting_line
from adhere.pipeline.respond import sampling_of, settle
from adhere.progress import Progress, Silent
from adhere.schema import Message, Response, Sampling
from adhere.store.run import alone_in_turn
from adhere.suites.base import Suite
from adhere.sweep.cost import NO_PRICE, Confirm, Estimate, Tariff
from adhere.sweep.keeper import Keeper, Name
from adhere.sweep.record import Sweep
from adhere.sweep.rows import Liveness
from adhere.sweep.spec import SweepSpec

QUESTION = "What is the capital of France? Answer with one word."
LIVENESS_TOTAL_S, LIVENESS_TIMES = 30.0, 3
"""For the answer to the small question: so many times the limit of an answer, as a server may have to load the model.

At most so many seconds, unless the limit of an answer is longer.
"""
LIVENESS_PATIENCE_S = 60.0
TICK_S = 1.0
WAITING_S = 3.0
"""Seconds without a request under way after which the watcher is told which models are waited for."""


class Watcher(Protocol):
    """Is told of what happens in a running sweep."""

    def stage(self, name: str, dispatcher: Dispatcher, total: int) -> None:
        """Hear that a stage begins: `alive` or `ask`, with `total` requests."""

    def tick(self) -> None:
        """Hear that something happened, or that a second passed."""

    def waiting(self, sweep: Sweep, lanes: Sequence[LaneWait]) -> None:
        """Hear that only the models in `lanes` are still waited for.

        The Runs of all others are in `sweep`. It is called in a thread, once for each set of lanes.
        """


class NoWatcher:
    """Ignores what happens in a running sweep."""

    def stage(self, name: str, dispatcher: Dispatcher, total: int) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""

    def waiting(self, sweep: Sweep, lanes: Sequence[LaneWait]) -> None:
        """Do nothing."""


@dataclass
class Control:
    """Lets a person stop a running sweep: what is at work sets in `at_work` how it is stopped."""

    at_work: Callable[[], None] | None = None
    is_stopped: bool = False

    def stop(self) -> bool:
        """Stop what is at work; False if nothing is at work yet."""
        self.is_stopped = True
        if self.at_work is not None:
            self.at_work()
        return self.at_work is not None


async def sweep(
    endpoint: Endpoint,
    suites: Sequence[Suite],
    spec: SweepSpec,
    directory: Path,
    *,
    policy: Policy | None = None,
    confirm: Confirm = lambda _estimate: None,
    recheck: bool = False,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
    control: Control | None = None,
    shard: Shard = WHOLE,
) -> Sweep:
    """Measure the wanted models of an endpoint on some suites; a sweep in `directory` is resumed.

    Args:
        endpoint: The open endpoint.
        suites: The suites to ask, in the order of the spec.
        spec: See `sweep_spec`.
        directory: Directory of this one sweep.
        policy: Caps and patience.
        confirm: See Confirm.
        recheck: Ask models that are dead for good, and requests that failed for good, once more.
        progress: Where to report to.
        watcher: Is told of what happens while it runs.
        control: Stops the sweep.
        shard: The part of the models that this process does; all parts may be at work at once, in one directory.

    Raises:
        RunMismatch: `directory` holds another sweep.
        UsageError: No model is wanted, or a cap is set and no model says its price.
        Unreachable: The endpoint lists no models.
        OutOfCredit: The endpoint has less credit left than the sweep may cost.
        ResourceError: The disk is full; what was acknowledged is safe.
    """
    progress, control = progress or Silent(), control or Control()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(alone_in_turn(directory, progress.say, beside=shard != WHOLE))
        if shard != WHOLE:  # nobody else does this part
            part = directory / "shards" / f"{shard.number}-of-{shard.of}"
            await stack.enter_async_context(alone_in_turn(part, progress.say))
        keeper = Keeper(directory, spec, suites, progress, recheck=recheck)
        try:
            async with alone_in_turn(directory / "shards", progress.say):  # who begins pins the list for all
                keeper.open()
                snapshot = await keeper.snapshot(endpoint)
            own = tuple(model for place, model in enumerate(snapshot.wanted) if shard.holds(place))
            snapshot = structs.replace(snapshot, wanted=own)
            if not snapshot.wanted:
                progress.say(f"Part {shard.number} of {shard.of} has no model: there are fewer models than parts")
            this_sweep = Sweep(directory, spec, snapshot, keeper.liveness())
            stages = _Stages(keeper, endpoint, this_sweep, watcher or NoWatcher(), control)
            await stages.run(policy or Policy(), confirm, shard.of)
        finally:
            keeper.close()
        return this_sweep


class _Stages:
    """Runs the stages of one sweep, in order."""

    def __init__(self, keeper: Keeper, endpoint: Endpoint, sweep: Sweep, watcher: Watcher, control: Control) -> None:
        self.keeper, self.endpoint, self.sweep, self.watcher, self.control = keeper, endpoint, sweep, watcher, control
        self.spent_before = keeper.spent_before()
        spec = keeper.spec
        prices = {model.id: model.prices for model in parse_models(sweep.snapshot.rows) if model.prices is not None}
        endpoint.prices |= prices
        samplings = [spec.sampling_of(place) for place in range(len(spec.suites))]
        self.tariff = Tariff(prices, endpoint.options.price, samplings)
        self.question_sampling = Sampling(max_new_tokens=max(64, *(sampling.max_new_tokens for sampling in samplings)))

    async def run(self, policy: Policy, confirm: Confirm, parts: int = 1) -> None:
        """Estimate, see which models answer, ask, judge. Each of several `parts` may spend its share of a cap."""
        keeper, sweep = self.keeper, self.sweep
        unknown = self._unknown()
        wanting = {model: keeper.wanting(model) for model in [*sweep.alive, *unknown]}
        if unknown or any(wanting.values()):
            cap = confirm(await self._estimate(unknown, wanting))
            if cap is not None:
                cap = self.spent_before + max(0.0, cap - self.spent_before) / parts
            policy = replace(policy, max_cost_usd=cap)
            if cap is not None:
                unknown = self._priced(unknown)
        await self._see_who_lives(unknown, policy)
        if not sweep.stopped:
            await self._ask({model: wanting.get(model) or [] for model in sweep.alive}, policy)
        self.control.at_work = keeper.halt
        await keeper.finish(sweep)
        if keeper.is_halted:
            sweep.stopped, sweep.stopped_for = sweep.stopped or "interrupted", sweep.stopped_for or "interrupted"
        self.control.at_work = None

    def _unknown(self) -> list[str]:
        """Return the wanted models that have not answered the small question, except those that never will."""
        liveness, again = self.sweep.liveness, self.keeper.recheck
        return [
            model
            for model in self.sweep.snapshot.wanted
            if model not in liveness or (not liveness[model].alive and (again or not liveness[model].is_final))
        ]

    def _priced(self, models: Sequence[str]) -> list[str]:
        """Return the models whose price is known; the others are set aside, for a cap could not be kept.

        Raises:
            UsageError: No model has a known price.
        """
        unpriced = set(self.tariff.unpriced(self.sweep.snapshot.wanted))
        if unpriced >= set(self.sweep.snapshot.wanted):
            raise UsageError(
                "No model says what it costs, so --max-cost cannot be kept. "
                "State it with --price IN,OUT (USD a million tokens)"
            )
        self.sweep.set_aside |= dict.fromkeys(sorted(unpriced), NO_PRICE)
        if unpriced:
            self.keeper.progress.say(
                f"Not asked, because no price is said (--price IN,OUT): {', '.join(sorted(unpriced))}"
            )
        return [model for model in models if model not in unpriced]

    async def _estimate(self, unknown: Sequence[str], wanting: Mapping[str, Sequence[tuple[Name, bool]]]) -> Estimate:
        most = sum(self.tariff.most_usd(model, _question()) for model in unknown)
        for model, names in wanting.items():
            if self.tariff.price(model) is not None:
                most += sum(
                    self.tariff.most_usd(model, request) * count for request, count in self.keeper.priced(model, names)
                )
        try:
            credit = await self.endpoint.credit_usd()
        except Unreachable as error:
            self.keeper.progress.say(f"How much credit is left is unknown: {error}")
            credit = None
        models = [model for model, names in wanting.items() if names]
        requests = sum(map(len, wanting.values()))
        return Estimate(requests, len(models), most, len(self.tariff.unpriced(models)), credit, self.spent_before)

    @asynccontextmanager
    async def _dispatching(self, name: str, dispatcher: Dispatcher, total: int) -> AsyncIterator[Callable[[], None]]:
        """Run a stage inside the context: record its spending, flush its rows, and let it be watched or stopped."""
        self.control.at_work = lambda: dispatcher.stop("interrupted")
        self.keeper.pay(dispatcher)
        self.watcher.stage(name, dispatcher, total)
        ticking = asyncio.create_task(self._keep_ticking(dispatcher))
        try:
            async with self.keeper.flushing() as insist:
                yield insist
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
            self.spent_before += dispatcher.counts.spent_usd
            self.keeper.pay(None)
            self.control.at_work = None
            self.watcher.tick()

    async def _keep_ticking(self, dispatcher: Dispatcher) -> None:
        """Tick once a second, answers or not, and report which models a waiting sweep waits for."""
        last_names: frozenset[str] = frozenset()
        idle_s, since_s, n_answered = 0.0, 0.0, -1
        while True:
            await asyncio.sleep(TICK_S)
            self.watcher.tick()
            idle_s = 0.0 if dispatcher.in_flight else idle_s + TICK_S
            before, n_answered = n_answered, dispatcher.counts.answered
            since_s = since_s + TICK_S if n_answered == before and dispatcher.in_flight else 0.0
            if since_s >= TELL_S and (line := waiting_line(dispatcher.troubled())):
                since_s = 0.0
                self.keeper.progress.say(f"{line}. --patience says for how long, Ctrl-C ends it")
            lanes = dispatcher.waited_for()
            names = frozenset(wait.lane for wait in lanes)
            if idle_s >= WAITING_S and self.keeper.is_caught_up and names and names != last_names:
                last_names = names
                self.keeper.collect()
                so_far = replace(self.sweep, runs=dict(self.keeper.runs))
                await asyncio.to_thread(self.watcher.waiting, so_far, lanes)

    async def _see_who_lives(self, unknown: Sequence[str], policy: Policy) -> None:
        """Ask the small question to every model in `unknown`."""
        if not unknown:
            return
        options, sampling = self.endpoint.options, self.question_sampling
        own_s = options.total_s(sampling.max_new_tokens)  # a model may have to be loaded before its first answer
        total_s = max(own_s, min(LIVENESS_TOTAL_S, LIVENESS_TIMES * own_s, max(1.0, options.patience_s)))
        dispatcher = Dispatcher(
            lambda model, request: self.endpoint.call(model, request, sampling, total_s=total_s),
            policy=replace(
                policy, attempts=min(3, policy.attempts), patience_s=min(LIVENESS_PATIENCE_S, policy.patience_s)
            ),
            rng=random.Random(self.keeper.spec.sampling.seed),
            cost_of=self.tariff.most_usd,
            spent_usd=self.spent_before,
            probe=self._probe(self.sweep.alive),
            watch=self.keeper.trouble,
        )
        for model in unknown:
            dispatcher.add(model, [_question()])
        async with self._dispatching("alive", dispatcher, len(unknown)) as insist:
            async for model, _, raw in dispatcher.answers():
                insist()
                self._lives(model, settle(raw), dispatcher.lanes[model])
                self.watcher.tick()
            for lane in dispatcher.lanes.values():
                if lane.denied is not None and not dispatcher.stopped:  # its own trouble, which may pass
                    error = Response("liveness", 0, 0, text="", status="error", error=lane.stopped, failure="passing")
                    self._lives(lane.name, error, lane)
        self.sweep.stopped, self.sweep.stopped_for = dispatcher.stopped, dispatcher.stopped_for

    def _probe(self, models: Sequence[str]) -> tuple[str, Request] | None:
        """Return the small question to a model that answered before and is not asked now, or None."""
        return (models[0], _question()) if models else None

    def _lives(self, model: str, response: Response, lane: Lane) -> None:
        is_alive = response.status in {"ok", "truncated"}
        reason = "" if is_alive else response.error or response.evidence or f"the answer is {response.status}"
        is_final = response.status != "error" or response.failure == "final" or lane.is_gone or lane.forbidden > 0
        row = self.sweep.liveness[model] = Liveness(model, is_alive, reason, response, is_final)
        self.keeper.alive(row)

    async def _ask(self, wanting: Mapping[str, Sequence[tuple[Name, bool]]], policy: Policy) -> None:
        """Ask every model that is not set aside every prompt that it has not answered.

        `wanting` holds the names that each model still lacks, each with whether it can be asked now.
        """
        keeper, sweep = self.keeper, self.sweep
        names_by_model = {model: names for model, names in wanting.items() if model not in sweep.set_aside}
        dispatcher = Dispatcher(
            lambda model, request: self.endpoint.call(
                model, request, sampling_of(request, keeper.spec.sampling_of(request.suite))
            ),
            policy=policy,
            rng=random.Random(keeper.spec.sampling.seed),
            cost_of=self.tariff.most_usd,
            tokens_of=self.tariff.most_tokens,
            spent_usd=self.spent_before,
            probe=self._probe([model for model, names in names_by_model.items() if not names]),
            watch=keeper.trouble,
            notice=keeper.progress.say,
        )
        for model, names in names_by_model.items():
            now = [name for name, can_be_asked in names if can_be_asked]
            dispatcher.add(model, keeper.requests(model, now), len(now))
            keeper.write_when_complete(model)
        total = sum(map(len, names_by_model.values()))
        async with self._dispatching("ask", dispatcher, total) as insist:
            async for model, request, raw in dispatcher.answers():
                insist()  # stops where the disk is full, for what is answered would be lost
                if more := keeper.answer(model, request, raw):
                    dispatcher.add(model, more, goes_first=True)
                keeper.write_when_complete(model)
                self.watcher.tick()
        sweep.set_aside |= {lane.name: lane.stopped for lane in dispatcher.lanes.values() if lane.stopped}
        sweep.stopped, sweep.stopped_for = dispatcher.stopped, dispatcher.stopped_for


def _question() -> Request:
    return Request("liveness", 0, 0, (Message("user", QUESTION),), 0)
