"""The one pool of workers: order, laziness, and what ends it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adhere.errors import ResourceError
from adhere.lines.workers import AHEAD, in_order


def slow_at_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0)
    return number * number


def end_of(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def whoever(number: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_however_long_each_took(jobs: int) -> None:
    found = list(in_order(slow_at_first, range(20), jobs=jobs, purpose="squaring"))
    assert found == [(number, number * number) for number in range(20)]


def test_only_a_few_items_are_read_ahead() -> None:
    read = []

    def items() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    with closing(in_order(slow_at_first, items(), jobs=2, purpose="squaring")) as found:
        next(found)
        assert len(read) <= 2 * AHEAD


def test_one_item_alone_starts_no_process() -> None:
    assert list(in_order(whoever, [1], jobs=2, purpose="asking")) == [(1, os.getpid())]
    assert os.getpid() not in {pid for _, pid in in_order(whoever, [1, 2], jobs=2, purpose="asking")}


def test_a_killed_process_is_one_clear_line() -> None:
    with pytest.raises(ResourceError, match=r"One of 2 counting processes was killed, .* Use fewer --jobs"):
        list(in_order(end_of, range(9), jobs=2, purpose="counting"))


PARENT = r"""
import os, time
from adhere.lines.workers import in_order

def tell(number):
    os.write(1, f"{os.getpid()}\n".encode())  # at once: print may write the number and its newline apart, between another's
    time.sleep(60)

if __name__ == "__main__":
    list(in_order(tell, range(9), jobs=2, purpose="waiting"))
"""


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    with subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
    deadline = time.monotonic() + 20
    while any(is_running(pid) for pid in workers):
        assert time.monotonic() < deadline, "the workers outlive the process that started them"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
