"""Cut files into shards, and record what the work on a shard leaves behind.

    OUT/plan.json            which shards there are, and of what step: another step, or other files, is refused
    OUT/rows/00017.jsonl     what goes on, in the form of the file that it came from (.jsonl, .gz, .zst, .parquet)
    OUT/dropped/00017.jsonl  rows left out on purpose; OUT/broken/…: rows that cannot be used. Each with its line and
                             why
    OUT/done/00017.json      counts and hashes; written last, so that a shard without it is done again
    OUT/manifest.json        all of it added up, once every shard is done

A plain file of JSON lines is cut at line ends; a compressed file is one shard; of Parquet it is whole row groups.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from adhere.errors import RunMismatch, UsageError
from adhere.extras import need
from adhere.lines.blocks import Block, LineFile
from adhere.lines.places import find, is_remote, open_place, read_if_there, write_place
from adhere.lines.step import Counts, SortedBlock, Step, lines_of, rows_of
from adhere.schema import Json, Record, content_hash, decode, encode

SHARD_BYTES = 32 << 20
MOST_PROBLEMS = 20
_COUNT_BYTES = 1 << 20
_BATCH_ROWS = 2048


class Source(Record, frozen=True):
    """Names a file that is read.

    `sha256` is the hash of its lines, uncompressed, if planning has read it; None: its shard records it.
    """

    place: str
    bytes: int
    sha256: str | None = None


class Shard(Record, frozen=True):
    """Names a part of a file, numbered through all files.

    The part is bytes of JSON lines, or row groups of Parquet, from `begin` to `end` (None: to the end).
    """

    number: int
    place: str
    begin: int = 0
    end: int | None = None
    first_line: int = 1

    @property
    def is_parquet(self) -> bool:
        """Whether the file is a Parquet file."""
        return self.place.endswith(".parquet")


class Plan(Record, frozen=True):
    """Holds the shards that a step has to do. `key` is a hash of the step and the sources."""

    key: str
    step: str
    sources: tuple[Source, ...]
    shards: tuple[Shard, ...]


class ShardDone(Record, frozen=True):
    """Records a finished shard, with its processor time.

    `files` are the hashes of what was written: of uncompressed lines, or of a whole Parquet file.
    """

    key: str
    shard: Shard
    counts: Counts
    last_line: int
    sha256: str
    files: dict[str, str]
    cpu_s: float = 0.0
    notes: tuple[Json, ...] = ()
    problems: tuple[str, ...] = ()


def make_plan(step: Step, patterns: tuple[str, ...], out: str, *, shard_bytes: int = SHARD_BYTES) -> Plan:
    """Return the plan that `out` holds, or make a new one and store it there.

    Raises:
        UsageError: A pattern names no file.
        RunMismatch: `out` holds the work of another step, or on other files.
    """
    files = find(patterns)
    key = content_hash([step.kind, content_hash(list(step.identity)), files, shard_bytes])
    plan_bytes = read_if_there(f"{out}/plan.json")
    if plan_bytes is not None:
        plan = decode(plan_bytes, Plan)
        if plan.key != key:
            raise RunMismatch(
                f"{out} holds the work of {plan.step} on {len(plan.sources)} files; settings or files differ now. "
                "Give another --out, or delete that one"
            )
        return plan
    sources: list[Source] = []
    shards: list[Shard] = []
    for place, size in files:
        cuts: list[Cut]
        if place.endswith(".parquet"):
            cuts, sha256 = _row_groups(place, shard_bytes), None
        elif is_remote(place) or place.endswith((".gz", ".zst")):
            cuts, sha256 = [(0, None, 1)], None
        else:
            cuts, sha256 = _line_ends(place, shard_bytes)
        sources.append(Source(place, size, sha256))
        shards += [Shard(len(shards) + n, place, *cut) for n, cut in enumerate(cuts)]
    plan = Plan(key, step.kind, tuple(sources), tuple(shards))
    with write_place(f"{out}/plan.json") as write:
        write(encode(plan) + b"\n")
    return plan


def first_row(patterns: tuple[str, ...]) -> dict[str, Any]:
    """Return the first row of the first file, from which settings can be guessed; for Parquet only the columns' names.

    Raises:
        UsageError: A pattern names no file, or the file has no rows.
    """
    place = find(patterns[:1])[0][0]
    if place.endswith(".parquet"):
        with open_place(place) as file:
            return dict.fromkeys(need("pyarrow.parquet", extra="remote").ParquetFile(file).schema_arrow.names)
    first = next(ShardFile(Shard(0, place)).rows(dict[str, Any], 1 << 16), None)
    if first is None:
        raise UsageError(f"{place} has no rows")
    return first[1]


Cut = tuple[int, int | None, int]


def _line_ends(place: str, size: int) -> tuple[list[Cut], str]:
    """Cut a plain file at line ends, about `size` bytes apart; return the cuts and the file's hash."""
    cuts: list[Cut] = []
    begin, first, lines, at = 0, 1, 1, 0
    digest = hashlib.sha256()
    with Path(place).open("rb") as file:
        while data := file.read(_COUNT_BYTES):
            digest.update(data)
            end = data.rfind(b"\n") + 1
            if end and at + end - begin >= size:
                lines_here = data.count(b"\n", 0, end)
                cuts.append((begin, at + end, first))
                begin, first = at + end, lines + lines_here
            lines += data.count(b"\n")
            at += len(data)
    return ([*cuts, (begin, at, first)] if at > begin or not cuts else cuts), digest.hexdigest()


