"""Draw rollouts: a model's answers to any number of prompts, stored as a sharded Run (`store.sharded`).

    OUT/farm.json           what is asked of whom; another question, or another model, is refused
    OUT/shards/00017/       a Run: answers are stored as they arrive, and are never asked for again
    OUT/rows/00017.jsonl    the same answers as rows (`key`, `draw`, `prompt`, `response`, `status`), once all are there
    OUT/shards.json         once all have been asked: what `adhere report`, `rescore`, `compare` and `compact` read as
                            one Run

Only one shard is in memory at a time, so there may be any number of prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adhere.build.draws import ask_missing
from adhere.errors import Incomplete, RunMismatch, SpecError, UsageError
from adhere.lines.blocks import written_whole
from adhere.lines.places import find
from adhere.models.base import Model
from adhere.pipeline.evaluate import count_stored, judge_stored
from adhere.pipeline.prepare.run import note_spent, payer_of
from adhere.pipeline.summarize import summarize_shards
from adhere.progress import Progress, Silent
from adhere.schema import EngineInfo, Prompt, Record, Sampling, content_hash, decode, encode, write_atomic
from adhere.steps.kinds import answer_row, prompt_of
from adhere.steps.shards import Shard, ShardFile
from adhere.store.run import Run, RunSpec
from adhere.store.sharded import SHARD_ANSWERS, Outline, ShardedRun, cuts
from adhere.store.shelf import SHARDS


class Farm(Record, frozen=True):
    """Describes what is drawn: the model, the files of prompts (with sizes), the sampling, and the draws."""

    model: str
    engine: EngineInfo
    sources: tuple[tuple[str, int], ...]
    sampling: Sampling
    draws: int
    shard_answers: int


class Harvest(NamedTuple):
    """Holds the totals at the end. `failed` calls are asked for again by the same command."""

    shards: int
    prompts: int
    answers: int
    failed: int
    tokens: int
    cost_usd: float


def draw(
    model: Model,
    patterns: Sequence[str],
    out: Path,
    *,
    sampling: Sampling,
    draws: int = 1,
    shard_answers: int = SHARD_ANSWERS,
    progress: Progress | None = None,
) -> Harvest:
    """Draw `draws` answers to every prompt of some files; what `out` holds is not asked for again.

    Args:
        model: The model that answers.
        patterns: Files of JSON lines, patterns or URLs; see `steps.kinds.prompt_of` for a row.
        out: Folder in which everything is stored.
        sampling: How answers are drawn.
        draws: Answers to each prompt.
        shard_answers: Answers of one shard.
        progress: Where to report.

    Raises:
        RunMismatch: `out` holds answers to another question, or of another model.
        UsageError: There are no prompts, or two prompts of one shard have one key.
        SpecError: A row is no prompt.
        Incomplete: The cap on cost is reached.
    """
    progress = progress or Silent()
    files = find(tuple(patterns))
    farm = Farm(model.name, model.engine, tuple(files), sampling, draws, shard_answers)
    _refuse_other(out, farm)
    total, number = Harvest(0, 0, 0, 0, 0, 0.0), -1
    if payer_of(model) is not None:  # the cap is for everything in one directory
        for shard in sorted((out / SHARDS).glob("[0-9]*")):
            note_spent(model, Run.load(shard))
    spec, outline = _spec(model, farm), Outline()
    all_prompts = _prompts([place for place, _ in files])
    for number, prompts in enumerate(cuts(all_prompts, max(1, shard_answers // draws))):
        outline.add(prompts)
        with Run.open(out / SHARDS / f"{number:05}", spec, prompts) as run:
            ask_missing(run, model, prompts, label=f"draw, shard {number + 1}", progress=progress)
            if not run.is_sealed:
                judge_stored(run, progress)
                run.seal(count_stored(run, progress))
            answers = run.responses()
            _write_rows(out / f"rows/{number:05}.jsonl", run, prompts)
        failed = sum(answer.status == "error" for answer in answers)
        cost = math.fsum(answer.usage.cost_usd or 0.0 for answer in answers)
        tokens = sum(answer.usage.completion_tokens or 0 for answer in answers)
        total = Harvest(
            total.shards + 1,
            total.prompts + len(prompts),
            total.answers + len(answers) - failed,
            total.failed + failed,
            total.tokens + tokens,
            total.cost_usd + cost,
        )
    if number < 0:
        raise UsageError(f"{', '.join(patterns)}: no prompts")
    whole = ShardedRun(out, outline.write(out, spec))
    whole.seal(summarize_shards(whole.summaries()))
    return total


def _refuse_other(out: Path, farm: Farm) -> None:
    file = out / "farm.json"
    if not file.exists():
        write_atomic(file, encode(farm) + b"\n")
        return
    stored_farm = decode(file.read_bytes(), Farm)
    other = [name for name in Farm.__struct_fields__ if getattr(stored_farm, name) != getattr(farm, name)]
    if other:
        raise RunMismatch(
            f"{out} holds answers with another {', '.join(other)}. Choose another --out, or ask for what is stored"
        )


def _spec(model: Model, farm: Farm) -> RunSpec:
    return RunSpec(
        model=model.name,
        engine=model.engine,
        suite="draw",
        suite_version="1",
        suite_sha256=content_hash(list(farm.sources)),
        sampling=farm.sampling,
        draws=farm.draws,
        cut_answers="fail",
    )


def _prompts(places: Sequence[str]) -> Iterator[Prompt]:
    """Yield the prompts of all files, each read when it is its turn."""
    n_prompts = 0
    for place in places:
        for number, row in ShardFile(Shard(0, place)).rows(dict[str, Any]):
            n_prompts += 1
            try:
                yield prompt_of(row, n_prompts)
            except SpecError as problem:
                raise SpecError(f"{place}:{number}: {problem}") from problem


def _write_rows(path: Path, run: Run, prompts: Sequence[Prompt]) -> None:
    """Write the answers as rows, once all are there; failed calls do not count as answers."""
    if run.missing() or path.exists():
        return
    by_id = {prompt.id: prompt for prompt in prompts}
    with written_whole(path) as write:
        for answer in run.responses():
            write(encode(answer_row(by_id[answer.prompt_id], answer)) + b"\n")


def lacking(harvest: Harvest) -> Incomplete | None:
    """Return the error to report if calls failed; None if none failed."""
    if not harvest.failed:
        return None
    return Incomplete(
        f"{harvest.failed:,} of {harvest.answers + harvest.failed:,} calls failed. The same command asks for them again"
    )
