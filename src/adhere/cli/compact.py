"""`adhere compact DIR…`."""

from __future__ import annotations

from pathlib import Path

import click

from adhere.cli.options import EXISTING_FOLDER, flag
from adhere.errors import Incomplete, UsageError
from adhere.progress import for_terminal
from adhere.schema import encode
from adhere.terminal import columns, show


@click.command("compact")
@click.argument("directories", type=EXISTING_FOLDER, nargs=-1, required=True, metavar="DIR...")
@flag("--check", help="Write nothing; say whether the Parquet is current, hashing everything.")
@flag("--groups", help="Write nothing; print counts and rates by model.")
@flag("--json", "as_json", help="Print one JSON object a directory.")
def command(directories: tuple[Path, ...], check: bool, groups: bool, as_json: bool) -> None:
    """Copy the answers and verdicts of a run, of a sweep or of a directory of runs into two sorted Parquet files.

    They lie in DIR/compact and may be deleted at any time: the segments stay what counts. `--check` exits 3 where the
    files are out of date.
    """
    from adhere.report.tables.grouped import grouped_text
    from adhere.store.tables.compact import FOLDER, compact, made_from, whats_stale
    from adhere.store.tables.grouped import group_counts

    if check and groups:
        raise UsageError("--check and --groups are two things: choose one")
    stale = []
    for directory in directories:
        if groups:
            grouped_counts = group_counts(directory)
            show(
                encode(grouped_counts._asdict())
                if as_json
                else grouped_text(grouped_counts, width=columns(otherwise=160))
            )
        elif check:
            reason = whats_stale(directory, made_from(directory), thoroughly=True)
            stale += [f"{directory}: {reason}"] if reason else []
            state = {"directory": str(directory), "is_current": not reason, "reason": reason}
            show(encode(state) if as_json else f"{directory}: {reason or 'current'}")
        else:
            compaction = compact(directory, progress=for_terminal())
            counts = {
                "cells": len(compaction.cells),
                "responses": compaction.responses,
                "verdicts": compaction.verdicts,
                "damage": compaction.damage,
                "stale": compaction.stale,
            }
            if as_json:
                show(encode({"directory": str(directory), **counts}))
                continue
            left_out = f"; left out {compaction.damage} unreadable lines" if compaction.damage else ""
            show(
                f"{compaction.responses:,} answers and {compaction.verdicts:,} verdicts of {len(compaction.cells)} "
                f"runs -> {directory / FOLDER}{left_out}"
            )
    if stale:
        raise Incomplete(f"Out of date: {'; '.join(stale)}. Run: adhere compact DIR")
