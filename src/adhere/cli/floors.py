"""`adhere floors SUITE`."""

from __future__ import annotations

import click

from adhere.cli.offer import suite_names
from adhere.cli.options import flag, option
from adhere.schema import MODES, Mode, encode
from adhere.terminal import columns, show


@click.command("floors")
@click.argument("suite_name", metavar="SUITE", shell_complete=suite_names)
@option("--mode", type=click.Choice(MODES), default="reference", help="See adhere verify.")
@option("--limit", type=click.IntRange(1), help="At most so many prompts, an even share of each slice.")
@flag("--kinds", help="Also the kinds of constraint that an answerer always passes.")
@flag("--json", "as_json", help="Print a list, best answerer first.")
def command(suite_name: str, mode: Mode, limit: int | None, kinds: bool, as_json: bool) -> None:
    """Measure what answerers without a model pass of a suite: constants, echoes, refusals, fillers, bots.

    Thirty of them answer every prompt that a program decides about; none sees a constraint. A model's rate near the
    best of them says nothing about following. The same number stands as `floor` beside every rate of the suite.
    """
    from adhere import suites
    from adhere.pipeline.floors import floors_of
    from adhere.report.tables.floors import floors_text

    suite = suites.load(suite_name, limit=limit)
    rows = floors_of(suite.prompts, mode=mode, cut_answers=suite.cut_answers)
    show(encode(rows) if as_json else floors_text(suite.name, rows, width=columns(), kinds=kinds))
