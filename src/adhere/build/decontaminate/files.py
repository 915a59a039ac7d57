"""Compare files of training data of any size with test suites, for `adhere decontaminate`.

The file is read in blocks of whole lines, which worker processes compare; kept lines are written byte for byte, in
order. Memory does not depend on the number of rows. Every few seconds the progress is saved beside the kept rows, so
that the same command resumes after a kill.
"""

from __future__ import annotations

import gzip
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Literal

from adhere.build.decontaminate.counts import FileResult, count_up
from adhere.build.decontaminate.rows import Decontaminate, Rule, Settings, TestItem, default_columns
from adhere.errors import ResourceError, UsageError
from adhere.lines.blocks import Block, LineFile
from adhere.lines.step import SortedBlock
from adhere.lines.workers import in_order
from adhere.progress import Progress, Silent
from adhere.schema import Record, content_hash, decode, encode, write_atomic
from adhere.shapes.files import read_rows

_BLOCK_BYTES = 1 << 20
_SMALL = (
    64 << 20
)  # bytes that one process compares in the time that starting others takes (measured: about 50,000 rows in 1.5 s)
_SAVE_EVERY_S = 2.0


def decontaminate_file(
    train: Path,
    items: Sequence[TestItem],
    *,
    out: Path,
    drops: Path,
    columns: Sequence[str] = (),
    rule: Rule = "lcs",
    bad_rows: Literal["error", "skip"] = "error",
    jobs: int = 1,
    progress: Progress | None = None,
) -> FileResult:
    """Write the rows of `train` that repeat no test item to `out`, and one line for each other row to `drops`.

    Args:
        train: JSON lines (plain, .gz, .zst) or Parquet.
        items: The test items.
        out: Where kept rows go, in the format of its ending; Parquet only from Parquet.
        drops: Where drops go, as JSON lines.
        columns: The columns that make a row's text; empty: the first of `COLUMNS` that has text in the first row.
        rule: How a repeated item is recognised (`text.repeats`).
        bad_rows: What happens to a row that cannot be used; `skip` leaves it out of both files and counts it.
        jobs: Processes. A script that asks for several needs the usual `if __name__ == "__main__":`.
        progress: Where to report.

    Raises:
        UsageError: A path cannot be used, or the file has no rows.
        SpecError: A row cannot be used.
        ResourceError: The disk is full, or a process was killed.
    """
    _check_paths(train, out, drops)
    if train.suffix == ".parquet":
        from adhere.build.decontaminate.parquet import decontaminate_parquet  # duckdb is an extra

        return decontaminate_parquet(
            train, items, out=out, drops=drops, columns=columns, rule=rule, progress=progress or Silent()
        )
    file = LineFile(train)
    chosen = tuple(columns) or _first_columns(train)
    settings = Settings(tuple(items), chosen, rule, bad_rows, str(train))
    return _Pass(file, settings, out=out, drops=drops, jobs=jobs, progress=progress or Silent()).run()


def _check_paths(train: Path, out: Path, drops: Path) -> None:
    places = [path.resolve() for path in (train, out, drops)]
    if len(set(places)) < 3:
        raise UsageError(f"{train}, --out {out} and --drops {drops} must be three different files")
    for option, path in (("--out", out), ("--drops", drops)):
        if path.is_dir():
            raise UsageError(f"{option} {path} is a directory; give the name of a file")
    if (out.suffix == ".parquet") != (train.suffix == ".parquet"):
        raise UsageError(
            f"--out {out} must have the format of {train}: Parquet from Parquet, JSON lines from JSON lines"
        )


def _first_columns(train: Path) -> tuple[str, ...]:
    columns = next(read_rows(train, default_columns), None)
    if columns is None:
        raise UsageError(f"{train} has no rows")
    return columns


class _State(Record, frozen=True):
    """Holds how far a pass has come: the lines done, in whole blocks, and the bytes written for them."""

    key: str
    lines: int
    out_bytes: int
    drops_bytes: int
    rows: int
    dropped: dict[str, int]
    touched: tuple[int, ...]
    skipped: tuple[str, ...]


