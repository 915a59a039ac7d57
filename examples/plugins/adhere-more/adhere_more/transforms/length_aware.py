"""Ask for a length that the chosen answer has and the rejected one has not."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import breaks, constraints, keeps, text_of, with_constraints, with_text
from adhere.constraints.base import conflict, make
from adhere.text.scripts import writes_words
from adhere.text.words import count_words


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    chosen, rejected = text_of(row["chosen"]), text_of(row["rejected"])
    if not writes_words(chosen) or not writes_words(rejected):
        raise UnfitRow("words cannot be counted in its answers' script")
    chosen_words, rejected_words = count_words(chosen), count_words(rejected)
    if chosen_words == rejected_words:
        raise UnfitRow("both answers have the same number of words")
    middle = rng.randint(
        min(chosen_words, rejected_words), max(chosen_words, rejected_words) - 1
    )  # from `middle` + 1 words on it is the longer one
    one = (
        make("length:at_most", limit=middle)
        if chosen_words < rejected_words
        else make("length:at_least", least=middle + 1)
    )
    row_constraints = constraints(row)
    if any(conflict(one, constraint) for constraint in row_constraints):
        raise UnfitRow(
            f"a limit on its length conflicts with {', '.join(constraint.id for constraint in row_constraints)}"
        )
    if not keeps(chosen, [*row_constraints, one]) or not breaks(rejected, one):
        raise UnfitRow("its chosen answer does not keep all constraints")
    text = f"{text_of(row['prompt'])} {one.describe(rng.randrange(len(one.phrasings) - 1))}"
    return with_constraints({**row, "prompt": with_text(row["prompt"], text)}, [*row_constraints, one])


TRANSFORM = Transform(
    "length_aware",
    2,
    "arXiv 2406.17744 (length constraints)",
    ("pairs",),
    "Asks for a length that only the chosen answer has.",
    each(_change),
)
