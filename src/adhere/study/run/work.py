"""Do the tasks of a study: draw pools, train cells, evaluate arms.

Whether a task is finished is read from disk, and a task is locked while it is done, so any number of processes (--jobs)
or machines (--shard) may work in one directory. Weights and training rows are made again only if an unfinished task
needs them, so a study of which only records are left can be finished and reported.
"""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from adhere.build.manifest import MANIFEST, Manifest, load_manifest
from adhere.build.plain import build_plain_pool, plain_prompts
from adhere.build.pool import FILES, build_pool, load_pool
from adhere.errors import AdhereError
from adhere.lines.workers import Shard
from adhere.models.base import Model
from adhere.models.catalog import open_model
from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.device import resolve_device
from adhere.models.local.decoder.precision import AskedPrecision
from adhere.models.local.transformers import TransformersModel, load_tokenizer, load_weights
from adhere.models.local.vllm import VllmModel, sharing_server, stop_shared_server
from adhere.pipeline.evaluate import evaluate_sync
from adhere.progress import Progress
from adhere.schema import Record, Sampling, decode, derive_seed, encode, write_atomic
from adhere.store.run import Run, alone
from adhere.study.design.disk import disk_trouble
from adhere.study.design.inputs import StudyInputs
from adhere.study.design.plan import Cell, Evaluation, PoolPlan, cell_folder, pool_folder
from adhere.study.design.spec import DataSpec, ResampleSpec
from adhere.study.design.tasks import Task
from adhere.study.run.answers import keep_answers
from adhere.study.run.cells import (
    CellRecord,
    clear_unfinished,
    drop_weights,
    has_weights,
    load_cell,
    save_cell,
    trained_weights,
)
from adhere.study.run.measured import Measurement, collect_run, load_measured, save_measured
from adhere.study.run.merged import keep_part
from adhere.study.run.plain import PlainText, read_plain
from adhere.study.run.referee import measure_source
from adhere.study.run.sessions import measure_sessions
from adhere.suites.base import Suite
from adhere.suites.generated.core.free import LONG
from adhere.suites.generated.core.templates import query_texts
from adhere.train.stage.train import REWARD_MODEL

WAIT_S = 2.0  # between looks at what other processes have finished
FAILURES = "failures"


class Failure(Record, frozen=True):
    """Records a task that ended in an error; tasks that need it were not done."""

    task: str
    seed: int | None
    error: str


class State:
    """Tells which tasks are finished, and which results are still needed; the disk is read once a task."""

    def __init__(self, directory: Path, tasks: Sequence[Task]) -> None:
        self.directory = directory
        self.tasks = {task.name: task for task in tasks}
        self._users: dict[str, list[str]] = {task.name: [] for task in tasks}
        for task in tasks:
            for name in task.needs:
                self._users[name].append(task.name)
        self._done: dict[str, bool] = {}

    def is_recorded(self, name: str) -> bool:
        """Tell whether the task's record is stored; what the task made (weights, rows) may be gone."""
        task = self.tasks[name]
        match task.item:
            case PoolPlan():
                return (pool_folder(self.directory, task.item) / MANIFEST).exists()
            case Cell():
                return (cell_folder(self.directory, task.item) / "cell.json").exists()
        return load_measured(self.directory, task.name, task.key) is not None

    def is_done(self, name: str) -> bool:
        """Tell whether nothing is left to do: the task is recorded, and what it made is stored if still needed."""
        if name not in self._done:
            self._done[name] = self.is_recorded(name) and (not self.is_needed(name) or self._has_product(name))
        return self._done[name]

    def is_needed(self, name: str) -> bool:
        """Tell whether an unfinished task will read what this one makes."""
        task = self.tasks[name]
        readers = [self.tasks[user] for user in self._users[name]]
        if isinstance(task.item, Cell):  # a matched cell is read for its record only
            record = load_cell(self.directory, task.item)
            readers = [r for r in readers if not (isinstance(r.item, Cell) and r.item.parent != task.key)]
            if record is not None and record.artefact_sha256:  # a reward model may be read by any cell that comes of it
                readers += self._after(task.item)
        return any(not self.is_done(reader.name) for reader in readers)

    def _after(self, cell: Cell) -> list[Task]:
        """Return the tasks of all cells that are trained on top of a cell, directly or not."""
        next_ = [task for task in self.tasks.values() if isinstance(task.item, Cell) and task.item.parent == cell.key]
        return [*next_, *(task for child in next_ if isinstance(child.item, Cell) for task in self._after(child.item))]

    def _has_product(self, name: str) -> bool:
        item = self.tasks[name].item
        if isinstance(item, PoolPlan):
            return all((pool_folder(self.directory, item) / file).exists() for file in FILES)
        return not isinstance(item, Cell) or has_weights(self.directory, item)


