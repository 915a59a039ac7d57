"""Gates of a build are decided by intervals: worse ends with exit code 6, too few prompts to tell with 3."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import adhere
from adhere.cli import adhere as program
from adhere.errors import GateError, Incomplete, UsageError
from adhere.pipeline.gates import gate_below, gate_worse
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.store.run import Run
from adhere.store.sharded import load_run
from adhere.suites import Suite

RULE = ConstraintRef("case:lower", {})


def run_of(passing: int, of: int, out: Path, name: str) -> Run:
    suite = Suite("mine", "1", tuple(Prompt(f"p{at}", (Turn(f"Say {at}.", (RULE,)),)) for at in range(of)))
    kept = {f"Say {at}." for at in range(passing)}
    return adhere.evaluate(lambda prompt: "cats sleep" if prompt in kept else "CATS", suite, out, name=name)


@pytest.mark.parametrize(
    ("passing", "of", "least", "outcome"),
    [(0, 40, 0.5, "does not hold"), (40, 40, 0.5, "holds"), (20, 40, 0.5, "cannot tell"), (2, 4, 0.6, "cannot tell"),
     (1, 4, 0.65, "cannot tell")],
)  # fmt: skip
def test_a_least_rate(passing: int, of: int, least: float, outcome: str, tmp_path: Path) -> None:
    found = gate_below(run_of(passing, of, tmp_path, "m"), least)
    assert found.outcome == outcome
    assert ("too few prompts" in found.why) == (outcome == "cannot tell")
    if of == 4:
        assert found.why.endswith(f"; about {49 if passing == 2 else 6} prompts would tell")
    elif outcome == "cannot tell":
        assert found.why.endswith("; the rates are too close for any number")


@pytest.mark.parametrize(
    ("passing", "before", "margin", "outcome"),
    [(10, 90, 0.02, "does not hold"), (90, 90, 0.05, "holds"), (88, 90, 0.02, "cannot tell"), (90, 10, 0.02, "holds")],
)
def test_not_worse_than_a_stored_run(passing: int, before: int, margin: float, outcome: str, tmp_path: Path) -> None:
    now, then = run_of(passing, 100, tmp_path, "now"), run_of(before, 100, tmp_path, "then")
    assert gate_worse(now, then, margin).outcome == outcome


def call(out: Path, *more: str) -> Result:
    command = ["eval", "scripted/fixed:thanks", "--suite", "core", "--limit", "30", "--out", str(out), *more]
    return CliRunner().invoke(program, command)


def test_from_the_command_line(tmp_path: Path) -> None:
    files = ["--junit", str(tmp_path / "gates.xml"), "--gates", str(tmp_path / "summary.md")]
    failed = call(tmp_path / "runs", "--fail-below", "0.99", *files)
    assert isinstance(failed.exception, GateError)
    assert failed.exception.exit_code == 6
    suite = ET.parse(tmp_path / "gates.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "❌ does not hold" in (tmp_path / "summary.md").read_text()
    assert call(tmp_path / "runs", "--fail-below", "0").exception is None
    (run,) = (tmp_path / "runs").iterdir()
    assert call(tmp_path / "runs", "--fail-if-worse-than", str(run), "--margin", "0.2").exception is None
    assert isinstance(call(tmp_path / "runs", *files).exception, UsageError)


def test_what_cannot_be_told_does_not_pass_unless_it_may(tmp_path: Path) -> None:
    """Neither as what holds nor as what does not: a code of its own."""
    (tmp_path / "runs").mkdir()
    call(tmp_path / "runs")
    (folder,) = (tmp_path / "runs").iterdir()
    rate = load_run(folder).summary().overall.prompt_strict.of_all
    asked = ["--fail-below", f"{rate + 0.01:.3f}", "--gates", str(tmp_path / "summary.md")]
    stopped = call(tmp_path / "runs", *asked)
    assert isinstance(stopped.exception, Incomplete)
    assert stopped.exception.exit_code == 3
    assert "--undecided pass" in str(stopped.exception)
    assert "❔ cannot tell" in (tmp_path / "summary.md").read_text()
    assert call(tmp_path / "runs", *asked, "--undecided", "pass").exception is None


def test_files_of_any_harness_are_held_by_compare(tmp_path: Path) -> None:
    """Here IFEval's own verdict files."""
    for name, passing in {"now": 10, "then": 90}.items():
        rows = [
            {"key": at, "index": 0, "instruction_id": "x:y", "strict": at < passing, "loose": at < passing}
            for at in range(100)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    now, then = str(tmp_path / "now.jsonl"), str(tmp_path / "then.jsonl")

    def compare(*words: str) -> Result:
        return CliRunner().invoke(program, ["compare", *words])

    failed = compare(now, then, "--fail-if-worse", "--junit", str(tmp_path / "gates.xml"))
    assert isinstance(failed.exception, GateError)
    assert ET.parse(tmp_path / "gates.xml").getroot().get("failures") == "1"
    assert compare(then, now, "--fail-if-worse").exception is None
    assert isinstance(compare(now, then, "--junit", str(tmp_path / "gates.xml")).exception, UsageError)


def test_without_a_rate_nothing_is_held(tmp_path: Path) -> None:
    def broken(prompt: str) -> str:
        raise ConnectionError("gone")

    suite = Suite("mine", "1", (Prompt("p", (Turn("Hi", (RULE,)),)),))
    with pytest.raises(Incomplete, match="no rate to hold"):
        gate_below(adhere.evaluate(broken, suite, tmp_path), 0.5)
