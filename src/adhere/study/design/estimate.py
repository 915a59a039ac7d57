"""Estimate the cost of a Study on this machine before it starts: tokens, minutes, memory, disk.

Minutes come from what `probe` measured with this model on this machine. Without a probe (`--plan`), half a second of
matrix multiplication compares this machine with the one on which the defaults of `train.stage.estimate.Speed` were
measured. Minutes are labelled as an estimate; the ledger holds what was measured.

With several processes, the minutes come from a timetable in which every process takes the first task that is ready, as
workers do.
"""

from __future__ import annotations

import heapq
import math
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.build.plain import DRAWN_PER_ROW
from adhere.errors import ResourceError
from adhere.extras import need
from adhere.models.local.decoder.device import available_bytes, resolve_device
from adhere.study.design.command import COMMAND
from adhere.study.design.plan import Cell, Evaluation, Plan, PoolPlan, compare_data, who_draws
from adhere.study.design.probe import DrawRates, Probe
from adhere.study.design.spec import DataSpec, StudySpec
from adhere.study.design.tasks import Task
from adhere.train.stage.estimate import Estimate as StageEstimate
from adhere.train.stage.estimate import Shape, Speed
from adhere.train.stage.estimate import estimate as estimate_stage
from adhere.train.stage.memory import sizes_of

REFERENCE_GFLOPS = 160.0  # fp32, of the machine on which Speed's defaults were measured
PROMPT_TOKENS, ANSWER_TOKENS = 60.0, 40.0  # where nothing was probed: rendered prompt, mean answer of at most 64 tokens
# Mean length of an answer to a published suite as a share of its token limit: on IFEval (512 tokens) SmolLM2-135M's
# answers had 0.57 before training and 0.2 after.
SHARE_OF_LIMIT = 0.5
EVALUATION_BYTES = 2.2e9  # weights, the decoder's fused copies, key/value cache, the process


class Pace(NamedTuple):
    """Holds the speed of one process, and the assumed lengths of prompts and answers."""

    speed: Speed  # of training and of scoring without gradient
    drawing: DrawRates
    evaluating: DrawRates


class CellCost(NamedTuple):
    """Holds one cell and its expected cost; `done` cells cost nothing."""

    cell: Cell
    stage: StageEstimate
    done: bool


class PoolCost(NamedTuple):
    """Holds one pool and the expected minutes of drawing it; `done` pools cost nothing."""

    pool: PoolPlan
    answers: int
    minutes: float
    done: bool


class SuiteSize(NamedTuple):
    """Holds the number of prompts of a suite, and the token limit of an answer."""

    prompts: int
    most_tokens: int


class SuiteCost(NamedTuple):
    """Holds a suite's size, how many evaluations on it are left, and the minutes that these take together."""

    size: SuiteSize
    left: int
    minutes: float