class Worker:
    """Does tasks until none is left that it can do.

    Args:
        study: The study.
        shard: The part of the seeds that this worker does.
        progress: Where to report.
    """

    def __init__(self, study: StudyInputs, *, shard: Shard, progress: Progress) -> None:
        self.study, self.shard, self.progress = study, shard, progress
        self.failures: dict[str, Failure] = {}
        self._since = time.time()

    def run(self) -> None:
        """Do all tasks of the shard that can be done; a failed task is recorded, and the others go on.

        Raises:
            KeyboardInterrupt: The user stopped the run; finished tasks stay.
            ResourceError: The disk is full or read-only.
        """
        # What lives now lives to the end: a collection after each task looks at what the tasks made, not at a million
        # objects of torch.
        gc.collect()
        gc.freeze()
        try:
            with sharing_server():
                self._work()
        finally:
            gc.unfreeze()

    def _work(self) -> None:
        open_tasks, ready = self.left()
        while open_tasks:
            if not any(self._try(task) for task in ready):
                time.sleep(WAIT_S)  # others hold what is ready, or what this part waits for
            open_tasks, ready = self.left()

    def _own(self) -> Iterable[Task]:
        # Tasks of the start model, which has no seed, belong to the first part.
        places = {None: 0} | {seed: place for place, seed in enumerate(self.study.spec.seeds)}
        return (task for task in self.study.tasks if self.shard.holds(places[task.seed]))

    def _is_blocked(self, task: Task) -> bool:
        if task.name in self.failures or self._has_failed_elsewhere(task):
            return True
        by_name = {other.name: other for other in self.study.tasks}
        return any(self._is_blocked(by_name[name]) for name in task.needs)

    def _has_failed_elsewhere(self, task: Task) -> bool:
        """Tell whether the task failed in another process since this one began, for it would fail here too."""
        try:
            return _failure_file(self.study.directory, task).stat().st_mtime >= self._since
        except FileNotFoundError:
            return False

    def _try(self, task: Task) -> bool:
        """Do the task unless another process is doing it; return False if one is."""
        with alone(self.study.directory / "locks" / task.name, wait=False) as is_ours:
            if not is_ours:
                return False
            if State(self.study.directory, self.study.tasks).is_done(task.name):
                return True
            if not self._has_failed_elsewhere(task):
                self.do(task)
            return True

    def do(self, task: Task) -> None:
        """Do a task; a failure is recorded.

        Raises:
            ResourceError: The disk is full or read-only.
        """
        report = _failure_file(self.study.directory, task)
        try:
            _DO[task.kind](self.study, task, self.progress)
        except Exception as error:
            if (trouble := disk_trouble(error, self.study.directory)) is not None:
                raise trouble from error  # every other task would end in the same way
            failure = Failure(task.name, task.seed, f"{type(error).__name__}: {error}")
            self.failures[task.name] = failure
            report.parent.mkdir(exist_ok=True)
            write_atomic(report, encode(failure))
            self.progress.say(f"FAILED {task.name}: {failure.error}")
        else:
            report.unlink(missing_ok=True)
        give_back_memory()

    def left(self) -> tuple[list[Task], list[Task]]:
        """Return the shard's tasks that are neither done nor blocked by a failure, and those that can be done now."""
        state = State(self.study.directory, self.study.tasks)
        self._free(state)
        open_tasks = [task for task in self._own() if not state.is_done(task.name) and not self._is_blocked(task)]
        return open_tasks, [task for task in open_tasks if all(state.is_done(name) for name in task.needs)]

    def _free(self, state: State) -> None:
        """Delete weights that no task needs any more, unless the study keeps them."""
        if self.study.spec.keep_weights:
            return
        for task in self._own():
            if isinstance(task.item, Cell) and state.is_recorded(task.name) and not state.is_needed(task.name):
                drop_weights(self.study.directory, task.item)


def give_back_memory() -> None:
    """Give freed memory back to the system where the C library can (glibc).

    Otherwise the library keeps what one model took and takes more for the next: after ten tasks a process held 8 GB,
    though no task needed 6. Unused GPU memory, which torch keeps, is given back too.
    """
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _failure_file(directory: Path, task: Task) -> Path:
    return directory / FAILURES / f"{task.name}.json"


def stored_failures(directory: Path, tasks: Sequence[Task]) -> list[Failure]:
    """Return the stored failures of tasks that were not finished since."""
    files = [_failure_file(directory, task) for task in tasks]
    return [decode(file.read_bytes(), Failure) for file in files if file.exists()]


