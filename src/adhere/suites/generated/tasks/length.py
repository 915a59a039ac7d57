"""Ask for a length: the same target with a smaller and smaller tolerance."""

from __future__ import annotations

import itertools
import random

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.trained.length import BetweenWords, Paragraphs
from adhere.suites.generated import rules
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single

_TOLERANCES = (20, 10, 5, 2)  # percent, either side


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a request with a number of words to reach, and sometimes a number of paragraphs."""
    request = rules.draw_request(rng)
    target = rng.choice((rng.randint(60, 100), rng.randint(101, 200), rng.randint(201, 400)))
    parts = rng.choice((1, 1, 2, 3, 4))
    tolerance = _TOLERANCES[level]
    room = target * tolerance // 100
    constraints: list[Constraint] = [BetweenWords(target - room, target + max(room, 1)), rules.PROSE]
    text = (
        f"{request} Your whole answer must have {target} words; up to {tolerance} % more or less is allowed, that is "
        f"{target - room} to {target + max(room, 1)} words."
    )
    if parts > 1:
        constraints.append(Paragraphs(parts))
        text += f" Write {parts} paragraphs, with a blank line between them."
    filler = " ".join(rules.write_sentences(rng.choices(WORDS, k=target // 2))).split()
    ends = [target * part // parts for part in range(parts + 1)]
    answer = "\n\n".join(" ".join(filler[start:end]) for start, end in itertools.pairwise(ends))
    return [single(text, constraints, answer, roles=("length", "prose", "paragraphs")[: len(constraints)])]


FAMILY = Family(
    name="length",
    answers="How exactly does it meet a length that it was told?",
    paper="Following Length Constraints, arXiv 2406.17744",
    levels=tuple(Level(f"within {share} %", f"the target may be missed by {share} %") for share in _TOLERANCES),
    draw=draw,
    groups=20,
    version="2",
    max_new_tokens=1024,
)
