"""What stands at the door says what is true.

Files that are named exist, versions and licences agree, workflows are YAML.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import adhere

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = ("CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/release.md")
HOMES = (ROOT, ROOT / "src" / "adhere", ROOT / "src" / "adhere" / "pipeline")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]*|[\w-]+\.(?:md|py|toml))`", text)) - {".venv/bin/python"}
    named |= {link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http")}
    named = {name for name in named if not name.startswith("../")}  # beside a clone, where nobody else has it
    missing = sorted(name for name in named if not any((home / name).exists() for home in HOMES))
    assert missing == []


def test_contributing_names_files() -> None:
    assert len(re.findall(r"`src/adhere/", (ROOT / "CONTRIBUTING.md").read_text())) >= 8


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "AGENTS.md", "docs/release.md"])
def test_make_targets_exist(page: str) -> None:
    targets = set(re.findall(r"^([\w.$()/-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {
        name
        for line in re.findall(r"(?:`|^)make ([a-z][a-z -]*)", (ROOT / page).read_text(), re.MULTILINE)
        for name in line.split()
    }
    assert used
    assert used <= targets


def test_citation_agrees_with_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (adhere.__version__, PROJECT["license"])


def test_workflows_and_hooks_are_readable() -> None:
    files = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) > 1, "workflows were found"
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text()), dict), file
    json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "guide" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "design"
    named = re.findall(r"^\| \[\d+\]\((.*?)\)", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert named == sorted(file.name for file in folder.glob("[0-9]*.md"))
