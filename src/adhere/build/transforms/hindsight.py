"""Attach constraints that an existing answer already keeps.

The constraint is chosen after the answer, and the judge confirms that the answer keeps it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.dataset.prompts import fits_script
from adhere.build.dataset.queries import topic_words
from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import constraints, keeps, text_of, with_constraints, with_text
from adhere.constraints.base import Constraint, conflict
from adhere.suites.generated.core.deal import kinds_of


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    answer, row_constraints = text_of(row["completion"]), constraints(row)
    kinds = [kind for kind in kinds_of("train") if fits_script(kind, answer)]
    rng.shuffle(kinds)
    new_constraints: list[Constraint] = []
    for kind in kinds:
        if len(new_constraints) == options["count"]:
            break
        for _ in range(options["draws"]):
            drawn = kind.draw(rng, words=topic_words(answer))
            if keeps(answer, [drawn]) and not any(conflict(drawn, c) for c in [*row_constraints, *new_constraints]):
                new_constraints.append(drawn)
                break
    if not new_constraints:
        raise UnfitRow("its answer keeps none of the constraints that were drawn")
    sentences = [c.describe(rng.randrange(len(c.phrasings) - 1)) for c in new_constraints]
    prompt = with_text(row["prompt"], " ".join([text_of(row["prompt"]), *sentences]))
    new_row = with_constraints({**row, "prompt": prompt}, [*row_constraints, *new_constraints])
    if not keeps(answer, [*row_constraints, *new_constraints]):
        raise UnfitRow("its answer did not keep its constraints in the first place")
    return new_row


TRANSFORM = Transform(
    "hindsight",
    2,
    "arXiv 2410.24175 (constraint back-translation)",
    ("sft",),
    "Attaches constraints that the answer keeps already.",
    each(_change),
    {"count": 2, "draws": 3},
)
