"""Make filler text of any length, with sentences put in at given depths.

Lengths are in tokens, counted as four characters each; a model's own tokenizer gives 10 to 30 % fewer for this text.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from adhere.suites.generated.diagnostic.items import CITIES, WORDS, with_article

CHARACTERS_PER_TOKEN = 4
_POOL = 600
_SENTENCES = (
    "The {a} beside the {b} in {c} was cleaned on Monday.",
    "Nobody in {c} remembers who painted the {a} above the {b}.",
    "In {c} {an_a} and {an_b} were shown at the fair.",
    "People from {c} like the {a}, but they like the {b} more.",
    "In spring the {a} is carried from the {b} to the hall of {c}.",
    "They sold the old {a} near {c} and kept the {b}.",
    "The guide to {c} mentions {an_a}, {an_b} and little else.",
    "After the rain the {b} of {c} looked like {an_a}.",
)


def haystack(rng: random.Random, tokens: int) -> list[str]:
    """Draw filler sentences of about `tokens` tokens together."""
    pool = [_draw_sentence(rng) for _ in range(_POOL)]
    mean = sum(map(len, pool)) / _POOL + 1
    return rng.choices(pool, k=max(1, round(tokens * CHARACTERS_PER_TOKEN / mean)))


def _draw_sentence(rng: random.Random) -> str:
    a, b = rng.sample(WORDS, 2)
    return rng.choice(_SENTENCES).format(a=a, b=b, an_a=with_article(a), an_b=with_article(b), c=rng.choice(CITIES))


def bury(hay: Sequence[str], needles: Mapping[str, float]) -> str:
    """Return the text with each needle at its depth, from 0 (the beginning) to 1 (the end)."""
    at: dict[int, list[str]] = {}
    for needle, depth in needles.items():
        at.setdefault(round(depth * len(hay)), []).append(needle)
    pieces: list[str] = []
    start = 0
    for place in sorted(at):
        pieces += hay[start:place]
        pieces += at[place]
        start = place
    pieces += hay[start:]
    return " ".join(pieces)
