"""Gates of a build are decided by intervals: worse fails with exit code 6, too few prompts to tell does not."""

from __future__ import annotations

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
from adhere.suites import Suite

RULE = ConstraintRef("case:lower", {})


def run_of(passing: int, of: int, out: Path, name: str) -> Run:
    suite = Suite("mine", "1", tuple(Prompt(f"p{at}", (Turn(f"Say {at}.", (RULE,)),)) for at in range(of)))
    kept = {f"Say {at}." for at in range(passing)}
    return adhere.evaluate(lambda prompt: "cats sleep" if prompt in kept else "CATS", suite, out, name=name)


@pytest.mark.parametrize(
    ("passing", "of", "least", "outcome"),
    [(0, 40, 0.5, "does not hold"), (40, 40, 0.5, "holds"), (20, 40, 0.5, "cannot tell"), (2, 4, 0.6, "cannot tell")],
)
def test_a_least_rate(passing: int, of: int, least: float, outcome: str, tmp_path: Path) -> None:
    found = gate_below(run_of(passing, of, tmp_path, "m"), least)
    assert found.outcome == outcome
    assert ("too few prompts" in found.why) == (outcome == "cannot tell")


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


def test_without_a_rate_nothing_is_held(tmp_path: Path) -> None:
    def broken(prompt: str) -> str:
        raise ConnectionError("gone")

    suite = Suite("mine", "1", (Prompt("p", (Turn("Hi", (RULE,)),)),))
    with pytest.raises(Incomplete, match="no rate to hold"):
        gate_below(adhere.evaluate(broken, suite, tmp_path), 0.5)
