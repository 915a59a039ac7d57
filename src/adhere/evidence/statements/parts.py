"""Let a model split compound sentences (`--extract MODEL`); a program says whether a reply may stand.

A part is a quotation of the sentence, or it is marked as a paraphrase, which may name no number and no name that the
sentence does not have. All parts together must hold all numbers and names of the sentence. Else the sentence stays
whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from adhere.evidence.reviewers import ask_all
from adhere.evidence.statements.assessments import Splitting, Statement
from adhere.evidence.statements.extract import LEAST_WORDS
from adhere.evidence.statements.quantities import agrees
from adhere.evidence.statements.wording import wording
from adhere.models.base import Model
from adhere.pipeline.judge_model.question import Question
from adhere.schema import Record
from adhere.terminal import one_line

MOST_PARTS = 8
RUBRIC = "You split sentences into statements that can be checked one by one. You add nothing and leave nothing out."
ASK = """Split the sentence into parts that each assert one thing. Quote the sentence letter for letter where a part can
stand alone so; where it needs its subject, repeat the subject. A sentence that asserts one thing is its own one part.
Reply with exactly one JSON object: {"parts": ["the first part", …]}"""
_COMPOUND = re.compile(r"[;,\uff0c\uff1b\u3001]|\b(?:and|but|while|whereas|with|und|et|y)\b", re.IGNORECASE)


class Reply(Record, frozen=True):
    """Holds the model's reply."""

    parts: list[str]


def split(statements: Sequence[Statement], model: Model, *, seed: int = 0) -> tuple[list[Statement], Splitting]:
    """Split statements that may be compound; all others, and those whose reply does not count, stay as they are."""
    questions = {
        (f"s{place}", 0): Question(ASK, Reply, {"sentence": statement.text})
        for place, statement in enumerate(statements)
        if _COMPOUND.search(statement.text)
    }
    replies = ask_all(model, questions, RUBRIC, seed=seed, most_tokens=600)
    new_statements: list[Statement] = []
    refusals: Counter[str] = Counter()
    done = 0
    for place, statement in enumerate(statements):
        reply, problem = replies.get((f"s{place}", 0), (Reply([statement.text]), ""))
        parts = [one_line(part) for part in reply.parts] if reply is not None else []
        why = problem if reply is None else _why_not(statement.text, parts)
        if why:
            refusals[why] += 1
        if why or len(parts) == 1:
            new_statements.append(statement)
            continue
        done += 1
        whole = one_line(statement.text)
        new_statements += [
            Statement(
                part, statement.file, statement.line, "quotation" if part in whole else "paraphrase", statement.text
            )
            for part in parts
        ]
    return new_statements, Splitting(model.name, len(questions), done, dict(refusals))


def _why_not(text: str, parts: Sequence[str]) -> str:
    """Say why a model's parts of the sentence `text` are refused; empty if they may stand."""
    if not 1 <= len(parts) <= MOST_PARTS or any(len(part.split()) < LEAST_WORDS for part in parts[1:]):
        return f"not one to {MOST_PARTS} parts of {LEAST_WORDS} words and more"
    whole, part_wordings = wording(text), [wording(part) for part in parts]
    numbers, names = (
        [n for part in part_wordings for n in part.numbers],
        {n.key for part in part_wordings for n in part.names if n.is_sure},
    )
    if not all(any(agrees(number, other) for other in whole.numbers) for number in numbers):
        return "a part has a number that the sentence does not have"
    whole_names = {name.key for name in whole.names}
    if not names <= whole_names:
        return "a part has a name that the sentence does not have"
    missing_numbers = [number for number in whole.numbers if not any(agrees(number, other) for other in numbers)]
    if missing_numbers or not {name.key for name in whole.names if name.is_sure} <= {
        n.key for part in part_wordings for n in part.names
    }:
        return "the parts leave out a number or a name"
    return ""
