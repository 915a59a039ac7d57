"""Define the parts of the diagnostic suite: a template, an item, and the words that items are drawn from."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal, NamedTuple

from adhere.constraints.kinds.held_out.exact import Exact

Category = Literal[
    "string-manipulation", "mathematical-operations", "data-processing", "format-conversion", "constraint-compliance"
]
Difficulty = Literal["easy", "typical", "hard"]


class Item(NamedTuple):
    """Holds one question and the constraint that judges its answer."""

    text: str
    answer: Exact


class Template(NamedTuple):
    """Describes one kind of question, from which any number of items are drawn.

    Attributes:
        id: The name; it never changes meaning.
        category: One of the five published categories.
        difficulty: Set by us beforehand, from the number of steps and of things to keep in mind; a property of the
            template.
        what: One line for the guide.
        draw: Draws an item. It has one right answer under the rules that its text states (or, for rule sets, one right
            verdict on every answer); nothing is computed with floats.
        copies: Whether the item's text holds the answer, because copying it is the task.
        version: Goes up when the items' wording changes; part of their ids from 2 on.
    """

    id: str
    category: Category
    difficulty: Difficulty
    what: str
    draw: Callable[[random.Random], Item]
    copies: bool = False
    version: int = 1


# Lowercase letters only, five to eight of them, each word once, and no word in another: no item depends on how such
# cases are read.
WORDS = (
    "anchor", "apple", "autumn", "badge", "banjo", "barrel", "basket", "beacon", "blanket", "bottle", "branch",
    "bridge", "bronze", "bucket", "button", "cabin", "camel", "candle", "canyon", "carpet", "castle", "cedar", "cherry",
    "circle", "cobalt", "copper", "coral", "cotton", "crystal", "dagger", "desert", "dolphin", "donkey", "dragon",
    "eagle", "ember", "engine", "fabric", "falcon", "feather", "fiddle", "flame", "forest", "fossil", "galaxy",
    "garden", "ginger", "glacier", "goblet", "granite", "guitar", "hammer", "harbor", "hazel", "helmet", "hollow",
    "honey", "iceberg", "island", "ivory", "jacket", "jasmine", "jigsaw", "jungle", "kettle", "kitten", "ladder",
    "lagoon", "lantern", "lemon", "lizard", "locket", "magnet", "maple", "marble", "meadow", "mirror", "monkey",
    "mosaic", "napkin", "needle", "nickel", "nutmeg", "ocean", "olive", "onion", "orchid", "oyster", "paddle",
    "panther", "parrot", "pebble", "pencil", "pepper", "pillow", "planet", "pocket", "puzzle", "quarry", "quartz",
    "rabbit", "raven", "ribbon", "rocket", "saddle", "salmon", "scarf", "shadow", "shovel", "silver", "spider",
    "sponge", "summit", "sunset", "table", "temple", "thunder", "tiger", "timber", "tunnel", "turtle", "tulip",
    "umbrella", "valley", "velvet", "violin", "walnut", "whistle", "willow", "window", "winter", "zebra",
)  # fmt: skip
NAMES = (
    "Ada", "Bela", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivan", "June", "Karl", "Lena", "Max", "Nina", "Otto",
    "Pia", "Quinn", "Rosa", "Sven", "Tara", "Uma", "Vera", "Walt", "Yara", "Zoe",
)  # fmt: skip
CITIES = (
    "Oslo", "Lima", "Quito", "Turin", "Accra", "Kyoto", "Perth", "Porto", "Riga", "Cairo", "Delhi", "Basel", "Dakar",
    "Sofia", "Izmir", "Leeds", "Milan", "Tunis", "Malmo", "Ghent",
)  # fmt: skip


def distinct_words(rng: random.Random, count: int) -> list[str]:
    """Draw `count` different words."""
    return rng.sample(WORDS, count)


def ordinal(number: int) -> str:
    """Return `"1st"`, `"2nd"`, `"3rd"`, `"4th"`; for 1 to 20."""
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def with_article(noun: str) -> str:
    """Return `"a ladder"` or `"an ocean"`; right for the words of this package."""
    return f"an {noun}" if noun[0] in "aeiou" or noun == "hour" else f"a {noun}"
