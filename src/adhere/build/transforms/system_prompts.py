"""Put rows under many different system prompts, so that a model keeps to its task under any of them.

A system prompt is composed of a role, a place, a manner and a form, some 2,800 in all. No system prompt asks for a
form, a length or a language, so the row's answer still keeps its constraints. Source: the Qwen2.5 report's "robust
system instruction" (arXiv 2412.15115, section 4.1), which builds hundreds of general system prompts and has
conversations stay consistent under them; it does not print them, so these are ours.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.role_rules import ROLES
from adhere.build.transforms.rows import answers_as_messages, messages

PLACES = (
    "for the readers of a local paper", "in a small museum", "at the help desk of a railway", "for a travel company",
    "in a school for adults", "for a publisher of textbooks", "in a community centre",
    "for the customers of a hardware shop",
)  # fmt: skip
MANNERS = (
    "You take every request seriously.", "You stay polite, whoever asks.", "You are glad to help and never in a hurry.",
    "You explain what you know and say so when you do not know.", "You treat everybody alike.",
    "You are known for your patience.", "You do what you are asked, as it was asked.",
    "You keep what people tell you to yourself.", "You have done this for many years.",
    "You like questions of any kind.",
)  # fmt: skip
FORMS = (
    "You are {role} {place}. {manner}",
    "This assistant is {role} {place}. {manner} It has no access to other systems.",
    "SYSTEM: act as {role} {place}. {manner}",
    "{manner} People come to you because you are {role} {place}.",
    "# Role\n{role} {place}\n\n# Manner\n{manner}",
    (
        "The following conversation is between a person and {role} {place}. "
        "{manner} Complaints go to the head office, which is open from 9 a.m. to 5 p.m."
    ),
)


def draw_system(rng: random.Random) -> str:
    """Draw a system prompt."""
    parts = {"role": rng.choice(ROLES), "place": rng.choice(PLACES), "manner": rng.choice(MANNERS)}
    return rng.choice(FORMS).format(**parts)


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> list[Row]:
    turns = messages(row["prompt"])
    if turns[0]["role"] == "system":
        raise UnfitRow("it has a system turn already")
    new_rows = [] if rng.random() >= options["plain"] else [row]
    systems: set[str] = set()
    while len(systems) < options["count"]:
        systems.add(draw_system(rng))
    answers = answers_as_messages(row)
    new_rows += [
        {**row, **answers, "prompt": [{"role": "system", "content": system}, *turns]} for system in sorted(systems)
    ]
    return new_rows


TRANSFORM = Transform(
    "system_prompts",
    1,
    "arXiv 2412.15115, section 4.1",
    ("sft", "pairs", "rl"),
    "Puts each row under varied system prompts; a share `plain` also stays as it is.",
    each(_change),
    {"count": 1, "plain": 0.2},
)
