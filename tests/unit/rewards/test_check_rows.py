"""Rows are looked at before hours are spent: what cannot be judged is named by row, what nothing decides is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import adhere
from adhere.environments import Environment
from adhere.errors import UnknownName, UsageError
from adhere.rewards.check import check_rows
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites import Suite

GOOD = {"prompt": "Say it.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]}
UNDECIDABLE = {**GOOD, "instruction_id_list": ["keywords:letter_frequency"], "kwargs": [{"letter": "#"}]}
NOTHING = {**GOOD, "instruction_id_list": [], "kwargs": []}
LABELS: list[dict[str, Any]] = [
    {"ground_truth": "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]"},
    {"label": json.dumps(GOOD)},
    {"reward_model": {"ground_truth": json.dumps(GOOD)}},
    {"info": GOOD, "answer": ""},
    {**GOOD, "kwargs": '[{"num_words": null}]'},
]


def test_what_no_answer_decides_is_dropped_and_counted() -> None:
    checked = adhere.check_rows([GOOD, UNDECIDABLE, GOOD, NOTHING])
    assert checked.dataset == [GOOD, GOOD]
    assert (checked.checked, checked.kept) == (4, 2)
    assert [place for place, _ in checked.dropped] == [1, 3]
    assert str(checked).splitlines()[0] == "4 rows: 2 kept, 2 dropped"
    assert "no answer decides keywords:letter_frequency" in str(checked)
    rows = [GOOD] * 3
    assert check_rows(rows).dataset is rows


@pytest.mark.parametrize("row", LABELS)
def test_constraints_are_found_where_trainers_have_them(row: dict[str, Any]) -> None:
    assert check_rows([row]).kept == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({**GOOD, "instruction_id_list": ["punctuation:no_coma"]}, r"row 1: .*no_coma.*Did you mean"),
    ({**GOOD, "instruction_id_list": ["length:at_least"], "kwargs": [{"at_least": 3}]}, "row 1: .*at_least"),
    ({**GOOD, "kwargs": []}, "row 1: instruction_id_list names 1 constraints"),
    ({"prompt": "q", "instruction_id_list": ["punctuation:no_comma"]}, "no kwargs. Its columns: prompt, instruction_id_list"),
    ({"prompt": "q", "answer": "42"}, "names no constraints.*Its columns: prompt, answer"),
    ("a text", "no mapping of columns"),  # type: ignore[list-item]
]  # fmt: skip


@pytest.mark.parametrize(("row", "said"), WRONG)
def test_what_cannot_be_judged_is_named_by_row(row: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        check_rows([GOOD, row])
    with pytest.raises(UsageError, match=said):
        adhere.judge_reward(rows=[GOOD, row])
    if isinstance(row, dict):
        (tmp_path / "rl.jsonl").write_text(json.dumps(GOOD) + "\n" + json.dumps(row))
        with pytest.raises(UsageError, match=said):
            check_rows(tmp_path / "rl.jsonl")


def test_every_wrong_row_is_counted_and_the_first_are_shown() -> None:
    with pytest.raises(UsageError, match=r"(?s)9 of 10 rows cannot be judged:\nrow 1: .*… and 4 more"):
        check_rows([GOOD, *[WRONG[0][0]] * 9])
    with pytest.raises(UsageError, match="there are no rows"):
        check_rows([])
    with pytest.raises(UsageError, match=r"has no prompt, which traps=True needs"):
        check_rows([{**GOOD, "prompt": None}], traps=True)


def test_data_sets_come_back_as_what_they_are() -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([GOOD, NOTHING])
    checked = check_rows(rows)
    assert isinstance(checked.dataset, datasets.Dataset)
    assert checked.dataset["prompt"][:] == ["Say it."]
    with pytest.raises(UsageError, match="Take one of its splits: train"):
        check_rows(datasets.DatasetDict({"train": rows}))
    assert type(check_rows(rows.to_pandas()).dataset).__name__ == "DataFrame"


def test_an_environment_names_the_prompt_that_nobody_can_judge_when_it_is_made() -> None:
    suite = Suite("mine", "1", (Prompt("p7", (Turn("Say.", (ConstraintRef("punctuation:no_coma"),)),)),))
    with pytest.raises(UnknownName, match=r"prompt 'p7': .*no_coma"):
        Environment(suite)
