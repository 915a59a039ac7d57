"""Give some Models what they need of a Run before they are asked.

That is a text that was searched for, the rules that an oracle knows, what was spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from adhere.store.segments import Damage
from adhere.store.spending import Ledger, read_spent
from adhere.suites.base import Suite


@runtime_checkable
class Spending(Protocol):
    """A Model that keeps to a cap on cost: what was spent under it so far, in USD, requests under way at their most."""

    spent_usd: float


async def prepare(model: Model, run: Run, suite: Suite, progress: Progress) -> None:
    """Give a Model what it needs of the Run that it is about to answer; most need nothing."""
    if isinstance(model, SearchedModel):
        await search_prompt(model, run, suite, progress)
    if isinstance(model, WrappedModel):
        model.use(partial(_broken_rules, {prompt.id: prompt for prompt in run.prompts()}, run.spec.mode))


def payer_of(model: Model) -> Spending | None:
    """Return who keeps to a cap: the Model, or the one that a method stands around; None: nobody."""
    while not isinstance(model, Spending):
        if not isinstance(model, WrappedModel | SearchedModel):
            return None
        model = model.inner
    return model


def note_spent(model: Model, run: Run) -> None:
    """Tell a Model that keeps to a cap what a Run has cost: earlier runs of the command count under the same cap.

    A Run of an earlier version has no ledger, only answers that say what they cost.
    """
    payer = payer_of(model)
    if payer is not None:
        for part in run.parts():
            stored_usd = math.fsum(response.usage.cost_usd or 0.0 for response in part.responses())
            payer.spent_usd += max(stored_usd, read_spent(part.directory, Damage()))


@contextmanager
def keep_ledger(model: Model, run: Run) -> Iterator[Callable[[], None]]:
    """Write down what a Model spends on a Run; gives what to call before an answer is stored.

    Time-outs and answers that do not say their cost count under a cap at their most, and no stored answer says so.
    """
    payer = payer_of(model)
    if payer is None:
        yield lambda: None
        return
    before, ledger = payer.spent_usd, Ledger(run.directory)

    def note() -> None:
        ledger.note(payer.spent_usd - before)

    try:
        yield note
    finally:
        note()
        ledger.close()


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
