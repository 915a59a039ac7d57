"""Measure how much of a model's greedy answers depends on what is asked beside them: the noise of its engine.

The same prompts are asked alone, together in the suite's order, and together in another order. A difference from the
answers that were drawn alone is no difference between models. `adhere compare` notes where the difference of two runs
is no larger than this noise.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing

from adhere.errors import UsageError
from adhere.models.base import Model, Request
from adhere.pipeline.chunks import batch_invariant
from adhere.pipeline.episodes import is_episode
from adhere.pipeline.judge import judge_text
from adhere.pipeline.outcomes import keeps_all
from adhere.pipeline.respond import ask, request_of, sampling_of
from adhere.progress import Progress, Silent
from adhere.schema import Prompt, Response, Sampling
from adhere.store.manifest import RunSpec
from adhere.store.stability import Stability, Way, engine_hash
from adhere.suites.base import Suite


def measure_stability(
    model: Model, suite: Suite, *, max_new_tokens: int | None = None, seed: int = 0, progress: Progress | None = None
) -> Stability:
    """Ask the first turns of a suite greedily in three ways, and count what differs.

    Args:
        model: The model that is asked.
        suite: The suite; of conversations only the first turns are asked.
        max_new_tokens: Token limit of an answer [the suite's own].
        seed: Seed of the other order.
        progress: Where to report to.

    Raises:
        UsageError: The suite has fewer than two prompts that can be asked so.
    """
    prompts = [prompt for prompt in suite.prompts if not is_episode(prompt)]
    if len(prompts) < 2:
        raise UsageError(f"{suite.name}: {len(prompts)} prompts; it takes at least two to ask them together")
    sampling = suite.sampled(max_new_tokens=max_new_tokens, temperature=0.0, top_p=1.0, seed=seed)
    other_order = [*prompts]
    random.Random(seed).shuffle(other_order)
    alone = [[prompt] for prompt in prompts]
    answers_by_way = asyncio.run(
        _ask_in_ways(
            model,
            {"alone": alone, "together": [prompts], "in another order": [other_order]},
            sampling,
            progress or Silent(),
        )
    )
    answered_prompts = [
        prompt
        for prompt in prompts
        if all(prompt.id in texts and texts[prompt.id].status != "error" for texts in answers_by_way.values())
    ]
    verdicts = {
        way: {prompt.id: _passes(prompt, texts[prompt.id]) for prompt in answered_prompts}
        for way, texts in answers_by_way.items()
    }
    ways = tuple(
        Way(
            way,
            len(answered_prompts),
            sum(texts[prompt.id].text != answers_by_way["alone"][prompt.id].text for prompt in answered_prompts),
            sum(verdicts[way][prompt.id] != verdicts["alone"][prompt.id] for prompt in answered_prompts),
        )
        for way, texts in answers_by_way.items()
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
        failed=len(prompts) - len(answered_prompts),
    )


async def _ask_in_ways(
    model: Model, ways: Mapping[str, Sequence[Sequence[Prompt]]], sampling: Sampling, progress: Progress
) -> dict[str, dict[str, Response]]:
    answers_by_way: dict[str, dict[str, Response]] = {}
    for way, groups in ways.items():
        answers_by_way[way] = {}
        with progress.step(f"{model.name}, {way}", sum(map(len, groups)), "answers") as step:
            for group in groups:
                requests_or_turns = [
                    request_of(prompt, (prompt.id, 0, 0), lambda _turn: None, sampling) for prompt in group
                ]
                requests = [request for request in requests_or_turns if isinstance(request, Request)]
                async with aclosing(ask(model, requests, sampling_of(requests[0], sampling))) as responses:
                    async for response in responses:
                        answers_by_way[way][response.prompt_id] = response
                        step.advance()
    return answers_by_way


def _passes(prompt: Prompt, response: Response) -> bool | None:
    turn = prompt.turns[0]
    verdicts = judge_text(
        response.text, turn.constraints, ("strict",), key=response.key, mode="reference",
        profile=prompt.tags.get("profile"), reasoning=response.reasoning,
    )  # fmt: skip
    return keeps_all([verdict.outcome for verdict in verdicts], len(turn.constraints))
