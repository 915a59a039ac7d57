"""`adhere rules`: the contract's JSON, the page, gates, pairs, and the words compile and list."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.rules.stories import chat, claude, codex, edit, run, say, user

from adhere.cli.rules import command
from adhere.errors import GateError, Incomplete, UsageError

RULES = """# Guide

- Always run the tests before committing.
- Never edit `uv.lock`.
- Use `uv` instead of `pip`.
- Write simple code.
"""
GOOD = [
    user("Fix the sum"),
    edit("src/a.py", "x", "y"),
    run("pytest", "3 passed"),
    run("git commit -m x"),
    say("Done."),
]
BAD = [
    user("Fix the sum"),
    edit("uv.lock", "x", "y"),
    run("git commit -m x"),
    run("pip install y"),
    say("All rules kept."),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "AGENTS.md").write_text(RULES)
    (tmp_path / "good.jsonl").write_text(claude(GOOD))
    (tmp_path / "bad.jsonl").write_text(codex(BAD))
    return tmp_path


def _run(*words: Any) -> Any:
    return CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)


def test_json_is_the_contract(folder: Path) -> None:
    out = json.loads(_run(folder / "AGENTS.md", folder / "good.jsonl", folder / "bad.jsonl", "--json").stdout)
    assert [set(one) >= {"id", "quote", "file", "line", "check"} for one in out["rules"]] == [True] * 4
    assert out["rules"][3]["check"] is None
    assert out["rules"][0]["file"] == "AGENTS.md"
    assert out["rules"][0]["line"] == 3
    verdicts = {(one["rule"], Path(one["session"]).name): one for one in out["verdicts"]}
    outcomes = {key: one["outcome"] for key, one in verdicts.items()}
    names = [one["id"] for one in out["rules"][:3]]
    assert [outcomes[name, "good.jsonl"] for name in names] == ["kept", "kept", "untriggered"]
    assert [outcomes[name, "bad.jsonl"] for name in names] == ["broken", "broken", "broken"]
    place = verdicts[names[1], "bad.jsonl"]["evidence"][0]
    assert (
        json.loads((folder / "bad.jsonl").read_text().splitlines()[place["line"] - 1])["payload"]["name"]
        == "apply_patch"
    )
    assert out["rates"]["overall"]["kept"] == 2
    assert out["rates"]["overall"]["broken"] == 3
    assert {one["name"] for one in out["rates"]["by_agent"]} == {"claude-code", "codex"}


def test_the_text_says_where(folder: Path) -> None:
    out = _run(folder / "AGENTS.md", folder / "bad.jsonl").stdout
    assert "0.0\xa0% kept" in out or "0.0 % kept" in out
    assert "uv.lock was changed" in out
    assert "AGENTS.md:6" in out  # no program decides


def test_compile_and_list(folder: Path) -> None:
    out = _run("compile", folder / "AGENTS.md").stdout
    (folder / "rules.toml").write_text(out)
    listed = _run("list", folder / "rules.toml").stdout
    assert "before" in listed
    assert "about" in listed
    again = json.loads(_run(folder / "rules.toml", folder / "bad.jsonl", "--json").stdout)
    assert [one["outcome"] for one in again["verdicts"]] == ["broken"] * 3
    with pytest.raises(UsageError, match="one rule file"):
        _run("list")


def test_the_gate_fails_a_build_and_writes_junit(folder: Path) -> None:
    junit = folder / "junit.xml"
    with pytest.raises(GateError, match="below 100"):
        _run(folder / "AGENTS.md", folder / "bad.jsonl", "--fail-below", 1, "--junit", junit)
    assert "<failure" in junit.read_text()
    _run(folder / "AGENTS.md", folder / "good.jsonl", "--fail-below", 1)
    (folder / "idle.jsonl").write_text(claude([user("hi"), say("hello")]))
    with pytest.raises(Incomplete, match="no rate"):
        _run(folder / "AGENTS.md", folder / "idle.jsonl", "--fail-below", 0.5)
    with pytest.raises(UsageError, match="--fail-below"):
        _run(folder / "AGENTS.md", folder / "good.jsonl", "--junit", junit)


def test_two_sets_are_paired_by_task(folder: Path) -> None:
    for number in range(4):
        task = user(f"Task {number}")
        (folder / f"a{number}.jsonl").write_text(claude([task, *GOOD[1:]]))
        (folder / f"b{number}.jsonl").write_text(claude([task, *BAD[1:]]))
    ours, theirs = sorted(folder.glob("a?.jsonl")), sorted(folder.glob("b?.jsonl"))
    out = json.loads(_run(folder / "AGENTS.md", *ours, "--against", *theirs, "--json").stdout)
    first = out["against"]["pairs"][0]
    assert (first["tasks"], first["pairs"], first["difference"]) == (4, 8, 1.0)


def test_tasks_are_matched_by_what_brings_most_sessions_together(folder: Path) -> None:
    for number in range(4):  # every session is begun by the same words, so files name the tasks
        for arm, steps in (("ours", GOOD), ("theirs", BAD)):
            (folder / arm).mkdir(exist_ok=True)
            (folder / arm / f"t{number}.jsonl").write_text(claude([user("Do TASK.md"), *steps[1:]]))
    out = json.loads(_run(folder / "AGENTS.md", folder / "ours", "--against", folder / "theirs", "--json").stdout)
    assert (out["against"]["tasks_by"], out["against"]["pairs"][0]["tasks"]) == ("file", 4)
    assert {one["task"] for one in out["sessions"]} == {"t0", "t1", "t2", "t3"}
    for number in range(4):  # names of files that say nothing, and ids that do
        for arm, steps in (("ours", GOOD), ("theirs", BAD)):
            row = {**json.loads(chat([user("Do TASK.md"), *steps[1:]])), "task": f"id-{number}", "solved": number < 3}
            (folder / arm / f"t{number}.jsonl").unlink()
            (folder / arm / f"{arm}-{number}.jsonl").write_text(json.dumps(row) + "\n")
    out = json.loads(_run(folder / "AGENTS.md", folder / "ours", "--against", folder / "theirs", "--json").stdout)
    assert (out["against"]["tasks_by"], out["against"]["pairs"][0]["tasks"]) == ("id", 4)
    assert (out["rates"]["solved"]["sessions"], out["rates"]["overall"]["sessions"]) == (3, 4)


def test_the_page_shows_every_verdict_and_no_markup_of_a_session(folder: Path) -> None:
    (folder / "evil.jsonl").write_text(claude([user("x"), run("git commit -m '<script>alert(1)</script>'"), say("ok")]))
    _run(folder / "AGENTS.md", folder / "bad.jsonl", folder / "evil.jsonl", "--html", folder / "p.html")
    page = (folder / "p.html").read_text()
    assert "<script>alert" not in page
    assert page.count('class="broken"') >= 4
    assert 'href="#r1s2"' in page
    assert 'id="r1s2"' in page


def test_sessions_are_found_in_the_tools_folders(folder: Path) -> None:
    with pytest.raises(UsageError, match="no session was given"):
        _run(folder / "AGENTS.md")
    munged = "".join(char if char.isalnum() else "-" for char in str(folder.resolve()))
    own = folder / "home/.claude/projects" / munged
    own.mkdir(parents=True)
    (own / "s.jsonl").write_text(claude(BAD))
    out = json.loads(_run(folder / "AGENTS.md", "--json").stdout)
    assert [Path(one["session"]).name for one in out["sessions"]] == ["s.jsonl"]


def test_a_rule_that_came_later_was_not_there(folder: Path) -> None:
    def git(*words: str, when: str = "2026-09-01T00:00:00Z") -> None:
        env = {
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=folder,
            check=True,
            capture_output=True,
            env=env,
        )

    git("init", "-q")
    (folder / "AGENTS.md").write_text(RULES.replace("- Never edit `uv.lock`.\n", ""))
    git("add", "AGENTS.md")
    git("commit", "-qm", "first")
    (folder / "AGENTS.md").write_text(RULES)
    git("add", "AGENTS.md")
    git("commit", "-qm", "later", when="2026-11-01T00:00:00Z")
    out = json.loads(_run(folder / "AGENTS.md", folder / "bad.jsonl", "--json").stdout)  # of October 2026
    assert [one["outcome"] for one in out["verdicts"]] == ["broken", "untriggered", "broken"]
    assert "was not in AGENTS.md" in out["verdicts"][1]["reason"]
    assert out["sessions"][0]["rules_version"] == "git"


def test_a_file_called_compile_has_a_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "compile").write_text(RULES)
    out = json.loads(_run("./compile", "bad.jsonl", "--json").stdout)
    assert len(out["verdicts"]) == 3
