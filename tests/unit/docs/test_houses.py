"""The page of trainers is what `houses.toml` says, every command in it stands in a guide or a module, `doctor` says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import UnknownName
from adhere.integrations.houses import HOUSES, house_of, page

ROOT = Path(__file__).parents[3]


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/reference/houses.md").read_text() == page(), "write it: integrations.houses.page()"


def test_every_house_with_a_package_is_held_against_it() -> None:
    for house in HOUSES:
        tests = ROOT / f"tests/houses/test_{house.name.replace('-', '_')}.py"
        covered = tests.exists() or house.name == "trl"  # which the default tests run
        assert covered == bool(house.package), house.name
        assert all(door.how == "read" for door in house.doors) == (not house.package), "not installable: not run"


def test_doctor_says_what_was_tested_and_what_is_here() -> None:
    found = json.loads(CliRunner().invoke(adhere, ["doctor", "--trainer", "trl", "--json"]).stdout)
    assert found["tested"] == house_of("trl").tested
    assert set(found) >= {"installed", "doors", "date", "python"}
    said = CliRunner().invoke(adhere, ["doctor", "--trainer", "prime-rl"]).stdout
    assert "on no package index" in said
    with pytest.raises(UnknownName, match="Did you mean 'verl'"):
        house_of("vrl")


def test_no_guide_names_what_newer_releases_dropped() -> None:
    """Each was documented, and failed on the release of its day."""
    dropped = (
        "vf.Rubric(funcs",
        "--remote_rm_url",
        "--label_key label",
        " custom_reward_function.path",
        "end_tokens=tokenizer.eos_token_id)",
    )
    for path in (
        *ROOT.glob("docs/guide/*.md"),
        *ROOT.glob("docs/tutorials/*.md"),
        *ROOT.glob("src/adhere/integrations/**/*.py"),
    ):
        text = path.read_text()
        found = [one for one in dropped if one in text]
        assert not found, (path.name, found)
        for line in text.splitlines():
            if "vf-eval adhere_if --" in line and "subprocess" not in text[text.index(line) : text.index(line) + 400]:
                pytest.fail(f"{path.name}: {line.strip()[:100]} asks to log in")
