"""`adhere decontaminate TRAIN --against SUITE… --out KEPT`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from adhere.cli.engine import engine_options, run_on
from adhere.cli.offer import suite_names
from adhere.cli.options import PATH, flag, option
from adhere.errors import UsageError
from adhere.progress import for_terminal
from adhere.schema import encode
from adhere.terminal import show

if TYPE_CHECKING:
    from adhere.steps.engines import EngineName


@click.command("decontaminate")
@click.argument("train", nargs=-1, required=True, metavar="TRAIN…")
@option(
    "--against",
    multiple=True,
    required=True,
    metavar="SUITE",
    shell_complete=suite_names,
    help="Test items: ifeval:PATH, ifbench:PATH, core, …; may be repeated.",
)
@option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Column with the text; may be repeated [text, prompt, instruction, messages, …].",
)
@option(
    "--rule",
    type=click.Choice(["lcs", "ngram", "span"]),
    default="lcs",
    help=(
        "lcs: a common subsequence of 13 tokens and 0.6 of the shorter text; ngram: 13 tokens in a row; span: "
        "half of an item in one place, for long documents."
    ),
)
@option("--out", required=True, metavar="KEPT", help="Where the kept rows go; with --engine a folder, or a URL.")
@option(
    "--drops",
    type=PATH,
    metavar="DROPS.jsonl",
    help="One line for each dropped row [KEPT.drops.jsonl; with --engine KEPT/dropped].",
)
@option(
    "--run",
    "runs",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    metavar="RUN",
    help="With --rule ngram: the run's pass rate on all prompts and on those that no row touches.",
)
@option(
    "--bad-rows", type=click.Choice(["error", "skip"]), default="error", help="What a row does that cannot be used."
)
@click.option("--jobs", type=click.IntRange(0), default=0, help="Processes [one for each core].")
@engine_options
@flag("--json", "as_json", help="Print one JSON object.")
def command(
    train: tuple[str, ...], against: tuple[str, ...], columns: tuple[str, ...], rule: Literal["lcs", "ngram", "span"],
    out: str, drops: Path | None, runs: tuple[Path, ...], bad_rows: Literal["error", "skip"], jobs: int,
    engine: EngineName | None, shard_mb: float, as_json: bool,
) -> None:  # fmt: skip
    """Leave out of TRAIN (JSON lines, plain, .gz or .zst; or Parquet) what repeats a test item.

    With --engine TRAIN may be many files, patterns and URLs ('s3://bucket/*.jsonl.zst').

    Kept rows are written as they are, in order. Each drop is a line with `line` (from 1), `against`, `item`, and `lcs`
    and `ratio`, or `ngram`. After a kill the same command goes on where it stopped.
    """
    from adhere import suites
    from adhere.build.decontaminate.files import decontaminate_file
    from adhere.build.decontaminate.rows import Decontaminate, Settings, default_columns, items_of
    from adhere.build.decontaminate.scores import both_parts, decontamination_text
    from adhere.lines.workers import cores

    if runs and rule != "ngram":
        raise UsageError("--run goes with --rule ngram, the rule for test items")
    named_suites = [(name, suites.load(name)) for name in against]
    if engine is not None:
        from adhere.steps.run import count_decontamination
        from adhere.steps.shards import first_row

        step = Decontaminate(
            Settings(tuple(items_of(named_suites)), columns or default_columns(first_row(train)), rule, bad_rows)
        )
        done = count_decontamination(
            step, run_on(engine, step, train, out, jobs=jobs, shard_mb=shard_mb, option="--out")
        )
    else:
        if len(train) > 1:
            raise UsageError(f"{len(train)} files: say how to do many with --engine local, ray or datatrove")
        kept_file = Path(out)
        done = decontaminate_file(
            Path(train[0]),
            items_of(named_suites),
            out=kept_file,
            drops=drops or kept_file.with_name(f"{kept_file.name}.drops.jsonl"),
            columns=columns,
            rule=rule,
            bad_rows=bad_rows,
            jobs=jobs or cores(),
            progress=for_terminal(),
        )
    parts = [both_parts(run, dict(named_suites), done) for run in runs]
    show(encode({**done.as_json(), "runs": parts}) if as_json else decontamination_text(done, parts))
