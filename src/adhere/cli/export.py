"""`adhere export RUN… --to HARNESS`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.offer import suite_names
from adhere.cli.options import FOLDER, PATH, option
from adhere.errors import UsageError
from adhere.terminal import show

if TYPE_CHECKING:
    from adhere.integrations.shared.export import To


@click.command("export")
@click.argument("runs", nargs=-1, type=PATH, metavar="[RUN...]")
@option(
    "--suite",
    "suites",
    multiple=True,
    shell_complete=suite_names,
    help="Write a task of lm-eval that asks this suite, instead of a run.",
)
@option(
    "--to",
    type=click.Choice(["inspect", "lm-eval", "evalscope", "every-eval-ever", "hub"]),
    required=True,
    help="Whose files to write.",
)
@option("--out", type=FOLDER, required=True, help="Folder to write into.")
@option("--seed", type=int, help="Of a generated suite.")
@option("--limit", type=click.IntRange(1), help="At most so many prompts of a suite.")
@option("--dataset", metavar="OWNER/NAME", help="With --to hub: the benchmark's data set on the Hugging Face hub.")
@option("--task", metavar="ID", help="With --to hub: the task's id in that data set's eval.yaml.")
def command(
    runs: tuple[Path, ...],
    suites: tuple[str, ...],
    to: To,
    out: Path,
    seed: int | None,
    limit: int | None,
    dataset: str | None,
    task: str | None,
) -> None:
    """Write stored runs as another harness's logs, or a suite as its task.

    `inspect view`, EvalScope's app and lm-eval's tools then open them, and `adhere compare` reads them back. `--to hub`
    writes `.eval_results/SUITE.yaml` for a model's repository on the Hugging Face hub; nothing is uploaded.
    """
    from adhere.integrations.lm_eval.task import write_task
    from adhere.integrations.shared.export import export
    from adhere.store.sharded import load_run

    if bool(runs) == bool(suites):
        raise UsageError("Give runs, or --suite NAME, and not both")
    if suites and (dataset or task):
        raise UsageError("--dataset and --task name the benchmark of a run (--to hub), not of --suite")
    if suites and to != "lm-eval":
        raise UsageError(
            f"--suite writes task folders of lm-eval. {to} takes our suites without a file: see docs/guide/harnesses.md"
        )
    for name in suites:
        show(f"{out}: task {write_task(name, out, seed=seed, limit=limit)}")
    for directory in runs:
        files, notes = export(load_run(directory), out, to=to, dataset=dataset, task=task)
        show("\n".join(map(str, files)))
        for note in notes:
            show(f"{directory}: {note}", err=True)
