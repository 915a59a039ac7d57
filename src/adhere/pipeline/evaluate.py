"""Measure a model, on one page: ask what has no answer, judge what has no verdict, count, store.

    run = Run.open(directory, spec)             resumes iff the spec matches
    respond(model, run.missing())  -> responses/    a failed call is a row with its status
    check(prompt, response)        -> verdicts/     the one judge
    summarize(...)                 -> summary.json  counts, rates, intervals

Safe to interrupt: answers are stored as they arrive, and running it again resumes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

from adhere.errors import AdhereError
from adhere.models.base import Model
from adhere.pipeline.check import check
from adhere.pipeline.judge import verifier_version
from adhere.pipeline.outcomes import passes
from adhere.pipeline.prepare.run import keep_ledger, note_spent, prepare, refuse_in_shards
from adhere.pipeline.respond import respond
from adhere.pipeline.summarize import summarize, summarize_shards, versions_of
from adhere.progress import Progress, Silent, Step
from adhere.schema import VIEWS, EngineInfo, Mode, Prompt, Response, Sampling, Verdict
from adhere.store.run import MOST_KEYS, EpisodeStep, Key, Run, RunSpec, alone, alone_in_turn, is_held
from adhere.store.sharded import ShardedRun, load_run
from adhere.store.shelf import SHARDED, discard_if_empty
from adhere.store.summary import Summary, SummarySums
from adhere.suites.base import Suite
from adhere.text.reasoning import own_tags

__all__ = ["EvalSpec", "evaluate", "evaluate_sync", "passes", "rescore"]

SILENT = Silent()


@dataclass(frozen=True)
class EvalSpec:
    """Describes an evaluation: everything but the model that can change an answer or its verdict.

    Attributes:
        suite: The suite; all its prompts are asked. `--limit` cuts the suite before (`Suite.cut`).
        sampling: How answers are drawn; None: as the suite says.
        draws: Answers per prompt.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        random_in_reference: Some published code draws numbers at random. It is judged with the numbers that follow this
            seed; None leaves the verdict undecided.
    """

    suite: Suite
    sampling: Sampling | None = None
    draws: int = 1
    mode: Mode = "reference"
    random_in_reference: int | None = None

    def run_spec(self, model: Respondent) -> RunSpec:
        """Return the spec of the Run that evaluates `model` by this EvalSpec; its hash names the Run's folder."""
        return RunSpec(
            model=model.name,
            engine=model.engine,
            suite=self.suite.name,
            suite_version=self.suite.version,
            suite_sha256=self.suite.sha256,
            sampling=self.suite.sampled() if self.sampling is None else self.sampling,
            draws=self.draws,
            cut_answers=self.suite.cut_answers,
            slices=self.suite.slices,
            mode=self.mode,
            random_in_reference=self.random_in_reference,
            reasoning_tags=own_tags(),
        )


