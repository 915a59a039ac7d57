"""Ask for sums in stories, with rules for the form of the answer."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.answer import Once
from adhere.suites.generated import rules
from adhere.suites.generated.diagnostic.items import NAMES
from adhere.suites.generated.family import Family, Item, Level, single

_THINGS = ("marbles", "stamps", "apples", "coins", "shells", "books", "candles", "tickets", "buttons", "cards")


def _draw_event(rng: random.Random, count: int, goods: str) -> tuple[str, int]:
    """Draw an event that changes `count` things; return its words and the new count."""
    gain, loss = rng.randint(11, 98), rng.randint(2, max(3, count // 2))
    bags, per_bag = rng.randint(3, 9), rng.randint(4, 12)
    options = [
        (f"finds {gain} more {goods}", count + gain),
        (f"gives away {loss} {goods}", count - loss),
        (f"buys {bags} bags with {per_bag} {goods} each", count + bags * per_bag),
        (f"doubles the number of {goods} in a trade", 2 * count),
    ]
    divisors = [by for by in (3, 4, 5, 6) if count % by == 0]
    if divisors:
        by = rng.choice(divisors)
        options.append((f"splits the {goods} into {by} equal shares and keeps only one of them", count // by))
    return rng.choice([option for option in options if option[1] > 4])


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a story of two to five events, and one to four rules of form."""
    name, goods = rng.choice(NAMES), rng.choice(_THINGS)
    count = rng.randint(24, 120)
    story = [f"{name} has {count} {goods}."]
    for number in range(2 + level):
        event, count = _draw_event(rng, count, goods)
        story.append(f"{('Then', 'After that', 'Next', 'Later')[number % 4]} {name} {event}.")
    ask = f"How many {goods} does {name} have in the end?"
    form = rules.draw_rules(rng, 1 + level, beside=" ".join((*story, ask)))
    text = (
        f"{' '.join(story)} {ask}\n\n"
        'Explain your way, and write "Answer: " and the number on the last line, with nothing else on that line. '
        f"Your whole answer, that line included, must keep to this: {rules.say(form, rng)}"
    )
    constraints = (Once("Answer", str(count), "number", "last line"), *form)
    answer = rules.write(form, f"Answer: {count}")
    return [single(text, constraints, answer, roles=("right", *["as told"] * len(form)))]


FAMILY = Family(
    name="math",
    answers="Is it right and as told at once, where each alone is easy?",
    paper="MathIF, arXiv 2505.14810",
    levels=tuple(
        Level(f"{steps} steps", f"{steps} steps, {steps - 1} rule{'s' * (steps > 2)} of form") for steps in (2, 3, 4, 5)
    ),
    draw=draw,
    version="2",
    max_new_tokens=1024,
)
