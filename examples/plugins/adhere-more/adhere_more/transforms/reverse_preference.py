"""Turn constraints that the chosen answer breaks into their opposites.

Then it is perfect and the rejected one is not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import breaks, constraints, keeps, sentence_in, text_of, with_constraints, with_text
from adhere.constraints.base import Constraint, make


def opposite(one: Constraint) -> Constraint | None:
    """The constraint that an answer keeps exactly where it breaks this one, among those that have one."""
    params = one.ref().params
    if one.id in {"keywords:include", "keywords:forbid"} and len(params["words"]) == 1:  # type: ignore[arg-type]
        other = "keywords:forbid" if one.id == "keywords:include" else "keywords:include"
        return make(other, words=tuple(params["words"]))  # type: ignore[arg-type]
    if one.id == "length:at_least":
        return make("length:at_most", limit=int(params["least"]) - 1)  # type: ignore[arg-type]
    if one.id == "length:at_most":
        return make("length:at_least", least=int(params["limit"]) + 1)  # type: ignore[arg-type]
    if one.id == "punctuation:no_exclamation":
        return make("punctuation:exclamations", count=1)
    if one.id == "punctuation:exclamations" and params["count"] == 1:
        return make("punctuation:no_exclamation")
    return None


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    chosen, rejected, prompt = text_of(row["chosen"]), text_of(row["rejected"]), text_of(row["prompt"])
    new_constraints = []
    flips = 0
    for one in constraints(row):
        if not breaks(chosen, one):
            new_constraints.append(one)
            continue
        other = opposite(one)
        if other is None:
            raise UnfitRow(f"its chosen answer breaks {one.id}, which has no opposite")
        sentence = sentence_in(prompt, one)
        prompt = prompt.replace(sentence, other.describe(rng.randrange(len(other.phrasings) - 1)), 1)
        new_constraints.append(other)
        flips += 1
    if not flips:
        raise UnfitRow("its chosen answer breaks nothing")
    if not keeps(chosen, new_constraints):
        raise UnfitRow("its chosen answer does not keep the turned constraints")
    if all(not breaks(rejected, one) for one in new_constraints):
        raise UnfitRow("its rejected answer keeps the turned constraints, too")
    return with_constraints({**row, "prompt": with_text(row["prompt"], prompt)}, new_constraints)


TRANSFORM = Transform(
    "reverse_preference",
    1,
    "arXiv 2505.22172 (RPO)",
    ("pairs",),
    "Turns unmet constraints around, so that the chosen answer is perfect.",
    each(_change),
)