class Estimate(NamedTuple):
    """Holds the cost of a whole study.

    Minutes and tokens are of what is left to do; those of parts are for one process.
    """

    cells: tuple[CellCost, ...]
    pools: tuple[PoolCost, ...]
    memory_bytes: float
    disk_bytes: float
    parameters: int
    source: str  # what the minutes come from
    minutes: float  # all that is left, with `jobs` processes
    jobs: int = 1
    suites: Mapping[str, SuiteCost] = {}  # "": what the verdict is about
    asking: tuple[str, ...] = ()  # of a study of models that others trained, what is asked, a line each

    def describe(self, spec: StudySpec, plan: Plan) -> str:
        """Return the plan as text for the user: the work of the first seed, then how much of all seeds is finished."""
        if self.asking:
            return "\n".join(self.asking)
        lines = [
            f"Study {spec.name}: {len(spec.arms)} arms, seeds {', '.join(map(str, spec.seeds))}, start {spec.start}"
        ]
        first = spec.seeds[0]
        lines += [
            f"  data        {pool.answers:,} answers of "
            f"{who_draws(spec, pool.pool)}{_minutes_left(pool.minutes, done=pool.done)}"
            for pool in self.pools
            if pool.pool.seed == first
        ]
        lines += [f"  not equal   {line}" for line in compare_data(spec, plan)]
        for cost in (cost for cost in self.cells if cost.cell.seed == first):
            if spec.stage(cost.cell.stage).stage is COMMAND:
                state = "finished" if cost.done else "not estimated"
                lines.append(f"  train       {'+'.join(cost.cell.path)}: a command, {state}")
                continue
            tokens = f"{cost.stage.tokens_processed / 1000:.0f}k tokens trained"
            if cost.stage.tokens_generated:
                tokens += f", {cost.stage.tokens_generated / 1000:.0f}k generated"
            lines.append(
                f"  train       {'+'.join(cost.cell.path)}: {tokens}{_minutes_left(cost.stage.minutes, done=cost.done)}"
            )
        if len(spec.seeds) > 1:
            done = sum(cost.done for cost in self.cells)
            lines.append(f"  the same    at {len(spec.seeds)} seeds: {done} of {len(self.cells)} cells are finished")
        for name, suite_cost in self.suites.items():
            noun = f"prompts of {name or spec.asked}, answers of up to {suite_cost.size.most_tokens} tokens"
            if not name and not spec.asked:
                noun = "held-out prompts"
            times = sum(evaluation.suite == name for evaluation in plan.evaluations)
            lines.append(
                f"  evaluate    {times} times {suite_cost.size.prompts} {noun}, "
                f"{suite_cost.left} left{_minutes_left(suite_cost.minutes, done=not suite_cost.left)}"
            )
        together = f" with {self.jobs} processes" if self.jobs > 1 else ""
        lines.append(
            f"  in all      about {_duration(self.minutes)}{together} ({self.source}), "
            f"up to {self.memory_bytes / 1e9:.1f} GB of memory, {self.disk_bytes / 1e9:.1f} GB of disk"
        )
        return "\n".join(lines)


def _minutes_left(minutes: float, *, done: bool) -> str:
    return ", finished" if done else f", about {_duration(minutes)}"


def _duration(minutes: float) -> str:
    return f"{minutes / 60:.1f} hours" if minutes >= 120 else f"{minutes:.1f} min"


