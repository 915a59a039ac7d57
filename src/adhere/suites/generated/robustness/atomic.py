"""Change only the format: the same choices, with options marked by letters, numbers, numerals or signs."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.exact import Lines
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single

_MARKS = {
    "capitals": ("A", "B", "C", "D"),
    "letters": ("a", "b", "c", "d"),
    "numbers": ("1", "2", "3", "4"),
    "numerals": ("I", "II", "III", "IV"),
    "names": ("red", "blue", "green", "gold"),
}
_QUESTIONS = 4


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw four questions with four options each, in five formats.

    By level, the mark or the text of the option is asked for, without and with an example.
    """
    drawn_questions = []
    for _ in range(_QUESTIONS):
        length = rng.randint(5, 7)
        right = rng.choice([word for word in WORDS if len(word) == length])
        options = rng.sample([word for word in WORDS if len(word) != length], 3)
        at = rng.randrange(4)
        options.insert(at, right)
        drawn_questions.append((f"Which word has exactly {length} letters?", options, at))
    answer_form = ("the mark of the right option", "the word of the right option, not its mark")[level % 2]
    hint = "" if level < 2 else "For example, answers to two other questions could look like this: {}. "
    items = []
    for variant, marks in _MARKS.items():
        questions = [
            f"Question {number}: {question}\n" + "\n".join(f"({m}) {o}" for m, o in zip(marks, options, strict=True))
            for number, (question, options, _) in enumerate(drawn_questions, start=1)
        ]
        example = f"{marks[1]}, {marks[1]}" if level % 2 == 0 else "harvest, tent"
        text = (
            "\n\n".join(questions)
            + f"\n\nFor each question, give {answer_form}. {hint.format(example)}"
            + (
                f"Write the {_QUESTIONS} answers in the order of the questions, separated by commas, on one "
                "line, and nothing else."
            )
        )
        answers = [marks[at] if level % 2 == 0 else options[at] for _, options, at in drawn_questions]
        expected = ", ".join(answers)
        items.append(single(text, (Lines(expected, "items"),), expected, variant=variant))
    return items


FAMILY = Family(
    name="atomic",
    answers="Does a change of format alone, such as how options are marked, change the answers?",
    paper="The Atomic Instruction Gap, arXiv 2510.17388",
    levels=(
        Level("mark", "the marks of the options are asked for"),
        Level("text", "the texts of the options are asked for, although they are marked"),
        Level("mark with example", "as mark, with an example of the form"),
        Level("text with example", "as text, with an example of the form"),
    ),
    draw=draw,
    groups=4,
    max_new_tokens=64,
)
