"""A plug-in's verifier in a thread can be stopped whatever it does, and is the same verifier."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adhere.constraints import Finding, limit
from adhere.pipeline.judge import Judge

sys.path.insert(0, str(Path(__file__).parent))
from slow_plugin import SlowPlugin


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "LIMIT_S", 0.3)
    monkeypatch.setattr(limit, "WAIT_S", 5.0)  # on the clock: a busy machine does nothing for seconds
    monkeypatch.setattr(limit, "LOOK_S", 0.05)


@pytest.fixture
def in_a_thread() -> Iterator[Callable[[str], Finding]]:
    judge = Judge.of([SlowPlugin()])
    with ThreadPoolExecutor(1) as pool:
        yield lambda text: pool.submit(judge.findings, text).result(timeout=60)[0][0]


@pytest.mark.parametrize("text", ["regex", "sleep"])
def test_what_cannot_be_interrupted_is_ended(in_a_thread: Callable[[str], Finding], text: str) -> None:
    assert in_a_thread("fine").outcome == "pass"
    late = in_a_thread(text)
    assert late.outcome == "undecided"
    assert "took longer than" in late.reason
    assert in_a_thread("fine").outcome == "pass"  # and the next answer is judged


def test_it_runs_elsewhere_and_says_the_same(in_a_thread: Callable[[str], Finding]) -> None:
    first, second = in_a_thread("fine"), in_a_thread("print")
    assert first == second == Finding("pass", "looked", measured=first.measured)
    assert first.measured != os.getpid()
    assert (
        Judge.of([SlowPlugin()]).findings("fine")[0][0].measured == os.getpid()
    )  # in the main thread nothing is isolated


@pytest.mark.parametrize(("text", "said"), [("raise", "KeyError: 'missing'"), ("die", "EOFError")])
def test_what_it_raises_is_told(in_a_thread: Callable[[str], Finding], text: str, said: str) -> None:
    finding = in_a_thread(text)
    assert finding.outcome == "undecided"
    assert said in finding.reason
    assert in_a_thread("fine").outcome == "pass"


def test_a_long_text_arrives_whole(in_a_thread: Callable[[str], Finding]) -> None:
    assert in_a_thread("fine " * 200_000).outcome == "pass"


def test_a_class_that_no_process_can_import_runs_in_the_thread() -> None:
    @dataclasses.dataclass(frozen=True)
    class Local(SlowPlugin):
        def check(self, text: str) -> Any:
            return Finding("pass", "looked", measured=os.getpid())

    with ThreadPoolExecutor(1) as pool:
        finding = pool.submit(Judge.of([Local()]).findings, "fine").result()[0][0]
    assert finding.measured == os.getpid()