def estimate(
    spec: StudySpec,
    plan: Plan,
    tasks: Sequence[Task],
    done: Mapping[str, bool],
    *,
    start: Path,
    probe: Probe | None = None,
    jobs: int = 1,
    suites: Mapping[str, SuiteSize],
) -> Estimate:
    """Estimate what is left of a study.

    Args:
        spec: The study.
        plan: Its plan, with the cells.
        tasks: Its tasks.
        done: By name of the task, whether it is finished.
        start: Directory of the start model, for its size.
        probe: The speed of this machine with this model, measured with `jobs` processes; None: guessed from a matrix
            multiplication.
        jobs: Processes that share the work.
        suites: The suites that every arm is measured on, by name; "" is the suite of the verdict.
    """
    device = resolve_device(spec.device)
    if probe is None:
        gflops = measured_gflops(spec.threads)
        pace, source = _guess_pace(start, gflops / jobs, device), f"guessed from {gflops:.0f} GFLOPS"
    else:
        pace = _pace_of_probe(start, probe, device)
        source = (
            f"measured on this machine, as busy as it is now, for answers as long as the start model's: "
            f"{probe.answer_tokens:.0f} tokens drawn, {probe.evaluated_tokens:.0f} greedy"
        )
    data, again = spec.data, spec.resample
    rates = _with_long(pace.drawing, data)
    costs = []
    for cell in plan.cells:
        stage = spec.stage(cell.stage)
        shape = Shape(
            rows=_rows(spec, stage.stage.data),
            prompt_tokens=pace.drawing.prompt_tokens,
            answer_tokens=pace.drawing.answer_tokens if stage.stage.online else rates.answer_tokens,
        )
        draws = int(getattr(stage.settings, "answers_per_prompt", 1))
        speed = msgspec.structs.replace(pace.speed, generated_per_s=_together(pace.drawing, draws))
        cost = estimate_stage(stage.stage, stage.settings, shape, speed)
        if stage.stage is COMMAND:  # nobody knows what it takes
            cost = msgspec.structs.replace(cost, memory_bytes=0)
        costs.append(CellCost(cell, cost, done[cell.folder]))
    pools = []
    for pool in plan.pools:
        drawing = data if pool.cell is None or again is None else again
        prompts, draws = drawing.prompts, drawing.draws
        if pool.like is not None:
            prompts, draws = _rows(spec, "sft"), DRAWN_PER_ROW
        seconds = prompts * draws * rates.answer_tokens / _together(rates, draws)
        pools.append(PoolCost(pool, prompts * draws, seconds / 60, done[pool.folder]))
    minutes = {cost.cell.folder: cost.stage.minutes for cost in costs} | {p.pool.folder: p.minutes for p in pools}
    by_suite = {name: _asking(size, pace.evaluating) for name, size in suites.items()}
    if not spec.asked:  # prompts like those that answers were drawn for, so the answers are as long
        by_suite[""] = suites[""].prompts * pace.evaluating.answer_tokens / _together(pace.evaluating, 1) / 60
    for task in tasks:
        if isinstance(task.item, Evaluation):
            minutes[task.name] = by_suite[task.item.suite]
    open_tasks = [(task, minutes[task.name]) for task in tasks if not done[task.name]]
    asking = [task.item.suite for task, _ in open_tasks if isinstance(task.item, Evaluation)]
    open_costs = [cost for cost in costs if not cost.done]
    n_weights = len(open_costs) if spec.keep_weights else min(4, len(open_costs))
    return Estimate(
        cells=tuple(costs),
        pools=tuple(pools),
        memory_bytes=jobs * max([EVALUATION_BYTES, *(cost.stage.memory_bytes for cost in open_costs)]),
        disk_bytes=n_weights * 4 * pace.speed.sizes.parameters + 5e7,
        parameters=pace.speed.sizes.parameters,
        source=source,
        minutes=timetable(open_tasks, jobs),
        jobs=jobs,
        suites={
            name: SuiteCost(size, asking.count(name), asking.count(name) * by_suite[name])
            for name, size in suites.items()
        },
    )


def _with_long(rates: DrawRates, data: DataSpec) -> DrawRates:
    """Return `rates` with the mean answer length of the whole pool: some prompts may ask for long answers."""
    if data.long is None:
        return rates
    long = SHARE_OF_LIMIT * data.long.max_new_tokens
    return rates._replace(answer_tokens=(1 - data.long.share) * rates.answer_tokens + data.long.share * long)


def _asking(size: SuiteSize, rates: DrawRates) -> float:
    """Return the minutes of one evaluation on a suite, whose answers are as long as its token limit suggests."""
    answers = rates._replace(answer_tokens=SHARE_OF_LIMIT * size.most_tokens)
    return size.prompts * answers.answer_tokens / _together(answers, 1) / 60


def timetable(open_tasks: Sequence[tuple[Task, float]], jobs: int) -> float:
    """Simulate `jobs` processes, each of which takes the first task that is ready; return the minutes of all.

    `open_tasks` are the unfinished tasks, in order, with the minutes of each. A task is ready if no task that it needs
    is still to end.
    """
    ends = {task.name: math.inf for task, _ in open_tasks}
    waiting, now, busy = list(open_tasks), 0.0, list[float]()
    while waiting:
        ready = next((pair for pair in waiting if all(ends.get(name, 0.0) <= now for name in pair[0].needs)), None)
        if ready is not None and len(busy) < jobs:
            waiting.remove(ready)
            ends[ready[0].name] = now + ready[1]
            heapq.heappush(busy, now + ready[1])
        elif busy:
            now = heapq.heappop(busy)
        else:  # a need that is neither done nor to be done: such tasks cannot run
            break
    return max([now, *busy])


