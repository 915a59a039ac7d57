"""Make conversations whose rules are added, changed and revoked.

The answer of every turn must keep the rules that hold at that turn.
"""

from __future__ import annotations

import random

from adhere.constraints.base import Constraint
from adhere.suites.generated import rules
from adhere.suites.generated.family import Family, Item, Level, SolvedTurn

_ADD = (
    "Good. From now on also keep this rule: {}",
    "One more rule, beside those that you have: {}",
    "Add this rule: {}",
)
_CHANGE = (
    "I changed my mind about one rule. Instead of “{}” this holds now: {}",
    "Please replace the rule “{}” by this one: {}",
)
_DROP = ("You may forget this rule: “{}” It no longer holds.", "The rule “{}” is revoked.")
_AGAIN = " Write your answer again, with all the rules that hold now."


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a conversation: two rules, then by level one added, one changed, one revoked, and a new request."""
    wording = rng.randrange(4)

    def say(rule: Constraint) -> str:
        return rule.describe(wording)

    drawn_rules = rules.draw_rules(rng, 4)
    active, waiting = drawn_rules[:2], drawn_rules[2:]
    first = rules.draw_request(rng)
    turns = [(f"{first} Keep these rules: {' '.join(map(say, active))}", list(active))]
    for move in ("add", "change", "revoke", "request")[: level + 1]:
        if move == "add":
            active = [*active, waiting[0]]
            text = rng.choice(_ADD).format(say(waiting[0])) + _AGAIN
        elif move == "change":
            new = rules.draw_shape(rng)
            while new == active[0]:
                new = rules.draw_shape(rng)
            text = rng.choice(_CHANGE).format(say(active[0]), say(new)) + _AGAIN
            active = [new, *active[1:]]
        elif move == "revoke":
            text = f"{rng.choice(_DROP).format(say(active[1]))} And one more rule: {say(waiting[1])}{_AGAIN}"
            active = [active[0], *active[2:], waiting[1]]
        else:
            text = (
                f"Now something else. {rules.draw_request(rng)} All the rules that held for your last answer "
                "hold for this one, too."
            )
        turns.append((text, list(active)))
    return [Item(tuple(SolvedTurn(text, [*active, rules.PROSE], rules.write(active)) for text, active in turns))]


FAMILY = Family(
    name="multi-turn",
    answers="Does it still keep earlier rules after rules were added, changed and revoked?",
    paper="Multi-IF, arXiv 2410.15553; MultiTurnInstruct, arXiv 2503.13222; MMMT-IF, arXiv 2409.18216",
    levels=(
        Level("2 turns", "a rule is added"),
        Level("3 turns", "then a rule is changed"),
        Level("4 turns", "then a rule is revoked and another one added"),
        Level("5 turns", "then another request comes, under the rules that are left"),
    ),
    draw=draw,
    groups=15,
    version="2",
)
