"""`adhere explain KIND` says what a kind means; `adhere list constraints PATTERN` finds it, a line each where it is piped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.constraints import registry
from adhere.constraints.published.shared import registry as published
from adhere.errors import UnknownName
from adhere.report.tables.kinds import explain_kind, kind_text


@pytest.mark.parametrize("name", ["length:at_most", "punctuation:no_commas", "keywords:existence"])
def test_a_kind_is_explained(name: str) -> None:
    done = CliRunner().invoke(adhere, ["explain", name])
    assert done.exception is None, done.output
    assert name in done.output
    (found,) = json.loads(CliRunner().invoke(adhere, ["explain", name, "--json"]).stdout)
    assert found["id"] == name
    assert found["wordings"]


def test_every_kind_can_be_explained() -> None:
    for name in {*registry, *published.ids()}:
        text = kind_text(explain_kind(name))
        assert name in text
    own = explain_kind("length:at_most")
    assert own["passing"]["reason"] != own["failing"]["reason"]
    assert any(explain_kind(name)["fixes"] for name in published.ids()), "defects of the published code are named"


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'length:at_most'"):
        explain_kind("lenght:at_most")
    with pytest.raises(UnknownName, match="punctuation has: punctuation:"):
        explain_kind("punctuation")


def test_a_pattern_finds_kinds_one_line_each() -> None:
    wanted = {"punctuation:no_comma", "punctuation:no_commas"}
    for pattern, more in (
        ("punctuation:no_comma*", set[str]()),
        ("no_comma", {f"{x}:punctuation:no_comma" for x in ("en", "es", "fr", "ja")}),
    ):
        lines = CliRunner(env={"COLUMNS": None}).invoke(adhere, ["list", "constraints", pattern]).stdout.splitlines()
        assert {line.split()[0] for line in lines[1:]} == wanted | more
    whole = CliRunner(env={"COLUMNS": None}).invoke(adhere, ["list", "constraints"]).stdout.splitlines()
    assert len(whole) == 1 + len(
        json.loads(CliRunner(env={"COLUMNS": None}).invoke(adhere, ["list", "constraints", "--json"]).stdout)
    )
    nothing = CliRunner(env={"COLUMNS": None}).invoke(adhere, ["list", "constraints", "nothing-like-it"])
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "No constraints like 'nothing-like-it'" in nothing.stderr


@pytest.mark.parametrize(
    ("option", "ours"), [("--tasks", "--suite"), ("--output", "--out"), ("--model", "adhere eval MODEL")]
)
def test_words_of_other_tools_are_answered_with_ours(option: str, ours: str) -> None:
    command = [sys.executable, "-m", "adhere", "eval", "scripted/echo", option, "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"No such option: {option}. Here it is" in done.stderr
    assert ours in done.stderr


def test_short_options(tmp_path: Path) -> None:
    done = CliRunner().invoke(adhere, ["eval", "scripted/echo", "-n", "2", "-o", str(tmp_path)])
    assert done.exception is None, done.output
    assert len(list(tmp_path.iterdir())) == 1
