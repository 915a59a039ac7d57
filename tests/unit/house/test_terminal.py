"""Nothing that a server, a model or a file wrote acts on the terminal, whichever command prints it."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adhere
from adhere.progress import Bars, Lines
from adhere.terminal import json_text, one_line, plain, show

HOSTILE = "a\x1b[2Jb\x1b]52;c;aGk=\x07c\x9b31md\u202ee\x7ff\u200bg\U000e0041h\ud800"


def is_harmless(text: str) -> bool:
    return not any(char in text for char in "\x1b\x9b\x07\u202e\x7f\u200b\U000e0041\ud800")


def test_text_loses_what_a_terminal_acts_on() -> None:
    assert plain(HOSTILE) == "abcdefgh"
    assert plain("two\nlines\tand a tab") == "two\nlines and a tab"
    assert one_line("two\nlines") == "two lines"


def test_json_keeps_its_value() -> None:
    value = {"text": HOSTILE.replace("\ud800", ""), "lines": "a\nb"}
    document = json.dumps(value, ensure_ascii=False, indent=1).encode()
    printed = json_text(document)
    assert is_harmless(printed)
    assert json.loads(printed) == value


def test_show_takes_both(capsys: pytest.CaptureFixture[str]) -> None:
    show(HOSTILE)
    show(json.dumps([HOSTILE[:-1]], ensure_ascii=False).encode(), err=True)
    captured = capsys.readouterr()
    assert captured.out == "abcdefgh\n"
    assert is_harmless(captured.err)
    assert json.loads(captured.err) == [HOSTILE[:-1]]


def test_progress_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    lines = Lines(out, every_s=0)
    lines.say(HOSTILE)
    with lines.step(HOSTILE, 2, "answers") as step:
        step.advance(note=HOSTILE)
    assert is_harmless(out.getvalue())
    assert "abcdefgh: 1/2 answers" in out.getvalue()
    bars = Bars()
    bars.say(HOSTILE)
    with bars.step(HOSTILE, 2, "answers") as step:
        step.advance(note=HOSTILE)
    assert is_harmless(capsys.readouterr().err)


def test_no_command_prints_past_it() -> None:
    """`print` and `click.echo` stand in no command.

    The live display of a sweep writes to the stream that it was given.
    """
    folder = Path(adhere.__file__).parent / "cli"
    files = sorted(folder.glob("*.py"))
    assert len(files) >= 15
    found = []
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in {"click.echo", "click.secho"} or (called == "print" and file.name != "live.py"):
                found.append(f"{file.name}:{node.lineno}: {called}")
    assert found == []


def test_a_terminal_without_unicode_gets_question_marks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adhere", "eval", "scripted/echo", "--limit", "2", "--out", tmp_path],
        capture_output=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0, done.stderr
    assert b"???" in done.stdout
    assert b"prompts passed (strict)" in done.stdout
