"""`adhere compare RUN RUN…`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.gates import GateFiles, gate_options
from adhere.cli.offer import suite_names
from adhere.cli.options import FILE, PATH, Number, Sides, flag, option, side_options
from adhere.errors import UsageError
from adhere.schema import View, encode
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.pipeline.compare import Comparison
    from adhere.pipeline.gates import Gate
    from adhere.verify.sides import SideOptions


@click.command("compare")
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN RUN...")
@option("--view", type=click.Choice(["strict", "loose"]), default="strict")
@flag("--across-engines", help="Compare although the engines differ; the difference then mixes both.")
@flag(
    "--equal-tokens",
    help=(
        "The first run is a method's; compare it with its own model given as many tokens: the other runs, "
        "or a mixture of two."
    ),
)
@flag("--length-controlled", help="Also the difference that is left at equal length of answers, by regression.")
@option(
    "--suite",
    "suite_name",
    shell_complete=suite_names,
    help="Judge files of answers with it: ifeval:input_data.jsonl, …",
)
@option("--score", help="Which score of another harness counts [that of whole prompts].")
@side_options(
    side="File or folder with what a harness scored item by item on other tasks, of all compared models. Repeatable.",
    called_help=("NAME=NAME", "What the harness calls a model."),
)
@option(
    "--margin",
    type=Number(0, 1, min_open=True),
    default=0.02,
    help="By how much a side rate may fall, and the rate itself with --fail-if-worse, as a share: 0.02 are two points.",
)
@option(
    "--fail-below",
    type=Number(0, 1, min_open=True),
    metavar="RATE",
    help="Exit 6 if a pass rate is below RATE (a share), by interval: of all but the last, or of the one given.",
)
@flag("--fail-if-worse", help="Exit 6 if a run is worse than the last by more than the margin, by interval.")
@gate_options
@option("--perplexity-margin", type=Number(0, min_open=True), default=0.1, help="By which share a perplexity may rise.")
@option("--html", type=FILE, help="Write one page: the difference first.")
@option("--latex", type=FILE, help="Write the table as LaTeX (booktabs).")
@flag("--json", "as_json", help="Print one JSON array.")
def command(
    runs: tuple[Path, ...], view: View, across_engines: bool, equal_tokens: bool, length_controlled: bool,
    suite_name: str | None, score: str | None, sides: Sides, margin: float, perplexity_margin: float,
    fail_below: float | None, fail_if_worse: bool, gate_files: GateFiles, html: Path | None, latex: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Paired statistics: each run minus the last one, on the same prompts.

    A RUN is a directory that eval or sweep wrote, or a file: verdicts (ours or IFEval's), lm-eval's samples_*.jsonl, an
    inspect log, EvalScope's reviews, OpenCompass' results, promptfoo's output, or plain answers with --suite.

    With --equal-tokens the first run, of an inference-time method, is compared with the others together.

    With --side it also says whether what was gained cost anything elsewhere: for each side task, whether the model is
    not worse than the last one by more than a margin.

    With --fail-below and --fail-if-worse it is a gate of a build, for runs and for files of any of these harnesses;
    --fail-below alone takes one.

    Runs of different prompts or engines are refused: their difference would mean nothing.
    """
    from adhere.report.tables.compare import compare_text

    if not fail_if_worse and fail_below is None:
        gate_files.refuse_without_gate("--fail-below or --fail-if-worse")
    if len(runs) < 2 and (fail_below is None or fail_if_worse or sides.paths or html or latex):
        raise UsageError("adhere compare needs at least two runs; one is held against a rate with --fail-below")
    forms = {path.is_dir() for path in runs if path.exists()}
    if len(forms) > 1:
        raise UsageError("adhere compare takes directories or files, not both: a file does not say how it was measured")
    if forms != {True} and (equal_tokens or length_controlled):
        raise UsageError(
            "--equal-tokens and --length-controlled need run directories: files do not hold the answers' cost and text"
        )
    if sides.paths and equal_tokens:
        raise UsageError(
            "--side compares two models; --equal-tokens compares with a mixture of runs. Ask for one of the two"
        )
    gates = [] if fail_below is None else _below(runs, fail_below, view, suite_name, score)
    if len(runs) == 1:
        show(encode(gates) if as_json else "\n".join(f"{gate.gate}: {gate.outcome}: {gate.why}" for gate in gates))
        gate_files.write(gates)
        gate_files.insist(gates)
        return
    if forms == {True}:
        comparisons = _runs(runs, view, across_engines, equal_tokens=equal_tokens, length_controlled=length_controlled)
    else:
        comparisons = _files(runs, view, suite_name, score)
    if sides.paths:
        options = sides.options(margin=margin, perplexity_margin=perplexity_margin)
        comparisons = _with_sides(comparisons, sides.paths, options)
    _write(comparisons, runs, view, html=html, latex=latex, has_flips=forms == {True} and not equal_tokens)
    show(
        encode(comparisons)
        if as_json
        else "\n\n".join(compare_text(comparison, width=columns()) for comparison in comparisons)
    )
    if fail_if_worse:
        gates += _not_worse(comparisons, margin)
    if gates:
        gate_files.write(gates)
        gate_files.insist(gates)


