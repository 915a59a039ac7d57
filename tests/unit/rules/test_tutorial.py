"""The tutorial's commands print what it says, and the shipped hook and job are what the guide says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import GateError

ROOT = Path(__file__).parents[3]
TUTORIAL = ROOT / "docs/tutorials/rules.md"


def test_commands_print_what_the_tutorial_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    blocks = re.findall(r"```(\w*)\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    printed, n = "", 0
    for language, text in blocks:
        if language == "text":
            missing = [line for line in text.splitlines() if line.strip() and line not in printed]
            assert not missing, printed
            continue
        for line in text.splitlines():
            if not line.startswith("adhere "):
                continue
            found = CliRunner().invoke(adhere, shlex.split(line)[1:])
            printed, n = found.stdout.replace("\xa0", " "), n + 1
            if "--fail-below" in line:
                assert isinstance(found.exception, GateError)
            else:
                assert found.exit_code == 0, found.output
    assert n == 5
    assert (tmp_path / "page.html").is_file()


def test_the_hook_prints_what_a_session_broke(tmp_path: Path) -> None:
    (tmp_path / "adhere").write_text(f'#!/bin/sh\nexec {sys.executable} -m adhere "$@"\n')
    (tmp_path / "adhere").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    folder = ROOT / "examples/rules"

    def run(session: str, **more: bool) -> subprocess.CompletedProcess[str]:
        told = json.dumps({"transcript_path": str(folder / session), **more})
        return subprocess.run(
            ["sh", str(folder / "stop-hook.sh"), str(folder / "AGENTS.md")],
            input=told,
            capture_output=True,
            text=True,
            env=env,
            check=False,
        )

    hasty = run("hasty.jsonl")
    assert hasty.returncode == 2
    assert "Never edit `uv.lock` by hand." in hasty.stderr
    assert run("careful.jsonl").returncode == 0
    assert run("hasty.jsonl", stop_hook_active=True).returncode == 0
