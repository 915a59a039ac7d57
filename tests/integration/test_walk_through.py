"""A stranger follows docs/guide/adding.md to the letter: what it tells works, and changes as many files as it says."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "adding.md"
STEP = re.compile(
    r"^`([^`\n]+)` \((new file|at the end|above `.+?`|below `.+?`|instead of `.+?`)\):\n\n```\w+\n(.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMANDS = re.compile(r"^```\n((?:python .*\n)+)```$", re.MULTILINE)


def chapter(title: str) -> str:
    return GUIDE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def apply(text: str, how: str, path: Path) -> None:
    """One step of the guide, as a person would take it."""
    if how == "new file":
        path.parent.mkdir(exist_ok=True)
        assert not path.exists()
        path.write_text(text, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if how == "at the end":
        lines += ["\n\n", text]
    else:
        word, needle = how.removesuffix("`").split(" `", maxsplit=1)
        at = next(number for number, line in enumerate(lines) if line.startswith(needle))
        if word == "below":  # a heading and its empty line
            at += 2
        lines[at : at + (word == "instead of")] = [text]
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    subprocess.run(["cp", "--parents", "-P", "-t", tmp_path, *filter(None, listed.split("\0"))], cwd=ROOT, check=True)
    return tmp_path


def hashes(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and not re.search(r"/(\.|__pycache__)", file.as_posix().removeprefix(folder.as_posix()))
    }


@pytest.fixture
def run(clone: Path) -> Callable[[str], str]:
    environment = {**os.environ, "PYTHONPATH": str(clone / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run_in(command: str) -> str:
        words = [sys.executable, *shlex.split(command)[1:]]
        done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
        return done.stdout

    return run_in


@pytest.mark.parametrize(
    ("title", "most", "made"),
    [
        ("A kind of constraint", 4, {"docs/reference/constraints.md", "tests/unit/study/computed/kinds.json"}),
        ("A published suite", 5, set()),
        ("A provider", 3, set()),
        ("A training method", 5, {"tests/unit/study/computed/methods.json"}),
        ("A page", 5, set()),
    ],
)
def test_following_the_guide(title: str, most: int, made: set[str], clone: Path, run: Callable[[str], str]) -> None:
    before = hashes(clone)
    steps = STEP.findall(chapter(title))
    for path, how, text in steps:
        apply(text, how, clone / path)
    if "computed" in chapter(title):
        pytest.importorskip("torch", reason="what a kind or a method computes is stored with torch")
    commands = [line for block in COMMANDS.findall(chapter(title)) for line in block.splitlines()]
    assert any("pytest" in command for command in commands)
    for command in commands:
        printed = run(command)
        assert "pytest" not in command or re.search(r"[1-9]\d* passed", printed)
    after = hashes(clone)
    changed = {file for file in before | after if before.get(file) != after.get(file)}
    assert changed == {path for path, _, _ in steps} | made
    assert len(changed) <= most
    assert f"| {title.replace('A ', 'a ')} | {len(changed)} |" in GUIDE.read_text(encoding="utf-8")
    written = " ".join(path for path in changed if path.endswith(".py"))
    run(f"python -m ruff check -q {written}")
    run(f"python -m ruff format --check -q {written}")
