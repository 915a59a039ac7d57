"""Ask for string rewriting: apply replacement rules until none applies, and give the remaining string.

The rules are a Markov algorithm (first rule that applies, leftmost place). More different rules make the instruction
more diverse, which is what the paper varies. Higher levels have more rules and more steps.
"""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.answer import Labelled
from adhere.suites.generated.family import Family, Item, Level, single

_LETTERS = "abcdef"
_STEPS = ((2, 2, 4), (3, 4, 8), (4, 7, 14), (5, 10, 24))  # rules, fewest and most steps
_MOST = 40


def rewrite(text: str, rules: list[tuple[str, str]]) -> tuple[str, int]:
    """Apply rules until none applies; return the text and the number of steps (_MOST + 1: given up)."""
    for step in range(_MOST + 1):
        rule = next((rule for rule in rules if rule[0] in text), None)
        if rule is None:
            return text, step
        text = text.replace(rule[0], rule[1], 1)
    return text, _MOST + 1


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw one item: rewriting rules, applied to a string until none applies.

    Strings and rules are drawn anew until that takes the number of steps that the level allows (`_STEPS`) and leaves at
    least three characters.
    """
    count, fewest, most = _STEPS[level]
    while True:
        rules = []
        for left in rng.sample([a + b for a in _LETTERS for b in _LETTERS], count):
            shorter = rng.random() < 0.4
            rules.append((left, rng.choice(_LETTERS) if shorter else left[1] + left[0] if left[0] != left[1] else "a"))
        start = "".join(rng.choice(_LETTERS) for _ in range(8 + 2 * level))
        result, steps = rewrite(start, rules)
        if fewest <= steps <= most and len(result) > 2:
            break
    rule_list = "\n".join(f"{at}. Replace {left} by {right}." for at, (left, right) in enumerate(rules, start=1))
    text = (
        f"Start with this string: {start}\n\nApply these rules:\n{rule_list}\n\n"
        "In each step, take the first rule of the list whose left side occurs in the string, "
        "and replace its leftmost occurrence, once. Then start again with the first rule. "
        "Stop when no left side occurs any more.\n\n"
        'Write the string that is left on the last line, as "Result: " and the string.'
    )
    return [single(text, (Labelled("Result", result, "text"),), f"Result: {result}", tags={"steps": str(steps)})]


FAMILY = Family(
    name="rewrite",
    answers="Does it carry out a new procedure step by step, by rules it has never seen?",
    paper="Instruction Diversity, arXiv 2402.10891; From Symbolic Tasks, arXiv 2405.19787",
    levels=(
        Level("2 rules", "two rules, two to four steps"),
        Level("3 rules", "three rules, four to eight steps"),
        Level("4 rules", "four rules, seven to fourteen steps"),
        Level("5 rules", "five rules, ten to 24 steps"),
    ),
    draw=draw,
)
