"""Make training prompts in IFEval's manner, which leave room for long answers.

A prompt is a request with one to three rules in free wording. The requests are made of templates over the training
topics, the wordings occur in no other prompts, and the kinds are ours or IFTrain's
(`constraints.published.iftrain.twins`). No text of IFEval or IFBench is in these prompts; a study compares them with
the prompts that it measures on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from adhere.constraints import Constraint, make
from adhere.constraints.published.iftrain.twins import as_own, published_ref, twin_kind
from adhere.errors import UnknownName, UsageError, nearest
from adhere.schema import ConstraintRef, Prompt
from adhere.suites.generated.core.compose import Manner, say_in_turn
from adhere.suites.generated.core.deal import Dealer
from adhere.suites.generated.core.queries import Query
from adhere.suites.generated.core.wordings import FREE, draw_for

LONG = "long"  # ends the slice of these prompts in training data
COUNTS = (1, 1, 1, 1, 1, 2, 2, 2, 2, 3)  # constraints a prompt, in every ten prompts
_DRAWS: Mapping[str, Callable[[random.Random], Constraint]] = {
    "case:capital_words": lambda rng: make("case:capital_words", count=rng.choice((2, 3, 4, 5))),
    "length:at_least": lambda rng: make("length:at_least", least=rng.choice((60, 80, 100, 120, 150))),
    "length:at_most": lambda rng: make("length:at_most", limit=rng.choice((60, 80, 100, 120))),
    "structure:bullets": lambda rng: make("structure:bullets", count=rng.choice((3, 4, 5, 6))),
}


class FreeManner(Manner):
    """Draws constraints for training and says them in the free wordings of their kind, in equal shares.

    Args:
        ids: The kinds, ours or IFTrain's; no two may ask for the same thing.
    """

    phrasings = "free"

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = free_kinds(ids)
        self._uses: Counter[str] = Counter()

    def draw(self, kind: type[Constraint], rng: random.Random, query: Query) -> Constraint | None:
        own = _DRAWS.get(kind.id)
        constraint = own(rng) if own else draw_for("train", kind, rng, words=query.words)
        return None if constraint is None else as_own(self.ref(constraint))

    def say(self, constraint: Constraint, rng: random.Random) -> str:
        return say_in_turn(constraint, FREE[self._ids[constraint.id]], self._uses, rng)

    def ref(self, constraint: Constraint) -> ConstraintRef:
        return published_ref(self._ids[constraint.id], constraint)


def free_kinds(ids: Sequence[str]) -> dict[str, str]:
    """Return id of our kind -> the id in `ids` that names it.

    Raises:
        UnknownName: A kind has no free wording.
        UsageError: `ids` is empty, or two of them ask for the same thing.
    """
    name_by_kind: dict[str, str] = {}
    for name in ids:
        if name not in FREE:
            raise UnknownName(f"No free wording of {name!r} is known.{nearest(name, FREE)} Known: {', '.join(FREE)}")
        own = twin_kind(name).id
        if own in name_by_kind:
            raise UsageError(f"{name_by_kind[own]} and {name} ask for the same thing; name one of them")
        name_by_kind[own] = name
    if not name_by_kind:
        raise UsageError(f"free prompts need at least one kind. Known: {', '.join(FREE)}")
    return name_by_kind


def free_prompts(
    seed: int, count: int, *, kinds: Sequence[str], name: str, among: Sequence[Query]
) -> tuple[Prompt, ...]:
    """Make `count` prompts; the same arguments give the same prompts, byte for byte.

    Args:
        seed: The seed from which all draws derive.
        count: Number of prompts.
        kinds: Ids of kinds that have free wordings.
        name: The start of the prompts' ids; draws derive from it too.
        among: The requests to build on (`templates.longer_queries_of_seed`).

    Raises:
        UnknownName, UsageError: `free_kinds` refuses the kinds.
        AdhereError: No prompt can be made for a request.
    """
    manner = FreeManner(kinds)
    chosen = [twin_kind(kind) for kind in sorted(set(kinds))]
    dealer = Dealer(among, seed=seed, manner=manner, source=f"study-{name}")
    return tuple(dealer.deal(name, count, chosen, counts=[min(number, len(chosen)) for number in COUNTS]))
