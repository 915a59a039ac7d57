"""Read segments while another process writes them: every call gives the rows that came since the last one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from adhere.errors import IntegrityError
from adhere.schema import Record, decode
from adhere.store.files import MOST_LINE_BYTES, open_regular

T = TypeVar("T", bound=Record)


class Follower(Generic[T]):
    """Follows the segments of one folder, which need not exist yet.

    Args:
        folder: Folder of the segments.
        kind: Type of the rows.

    Attributes:
        changed: When the newest segment was last written (seconds since 1970); 0 if there is none.
        unreadable: Number of complete lines that cannot be read, and of files that no writer of ours made.
    """

    def __init__(self, folder: Path, kind: type[T]) -> None:
        self.folder, self.kind = folder, kind
        self.changed = 0.0
        self.unreadable = 0
        self._read: dict[Path, int] = {}
        self._left_out: set[Path] = set()

    def fresh(self) -> list[T]:
        """Return the rows since the last call; an unfinished line comes with a later call."""
        return list(self._fresh())

    def _fresh(self) -> Iterator[T]:
        for path in sorted(self.folder.glob("*.jsonl")):
            if path in self._left_out:
                continue
            try:
                status = path.stat()
                self.changed = max(self.changed, status.st_mtime)
                if status.st_size > self._read.get(path, 0):
                    yield from self._rest_of(path)
            except FileNotFoundError:  # compacted away between the two lines
                continue
            except IntegrityError:  # no regular file
                self._leave_out(path)

    def _rest_of(self, path: Path) -> Iterator[T]:
        with open_regular(path) as file:
            file.seek(self._read.get(path, 0))
            while line := file.readline(MOST_LINE_BYTES):
                if not line.endswith(b"\n"):
                    if len(line) == MOST_LINE_BYTES:
                        self._leave_out(path)
                    return
                self._read[path] = self._read.get(path, 0) + len(line)
                try:
                    yield decode(line, self.kind)
                except IntegrityError:
                    self.unreadable += 1

    def _leave_out(self, path: Path) -> None:
        """Leave out a file that no writer of ours makes, and count it as unreadable once."""
        self._left_out.add(path)
        self.unreadable += 1
