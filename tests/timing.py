"""Time limits that a busy or slower machine does not break.

Processor time of this thread, beside a loop that is timed with it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

MEGABYTE_S = 2.0
"""The most that a verifier may take on 1 MB of any text, both views (docs/reference/speed.md)."""
TRIES = 3
LOOP_S = 0.0065
"""What `_loop` takes where the limits hold as they stand.

Where it takes longer they grow with it: on the AMX machine on which three tests failed (2.1 to 3.2 s of 2.0) it takes
0.0113 s.
"""
_WORD = re.compile(r"[A-Za-z']+")
_TEXT = "The quick brown fox doesn't jump over the lazy dog. " * 4000


def assert_quick(work: Callable[[], Any], what: str, *, limit_s: float = MEGABYTE_S) -> Any:
    """What `work` returns, if one of TRIES runs takes at most `limit_s` of processor time, at this machine's pace."""
    took = []
    for _ in range(TRIES):
        start = time.thread_time()
        found = work()
        took.append(time.thread_time() - start)
        if took[-1] <= limit_s or took[-1] <= limit_s * _pace():
            return found
    raise AssertionError(
        f"{what}: took {', '.join(f'{one:.2f}' for one in took)} s of CPU, allowed {limit_s} at a pace of {_pace():.2f}"
    )


def _pace() -> float:
    """How many times slower than stated this machine is just now, never below 1: other programs take caches, too."""
    start = time.thread_time()
    _loop()
    return max(1.0, (time.thread_time() - start) / LOOP_S)


def _loop() -> dict[str, int]:
    """What verifiers do: a regular expression over a text, small strings, a dictionary."""
    counts: dict[str, int] = {}
    for match in _WORD.finditer(_TEXT):
        word = match.group().lower()
        counts[word] = counts.get(word, 0) + len(word)
    return counts


def assert_linear(work: Callable[[int], Any], what: str, *, size: int, times: int = 8) -> None:
    """`work(n)` on `times` as much takes at most twice as much time for each: a square would take `times` as much.

    Beside an absolute limit this also finds what is quick enough at one size and would not be at the next.
    """
    for attempt in range(TRIES):
        small, large = (_least(work, n, runs=1 + attempt) for n in (size, size * times))
        if large <= 2 * times * small + 0.05:
            return
    raise AssertionError(f"{what}: {times} times the text took {large / max(small, 1e-9):.1f} times the time")


def _least(work: Callable[[int], Any], n: int, *, runs: int) -> float:
    took = []
    for _ in range(runs):
        start = time.thread_time()
        work(n)
        took.append(time.thread_time() - start)
    return min(took)
