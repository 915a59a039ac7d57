"""`adhere judge RUN… --by MODEL`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.endpoint import endpoint_for, endpoint_options
from adhere.cli.engine import ENGINES
from adhere.cli.offer import fetch_and_use, model_names
from adhere.cli.options import EXISTING_FILE, FOLDER, Number, flag, option
from adhere.progress import for_terminal
from adhere.schema import content_hash, encode
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.models.http.options import EndpointOptions
    from adhere.pipeline.judge_model.responding import RespondingReport
    from adhere.pipeline.judge_model.statements import JudgeReport
    from adhere.steps.engines import EngineName


@click.command("judge")
@click.argument("runs", type=FOLDER, nargs=-1, required=True, metavar="RUN...")
@option(
    "--by",
    required=True,
    metavar="MODEL",
    shell_complete=model_names,
    help="The model that judges, by any name that eval takes.",
)
@option(
    "--calibrate",
    type=FOLDER,
    metavar="RUN",
    help="A run whose programs' verdicts the judge is compared with [the run itself].",
)
@option("--sample", type=click.IntRange(0), default=200, help="Of so many of those verdicts.")
@option("--draws", type=click.IntRange(1), default=1, help="Replies a question; the majority counts.")
@option("--temperature", type=Number(0), default=0.0, help="Of the replies.")
@option("--threads", type=click.IntRange(1), help="CPU threads, of a local model [all].")
@option(
    "--engine",
    type=click.Choice(ENGINES),
    help="Several runs at once, a worker each, which must see them: processes here, a Ray cluster, datatrove.",
)
@click.option("--jobs", type=click.IntRange(0), default=0, help="With --engine: processes [one for each core].")
@endpoint_options
@flag(
    "--responding",
    help="Ask instead whether the answers that pass respond to their requests, where words do not say no.",
)
@option(
    "--labels",
    type=EXISTING_FILE,
    metavar="FILE.jsonl",
    help='With --responding: answers that a person labelled, {"request", "answer", "responds"}, to say how often the '
    "judge is right.",
)
@flag("--details", help="Print families and kinds of constraint, too.")
@flag("--json", "as_json", help="Print one JSON object a run.")
def command(
    runs: tuple[Path, ...], by: str, calibrate: Path | None, sample: int, draws: int, temperature: float,
    threads: int | None, engine: EngineName | None, jobs: int, endpoint: EndpointOptions, responding: bool,
    labels: Path | None, details: bool, as_json: bool,
) -> None:  # fmt: skip
    """Let a model judge what no program decides in stored answers, and say how far it can be believed.

    Each statement is asked about in two orders; where they differ, or a reply cannot be read, the judge abstains. Its
    numbers are stored beside the run, which stays as it is. Safe to interrupt: the same command asks for what is
    missing.
    """
    from adhere.lines.workers import cores
    from adhere.models.catalog import open_model
    from adhere.pipeline.judge_model.responding import read_labels
    from adhere.report.run.text import run_text
    from adhere.steps.engines import do_each
    from adhere.steps.judging import JudgeRuns
    from adhere.store.sharded import load_run

    if labels is not None and not responding:
        raise click.UsageError("--labels are of answers that respond: give --responding, too")
    if responding and (engine is not None or calibrate is not None):
        raise click.UsageError(
            "--responding goes run by run and is compared with --labels: no --engine, no --calibrate"
        )
    progress = for_terminal()
    stored_runs = [load_run(directory) for directory in runs]
    options = endpoint_for(by, endpoint)
    model = fetch_and_use(partial(open_model, by, threads=threads, endpoint=options, say=progress.say), progress)
    try:
        judge = JudgeRuns(
            by,
            endpoint=options,
            threads=threads,
            draws=draws,
            temperature=temperature,
            calibrate=calibrate,
            sample=sample,
            model=model,
            progress=progress,
        )
        if engine is not None:
            places = [run.directory.resolve() for run in stored_runs]
            logs = runs[0].parent / "judge-logs" / content_hash([by, *map(str, places)])[:12]
            for place in do_each(judge, places, engine=engine, jobs=jobs or cores(), logs=str(logs), purpose="judging"):
                progress.say(f"Judged: {place}")
        person_labels = [] if labels is None else read_labels(labels)
        for run in stored_runs:  # with an engine all replies are stored by now
            if responding:
                responding_report = judge.responding(run.directory, person_labels)
                show(encode(responding_report) if as_json else _responding_words(run.directory, responding_report))
                continue
            judge_report = judge(run.directory)
            if as_json:
                show(encode(judge_report))
                continue
            show(run_text(run.spec, judge_report.summary, details=details, width=columns()))
            show(_agreement_words(judge_report))
    finally:
        model.close()


def _responding_words(directory: Path, report: RespondingReport) -> str:
    """Say how many prompts pass and respond, by words and by the judge, and how often the judge is right on labels."""
    low, high = report.bounds
    share = f"{100 * low:.1f} %" if low == high else f"between {100 * low:.1f} and {100 * high:.1f} %"
    lines = [
        (
            f"{directory}: {report.yes:,} of {report.conversations:,} prompts pass and respond ({share}), "
            f"by {report.judge}"
        ),
        (
            f"Of {report.passing:,} that pass: {report.no_by_words:,} do not respond by words; of the others the judge "
            f"says {report.yes:,} yes, {report.no:,} no, and abstained from {report.abstained:,}."
        ),
    ]
    agreement = report.agreement
    if agreement is None:
        return "\n".join([*lines, "How often this judge is right is not known: --labels FILE.jsonl says it."])
    label_counts = (
        f"yes right {agreement.yes_right} of {agreement.yes}, no right {agreement.no_right} of {agreement.no}, "
        f"abstained {agreement.abstained}"
    )
    return "\n".join([*lines, f"On {agreement.labels:,} labels: {label_counts}."])


def _agreement_words(report: JudgeReport) -> str:
    """Say what the judge did, and how far it agrees with programs."""
    calibration = report.calibration
    kappa = "–" if calibration.kappa is None else f"{calibration.kappa:.2f}"
    verdicts = calibration.statements - calibration.abstained
    right = calibration.both_pass + calibration.both_fail
    check = (
        f"Against programs, on {calibration.run}: kappa {kappa}; {right:,} of {verdicts:,} verdicts alike, "
        f"{calibration.abstained:,} more abstained"
        if calibration.statements
        else "Against programs: nothing to compare with here. --calibrate RUN takes another run"
    )
    return (
        f"Judged by {report.judge} ({report.engine}), in our question, in two orders: "
        f"{report.statements:,} statements = {report.passed:,} hold + "
        f"{report.failed:,} do not + {report.abstained:,} abstained.\n{check}."
    )
