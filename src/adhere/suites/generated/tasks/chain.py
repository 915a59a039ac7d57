"""Ask for several steps in one request, either independent or each on the result of the step before.

Each step has its own line and its own verdict, so that results say how far an answer got. If steps depend on each
other, a right line after a wrong one is luck. So the dependency-aware score counts steps up to the first that fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from adhere.constraints.kinds.held_out.answer import Once
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single

_STEPS = (2, 3, 5, 8)
Operation = tuple[str, Callable[[list[str]], list[str]]]


def _operations(rng: random.Random, current: list[str], spare: list[str]) -> list[Operation]:
    """Return the operations that change the list `current` and leave at least three words."""
    new, old = spare[0], rng.choice(current)
    last = current[-1]
    operations: list[Operation] = [
        ("reverse the order of the words", lambda words: words[::-1]),
        ("sort the words in alphabetical order", sorted),
        (f'add the word "{new}" at the end', lambda words: [*words, new]),
        (f'add the word "{new}" at the beginning', lambda words: [new, *words]),
        (f'replace the word "{old}" by "{new}"', lambda words: [new if word == old else word for word in words]),
        ("swap the first and the last word", lambda words: [words[-1], *words[1:-1], words[0]]),
        ("move the last word to the beginning", lambda words: [last, *words[:-1]]),
    ]
    if len(current) > 3:
        operations += [
            ("remove the first word", lambda words: words[1:]),
            ("remove the last word", lambda words: words[:-1]),
            (f'remove the word "{old}"', lambda words: [word for word in words if word != old]),
        ]
    return [operation for operation in operations if operation[1](current) != current]


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a list of words and, by level, a number of steps, once dependent and once independent."""
    words = rng.sample(WORDS, 40)
    start, spare = words[:5], words[5:]
    items = []
    for variant in ("dependent", "independent"):
        current, step_texts, results = list(start), [], [start]
        for number in range(1, _STEPS[level] + 1):
            # No step is asked for twice, and none gives a list that was there before: copying an earlier line is never
            # right.
            step_text, result = rng.choice(
                [
                    (step_text, do(current))
                    for step_text, do in _operations(rng, current, spare[number * 3 :])
                    if step_text not in step_texts and do(current) not in results
                ]
            )
            step_texts.append(step_text)
            results.append(result)
            if variant == "dependent":
                current = result
        how = (
            "Do these steps one after the other, each with the list that the step before gave."
            if variant == "dependent"
            else "Do each of these steps with the list above; no step changes it for the others."
        )
        listings = [", ".join(result) for result in results[1:]]
        text = (
            f"Here is a list of words: {', '.join(start)}.\n{how}\n"
            + "".join(f"Step {at}: {step_text}.\n" for at, step_text in enumerate(step_texts, start=1))
            + (
                'Write one line for each step: "Step 1: " and the list that the step gives, '
                "its words separated by commas, and so on."
            )
        )
        constraints = [Once(f"Step {at}", result, "items", "any line") for at, result in enumerate(listings, start=1)]
        answer = "\n".join(f"Step {at}: {result}" for at, result in enumerate(listings, start=1))
        tags = {"dependent": "yes"} if variant == "dependent" else {}
        items.append(single(text, constraints, answer, variant=variant, tags=tags))
    return items


FAMILY = Family(
    name="chain",
    answers="How many steps of one request does it carry out, and does it use the result of the step before?",
    paper="Sequential Instructions, arXiv 2403.07794; Chain-of-Instructions, arXiv 2402.11532",
    levels=tuple(Level(f"{count} steps", f"{count} steps in one request") for count in _STEPS),
    draw=draw,
    groups=8,
    version="2",
)
