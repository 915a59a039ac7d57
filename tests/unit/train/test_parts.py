"""GRPO with a reward a constraint (GDPO): what is logged, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import UsageError  # noqa: E402
from adhere.schema import RlRow  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, grpo, over_episode, sum_of_parts  # noqa: E402
from adhere.train.stage.scoring import scorer  # noqa: E402

ROWS = [
    RlRow("0", "Say it.", 2, 0.5, 0.1, ("punctuation:no_comma", "length_constraints:number_words"),
          ({}, {"num_words": 3, "relation": "at least"})),
    RlRow("1", "Say more.", 2, 0.5, 0.1, ("punctuation:no_comma",), ({},)),
]  # fmt: skip
SMALL: dict[str, Any] = {
    "steps": 1, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 4, "advantages": "each",
}  # fmt: skip


def test_each_constraint_has_its_curve(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    done = grpo(model, tokenizer, ROWS, GrpoSettings(**SMALL), seed=0, score=scorer(ROWS, "dense"))
    assert {"part: punctuation:no_comma", "part: length_constraints:number_words"} <= set(done.log[0])


def test_rewards_without_parts_and_settings_of_one_reward_are_refused(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    with pytest.raises(UsageError, match="needs the judge as the reward"):
        grpo(model, tokenizer, ROWS, GrpoSettings(**SMALL), seed=0, score=lambda _, answers: [0.0] * len(answers))
    own = GrpoSettings(**SMALL, scale_rewards="none")
    with pytest.raises(UsageError, match="scale_rewards is about one reward"):
        grpo(model, tokenizer, ROWS, own, seed=0, score=scorer(ROWS, "dense"))


def test_a_rare_pass_is_not_drowned_by_a_common_one() -> None:
    """By hand: in the sum the second answer has twice the reward of the third; apart the rarer pass weighs more."""
    parts = [{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}]
    a = [-0.75 / (0.5 + 1e-4), *[0.25 / (0.5 + 1e-4)] * 3]
    b = [*[-0.25 / (0.5 + 1e-4)] * 3, 0.75 / (0.5 + 1e-4)]
    sums = sum_of_parts(parts)
    assert sums == pytest.approx([x + y for x, y in zip(a, b, strict=True)])
    assert sum(over_episode(sums)) == pytest.approx(0.0, abs=1e-9)
    assert sum_of_parts([{"a": None}, {"a": 1.0}]) == [0.0, 0.0], "one alone has nothing to be compared with"
