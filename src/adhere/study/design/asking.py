"""Tell, before a study starts, the work that was never measured here: models of others, servers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from adhere.errors import AdhereError
from adhere.models.local.vllm import server_spec, split_adapter
from adhere.study.design.command import CommandSettings, fill_in
from adhere.study.design.estimate import EVALUATION_BYTES, Estimate
from adhere.study.design.plan import Cell, Evaluation, PoolPlan, cell_folder, who_draws
from adhere.study.design.sources import Source, SourceKey
from adhere.study.design.spec import StudySpec
from adhere.study.design.tasks import Task
from adhere.suites.base import Suite


def estimate_asking(
    spec: StudySpec,
    tasks: Sequence[Task],
    done: Mapping[str, bool],
    sources: Mapping[SourceKey, Source],
    suites: Mapping[str, Suite],
) -> Estimate:
    """Estimate how often prompts are asked, and the memory and disk needed; minutes stay 0, for none were measured.

    `suites` holds the suite of the verdict under "" and the others by name.
    """
    open_tasks = [task for task in tasks if not done[task.name]]
    largest = max(map(_bytes, sources.values()), default=0.0)
    prompts = sum(len(suite.prompts) for suite in suites.values())
    return Estimate(
        cells=(),
        pools=(),
        memory_bytes=max(EVALUATION_BYTES, 2.5 * largest) if largest else 5e8,
        disk_bytes=5e7 + 4e3 * len(open_tasks) * spec.draws * prompts,
        parameters=0,
        source="not estimated",
        minutes=0.0,
        asking=tuple(_lines(spec, tasks, done, sources, suites)),
    )


def _bytes(source: Source) -> float:
    if source.weights is None:
        return 0.0
    return float(sum(file.stat().st_size for file in source.weights.glob("*.safetensors")))


def _lines(
    spec: StudySpec,
    tasks: Sequence[Task],
    done: Mapping[str, bool],
    sources: Mapping[SourceKey, Source],
    suites: Mapping[str, Suite],
) -> Iterator[str]:
    seeds = ", ".join(map(str, spec.seeds))
    yield f"Study {spec.name}: {len(spec.arms)} arms that others trained, seeds {seeds}; nothing is trained here"
    for task in tasks:
        if isinstance(task.item, Evaluation):
            source, suite = sources[task.item.arm, task.item.seed], suites[task.item.suite]
            state = "finished" if done[task.name] else source.trouble or "to do"
            noun = f"{len(suite.prompts)} prompts of {suite.name}"
            yield f"  evaluate    {source.label} on {noun}: {source.name}, {state}"
            if source.engine == "vllm" and not source.trouble:
                yield f"              {_server(source.name.partition('/')[2], None)}"
    answers = (
        sum(len(suites[task.item.suite].prompts) for task in tasks if isinstance(task.item, Evaluation)) * spec.draws
    )
    n_open = sum(not done[task.name] for task in tasks)
    yield f"  in all      {answers:,} answers, {n_open} of {len(tasks)} evaluations left; minutes are not estimated"


def _server(weights: str, precision: str | None) -> str:
    """Return the command of the server that is started for a model."""
    try:
        base, adapter = split_adapter(weights)
    except AdhereError:  # not trained yet
        base, adapter = weights, None
    server = server_spec(base, adapter, precision)
    return shlex.join(["vllm", *server.command("PORT")]) + (f", and {adapter} loaded into it" if adapter else "")


def served_lines(
    spec: StudySpec,
    tasks: Sequence[Task],
    done: Mapping[str, bool],
    cells: Mapping[str, Cell],
    *,
    directory: Path,
    start: Path,
    suites: Mapping[str, Suite],
) -> Iterator[str]:
    """Yield the plan of a study whose models are served: what each task runs, one or two lines a task.

    Args:
        spec: The study.
        tasks: Tasks of the study.
        done: By name of the task, whether it is finished.
        cells: Cells by key.
        directory: Directory of the study.
        start: Directory of the start model.
        suites: The suite of the verdict under "", and the others by name.
    """
    yield (
        f"Study {spec.name}: {len(spec.arms)} arms, seeds {', '.join(map(str, spec.seeds))}, start {spec.start}, "
        f"{spec.most_gpus} GPUs a job"
    )

    def weights_of(key: str | None) -> Path:
        return start if key is None else cell_folder(directory, cells[key]) / "model"

    for task in tasks:
        state, item = "finished" if done[task.name] else "to do", task.item
        if isinstance(item, PoolPlan):
            model = spec.data.model if item.cell is None and item.like is None else msgspec.UNSET
            yield f"  draw        seed {item.seed}, by {who_draws(spec, item)}, into {item.folder}: {state}"
            if model is msgspec.UNSET and spec.served_by is not msgspec.UNSET:
                yield f"              {_server(str(weights_of(item.cell)), 'auto')}"
            elif model is not msgspec.UNSET and model.startswith("vllm/"):
                yield f"              {_server(model.partition('/')[2], None)}"
        elif isinstance(item, Cell):
            settings = spec.stage(item.stage).settings
            yield f"  train       {'+'.join(item.path)} (seed {item.seed}): {state}"
            if isinstance(settings, CommandSettings):
                yield f"              {_command(settings, item, directory, weights_of(item.parent))}"
        else:
            label = item.arm if item.seed is None else f"{item.arm} (seed {item.seed})"
            suite = suites[item.suite]
            yield f"  evaluate    {label} on {len(suite.prompts)} prompts of {suite.name}: {state}"
            if spec.served_by is not msgspec.UNSET and not item.source:
                yield f"              {_server(str(weights_of(item.cell)), spec.evaluation.precision)}"
    n_open = sum(not is_finished for is_finished in done.values())
    yield f"  in all      {n_open} of {len(tasks)} tasks left; minutes are not estimated"


def _command(settings: CommandSettings, cell: Cell, directory: Path, start: Path) -> str:
    """Return the GPUs and hours of a cell, and its command with the known placeholders filled in."""
    folder = cell_folder(directory, cell)
    rows = {table: str(folder / "rows" / f"{table}.jsonl") for table in ("sft", "pairs", "rl")}
    values = {**settings.fill, **rows, "start": str(start), "seed": cell.seed, "out": str(folder / "out")}
    command_line = shlex.join(fill_in(settings.command, values | {"resume": str(folder / "checkpoint")}))
    return f"{settings.gpus} GPUs, at most {settings.hours:g} hours: {command_line}"
