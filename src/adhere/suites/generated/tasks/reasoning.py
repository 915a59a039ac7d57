"""Give one rule for the reasoning and another for the answer, and score them separately.

The reasoning is what a model shows separately from its answer: a field of the response, or the text between <think> and
</think>. If it shows none, the rule for the reasoning is undecided, which is no score.
"""

from __future__ import annotations

import random

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.held_out.answer import Once
from adhere.constraints.kinds.held_out.scope import REASONING, Within
from adhere.constraints.kinds.trained.keywords import Include
from adhere.constraints.kinds.trained.length import AtMostWords
from adhere.constraints.kinds.trained.punctuation import NoCommas
from adhere.constraints.kinds.trained.start_end import EndPhrase
from adhere.constraints.kinds.trained.structure import Bullets, Lines, Numbered
from adhere.suites.generated import rules
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single
from adhere.suites.generated.questions import ask


def _about_reasoning(rng: random.Random) -> list[Constraint]:
    word, other = rng.sample(WORDS, 2)
    return [
        rng.choice((Numbered, Bullets))(rng.randint(3, 6)),
        rng.choice(
            (Include((word,)), EndPhrase(f"that is {word} {other}"), NoCommas(), AtMostWords(rng.randint(60, 90)))
        ),
    ]


def _say(constraint: Constraint) -> str:
    """Return the rule in a wording without the word "answer", because it is about the reasoning."""
    wordings = map(constraint.describe, range(len(constraint.phrasings)))
    return next(wording for wording in wordings if "answer" not in wording.casefold())


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw a question with rules for the reasoning and, from the second level on, rules for the answer."""
    question = ask(rng)
    reasoning_rules = _about_reasoning(rng)[: 2 if level == 2 else 1]
    answer_line = f"Answer: {question.answer}"
    _, form = rules.draw_rules(rng, 2, beside=question.text)
    forms = [form, Lines(rng.randint(3, 9))][:level]
    text = (
        f"{question.text}\n\nThink before you answer. For the reasoning alone this holds: "
        f"{' '.join(map(_say, reasoning_rules))}\n"
        'After your reasoning, give the answer; its last line is "Answer: " and the result, and nothing else.'
    )
    if forms:
        text += f" For the answer alone, without the reasoning, this holds: {rules.say(forms, rng)}"
    constraints = (
        *(Within(rule.ref(), REASONING) for rule in reasoning_rules),
        *forms,
        Once("Answer", question.key, question.normaliser, "last line"),
    )
    roles = (*["reasoning"] * len(reasoning_rules), *["form"] * len(forms), "task")
    answer = (
        f"<think>{rules.write(reasoning_rules)}</think>\n{rules.write(forms, answer_line) if forms else answer_line}"
    )
    return [single(text, constraints, answer, roles=roles)]


FAMILY = Family(
    name="reasoning",
    answers="Do instructions about the reasoning hold there, and those about the answer here?",
    paper="ReasonIF, arXiv 2510.15211",
    levels=(
        Level("reasoning", "one rule for the reasoning"),
        Level("reasoning and answer", "one rule for each"),
        Level("two each", "two rules for each"),
    ),
    draw=draw,
    version="2",
    max_new_tokens=2048,
)
