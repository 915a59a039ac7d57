"""Give instructions that are programs: conditions and loops in words, whose result a function computes.

Besides the result, the answer says how often a branch was taken, which shows whether the steps were followed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from adhere.constraints.kinds.held_out.answer import Labelled
from adhere.suites.generated.family import Family, Item, Level, single

_SIZES = (3, 5, 7, 9)  # numbers in the list
Test = tuple[str, Callable[[int, int], bool]]  # in words, and for a number and the bound
Act = tuple[str, Callable[[int, int], int]]  # in words, and for the total and a number
_TESTS: tuple[Test, ...] = (
    ("is even", lambda n, _: n % 2 == 0),
    ("is odd", lambda n, _: n % 2 == 1),
    ("is greater than {k}", lambda n, k: n > k),
    ("is less than {k}", lambda n, k: n < k),
    ("is divisible by 3", lambda n, _: n % 3 == 0),
)
_ACTS: tuple[Act, ...] = (
    ("add it to the total", lambda total, n: total + n),
    ("subtract it from the total", lambda total, n: total - n),
    ("add twice the number to the total", lambda total, n: total + 2 * n),
    ("add 1 to the total", lambda total, _: total + 1),
    ("subtract 2 from the total", lambda total, _: total - 2),
)


class _Program(NamedTuple):
    """Holds the program that is run on each number; only longer programs have a second test."""

    tests: list[Test]
    acts: list[Act]
    bound: int

    def branch(self, number: int) -> int:
        """Return the index of the act for a number; the last one if no test holds."""
        return next((at for at, test in enumerate(self.tests) if test[1](number, self.bound)), len(self.tests))


def _draw_program(rng: random.Random, numbers: list[int], count: int) -> _Program:
    """Draw a program of `count` tests in which some number takes every branch."""
    while True:
        program = _Program(rng.sample(_TESTS, count), rng.sample(_ACTS, count + 1), rng.randint(10, 20))
        if {program.branch(number) for number in numbers} == set(range(count + 1)):
            return program


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a loop over numbers with one or two conditions, and a last condition on the total."""
    count = 1 if level < 2 else 2
    numbers = [rng.randint(1, 30) for _ in range(_SIZES[level])]
    tests, acts, bound = program = _draw_program(rng, numbers, count)
    start, final, more = rng.randint(5, 50), rng.randint(0, 60), rng.randint(3, 20)
    total = start
    for number in numbers:
        total = acts[program.branch(number)][1](total, number)
    first_count = sum(program.branch(number) == 0 for number in numbers)
    total = total + more if total > final else total - more
    conditions = f"If it {tests[0][0].format(k=bound)}, {acts[0][0]}. "
    if count == 2:
        conditions += f"Otherwise, if it {tests[1][0].format(k=bound)}, {acts[1][0]}. "
    text = (
        f"Numbers: {', '.join(map(str, numbers))}.\n"
        f"Start with a total of {start}. Go through the numbers from left to right. For each number do this: "
        f"{conditions}In every other case, {acts[-1][0]}.\n"
        f"At the end, add {more} to the total if it is greater than {final}; otherwise subtract {more} from it.\n"
        'Write two lines: "Total: " and the final total, and "Count: " and for how many numbers the '
        "first condition was true."
    )
    constraints = (Labelled("Total", str(total), "number"), Labelled("Count", str(first_count), "number"))
    return [single(text, constraints, f"Total: {total}\nCount: {first_count}", roles=("result", "way"))]


FAMILY = Family(
    name="logic",
    answers="Does it follow instructions with conditions and loops to the right result?",
    paper="LogicIF, arXiv 2508.09125",
    levels=(
        Level("3 numbers", "a loop over three numbers with one condition"),
        Level("5 numbers", "five numbers"),
        Level("7 numbers", "seven numbers, two conditions"),
        Level("9 numbers", "nine numbers, two conditions"),
    ),
    draw=draw,
    version="2",
)
