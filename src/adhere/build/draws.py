"""Draw answers of the start model to the training prompts.

They are a stored Run, so that a killed build resumes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple, Self

from adhere.errors import Incomplete
from adhere.models.base import Model
from adhere.pipeline.prepare.run import keep_ledger
from adhere.pipeline.respond import respond
from adhere.progress import Progress, Step
from adhere.schema import Prompt, Record, Response, Sampling, content_hash, decode, encode, write_atomic
from adhere.store.run import Run, RunSpec
from adhere.text.reasoning import own_tags

CLOCK_EVERY_S = 2.0


class Ledger(Record, frozen=True):
    """Holds the cost of the draws.

    `tokens_generated` is None if the model did not report the tokens of every answer. `seconds` is the sum over all
    starts of the build; a killed start loses at most its last two seconds.
    """

    answers_generated: int
    tokens_generated: int | None
    seconds: float


class Draws(NamedTuple):
    """Holds the answers by prompt id, in the order of their draws, and their cost."""

    by_prompt: dict[str, list[Response]]
    ledger: Ledger


class _Clock:
    """Counts the seconds spent inside `with` and adds them to those in a file, so that they survive a kill."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before: float = decode(path.read_bytes(), float) if path.exists() else 0.0

    def __enter__(self) -> Self:
        self._start = self._saved = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.save()
        self.before = self._seconds()

    def save(self, *, every_s: float = 0.0) -> None:
        """Write the seconds, unless they were written within the last `every_s`."""
        if time.monotonic() - self._saved >= every_s:
            write_atomic(self.path, encode(self._seconds()))
            self._saved = time.monotonic()

    def _seconds(self) -> float:
        return round(self.before + time.monotonic() - self._start, 3)


def draw_answers(
    model: Model,
    prompts: Sequence[Prompt],
    *,
    draws: int,
    sampling: Sampling,
    directory: Path,
    progress: Progress,
    watch: Callable[[Response], str] | None = None,
) -> Draws:
    """Draw `draws` answers to every turn of every prompt, without those that `directory` already holds.

    `watch` is called with each new answer and returns the text that the progress shows beside the count.

    Raises:
        RunMismatch: The directory holds draws of another model, sampling or set of prompts.
        Incomplete: Some calls failed; the same call again tries those once more.
    """
    spec = RunSpec(
        model=model.name,
        engine=model.engine,
        suite="training",
        suite_version="1",
        suite_sha256=content_hash(list(prompts)),
        sampling=sampling,
        draws=draws,
        cut_answers="fail",
        reasoning_tags=own_tags(),
    )
    clock = _Clock(directory.parent / "draws-seconds.json")

    def note(response: Response) -> str:
        clock.save(every_s=CLOCK_EVERY_S)
        return watch(response) if watch else ""

    with Run.open(directory, spec, prompts) as run:
        if run.missing():  # a build that draws nothing takes no seconds
            with clock:
                ask_missing(run, model, prompts, label="draw answers", progress=progress, note=note)
        return _collect(run, prompts, clock.before)


def ask_missing(
    run: Run,
    model: Model,
    prompts: Sequence[Prompt],
    *,
    label: str,
    progress: Progress,
    note: Callable[[Response], str] = lambda _: "",
) -> None:
    """Ask a model for every answer that a Run lacks, and store each as it comes.

    `note` is called with each answer and returns the text that the progress shows beside the count.
    """
    missing = run.missing()
    if not missing:
        return

    async def store(step: Step) -> None:
        stream = respond(model, prompts, sampling=run.spec.sampling, keys=missing)
        with keep_ledger(model, run) as note_cost:
            async with aclosing(stream) as answers:
                async for response in answers:
                    note_cost()
                    run.append_response(response)
                    step.advance(1, note(response))

    with progress.step(label, len(missing), "answers") as step:
        asyncio.run(store(step))


def _collect(run: Run, prompts: Sequence[Prompt], seconds: float) -> Draws:
    by_prompt: dict[str, list[Response]] = {prompt.id: [] for prompt in prompts}
    for response in sorted(run.responses(), key=lambda response: response.draw):
        by_prompt[response.prompt_id].append(response)
    answers = [response for responses in by_prompt.values() for response in responses if response.status != "error"]
    failed = [response for responses in by_prompt.values() for response in responses if response.status == "error"]
    expected = run.spec.draws * sum(len(prompt.turns) for prompt in prompts)
    short = expected - len(answers)
    if short:
        why = f" The first error: {failed[0].error}." if failed else ""
        raise Incomplete(
            f"{run.directory}: {short} of {expected} answers are missing.{why} "
            f"What was drawn is stored; run the same build again to draw the rest"
        )
    tokens = [response.usage.completion_tokens for response in answers]
    tokens_generated = None if None in tokens else sum(filter(None, tokens))
    return Draws(by_prompt, Ledger(len(answers), tokens_generated, seconds))