def _row_groups(place: str, size: int) -> list[Cut]:
    """Cut a Parquet file at row groups, about `size` compressed bytes apart."""
    parquet = need("pyarrow.parquet", extra="remote")
    with open_place(place) as file:
        about = parquet.ParquetFile(file).metadata
        cuts: list[Cut] = []
        begin, first, rows, group_bytes = 0, 1, 1, 0
        for group in range(about.num_row_groups):
            rows += about.row_group(group).num_rows
            group_bytes += sum(about.row_group(group).column(n).total_compressed_size for n in range(about.num_columns))
            if group_bytes >= size or group == about.num_row_groups - 1:
                cuts.append((begin, group + 1, first))
                begin, first, group_bytes = group + 1, rows, 0
        return cuts


class ShardFile(LineFile):
    """Reads the lines of a shard, in blocks."""

    def __init__(self, shard: Shard) -> None:
        self.name, self.size, self.bytes_read = shard.place, None, 0
        self._shard, self._first_line, self._hash = shard, shard.first_line, hashlib.sha256()

    def _open(self, stack: ExitStack) -> BinaryIO:
        file = stack.enter_context(open_place(self.name))
        if self._shard.end is None:
            return file
        file.seek(self._shard.begin)
        return io.BytesIO(file.read(self._shard.end - self._shard.begin))


class Work:
    """Does the work on a shard, by any engine: read, sort, write, and store a record.

    Doing a shard again changes nothing.

    Args:
        step: The step that decides what becomes of rows; only its spec is sent.
        key: Key of the plan.
        out: Where everything is written: a folder that all workers see, or a place that fsspec writes to.
    """

    def __init__(self, step: Step, key: str, out: str) -> None:
        self.step, self.key, self.out = step, key, out

    def __reduce__(self) -> tuple[Callable[..., Work], tuple[Step | Callable[..., Any], ...]]:
        """Return what makes the work in another process, where the step is made only once."""
        return _work, (self.step.__reduce__(), self.key, self.out)  # type: ignore[return-value]

    def __call__(self, shard: Shard) -> None:
        """Run the step on a shard and write its record, unless there is one.

        Raises:
            SpecError: A row cannot be used, and the step calls that an error.
        """
        if record_of(self.out, self.key, shard) is None:
            self.step.file = shard.place
            record = encode((_of_parquet if shard.is_parquet else _of_lines)(self, shard))
            with write_place(f"{self.out}/done/{shard.number:05}.json") as write:
                write(record + b"\n")


_works: dict[str, Work] = {}


def _work(made_of: tuple[Callable[..., Step], tuple[Any, ...]], key: str, out: str) -> Work:
    if f"{key} {out}" not in _works:
        make, arguments = made_of
        _works[f"{key} {out}"] = Work(make(*arguments), key, out)
    return _works[f"{key} {out}"]


