"""Ask the same item in several wordings, and measure the mean, the spread and the worst wording."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.answer import Once
from adhere.suites.generated import rules
from adhere.suites.generated.family import Family, Item, Level, single
from adhere.suites.generated.questions import ask

# All five ask for the same: one such line, the last one, and nothing else on it.
_FORMATS = (
    'Write "Answer: " and the result on the last line, and nothing else on that line.',
    'Your last line must read "Answer: " followed by nothing but the result.',
    'Put the result behind "Answer:" on the very last line, alone.',
    'Please end with one line that consists of "Answer:" and the result.',
    'The final line of your reply has to begin with "Answer:" and to hold only the result behind it.',
)
_VARIANTS = 5
_RULES = (0, 1, 3)


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw one question in five wordings; higher levels add rules, which are reworded too."""
    question = ask(rng)
    drawn_rules = rules.draw_rules(rng, 3, beside=question.text)[: _RULES[level]]
    answer_line = f"Answer: {question.answer}"
    answer = rules.write(drawn_rules, answer_line) if drawn_rules else answer_line
    constraints = (Once("Answer", question.key, question.normaliser, "last line"), *drawn_rules)
    roles = ("task", *["format"] * len(drawn_rules))
    items = []
    for number in range(_VARIANTS):
        rewordings = [rule.describe(number) for rule in drawn_rules]
        parts = [question.wordings[number], " ".join((_FORMATS[number], *rewordings))]
        items.append(single("\n".join(parts), constraints, answer, roles=roles, variant=f"wording {number + 1}"))
    return items


FAMILY = Family(
    name="paraphrase",
    answers="Is the result the same when the same thing is asked in other words?",
    paper="InstructionEval, arXiv 2306.11270; MultiInstruct, arXiv 2212.10773",
    levels=(
        Level("question", "a question with one right answer, in five wordings"),
        Level("question and rule", "with a rule of form, which is reworded, too"),
        Level("question and 3 rules", "with three rules"),
    ),
    draw=draw,
    groups=8,
    version="2",
)
