"""The options with which a command runs on an engine, and the run itself."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from adhere.cli.options import Command, Number, option, with_options
from adhere.errors import UsageError
from adhere.progress import for_terminal

if TYPE_CHECKING:
    from adhere.lines.step import Step
    from adhere.steps.engines import EngineName
    from adhere.steps.run import Manifest

ENGINES = ("local", "ray", "datatrove")


def engine_options(command: Command) -> Command:
    """Add `--engine` and `--shard-mb` to a command."""
    options = (
        option("--engine", type=click.Choice(ENGINES),
            help="Files as shards, resumed by shard: processes here, a Ray cluster, datatrove."),
        option("--shard-mb", type=Number(0, min_open=True), default=32,
            help="With --engine: about how much of a file is one shard."),
    )  # fmt: skip
    return with_options(command, options)


def parts_options(command: Command) -> Command:
    """Add `--emit` and `--parts` to a command, which run it as an array of jobs."""
    options = (
        option("--emit", type=click.Choice(["slurm"]),
            help="Write a job file in which an array of jobs shares the work, and stop."),
        option("--parts", type=click.IntRange(1), help="With --emit: how many jobs share the work."),
    )  # fmt: skip
    return with_options(command, options)


def emit_array(name: str, emit: str | None, parts: int | None, *, gpus: int = 0) -> bool:
    """Write NAME.slurm, in which each job does one --shard of the typed command; return whether this was asked for.

    Args:
        name: The command's name.
        emit: The scheduler that the file is for; None: no file was asked for.
        parts: How many jobs share the work.
        gpus: How many GPUs a job is given.

    Raises:
        UsageError: The number of jobs is missing, or one shard was asked for as well.
    """
    if emit is None:
        if parts is not None:
            raise UsageError("--parts goes with --emit")
        return False
    context = click.get_current_context()
    if parts is None:
        raise UsageError(f"--emit {emit}: say how many jobs share the work with --parts N")
    if context.params.get("shard") is not None:
        raise UsageError(f"--emit {emit} gives each job a --shard of its own; leave yours out")
    command_text = shlex.join(["adhere", name, *_arguments_of(context, {"emit", "parts"})])
    path = Path(f"{name}.slurm")
    path.write_text(
        "#!/usr/bin/env bash\n"
        f"#SBATCH --job-name=adhere-{name}\n#SBATCH --array=1-{parts}\n#SBATCH --output=%x-%A-%a.log\n"
        f"{f'#SBATCH --gpus-per-node={gpus}{chr(10)}' if gpus else ''}#SBATCH --requeue\nset -euo pipefail\n"
        "# All jobs must see the directory where results are stored; one that is requeued goes on where it stopped.\n"
        f'{command_text} --shard "$SLURM_ARRAY_TASK_ID/{parts}"\n'
    )
    after = "adhere report SWEEP" if name == "sweep" else command_text
    for_terminal().say(f"{path}: sbatch {path}; when all jobs have ended: {after}")
    return True


def _arguments_of(context: click.Context, without: set[str]) -> list[str]:
    """Return the arguments that a person gave to a command, except the options named in `without`."""
    words: list[str] = []
    for param in context.command.params:
        name = param.name or ""
        if name in without or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(param, click.Argument):
            words = [*map(str, values), *words]
        elif getattr(param, "is_flag", False):
            words.append(param.opts[0])
        else:
            words += [word for entry in values for word in (param.opts[0], str(entry))]
    return words


def run_on(
    engine: EngineName,
    step: Step,
    files: tuple[str, ...],
    out: Path | str | None,
    *,
    jobs: int,
    shard_mb: float,
    option: str,
) -> Manifest:
    """Run a step over files, with progress on the terminal.

    Raises:
        UsageError: No folder to write to was given, or it is a file.
    """
    from adhere.lines.workers import cores
    from adhere.steps.run import run_shards

    if out is None:
        raise UsageError(f"--engine {engine} writes shards: say where with {option} DIR")
    if Path(out).is_file():
        raise UsageError(f"{option} {out} is a file; with --engine it is a folder of shards")
    progress = for_terminal()
    manifest = run_shards(
        step,
        files,
        str(out),
        engine=engine,
        jobs=jobs or cores(),
        shard_bytes=round(shard_mb * (1 << 20)),
        progress=progress,
    )
    n = manifest.counts
    progress.say(
        f"{len(manifest.shards)} shards: {n.read:,} rows read = {n.kept:,} kept + {n.dropped:,} dropped + "
        f"{n.broken:,} broken; {out}/manifest.json"
    )
    return manifest
