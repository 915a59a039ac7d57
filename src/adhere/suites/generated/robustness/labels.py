"""Set labels against their meaning: the same sentences, with natural, arbitrary and flipped label words."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.exact import Lines
from adhere.suites.generated.diagnostic.items import with_article
from adhere.suites.generated.family import Family, Item, Level, single

_THINGS = (
    "soup", "hotel", "concert", "film", "novel", "train ride", "museum", "bakery", "lecture", "garden", "phone",
    "jacket", "cake", "service", "beach", "match", "song", "salad", "guide", "chair",
)  # fmt: skip
_GOOD = ("wonderful", "excellent", "delightful", "superb", "lovely", "fantastic", "charming", "perfect", "outstanding")
_BAD = ("awful", "terrible", "dreadful", "horrible", "disgusting", "miserable", "disappointing", "lousy", "unbearable")
_FRAMES = (
    "The {} was {}.",
    "I found the {} {}.",
    "Everybody said that the {} was {}.",
    "What {2} {0} that was!",
    "We remember the {} as {}.",
)
_NONSENSE = ("blick", "dax", "fep", "gorp", "kiv", "wug", "zorb", "tulver", "moxen", "prail")
COUNT = 6


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw six sentences to classify; the level decides what the two labels are called."""
    are_good = [True, True, True, False, False, False]
    rng.shuffle(are_good)
    subjects = rng.sample(_THINGS, COUNT)
    sentences = []
    for subject, is_good in zip(subjects, are_good, strict=True):
        word = rng.choice(_GOOD if is_good else _BAD)
        sentences.append(rng.choice(_FRAMES).format(subject, word, with_article(word)))
    nonsense = rng.sample(_NONSENSE, 2)
    labels = (
        ("positive", "negative"),
        rng.choice((("A", "B"), ("B", "A"), ("1", "2"), ("2", "1"), ("IV", "IX"))),
        tuple(nonsense),
        ("negative", "positive"),
    )[level]
    good, bad = labels
    listing = "\n".join(f"{at}. {sentence}" for at, sentence in enumerate(sentences, start=1))
    text = (
        f"Label each sentence. If it praises what it is about, its label is {good}. If it complains, "
        f"its label is {bad}. Use the labels exactly so, even if they seem odd.\n\n{listing}\n\n"
        f"Write the {COUNT} labels in the order of the sentences, separated by commas, on one line, and nothing else."
    )
    expected = ", ".join(good if is_good else bad for is_good in are_good)
    return [single(text, (Lines(expected, "items"),), expected)]


FAMILY = Family(
    name="labels",
    answers="Does it use labels as they were defined, also against what the words mean?",
    paper="Verbalizer Manipulation, arXiv 2307.10558",
    levels=(
        Level("natural", "positive means praise"),
        Level("renamed", "letters or numerals stand for the two"),
        Level("nonsense", "invented words stand for the two"),
        Level("flipped", "negative means praise, and positive means complaint"),
    ),
    draw=draw,
    groups=20,
    version="2",
    max_new_tokens=64,
)
