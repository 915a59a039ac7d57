"""`adhere rescore RUN`."""

from __future__ import annotations

from pathlib import Path

import click

from adhere.cli.options import FOLDER, flag
from adhere.progress import for_terminal
from adhere.schema import encode
from adhere.terminal import columns, show


@click.command("rescore")
@click.argument("runs", type=FOLDER, nargs=-1, required=True, metavar="RUN...")
@flag("--details", help="Print families and kinds of constraint, too.")
@flag("--json", "as_json", help="Print one JSON object a run.")
def command(runs: tuple[Path, ...], details: bool, as_json: bool) -> None:
    """Judge stored answers again with this version's verifiers. The model is not needed."""
    from adhere.pipeline.evaluate import rescore
    from adhere.report.run.text import run_text
    from adhere.report.run.troubles import troubles_of
    from adhere.store.sharded import load_run

    for directory in runs:
        summary = rescore(directory, progress=for_terminal())
        run = load_run(directory)
        text = run_text(run.spec, summary, troubles_of(run), details=details, width=columns())
        show(encode(summary) if as_json else text)
