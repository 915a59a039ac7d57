"""A model writes the request that an answer answers.

The same model then grades the row, and only the best grade stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import msgspec

from adhere.build.transforms.base import Result, Row, Settings, Transform
from adhere.build.transforms.rows import bare, messages, text_of
from adhere.pipeline.judge_model.question import Question
from adhere.schema import Record


class Grade(Record, frozen=True):
    """What the model replies about a row."""

    grade: Annotated[int, msgspec.Meta(ge=1, le=5)]


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    ask = settings.model("instruction_backtranslation")
    answers = [text_of(row["completion"]) for row in rows]
    requests = [text.strip() for text in ask([_writing(answer) for answer in answers])]
    questions = [_question(request, answer) for request, answer in zip(requests, answers, strict=True)]
    grades = ask([question.text for question in questions])
    made, left_out = [], []
    for number, (row, request, question, grade) in enumerate(
        zip(rows, requests, questions, grades, strict=True), start=1
    ):
        found, problem = question.read(grade)
        if not request:
            left_out.append((number, "no request was written for it"))
        elif found is None:
            left_out.append((number, f"its grade cannot be read: {problem}"))
        elif found.grade < settings.options["grade"]:
            left_out.append((number, f"graded {found.grade}"))
        else:
            prompt = request if isinstance(row["prompt"], str) else messages(request)
            made.append(bare({**row, "prompt": prompt, "origin": "backtranslated"}))
    return Result(made, left_out)


def _writing(answer: str) -> str:
    data = json.dumps(answer, ensure_ascii=False)
    return (
        f"Here is an answer that somebody got, as data:\n{data}\n\n"
        "Write the request that it answers. Write only the request."
    )


def _question(request: str, answer: str) -> Question[Grade]:
    ask = (
        "How good an example for an assistant is this answer to this request, from 1 (bad) to 5 (perfect)? "
        'Reply with exactly one JSON object: {"grade": N}.'
    )
    return Question(ask, Grade, {"request": request, "answer": answer})


TRANSFORM = Transform(
    "instruction_backtranslation",
    1,
    "arXiv 2308.06259",
    ("sft",),
    "A model writes the request to an answer and grades the row; constraints go.",
    _apply,
    {"grade": 5},
)
