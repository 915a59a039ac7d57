"""Make the suite `core`, whose queries, topics and wordings are never trained on.

Both slices are held out so. `in-family` has the kinds of training prompts; `new-family` has only kinds of families that
are never trained on, so it separates learnt rules from learnt obedience.
"""

from __future__ import annotations

from collections.abc import Sequence

from adhere.errors import UsageError
from adhere.schema import Sampling
from adhere.suites.base import Suite
from adhere.suites.generated.core.compose import OwnWords
from adhere.suites.generated.core.deal import Dealer, kinds_of
from adhere.suites.generated.core.queries import queries

VERSION = "1"
SLICES = ("in-family", "new-family")


def core(
    seed: int = 0,
    in_family: int = 120,
    new_family: int = 80,
    *,
    kinds: Sequence[str] = (),
    new_kinds: Sequence[str] = (),
) -> Suite:
    """Make the suite `core` of these sizes; the same arguments give the same prompts, byte for byte.

    Args:
        seed: The seed from which all draws derive.
        in_family: Prompts with kinds of the train families.
        new_family: Prompts with kinds of the held-out families.
        kinds: Ids of the train kinds that `in-family` uses; empty: those of version 1 (`deal.CORE_KINDS`).
        new_kinds: Ids of the held-out kinds that `new-family` uses; empty: those of version 1.

    Raises:
        UsageError: A size is negative, or both are zero, or a kind is of the other part.
        UnknownName: There is no such kind.
        AdhereError: No prompt can be made for a query.
    """
    if min(in_family, new_family) < 0 or in_family + new_family == 0:
        raise UsageError(
            f"core: in_family={in_family}, new_family={new_family}: both must be at least 0 and one at least 1"
        )
    dealer = Dealer(queries("held-out"), seed=seed, manner=OwnWords("held-out"), source="core")
    prompts = [
        *dealer.deal("in-family", in_family, kinds_of("train", kinds)),
        *dealer.deal("new-family", new_family, kinds_of("held-out", new_kinds)),
    ]
    return Suite(
        name="core",
        version=VERSION,
        prompts=tuple(prompts),
        slices=SLICES,
        cut_answers="fail",
        settings={
            "seed": seed,
            "in_family": in_family,
            "new_family": new_family,
            **({"kinds": ", ".join(sorted(kinds))} if kinds else {}),
            **({"new_kinds": ", ".join(sorted(new_kinds))} if new_kinds else {}),
        },
        sampling=Sampling(max_new_tokens=64),  # its questions ask for a sentence or two; an answer that is cut fails
    )