async def evaluate(
    model: Model,
    spec: EvalSpec,
    directory: Path,
    *,
    recheck: bool = False,
    user: Model | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Measure `model` and store everything in `directory`, resuming the Run that is there.

    Asks every prompt that has no stored answer or whose call failed, then judges every answer that this verifier
    version has not judged. A second process that measures the same Run waits until the first has ended.

    Args:
        model: Who is asked.
        spec: What is asked, and how.
        directory: Directory of this one Run.
        recheck: Ask again where a call failed for good, such as for too long a context.
        user: Plays the user in worlds whose prompts say so (`played_by`).
        progress: Where to report to.

    Returns:
        The sealed Run. Failed calls are counted in its summary; calling again asks for them once more.

    Raises:
        RunMismatch: `directory` holds another Run.
        ResourceError: The disk is full; what was stored is safe.
        AdhereError: No call was answered. A Run that this call began is removed if it has no answer.
    """
    prompts = spec.suite.prompts
    answers = spec.draws * sum(len(prompt.turns) for prompt in prompts)
    is_new = not (directory / "manifest.json").exists()
    try:
        if (directory / SHARDED).exists() or (is_new and answers > MOST_KEYS):
            return await _evaluate_shards(model, spec, directory, recheck=recheck, user=user, progress=progress)
        return await _evaluate_run(model, spec, prompts, directory, recheck=recheck, user=user, progress=progress)
    except AdhereError:
        if is_new:
            discard_if_empty(directory)
        raise


async def _evaluate_run(
    model: Model, spec: EvalSpec, prompts: Sequence[Prompt], directory: Path, *, recheck: bool, user: Model | None,
    progress: Progress,
) -> Run:  # fmt: skip
    """Evaluate prompts as one Run, or as one shard of a Run."""
    async with alone_in_turn(directory, progress.say):  # so that two processes never ask the same twice
        with Run.open(directory, spec.run_spec(model), prompts) as run:  # leaving it always stores what was appended
            if keys := run.missing(again=recheck):
                if not run.is_shard:  # what all shards have cost was noted before the first
                    note_spent(model, run)
                with keep_ledger(model, run) as note_cost:
                    await prepare(model, run, spec.suite, progress)
                    await _ask(model, run, progress, keys=keys, user=user, note_cost=note_cost, whole=spec.suite.whole)
            judge_stored(run, progress)
            run.seal(count_stored(run, progress))
    return run


async def _evaluate_shards(
    model: Model, spec: EvalSpec, directory: Path, *, recheck: bool, user: Model | None, progress: Progress
) -> Run:
    """Evaluate a sharded Run, shard by shard; shards that another process is working on come last."""
    refuse_in_shards(model)
    async with alone_in_turn(directory, progress.say):
        whole = ShardedRun.start(directory, spec.run_spec(model), spec.suite.prompts)
    note_spent(model, whole)
    later: list[Path] = []
    for number, shard in enumerate(chain(whole.shards, later)):
        if number < len(whole.shards) and is_held(shard):
            later.append(shard)
            continue
        run = Run.load(shard)
        if not _is_done(run, recheck=recheck):
            prompts = run.prompts()
            await _evaluate_run(model, spec, prompts, shard, recheck=recheck, user=user, progress=progress)
    whole.seal(summarize_shards(whole.summaries()))
    return whole


def _is_done(run: Run, *, recheck: bool = False) -> bool:
    """Tell whether a shard has all answers, judged by the present verifiers."""
    if not run.is_sealed:
        return False
    summary = run.summary()
    if summary.accounting.missing + summary.accounting.error and run.missing(again=recheck):
        return False
    versions = summary.verifier_versions
    return isinstance(summary.sums, SummarySums) and versions == versions_of(run.prompts(), run.spec.mode)


def evaluate_sync(
    model: Model,
    suite: Suite,
    directory: Path,
    *,
    sampling: Sampling | None = None,
    draws: int = 1,
    limit: int | None = None,
    mode: Mode = "reference",
    random_in_reference: int | None = None,
    recheck: bool = False,
    progress: Progress = SILENT,
) -> Run:
    """Evaluate without awaiting; see `evaluate` and EvalSpec.

    `limit` is the number of prompts asked, an even share of each slice. It works inside a running event loop too.
    """
    spec = EvalSpec(suite.cut(limit), sampling, draws, mode, random_in_reference)

    def work() -> Run:
        return asyncio.run(evaluate(model, spec, directory, recheck=recheck, progress=progress))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as thread:  # a notebook runs its cells inside a loop, in which no other can be run
        return thread.submit(work).result()


def rescore(directory: Path, progress: Progress = SILENT) -> Summary:
    """Judge a stored Run with the verifiers of this version, count again, and return the Summary.

    The model is not needed. Verdicts of the same verifier versions are kept; the others are made anew, and the old rows
    stay on disk.
    """
    whole = load_run(directory)  # a directory that holds none is refused before it is made
    if isinstance(whole, ShardedRun):
        for shard in whole.shards:
            if not _is_done(Run.load(shard)):
                rescore(shard, progress)
        summary = summarize_shards(whole.summaries())
        whole.seal(summary)
        return summary
    with alone(directory), Run.load(directory) as run:
        judge_stored(run, progress)
        summary = count_stored(run, progress)
        run.seal(summary)
    return summary


class Respondent(Protocol):
    """Names the model and engine of a Run: a Model, or an endpoint that answers for several models."""

    name: str
    engine: EngineInfo


async def _ask(
    model: Model, run: Run, progress: Progress, *, keys: Sequence[Key], user: Model | None,
    note_cost: Callable[[], None], whole: Sequence[Prompt],
) -> None:  # fmt: skip
    """Ask for each of `keys`, and append the Responses to the Run."""
    earlier_responses = {response.key: response for response in run.responses() if response.status != "error"}
    failed = 0
    label, before = f"{run.spec.model} answers {run.spec.suite}", run.n_asked - len(keys)
    with progress.step(label, run.n_asked, "answers", before) as step:
        stream = respond(
            model,
            run.prompts(),
            sampling=run.spec.sampling,
            keys=keys,
            earlier_responses=earlier_responses,
            log=_Log(run, step),
            user=user,
            whole=() if run.is_shard else whole,
        )
        async with aclosing(stream):
            async for response in stream:
                note_cost()
                run.append_response(response)
                failed += response.status == "error"
                step.advance(note=f"{failed} failed" if failed else "")
    run.flush()


class _Log:
    """Keeps the steps of episodes in a Run and reports their number, for an episode may take minutes."""

    def __init__(self, run: Run, step: Step) -> None:
        self._run, self._step, self._n = run, step, 0

    def append_step(self, row: EpisodeStep) -> None:
        """Store the step and report the number of steps."""
        self._run.append_step(row)
        self._n += 1
        self._step.advance(0, note=f"{self._n} steps of episodes")

    def steps(self) -> dict[tuple[str, int], list[EpisodeStep]]:
        """Return the stored steps by (prompt_id, draw), in order."""
        return self._run.steps()


def judge_stored(run: Run, progress: Progress = SILENT) -> None:
    """Judge every stored answer that lacks a verdict of the present verifiers, and append the verdicts."""
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    responses = _find_unjudged(run, prompts)
    if not responses:
        return
    with progress.step(f"judge {run.spec.suite}", len(responses), "answers") as step:
        for response in responses:
            run.append_verdicts(
                check(
                    prompts[response.prompt_id],
                    response,
                    cut_answers=run.spec.cut_answers,
                    mode=run.spec.mode,
                    random_seed=run.spec.random_in_reference,
                )
            )
            step.advance()
    run.flush()


def _find_unjudged(run: Run, prompts: dict[str, Prompt]) -> list[Response]:
    """Return the answers that lack a verdict of the present version on any of their constraints, in any view."""
    stored_versions = {_name(verdict): verdict.verifier_version for verdict in run.verdicts()}
    mode, versions_by_turn = run.spec.mode, dict[tuple[str, int], list[tuple[int, str, str]]]()
    for prompt in prompts.values():
        for number, turn in enumerate(prompt.turns):
            versions = [
                verifier_version(ref, mode=mode, profile=prompt.tags.get("profile")) for ref in turn.constraints
            ]
            versions_by_turn[prompt.id, number] = [
                (at, view, version) for at, version in enumerate(versions) for view in VIEWS
            ]
    return [
        response
        for response in run.responses()
        if response.status != "error"
        and any(
            stored_versions.get((*response.key, index, view)) != version
            for index, view, version in versions_by_turn[response.prompt_id, response.turn]
        )
    ]


def _name(verdict: Verdict) -> tuple[str, int, int, int, str]:
    return (verdict.prompt_id, verdict.turn, verdict.draw, verdict.index, verdict.view)


def count_stored(run: Run, progress: Progress = SILENT) -> Summary:
    """Summarize everything that a Run stores; lines that could not be read are reported."""
    verdicts = run.verdicts()
    if run.damage:
        progress.say(f"{run.directory}: left out {run.damage}")
    spec = run.spec
    return summarize(
        run.prompts(), spec.draws, run.responses(), verdicts, spec.slices, damage=run.damage.rows, mode=spec.mode,
        cut_answers=spec.cut_answers, keep_sums=run.is_shard,
    )  # fmt: skip
