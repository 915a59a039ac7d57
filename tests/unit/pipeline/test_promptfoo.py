"""promptfoo's output as one side of a comparison and under a gate; the layout is what promptfoo 0.121.20 wrote here."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import SpecError, UsageError
from adhere.verify.imports import read_import
from adhere.verify.stored import read_outcomes
from command_line import run_here


def result(name: str, *, success: bool, test: int = 0, broken: bool = False, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "cost": 0, "id": "be4f0b2c", "latencyMs": 43, "namedScores": {"accuracy": 0.25},
        "prompt": {"raw": f"Say hello to {name}.", "label": "Say hello to {{name}}.", "config": {}},
        "promptId": "177c7faa", "promptIdx": 0, "provider": {"id": "echo", "label": "parrot"},
        "response": {"output": f"Say hello to {name}.", "raw": f"Say hello to {name}.", "cached": False},
        "score": 1 if success else 0.5, "success": success, "testIdx": test, "vars": {"name": name},
        "testCase": {"vars": {"name": name}, "assert": [{"type": "contains", "value": "Ada"}], "metadata": {}},
        "gradingResult": {"pass": success, "score": 1 if success else 0.5, "reason": "because"},
        "failureReason": 0 if success else 1,
    }  # fmt: skip
    if not success:
        row["error"] = 'Expected output to contain "Ada"'
    if broken:
        row |= {"success": False, "score": 0, "error": "Error: Command failed", "failureReason": 2}
        row |= {"gradingResult": None, "namedScores": {}}
        del row["response"]
    return row | more


def document(path: Path, rows: list[dict[str, Any]]) -> Path:
    whole = {
        "evalId": "eval-xwf", "results": {"version": 3, "timestamp": "", "prompts": [], "results": rows, "stats": {}},
        "config": {}, "shareableUrl": None, "metadata": {"promptfooVersion": "0.121.20"},
    }  # fmt: skip
    path.write_text(json.dumps(whole) if path.suffix == ".json" else "\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_both_forms_say_the_same(name: str, tmp_path: Path) -> None:
    rows = [result("Ada", success=True), result("Bob", success=False, test=1), result("Ada", success=False, test=2)]
    found = read_import(document(tmp_path / name, rows))
    assert found is not None
    assert (found.harness, found.model, found.task) == ("promptfoo", "parrot", "out")
    assert [(one.draw, one.status, one.response, one.prompt) for one in found.answers] == [
        (0, "ok", "Say hello to Ada.", "Say hello to Ada."),
        (0, "ok", "Say hello to Bob.", "Say hello to Bob."),
        (1, "ok", "Say hello to Ada.", "Say hello to Ada."),  # a repetition of the first test
    ]
    assert found.answers[1].scores == {"success": 0.0, "score": 0.5, "accuracy (named)": 0.25}
    outcomes = read_outcomes(tmp_path / name)
    assert outcomes.measure == "promptfoo's success"  # not the user's metric, whatever it is called
    assert sorted(outcomes.rates.values()) == [0.0, 0.5]  # type: ignore[type-var]


def test_a_call_or_a_grader_that_failed_was_not_measured(tmp_path: Path) -> None:
    old = result("Cy", success=False, broken=True, test=3)
    del old["failureReason"]  # before promptfoo 0.100 there is none
    rows = [result("Ada", success=True), result("Bob", success=False, broken=True, test=1), old]
    assert list(read_outcomes(document(tmp_path / "out.json", rows)).rates.values()) == [1.0, None, None]


def test_several_columns_are_refused_and_named(tmp_path: Path) -> None:
    rows = [result("Ada", success=True), result("Ada", success=True, provider={"id": "openai:gpt-4o-mini"})]
    with pytest.raises(UsageError, match=r"2 columns \(parrot with .*; openai:gpt-4o-mini with .*--filter-providers"):
        read_import(document(tmp_path / "out.json", rows))
    with pytest.raises(SpecError, match=r"out.jsonl:1: not a result of promptfoo: .*'yes'"):
        read_import(document(tmp_path / "out.jsonl", [result("Ada", success=True) | {"success": "yes"}]))
    assert read_import(document(tmp_path / "other.json", [{"success": True}])) is None


def test_gates_hold_files_by_the_interval(tmp_path: Path) -> None:
    good = document(tmp_path / "good.json", [result(f"n{i}", success=i > 2, test=i) for i in range(120)])
    bad = document(tmp_path / "bad.jsonl", [result(f"n{i}", success=i > 40, test=i) for i in range(120)])
    few = document(tmp_path / "few.jsonl", [result(f"n{i}", success=i > 1, test=i) for i in range(6)])
    assert run_here("compare", str(good), "--fail-below", "0.9").returncode == 0
    junit, summary = tmp_path / "gates.xml", tmp_path / "summary.md"
    files = ["--junit", str(junit), "--gates", str(summary)]
    found = run_here("compare", str(bad), "--fail-below", "0.9", *files)
    assert found.returncode == 6
    assert "65.8 % of 120 prompts passed" in found.stdout
    assert ET.parse(junit).getroot().get("failures") == "1"
    found = run_here("compare", str(few), "--fail-below", "0.7", *files)
    assert found.returncode == 3
    assert ET.parse(junit).getroot().get("skipped") == "1"
    assert [line.split("|")[3].strip() for line in summary.read_text().splitlines() if "fail-below" in line] == [
        "❌ does not hold",
        "❔ cannot tell",
    ]
    both = ["--fail-if-worse", "--margin", "0.05", "--fail-below", "0.5"]
    found = run_here("compare", str(bad), str(good), *both, *files)
    assert found.returncode == 6
    assert "not worse than" in found.stderr
    assert (ET.parse(junit).getroot().get("tests"), ET.parse(junit).getroot().get("failures")) == ("2", "1")
    assert run_here("compare", str(good), "--fail-if-worse").returncode == 2
    scored = run_here("compare", str(good), "--fail-below", "0.2", "--score", "accuracy (named)")
    assert "25.0 % of 120" in scored.stdout
