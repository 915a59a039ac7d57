"""Make many Prompts from one pack of queries and kinds.

Kinds and numbers of constraints come in equal shares. The same seed gives the same prompts on every machine.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from adhere.constraints import Constraint, registry
from adhere.constraints.base import generation_problem
from adhere.constraints.published.iftrain.twins import twin_kind
from adhere.errors import AdhereError, UsageError
from adhere.schema import Part, Prompt, derive_seed
from adhere.suites.generated.core.compose import Manner, compose, fits
from adhere.suites.generated.core.queries import Query

COUNTS = (1, 1, 1, 1, 1, 1, 2, 2, 2, 3)  # constraints a prompt, in every ten prompts
# The kinds that `core` and training prompts use unless others are named: those of version 1, so that what was generated
# once comes out again, however many kinds there are by now.
CORE_KINDS = (
    "case:capital_words", "case:keyword", "case:lower", "case:sentences", "case:title", "case:upper",
    "format:hashtags", "format:highlights", "format:placeholders", "format:postscript", "format:sections",
    "format:tags", "format:title",
    "keywords:exactly", "keywords:forbid", "keywords:include", "keywords:opening", "keywords:times",
    "length:at_least", "length:at_most", "length:between", "length:characters", "length:paragraphs", "length:sentences",
    "letters:alliteration", "letters:at_least", "letters:avoid", "letters:every_sentence", "letters:first",
    "letters:long_word", "letters:no_digits", "letters:short_words",
    "punctuation:ends_with", "punctuation:exclamations", "punctuation:no_commas", "punctuation:no_exclamation",
    "punctuation:no_periods", "punctuation:parentheses", "punctuation:semicolons",
    "startend:end_phrase", "startend:first_word", "startend:last_word", "startend:quotes", "startend:same_word",
    "startend:start_phrase",
    "structure:bullets", "structure:json_object", "structure:labels", "structure:lines", "structure:numbered",
)  # fmt: skip
REDRAWS = 20  # a prompt that exists already is drawn again this often


def kinds_of(part: Part, only: Sequence[str] = ()) -> tuple[type[Constraint], ...]:
    """Return the kinds of one part to generate prompts with, sorted by id: those in `only`, else the CORE_KINDS.

    Kinds of plug-ins must be named: otherwise the same seed would give other prompts on another machine.

    Raises:
        UnknownName: `only` names a kind that does not exist.
        UsageError: `only` names a kind of another part, or one that prompts cannot be generated with.
    """
    for name in only:
        choice = registry.get(name)
        if choice.part != part:
            raise UsageError(f"{name} is a {choice.part} kind; a {part} kind is wanted (adhere list constraints)")
        if problem := generation_problem(choice):
            raise UsageError(f"{name} can judge answers, but no prompt can be generated with it: {problem}")
    kinds = (registry.get(name) for name in sorted(set(only or CORE_KINDS)))
    return tuple(kind for kind in kinds if kind.part == part)


def topics_in_turn(queries: Sequence[Query], rng: random.Random) -> list[Query]:
    """Return all queries in an order in which every topic comes once before any comes twice."""
    by_topic: dict[str, list[Query]] = {}
    for query in queries:
        by_topic.setdefault(query.topic, []).append(query)
    for topic in by_topic.values():
        rng.shuffle(topic)
    order: list[Query] = []
    while by_topic:
        names = sorted(by_topic)
        rng.shuffle(names)
        order.extend(by_topic[name].pop() for name in names)
        by_topic = {name: remaining for name, remaining in by_topic.items() if remaining}
    return order


class Dealer:
    """Deals queries in turn; every query is used once before any is used again, also across slices.

    Args:
        queries: The queries of one part.
        seed: The seed from which all draws derive.
        manner: How constraints are drawn and said (see `compose`).
        source: The name of the generated set; draws derive from it too.
    """

    def __init__(self, queries: Sequence[Query], *, seed: int, manner: Manner, source: str) -> None:
        self.seed, self.manner, self.source = seed, manner, source
        self._order = topics_in_turn(queries, random.Random(derive_seed(seed, source, "order")))
        self._dealt = 0
        self._texts: set[str] = set()

    def deal(
        self,
        slice: str,  # noqa: A002
        count: int,
        kinds: Sequence[type[Constraint]],
        *,
        counts: Sequence[int] = COUNTS,
    ) -> list[Prompt]:
        """Make `count` prompts of one slice, with the `kinds` of constraint in equal shares.

        Each block of `len(counts)` prompts uses every entry of `counts` once, as a number of constraints.

        Raises:
            AdhereError: No new prompt can be made for a query.
        """
        rng = random.Random(derive_seed(self.seed, self.source, slice))
        tally = _Tally(kinds)
        prompts = []
        for number in range(count):
            if number % len(counts) == 0:
                shares = rng.sample(counts, len(counts))
            query = self._order[self._dealt % len(self._order)]
            self._dealt += 1
            name = f"{slice.replace('/', '-')}-s{self.seed}-{number + 1:04d}"
            prompt = self._new(query, rng, tally, count=shares[number % len(counts)], id=name, slice=slice)
            tally.count(query, prompt)
            prompts.append(prompt)
        return prompts

    def _new(self, query: Query, rng: random.Random, tally: _Tally, *, count: int, id: str, slice: str) -> Prompt:  # noqa: A002
        """Make a prompt whose text was not dealt before."""
        for _ in range(REDRAWS):
            prompt = compose(
                query,
                rng,
                kinds=tally.rank(query, rng),
                count=count,
                manner=self.manner,
                id=id,
                slice=slice,
                source=self.source,
            )
            if prompt.text not in self._texts:
                self._texts.add(prompt.text)
                return prompt
        fitting = ", ".join(kind.id for kind in tally.kinds if fits(query, kind))
        raise AdhereError(
            f"Query {query.id!r} gave {REDRAWS} times a prompt of {self.source} that exists already, "
            f"with kinds {fitting}. Ask for fewer prompts: there are {len(self._order)} queries"
        )


class _Tally:
    """Counts how often each kind was dealt, in all and with each query."""

    def __init__(self, kinds: Sequence[type[Constraint]]) -> None:
        self.kinds = kinds
        self._used: Counter[str] = Counter()
        self._with_query: Counter[tuple[str, str]] = Counter()

    def rank(self, query: Query, rng: random.Random) -> list[type[Constraint]]:
        """Return the kinds, those dealt least with the query first, then those dealt least in all, ties at random."""
        return sorted(
            self.kinds, key=lambda kind: (self._with_query[query.id, kind.id], self._used[kind.id], rng.random())
        )

    def count(self, query: Query, prompt: Prompt) -> None:
        """Count the kinds of a dealt prompt."""
        for kind in (twin_kind(ref.id).id for ref in prompt.constraints):
            self._used[kind] += 1
            self._with_query[query.id, kind] += 1
