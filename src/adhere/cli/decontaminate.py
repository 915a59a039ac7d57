"""`adhere decontaminate TRAIN --against SUITE… --out KEPT`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from adhere.cli.offer import suite_names
from adhere.progress import for_terminal
from adhere.terminal import show


@click.command("decontaminate")
@click.argument("train", type=click.Path(path_type=Path, allow_dash=True), metavar="TRAIN")
@click.option("--against", multiple=True, required=True, metavar="SUITE", shell_complete=suite_names, help="Test items: ifeval:PATH, ifbench:PATH, core, …; may be repeated.")  # fmt: skip
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Column with the text; may be repeated [text, prompt, instruction, messages, …].")  # fmt: skip
@click.option("--rule", type=click.Choice(["lcs", "ngram"]), default="lcs", show_default=True,
              help="lcs: a common subsequence of 13 tokens and 0.6 of the shorter text; ngram: 13 tokens in a row.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="KEPT", help="Where the kept rows go.")
@click.option("--drops", type=click.Path(path_type=Path), metavar="DROPS.jsonl", help="One line for each dropped row [KEPT.drops.jsonl].")  # fmt: skip
@click.option("--run", "runs", type=click.Path(path_type=Path, exists=True), multiple=True, metavar="RUN",
              help="With --rule ngram: the run's pass rate on all prompts and on those that no row touches.")  # fmt: skip
@click.option("--bad-rows", type=click.Choice(["error", "skip"]), default="error", show_default=True, help="What a row does that cannot be used.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(0), default=0, help="Processes [one for each core].")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    train: Path, against: tuple[str, ...], columns: tuple[str, ...], rule: Literal["lcs", "ngram"], out: Path,
    drops: Path | None, runs: tuple[Path, ...], bad_rows: Literal["error", "skip"], jobs: int, as_json: bool,
) -> None:  # fmt: skip
    """Leave out of TRAIN (JSON lines, plain, .gz or .zst; or Parquet) what repeats a test item.

    Kept rows are written as they are, in order. Each drop is a line with `line` (from 1), `against`, `item`, and `lcs` and
    `ratio`, or `ngram`. After a kill the same command goes on where it stopped.
    """
    from adhere import suites
    from adhere.build.decontaminate.files import decontaminate_file, items_of
    from adhere.build.decontaminate.scores import both_parts, decontamination_text
    from adhere.errors import UsageError
    from adhere.lines.workers import cores
    from adhere.schema import encode

    if runs and rule != "ngram":
        raise UsageError("--run goes with --rule ngram, the rule for test items")
    loaded = [(name, suites.load(name)) for name in against]
    done = decontaminate_file(
        train,
        items_of(loaded),
        out=out,
        drops=drops or out.with_name(f"{out.name}.drops.jsonl"),
        columns=columns,
        rule=rule,
        bad_rows=bad_rows,
        jobs=jobs or cores(),
        progress=for_terminal(),
    )
    parts = [both_parts(run, dict(loaded), done) for run in runs]
    show(encode({**done.as_json(), "runs": parts}) if as_json else decontamination_text(done, parts))
