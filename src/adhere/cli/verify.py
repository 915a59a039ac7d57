"""`adhere verify RESPONSES.jsonl --suite S`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from adhere.cli.engine import engine_options, run_on
from adhere.cli.offer import suite_names
from adhere.cli.options import Number, flag, option
from adhere.errors import Incomplete, UsageError
from adhere.progress import for_terminal
from adhere.schema import MODES, Mode, encode
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.steps.engines import EngineName


@click.command("verify")
@click.argument("responses", nargs=-1, required=True, metavar="RESPONSES.jsonl…")
@option(
    "--suite",
    "suite_name",
    required=True,
    shell_complete=suite_names,
    help="What was answered: ifeval:PATH, ifbench:PATH, iftrain:PATH, core, …",
)
@option(
    "--mode",
    type=click.Choice(MODES),
    default="reference",
    help="Judge published kinds as published, or with their defects mended.",
)
@flag("--json", "as_json", help="Print one JSON object.")
@option(
    "--verdicts",
    metavar="OUT.jsonl",
    help="Write a row for each instruction (.gz and .zst compress); with --engine a folder of shards, or a URL.",
)
@flag("--keep-reasoning", help="Judge reasoning as part of the answer.")
@option("--jobs", type=click.IntRange(0), default=1, help="Processes that judge; 0: one for each core.")
@option(
    "--random-in-reference",
    type=int,
    metavar="SEED",
    help="Draw from this seed what the published code draws at random [left undecided].",
)
@option(
    "--bad-rows", type=click.Choice(["error", "skip"]), default="error", help="What a row does that cannot be used."
)
@option(
    "--min-coverage", type=Number(0, 1), default=0.98, help="Exit 3 below this share of answers that passed or failed."
)
@engine_options
def command(
    responses: tuple[str, ...], suite_name: str, mode: Mode, as_json: bool, verdicts: str | None,
    keep_reasoning: bool, jobs: int, random_in_reference: int | None, bad_rows: Literal["error", "skip"],
    min_coverage: float, engine: EngineName | None, shard_mb: float,
) -> None:  # fmt: skip
    """Judge answers that you already have: JSON lines (plain, .gz, .zst, or - for the standard input).

    Files of other harnesses are read as they are: lm-eval's samples_*.jsonl (write them with --log_samples), inspect's
    .eval and .json logs.

    A row has `response`, and `key` or `prompt`: it answers the prompt of that key (1000 and "1000" are one key), else
    the prompt of that text, exactly or without white space at its ends. `status`, `stop_reason` or `finish_reason`,
    `reasoning`, `tool_calls` (as OpenAI has them) and `draw` are used where present; other columns are ignored.

    Where the suite has several turns, a row says which one it answers (`turn`, from 0), or has all of them in order in
    a list `responses` in place of `response`.

    Reasoning is no part of the answer: leading <think>, <thinking>, <reasoning>, … blocks are set aside, and so is
    everything before a closing tag that nothing opens; a block that is never closed leaves an empty, truncated answer.
    $ADHERE_REASONING_TAGS names further pairs of tags. --keep-reasoning judges the whole text.

    What cannot be decided is in no denominator, and is listed. Exit codes: 0 done, 2 something in the files or options
    is wrong, 3 too few answers were judged (everything is printed all the same), 130 interrupted.
    """
    from adhere import suites
    from adhere.lines.workers import cores
    from adhere.report.tables.verify import verify_text
    from adhere.verify.answers import verify

    progress = for_terminal()
    suite = suites.load(suite_name)
    if engine is not None:
        from adhere.steps.run import count_verification
        from adhere.verify.rows import Desk, Settings

        desk = Desk(suite, Settings(mode, random_in_reference, keep_reasoning, bad_rows, wants_rows=True))
        manifest = run_on(engine, desk, responses, verdicts, jobs=jobs, shard_mb=shard_mb, option="--verdicts")
        verification = count_verification(desk, suite, manifest)
    else:
        if len(responses) > 1:
            raise UsageError(f"{len(responses)} files: say how to do many with --engine local, ray or datatrove")
        verification = verify(
            suite,
            Path(responses[0]),
            mode=mode,
            random_in_reference=random_in_reference,
            keep_reasoning=keep_reasoning,
            bad_rows=bad_rows,
            verdicts=None if verdicts is None else Path(verdicts),
            jobs=jobs or cores(),
            progress=progress,
        )
    show(encode(verification) if as_json else verify_text(verification, width=columns()))
    rows = verification.accounting.rows
    if rows.skipped:
        progress.say(f"Warning: skipped {rows.skipped} of {rows.read} rows, the first: {verification.skipped[0]}")
    if verification.coverage < min_coverage:
        counts = verification.accounting.responses
        raise Incomplete(
            f"Coverage {verification.coverage:.1%} is below {min_coverage:.0%}: of {counts.n} answers {counts.missing} "
            f"are missing, {counts.error} calls failed, and {verification.rates['prompt_strict'].n} were decided. "
            "Add the missing answers, or say how many are enough with --min-coverage"
        )
