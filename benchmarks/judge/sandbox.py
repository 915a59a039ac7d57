"""Executions a second of one small check: in this process, in the sandbox, and in a bare subprocess a call.

    python -m benchmarks.judge.sandbox --calls 300

The check is the same text everywhere and is compiled anew for each call, since each call of the sandbox starts from its
text.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from adhere.sandbox import backend, run

SOURCE = """
import re
def evaluate(response):
    return len(re.findall(r"\\w+", response)) >= 100
"""
TEXT = "The quick brown fox jumps over the lazy dog. " * 12


def in_process() -> bool:
    space: dict = {}
    exec(compile(SOURCE, "<check>", "exec"), space)
    return space["evaluate"](TEXT)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_AS, (512_000_000, 512_000_000))


def bare_subprocess() -> bool:
    script = SOURCE + "\nimport json, sys\nprint(json.dumps(evaluate(json.load(sys.stdin))))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        input=json.dumps(TEXT),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=limited,
    )
    return json.loads(done.stdout)


def sandboxed() -> bool:
    return run(SOURCE, "evaluate", [TEXT]).value is True


def sandboxed_once() -> bool:
    return run(SOURCE, "evaluate", [TEXT], twice=False).value is True


def rate(check: Callable[[], bool], calls: int, rounds: int) -> float:
    assert check() is True
    rates = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(calls):
            check()
        rates.append(calls / (time.perf_counter() - started))
    return statistics.median(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"backend: {backend()}; median of {arguments.rounds} rounds")
    ways = {
        "exec in this process (no isolation, no limit)": (in_process, 10),
        "adhere.sandbox.run, one interpreter": (sandboxed_once, 1),
        "adhere.sandbox.run (two interpreters, two hash seeds)": (sandboxed, 1),
        "bare subprocess a call, rlimits only": (bare_subprocess, 0.2),
    }
    for name, (check, share) in ways.items():
        print(f"{rate(check, max(1, int(arguments.calls * share)), arguments.rounds):9,.0f} executions/s  {name}")


if __name__ == "__main__":
    main()
