"""Write and read append-only JSON-lines files, one writer each, that a crash cannot spoil.

A writer makes its own file, so two processes never share one and no lock is needed. A batch is one `os.write` on a
descriptor opened with O_APPEND, then one fsync: what `flush` has returned from survives kill -9 and power loss. Readers
take whole lines only: an unterminated tail is dropped and counted, a line that cannot be read is counted, named and
skipped, and both become work that is simply done again.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Generic, Self, TypeVar

from adhere.errors import IntegrityError, ResourceError
from adhere.schema import Record, decode, encode
from adhere.store.files import MOST_LINE_BYTES, open_regular

BATCH_ROWS = 64
BATCH_S = 0.5
T = TypeVar("T", bound=Record)


class Damage:
    """Records what reading found and could not use, so that nothing is lost silently.

    Attributes:
        torn: Unterminated last lines, each the mark of a writer that died while writing.
        corrupt: `file:line: what is wrong` for each complete line that cannot be read.
        stale: Verdicts about an answer that has since been replaced.
    """

    def __init__(self) -> None:
        self.torn: list[str] = []
        self.corrupt: list[str] = []
        self.stale = 0

    def __add__(self, other: Damage) -> Damage:
        both = Damage()
        both.torn, both.corrupt = self.torn + other.torn, self.corrupt + other.corrupt
        both.stale = self.stale + other.stale
        return both

    @property
    def rows(self) -> int:
        """Number of lines that were dropped."""
        return len(self.torn) + len(self.corrupt)

    def __bool__(self) -> bool:
        return self.rows > 0

    def __str__(self) -> str:
        parts = []
        if self.torn:
            parts.append(f"{len(self.torn)} unfinished last line(s): {', '.join(self.torn)}")
        if self.corrupt:
            more = f" and {len(self.corrupt) - 3} more" if len(self.corrupt) > 3 else ""
            parts.append(f"{len(self.corrupt)} unreadable line(s): {'; '.join(self.corrupt[:3])}{more}")
        return "; ".join(parts) or "none"


class SegmentWriter(Generic[T]):
    """Appends rows to a new file of its own in `folder`; the file appears with the first batch.

    Args:
        folder: Folder of the segments of this kind.

    Attributes:
        safe: Number of rows on disk.
    """

    def __init__(self, folder: Path) -> None:
        self.path = _new_path(folder)
        self.safe = 0
        self._length = 0
        self._waiting: list[bytes] = []
        self._flushed = time.monotonic()
        self._descriptor: int | None = None

    def append(self, row: T) -> tuple[Path, int, int]:
        """Take one row. It is safe once `flush` returns, which is called after 64 rows or 0.5 s after the last flush.

        Returns the row's place: the file, the byte at which it begins, and its number of bytes.
        """
        data = encode(row) + b"\n"
        place = (self.path, self._length, len(data))
        self._waiting.append(data)
        self._length += len(data)
        if len(self._waiting) >= BATCH_ROWS or time.monotonic() - self._flushed >= BATCH_S:
            self.flush()
        return place

    def flush(self) -> None:
        """Write the waiting rows and fsync.

        Raises:
            ResourceError: The disk is full or failing. Rows of earlier flushes are safe; those that waited are not.
        """
        if not self._waiting:
            return
        batch, count = b"".join(self._waiting), len(self._waiting)
        try:
            if self._descriptor is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
                sync(self.path.parent)
            _write_all(self._descriptor, batch)
        except OSError as error:
            # A torn batch must not be continued: its tail would join the next one's first line. Whatever comes later
            # goes to a new file.
            self._waiting.clear()
            self._abandon()
            trouble = self._trouble(error, count)
            self.path, self._length = _new_path(self.path.parent), 0
            raise trouble from error
        self._waiting.clear()
        self._flushed = time.monotonic()
        self.safe += count

    def close(self) -> None:
        """Flush and let go of the file."""
        try:
            self.flush()
        finally:
            self._abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _abandon(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _trouble(self, error: OSError, n_lost: int) -> ResourceError:
        cause = "disk full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else f"cannot write ({error.strerror})"
        return ResourceError(
            f"{cause} at {self.path.parent}: {self.safe} rows of this session are safe, the last {n_lost} are not. "
            "Free space and run the same command again; it goes on from there"
        )


def _new_path(folder: Path) -> Path:
    """Return a name that no other writer has.

    The time comes first, for of two rows with one key the later segment's counts.
    """
    host = re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:32]
    return folder / f"{time.time_ns():020d}-{host}-{os.getpid()}-{secrets.token_hex(3)}.jsonl"


def read_segments(folder: Path, kind: type[T], damage: Damage) -> Iterator[T]:
    """Yield every readable row of every segment in `folder`, oldest segment first; `damage` gets the rest."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from read_segment(path, kind, damage)


def read_segment(path: Path, kind: type[T], damage: Damage) -> Iterator[T]:
    """Yield every readable row of one segment; `damage` gets the rest."""
    name = f"{path.parent.name}/{path.name}"
    try:
        file = open_regular(path)
    except IntegrityError as error:
        damage.corrupt.append(f"{name}: {error}")
        return
    with file:
        for number in count(1):
            line = file.readline(MOST_LINE_BYTES)
            if not line:
                return
            if not line.endswith(b"\n"):
                if len(line) == MOST_LINE_BYTES:
                    damage.corrupt.append(
                        f"{name}:{number}: longer than {MOST_LINE_BYTES:,} bytes; the rest of the file is left out"
                    )
                else:
                    damage.torn.append(f"{name}:{number}")
                return
            try:
                yield decode(line, kind)
            except IntegrityError as error:
                damage.corrupt.append(f"{name}:{number}: {error}")


def _write_all(descriptor: int, batch: bytes) -> None:
    """Write a batch by one write and one fsync.

    Raises:
        OSError: Not all of it was written.
    """
    if os.write(descriptor, batch) != len(batch):  # a regular file takes all of it, or has no room
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


def sync(path: Path) -> None:
    """Write what the system still buffers of a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
