"""`adhere reproduce DIR`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adhere.cli.options import EXISTING_FOLDER, flag
from adhere.schema import encode
from adhere.terminal import columns, show


@click.command("reproduce")
@click.argument("directory", type=EXISTING_FOLDER, metavar="DIR")
@flag("--json", "as_json", help="Print one JSON object.")
def command(directory: Path, as_json: bool) -> None:
    """Compute a committed study again, from DIR/result.json and DIR/records.tar.xz alone.

    Of a study from several starts, or whose seeds draw their own kinds: each of them, and what they say together.

    No model and no torch are needed. It says how many values of the result agree with the records, and lists those that
    differ (exit 1). A study that was finished under an older rule is compared by that rule, and judged by today's
    beside it.
    """
    from adhere.report.study.reproduction import reproduction_text, starts_reproduction_text
    from adhere.study.outcome.drawn import FILE as DRAWN
    from adhere.study.outcome.drawn import reproduce_drawn
    from adhere.study.outcome.reproduce import reproduce
    from adhere.study.outcome.starts import FILE as STARTS
    from adhere.study.outcome.starts import reproduce_starts

    reproducers = {STARTS: reproduce_starts, DRAWN: reproduce_drawn}
    together = next((name for name in reproducers if (directory / name).is_file()), None)
    if together is not None:
        all_of_them = reproducers[together](directory)
        show(encode(all_of_them) if as_json else starts_reproduction_text(all_of_them, width=columns()))
        if all_of_them.any_differs:
            sys.exit(1)
        return
    reproduction = reproduce(directory)
    show(encode(reproduction) if as_json else reproduction_text(reproduction, width=columns()))
    if reproduction.differ:
        sys.exit(1)
