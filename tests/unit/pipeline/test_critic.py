"""A judge model is believed only where it says exactly what it was asked for."""

from __future__ import annotations

import asyncio

import pytest

from adhere.errors import UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.judge_model.critic import Critic, Score
from adhere.pipeline.judge_model.question import Question


def says(text: str) -> ScriptedModel:
    return ScriptedModel(lambda _: text)


def test_a_score_is_scaled_and_keeps_its_reason() -> None:
    opinion = Critic(says('{"score": 8, "reason": "close"}'), scale=(0, 10)).opinions([("Do it.", "Done.")])[0]
    assert opinion == (0.8, "close", 1)


@pytest.mark.parametrize(
    "reply",
    [
        "8",
        "Score: 8",
        '{"score": 8}',
        '{"score": "8", "reason": "x"}',
        '{"score": true, "reason": "x"}',
        '{"score": NaN, "reason": "x"}',
        '{"score": 11, "reason": "x"}',
        '{"score": 8, "reason": "x", "more": 1}',
        'Sure! {"score": 8, "reason": "x"}',
        "",
        "[" * 100_000,
    ],
)
def test_anything_else_is_no_score(reply: str) -> None:
    opinion = Critic(says(reply), max_new_tokens=200_000).opinions([("Do it.", "Done.")])[0]
    assert opinion.score is None
    assert opinion.draws == 0
    assert opinion.reason


def test_a_fence_around_it_is_forgiven() -> None:
    reply = '```json\n{"score": 1, "reason": "x"}\n```'
    assert Question("Grade.", Score, {"answer": "b"}).read(reply) == (Score(1, "x"), "")


def test_a_failed_call_is_no_score_and_is_asked_again() -> None:
    calls: list[int] = []

    def flaky(_: object) -> str:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("gone")
        return '{"score": 10, "reason": "y"}'

    critic = Critic(ScriptedModel(flaky))
    assert critic.opinions([("a", "b")])[0].score is None
    assert [critic.opinions([("a", "b")])[0].score for _ in range(2)] == [1.0, 1.0]
    assert len(calls) == 2, "a good reply is kept"


def test_several_draws_are_averaged_over_the_readable_ones() -> None:
    replies = iter(['{"score": 2, "reason": "a"}', "nonsense", '{"score": 6, "reason": "b"}'])
    critic = Critic(ScriptedModel(lambda _: next(replies)), draws=3, temperature=1.0)
    assert critic.opinions([("a", "b")])[0] == (0.4, "a", 2)


def test_statements_need_as_many_answers() -> None:
    assert Critic(says('{"holds": [true, false]}')).holds([("r", "a", ["one", "two"])]) == [[1.0, 0.0]]
    assert Critic(says('{"holds": [true]}')).holds([("r", "a", ["one", "two"])]) == [[None, None]]
    assert Critic(says('{"holds": [1, 0]}')).holds([("r", "a", ["one", "two"])]) == [[None, None]]


def test_it_may_be_called_inside_a_running_loop() -> None:
    async def trainer() -> float | None:
        return Critic(says('{"score": 5, "reason": "half"}')).opinions([("a", "b")])[0].score

    assert asyncio.run(trainer()) == 0.5


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="lower to a higher"):
        Critic(says(""), scale=(5, 5))
    with pytest.raises(UsageError, match="need a temperature"):
        Critic(says(""), draws=3)
