"""`adhere.evaluate` and `adhere.compare`: what the command line does, from Python, on prompts of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import adhere
from adhere.errors import BadParameter, SpecError, UnknownName, UsageError
from adhere.models.fake.scripted import ScriptedModel

ROWS = [
    {"prompt": "Say hi.", "instruction_id_list": ["length:at_most"], "kwargs": [{"limit": 2, "keyword": None}]},
    {
        "prompt": "Say ho.",
        "constraints": [{"id": "length:at_most", "params": {"limit": 1}}, adhere.constraint("case:lower")],
    },
]


class Table:
    """What is asked of a DataFrame."""

    def to_dict(self, how: str) -> list[dict[str, Any]]:
        assert how == "records"
        return ROWS


@pytest.mark.parametrize("prompts", [ROWS, tuple(ROWS), Table()])
def test_prompts_of_ones_own(prompts: Any, tmp_path: Path) -> None:
    run = adhere.evaluate(ScriptedModel(lambda _: "hi there"), prompts, tmp_path)
    assert [
        (verdict.prompt_id, verdict.constraint_id, verdict.outcome)
        for verdict in run.verdicts()
        if verdict.view == "strict"
    ] == [("1", "length:at_most", "pass"), ("2", "length:at_most", "fail"), ("2", "case:lower", "pass")]
    assert adhere.evaluate("scripted/fixed:hi", prompts, tmp_path).summary().overall.prompt_strict.passed == 2


def test_a_file_of_ones_own_and_two_models_compared(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps({"key": n, **ROWS[0]}) + "\n" for n in range(8)))
    good = adhere.evaluate("scripted/fixed:hi", f"my:{file}", tmp_path / "runs")
    bad = adhere.evaluate("scripted/fixed:hi and ho", f"my:{file}", tmp_path / "runs")
    found = adhere.compare(good.directory, str(bad.directory))
    assert found.overall.difference == 1.0
    assert adhere.compare(good, bad) == found


@pytest.mark.parametrize(
    ("rows", "error", "why"),
    [
        ([], UsageError, "at least one prompt"),
        (7, UsageError, "got int"),
        (["Say hi."], UsageError, "Row 1: .*got str"),
        ([{"prompt": "x"}], SpecError, "row 1: .*no 'instruction_id_list'"),
        ([{"prompt": "x", "constraints": ["short"]}], SpecError, "row 1: .*'short'"),
        ([{"prompt": 5, "constraints": []}], SpecError, "must be a text, got int"),
        (
            [{"key": "a", "prompt": "x", "instruction_id_list": ["lenght:at_most"], "kwargs": [{}]}],
            UnknownName,
            "row 1: key 'a'",
        ),
        ([{"prompt": "x", "constraints": [{"id": "length:at_most", "params": {"limit": -1}}]}], BadParameter, "limit"),
    ],
)
def test_what_is_no_suite_is_said_with_its_row(rows: Any, error: type[Exception], why: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=why):
        adhere.evaluate("scripted/echo", rows, tmp_path)


def test_a_run_as_a_table(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = adhere.evaluate("scripted/fixed:hi there", ROWS, tmp_path).to_pandas()
    assert isinstance(table, pd.DataFrame)
    strict = table[table["view"] == "strict"]
    assert strict["outcome"].tolist() == ["pass", "fail", "pass"]
    assert strict["response"].tolist() == ["hi there"] * 3
