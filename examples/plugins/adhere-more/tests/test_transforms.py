"""Every transform of the package: what it makes, that attached constraints are proved, what is left out and why."""

from __future__ import annotations

import pytest
from tests.unit.build.test_transforms import INCLUDE, PAIRS, RL, SFT, grades, keep_house_rules

from adhere.build.transforms import Settings, transform
from adhere.build.transforms.rows import constraints, keeps, text_of
from adhere.errors import UsageError

NAMES = [
    "concatenate", "curriculum", "hierarchy", "instruction_backtranslation", "length_aware", "length_matched",
    "minimal_difference", "pseudo_code", "refine", "reverse_preference", "sequential",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_transform_keeps_the_house_rules(name: str) -> None:
    keep_house_rules(name)


def test_length_matched_leaves_out_with_numbers() -> None:
    matched = transform("length_matched", PAIRS, "pairs", Settings(options={"share": 0.9}))
    assert [number for number, _ in matched.left_out] == [1, 2]


def test_curriculum_puts_few_constraints_first() -> None:
    assert [len(row["instruction_id_list"]) for row in transform("curriculum", RL, "rl").rows] == [1, 2, 3]


def test_a_transform_that_asks_a_model_says_so() -> None:
    with pytest.raises(UsageError, match="asks a model"):
        transform("refine", PAIRS, "pairs")


def test_reverse_preference_turns_what_is_not_kept() -> None:
    made = transform("reverse_preference", PAIRS, "pairs")
    assert [row["instruction_id_list"] for row in made.rows] == [["keywords:forbid"]]
    assert INCLUDE.describe(0) not in made.rows[0]["prompt"]
    assert dict(made.left_out) == {
        2: "its chosen answer breaks nothing",
        3: "its chosen answer breaks punctuation:no_commas, which has no opposite",
    }


def test_length_aware_counts_no_words_of_scripts_without_blanks() -> None:
    pair = PAIRS[0] | {"chosen": "天空是蓝色的，因为光会散射。", "rejected": "天空是蓝色的。"}
    left_out = transform("length_aware", [pair], "pairs", Settings(seed=5)).left_out
    assert left_out == [(1, "words cannot be counted in its answers' script")]


def test_length_aware_pairs_are_told_apart_by_length() -> None:
    made = transform("length_aware", PAIRS, "pairs", Settings(seed=5))
    for row in made.rows:
        assert row["instruction_id_list"][-1] in {"length:at_most", "length:at_least"}
        assert not keeps(text_of(row["rejected"]), constraints(row)[-1:])


def test_minimal_difference_edits_the_rejected_answer() -> None:
    made = transform("minimal_difference", PAIRS[1:2], "pairs").rows[0]
    assert made["origin"] == "repaired"
    assert made["chosen"].replace(",", "") == made["chosen"]
    assert set(made["chosen"].split()) <= {word.strip(",") for word in made["rejected"].split()} | {
        made["chosen"].split()[-1]
    }


def test_refine_searches_until_the_judge_is_content() -> None:
    asked: list[str] = []

    def model(requests: list[str]) -> list[str]:
        asked.extend(requests)
        return ["still, not" if len(asked) <= 3 else "They sail now"] * len(requests)

    made = transform("refine", PAIRS[1:2], "pairs", Settings(ask=model))
    assert made.rows[0]["chosen"] == "They sail now"
    assert len(asked) == 3 + 3
    assert "found" in asked[0]
    hopeless = transform("refine", PAIRS[1:2], "pairs", Settings(ask=lambda requests: ["no, never"] * len(requests)))
    assert hopeless.left_out == [(1, "no refinement keeps all constraints")]


def test_backtranslation_keeps_the_best_grade_only() -> None:
    made = transform("instruction_backtranslation", SFT, "sft", Settings(ask=grades))
    assert [row["instruction_id_list"] for row in made.rows] == [[], [], []]
    assert dict(made.left_out) == {2: "graded 3", 4: "its grade cannot be read: not one JSON object"}


def test_hierarchy_says_one_thing_above_and_the_other_below() -> None:
    made = transform("hierarchy", SFT[:1], "sft").rows[0]
    system, user = made["prompt"]
    assert INCLUDE.describe(0) in system["content"]
    assert INCLUDE.describe(0) not in user["content"]
    assert "river" in user["content"]
    assert made["completion"][0]["content"] == SFT[0]["completion"]
