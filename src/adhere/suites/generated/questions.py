"""Make small questions with one short right answer, each in several wordings.

Families use them if they are about something else than the question. The answer is never where a lazy answer copies
from: it is neither the first nor the last word of a question, and no constant is right for many questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from adhere.suites.generated.diagnostic.items import CITIES, NAMES, WORDS, ordinal


class Question(NamedTuple):
    """Holds a question's wordings, its right answer, and the normaliser of `answer:labelled` that compares it."""

    wordings: tuple[str, ...]
    answer: str
    normaliser: str = "text"

    @property
    def text(self) -> str:
        """The question in its first wording."""
        return self.wordings[0]

    @property
    def key(self) -> str:
        """The answer as its normaliser changes it."""
        return self.answer.casefold() if self.normaliser == "any case" else self.answer


def _longest(rng: random.Random) -> Question:
    length = rng.choice((7, 8))
    longest = rng.choice([word for word in WORDS if len(word) == length])
    others = rng.sample([word for word in WORDS if len(word) < length], rng.randint(4, 7))
    listing = _hide(rng, longest, others)
    return Question(
        (
            f"Which word of this list has the most letters? {listing}",
            f"Here is a list: {listing}. Find its longest word.",
            f"Look at these words: {listing}. One has more letters than each of the others. Which one?",
            f"Name the longest of the following words: {listing}",
            f"{listing}. From this list, pick the word with the greatest number of letters.",
            f"Of the words {listing}, tell me the one that is spelled with the most letters.",
        ),
        longest,
        "any case",
    )


def _first_in_order(rng: random.Random) -> Question:
    sorted_words = sorted(rng.sample(WORDS, rng.randint(5, 8)))
    listing = _hide(rng, sorted_words[0], sorted_words[1:])
    return Question(
        (
            f"Which of these words comes first in alphabetical order? {listing}",
            f"Sort these words from a to z in your head and name the first one: {listing}",
            f"If these words stood in a dictionary, which one would come before all the others? {listing}",
            f"Find the alphabetically first word in the following list: {listing}",
            f"{listing}. Tell me which one an alphabetical index would list at its very top.",
            f"Take the words {listing}. Put them in order from a to z; which one leads?",
        ),
        sorted_words[0],
        "any case",
    )


def _sum(rng: random.Random) -> Question:
    a, b, c = rng.randint(112, 887), rng.randint(112, 887), rng.randint(12, 88)
    return Question(
        (
            f"What is {a} + {b} - {c}?",
            f"Add {a} and {b}, then subtract {c}. What do you get?",
            f"Calculate {a} plus {b} minus {c}.",
            f"Start with {a}, add {b} to it, and take {c} away. Which number is left?",
            f"A box holds {a} coins. {b} coins are put in and {c} are taken out. How many coins are in the box now?",
            f"Work out the value of {a} + {b} - {c}.",
        ),
        str(a + b - c),
        "number",
    )


def _nth(rng: random.Random) -> Question:
    words = rng.sample(WORDS, rng.randint(7, 9))
    place = rng.randint(3, 6)
    listing = ", ".join(words)
    return Question(
        (
            f"What is the {ordinal(place)} word of this list? {listing}",
            f"Count from the left: which word stands at place {place} in the list {listing}?",
            f"Here are some words: {listing}. Name number {place}.",
            f"{listing}. Give me the {ordinal(place)} entry of this list, counted from its beginning.",
            f"In the sequence {listing}, which word is in the {ordinal(place)} position?",
            f"Read this list from left to right and stop at the {ordinal(place)} word. Which one is it? {listing}",
        ),
        words[place - 1],
        "any case",
    )


def _largest(rng: random.Random) -> Question:
    numbers = rng.sample(range(120, 980), rng.randint(6, 9))
    largest = max(numbers)
    listing = _hide(rng, str(largest), [str(number) for number in numbers if number != largest])
    return Question(
        (
            f"Which is the largest of these numbers? {listing}",
            f"Find the maximum of {listing}.",
            f"Here are some numbers: {listing}. Which one is greater than all the others?",
            f"Of the numbers {listing}, name the biggest.",
            f"{listing}. What is the highest value in this list?",
            f"Compare {listing} with each other and give the largest.",
        ),
        str(largest),
        "number",
    )


def _lives(rng: random.Random) -> Question:
    people, places = rng.sample(NAMES, 5), rng.sample(CITIES, 5)
    facts = [f"{person} lives in {place}" for person, place in zip(people, places, strict=True)]
    at = rng.randint(1, 3)
    story = f"{'; '.join(facts)}."
    return Question(
        (
            f"{story} In which city does {people[at]} live?",
            f"{story} Name the city where {people[at]} is at home.",
            f"{story} Where does {people[at]} live?",
            f"Read this: {story} Which city is the home of {people[at]}?",
            f"These are facts about five people. {story} What is the city of {people[at]}?",
            f"{story} Somebody wants to visit {people[at]}. To which city must the visitor go?",
        ),
        places[at],
        "any case",
    )


def _how_many(rng: random.Random) -> Question:
    animal, other = rng.sample(("cat", "dog", "bird", "fish", "frog", "goat"), 2)
    count = rng.randint(6, 13)
    row = [animal] * count + [other] * rng.randint(5, 9)
    rng.shuffle(row)
    line = " ".join(row)
    return Question(
        (
            f'How many times does the word "{animal}" stand in this line? {line}',
            f'Count the occurrences of "{animal}" in: {line}',
            f'Here is a row of words: {line}. Tell me how often "{animal}" occurs.',
            f'Go through "{line}" and count each "{animal}". What is the count?',
            f'In the text "{line}", what is the number of words that are "{animal}"?',
            f'{line}. How many words of this row are "{animal}"?',
        ),
        str(count),
        "number",
    )


def _hide(rng: random.Random, answer: str, others: list[str]) -> str:
    """Return a list as text, with the answer neither first nor last."""
    rng.shuffle(others)
    others.insert(rng.randint(1, len(others) - 1), answer)
    return ", ".join(others)


KINDS: tuple[Callable[[random.Random], Question], ...] = (
    _longest, _first_in_order, _sum, _nth, _largest, _lives, _how_many,
)  # fmt: skip


def ask(rng: random.Random) -> Question:
    """Draw a question of any kind."""
    return rng.choice(KINDS)(rng)
