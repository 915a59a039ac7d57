"""Let models judge statements that programs cannot; they never change what programs decided.

Each statement is put to each reviewer twice, with its passages in both orders. A verdict counts if both answers
agree and its quotation stands in a passage letter for letter; passages are material, never instructions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from adhere.evidence.reviewers import ask_all
from adhere.evidence.statements.assessments import Assessment, Opinion, Quote, Reviews
from adhere.evidence.statements.judge import Sources
from adhere.evidence.statements.passages import Passage
from adhere.models.base import Model
from adhere.pipeline.judge_model.question import Question
from adhere.schema import Json, Record
from adhere.stats import cohens_kappa
from adhere.terminal import one_line

PASSAGES = 6
RUBRIC = "You check whether passages of sources support a statement. Decide by the passages alone."
ASK = """Say "supported" if the passages say what the statement says, "denied" if they say that it is not so,
"partly" if they say a part of it, "not found" if they do not speak of it. For all but "not found", quote the words of
one passage that decide it, letter for letter.
Reply with exactly one JSON object: {"verdict": "supported"|"denied"|"partly"|"not found", "quote": "the words"}"""


class Reply(Record, frozen=True):
    """Holds the reply of a reviewer."""

    verdict: Literal["supported", "denied", "partly", "not found"]
    quote: str


def review(
    assessments: Sequence[Assessment], sources: Sources, models: Sequence[Model], *, seed: int = 0
) -> tuple[list[Assessment], Reviews]:
    """Ask every model about every statement; return the assessments, and what the models said.

    Where programs cannot tell, the models' verdict becomes the statement's if all valid ones agree.
    """
    passages = [sources.search.best(item.statement.text, PASSAGES) for item in assessments]
    opinions = [opinion for model in models for opinion in _opinions(model, assessments, passages, seed)]
    by_statement: dict[int, list[Opinion]] = {}
    for opinion in opinions:
        if opinion.verdict is not None:
            by_statement.setdefault(opinion.statement, []).append(opinion)
    kappa, pairs = _kappa(by_statement)
    valid = sum(opinion.verdict is not None for opinion in opinions)
    reviews = Reviews(tuple(m.name for m in models), tuple(opinions), len(opinions), valid, kappa, pairs)
    return [
        _with_opinions(item, by_statement.get(place, []), passages[place]) for place, item in enumerate(assessments)
    ], reviews


def _with_opinions(item: Assessment, opinions: Sequence[Opinion], passages: Sequence[Passage]) -> Assessment:
    verdicts = {opinion.verdict for opinion in opinions}
    if item.verdict != "cannot tell" or len(verdicts) != 1 or None in verdicts:
        return item
    quoted = [p for p in passages if any(o.quote and one_line(o.quote) in one_line(p.text) for o in opinions)]
    evidence = tuple(sources_quote(p) for p in quoted[:3]) or item.evidence
    reason = f"{', '.join(opinion.reviewer for opinion in opinions)} say so, by the quotation"
    return msgspec.structs.replace(
        item, verdict=opinions[0].verdict, kind="reviewers", evidence=evidence, reason=reason
    )


def _opinions(
    model: Model, assessments: Sequence[Assessment], passages: Sequence[Sequence[Passage]], seed: int
) -> list[Opinion]:
    questions = {
        (f"s{place}", order): _question(item, own_passages[::-1] if order else own_passages)
        for place, (item, own_passages) in enumerate(zip(assessments, passages, strict=True))
        for order in (0, 1)
    }
    replies = ask_all(model, questions, RUBRIC, seed=seed, most_tokens=300)
    return [
        _opinion(model.name, place, [replies[f"s{place}", order] for order in (0, 1)], own_passages)
        for place, own_passages in enumerate(passages)
    ]


def _question(item: Assessment, passages: Sequence[Passage]) -> Question[Reply]:
    lines: list[Json] = [{"file": p.file, "line": p.line, "text": p.text[:1200]} for p in passages]
    return Question(ASK, Reply, {"statement": item.statement.text, "passages": lines})


def _opinion(
    reviewer: str, place: int, replies: Sequence[tuple[Reply | None, str]], passages: Sequence[Passage]
) -> Opinion:
    unread = [problem for reply, problem in replies if reply is None]
    if unread:
        return Opinion(place, reviewer, None, "", "; ".join(dict.fromkeys(unread)))
    first, second = (reply for reply, _ in replies if reply is not None)
    if first.verdict != second.verdict:
        return Opinion(place, reviewer, None, "", "the verdict changed with the order of the passages")
    if first.verdict != "not found":
        for reply in (first, second):
            if not any(one_line(reply.quote) and one_line(reply.quote) in one_line(p.text) for p in passages):
                return Opinion(place, reviewer, None, reply.quote[:200], "no passage has these words")
    return Opinion(place, reviewer, first.verdict, first.quote, "")


def sources_quote(passage: Passage) -> Quote:
    """Return a passage as evidence."""
    return Quote(passage.file, passage.line, passage.text[:600])


def _kappa(by_statement: dict[int, list[Opinion]]) -> tuple[float | None, int]:
    """Return Cohen's kappa of pairs of reviewers (supported, or anything else), and the number of pairs."""
    table = Counter(
        (left.verdict == "supported", right.verdict == "supported")
        for opinions in by_statement.values()
        for left, right in itertools.combinations(sorted(opinions, key=lambda o: o.reviewer), 2)
    )
    return cohens_kappa(*(table[left, right] for left in (True, False) for right in (True, False))), table.total()
