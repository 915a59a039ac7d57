"""How much of a model's greedy answers depends on what is asked beside them: the noise of its engine.

The same prompts are asked alone, together in the suite's order, and together in another order. What differs from the
answers that were drawn alone is no difference between models: `adhere compare` says so where a difference of two runs
is no larger.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.models.base import Model, Request
from adhere.pipeline.chunks import batch_invariant
from adhere.pipeline.episodes import is_episode
from adhere.pipeline.judge import judge_text
from adhere.pipeline.outcomes import keeps_all
from adhere.pipeline.respond import ask, request_of, sampling_of
from adhere.progress import Progress, Silent
from adhere.schema import Prompt, Record, Response, Sampling, content_hash, decode, encode, write_atomic
from adhere.store.manifest import RunSpec, slug
from adhere.suites.base import Suite

FOLDER = "stable"


class Way(Record, frozen=True):
    """One way of asking: of how many prompts the text differs from the one drawn alone, and of how many the verdict."""

    way: str
    answers: int
    texts: int
    verdicts: int


class Stability(Record, frozen=True):
    """What `adhere stable` found.

    Attributes:
        model: Its name.
        engine_sha256: Identity of the engine, so that only runs of it are told.
        suite: What was asked.
        suite_sha256: Its identity.
        max_new_tokens: The limit of an answer.
        prompts: First turns that were asked in each way.
        batch_invariant: What the engine says of itself.
        ways: See Way.
        failed: Prompts with a failed call in any way; they are not counted.
    """

    version: int
    model: str
    engine_sha256: str
    suite: str
    suite_sha256: str
    max_new_tokens: int
    prompts: int
    batch_invariant: str
    ways: tuple[Way, ...]
    failed: int = 0

    @property
    def text_share(self) -> float | None:
        """The largest share of texts that changed; None where no prompt was answered in every way."""
        return self._share("texts")

    @property
    def verdict_share(self) -> float | None:
        """The largest share of verdicts that changed; None where no prompt was answered in every way."""
        return self._share("verdicts")

    def _share(self, field: str) -> float | None:
        shares = [getattr(way, field) / way.answers for way in self.ways if way.answers]
        return max(shares) if shares else None


def measure_stability(
    model: Model, suite: Suite, *, max_new_tokens: int | None = None, seed: int = 0, progress: Progress | None = None
) -> Stability:
    """Ask the first turns of a suite greedily in three ways, and count what differs.

    Args:
        model: Who is asked.
        suite: Its single turns; of conversations the first ones.
        max_new_tokens: The limit of an answer [the suite's own].
        seed: Of the other order.
        progress: Where to report to.

    Raises:
        UsageError: The suite has no prompt that can be asked so.
    """
    prompts = [prompt for prompt in suite.prompts if not is_episode(prompt)]
    if len(prompts) < 2:
        raise UsageError(f"{suite.name}: {len(prompts)} prompts; it takes at least two to ask them together")
    sampling = suite.sampled(max_new_tokens=max_new_tokens, temperature=0.0, top_p=1.0, seed=seed)
    shuffled = [*prompts]
    random.Random(seed).shuffle(shuffled)
    alone = [[prompt] for prompt in prompts]
    found = asyncio.run(
        _ask_in_ways(
            model,
            {"alone": alone, "together": [prompts], "in another order": [shuffled]},
            sampling,
            progress or Silent(),
        )
    )
    answered = [
        prompt
        for prompt in prompts
        if all(prompt.id in texts and texts[prompt.id].status != "error" for texts in found.values())
    ]
    verdicts = {way: {one.id: _passes(one, texts[one.id]) for one in answered} for way, texts in found.items()}
    ways = tuple(
        Way(
            way,
            len(answered),
            sum(texts[one.id].text != found["alone"][one.id].text for one in answered),
            sum(verdicts[way][one.id] != verdicts["alone"][one.id] for one in answered),
        )
        for way, texts in found.items()
        if way != "alone"
    )
    return Stability(
        version=1,
        model=model.name,
        engine_sha256=engine_hash(RunSpec(model.name, model.engine, "", "", "", Sampling(), 1)),
        suite=suite.name,
        suite_sha256=suite.sha256,
        max_new_tokens=sampling.max_new_tokens,
        prompts=len(prompts),
        batch_invariant=batch_invariant(model.engine.settings),
        ways=ways,
        failed=len(prompts) - len(answered),
    )


async def _ask_in_ways(
    model: Model, ways: Mapping[str, Sequence[Sequence[Prompt]]], sampling: Sampling, progress: Progress
) -> dict[str, dict[str, Response]]:
    found: dict[str, dict[str, Response]] = {}
    for way, groups in ways.items():
        found[way] = {}
        with progress.step(f"{model.name}, {way}", sum(map(len, groups)), "answers") as step:
            for group in groups:
                requests = [request_of(prompt, (prompt.id, 0, 0), lambda _turn: None, sampling) for prompt in group]
                asked = [one for one in requests if isinstance(one, Request)]
                async with aclosing(ask(model, asked, sampling_of(asked[0], sampling))) as responses:
                    async for response in responses:
                        found[way][response.prompt_id] = response
                        step.advance()
    return found


def _passes(prompt: Prompt, response: Response) -> bool | None:
    turn = prompt.turns[0]
    verdicts = judge_text(
        response.text, turn.constraints, ("strict",), key=response.key, mode="reference",
        profile=prompt.tags.get("profile"), reasoning=response.reasoning,
    )  # fmt: skip
    return keeps_all([verdict.outcome for verdict in verdicts], len(turn.constraints))


def engine_hash(spec: RunSpec) -> str:
    """Return the identity of a run's engine and model."""
    fields = msgspec.to_builtins(spec.engine)
    settings = {name: value for name, value in fields["settings"].items() if name not in {"total_s", "batch_invariant"}}
    return content_hash([spec.model, {**fields, "settings": settings}])


def store(found: Stability, out: Path) -> Path:
    """Write what was found below the folder of the runs; the same measurement again replaces it."""
    name = content_hash([found.engine_sha256, found.suite_sha256, found.max_new_tokens, found.prompts])[:12]
    path = out / FOLDER / f"{slug(found.model)}-{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, encode(found))
    return path


def stored_for(spec: RunSpec, runs: Path) -> Stability | None:
    """Return what was found for the engine of a run, beside the runs; of several the largest share of verdicts."""
    wanted = engine_hash(spec)
    found = []
    for path in sorted((runs / FOLDER).glob("*.json")):
        try:
            one = decode(path.read_bytes(), Stability)
        except (OSError, IntegrityError, msgspec.MsgspecError):
            continue
        if one.engine_sha256 == wanted and one.verdict_share is not None:
            found.append(one)
    return max(found, key=lambda one: one.verdict_share or 0.0, default=None)


__all__ = ["Stability", "Way", "measure_stability", "store", "stored_for"]