def record_of(out: str, key: str, shard: Shard) -> ShardDone | None:
    """Return the record of a shard, or None if it is still to be done."""
    record_bytes = read_if_there(f"{out}/done/{shard.number:05}.json")
    if record_bytes is None:
        return None
    record = decode(record_bytes, ShardDone)
    return record if record.key == key else None


class _ShardFiles:
    """Writes the files of a shard: each is opened at its first write, and hashed as it is written."""

    def __init__(self, work: Work, shard: Shard, stack: ExitStack) -> None:
        self._work, self._shard, self._stack, self._started = work, shard, stack, time.process_time()
        self._open: dict[str, tuple[Callable[[bytes], object], Any]] = {}
        self.counts, self.notes, self.problems = Counts(), list[Json](), list[str]()

    def write(self, folder: str, data: bytes, ending: str = ".jsonl") -> None:
        """Append to the shard's file in a folder."""
        path = f"{folder}/{self._shard.number:05}{ending}"
        if path not in self._open:
            self._open[path] = self._stack.enter_context(write_place(f"{self._work.out}/{path}")), hashlib.sha256()
        write, digest = self._open[path]
        write(data)
        digest.update(data)

    def note(self, sorted_block: SortedBlock) -> None:
        """Count a block, and write its rows that do not go on."""
        file = b'{"file":' + encode(self._shard.place) + b","
        for folder, records in (("dropped", sorted_block.dropped), ("broken", sorted_block.broken)):
            if records:
                self.write(folder, b"".join(file + encode(record)[1:] + b"\n" for record in records))
        room = MOST_PROBLEMS - len(self.problems)
        self.problems += [f"{self._shard.place}:{bad.line}: {bad.reason}" for bad in sorted_block.broken[:room]]
        self.counts += sorted_block.counts
        if sorted_block.note is not None:
            self.notes.append(msgspec.to_builtins(sorted_block.note))

    def done(self, last_line: int, sha256: str) -> ShardDone:
        """Return the record of the shard."""
        hashes = {path: digest.hexdigest() for path, (_, digest) in sorted(self._open.items())}
        cpu_s = round(time.process_time() - self._started, 3)
        return ShardDone(
            self._work.key,
            self._shard,
            self.counts,
            last_line,
            sha256,
            hashes,
            cpu_s,
            tuple(self.notes),
            tuple(self.problems),
        )


def _of_lines(work: Work, shard: Shard) -> ShardDone:
    file, last = ShardFile(shard), shard.first_line - 1
    ending = ".jsonl" + next((suffix for suffix in (".gz", ".zst") if shard.place.endswith(suffix)), "")
    with ExitStack() as stack:
        out = _ShardFiles(work, shard, stack)
        for block in file.blocks():
            sorted_block = work.step.sort(block)
            out.write("rows", b"".join(sorted_block.lines(block)), ending)
            out.note(sorted_block)
            last = block.first_line + len(block.data) - 1
    return out.done(last, file.sha256)


def _of_parquet(work: Work, shard: Shard) -> ShardDone:
    """Do a shard of Parquet as `_of_lines` does one of lines.

    Rows that a step chooses stay Parquet; rows that it makes are JSON lines.
    """
    parquet = need("pyarrow.parquet", extra="remote")
    digest, number, buffer, writer = hashlib.sha256(), shard.first_line, io.BytesIO(), None
    with ExitStack() as stack:
        out = _ShardFiles(work, shard, stack)
        source = parquet.ParquetFile(stack.enter_context(open_place(shard.place)))
        for table in source.iter_batches(_BATCH_ROWS, row_groups=list(range(shard.begin, shard.end or 0))):
            block = Block(number, lines_of(rows_of(table, work.step.reads)))
            digest.update(b"".join(block.data))
            sorted_block = work.step.sort(block)
            if sorted_block.made is None:
                writer = writer or parquet.ParquetWriter(buffer, source.schema_arrow, compression="zstd")
                writer.write_batch(table.take([line - number for line in sorted_block.kept]))
            else:
                out.write("rows", b"".join(sorted_block.made))
            out.note(sorted_block)
            number += table.num_rows
        if writer is not None:
            writer.close()
            out.write("rows", buffer.getvalue(), ".parquet")
    return out.done(number - 1, digest.hexdigest())
