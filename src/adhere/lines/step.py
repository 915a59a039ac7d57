"""Define one piece of row work that any engine can run.

Rows go in. Rows that go on, rows that do not (with the reason), and counts come out.

    step = Decontaminate(settings)                     built from a small spec, in whatever process runs it
    step.sort(block)                                   lines in, everything out: what files and shards run
    step(rows), step(arrow_table)                      a batch in, a batch out
    ds.map_batches(Decontaminate, fn_constructor_args=(settings,), batch_format="pyarrow", concurrency=4)    Ray Data
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from adhere.lines.blocks import Block
from adhere.lines.places import write_place
from adhere.schema import Record, encode


class BrokenRow(Record, frozen=True):
    """Names a row that cannot be used, and why."""

    line: int
    reason: str


class Counts(Record, frozen=True):
    """Counts rows by what became of them: read = kept + dropped + broken.

    `made` counts the rows that came out, which may be more or fewer than were kept.
    """

    read: int = 0
    kept: int = 0
    dropped: int = 0
    broken: int = 0
    made: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class SortedBlock(NamedTuple):
    """Holds what a step made of one block.

    Attributes:
        made: The rows that go on, as whole lines; None: the `kept` lines, unchanged.
        kept: The numbers of the lines that go on.
        dropped: One record for each row that the step leaves out on purpose; each has its `line`.
        broken: The rows that cannot be used.
        note: What the step adds up over blocks, or None.
    """

    made: list[bytes] | None
    kept: list[int]
    dropped: Sequence[Any]
    broken: list[BrokenRow]
    note: Any = None

    @property
    def counts(self) -> Counts:
        """Counts of the rows by what became of them."""
        n_kept, n_dropped, n_broken = len(self.kept), len(self.dropped), len(self.broken)
        return Counts(
            n_kept + n_dropped + n_broken, n_kept, n_dropped, n_broken, n_kept if self.made is None else len(self.made)
        )

    def lines(self, block: Block) -> list[bytes]:
        """Return the rows that go on, each a whole line with its newline."""
        if self.made is not None:
            return self.made
        lines = [block.data[number - block.first_line] for number in self.kept]
        if lines and not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        return lines


class Step:
    """Is the base of all steps. A subclass defines `sort`, and the rest follows. Only the spec (and `side`) is pickled.

    Args:
        spec: Everything that decides what becomes of a row.
        side: Folder for the rows that a batch loses, one file a batch, named by a hash of the batch. None: they are
            only counted.

    Attributes:
        file: Source of the rows, for messages.
        counts: Counts of all batches so far.
    """

    kind: ClassVar[str]
    """Name of the step in plans and manifests."""

    def __init__(self, spec: Any, side: str | None = None) -> None:
        self.spec, self.side = spec, side
        self.file = "rows"
        self.counts = Counts()

    def __reduce__(self) -> tuple[type[Self], tuple[Any, str | None]]:
        """Return what another process makes an equal step from, for an index costs more to send than to make."""
        return type(self), (self.spec, self.side)

    @property
    def identity(self) -> tuple[object, ...]:
        """Settings that decide what becomes of a row; a shard's work is resumed only under the same settings."""
        return self.__reduce__()[1]

    @property
    def reads(self) -> Sequence[str] | None:
        """Columns that the step looks at; None: all."""
        return None

    def sort(self, block: Block) -> SortedBlock:
        """Decide what becomes of each line.

        Raises:
            SpecError: A row cannot be used, and the spec says that this is an error.
        """
        raise NotImplementedError

    def __call__(self, batch: Any) -> Any:
        """Return a batch of rows without those that do not go on.

        A batch is a list of dictionaries or an Arrow table, and the result is of the same type.
        """
        is_table = not isinstance(batch, list)
        lines = lines_of(rows_of(batch, self.reads) if is_table else batch)
        sorted_block = self.sort(Block(1, lines))
        self.counts += sorted_block.counts
        if self.side is not None and (broken_rows := [*sorted_block.dropped, *sorted_block.broken]):
            # By the batch, so that doing it again writes the same file, and no other batch does.
            with write_place(f"{self.side}/{hashlib.sha256(b''.join(lines)).hexdigest()[:24]}.jsonl") as write:
                write(b"".join(encode(row) + b"\n" for row in broken_rows))
        if sorted_block.made is None:
            places = [number - 1 for number in sorted_block.kept]
            return batch.take(places) if is_table else [batch[place] for place in places]
        rows = [msgspec.json.decode(line) for line in sorted_block.made]
        return type(batch).from_pylist(rows) if is_table else rows


def rows_of(table: Any, columns: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table, with those of `columns` that it has."""
    if columns is not None:
        table = table.select([name for name in table.column_names if name in columns])
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def lines_of(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return rows as JSON lines."""
    try:
        return [msgspec.json.encode(row) + b"\n" for row in rows]
    except UnicodeEncodeError:  # a lone surrogate
        return [encode(row) + b"\n" for row in rows]
