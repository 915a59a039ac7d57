"""Make prompts to train on, from the train part of queries, kinds and wordings."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.errors import UsageError
from adhere.schema import Prompt
from adhere.suites.generated.core.compose import OwnWords
from adhere.suites.generated.core.deal import Dealer, kinds_of
from adhere.suites.generated.core.queries import queries


def training_prompts(seed: int, count: int, *, kinds: Sequence[str] = ()) -> tuple[Prompt, ...]:
    """Make `count` prompts; the same arguments give the same prompts, byte for byte.

    Args:
        seed: The seed from which all draws derive.
        count: Number of prompts.
        kinds: Ids of the train kinds to use; empty: those of version 1 of `core` (`deal.CORE_KINDS`).

    Raises:
        UsageError: `count` is below 1, or a kind is held out.
        UnknownName: There is no such kind.
        AdhereError: No prompt can be made for a query.
    """
    if count < 1:
        raise UsageError(f"training_prompts: count={count} must be at least 1")
    dealer = Dealer(queries("train"), seed=seed, manner=OwnWords("training"), source="training")
    return tuple(dealer.deal("train", count, kinds_of("train", kinds)))
