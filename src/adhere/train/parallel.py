"""Several processes on one recipe.

Each process takes a share of every batch's parts, gradients add up, and all have the same weights. They are started by
torchrun (or anything that sets its variables) with gloo on CPUs and NCCL on GPUs. Every process reads the same rows in
the same order. Passes without gradient, drawing and judging are divided, too (`divide`): their results are gathered in
order, as plain numbers and texts, so that no tensor of another process's device comes along. Each process has whole
weights, or with `shard` a part of them (`sharding`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from adhere.errors import IntegrityError, UsageError
from adhere.schema import content_hash

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
Found = TypeVar("Found")
_sharding: ContextVar[bool] = ContextVar("sharding", default=False)


class Place(NamedTuple):
    """The rank of this process, from 0, and the number of processes."""

    rank: int
    size: int

    @property
    def is_first(self) -> bool:
        """Whether this is the first process, which writes files and talks to the terminal."""
        return self.rank == 0


def place() -> Place:
    """Return this process's place; (0, 1) without a process group."""
    import torch.distributed as group

    return (
        Place(group.get_rank(), group.get_world_size())
        if group.is_available() and group.is_initialized()
        else Place(0, 1)
    )


def is_sharding() -> bool:
    """Tell whether models in training have their weights sharded over the processes."""
    return _sharding.get()


@contextmanager
def processes(*, shard: bool = False) -> Iterator[Place]:
    """Join the process group of torchrun's variables while the block lasts; without them this process is alone.

    Args:
        shard: Whether to shard the weights of models in training; without effect if this process is alone.

    Raises:
        UsageError: This machine has more processes than GPUs.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1:
        yield Place(0, 1)
        return
    import torch
    import torch.distributed as group

    if torch.cuda.is_available():
        own, gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        if own >= gpus:
            raise UsageError(
                f"This is process {own + 1} of this machine, which has {gpus} GPU{'s' * (gpus > 1)}: each process "
                f"needs one of its own. Start torchrun with --nproc-per-node {gpus}, or hide the GPUs "
                "(CUDA_VISIBLE_DEVICES=) to train on the CPU"
            )
        torch.cuda.set_device(own)
    # Tensors go by the backend of their device; what is no tensor (`gather`) goes over the CPU.
    group.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    token = _sharding.set(shard)
    try:
        yield place()
    finally:
        _sharding.reset(token)
        group.destroy_process_group()


def share(parts: Iterable[T]) -> list[T | None]:
    """Return this process's share of a batch's parts.

    With sharded weights, shares are filled up with None to equal length.
    """
    rank, size = place()
    all_parts = list(parts)
    mine: list[T | None] = list(all_parts[rank::size])
    if is_sharding():
        mine += [None] * (-(-len(all_parts) // size) - len(mine))
    return mine


def divide(
    items: Sequence[T], work: Callable[[T], Found], *, same: object, idle: Callable[[], object] | None = None
) -> list[Found]:
    """Do `work` on every item in one of the processes; return all results, in order, in every process.

    Args:
        items: The same number in all processes, in the same order.
        work: Returns plain numbers, texts and tuples of them, never tensors, which would be on that process's device.
        same: Anything storable that must be the same in all processes, such as the items' names.
        idle: What a process without an item does while the others compute, with sharded weights.

    Raises:
        IntegrityError: The processes do not agree on `same`.
    """
    rank, size = place()
    if size == 1:
        return [work(item) for item in items]
    hashes = gather([content_hash([len(items), same])])
    if len(set(hashes)) > 1:
        raise IntegrityError(
            f"The processes do not work on the same rows ({', '.join(digest[:8] for digest in hashes)}), "
            "so what they find cannot be put together. Give all of them the same recipe, data and seed"
        )
    own_results: list[tuple[int, Found]] = []
    for number, item in zip(range(rank, len(items) + size, size), share(items), strict=False):
        if item is not None:
            own_results.append((number, work(item)))
        elif idle is not None:
            idle()
    by_number = dict(gather(own_results))
    return [by_number[number] for number in range(len(items))]


def agree(answer: bool) -> bool:  # noqa: FBT001 - it is what the first process thinks
    """Return the first process's answer, in every process."""
    return gather([answer])[0]


def add_up(parameters: Sequence[torch.nn.Parameter], total: float) -> float:
    """Sum the gradients in place, and `total`, over all processes; return the sum of `total`.

    Sharded gradients are summed already.
    """
    rank_size = place()
    if rank_size.size == 1:
        return total
    import torch
    import torch.distributed as group

    for parameter in parameters if not is_sharding() else ():  # sharded gradients are summed where they are made
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        group.all_reduce(parameter.grad)
    grand_total = torch.tensor([total], dtype=torch.float64, device=parameters[0].device)
    group.all_reduce(grand_total)
    return float(grand_total)


def first_does(work: Callable[[], None]) -> None:
    """Let the first process do `work` (writing files) while the others wait."""
    rank, size = place()
    if rank == 0:
        work()
    if size > 1:
        import torch.distributed as group

        group.barrier()


def first_says(work: Callable[[], T]) -> T:
    """Let the first process do `work`, and return its result in every process."""
    rank, size = place()
    if size == 1:
        return work()
    import torch.distributed as group

    object_list: list[T | None] = [work() if rank == 0 else None]  # filled with the first process's
    group.broadcast_object_list(object_list, src=0)
    answer: T = object_list[0]  # type: ignore[assignment]
    return answer


def gather(values: Sequence[T]) -> list[T]:
    """Concatenate the values of all processes, in the order of ranks."""
    size = place().size
    if size == 1:
        return list(values)
    import torch.distributed as group

    values_by_process: list[list[T]] = [[] for _ in range(size)]
    group.all_gather_object(values_by_process, list(values))
    return [value for of_process in values_by_process for value in of_process]
