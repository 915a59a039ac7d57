"""The page of two runs opens with the paired difference, then the flips; the LaTeX table has the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import adhere
from adhere.cli import adhere as program
from adhere.errors import UsageError
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.store.run import Run
from adhere.suites import Suite, load

RULE = ConstraintRef("case:lower", {})
SUITE = Suite("mine_x", "1", tuple(Prompt(f"p{at}", (Turn(f"Say {at} & <b>.", (RULE,)),)) for at in range(40)))


def run_of(first: int, end: int, out: Path, name: str) -> Run:
    kept = {f"Say {at} & <b>." for at in range(first, end)}
    return adhere.evaluate(lambda prompt: "cats <i>sleep" if prompt in kept else "CATS", SUITE, out, name=name)


def test_the_difference_comes_first_and_flips_are_shown(tmp_path: Path) -> None:
    a, b = run_of(5, 40, tmp_path, "a_1"), run_of(0, 12, tmp_path, "b")
    html, latex = tmp_path / "page.html", tmp_path / "table.tex"
    done = CliRunner().invoke(
        program, ["compare", str(a.directory), str(b.directory), "--html", str(html), "--latex", str(latex)]
    )
    assert done.exception is None, done.output
    page = html.read_text()
    assert page.index("+57.5 points") < page.index("Prompts that flipped") < page.index("By slice")
    assert "28 gained, 5 lost" in page
    assert "Gained: 28, the first 10" in page
    assert "Lost: 5" in page
    assert "&lt;i&gt;sleep" in page
    assert "<i>sleep" not in page
    table = latex.read_text()
    assert r"a\_1 minus b on mine\_x" in table
    assert r"all & 40 & 87.5 & 30.0 & $+57.5$" in table
    assert "28/5" in table


def test_a_missing_file_of_a_suite_names_the_command() -> None:
    with pytest.raises(UsageError, match="adhere fetch suite:ifeval"):
        load("ifeval:nothere.jsonl")
