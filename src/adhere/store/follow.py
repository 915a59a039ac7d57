"""Reading segments while somebody else is writing them: every call gives the rows that came since the last one."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

from adhere.errors import IntegrityError
from adhere.schema import Record, decode

T = TypeVar("T", bound=Record)


class Follower(Generic[T]):
    """Follows the segments of one folder, which need not exist yet.

    Args:
        folder: Where they lie.
        kind: Of their rows.

    Attributes:
        changed: When the newest of them was last written (seconds since 1970); 0 if there is none.
        unreadable: Complete lines that cannot be read.
    """

    def __init__(self, folder: Path, kind: type[T]) -> None:
        self.folder, self.kind = folder, kind
        self.changed = 0.0
        self.unreadable = 0
        self._read: dict[Path, int] = {}

    def fresh(self) -> list[T]:
        """The rows since the last call; a line that is not yet ended comes with a later one."""
        rows = []
        for path in sorted(self.folder.glob("*.jsonl")):
            try:
                status = path.stat()
                self.changed = max(self.changed, status.st_mtime)
                if status.st_size > self._read.get(path, 0):
                    rows += self._rest_of(path)
            except FileNotFoundError:  # compacted away between the two lines
                continue
        return rows

    def _rest_of(self, path: Path) -> list[T]:
        begun = self._read.get(path, 0)
        with path.open("rb") as file:
            file.seek(begun)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read[path] = begun + len(whole)
        rows = []
        for line in whole.splitlines():
            try:
                rows.append(decode(line, self.kind))
            except IntegrityError:
                self.unreadable += 1
        return rows
