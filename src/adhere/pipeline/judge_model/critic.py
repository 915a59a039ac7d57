"""Let a model judge what no program can decide.

The model is asked for JSON, and a reply counts only if it is exactly the JSON asked for. Rewards, data filters and
`statements` use this module. Evaluations never do: their verdicts come from programs alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from adhere.errors import UsageError
from adhere.models.base import Model, Request
from adhere.pipeline.judge_model.question import Question
from adhere.schema import Message, Record, Response, Sampling, content_hash, derive_seed

SCORE = "You grade how well an answer does what the request asks for."
ASK_SCORE = (
    "Grade the answer to the request.\nReply with one JSON object and nothing else: "
    '{{"score": a number from {low:g} to {high:g}, "reason": "one sentence"}}'
)
ITEMS = "You check an answer against a numbered list of statements. Decide each one alone."
ASK_ITEMS = (
    "Does each statement hold for the answer to the request?\n"
    'Reply with one JSON object and nothing else: {"holds": [true or false for each statement, in order]}'
)


class Score(Record, frozen=True):
    """Holds a critic's reply about one answer."""

    score: float
    reason: str


class Holds(Record, frozen=True):
    """Holds a critic's reply about the statements of one answer: whether each holds, in order."""

    holds: list[bool]


class Opinion(NamedTuple):
    """Holds a critic's opinion of one answer.

    Attributes:
        score: In [0, 1]; None where no draw gave a readable reply.
        reason: The critic's sentence, or why there is no score.
        draws: Number of readable replies behind the score.
    """

    score: float | None
    reason: str
    draws: int


class Critic:
    """Asks one Model about answers. The same question is asked once; replies are kept in memory.

    Args:
        model: The model that is asked. The critic does not close it.
        rubric: The system turn of `opinions`; `{low}` and `{high}` are filled in. None: it asks whether the request is
            met. The user turn (`ASK_SCORE`) says which JSON is wanted.
        scale: The lowest and the highest score; reported scores are scaled to [0, 1].
        draws: Replies to a question; the score is the mean of the readable ones.
        temperature: Temperature of the draws; above 0 if there is more than one.
        max_new_tokens: Token limit of a reply. A reply that is cut is unreadable.
        seed: The root of the draws' seeds.

    Raises:
        UsageError: The scale is empty, or draws and temperature do not fit.
    """

    def __init__(
        self,
        model: Model,
        *,
        rubric: str | None = None,
        scale: tuple[float, float] = (0, 10),
        draws: int = 1,
        temperature: float = 0.0,
        max_new_tokens: int = 256,
        seed: int = 0,
    ) -> None:
        if scale[0] >= scale[1]:
            raise UsageError(f"Critic: scale={scale!r} must run from a lower to a higher number")
        if draws < 1 or (draws > 1 and temperature <= 0):
            raise UsageError(
                f"Critic: draws={draws} at temperature={temperature:g}: several draws need a temperature above 0"
            )
        self.model, self.scale, self.draws = model, scale, draws
        self.rubric = (rubric or SCORE).format(low=scale[0], high=scale[1])
        self.sampling = Sampling(max_new_tokens=max_new_tokens, temperature=temperature, seed=seed)
        self._replies: dict[str, list[Response]] = {}

    def opinions(self, exchanges: Sequence[tuple[str, str]]) -> list[Opinion]:
        """Return one Opinion for each (request, answer), in order."""
        ask = ASK_SCORE.format(low=self.scale[0], high=self.scale[1])
        questions = [Question(ask, Score, {"request": request, "answer": answer}) for request, answer in exchanges]
        replies = self._ask([(self.rubric, question.text) for question in questions])
        return [self._opinion(*pair) for pair in zip(questions, replies, strict=True)]

    def holds(self, exchanges: Sequence[tuple[str, str, Sequence[str]]]) -> list[list[float | None]]:
        """Return the share of readable draws that say a statement holds, for each statement of each exchange.

        An exchange is (request, answer, statements). Without a readable draw, a share is None.
        """
        questions = []
        for request, answer, statements in exchanges:
            statements_by_number = {str(place): text for place, text in enumerate(statements, start=1)}
            questions.append(
                Question(ASK_ITEMS, Holds, {"request": request, "answer": answer, "statements": statements_by_number})
            )
        replies = self._ask([(ITEMS, question.text) for question in questions])
        return [
            _shares(question, draws, len(statements))
            for question, draws, (_, _, statements) in zip(questions, replies, exchanges, strict=True)
        ]

    def _opinion(self, question: Question[Score], replies: Sequence[Response]) -> Opinion:
        low, high = self.scale
        scores, reasons, unread = [], [], []
        for reply in replies:
            rating, problem = question.read(reply)
            if rating is None:
                unread.append(problem)
            elif low <= rating.score <= high:
                scores.append((rating.score - low) / (high - low))
                reasons.append(rating.reason)
            else:
                unread.append(f"not what was asked for: {rating.score:g} is not between {low:g} and {high:g}")
        if not scores:
            return Opinion(None, "; ".join(dict.fromkeys(unread)), 0)
        return Opinion(sum(scores) / len(scores), reasons[0], len(scores))

    def _ask(self, questions: Sequence[tuple[str, str]]) -> list[list[Response]]:
        """Return the replies to each question (system turn, user turn), one for each draw.

        Calls that failed are made again the next time.
        """
        names = [content_hash([system, user]) for system, user in questions]
        requests = [
            Request(
                name,
                0,
                draw,
                (Message("system", system), Message("user", user)),
                derive_seed(self.sampling.seed, name, draw),
            )
            for name, (system, user) in dict(zip(names, questions, strict=True)).items()
            if name not in self._replies
            for draw in range(self.draws)
        ]
        replies_by_name: dict[str, list[Response]] = {}
        if requests:
            with ThreadPoolExecutor(1) as thread:  # a trainer may call a reward inside a loop that already runs
                replies = thread.submit(asyncio.run, _gather(self.model, requests, self.sampling)).result()
            for reply in replies:
                replies_by_name.setdefault(reply.prompt_id, []).append(reply)
        for name, replies in replies_by_name.items():
            replies.sort(key=lambda reply: reply.draw)
            if all(reply.status != "error" for reply in replies) and len(replies) == self.draws:
                self._replies[name] = replies
        return [self._replies.get(name) or replies_by_name.get(name, []) for name in names]


def _shares(question: Question[Holds], draws: Sequence[Response], statements: int) -> list[float | None]:
    """Return for each statement the share of the readable draws that say it holds; None without a readable draw."""
    readings = [question.read(draw)[0] for draw in draws]
    whole = [reading.holds for reading in readings if reading is not None and len(reading.holds) == statements]
    if not whole:
        return [None] * statements
    return [sum(votes) / len(whole) for votes in zip(*whole, strict=True)]


async def _gather(model: Model, requests: Sequence[Request], sampling: Sampling) -> list[Response]:
    return [response async for response in model.respond(requests, sampling)]
