"""Give some Models what they need of a Run before they are asked.

That is the text that was searched for, the rules that an oracle knows, or what was spent so far.
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
    """Is a Model that keeps to a cap on cost.

    `spent_usd` is what was spent under the cap so far, in USD; requests under way count at their maximum.
    """

    spent_usd: float


async def prepare(model: Model, run: Run, suite: Suite, progress: Progress) -> None:
    """Give a Model what it needs of the Run that it is about to answer; most Models need nothing."""
    if isinstance(model, SearchedModel):
        await search_prompt(model, run, suite, progress)
    if isinstance(model, WrappedModel):
        model.use(partial(_broken_rules, {prompt.id: prompt for prompt in run.prompts()}, run.spec.mode))


def payer_of(model: Model) -> Spending | None:
    """Return the Model that keeps to a cap: `model`, or one that it wraps; None if there is none."""
    while not isinstance(model, Spending):
        if not isinstance(model, WrappedModel | SearchedModel):
            return None
        model = model.inner
    return model


def note_spent(model: Model, run: Run) -> None:
    """Add what a Run has cost to the spending of a Model that keeps to a cap, which spans runs of a command.

    A Run of an earlier version has no ledger, only answers that say what they cost.
    """
    payer = payer_of(model)
    if payer is not None:
        for part in run.parts():
            stored_usd = math.fsum(response.usage.cost_usd or 0.0 for response in part.responses())
            payer.spent_usd += max(stored_usd, read_spent(part.directory, Damage()))


@contextmanager
def keep_ledger(model: Model, run: Run) -> Iterator[Callable[[], None]]:
    """Write down what a Model spends on a Run; yield the function to call before an answer is stored.

    Time-outs and answers without a cost count at their maximum under a cap, which no stored answer shows.
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
        UsageError: `model` searches for its prompt.
    """
    if isinstance(model, SearchedModel):
        raise UsageError(
            f"{model.name} looks for a prompt over all answers of a run, and so many are stored in "
            "shards: take fewer --draws"
        )


def _broken_rules(prompts: dict[str, Prompt], mode: Mode, request: Request, text: str) -> list[str]:
    """Return why an answer to one request fails, strictly; oracles among inference-time methods choose by this."""
    response = settle(Response(request.prompt_id, request.turn, request.draw, text, "ok"))
    verdicts = check(prompts[request.prompt_id], response, views=("strict",), mode=mode)
    return [verdict.reason for verdict in verdicts if verdict.outcome != "pass"]
