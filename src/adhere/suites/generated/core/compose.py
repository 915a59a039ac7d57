"""Make one Prompt from one query and some kinds of constraint."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from adhere.constraints import Constraint, conflict
from adhere.errors import AdhereError
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites.generated.core.queries import Query

Phrasings = Literal["training", "held-out"]


class Manner(Protocol):
    """Decides how a kind becomes a sentence of a prompt: its parameters and its wording."""

    @property
    def phrasings(self) -> str:
        """The value of the prompt's tag `phrasing`."""

    def draw(self, kind: type[Constraint], rng: random.Random, query: Query) -> Constraint | None:
        """Draw a constraint of `kind` for `query`; None if no allowed one is found."""

    def say(self, constraint: Constraint, rng: random.Random) -> str:
        """Return the sentence that asks for `constraint`."""

    def ref(self, constraint: Constraint) -> ConstraintRef:
        """Return the form in which `constraint` is stored."""
        return constraint.ref()


class OwnWords(Manner):
    """Uses a kind's own draws and phrasings, as `core` does; the last phrasing is for held-out prompts."""

    def __init__(self, phrasings: Phrasings) -> None:
        self._phrasings = phrasings

    @property
    def phrasings(self) -> str:
        return self._phrasings

    def draw(self, kind: type[Constraint], rng: random.Random, query: Query) -> Constraint | None:
        return kind.draw(rng, words=query.words)

    def say(self, constraint: Constraint, rng: random.Random) -> str:
        last = len(constraint.phrasings) - 1
        return constraint.describe(last if self._phrasings == "held-out" else rng.randrange(last))


def say_in_turn(constraint: Constraint, choices: Sequence[str], uses: Counter[str], rng: random.Random) -> str:
    """Say a constraint in the wording that was used least so far, ties at random; `uses` counts them."""
    wording = min(choices, key=lambda choice: (uses[constraint.id + choice], rng.random()))
    uses[constraint.id + wording] += 1
    return wording.format(**constraint.wording())


DRAWS_PER_KIND = 4  # parameters may clash where others would not: the same kind gets a few chances

# A query may limit its answer in sentences or in words. These kinds set the same quantity, or a form that has another
# number of sentences, so with them the prompt would ask for two things that exclude each other.
CONTRADICTS: dict[str, frozenset[str]] = {
    "sentences": frozenset(
        (
            "copying:acrostic copying:first_is_last copying:initials copying:refrain counting:bullet_words "
            "counting:even_paragraphs counting:line_words counting:shrinking_sentences counting:three_lines "
            "data:csv data:json_array data:json_lines data:json_records data:key_values data:xml format:sections "
            "language:two_languages length:paragraphs length:sentences markdown:bold_leads markdown:checkboxes "
            "markdown:definitions markdown:heading_texts markdown:nested_bullets markdown:outline markdown:table "
            "markdown:table_header position:every_paragraph position:every_sentence position:first_and_last "
            "position:nth_paragraph position:only_last_sentence structure:bullets structure:labels "
            "structure:lines structure:numbered style:alternating_lines style:sentence_average "
            "style:varied_letters style:varied_starts"
        ).split()
    ),
    "words": frozenset(
        {"counting:multiple_of", "length:at_least", "length:at_most", "length:between", "length:characters"}
    ),
    "nothing": frozenset(),
}


def fits(query: Query, kind: type[Constraint]) -> bool:
    """Tell whether the query leaves open what `kind` asks for."""
    return kind.id not in CONTRADICTS[query.asks]


def compose(
    query: Query,
    rng: random.Random,
    *,
    kinds: Sequence[type[Constraint]],
    count: int,
    manner: Manner,
    id: str,  # noqa: A002 - the field's word
    slice: str,  # noqa: A002 - the tag's name
    source: str = "adhere",
) -> Prompt:
    """Make a Prompt: `query`, followed by one sentence for each of `count` drawn constraints.

    Args:
        query: What the prompt asks.
        rng: The source of parameters, of the order of the sentences and of training wordings.
        kinds: Kinds to draw from, in order of preference; an earlier one is skipped only if it does not fit.
        count: The number of constraints, all of different kinds and without conflicts.
        manner: How constraints are drawn and said.
        id: The prompt's id.
        slice: The slice that results are reported by.
        source: The name of what generated the prompt.

    Raises:
        AdhereError: No `count` of the kinds go together with this query.
    """
    fitting = [kind for kind in kinds if fits(query, kind)]
    chosen = _choose(_Drawing(query, rng, manner), fitting, count, [])
    if chosen is None:
        raise AdhereError(
            f"Cannot draw {count} constraint(s) for query {query.id!r}, which asks for an answer in {query.asks}. "
            "Tried, in every combination: "
            f"{', '.join(kind.id for kind in fitting) or 'nothing, because no kind was given that fits'}. "
            "Ask for fewer constraints a prompt, or offer kinds that do not conflict"
        )
    rng.shuffle(chosen)
    sentences = [manner.say(constraint, rng) for constraint in chosen]
    turn = Turn(" ".join([query.text, *sentences]), tuple(manner.ref(constraint) for constraint in chosen))
    tags = {
        "slice": slice,
        "topic": query.topic,
        "query": query.id,
        "families": ",".join(sorted({ref.id.partition(":")[0] for ref in turn.constraints})),
        "phrasing": manner.phrasings,
    }
    return Prompt(id=id, turns=(turn,), source=source, tags=tags)


class _Drawing(NamedTuple):
    """Holds what all draws of one prompt have in common."""

    query: Query
    rng: random.Random
    manner: Manner


def _choose(
    drawing: _Drawing, kinds: Sequence[type[Constraint]], count: int, chosen: list[Constraint]
) -> list[Constraint] | None:
    """Draw the first `count` kinds, in their order, that go together; None if no combination does."""
    if len(chosen) == count:
        return chosen
    for position, kind in enumerate(kinds):
        for constraint in _draws(drawing, kind, chosen):
            combination = _choose(drawing, kinds[position + 1 :], count, [*chosen, constraint])
            if combination is not None:
                return combination
    return None


def _draws(drawing: _Drawing, kind: type[Constraint], chosen: Sequence[Constraint]) -> Iterator[Constraint]:
    """Yield at most one constraint of `kind` that conflicts with none of `chosen`."""
    for _ in range(DRAWS_PER_KIND):
        constraint = drawing.manner.draw(kind, drawing.rng, drawing.query)
        if constraint is not None and not any(conflict(constraint, other) for other in chosen):
            yield constraint
            return