def stored_record(directory: Path, task: Task) -> Measurement | CellRecord | Manifest | None:
    """Return the record of a finished task: of an evaluation, a cell or a pool; None if the task is not finished."""
    match task.item:
        case Evaluation():
            return load_measured(directory, task.name, task.key)
        case Cell():
            return load_cell(directory, task.item)
    folder = pool_folder(directory, task.item)
    return load_manifest(folder) if (folder / MANIFEST).exists() else None


def seconds_of(record: Measurement | CellRecord | Manifest) -> float:
    """Return how long the task of a record took."""
    return record.seconds if isinstance(record, Measurement) else record.ledger.seconds


def _draw(study: StudyInputs, task: Task, progress: Progress) -> None:
    """Draw a pool: answers of the start model, or of a trained model to new prompts."""
    plan, spec = task.item, study.spec
    assert isinstance(plan, PoolPlan)  # noqa: S101 - by construction of the task
    data, inputs = spec.data, study.inputs[plan.seed]
    if plan.like is not None:
        _draw_plain(study, plan, progress)
        return
    if plan.cell is None:
        drawing: DataSpec | ResampleSpec = data
        source, name, prompts, contamination = study.start, spec.start, inputs.prompts, inputs.compared
    else:
        assert spec.resample is not None  # noqa: S101 - there is no such pool otherwise
        drawing = spec.resample
        source = trained_weights(study.directory, study.plan.cell(plan.cell))
        name = f"{plan.after} (seed {plan.seed})"
        prompts, contamination = (
            (inputs.again, inputs.again_compared) if plan.share == 1 else inputs.further[plan.share - 2]
        )
    seed = derive_seed(data.seed, "draws", plan.seed, plan.cell is None) % 2**31
    progress.say(
        f"Drawing {drawing.draws} answers of {name} to each of {len(prompts)} training prompts (seed {plan.seed})"
    )
    if plan.cell is None and data.model is not msgspec.UNSET:
        model: Model = open_model(data.model, say=progress.say)
    else:
        model = _load(study, source, name)
    try:
        build_pool(
            model,
            prompts,
            directory=pool_folder(study.directory, plan),
            draws=drawing.draws,
            repair=drawing.repair,
            seed=seed,
            sampling=Sampling(max_new_tokens=data.most_tokens, temperature=drawing.temperature, seed=seed),
            reward=spec.pool_reward,
            limits=drawing.limits,
            contamination=contamination,
            progress=progress,
        )
    finally:
        model.close()


def _draw_plain(study: StudyInputs, plan: PoolPlan, progress: Progress) -> None:
    """Draw a pool of plain answers that are like the SFT rows of another pool."""
    spec, inputs = study.spec, study.inputs[plan.seed]
    assert plan.like is not None  # noqa: S101 - by construction of the task
    like = load_pool(pool_folder(study.directory, study.plan.pool(plan.like))).sft
    prompts = plain_prompts(inputs.prompts, lambda prompt: query_texts()[prompt.tags["query"]])
    seed = derive_seed(spec.data.seed, "plain draws", plan.seed) % 2**31
    progress.say(
        f"Drawing plain answers of {spec.start} to {len(prompts)} queries without constraints (seed {plan.seed})"
    )
    model, tokenizer = _load(study, study.start, spec.start), load_tokenizer(study.start)
    try:
        build_plain_pool(
            model,
            prompts,
            like=like,
            tokens=lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"]),
            sampling=Sampling(max_new_tokens=spec.data.most_tokens, temperature=spec.data.temperature, seed=seed),
            directory=pool_folder(study.directory, plan),
            contamination=inputs.compared,
            progress=progress,
            shortened_ids=frozenset(prompt.id for prompt in prompts if prompt.tags["slice"].endswith(LONG)),
        )
    finally:
        model.close()


def _load(study: StudyInputs, weights: Path, name: str) -> Model:
    """Open a model that draws answers to train on, in the study's precision."""
    return _open(study, weights, name, study.resolved.rollouts, layout=study.resolved.layout)


def _open(
    study: StudyInputs, weights: Path, name: str, precision: AskedPrecision, *, layout: Layout = "columns"
) -> Model:
    """Open a model by its directory of weights, behind a server if the study says so."""
    if study.spec.served_by == "vllm":
        return VllmModel(str(weights), name=name, precision=precision)
    stop_shared_server()
    return TransformersModel.load(
        weights,
        name=name,
        precision=precision,
        layout=layout,
        threads=study.spec.threads,
        device=resolve_device(study.spec.device),
        is_strict=True,
    )


