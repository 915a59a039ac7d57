"""Put one request under the same rules in different system prompts: does a rule's wrapping matter?"""

from __future__ import annotations

import random

from adhere.suites.generated import rules
from adhere.suites.generated.diagnostic.items import CITIES, NAMES
from adhere.suites.generated.family import Family, Item, Level, single

_RULES = (1, 2, 4)


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw five system prompts that say the same rules; the user's request and rule are the same in all."""
    request, name, city = rules.draw_request(rng), rng.choice(NAMES), rng.choice(CITIES)
    drawn_rules = rules.draw_rules(rng, 6)
    own, system = drawn_rules[:1], drawn_rules[1 : 1 + _RULES[level]]
    text = f"{request} {rules.say(own, rng)}"  # said before the system's rules, so that every level says it alike
    orders = rules.say(system, rng)
    dresses = {
        "bare": f"This holds for every answer: {orders}",
        "role": (
            f"You are {name}, a librarian in {city} who helps every visitor. "
            f"As such you keep to this in every answer: {orders}"
        ),
        "style": (
            f"Write in a warm and friendly tone, as if to an old friend. Whatever you are asked, keep to this: {orders}"
        ),
        "company": (
            f"This assistant is part of the {city} Information Service. It serves the public from 9 a.m. to 5 p.m. "
            "It never gives legal advice, and it stays polite with every caller. "
            f"The service has agreed on the following for all its answers: {orders} Complaints go to the head office."
        ),
        "order": f"SYSTEM. Comply with the following without exception. {orders} END OF SYSTEM.",
    }
    constraints = (*own, rules.PROSE, *system)
    roles = ("user", "user", *["system"] * len(system))
    answer = rules.write(constraints)
    return [
        single(text, constraints, answer, roles=roles, system=dress, variant=variant)
        for variant, dress in dresses.items()
    ]


FAMILY = Family(
    name="system",
    answers="Does it keep the rules of a system prompt, however that prompt is dressed?",
    paper="RNR, arXiv 2409.13733; Qwen2.5, arXiv 2412.15115",
    levels=(
        Level("1 rule", "one rule in the system prompt, one from the user"),
        Level("2 rules", "two rules in the system prompt"),
        Level("4 rules", "four rules in the system prompt"),
    ),
    draw=draw,
    groups=8,
    version="2",
)
