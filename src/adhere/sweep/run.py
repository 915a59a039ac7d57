"""Run a sweep as a command does: open the endpoint, name the directory, ask before spending, stop on Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adhere import suites
from adhere.lines.workers import WHOLE, Shard
from adhere.models.http.client import Endpoint, Unreachable
from adhere.models.http.cost import dollars
from adhere.models.http.keys import address, key_for
from adhere.models.http.options import EndpointOptions
from adhere.progress import Progress, Silent
from adhere.schema import Mode
from adhere.sweep.cost import Estimate, estimate_line, refuse_dear
from adhere.sweep.record import Sweep
from adhere.sweep.spec import Filter, sweep_spec
from adhere.sweep.stages import Control, NoWatcher, Watcher, sweep

SWITCH_S = 0.0005
"""Seconds for which a judging thread may hold the interpreter; Python's 5 ms would count as latency of the models."""


@dataclass(frozen=True)
class SweepRequest:
    """Describes a person's request for a sweep.

    Args:
        where: A base URL or a provider's name.
        suites: Names of suites, as `suites.load` takes them.
        seed: Seed of generated suites and of sampled answers; None: the suites' own public seed, and 0.
        wanted: Which models are asked.
        max_new_tokens, temperature, top_p: How answers are drawn; None: as each suite says.
        draws: Answers to each prompt.
        limit: Number of prompts asked of each suite; None: all.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        options: Options of the endpoint. Nothing is sent that could exceed `max_cost_usd` unless a person agrees.
        recheck: Ask models that are dead for good, and requests that failed for good, once more.
        out: Folder of the sweep's directory, which is named by the spec.
        shard: The part of the models that this process does.
    """

    where: str
    suites: tuple[str, ...]
    seed: int | None = None
    wanted: Filter = field(default_factory=Filter)
    max_new_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    draws: int = 1
    limit: int | None = None
    mode: Mode = "reference"
    options: EndpointOptions = field(default_factory=EndpointOptions)
    recheck: bool = False
    out: Path = Path("sweeps")
    shard: Shard = WHOLE


def run_sweep(
    request: SweepRequest,
    *,
    watcher: Watcher | None = None,
    progress: Progress | None = None,
    agree: Callable[[str], bool] = lambda _question: False,
) -> Sweep:
    """Measure the models; see `sweep.stages.sweep`.

    The first Ctrl-C waits for requests under way, the second does not; then the answers are judged, and a further
    Ctrl-C ends that. No answer is lost.

    Args:
        request: What to measure.
        watcher: Is told of what happens while it runs.
        progress: Where to report to.
        agree: Asks a person whether to spend more than the cap.

    Raises:
        UsageError, OutOfCredit, Unreachable, RunMismatch, ResourceError: See `sweep`.
        KeyboardInterrupt: The user pressed Ctrl-C before anything was asked.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH_S))
    try:
        return asyncio.run(_run(request, watcher or NoWatcher(), progress or Silent(), agree))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        sys.setswitchinterval(before)


async def _run(request: SweepRequest, watcher: Watcher, progress: Progress, agree: Callable[[str], bool]) -> Sweep:
    where = address(request.where)
    loaded_suites = [suites.load(name, seed=request.seed) for name in request.suites]
    samplings = [
        suite.sampled(
            max_new_tokens=request.max_new_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=request.seed or 0,
        )
        for suite in loaded_suites
    ]
    signals = _Signals()

    def confirm(estimate: Estimate) -> float | None:
        progress.say(estimate_line(estimate))
        cap = request.options.max_cost_usd
        whole = estimate.spent_usd + estimate.most_usd
        if cap is not None and whole > cap:
            with signals.left_alone():
                is_agreed = agree(
                    f"The whole may cost {dollars(whole)}, more than --max-cost {dollars(cap)[1:]}. Go on?"
                )
            cap = whole if is_agreed else cap
        refuse_dear(estimate, max_cost_usd=cap)
        return cap

    with signals.caught():
        async with Endpoint(where, key=key_for(where), options=request.options) as endpoint:
            await endpoint.wait_until_up(progress.say)
            if request.options.dialect is None:
                await _guess_dialect(endpoint)
            for sampling in samplings:
                endpoint.insist_on(sampling)
            spec = sweep_spec(
                endpoint,
                loaded_suites,
                model_filter=request.wanted,
                samplings=samplings,
                draws=request.draws,
                limit=request.limit,
                mode=request.mode,
            )
            return await sweep(
                endpoint,
                loaded_suites,
                spec,
                spec.directory(request.out),
                policy=request.options.policy(endpoint.dialect),
                confirm=confirm,
                recheck=request.recheck,
                progress=progress,
                watcher=watcher,
                control=signals.control,
                shard=request.shard,
            )


async def _guess_dialect(endpoint: Endpoint) -> None:
    """Guess by the owners of the models what kind of server the endpoint is; the spec names it.

    A server without a list of models is a general one.
    """
    try:
        await endpoint.models()
    except Unreachable as error:
        if error.status is None:
            raise


class _Signals:
    """Lets SIGINT and SIGTERM stop what is at work; where signals cannot be caught, nothing changes."""

    def __init__(self) -> None:
        self.control = Control()
        self._caught: list[signal.Signals] = []
        self._stop: Callable[[], object] = self.control.stop

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM stop the running sweep, inside the context.

        If the sweep has not begun, they cancel the current task.
        """
        task = asyncio.current_task()

        def stop() -> None:
            if not self.control.stop() and task is not None:
                task.cancel()

        self._stop = stop
        self._catch()
        try:
            yield
        finally:
            self._release()

    @contextmanager
    def left_alone(self) -> Iterator[None]:
        """Let Ctrl-C raise KeyboardInterrupt as usual, inside the context, while a person is asked."""
        self._release()
        try:
            yield
        finally:
            self._catch()

    def _catch(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                asyncio.get_running_loop().add_signal_handler(number, self._stop)
                self._caught.append(number)
            except (NotImplementedError, RuntimeError, ValueError):  # Windows; or not the main thread
                break

    def _release(self) -> None:
        while self._caught:
            number = self._caught.pop()
            asyncio.get_running_loop().remove_signal_handler(number)
