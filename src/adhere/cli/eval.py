"""`adhere eval MODEL… --suite S…`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.endpoint import endpoint_for, endpoint_options
from adhere.cli.gates import GateFiles, Gates, gate_options
from adhere.cli.offer import fetch_and_use, model_names
from adhere.cli.options import EXISTING_FILE, EXISTING_FOLDER, FOLDER, Asking, Number, asking_options, flag, option
from adhere.cli.track import Trackers
from adhere.errors import UsageError
from adhere.progress import for_terminal
from adhere.schema import encode
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from adhere.models.base import Model
    from adhere.models.http.options import EndpointOptions
    from adhere.pipeline.evaluate import EvalSpec
    from adhere.progress import Progress
    from adhere.schema import Sampling
    from adhere.store.run import Run
    from adhere.suites import Suite


@click.command("eval")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", shell_complete=model_names)
@asking_options(suite="core", seed=0)
@option("-o", "--out", type=FOLDER, default=Path("runs"), help="Each run gets a folder of its own in it.")
@option(
    "--random-in-reference",
    type=int,
    metavar="SEED",
    help="Draw from this seed what the published code draws at random [left undecided].",
)
@flag("--as-image", help="Show every prompt as a picture of its text; compare such a run with one without.")
@option("--font", type=EXISTING_FILE, help="Of --as-image, for more than ASCII.")
@option("--engine", help="openvino or transformers, where a model has both [local/…: openvino].")
@option("--precision", type=click.Choice(["fp32", "bf16", "auto"]), help="Of the transformers engine [fp32].")
@option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda", "mps"]),
    help="Of the transformers engine [auto: a CUDA GPU where there is one, else the CPU].",
)
@option("--threads", type=click.IntRange(1), help="CPU threads [all].")
@endpoint_options
@flag(
    "--batch",
    help="Ask through the endpoint's batch API: cheaper, within a day; interrupted, the same command goes on.",
)
@flag("--batch-files", help="Write batch files for `vllm run-batch`, and read what it answered on the next call.")
@flag("--yes", help="Do what takes more than half an hour on a CPU without asking.")
@flag("--recheck", help="Ask again for what failed for good, such as too long a context.")
@option(
    "--user", metavar="MODEL", shell_complete=model_names, help="Plays the user of the suites' worlds [a script does]."
)
@option(
    "--fail-below", type=Number(0, 1), metavar="RATE", help="Exit 6 if the pass rate's whole interval lies below it."
)
@option(
    "--fail-if-worse-than",
    "baseline",
    type=EXISTING_FOLDER,
    metavar="RUN",
    help="Exit 6 if it is worse than a stored run by more than the margin, by the interval.",
)
@option("--margin", type=Number(0, 1), default=0.02, help="Of --fail-if-worse-than, as a share: 0.02 are two points.")
@gate_options
@option("--track", multiple=True, metavar="TRACKER", help="Also log to trackio, wandb, mlflow or tensorboard.")
@flag("--details", help="Print families and kinds of constraint, too.")
@flag("--json", "as_json", help="Print one JSON object a run.")
def command(
    models: tuple[str, ...], asking: Asking, out: Path, random_in_reference: int | None, as_image: bool,
    font: Path | None, engine: str | None, precision: str | None, device: str | None, threads: int | None,
    endpoint: EndpointOptions, batch: bool, batch_files: bool, yes: bool, recheck: bool, user: str | None,
    fail_below: float | None, baseline: Path | None, margin: float, gate_files: GateFiles, track: tuple[str, ...],
    details: bool, as_json: bool,
) -> None:  # fmt: skip
    """Measure models: ask every prompt, judge every answer, print the rates with their denominators.

    A suite states its own token limit and sampling; options change them, and what is used is printed. A run is stored
    under its spec's hash: the same command again resumes it and asks nothing twice. A finished run loads no model.

    The options from --timeout to --wait are for models behind an endpoint: http://…, openrouter/…, openai/….
    """
    import asyncio

    from adhere import suites as suite_room
    from adhere.models.base import ResumableModel
    from adhere.models.catalog import open_batched, open_model
    from adhere.pipeline.evaluate import EvalSpec, evaluate
    from adhere.report.run.text import run_text
    from adhere.report.run.troubles import troubles_of

    progress = for_terminal()
    suites = [suite_room.load(name, seed=asking.seed, limit=asking.limit) for name in asking.suites]
    if as_image:
        from adhere.suites.pictures import as_image as shown_as_pictures

        suites = [shown_as_pictures(suite, font) for suite in suites]
    if user is not None:
        from adhere.suites.generated.world import played_by

        suites = [played_by(suite, user) for suite in suites]
    talks = None if user is None else fetch_and_use(partial(open_model, user, say=progress.say), progress)
    how = [
        suite.sampled(
            max_new_tokens=asking.max_new_tokens,
            temperature=asking.temperature,
            top_p=asking.top_p,
            seed=asking.seed or 0,
        )
        for suite in suites
    ]
    for suite, sampling in zip(suites, how, strict=True):
        progress.say(_sampling_words(suite, sampling, asking.draws))
    gates = Gates(fail_below, baseline, margin, gate_files)
    lacking = []
    trackers = Trackers(track, out)
    for name in models:
        opener: Callable[[], Model] = partial(
            open_model, name, engine=engine, precision=precision, device=device, threads=threads,
            endpoint=endpoint_for(name, endpoint), say=progress.say,
        )  # fmt: skip
        if batch or batch_files:
            opener = partial(open_batched, name, "files" if batch_files else "api", endpoint=endpoint, say=progress.say)
        model = fetch_and_use(opener, progress)
        try:
            for suite, sampling in zip(suites, how, strict=True):
                spec = EvalSpec(suite, sampling, asking.draws, asking.mode, random_in_reference)
                directory = spec.run_spec(model).directory(out)
                if isinstance(model, ResumableModel):
                    model.folder = directory / "batches"
                insist_on_time(model, spec, directory, progress, is_agreed=yes)
                run = asyncio.run(evaluate(model, spec, directory, recheck=recheck, user=talks, progress=progress))
                summary = run.summary()
                text = (
                    encode(summary)
                    if as_json
                    else run_text(run.spec, summary, troubles_of(run), details=details, width=columns())
                )
                show(text)
                tables = "" if details else f" (all its tables: adhere report {directory})"
                progress.say(f"Run: {directory}: {run.state}{tables}")
                if summary.coverage < asking.min_coverage:
                    lacking.append(f"{directory}: {_lacks(run, asking.min_coverage)}")
                gates.hold(run, progress)
                trackers.log(name, suite.name, summary)
        finally:
            model.close()
    trackers.close()
    gates.finish(lacking)


def insist_on_time(model: Model, spec: EvalSpec, directory: Path, progress: Progress, *, is_agreed: bool) -> None:
    """Say how long answering will take on this machine, and ask before a CPU is kept busy for long.

    Raises:
        UsageError: Answering takes more than half an hour on a CPU, and nobody agreed.
    """
    import sys

    from adhere.models.local.deferred import DeferredModel
    from adhere.store.run import Run

    if not isinstance(model, DeferredModel) or model.parameters is None:
        return
    from adhere.models.local.outlook import outlook

    prompts = {prompt.id: prompt for prompt in spec.suite.prompts}
    if (directory / "manifest.json").exists():
        keys = [key[0] for key in Run.load(directory).missing()]
    else:
        keys = [prompt.id for prompt in prompts.values() for _ in prompt.turns for _ in range(spec.draws)]
    if not keys:
        return
    characters = sum(len(prompts[key].everything) + len(prompts[key].system or "") for key in keys)
    sampling = spec.suite.sampled() if spec.sampling is None else spec.sampling
    forecast = outlook(
        model.parameters, model.engine, answers=len(keys), prompt_characters=characters,
        max_new_tokens=sampling.max_new_tokens,
    )  # fmt: skip
    progress.say(forecast.line(model.name))
    if forecast.is_long and not is_agreed and not (sys.stdin.isatty() and click.confirm("Go on?", err=True)):
        raise UsageError(
            f"{model.name}: about {forecast.minutes:.0f} minutes on a CPU. Say --yes, ask fewer prompts (--limit) or "
            "shorter answers (--max-new-tokens), or take a GPU (--device cuda, vllm/…)"
        )


def _sampling_words(suite: Suite, sampling: Sampling, draws: int) -> str:
    """Say how answers are drawn, and who decided so."""
    from adhere.report.pieces.numbers import plural
    from adhere.report.run.view import sampling_line

    own = suite.sampled(seed=sampling.seed)
    changes = [
        f"{setting} {theirs:g}"
        for setting, ours, theirs in (
            ("tokens", sampling.max_new_tokens, own.max_new_tokens),
            ("temperature", sampling.temperature, own.temperature),
            ("top-p", sampling.top_p, own.top_p),
        )
        if ours != theirs
    ]
    whose = f"the suite's own: {', '.join(changes)}" if changes else "the suite's own setting"
    return f"{suite.name}: {plural(len(suite.prompts), 'prompt')}, {sampling_line(sampling, draws)} ({whose})"


def _lacks(run: Run, least: float) -> str:
    """Say why coverage is low, and what helps against that."""
    from adhere.constraints.published.judged.table import JUDGED

    summary = run.summary()
    counts = summary.accounting
    lost_answers = counts.error + counts.missing
    decided_answers = round(summary.coverage * summary.overall.n_prompts * summary.draws)
    parts = [f"coverage {summary.coverage:.1%} is below {least:.0%}."]
    if lost_answers:
        final = sum(response.failure == "final" for part in run.parts() for response in part.responses())
        again = "with --recheck" if final == lost_answers else "again"
        more = f" (with --recheck also the {final} that failed for good)" if 0 < final < lost_answers else ""
        parts.append(
            f"{lost_answers} of {counts.n} answers failed or are missing: see above, "
            f"then run the same command {again} to ask them{more}."
        )
    judged_kind = summary.overall.kinds.get(JUDGED)
    if judged_kind is not None and judged_kind.undecided:
        parts.append(
            f"{judged_kind.undecided:,} statements are for a model to judge: adhere judge RUN --by MODEL "
            "(each in two orders)."
        )
    elif summary.overall.n_prompts * summary.draws - decided_answers - lost_answers > 0:
        parts.append(
            "Some verdicts are undecided, which asking again cannot change: "
            "--random-in-reference SEED decides what the published code draws at random; "
            "--min-coverage says how many are enough."
        )
    return " ".join(parts)
