"""Ask for more and more at once: a text that must use 1 to 500 given words.

Each word is a constraint of its own, so the instruction-level rate of a level is IFScale's accuracy. The measures
separate missing words (omissions) from words in another form (distortions).
"""

from __future__ import annotations

import random

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.trained.keywords import Forbid, Include
from adhere.schema import ConstraintRef
from adhere.suites.generated import rules
from adhere.suites.generated.family import Family, Item, Level, single
from adhere.suites.generated.robustness.vocabulary import VOCABULARY

_COUNTS = (1, 10, 25, 50, 100, 250, 500)
# Who copies the request uses every word; this one stands in the request and must not stand in the answer.
_NEVER = "keyword"
_REFS = {word: Include((word,)).ref() for word in VOCABULARY}


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a list of words to use; a level has the words of the level before, and more."""
    request = rules.draw_request(rng)
    words = rng.sample(VOCABULARY, _COUNTS[-1])[: _COUNTS[level]]
    plural, pronoun = ("s", "each of them") if len(words) > 1 else ("", "it")
    # The list stands before the ban, so that no sentence of the request can be copied as an answer.
    text = (
        f"{request} Here is a list of {len(words)} keyword{plural}: {', '.join(words)}. Use {pronoun} at least once, "
        f"exactly as it is written here. Do not write the word “{_NEVER}” itself."
    )
    constraints: list[Constraint | ConstraintRef] = [_REFS[word] for word in words]
    constraints += [Forbid((_NEVER,)), rules.PROSE]
    answer = " ".join(rules.write_sentences(words))
    return [single(text, constraints, answer, roles=(*["word"] * len(words), "form", "form"))]


FAMILY = Family(
    name="density",
    answers="How many instructions can it keep at once before it starts to lose them?",
    paper="IFScale, arXiv 2507.11538",
    levels=tuple(Level(f"{count} word{'s' * (count > 1)}", f"{count} words to use") for count in _COUNTS),
    draw=draw,
    groups=5,
    version="2",
    profile_levels=4,
    max_new_tokens=4096,
)
