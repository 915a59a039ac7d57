"""Move rules from the user's turn into a system turn with a role."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import answers_as_messages, constraints, messages, sentence_in, without

ROLES = (
    "a patient teacher", "a careful editor", "a friendly neighbour", "an assistant in a library",
    "a guide for travellers", "a calm doctor's helper",
)  # fmt: skip


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    user_turns = messages(row["prompt"])
    row_constraints = constraints(row)
    if len(user_turns) != 1:
        raise UnfitRow("it has a system turn or several turns already")
    if not row_constraints:
        raise UnfitRow("it has no constraints")
    prompt = user_turns[0]["content"]
    rules = []
    for constraint in row_constraints:
        sentence = sentence_in(prompt, constraint)
        rules.append(sentence)
        prompt = without(prompt, sentence)
    system = "\n".join(
        [f"You are {rng.choice(ROLES)}. Keep to these rules in every answer:", *(f"- {rule}" for rule in rules)]
    )
    turns = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    return {**row, "prompt": turns, **answers_as_messages(row)}


TRANSFORM = Transform(
    "role_rules",
    1,
    "arXiv 2409.13733 (RNR)",
    ("sft", "pairs", "rl"),
    "Moves the rules into a system turn with a role.",
    each(_change),
)
