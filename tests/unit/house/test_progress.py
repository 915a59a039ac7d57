"""Progress goes to its own stream, as lines where there is no terminal."""

from __future__ import annotations

import io

from adhere.progress import Lines, Silent


def test_lines_say_how_far_and_how_long() -> None:
    out = io.StringIO()
    with Lines(out, every_s=0.0).step("drawing", 10, "answers") as step:
        step.advance(4, "reward 0.5")
    assert "drawing: 4/10 answers" in out.getvalue()
    assert "s left" in out.getvalue()
    assert "reward 0.5" in out.getvalue()


def test_lines_without_a_total_promise_nothing() -> None:
    out = io.StringIO()
    with Lines(out, every_s=0.0).step("statistics", None) as step:
        step.advance()
    assert "left" not in out.getvalue()


def test_silent_is_silent(capsys) -> None:
    progress = Silent()
    progress.say("x")
    with progress.step("a", 3) as step:
        step.advance()
    assert capsys.readouterr() == ("", "")
