"""Progress goes to its own stream, as lines where there is no terminal."""

from __future__ import annotations

import io
import time

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


def test_what_the_first_answer_waited_for_is_no_pace(monkeypatch) -> None:
    """The last 100 of 1,000: the first answer after 60 s, then one a second.

    The first estimates are near the truth or not made.
    """
    clock = [0.0]
    monkeypatch.setattr("adhere.progress.time.monotonic", lambda: clock[0])
    out = io.StringIO()
    with Lines(out, every_s=0.0).step("answers", 1000, done=900) as step:
        clock[0] = 60.0
        step.advance()
        for _ in range(20):
            clock[0] += 1.0
            step.advance()
    lines = out.getvalue().splitlines()
    assert "left" not in lines[0]
    said = [float(line.split(", ")[1].removesuffix(" s left")) for line in lines if "left" in line]
    assert len(said) == 16
    assert max(said) <= 100


def test_a_wait_is_said(monkeypatch) -> None:
    """Where nothing comes, a line says so: nobody looks at a silent terminal for a quarter of an hour."""
    monkeypatch.setattr("adhere.progress.WAITING_S", 0.05)
    out = io.StringIO()
    with Lines(out).step("answers", 3, "answers"):
        for _ in range(200):
            time.sleep(0.01)
            if "nothing for" in out.getvalue():
                break
    assert "answers: 0/3 answers, nothing for" in out.getvalue()