def _train(study: StudyInputs, task: Task, progress: Progress) -> None:
    """Train one cell on top of its parent."""
    from adhere.study.run.training import train_cell

    cell = task.item
    assert isinstance(cell, Cell)  # noqa: S101 - by construction of the task
    plan, directory = study.plan, study.directory
    start = study.start if cell.parent is None else trained_weights(directory, plan.cell(cell.parent))
    pools = [load_pool(pool_folder(directory, plan.pool(key))) for key in cell.pools if plan.pool(key).share == 1]
    further = [load_pool(pool_folder(directory, plan.pool(key))) for key in cell.pools if plan.pool(key).share > 1]
    for pool in further:  # for what draws online; pairs and SFT rows stay those of one budget
        pools[-1] = dataclasses.replace(pools[-1], prompts=pools[-1].prompts + pool.prompts, rl=pools[-1].rl + pool.rl)
    records = [record for key in cell.matched if (record := load_cell(directory, plan.cell(key))) is not None]
    for record in records:
        if record.unknown:
            raise AdhereError(
                f"{'+'.join(cell.path)}: equal compute to {'+'.join(record.path)} cannot be given: its command did not "
                f"report {', '.join(record.unknown)} in ledger.json"
            )
    matched_ledgers = [record.ledger for record in records]
    stop_shared_server()
    folder = clear_unfinished(directory, cell)
    trained = train_cell(
        study.spec,
        cell,
        pools,
        start=start,
        origin=study.start,
        into=folder,
        matched_ledgers=matched_ledgers,
        precisions=study.resolved,
        progress=progress,
        judge=_judge(study, cell),
    )
    kept_share = study.spec.stage(cell.stage).kept
    if kept_share < 1:
        trained = msgspec.structs.replace(trained, weights_sha256=keep_part(folder / "model", start, kept_share))
    save_cell(directory, trained, cell)


def _judge(study: StudyInputs, cell: Cell) -> Path | None:
    """Return the directory of the last reward model before a cell, or None."""
    while cell.parent is not None:
        cell = study.plan.cell(cell.parent)
        yields = study.spec.stage(cell.stage).stage.yields
        if yields == REWARD_MODEL:
            return trained_weights(study.directory, cell, yields)
    return None


def _evaluate(study: StudyInputs, task: Task, progress: Progress) -> None:
    """Evaluate one arm on every prompt of a suite, and store the measurement.

    A model of the study answers greedily; on the study's own prompts its plain text is scored too.
    """
    evaluation, spec = task.item, study.spec
    assert isinstance(evaluation, Evaluation)  # noqa: S101 - by construction of the task
    suite = study.suites[evaluation.suite] if evaluation.suite else study.suite
    start_s = time.monotonic()
    if evaluation.source and spec.asks_rules:
        source = study.sources[evaluation.arm, evaluation.seed]
        progress.say(f"Holding the sessions of {source.label} against {study.suite.name}: {source.name}")
        measurement = measure_sessions(study, source, name=task.name, key=task.key)
        save_measured(
            study.directory, task.name, msgspec.structs.replace(measurement, seconds=time.monotonic() - start_s)
        )
        return
    if evaluation.source:
        run, plain = measure_source(study, study.sources[evaluation.arm, evaluation.seed], suite, task.name, progress)
        _keep_evaluation(study, task, run, plain, suite, seconds=time.monotonic() - start_s)
        return
    weights = (
        study.start if evaluation.cell is None else trained_weights(study.directory, study.plan.cell(evaluation.cell))
    )
    name = evaluation.arm if evaluation.seed is None else f"{evaluation.arm} (seed {evaluation.seed})"
    folder = study.directory / "runs" / task.name
    model = _open(study, weights, name, spec.evaluation.precision)
    try:
        progress.say(f"Evaluating {name} on {len(suite.prompts)} {evaluation.suite or 'held-out'} prompts")
        run = evaluate_sync(model, suite, folder, sampling=study.sampling_on(suite), progress=progress)
    finally:
        model.close()
    is_scored = not evaluation.suite and spec.served_by is msgspec.UNSET  # a served model's weights are not read here
    plain = read_plain(*load_weights(weights, resolve_device(spec.device))) if is_scored else None
    _keep_evaluation(study, task, run, plain, suite, seconds=time.monotonic() - start_s)


def _keep_evaluation(
    study: StudyInputs, task: Task, run: Run, plain: PlainText | None, suite: Suite, *, seconds: float
) -> None:
    evaluation = task.item
    assert isinstance(evaluation, Evaluation)  # noqa: S101 - by construction of the task
    if study.spec.keep_answers is True:
        keep_answers(study.directory, task.name, run.responses())
    save_measured(
        study.directory,
        task.name,
        collect_run(
            run,
            suite.prompts,
            key=task.key,
            arm=evaluation.arm,
            seed=evaluation.seed,
            suite_sha256=suite.sha256,
            plain=plain,
            shown_ids=study.shown,
            seconds=seconds,
            suite=evaluation.suite,
        ),
    )


_DO: Mapping[str, Callable[[StudyInputs, Task, Progress], None]] = {
    "pool": _draw,
    "cell": _train,
    "evaluation": _evaluate,
}
