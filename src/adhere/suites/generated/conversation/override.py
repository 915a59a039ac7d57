"""Set the text against what the model believes: a made-up world states facts, and answers must follow them."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.answer import Labelled
from adhere.suites.generated.diagnostic.items import CITIES, NAMES, WORDS
from adhere.suites.generated.family import Family, Item, Level, single

# Statement, question, what is true, and what is not.
_KNOWN = (
    ("the capital of France is {}", "What is the capital of France?", "Paris", CITIES),
    ("the capital of Japan is {}", "What is the capital of Japan?", "Tokyo",
        ("Oslo", "Lima", "Quito", "Turin", "Porto", "Riga")),
    ("the capital of Egypt is {}", "What is the capital of Egypt?", "Cairo",
        ("Oslo", "Lima", "Kyoto", "Perth", "Basel", "Ghent")),
    ("grass is {}", "Which colour does grass have?", "green", ("blue", "orange", "purple", "silver", "pink")),
    ("the sky at noon is {}", "Which colour is the sky at noon?", "blue", ("green", "red", "brown", "purple", "grey")),
    ("a week has {} days", "How many days does a week have?", "7", ("5", "6", "8", "9", "10", "12")),
    ("a spider has {} legs", "How many legs does a spider have?", "8", ("4", "6", "10", "12", "14")),
    ("water boils at {} degrees Celsius", "At how many degrees Celsius does water boil?", "100",
        ("40", "60", "130", "212", "250")),
    ("the largest planet is {}", "Which planet is the largest?", "Jupiter",
        ("Mars", "Venus", "Mercury", "Neptune", "Saturn")),
    ("bees make {}", "What do bees make?", "honey", ("butter", "soap", "ink", "cheese", "paper")),
    ("the month after March is {}", "Which month comes after March?", "April",
        ("June", "October", "January", "August")),
    ("cows give {}", "What do cows give?", "milk", ("juice", "wine", "oil", "tea", "cider")),
    ("ice is made of frozen {}", "What is ice made of?", "water", ("sand", "milk", "copper", "glass", "honey")),
    ("the author of Hamlet is {}", "Who is the author of Hamlet?", "Shakespeare", NAMES),
    ("a triangle has {} sides", "How many sides does a triangle have?", "3", ("2", "4", "5", "6", "9")),
    ("the fastest land animal is the {}", "Which land animal is the fastest?", "cheetah",
        ("turtle", "donkey", "camel", "rabbit")),
)  # fmt: skip

# What a person can own several of, and put on scales.
_OBJECTS = (
    "anchor", "apple", "banjo", "barrel", "basket", "blanket", "bottle", "bucket", "button", "candle", "carpet",
    "goblet", "guitar", "hammer", "helmet", "jacket", "jigsaw", "kettle", "ladder", "lantern", "lemon", "locket",
    "magnet", "mirror", "napkin", "needle", "onion", "paddle", "parrot", "pebble", "pencil", "pillow", "rabbit",
    "ribbon", "saddle", "shovel", "sponge", "umbrella", "violin",
)  # fmt: skip


def _draw_invented(rng: random.Random) -> tuple[str, str, str]:
    noun, name = rng.choice(_OBJECTS), rng.choice(NAMES)
    number = str(rng.randint(11, 99))
    return rng.choice(
        (
            (f"{name}'s {noun} weighs {number} kilograms", f"How many kilograms does {name}'s {noun} weigh?", number),
            (f"{name} owns {number} {noun}s", f"How many {noun}s does {name} own?", number),
        )
    )


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw three facts of a world, and a question about one of them."""
    places = rng.sample(WORDS, 2)
    world = f"the land of {places[0].capitalize()}{places[1]}"
    facts = []
    for statement, question, true, false in rng.sample(_KNOWN, 3):
        claim = rng.choice([value for value in false if value != true])
        facts.append((statement.format(claim), question, claim, statement.format(true)))
    invented_fact = _draw_invented(rng)
    at = rng.randrange(3)
    target = facts[at]
    truth = ""
    if level == 0:
        target = facts[at] = (*invented_fact, "")
    elif level == 2:
        truth = f" Visitors often say: in our world {target[3]}."
    elif level == 3:
        truth = f" An encyclopedia of our world states: {target[3]}. Everybody on Earth knows that."
    statements = "; ".join(fact[0] for fact in facts)
    text = (
        f"In {world} the following is true: {statements}.{truth}\n\n"
        f"Answer for {world}, from what is true there: {target[1]} "
        'Write one line, "Answer: " and the answer, as short as it can be.'
    )
    key = target[2].casefold()
    normaliser = "number" if key.isdigit() else "any case"
    return [single(text, (Labelled("Answer", key, normaliser),), f"Answer: {target[2]}")]


FAMILY = Family(
    name="override",
    answers="Does it answer from the given text where that contradicts what it believes?",
    paper="Nevermind, arXiv 2402.03303",
    levels=(
        Level("no belief", "the fact asked for is invented"),
        Level("against belief", "the fact contradicts common knowledge"),
        Level("belief mentioned", "common knowledge is mentioned as what visitors say"),
        Level("belief asserted", "common knowledge is asserted with authority, about another world"),
    ),
    draw=draw,
    groups=20,
    version="2",
    max_new_tokens=128,
)