class _Pass:
    """Compares one file, block by block, and saves its progress on disk."""

    def __init__(
        self, file: LineFile, settings: Settings, *, out: Path, drops: Path, jobs: int, progress: Progress
    ) -> None:
        self.file, self.settings, self.jobs, self.progress = file, settings, jobs, progress
        self.out, self.drops = out, drops
        self.state_path = out.with_name(f".{out.name}.state.json")
        self.parts = tuple(path.with_name(f".{path.name}.part") for path in (out, drops))
        source = Path(settings.name)
        stat = source.stat() if source.is_file() else None
        identity = [str(source.resolve()), stat.st_size, stat.st_mtime_ns] if stat else [settings.name]
        self.key = content_hash([identity, settings, str(drops)])

    def run(self) -> FileResult:
        state = self._resumed()
        for path in self.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.parts[0].open("ab") as out, self.parts[1].open("ab") as drops:
            out.truncate(state.out_bytes)
            drops.truncate(state.drops_bytes)
            state = self._all(state, out, drops)
            _to_disk(out, drops)
        if state.rows == 0:
            for path in (*self.parts, self.state_path):
                path.unlink(missing_ok=True)
            raise UsageError(f"{self.file.name} has no rows")
        for part, path in zip(self.parts, (self.out, self.drops), strict=True):
            part.replace(path)
        self.state_path.unlink(missing_ok=True)
        return count_up(
            self.settings,
            rows=state.rows,
            drop_counts=state.dropped,
            touched_items=state.touched,
            skipped=len(state.skipped),
            skipped_lines=state.skipped,
            sha256=self.file.sha256,
        )

    def _resumed(self) -> _State:
        fresh = _State(self.key, 0, 0, 0, 0, {}, (), ())
        if not self.state_path.exists() or str(self.file.name) == "<stdin>":
            return fresh
        state = decode(self.state_path.read_bytes(), _State)
        sizes = [path.stat().st_size if path.exists() else -1 for path in self.parts]
        if state.key != self.key or sizes[0] < state.out_bytes or sizes[1] < state.drops_bytes:
            return fresh
        self.progress.say(f"Going on at line {state.lines + 1} of {self.file.name}")
        return state

    def _all(self, state: _State, out: BinaryIO, drops: BinaryIO) -> _State:
        pack = _packer(self.out.name)
        drop_counts, touched_items, skipped = Counter(state.dropped), set(state.touched), list(state.skipped)
        rows, last_save_s, reported_kb = state.rows, time.monotonic(), 0
        total = None if self.file.size is None else self.file.size >> 10
        with self.progress.step("compare", total, "kB") as step, closing(self._compare_blocks(state.lines)) as blocks:
            for block, sorted_block in blocks:
                drop_counts.update(sorted_block.note.dropped)
                touched_items.update(sorted_block.note.items)
                skipped += [f"{self.file.name}:{bad.line}: {bad.reason}" for bad in sorted_block.broken]
                rows += sorted_block.counts.read
                try:
                    out.write(pack(b"".join(sorted_block.lines(block))))
                    drops.write(b"".join(encode(drop) + b"\n" for drop in sorted_block.dropped))
                    state = _State(
                        self.key,
                        block.first_line + len(block.data) - 1,
                        out.tell(),
                        drops.tell(),
                        rows,
                        dict(drop_counts),
                        tuple(sorted(touched_items)),
                        tuple(skipped),
                    )
                    if time.monotonic() - last_save_s >= _SAVE_EVERY_S:
                        _to_disk(out, drops)
                        write_atomic(self.state_path, encode(state))
                        last_save_s = time.monotonic()
                except OSError as error:
                    raise ResourceError(
                        f"Cannot write {self.out} or {self.drops}: {error}. Make room; "
                        "the same command goes on where it stopped"
                    ) from error
                step.advance(
                    (self.file.bytes_read >> 10) - reported_kb, f"{rows:,} rows, {drop_counts.total():,} dropped"
                )
                reported_kb = self.file.bytes_read >> 10
        return state

    def _compare_blocks(self, lines_done: int) -> Generator[tuple[Block, SortedBlock]]:
        blocks = _behind(self.file.blocks(_BLOCK_BYTES), lines_done)
        jobs = 1 if (self.file.size or _SMALL) < _SMALL else self.jobs
        return in_order(Decontaminate(self.settings).sort, blocks, jobs=jobs, purpose="comparing")


def _behind(blocks: Iterator[Block], lines_done: int) -> Iterator[Block]:
    """Yield the blocks without the first `lines_done` lines of the file."""
    for block in blocks:
        done = max(0, lines_done + 1 - block.first_line)
        if done < len(block.data):
            yield Block(block.first_line + done, block.data[done:])


def _packer(name: str) -> Callable[[bytes], bytes]:
    """Return a compressor whose outputs, joined, are one file; equal input gives equal bytes."""
    if name.endswith(".gz"):
        return lambda data: gzip.compress(data, mtime=0) if data else b""
    if name.endswith(".zst"):
        import zstandard

        compressor = zstandard.ZstdCompressor()
        return lambda data: compressor.compress(data) if data else b""
    return lambda data: data


def _to_disk(*files: BinaryIO) -> None:
    for file in files:
        file.flush()
        os.fsync(file.fileno())