def _together(rates: DrawRates, draws: int) -> float:
    """Return the answer tokens a second if `draws` answers to one prompt are drawn at once: it is read once for all."""
    answers = draws * rates.answer_tokens
    return answers / (rates.prompt_tokens / rates.read_per_s + answers / rates.drawn_per_s)


def _rows(spec: StudySpec, eats: str) -> int:
    """Return an upper bound on the rows of a stage, before the data exist."""
    limits, prompts = spec.data.limits, spec.data.prompts
    if eats != "sft" and spec.resample is not None:
        limits, prompts = spec.resample.limits, spec.resample.prompts
    most = {
        "sft": min(prompts * limits.per_prompt, limits.sft_rows or sys.maxsize),
        "pairs": min(prompts * limits.pairs_per_prompt, limits.pair_rows or sys.maxsize),
    }
    return sum(most.get(part, prompts) for part in eats.split("+"))


def _guess_pace(start: Path, gflops: float, device: str) -> Pace:
    """Scale the default speeds to this machine and this model."""
    default, sizes = Speed(), sizes_of(start)
    scale = gflops / REFERENCE_GFLOPS * default.sizes.parameters / sizes.parameters
    speed = msgspec.structs.replace(
        default,
        sizes=sizes,
        device=device,
        trained_per_s=default.trained_per_s * scale,
        scored_per_s=default.scored_per_s * scale,
    )
    rates = DrawRates(speed.scored_per_s, default.generated_per_s * scale, PROMPT_TOKENS, ANSWER_TOKENS)
    return Pace(speed, rates, rates)


def _pace_of_probe(start: Path, probe: Probe, device: str) -> Pace:
    """Return the pace that a probe measured.

    The probe trains but does not score, so the pace of scoring (a pass without gradient) is taken from the default
    ratio of the two.
    """
    default = Speed()
    speed = msgspec.structs.replace(
        default, sizes=sizes_of(start), device=device, trained_per_s=probe.trained,
        scored_per_s=probe.trained * default.scored_per_s / default.trained_per_s,
    )  # fmt: skip
    return Pace(
        speed,
        DrawRates(probe.read, probe.drawn, probe.prompt_tokens, probe.answer_tokens),
        DrawRates(probe.evaluated_read, probe.evaluated, probe.prompt_tokens, probe.evaluated_tokens),
    )


@cache
def measured_gflops(threads: int | None) -> float:
    """Measure the fp32 matrix multiplication of this machine, in 1e9 operations a second; takes half a second, once."""
    torch = need("torch", extra="train")
    if threads is not None:
        torch.set_num_threads(threads)
    left, right = torch.ones(512, 1536), torch.ones(1536, 576)
    left @ right
    rounds, start_s = 0, time.perf_counter()
    while time.perf_counter() - start_s < 0.5:
        left @ right
        rounds += 1
    return rounds * 2 * 512 * 1536 * 576 / (time.perf_counter() - start_s) / 1e9


def require_resources(estimate: Estimate, directory: Path, device: str = "cpu") -> None:
    """Refuse a study that needs more disk or memory than there is.

    Raises:
        ResourceError: Less disk or memory is free than the estimate needs; the message says how much, and what to
            change.
    """
    directory.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(directory).free
    if free < estimate.disk_bytes:
        raise ResourceError(
            f"{directory}: {free / 1e9:.1f} GB of disk are free, the study needs {estimate.disk_bytes / 1e9:.1f} GB. "
            "Free space, use --out on another disk, or set keep_weights = false"
        )
    available = available_bytes(device)
    if available is not None and available < estimate.memory_bytes:
        raise ResourceError(
            f"{available / 1e9:.1f} GB of memory are available on {device}, the study needs "
            f"{estimate.memory_bytes / 1e9:.1f} GB. Close other programs, or in the [stages] set "
            "gradient_checkpointing = true or a lower tree_tokens"
        )
