"""What a command costs: processor and clock seconds, and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# A small process starts the command, because a process begins with the peak memory of the one that started it.
STARTER = (
    "import resource, subprocess, sys, time; start = time.perf_counter()\n"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
    "assert done.returncode in (0, 3), done.returncode\n"  # 3: `adhere verify` judged less than --min-coverage
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024)"
)


class Cost(NamedTuple):
    """Of one process and its children; the memory is that of the largest process."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def measure(*arguments: str | Path) -> Cost:
    """What a process of this Python costs, from its start to its exit."""
    command = [sys.executable, "-c", STARTER, sys.executable, *map(str, arguments)]
    return Cost(*map(float, subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()))
