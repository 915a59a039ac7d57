"""Give the same rules in different orders, on which an answer that keeps them does not depend."""

from __future__ import annotations

import random

from adhere.suites.generated import rules
from adhere.suites.generated.family import Family, Item, Level, single

_RULES = (3, 5, 8)
# From easy to hard, by what share of models keeps them in the study of order; kinds that stand in no list come in the
# middle.
_EASY_FIRST = (
    "punctuation:no_exclamation", "keywords:include", "language:ascii", "keywords:forbid", "punctuation:no_commas",
    "length:at_most", "case:lower", "case:upper", "startend:end_phrase", "structure:bullets", "structure:numbered",
    "structure:lines", "length:at_least", "letters:avoid", "keywords:exactly",
)  # fmt: skip


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw rules in three orders: from easy to hard, from hard to easy, and shuffled."""
    request = rules.draw_request(rng)
    wording = rng.randrange(4)
    drawn_rules = rules.draw_rules(rng, 9)[: _RULES[level]]
    easy_first = sorted(drawn_rules, key=lambda rule: _EASY_FIRST.index(rule.id))
    shuffled = list(drawn_rules)
    while shuffled in (easy_first, easy_first[::-1]):
        rng.shuffle(shuffled)
    answer = rules.write(drawn_rules)
    items = []
    for variant, order in (("easy first", easy_first), ("hard first", easy_first[::-1]), ("shuffled", shuffled)):
        rule_text = " ".join(f"({at}) {rule.describe(wording)}" for at, rule in enumerate(order, start=1))
        items.append(
            single(f"{request} Keep all of these rules: {rule_text}", [*order, rules.PROSE], answer, variant=variant)
        )
    return items


FAMILY = Family(
    name="order",
    answers="Does the order of the same rules change whether they are kept?",
    paper="Order Matters (PBIF), arXiv 2502.17204",
    levels=(
        Level("3 rules", "three rules, in three orders"),
        Level("5 rules", "five rules"),
        Level("8 rules", "eight rules"),
    ),
    draw=draw,
    groups=12,
    version="2",
)
