"""Make questions about things hidden in long texts.

Needles at five depths, several needles, look-alikes, a pass key, variables, counts, keywords. A level is a length, from
1k to 1m tokens; the default suite goes to 8k. `long:32k+128k+x4` chooses others. Lengths and depths of the needle make
the grid of the heat map.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.held_out.answer import Labelled
from adhere.suites.generated.diagnostic.items import NAMES, WORDS, with_article
from adhere.suites.generated.family import Family, Item, Level, single
from adhere.suites.generated.long.haystack import bury, haystack

_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)  # thousands of tokens
DEPTHS = (0, 25, 50, 75, 100)  # percent
_ASK = "Below is a long text. A question about it follows after the text.\n\nTEXT:\n{}\n\nQUESTION: {}"
_ONE = ' Write one line, "Answer: " and the answer.'


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw every task once, and the needle at every depth; the same things are hidden at every length."""
    facts = _HiddenFacts(rng)
    tokens = _LENGTHS[level] * 1000
    items = [_item(rng, tokens, f"needle {depth}", facts.needle(depth / 100), depth=str(depth)) for depth in DEPTHS]
    tasks = ("multi-needle", "multi-key", "pass-key", "tracking", "counting", "recall")
    items += [_item(rng, tokens, task, getattr(facts, task.replace("-", "_"))()) for task in tasks]
    return items


class Task(NamedTuple):
    """Holds what is hidden (sentence -> depth), the question, the constraints on the answer, and a right answer."""

    needles: dict[str, float]
    question: str
    checks: list[Constraint]
    answer: str


def _one_line(needles: dict[str, float], question: str, answer: str, normaliser: str) -> Task:
    """Return a task whose answer is one line, "Answer: " and `answer`."""
    return Task(needles, question, [Labelled("Answer", answer, normaliser)], f"Answer: {answer}")


class _HiddenFacts:
    """Draws the facts that a group hides; each method makes one task."""

    def __init__(self, rng: random.Random) -> None:
        self.words = rng.sample(WORDS, 20)
        self.numbers = [str(number) for number in rng.sample(range(10_000, 99_999), 20)]
        self.depths = [rng.random() for _ in range(24)]
        self.names = rng.sample(NAMES, 6)
        self.counts = rng.sample(range(2, 8), 4)

    def _needle(self, at: int) -> str:
        return f"The secret number of the {self.words[at]} is {self.numbers[at]}."

    def needle(self, depth: float) -> Task:
        question = f"What is the secret number of the {self.words[0]}?{_ONE}"
        return _one_line({self._needle(0): depth}, question, self.numbers[0], "number")

    def multi_needle(self) -> Task:
        places = (1, 2, 3, 4)
        answer = ", ".join(self.numbers[at] for at in places)
        subjects = ", ".join(f"the {self.words[at]}" for at in places)
        question = (
            f"What are the secret numbers of {subjects}? Write one line, "
            '"Answer: " and the four numbers in this order, separated by commas.'
        )
        return _one_line({self._needle(at): self.depths[at] for at in places}, question, answer, "items")

    def multi_key(self) -> Task:
        needles = {self._needle(at): self.depths[at] for at in range(5, 17)}
        question = f"What is the secret number of the {self.words[9]}?{_ONE}"
        return _one_line(needles, question, self.numbers[9], "number")

    def pass_key(self) -> Task:
        key = self.numbers[17]
        needles = {f"The pass key is {key}. Remember it. {key} is the pass key.": self.depths[17]}
        return _one_line(needles, f"What is the pass key?{_ONE}", key, "number")

    def tracking(self) -> Task:
        names = [f"{word.upper()}" for word in self.words[:8]]
        needles: dict[str, float] = {}
        for start, value in ((0, self.numbers[18]), (4, self.numbers[19])):
            depths = sorted(self.depths[18 + start // 4 : 22 + start // 4])
            sentences = [f"Variable {names[start]} is set to {value}."]
            sentences += [
                f"Variable {names[start + at]} is set to the value of {names[start + at - 1]}." for at in (1, 2, 3)
            ]
            needles.update(zip(sentences, depths, strict=True))
        answer = ", ".join(sorted(names[:4]))
        question = (
            f"Which variables have the value {self.numbers[18]} in the end? Write one line, "
            '"Answer: " and their names in alphabetical order, separated by commas.'
        )
        return _one_line(needles, question, answer, "items")

    def counting(self) -> Task:
        visits = [name for name, count in zip(self.names, self.counts, strict=False) for _ in range(count)]
        spread = random.Random(f"{self.numbers[0]}").sample(range(1000), len(visits))
        needles = {
            f"Entry {number + 1} of the visitors' book: {name}.": at / 1000
            for number, (name, at) in enumerate(zip(visits, sorted(spread), strict=True))
        }
        most, count = Counter(visits).most_common(1)[0]
        question = (
            "Who has the most entries in the visitors' book, and how many? Write two lines: "
            '"Answer: " and the name, and "Count: " and the number.'
        )
        checks = [Labelled("Answer", most.casefold(), "any case"), Labelled("Count", str(count), "number")]
        return Task(needles, question, [*checks], f"Answer: {most}\nCount: {count}")

    def recall(self) -> Task:
        chest_words = sorted(self.words[12:16])
        first, second, third, fourth = map(with_article, self.words[12:16])
        needle = (
            f"In the cellar of the town hall there are four chests: one with {first}, one with {second}, "
            f"one with {third} and one with {fourth}."
        )
        question = (
            "Which four things are in the chests in the cellar of the town hall? Write one line, "
            '"Answer: " and the four words in alphabetical order, separated by commas.'
        )
        return _one_line({needle: self.depths[23]}, question, ", ".join(chest_words), "items")


def _item(rng: random.Random, tokens: int, name: str, task: Task, *, depth: str = "") -> Item:
    text = _ASK.format(bury(haystack(rng, tokens), task.needles), task.question)
    tags = {"task": name.split(maxsplit=1)[0], **({"depth": depth} if depth else {})}
    return single(text, task.checks, task.answer, variant=name, tags=tags)


def _name(thousands: int) -> str:
    return f"{thousands}k" if thousands < 1024 else "1m"


FAMILY = Family(
    name="long",
    answers="What does it find in a long text, and at which lengths and depths?",
    paper="RULER, arXiv 2404.06654; NeedleBench, arXiv 2407.11963",
    levels=tuple(Level(_name(length), f"about {length},000 tokens of text") for length in _LENGTHS),
    draw=draw,
    groups=1,
    version="2",
    usual_levels=4,
    profile_levels=3,
    max_new_tokens=128,
)
