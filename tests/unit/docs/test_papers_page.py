"""The page of papers: none is missing, every command parses, and what it names exists."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from adhere import suites
from adhere.build.transforms import TRANSFORMS
from adhere.cli import adhere
from adhere.models.wrap.names import known_methods, wrapped_form
from adhere.train.stages import STAGES

PLUGIN = tomllib.loads((Path(__file__).parents[3] / "examples/plugins/adhere-more/pyproject.toml").read_text())[
    "project"
]["entry-points"]

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "papers.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]
COMMANDS = sorted({row[4].strip("`") for row in ROWS if row[4] != "–"})


def test_no_paper_is_missing_or_without_an_answer() -> None:
    assert [int(row[0]) for row in ROWS] == [*range(1, 120)]
    for number, title, here, what, command, door in ROWS:
        assert title, number
        assert what, number
        assert here in {"runs", "part", "loads", "out"}, number
        assert (command == "–") == (here == "out"), f"{number}: what runs has a command"
        assert here != "out" or door != "–", f"{number}: what is out says through which door it would come"
    counts = {word: sum(row[2] == word for row in ROWS) for word in ("runs", "part", "loads", "out")}
    said = f"{counts['runs']} run, {counts['part']} run in part, {counts['loads']} are surveys, {counts['out']} are out"
    assert said in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("line", COMMANDS)
def test_its_commands_parse_and_name_what_exists(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("SFT", "PAIRS", "RECIPE.toml", "SPEC.toml"):
        (tmp_path / name).touch()
    (tmp_path / "RUN").mkdir()
    words = shlex.split(line)
    assert words.pop(0) == "adhere"
    command: click.Command = adhere
    context = click.Context(adhere)
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.make_context(
        str(command.name), [*words], parent=context.parent
    )  # raises where an option or a choice is unknown
    if "--suite" in words:
        suites.source_of(words[words.index("--suite") + 1].partition(":")[0])
    if command.name == "transform":
        assert words[0] in {*TRANSFORMS, *PLUGIN["adhere.transforms"]}
    wrapped = [word for word in words if word.endswith(")")]
    for word in wrapped:
        method, _ = wrapped_form(word) or ("", "")
        assert method in known_methods() or re.sub(r"\d+$", "N", method) in known_methods(), word


def test_stages_that_it_names_exist() -> None:
    named = {name for row in ROWS for name in re.findall(r"[Ss]tage `([\w-]+)`", row[3])}
    assert {"uft", "iopo", "hir", "continue"} <= named
    assert named <= {*STAGES, *PLUGIN["adhere.stages"]}
