"""Do one piece of work after the other, here or in several processes; results have the order of the items.

    with closing(in_order(desk.judge, file.blocks(), jobs=jobs, purpose="judging")) as found:
        for block, judged in found: ...

Memory does not depend on how much work there is: a few items wait for each process, and the rest is not read yet.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from adhere.errors import ResourceError, UsageError

if TYPE_CHECKING:
    from concurrent.futures import Future

AHEAD = 3  # items that wait for each process: enough to keep it busy, and a few megabytes where an item is a block

Item = TypeVar("Item")
Found = TypeVar("Found")


def cores() -> int:
    """Return how many processes can compute at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Shard(NamedTuple):
    """Names part `number` (from 1) of `of` parts of some items, which are dealt to the parts in turn.

    Each of several processes does one part.
    """

    number: int = 1
    of: int = 1

    def holds(self, place: int) -> bool:
        """Tell whether the item at a place (from 0) belongs to this part."""
        return place % self.of == self.number - 1


WHOLE = Shard()


def parse_shard(text: str | None) -> Shard:
    """Return the part that `2/3` (the second of three) names; None is the whole.

    Raises:
        UsageError: The text is anything else.
    """
    if text is None:
        return WHOLE
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text}: write I/N with I from 1 to N, e.g. --shard 2/3")
    return Shard(int(match[1]), int(match[2]))


def in_order(
    work: Callable[[Item], Found], items: Iterable[Item], *, jobs: int, purpose: str
) -> Generator[tuple[Item, Found]]:
    """Yield each item with what `work` made of it, in order.

    Closing the generator early ends the processes, and so does an interruption.

    Args:
        work: Called in this process if `jobs` is 1. Otherwise it is pickled once for each process; state that is
            expensive to send should be made anew in the process (`__reduce__`).
        items: The items, read a few ahead of what was yielded.
        jobs: Number of processes. A script that uses several needs the usual `if __name__ == "__main__":`.
        purpose: What the processes do, for messages.

    Raises:
        ResourceError: A process was killed.
    """
    items = iter(items)
    if jobs > 1:
        head = list(islice(items, 2))
        items = chain(head, items)
        jobs = jobs if len(head) > 1 else 1  # a process for one item alone costs more than it saves
    if jobs <= 1:
        for item in items:
            yield item, work(item)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Fresh processes: a fork would copy the threads of a progress bar, or of torch, in whatever state they are.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(work,))
    waiting: deque[tuple[Item, Future[Found]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(_work, item)))
            if len(waiting) >= jobs * AHEAD:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    except BrokenProcessPool as error:
        raise ResourceError(
            f"One of {jobs} {purpose} processes was killed, probably for want of memory. Use fewer --jobs"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent() -> None:
    """Make this process end at once when its parent ends, by whatever cause: SIGTERM and `kill -9` too."""
    import multiprocessing
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


_own: Callable[[Any], Any] | None = None


def _start(work: Callable[[Any], Any]) -> None:
    """Keep the work of this process in a global, for a pool passes its processes nothing else."""
    global _own  # noqa: PLW0603 - how a pool gives its processes something to keep
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; this one's parent ends it
    end_with_parent()
    _own = work


def _work(item: Any) -> Any:
    if _own is None:
        raise AssertionError("the worker was not started")
    return _own(item)
