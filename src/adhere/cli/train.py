"""`adhere train RECIPE.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from adhere.cli.offer import model_names
from adhere.cli.options import PATH, flag, option
from adhere.progress import Progress, Silent, for_terminal
from adhere.schema import encode, write_atomic
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.train.recipe.card import StageRecord
    from adhere.train.recipe.run import PlannedStage


@click.command("train")
@click.argument("recipe", metavar="RECIPE.toml|PRESET")
@option("--start", metavar="MODEL", shell_complete=model_names, help="The model to start from, instead of the file's.")
@option("--template", metavar="chatml|PATH", help="A chat template for a base model, instead of the file's.")
@option("--data", metavar="DIR", help="Directory with sft.jsonl, pairs.jsonl and rl.jsonl, instead of the file's.")
@option("--out", type=PATH, help="Where stages and result are stored [trained/NAME].")
@option("--seed", type=int, help="Of every order and draw, instead of the file's.")
@flag("--dry-run", help="Print what each stage costs (memory, minutes, disk), and stop.")
@option(
    "--emit",
    metavar="torchrun|slurm|skypilot|verl|open-instruct|prime-rl|trl",
    help="Write a launch file for larger machines, or another trainer's config, and stop.",
)
@option(
    "--processes",
    type=click.IntRange(1),
    help="Of --emit (and of --dry-run --shard): on a node [a preset's machine says, else 8].",
)
@option("--nodes", type=click.IntRange(1), default=1, help="Likewise.")
@flag("--shard", help="Cut weights, gradients and moments over the processes (FSDP2), under torchrun or accelerate.")
@option("--device", default="auto", metavar="auto|cpu|cuda|mps", help="Where to compute.")
@option("--track", multiple=True, metavar="TRACKER", help="Also log to trackio, wandb, mlflow or tensorboard.")
@option("--push", metavar="OWNER/NAME", help="Send the result to a private repository of the Hugging Face hub.")
@flag("--json", "as_json", help="Print the stages' records as one JSON object.")
def command(
    recipe: str, start: str | None, template: str | None, data: str | None, out: Path | None, seed: int | None,
    dry_run: bool, emit: str | None, processes: int | None, nodes: int, shard: bool, device: str,
    track: tuple[str, ...], push: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Train a model by a recipe: its stages one after the other, each kept when it is finished.

    Safe to interrupt: running the same command again goes on where it stopped.
    """
    import msgspec

    from adhere.integrations.emit import Trainer, trainer_files
    from adhere.train.parallel import processes as joined
    from adhere.train.recipe.launchers import launch_file
    from adhere.train.recipe.load import load_recipe, machine_of
    from adhere.train.recipe.run import plan_recipe, run_recipe
    from adhere.train.recipe.tracking import open_tracker

    spec, base = load_recipe(recipe)
    if template is not None and Path(template).exists():
        template = str(Path(template).resolve())
    changes = {
        "start": start,
        "template": template,
        "data": None if data is None else str(Path(data).resolve()),
        "seed": seed,
        "push": push,
    }
    spec = msgspec.structs.replace(spec, **{name: value for name, value in changes.items() if value is not None})
    out = out or Path("trained") / spec.name
    progress: Progress = for_terminal()
    machine = machine_of(recipe)
    if emit is not None or dry_run:  # under a launcher it is the launcher that says
        processes = processes or (machine.gpus if machine else 8)
        shard = shard or bool(machine and machine.shard)
    if emit is not None and emit in get_args(Trainer):
        from adhere.train.recipe.data import load_rows

        folder, where = Path(f"{spec.name}-{emit}"), base / spec.data
        rows = load_rows(where, ["rl"] if emit in {"open-instruct", "prime-rl"} else []).rl
        folder.mkdir(exist_ok=True)
        for name, text in trainer_files(emit, spec, rows, data=str(where.resolve()), gpus=processes or 8).items():
            write_atomic(folder / name, text.encode())
        progress.say(f"Wrote {folder}. What is to be known of it: docs/guide/trainers.md")
        return
    if emit is not None:
        launch_options = {
            "--start": start,
            "--template": template,
            "--data": data,
            "--out": str(out),
            "--seed": seed,
            "--push": push,
            "--device": device if device != "auto" else None,
        }
        options = [
            word for option, value in launch_options.items() if value is not None for word in (option, str(value))
        ]
        options += [word for tracker in track for word in ("--track", tracker)] + ["--shard"] * shard
        name, text = launch_file(emit, [recipe, *options], name=spec.name, processes=processes or 8, nodes=nodes)
        write_atomic(Path(name), text.encode())
        progress.say(f"Wrote {name}. Run it on the machine that it is for; `adhere train` resumes there, too")
        return
    if dry_run:
        shards = (processes or 8) * nodes if shard else 1
        plan = plan_recipe(spec, out, base=base, device=device, shards=shards)
        show(encode([stage._asdict() for stage in plan]) if as_json else _plan_text(plan))
        return
    with joined(shard=shard) as place:
        trackers = [open_tracker(name, name=spec.name, directory=out) for name in track] if place.is_first else []
        own_progress = progress if place.is_first else Silent()
        done = run_recipe(spec, out, base=base, device=device, progress=own_progress, trackers=trackers)
        if place.is_first:
            progress.say(f"Result: {out / 'model'}")
            show(encode({"model": str(out / "model"), "stages": done}) if as_json else _done_text(done))


def _plan_text(plan: Sequence[PlannedStage]) -> str:
    from adhere.report.pieces.text_table import text_table

    rows = [["stage", "rows", "steps", "tokens drawn", "tokens trained", "minutes", "memory GB"]]
    for stage in plan:
        cost = stage.cost
        minutes = "done" if stage.done else f"{cost.minutes:.1f}"
        rows.append(
            [
                stage.name,
                f"{stage.rows:,}",
                f"{cost.steps}",
                f"{cost.tokens_generated:,}",
                f"{cost.tokens_processed:,}",
                minutes,
                f"{cost.memory_bytes / 1e9:.1f}",
            ]
        )
    return text_table(rows, width=columns())


def _done_text(done: Sequence[StageRecord]) -> str:
    from adhere.report.pieces.text_table import text_table

    rows = [["stage", "rows", "steps", "first loss", "last loss", "minutes"]]
    for record in done:
        losses = [row["loss"] for row in record.log if row.get("loss") is not None]
        loss_cells = [f"{losses[0]:.3f}", f"{losses[-1]:.3f}"] if losses else ["–", "–"]
        steps, minutes = str(record.ledger.steps), f"{record.ledger.seconds / 60:.1f}"
        rows.append([record.stage, f"{record.rows:,}", steps, *loss_cells, minutes])
    return text_table(rows, width=columns())
