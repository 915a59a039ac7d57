"""The table of reward models: how pairs are made, turned round, chosen by, and printed.

Its numbers are whoever runs it's.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import pytest

pytest.importorskip("torch")

from adhere.schema import RlRow
from adhere.train.batch.rollout import Answer


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    from benchmarks.studies import reward_models

    return reward_models


def drawn(bench: ModuleType, *scores: float) -> object:
    answers = [Answer(f"answer {place}", truncated=False) for place in range(len(scores))]
    return bench.Drawn(RlRow("p", "Say it.", 4, 0.5, 0.1, (), ()), answers, list(scores))


def test_pairs_are_answers_of_different_scores_the_widest_first(bench: ModuleType) -> None:
    pairs = bench.pairs_of([drawn(bench, 0.5, 1.0, 0.0, 0.5)], 3)
    assert [(pair.chosen, pair.rejected) for pair in pairs] == [
        ("answer 1", "answer 2"),
        ("answer 0", "answer 2"),
        ("answer 1", "answer 0"),
    ]
    assert bench.pairs_of([drawn(bench, 0.5, 0.5)], 3) == []


def test_a_third_is_turned_round_and_nothing_else_changes(bench: ModuleType) -> None:
    pairs = bench.pairs_of([drawn(bench, *(place / 10 for place in range(5)))], 9)
    wrong = bench.turned(pairs, seed=0)
    changed = [(a, b) for a, b in zip(pairs, wrong, strict=True) if a != b]
    assert len(changed) == 3
    assert all((a.chosen, a.rejected) == (b.rejected, b.chosen) for a, b in changed)


def test_what_a_reward_likes_best_is_measured_by_the_judge(bench: ModuleType) -> None:
    def likes_the_last(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        return [float(place) for place in range(len(answers))]

    assert bench.best_of([drawn(bench, 1.0, 0.0, 0.25), drawn(bench, 0.0, 0.75)], likes_the_last) == 0.5


def test_the_table_has_means_and_ranges_and_no_number_where_there_is_none(bench: ModuleType) -> None:
    seeds = [{"judge": bench.Measured(None, 0.5, 0.25)}, {"judge": bench.Measured(None, 1.0, 0.75)}]
    assert bench.table(seeds, 8).splitlines()[-1] == "| judge | – | 75 (50–100) | 50 (25–75) |"
