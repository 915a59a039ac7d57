"""Measure how fast this machine is with this model, in some seconds, before a study says what it will take.

The probe takes a training step and draws some answers, with the start model itself, in the study's precisions, in as
many processes at once as the study will have. The measured speeds hold for a machine as busy as it was then, and for
answers as long as the start model's: trained models mostly answer more briefly.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.errors import IntegrityError
from adhere.lines.workers import end_with_parent
from adhere.models.local.decoder.device import resolve_device
from adhere.models.local.decoder.precision import Precisions
from adhere.models.local.transformers import TransformersModel, load_weights
from adhere.pipeline.respond import respond
from adhere.schema import Prompt, Record, Sampling, SftRow, decode, encode, write_atomic
from adhere.study.design.spec import StudySpec
from adhere.train.methods.sft import SftSettings, sft
from adhere.train.settings import settle

FILE = "probe{}.json"  # with the number of processes where there are several
ROWS = 64  # decoded side by side, where the study has as many
VERSION = 2


class Probe(Record, frozen=True):
    """Holds measured speeds, in tokens a second of one process while `jobs` processes ran side by side.

    Args:
        jobs: Number of processes.
        trained: Tree tokens a second, forward and backward.
        read: Prompt tokens a second, read before drawing for training.
        drawn: Answer tokens a second, drawn for training.
        evaluated_read: Prompt tokens a second, read before answering greedily, as for evaluation.
        evaluated: Answer tokens a second, drawn greedily.
        prompt_tokens: Mean length of a rendered prompt.
        answer_tokens: Mean length of the start model's answers as they are drawn for training, none longer than
            `max_new_tokens`.
        evaluated_tokens: Mean length of the start model's greedy answers.
        seconds: How long the probe took.
    """

    version: int
    jobs: int
    trained: float
    read: float
    drawn: float
    evaluated_read: float
    evaluated: float
    prompt_tokens: float
    answer_tokens: float
    evaluated_tokens: float
    seconds: float


class DrawRates(NamedTuple):
    """Holds, for one way of drawing answers, tokens read and drawn a second, and mean tokens of prompt and answer."""

    read_per_s: float
    drawn_per_s: float
    prompt_tokens: float
    answer_tokens: float


def load_probe(directory: Path, *, jobs: int = 1) -> Probe | None:
    """Return the stored probe with `jobs` processes; None if there is none of this version."""
    file = directory / file_of(jobs)
    if not file.exists():
        return None
    try:
        speeds = decode(file.read_bytes(), Probe)
    except IntegrityError:  # of another version: measured again
        return None
    return speeds if (speeds.version, speeds.jobs) == (VERSION, jobs) else None


def probe(
    spec: StudySpec, directory: Path, prompts: Sequence[Prompt], *, start: Path, precisions: Precisions, jobs: int = 1
) -> Probe:
    """Measure speeds with `jobs` processes side by side, and store them in `directory`.

    `prompts` are training prompts of the study.
    """
    if jobs == 1:
        speeds = measure(spec, prompts, start=start, precisions=precisions)
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_parent) as pool:
            futures = [
                pool.submit(measure, spec, prompts, start=start, precisions=precisions, jobs=jobs) for _ in range(jobs)
            ]
            speeds = mean([future.result() for future in futures])
    directory.mkdir(parents=True, exist_ok=True)
    write_atomic(directory / file_of(jobs), encode(speeds))
    return speeds


def file_of(jobs: int) -> str:
    """Return the name of the file that stores the probe with `jobs` processes."""
    return FILE.format("" if jobs == 1 else f"-{jobs}")


def threads_each(spec: StudySpec, jobs: int) -> int | None:
    """Return the threads of each of `jobs` processes; None leaves torch's own setting."""
    return spec.threads if jobs == 1 else max(1, (spec.threads or len(os.sched_getaffinity(0))) // jobs)


def mean(probes: Sequence[Probe]) -> Probe:
    """Return the mean of each number over the processes, and the seconds of the slowest."""
    names = [field.name for field in msgspec.structs.fields(Probe) if field.type is float]
    means = {name: sum(getattr(speeds, name) for speeds in probes) / len(probes) for name in names}
    return msgspec.structs.replace(probes[0], **means | {"seconds": max(speeds.seconds for speeds in probes)})


def measure(spec: StudySpec, prompts: Sequence[Prompt], *, start: Path, precisions: Precisions, jobs: int = 1) -> Probe:
    """Measure the speed of this process, one of `jobs`."""
    import torch

    began = time.monotonic()
    device, threads = resolve_device(spec.device), threads_each(spec, jobs)
    if threads is not None:
        torch.set_num_threads(threads)
    model, tokenizer = load_weights(start, device)
    ways = []
    for precision, layout, temperature, longest, answers in (
        (
            precisions.rollouts,
            precisions.layout,
            spec.data.temperature,
            spec.data.max_new_tokens,
            spec.data.prompts * spec.data.draws,
        ),
        (spec.evaluation.precision, "columns", 0.0, spec.evaluation.max_new_tokens, spec.evaluation.prompts),
    ):
        engine = TransformersModel(
            model, tokenizer, name="probe", precision=precision, layout=layout, threads=threads, rows=ROWS
        )
        rows = min(ROWS, answers or ROWS)
        ways.append(_time_draws(engine, prompts, rows=rows, temperature=temperature, longest=longest))
        engine.close()
    draw_rates, greedy_rates = ways
    trained = _time_training(model, tokenizer, prompts, precisions)
    return Probe(
        VERSION,
        jobs,
        trained,
        draw_rates.read_per_s,
        draw_rates.drawn_per_s,
        greedy_rates.read_per_s,
        greedy_rates.drawn_per_s,
        draw_rates.prompt_tokens,
        draw_rates.answer_tokens,
        greedy_rates.answer_tokens,
        time.monotonic() - began,
    )


def _time_draws(
    model: TransformersModel, prompts: Sequence[Prompt], *, rows: int, temperature: float, longest: int
) -> DrawRates:
    """Measure how fast answers are drawn: one-token answers time the reading of prompts, whole answers the drawing."""
    probe_prompts = [msgspec.structs.replace(prompts[i % len(prompts)], id=f"probe-{i}") for i in range(rows)]

    async def draw(most: int) -> tuple[int, int]:
        tokens_read, tokens_drawn = 0, 0
        answers = respond(model, probe_prompts, sampling=Sampling(max_new_tokens=most, temperature=temperature))
        async with aclosing(answers):
            async for answer in answers:
                tokens_read += answer.usage.prompt_tokens or 0
                tokens_drawn += answer.usage.completion_tokens or 0
        return tokens_read, tokens_drawn

    def timed(most: int) -> tuple[float, int, int]:
        start_s = time.perf_counter()
        counts = asyncio.run(draw(most))
        return time.perf_counter() - start_s, *counts

    first_s, tokens_read, first = timed(1)
    whole_s, _, whole = timed(longest)
    # On a machine that was busy for a moment, reading may seem to take all of the time.
    more_s = max(whole_s - first_s, 0.1 * whole_s)
    return DrawRates(tokens_read / first_s, max(1, whole - first) / more_s, tokens_read / rows, whole / rows)


def _time_training(model: object, tokenizer: object, prompts: Sequence[Prompt], precisions: Precisions) -> float:
    """Return the tokens trained per second, measured on the second of two steps. The model is not used again."""
    text = "The answer to this takes about as many words as most answers of the study have, some thirty of them in all."
    rows = [SftRow(f"{i}", prompts[i % len(prompts)].text, text, "sampled", (), ()) for i in range(8)]
    settings = settle(SftSettings(epochs=1, batch_rows=8), precisions)
    for _ in range(2):
        ledger = sft(model, tokenizer, rows, settings, seed=0).ledger  # type: ignore[arg-type]
    return ledger.tokens_processed / ledger.seconds
