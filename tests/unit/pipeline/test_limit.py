"""A verifier that takes too long is undecided, whatever it does.

In the main thread, in others and in worker processes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Self

import pytest

import adhere
from adhere.constraints import Constraint, Finding, limit
from adhere.constraints.published.shared.registry import Kind, PublishedConstraint
from adhere.pipeline.judge import Judge

EXPONENTIAL = re.compile(r"(a+)+$")


def _spin() -> None:
    while True:
        pass


def _swallow() -> None:
    while True:
        with contextlib.suppress(Exception):
            _spin()


WORK: dict[str, Callable[[], Any]] = {
    "spin": _spin,
    "swallow": _swallow,
    "sleep": lambda: time.sleep(600),
    "regex": lambda: EXPONENTIAL.match("a" * 60 + "b"),
}


@dataclasses.dataclass(frozen=True)
class Slow(Constraint):
    """Works for ever on a text that names a kind of work."""

    id: ClassVar[str] = "test:slow"
    phrasings: ClassVar[tuple[str, ...]] = ("Be quick.", "Be fast.")

    def check(self, text: str) -> Finding:
        for name, work in WORK.items():
            if text.startswith(name):
                work()
        return Finding("pass", "looked")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls()

    def witness(self) -> str:
        return "quick"

    def counter_witness(self) -> str:
        return "slow"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limit, "LIMIT_S", 0.2)
    monkeypatch.setattr(limit, "WAIT_S", 0.4)
    monkeypatch.setattr(limit, "LOOK_S", 0.05)
    monkeypatch.setattr("adhere.pipeline.judge.LIMIT_S", 0.2)
    yield
    assert all(clock.struck is None for clock in limit._Watch.of_this_process().clocks)


def slow_published() -> PublishedConstraint:
    kind = Kind(
        "punctuation:no_comma", ("ifeval",), {}, compile=lambda _: lambda _: pytest.fail("not called"), describe=str
    )
    return PublishedConstraint(kind, {}, lambda text: WORK[text.raw.split()[0]]() or Finding("pass", "looked"))


def assert_late(found: tuple[Finding, Finding]) -> None:
    for finding in found:
        assert finding.outcome == "undecided"
        assert "took longer than 0.2 s on this answer" in finding.reason


@pytest.mark.parametrize("name", WORK)
def test_in_the_main_thread(name: str) -> None:
    judge = Judge.of([Slow(), adhere.constraint("punctuation:no_commas"), slow_published()])
    own, commas, published = judge.findings(f"{name} it")
    assert_late(own)
    assert_late(published)
    assert commas[0].outcome == "pass"  # the others are judged all the same
    assert Judge.of([Slow()]).findings("fine")[0][0].outcome == "pass"


@pytest.mark.parametrize("name", ["spin", "swallow"])
def test_in_other_threads(name: str) -> None:
    judge = Judge.of([Slow(), slow_published()])
    with ThreadPoolExecutor(3) as pool:
        late, other, fine = pool.map(judge.findings, [f"{name} a", f"{name} b", f"{name} c"])
        for found in (*late, *other, *fine):
            assert_late(found)
        assert [pool.submit(lambda: 7).result() for _ in range(6)] == [7] * 6  # nothing is raised later


def test_only_the_verifier_that_is_slow_is_stopped() -> None:
    """Many quick verifiers together take longer than the limit of one."""
    judge, began = Judge.of([Slow()]), time.process_time()
    while time.process_time() - began < 0.6:
        assert judge.findings("fine")[0][0].outcome == "pass"


def test_a_strict_failure_stays_known_when_the_loose_view_is_late() -> None:
    class Stuck(Slow):
        def check(self, text: str) -> Finding:
            if text.startswith("first"):
                return Finding("fail", "seen")
            return super().check(text)

    strict, loose = Judge.of([Stuck()]).findings("first\nspin\nlast")[0]
    assert strict == Finding("fail", "seen")
    assert loose.outcome == "undecided"


def test_what_interrupts_a_person_still_does() -> None:
    class Interrupted(Slow):
        def check(self, text: str) -> Finding:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Judge.of([Interrupted()]).findings("x")
    assert not limit.clock_of_this_thread().runs


def test_a_forked_child_has_a_watch_of_its_own() -> None:
    import os

    Judge.of([Slow()]).findings("fine")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        found = Judge.of([Slow()]).findings("spin")[0][0].outcome
        os.write(write, found.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == "undecided"
    os.waitpid(child, 0)


def test_the_watch_sleeps_when_nobody_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "LOOK_S", 0.01)
    watch = limit._Watch.of_this_process()
    Judge.of([Slow()]).findings("fine")
    for _ in range(500):
        if not watch._awake.is_set():
            break
        threading.Event().wait(0.01)
    assert not watch._awake.is_set()
    assert_late(Judge.of([Slow()]).findings("spin")[0])  # and wakes again
