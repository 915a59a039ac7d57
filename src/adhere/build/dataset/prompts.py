"""A query with 1 to 6 constraints that go together, a system turn, and further turns that each add one."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from adhere.build.dataset.queries import UserQuery, has_capitals
from adhere.build.dataset.spec import DataSpec
from adhere.constraints import Constraint, conflict
from adhere.schema import Prompt, Turn, derive_seed
from adhere.suites.generated.core.compose import CONTRADICTS, DRAWS_PER_KIND
from adhere.text.scripts import ends_sentences, writes_words

# They speak of letters or of capitals, which many scripts do not have: the report leaves such items out of other
# languages. Kinds whose wordings speak of words or sentences are left out where these cannot be counted.
LANGUAGE_BOUND = frozenset({"case", "letters", "language"})
_WORDS, _SENTENCES = re.compile(r"words?\b", re.IGNORECASE), re.compile(r"sentences?\b", re.IGNORECASE)
ATTEMPTS = 12  # for each prompt: other draws of one query four times, then of the next query
FOLLOW_UP = (
    "Please change your last answer: {sentence} Everything that I asked for before still holds.",
    "One more thing. {sentence} Keep to all of my earlier requests as well.",
    "Now answer once more, and this time also do this: {sentence} My earlier rules stay in force.",
)


class Kind(Protocol):
    """A source of constraints: one of our kinds, or one model-written check."""

    @property
    def id(self) -> str:
        """The name under which uses are counted; kinds are used equally often."""

    def family(self) -> str:
        """Return the part of a kind's id before the colon."""

    def draw(self, rng: random.Random, *, words: Sequence[str]) -> Constraint:
        """Draw a constraint for a query with these topic words."""


def make_prompts(spec: DataSpec, queries: Sequence[UserQuery], kinds: Sequence[Kind]) -> tuple[list[Prompt], list[str]]:
    """Make at most `[queries] count` prompts; return them and the ids of queries with which none could be made.

    Kinds and numbers of constraints are dealt in turn. The same spec, queries and kinds give the same prompts.
    """
    uses: Counter[str] = Counter()
    prompts: list[Prompt] = []
    hopeless: dict[str, None] = {}
    texts: set[str] = set()
    for number in range(spec.queries.count):
        for attempt in range(ATTEMPTS):
            query = queries[(number + attempt // 4) % len(queries)]
            rng = random.Random(derive_seed(spec.seed, "prompt", number, query.id, attempt))
            fitting = [kind for kind in kinds if _fits(kind, query, language_bound=spec.constraints.language_bound)]
            ranked_kinds = sorted(fitting, key=lambda kind: (uses[kind.id], rng.random()))
            prompt, kind_ids = _make_prompt(spec, query, ranked_kinds, rng, number) or (None, [])
            if prompt is not None and prompt.text not in texts:
                texts.add(prompt.text)
                uses.update(kind_ids)
                prompts.append(prompt)
                break
            hopeless[query.id] = None
    return prompts, list(hopeless)


def _make_prompt(
    spec: DataSpec, query: UserQuery, ranked_kinds: Sequence[Kind], rng: random.Random, number: int
) -> tuple[Prompt, list[str]] | None:
    """Make a prompt and return it with the ids of its kinds; None if too few constraints go together."""
    numbers = range(spec.constraints.fewest, spec.constraints.most + 1)
    n_turns = spec.prompts.turns
    count = numbers[number % len(numbers)] + n_turns - 1
    chosen: list[Constraint] = []
    kind_ids: list[str] = []
    for kind in ranked_kinds:
        if len(chosen) == count:
            break
        for _ in range(DRAWS_PER_KIND):
            candidate = kind.draw(rng, words=query.words)
            if not any(conflict(candidate, other) for other in chosen):
                chosen.append(candidate)
                kind_ids.append(kind.id)
                break
    if len(chosen) < spec.constraints.fewest + n_turns - 1:
        return None
    first = chosen[: len(chosen) - n_turns + 1]
    rng.shuffle(first)
    sentences = [_say(constraint, rng) for constraint in first]
    turns = [Turn(" ".join([query.text, *sentences]), tuple(constraint.ref() for constraint in first))]
    for constraint in chosen[len(first) :]:
        text = rng.choice(FOLLOW_UP).format(sentence=_say(constraint, rng))
        turns.append(Turn(text, (*turns[-1].constraints, constraint.ref())))
    has_system = bool(spec.prompts.system) and rng.random() < spec.prompts.system_share
    tags = {"query": query.id, "families": ",".join(sorted({constraint.family() for constraint in chosen}))}
    prompt = Prompt(
        id=f"{spec.name}-s{spec.seed}-{number + 1:05d}",
        turns=tuple(turns),
        system=rng.choice(spec.prompts.system) if has_system else None,
        source=spec.name,
        tags=tags,
    )
    return prompt, kind_ids


def _say(constraint: Constraint, rng: random.Random) -> str:
    """Return a constraint's sentence in a wording of training; the last wording is kept for held-out prompts."""
    return constraint.describe(rng.randrange(len(constraint.phrasings) - 1))


def _fits(kind: Kind, query: UserQuery, *, language_bound: bool) -> bool:
    if query.asks is not None and kind.id in CONTRADICTS[query.asks]:
        return False
    return language_bound or fits_script(kind, query.text)


def fits_script(kind: Kind, text: str) -> bool:
    """Tell whether a kind's request makes sense in the script of a text (capitals, words, sentences)."""
    if kind.family() in LANGUAGE_BOUND and not has_capitals(text):
        return False
    wordings = " ".join((kind.id, *getattr(kind, "phrasings", ())))
    if _WORDS.search(wordings) and not writes_words(text):
        return False
    return _SENTENCES.search(wordings) is None or ends_sentences(text)
