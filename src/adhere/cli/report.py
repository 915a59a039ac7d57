"""`adhere report RUN…` and `adhere report STUDY`."""

from __future__ import annotations

from pathlib import Path

import click

from adhere.cli.options import FILE, FOLDER, flag, option
from adhere.progress import for_terminal
from adhere.terminal import columns, show


@click.command("report")
@click.argument("directories", type=FOLDER, nargs=-1, required=True, metavar="DIR...")
@option("--html", type=FILE, help="Write one self-contained page.")
@option("--xlsx", type=FILE, help="Write a workbook: of a study, a sweep, or of runs.")
@option("--markdown", type=FILE, help="Write Markdown: of a study.")
@flag("--json", "as_json", help="Print a study's result or a leaderboard as one JSON object.")
def command(
    directories: tuple[Path, ...], html: Path | None, xlsx: Path | None, markdown: Path | None, as_json: bool
) -> None:
    """Print stored runs, one study or one sweep; with --html, --xlsx or --markdown, write that file instead.

    No model is needed. A directory with a `study.json` or a `result.json` is a study, one with a `starts.json` a study
    from several starts, one with a `drawn.json` a study whose seeds draw their own kinds; one with a
    `sweep.json` is a sweep; one with a `manifest.json` and `responses/` is a run.
    """
    from adhere.cli.sweep import insist_writable
    from adhere.report.pages import stored_in

    for path in (html, xlsx, markdown):
        if path is not None:
            insist_writable(path)
    stored_item = stored_in(directories)
    lines = stored_item.write(html=html, xlsx=xlsx, markdown=markdown)
    for line in lines:
        for_terminal().say(line)
    if as_json or not lines:
        show(stored_item.json() if as_json else stored_item.text(columns(otherwise=120)))
