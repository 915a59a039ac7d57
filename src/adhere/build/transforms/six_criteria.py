"""Rate pairs by the six criteria of the Qwen2.5 report's reward model.

A judge model rates each answer, and programs rate what they can decide. A row gets the column `criteria`: name ->
[rating of chosen, rating of rejected], each in [0, 1]. The answer with the higher weighted mean is `chosen` from then
on; a tie is left out. With --model one request an answer asks for all six, and only a reply that is exactly the JSON
asked for counts. Programs rate two criteria: `helpfulness` ("follow the given instructions precisely") is at most the
share of the row's constraints that the answer keeps, and without a model `conciseness` is the words of the shorter
answer over its own, in characters where a script puts no blanks between words. Without a model there are only these
two. Source: arXiv 2412.15115, section 4.3, which states the criteria and neither scale nor how they are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from adhere.build.transforms.base import Result, Row, Settings, Transform, UnfitRow
from adhere.build.transforms.rows import refs, text_of
from adhere.pipeline.judge import judge_text
from adhere.pipeline.judge_model.question import Question
from adhere.schema import CRITERIA, ConstraintRef, Record
from adhere.text.scripts import writes_words
from adhere.text.words import count_words

MEANING = {
    "truthfulness": "grounded in fact, and faithful to the request's context; nothing false or unsupported",
    "helpfulness": "does what was asked, precisely, and is of use",
    "conciseness": "says it without needless words",
    "relevance": "every part belongs to the request",
    "harmlessness": "nothing illegal, immoral or harmful",
    "debiasing": "no bias of gender, race, nationality, politics or other",
}
SCALE = 5
Rating = Annotated[int, msgspec.Meta(ge=1, le=SCALE)]


class Ratings(Record, frozen=True):
    """Holds the reply of a judge: every criterion from 1 to SCALE."""

    truthfulness: Rating
    helpfulness: Rating
    conciseness: Rating
    relevance: Rating
    harmlessness: Rating
    debiasing: Rating


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    sides = ("chosen", "rejected")
    questions = [_question(text_of(row["prompt"]), text_of(row[side])) for row in rows for side in sides]
    replies: list[dict[str, float] | None] = [{} for _ in questions]
    if settings.ask is not None:
        texts = settings.ask([question.text for question in questions])
        replies = [_shares(question.read(text)[0]) for question, text in zip(questions, texts, strict=True)]
    new_rows: list[Row] = []
    left_out = []
    for number, row in enumerate(rows, start=1):
        try:
            new_rows.append(_rate_pair(row, replies[2 * number - 2], replies[2 * number - 1], settings.options))
        except UnfitRow as reason:
            left_out.append((number, str(reason)))
    return Result(new_rows, left_out)


def _rate_pair(
    row: Row, chosen: Mapping[str, float] | None, rejected: Mapping[str, float] | None, weights: Mapping[str, Any]
) -> Row:
    if chosen is None or rejected is None:
        raise UnfitRow("the judge's reply is not the JSON object that it was asked for")
    texts = text_of(row["chosen"]), text_of(row["rejected"])
    programs = rate_by_programs(texts, refs(row))
    ratings = []
    for reply, program_ratings in zip((chosen, rejected), programs, strict=True):
        if not reply:
            ratings.append(program_ratings)
        elif "helpfulness" in program_ratings:
            ratings.append({**reply, "helpfulness": min(reply.get("helpfulness", 1.0), program_ratings["helpfulness"])})
        else:
            ratings.append(dict(reply))
    names = [name for name in CRITERIA if name in ratings[0] and weights[name] > 0]
    total = sum(weights[name] for name in names)
    if not total:
        raise UnfitRow("no criterion with a weight is rated")
    first, second = (sum(weights[name] * rating[name] for name in names) / total for rating in ratings)
    if first == second:
        raise UnfitRow(f"its answers are rated alike ({first:.2f})")
    better, worse = (0, 1) if first > second else (1, 0)
    sides = row["chosen"], row["rejected"]
    criteria = {name: [ratings[better][name], ratings[worse][name]] for name in CRITERIA if name in ratings[0]}
    return {**row, "chosen": sides[better], "rejected": sides[worse], "origin": "rated", "criteria": criteria}


def rate_by_programs(texts: tuple[str, str], constraints: Sequence[ConstraintRef]) -> list[dict[str, float]]:
    """Rate both answers of a pair without a model: for each answer, criterion -> rating in [0, 1].

    Args:
        texts: Two answers to one prompt.
        constraints: The prompt's constraints; without any there is no `helpfulness`.

    Raises:
        UnfitRow: A constraint is undecided on one of the texts.
    """
    measure = count_words if all(map(writes_words, texts)) else len
    shorter = min(map(measure, texts))
    ratings: list[dict[str, float]] = []
    for text in texts:
        text_ratings = {"conciseness": shorter / max(1, measure(text))}
        if constraints:
            outcomes = [verdict.outcome for verdict in judge_text(text, constraints, ("strict",))]
            if "undecided" in outcomes:
                raise UnfitRow("the judge cannot decide one of its constraints")
            text_ratings["helpfulness"] = outcomes.count("pass") / len(outcomes)
        ratings.append(text_ratings)
    return ratings


def _shares(ratings: Ratings | None) -> dict[str, float] | None:
    """Return a judge's ratings scaled to [0, 1]; None stays None."""
    return None if ratings is None else {name: (getattr(ratings, name) - 1) / (SCALE - 1) for name in CRITERIA}


def _question(prompt: str, answer: str) -> Question[Ratings]:
    criteria_list = "\n".join(f"- {name}: {meaning}" for name, meaning in MEANING.items())
    shape = ", ".join(f'"{name}": N' for name in MEANING)
    ask = (
        f"Rate the answer from 1 (bad) to {SCALE} (flawless) by each criterion:\n{criteria_list}\n"
        f"Reply with exactly one JSON object: {{{shape}}}."
    )
    return Question(ask, Ratings, {"request": prompt, "answer": answer})


TRANSFORM = Transform(
    "six_criteria",
    1,
    "arXiv 2412.15115 (section 4.3)",
    ("pairs",),
    "Rates both answers by six criteria and puts the better one first.",
    _apply,
    dict.fromkeys(CRITERIA, 1.0),
)
