"""What some Models need of a Run before they are asked.

A text that was searched for, the rules that an oracle knows, what was spent.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Protocol, runtime_checkable

from adhere.errors import UsageError
from adhere.models.base import Model, Request
from adhere.models.wrap import SearchedModel, WrappedModel
from adhere.pipeline.check import check
from adhere.pipeline.prepare.search import search_prompt
from adhere.pipeline.respond import settle
from adhere.progress import Progress
from adhere.schema import Mode, Prompt, Response
from adhere.store.run import Run
from adhere.suites.base import Suite


@runtime_checkable
class Spending(Protocol):
    """A Model that keeps to a cap on cost: what was spent under it so far, in USD."""

    spent_usd: float


async def prepare(model: Model, run: Run, suite: Suite, progress: Progress) -> None:
    """Give a Model what it needs of the Run that it is about to answer; most need nothing."""
    if isinstance(model, SearchedModel):
        await search_prompt(model, run, suite, progress)
    if isinstance(model, WrappedModel):
        model.use(partial(_broken_rules, {prompt.id: prompt for prompt in run.prompts()}, run.spec.mode))


def note_spent(model: Model, run: Run) -> None:
    """Tell a Model that keeps to a cap what a Run has cost: earlier runs of the command count under the same cap."""
    if isinstance(model, Spending):
        for part in run.parts():
            model.spent_usd += math.fsum(response.usage.cost_usd or 0.0 for response in part.responses())


def refuse_in_shards(model: Model) -> None:
    """Refuse a Model that has to look at all answers of a Run at once.

    Raises:
        UsageError: It is one.
    """
    if isinstance(model, SearchedModel):
        raise UsageError(
            f"{model.name} looks for a prompt over all answers of a run, and so many are stored in "
            "shards: take fewer --draws"
        )


def _broken_rules(prompts: dict[str, Prompt], mode: Mode, request: Request, text: str) -> list[str]:
    """Why an answer to one request fails, strictly: what an oracle among the inference-time methods chooses by."""
    response = settle(Response(request.prompt_id, request.turn, request.draw, text, "ok"))
    verdicts = check(prompts[request.prompt_id], response, views=("strict",), mode=mode)
    return [verdict.reason for verdict in verdicts if verdict.outcome != "pass"]
