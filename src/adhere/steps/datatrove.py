"""Run our work as steps of datatrove pipelines; importing this needs `adhere[datatrove]`.

Pieces(work, items)                 pieces of work in turn over the ranks, in any executor: local, Slurm, Ray
Rows(Decontaminate(settings))       between a reader and a writer of datatrove's: documents in, documents out
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from adhere.extras import need

need("datatrove", extra="datatrove")

from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.writers.disk_base import DiskWriter

from adhere.errors import AdhereError, ResourceError
from adhere.lines.blocks import Block
from adhere.lines.step import Step, lines_of

_BATCH = 1024


class Pieces(PipelineStep):
    """Runs `work` on the items of a rank, `items[rank::world_size]`, as first and only step of a pipeline."""

    name, type = "adhere", "pieces"

    def __init__(self, work: Callable[[Any], object], items: Sequence[Any]) -> None:
        super().__init__()
        self.work, self.items = work, items

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
        """Run `work` on this rank's items; see datatrove's PipelineStep."""
        for item in self.items[rank::world_size]:
            with self.track_time("piece"):
                self.work(item)
            self.stat_update("pieces")


class Rows(PipelineStep):
    """Leaves documents out by one of our steps that choose rows; `text`, `id` and the metadata are a row's columns.

    Args:
        step: The step that chooses rows; its `counts` are in datatrove's statistics.
        exclusion_writer: Writes the documents that are left out, with the reason in the metadata `adhere`.
    """

    name, type = "adhere", "filter"

    def __init__(self, step: Step, exclusion_writer: DiskWriter | None = None) -> None:
        super().__init__()
        self.step, self.exclusion_writer = step, exclusion_writer

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        """Yield the documents that the step keeps; see datatrove's PipelineStep."""
        documents = iter(data)
        while batch := list(islice(documents, _BATCH)):
            rows = [{**document.metadata, "text": document.text, "id": document.id} for document in batch]
            sorted_block = self.step.sort(Block(1, lines_of(rows)))
            if sorted_block.made is not None:
                raise TypeError(f"{type(self.step).__name__} makes new rows; Rows is for steps that choose rows")
            for broken_row in (*sorted_block.dropped, *sorted_block.broken):
                batch[broken_row.line - 1].metadata["adhere"] = msgspec.to_builtins(broken_row)
                if self.exclusion_writer is not None:
                    self.exclusion_writer.write(batch[broken_row.line - 1], rank)
            for name in ("kept", "dropped", "broken"):
                self.stat_update(name, value=getattr(sorted_block.counts, name), unit="batch")
            for number in sorted_block.kept:
                yield batch[number - 1]
        if self.exclusion_writer is not None:
            self.exclusion_writer.close()


def run_local(work: Callable[[Any], object], items: Sequence[Any], *, jobs: int, logs: str) -> None:
    """Run `work` on every item with datatrove's local executor, each in a rank of its own.

    Items whose rank it has marked complete are not done again.

    Raises:
        AdhereError: `work` raises it.
        ResourceError: A process was killed.
    """
    executor = LocalPipelineExecutor(
        [Pieces(work, items)], tasks=len(items), workers=min(jobs, len(items)), logging_dir=logs
    )
    try:
        executor.run()
    except AdhereError:
        raise
    except Exception as error:
        raise ResourceError(
            f"datatrove stopped: {error}. Its logs: {logs}. Run the same command again: it does what is missing"
        ) from error