def _not_worse(comparisons: list[Comparison], margin: float) -> list[Gate]:
    from adhere.pipeline.gates import gate_difference

    return [
        gate_difference(comparison.overall, comparison.a, f"not worse than {comparison.b}, margin {margin:g}", margin)
        for comparison in comparisons
    ]


def _below(paths: tuple[Path, ...], least: float, view: View, suite_name: str | None, score: str | None) -> list[Gate]:
    """Return the gates of all paths except the last (or of the only one) against the rate `least`."""
    from adhere import suites
    from adhere.pipeline.gates import gate_below, gate_rates_below
    from adhere.store.sharded import load_run
    from adhere.verify.stored import read_outcomes

    tested_paths = paths[:-1] or paths
    if tested_paths[0].is_dir():
        return [gate_below(load_run(path), least) for path in tested_paths]
    suite = None if suite_name is None else suites.load(suite_name)
    path_outcomes = [(path, read_outcomes(path, view=view, score=score, suite=suite)) for path in tested_paths]
    return [gate_rates_below(str(path), outcomes.rates, least) for path, outcomes in path_outcomes]


def _write(
    comparisons: list[Comparison], paths: tuple[Path, ...], view: View, *, html: Path | None, latex: Path | None,
    has_flips: bool,
) -> None:  # fmt: skip
    """Write the page and the table that were asked for."""
    if html is None and latex is None:
        return
    from adhere.report.comparison.html import comparison_html, comparison_latex, flips_of
    from adhere.store.sharded import load_run

    if html is not None:
        flips = [flips_of(load_run(path), load_run(paths[-1]), view=view) if has_flips else None for path in paths[:-1]]
        html.write_text(comparison_html(comparisons, flips[: len(comparisons)]), encoding="utf-8")
    if latex is not None:
        latex.write_text(comparison_latex(comparisons), encoding="utf-8")


def _with_sides(comparisons: list[Comparison], paths: tuple[Path, ...], options: SideOptions) -> list[Comparison]:
    import msgspec

    from adhere.verify.sides import SideFiles

    files = SideFiles.read(paths)
    return [
        msgspec.structs.replace(comparison, sides=tuple(files.compare(comparison.a, comparison.b, options)))
        for comparison in comparisons
    ]


def _runs(
    paths: tuple[Path, ...], view: View, across_engines: bool, *, equal_tokens: bool, length_controlled: bool
) -> list[Comparison]:
    from adhere.pipeline.compare import compare_runs
    from adhere.pipeline.compare.equal import at_equal_tokens, with_equal_length
    from adhere.store.sharded import load_run

    stored_runs = [load_run(directory) for directory in paths]
    if equal_tokens:
        if length_controlled:
            raise UsageError(
                "--equal-tokens compares with a mixture of runs, whose answers have no one length. "
                "Ask for one of the two"
            )
        return [at_equal_tokens(stored_runs[0], stored_runs[1:], view=view, across_engines=across_engines)]
    comparisons = []
    for run in stored_runs[:-1]:
        comparison = compare_runs(run, stored_runs[-1], view=view, across_engines=across_engines)
        comparisons.append(with_equal_length(comparison, run, stored_runs[-1]) if length_controlled else comparison)
    return comparisons


def _files(paths: tuple[Path, ...], view: View, suite_name: str | None, score: str | None) -> list[Comparison]:
    from adhere import suites
    from adhere.pipeline.compare import compare_outcomes
    from adhere.verify.stored import read_outcomes

    suite = None if suite_name is None else suites.load(suite_name)
    all_outcomes = [read_outcomes(path, view=view, score=score, suite=suite) for path in paths]
    return [compare_outcomes(outcomes, all_outcomes[-1], view=view) for outcomes in all_outcomes[:-1]]
