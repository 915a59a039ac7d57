"""Ask for functions: hidden calls in the sandbox check the result, and the syntax tree checks the form."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from adhere.constraints.kinds.held_out.code import FORMS, Form, Passes
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single

Step = tuple[str, str, Callable[[list[int]], list[int]]]  # in words, as an expression over `x`, as a function


def _draw_steps(rng: random.Random) -> list[Step]:
    k, m, n = rng.randint(2, 9), rng.randint(2, 5), rng.randint(2, 4)
    return [
        (f"keep only the numbers greater than {k}", f"[n for n in x if n > {k}]", lambda x: [n for n in x if n > k]),
        ("keep only the even numbers", "[n for n in x if n % 2 == 0]", lambda x: [n for n in x if n % 2 == 0]),
        ("keep only the odd numbers", "[n for n in x if n % 2 == 1]", lambda x: [n for n in x if n % 2 == 1]),
        (f"multiply each number by {m}", f"[n * {m} for n in x]", lambda x: [n * m for n in x]),
        (f"subtract {k} from each number", f"[n - {k} for n in x]", lambda x: [n - k for n in x]),
        ("replace each number by its square", "[n * n for n in x]", lambda x: [n * n for n in x]),
        ("sort the numbers, largest first", "sorted(x, reverse=True)", lambda x: sorted(x, reverse=True)),
        ("reverse the order of the numbers", "x[::-1]", lambda x: x[::-1]),
        (f"drop the first {n} numbers (all of them, if there are fewer)", f"x[{n}:]", lambda x: x[n:]),
        (
            "remove repeated numbers and keep the first of each",
            "list(dict.fromkeys(x))",
            lambda x: list(dict.fromkeys(x)),
        ),
    ]


_MOST_STEPS = 5


def _run(steps: Sequence[Step], numbers: list[int]) -> list[int]:
    """Apply the steps to a list, one after the other."""
    value = list(numbers)
    for step in steps:
        value = step[2](value)
    return value


def _every_step_matters(steps: Sequence[Step], inputs: list[list[int]]) -> bool:
    """Tell whether leaving out any one step changes a result, and at least three results differ."""
    outputs = [_run(steps, numbers) for numbers in inputs]
    shorter = ([*steps[:at], *steps[at + 1 :]] for at in range(len(steps)))
    return len({tuple(value) for value in outputs}) >= 3 and all(
        [_run(fewer, numbers) for numbers in inputs] != outputs for fewer in shorter
    )


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a function of two to five steps on a list of numbers, and one or two rules about its form."""
    name = "_".join(rng.sample(WORDS, 2))
    inputs = [[], [7], *([rng.randint(0, 30) for _ in range(rng.randint(5, 9))] for _ in range(5))]
    while True:  # until no step can be left out at any level, and no constant is right
        steps = rng.sample(_draw_steps(rng), _MOST_STEPS)
        if all(_every_step_matters(steps[:count], inputs) for count in range(2, _MOST_STEPS + 1)):
            break
    steps = steps[: 2 + level]
    cases = [[[numbers], _run(steps, numbers)] for numbers in inputs]
    forms = rng.sample(sorted(FORMS), 1 + (level > 1))
    step_list = "\n".join(f"{at}. {step[0]}" for at, step in enumerate(steps, start=1))
    checks = [Form(name, form) for form in forms]
    text = (
        f"Write a Python function `{name}(numbers)` that takes a list of whole numbers, none below 0, "
        f"and returns a list. It does these steps, each with the result of the step before:\n{step_list}\n\n"
        f"{' '.join(check.describe(rng.randrange(4)) for check in checks)}\n\nGive the code in one fenced Python block."
    )
    body = "\n".join(f"    x = {step[1]}" for step in steps)
    head = f'def {name}(numbers: list[int]) -> list[int]:\n    """Work on numbers."""\n    x = list(numbers)\n'
    answer = f"```python\n{head}{body}\n    return x\n```"
    constraints = (Passes(name, json.dumps(cases)), *checks)
    return [single(text, constraints, answer, roles=("right", *["as told"] * len(checks)))]


FAMILY = Family(
    name="code",
    answers="Does its code do what was asked, and in the way that was asked?",
    paper="IFEvalCode, arXiv 2507.22462",
    levels=tuple(
        Level(f"{steps} steps", f"a function of {steps} steps, {'one rule' if steps < 4 else 'two rules'} of form")
        for steps in (2, 3, 4, 5)
    ),
    draw=draw,
    groups=10,
    version="2",
    max_new_tokens=512,
)
