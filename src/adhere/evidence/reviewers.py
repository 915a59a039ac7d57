"""Ask a panel of models whether each conflict is one. The panel is optional, and no check depends on it.

Each conflict is put to each reviewer twice, with its source lines in both orders. Only an exact JSON answer
counts; a reviewer that changes its mind with the order has no vote on that conflict. Agreement is reported, nothing is
averaged away.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from adhere.evidence.findings import Conflict, Findings
from adhere.evidence.panel import Ballot, Panel, Vote
from adhere.models.base import Model, Request
from adhere.pipeline.judge_model.question import Question
from adhere.schema import Json, Message, Record, Response, Sampling, derive_seed

T = TypeVar("T")
RUBRIC = "You check one finding about numbers printed in documents. Decide by the quoted lines alone."
ASK = """Vote "conflict" if the quoted lines cannot all be right as the finding says, "no conflict" if they can, and "cannot say" if the
lines do not decide it.
Reply with exactly one JSON object: {"vote": "conflict" | "no conflict" | "cannot say", "reason": "one sentence"}"""


class Reply(Record, frozen=True):
    """Holds the reply of a reviewer."""

    vote: Vote
    reason: str


def review(findings: Findings, models: Sequence[Model], *, seed: int = 0, most: int = 100) -> Panel:
    """Return the votes of every model on the first `most` conflicts; errors come first among conflicts."""
    conflicts = findings.conflicts[:most]
    ballots = [ballot for model in models for ballot in _ballots(model, conflicts, seed)]
    by_conflict: dict[str, list[Vote]] = {}
    for ballot in ballots:
        if ballot.vote is not None:
            by_conflict.setdefault(ballot.conflict, []).append(ballot.vote)
    are_equal = [vote == other for votes in by_conflict.values() for vote, other in itertools.combinations(votes, 2)]
    return Panel(
        reviewers=tuple(model.name for model in models),
        ballots=tuple(ballots),
        asked=len(ballots),
        valid=sum(ballot.vote is not None for ballot in ballots),
        agreement=sum(are_equal) / len(are_equal) if are_equal else None,
        pairs=len(are_equal),
    )


def _ballots(model: Model, conflicts: Sequence[Conflict], seed: int) -> list[Ballot]:
    questions = {
        (conflict.id, order): _question(conflict, is_swapped=bool(order)) for conflict in conflicts for order in (0, 1)
    }
    replies = ask_all(model, questions, RUBRIC, seed=seed, most_tokens=200)
    return [
        _ballot(model.name, conflict.id, [replies[conflict.id, order] for order in (0, 1)]) for conflict in conflicts
    ]


def ask_all(
    model: Model, questions: Mapping[tuple[str, int], Question[T]], rubric: str, *, seed: int, most_tokens: int
) -> dict[tuple[str, int], tuple[T | None, str]]:
    """Ask a model all questions, and return what was read from each reply, under the question's key.

    A key is a name and the number of the order in which the material is shown. The result of a question is (reply, ""),
    or (None, reason) if there is no reply or it cannot be read.
    """
    requests = [
        Request(
            name,
            0,
            order,
            (Message("system", rubric), Message("user", question.text)),
            derive_seed(seed, model.name, name, order),
        )
        for (name, order), question in questions.items()
    ]

    async def gather() -> dict[tuple[str, int], Response]:
        answers = model.respond(requests, Sampling(max_new_tokens=most_tokens))
        return {(answer.prompt_id, answer.draw): answer async for answer in answers}

    responses = asyncio.run(gather())
    return {key: question.read(responses.get(key)) for key, question in questions.items()}


def _question(conflict: Conflict, *, is_swapped: bool) -> Question[Reply]:
    lines: list[Json] = [
        {"document": line.document, "line": line.line, "text": line.text} for line in conflict.evidence[:8]
    ]
    lines = lines[::-1] if is_swapped else lines
    return Question(ASK, Reply, {"finding": f"{conflict.type}: {conflict.message}", "lines": lines})


def _ballot(reviewer: str, conflict: str, replies: Sequence[tuple[Reply | None, str]]) -> Ballot:
    votes = tuple("unreadable" if reply is None else reply.vote for reply, _ in replies)
    unread = [problem for reply, problem in replies if reply is None]
    if unread:
        return Ballot(conflict, reviewer, None, votes, "; ".join(dict.fromkeys(unread)))
    first, second = (reply for reply, _ in replies if reply is not None)
    if first.vote != second.vote:
        return Ballot(conflict, reviewer, None, votes, "the vote changed with the order of the lines")
    return Ballot(conflict, reviewer, first.vote, votes, first.reason)


@contextmanager
def open_reviewers(names: Sequence[str]) -> Iterator[list[Model]]:
    """Open models by name for a `with` block, and close them after it.

    Raises:
        AdhereError: A name is unknown or an engine is missing.
    """
    from adhere.models.catalog import open_model

    with ExitStack() as opened:
        models = []
        for name in names:
            models.append(open_model(name))
            opened.callback(models[-1].close)
        yield models
