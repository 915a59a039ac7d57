"""Do many independent pieces of work with one of several engines.

The result of a piece is what it leaves on disk, so doing a piece twice changes nothing.

| engine | where | a worker that dies |
|---|---|---|
| `local` | processes of this machine (`lines.workers`) | the command ends; run again, it does what is missing |
| `ray` | tasks of the cluster at `RAY_ADDRESS`, or of a Ray that is started here | its piece is done elsewhere |
| `datatrove` | datatrove's local executor, with its own logs and completions | run again, it does what is missing |

datatrove's Slurm and Ray executors take `steps.datatrove.Pieces` in a pipeline of yours
(docs/guide/past-one-machine.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Literal, TypeVar, get_args

from adhere.errors import AdhereError, ResourceError
from adhere.extras import need
from adhere.lines.workers import in_order

EngineName = Literal["local", "ray", "datatrove"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
_AHEAD = 1000  # tasks that Ray knows of; a cluster that grows by what waits needs many

Item = TypeVar("Item")


def do_each(
    work: Callable[[Item], object], items: Sequence[Item], *, engine: EngineName, jobs: int, logs: str, purpose: str
) -> Iterator[Item]:
    """Run `work` on every item, and yield each item once that is done, in order; `ray` yields as they end.

    Args:
        work: The work on one item, picklable.
        items: The pieces of work, picklable, and few enough to be sent one by one.
        engine: The engine that does the work.
        jobs: Number of processes on this machine; an existing cluster decides for itself.
        logs: Folder of datatrove's logs and completions.
        purpose: What is done, for messages.

    Raises:
        AdhereError: `work` raises it.
        ResourceError: A process was killed, and the engine does not redo the piece.
    """
    if not items:
        return
    if engine == "ray":
        remaining = iter(items)
        yield from on_ray(work, lambda room: list(islice(remaining, room)), jobs=jobs)
    elif engine == "datatrove":
        from adhere.steps.datatrove import run_local

        run_local(work, items, jobs=jobs, logs=logs)
        yield from items
    else:
        with closing(in_order(work, items, jobs=jobs, purpose=purpose)) as done:
            for item, _ in done:
                yield item


def on_ray(
    work: Callable[[Item], object], more: Callable[[int], Sequence[Item]], *, jobs: int = 1, gpus: float = 0
) -> Iterator[Item]:
    """Run `work` on items as Ray's tasks, and yield each item once that is done.

    The items of a node that dies are done elsewhere.

    Args:
        work: The work on one item, picklable.
        more: Called with a number whenever an item is done; returns at most so many items that can be done now and were
            not returned before.
        jobs: Number of cores of a Ray that is started here; an existing cluster has its own.
        gpus: GPUs that each item needs.

    Raises:
        AdhereError: `work` raises it.
        ResourceError: Ray gave up.
    """
    ray = need("ray", extra="ray")
    if not ray.is_initialized():
        options: dict[str, Any] = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": jobs, "include_dashboard": False}
        # Ray's workers give way to everything else (nice 15): beside other work on the same cores they hardly ever run.
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray.init(log_to_driver=False, **options)
    # A dead node's tasks are done again without end; what `work` itself raises is not.
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=-1, retry_exceptions=False)(_do)
    work_reference = ray.put(work)
    running: dict[Any, Item] = {}
    try:
        while True:
            for item in more(_AHEAD - len(running)):
                running[task.remote(work_reference, item)] = item
            if not running:
                return
            for ready in ray.wait(list(running), num_returns=1)[0]:
                ray.get(ready)
                yield running.pop(ready)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, AdhereError):
            raise error.cause from error
        raise
    except ray.exceptions.RayError as error:
        raise ResourceError(
            f"Ray gave up a piece of work: {error}. Run the same command again: it does what is missing"
        ) from error
    finally:
        for reference in running:
            ray.cancel(reference)


def _do(work: Callable[[Item], object], item: Item) -> None:
    """Run `work` on an item; its result is not sent back."""
    work(item)
