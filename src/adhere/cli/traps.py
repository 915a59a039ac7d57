"""`adhere traps TARGET`."""

from __future__ import annotations

from pathlib import Path

import click

from adhere.cli.offer import suite_names
from adhere.cli.options import PATH, flag, option
from adhere.errors import UsageError
from adhere.schema import MODES, Mode, encode
from adhere.terminal import columns, show


@click.command("traps")
@click.argument("target", metavar="FILE|RUN|STUDY|MODEL")
@option(
    "--suite",
    "suite_name",
    shell_complete=suite_names,
    help="What a FILE's rows answer by key or prompt; what a MODEL is asked [core:x5].",
)
@option("--mode", type=click.Choice(MODES), default="reference", help="See adhere verify.")
@option("--limit", type=click.IntRange(1), help="Ask a MODEL at most so many prompts.")
@option("--out", type=PATH, default=Path("runs"), help="For a MODEL's run.")
@flag("--write", help="Of a STUDY: put the numbers into its result.json, from which its page is made.")
@flag("--json", "as_json", help="Print one JSON object.")
def command(  # one option a parameter
    target: str, suite_name: str | None, mode: Mode, limit: int | None, out: Path, write: bool, as_json: bool
) -> None:
    """How often answers keep the letter of their instructions and not the intent.

    TARGET is a stored run, a file of answers (JSON lines or Parquet, with `prompt` and `response`, `completion` or
    `output`; the completions that TRL logs are such a file, and its `step` column gives a row a step), a committed
    study (result.json and records.tar.xz: a row an arm, of the answers that the records hold), or a model, which is
    asked first.

    An answer takes a trap where it echoes the prompt, has no words of its own, is about something else or says the same
    over and over, and where its pass rests on hidden text, look-alikes or words hung at its end.
    docs/reference/traps.md has the rules, and what they catch.
    """
    from adhere import suites
    from adhere.pipeline.api import evaluate
    from adhere.report.tables.traps import arms_text, traps_text
    from adhere.store.sharded import load_run
    from adhere.store.shelf import kind_of
    from adhere.verify.traps import answers_of_file, answers_of_run, score_traps

    path = Path(target)
    if (path / "records.tar.xz").is_file():
        from adhere.study.outcome.traps import traps_of_study, write_traps

        arms = traps_of_study(path)
        if write:
            write_traps(path, arms)
        show(encode({"target": target, "arms": arms}) if as_json else arms_text(arms, width=columns()))
        return
    if write:
        raise UsageError(f"--write: {target} is no committed study (a folder with result.json and records.tar.xz)")
    suite = suites.load(suite_name) if suite_name else None
    if kind_of(path) == "run":
        answers = answers_of_run(load_run(path))
    elif path.exists() or path.suffix in {".jsonl", ".parquet"}:
        answers = answers_of_file(path, suite)
    else:
        answers = answers_of_run(evaluate(target, suite or suites.load("core:x5"), out, limit=limit, mode=mode))
    trap_score = score_traps(target, answers, mode=mode)
    show(encode(trap_score) if as_json else traps_text(trap_score, width=columns()))
