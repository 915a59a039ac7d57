"""Pack a study's records into one small file, to be committed, moved, and resumed elsewhere.

Packed are the frozen spec, the evaluations, the cells' records, the pools' manifests and the result: everything that
statistics, report and the rest of the work need. Left out are weights, training rows and, unless the spec keeps them,
answers. Packing the same study twice gives the same bytes.
"""

from __future__ import annotations

import fnmatch
import io
import lzma
import signal
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from adhere.errors import IntegrityError, UsageError
from adhere.schema import write_atomic

PATTERNS = (
    "study.json",
    "result.json",
    "sides.json",
    "suites/*.json",
    "evaluations/*.json",
    "answers/*.jsonl.xz",  # where the spec keeps them
    "cells/*/cell.json",
    "data/*/manifest.json",
    "failures/*.json",
    "tuning.json",
    "tune/study.json",
    "tune/evaluations/*.json",
    "tune/cells/*/cell.json",
    "tune/data/*/manifest.json",
)
MOST_BYTES = 1 << 28  # of all records together; a larger file was not packed here
BEGUN = ("study.json", "tune/study.json")  # a study that tunes writes its own spec when its settings are chosen
PACK_EVERY_S = 60.0  # a machine that is lent for minutes may go at any of them


def pack(directory: Path, file: Path) -> int:
    """Write the records of the study in `directory` to `file` (tar, xz); return the size in bytes.

    Raises:
        UsageError: No study is stored in `directory`.
    """
    if not any((directory / name).exists() for name in BEGUN):
        raise UsageError(f"{directory}: no study is stored there (study.json)")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", format=tarfile.PAX_FORMAT) as archive:
        for path in _records(directory):
            data = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(directory).as_posix())
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    write_atomic(file, packed.getvalue())
    return len(packed.getvalue())


@contextmanager
def packing(directory: Path, file: Path | None, *, every_s: float = PACK_EVERY_S) -> Iterator[None]:
    """Pack new records while the block runs, and again when it ends, however it ends.

    So a machine that disappears in the middle of a study loses at most `every_s` seconds of finished work.

    Args:
        directory: Directory of the study.
        file: The packed file; None: nothing is packed.
        every_s: Seconds between two checks for new records.
    """
    if file is None:
        yield
        return
    stop, packed = threading.Event(), _state(directory)

    def pack_what_is_new() -> None:
        nonlocal packed
        if (state := _state(directory)) != packed:
            pack(directory, file)
            packed = state

    def look() -> None:
        while not stop.wait(every_s):
            # A failure's record goes when its task is done, maybe while it is read; the next look packs.
            with suppress(FileNotFoundError):
                pack_what_is_new()

    looking = threading.Thread(target=look, name="packing", daemon=True)
    looking.start()
    try:
        with _ended_by_sigterm():
            yield
    finally:
        stop.set()
        looking.join()
        pack_what_is_new()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, by which schedulers take a machine back, raise SystemExit inside the context."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _state(directory: Path) -> tuple[tuple[str, int], ...]:
    """Return names and times of the records, to tell whether one is new or changed."""
    has_begun = any((directory / name).exists() for name in BEGUN)
    return tuple((str(path), path.stat().st_mtime_ns) for path in _records(directory)) if has_begun else ()


def _records(directory: Path) -> Iterator[Path]:
    for pattern in PATTERNS:
        yield from sorted(directory.glob(pattern))


def unpack(file: Path, directory: Path) -> int:
    """Unpack records into `directory`; return their number. Existing records stay as they are.

    Nothing is written before the whole file was read and checked.

    Raises:
        IntegrityError: The file is damaged, or has an entry that is no record of a study.
    """
    try:
        with lzma.open(file) as stream, tarfile.open(fileobj=_BoundedReader(stream, file), mode="r|") as archive:
            entries = {entry.name: _content(archive, entry, file) for entry in archive}
    except (tarfile.TarError, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise IntegrityError(
            f"{file}: not a packed study, or damaged: {error}. Get the file again, or begin without --records"
        ) from error
    for name, data in entries.items():
        path = directory / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
    return len(entries)


class _BoundedReader(io.RawIOBase):
    """Reads the decompressed bytes of a packed file, and refuses to read beyond MOST_BYTES.

    Headers count as well as contents.
    """

    def __init__(self, stream: lzma.LZMAFile, file: Path) -> None:
        self._stream, self._file, self._left = stream, file, MOST_BYTES

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise IntegrityError(
                f"{self._file}: more than {MOST_BYTES >> 20} MB of records; it was not packed by adhere"
            )
        return data


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo, file: Path) -> bytes:
    reader = archive.extractfile(entry) if entry.isreg() and _is_record(entry.name) else None
    if reader is None:
        raise IntegrityError(f"{file}: {entry.name!r} is no record of a study")
    return reader.read()


def _is_record(name: str) -> bool:
    """Tell whether a name is one that `pack` writes, with all its folders below the study's directory."""
    parts = PurePosixPath(name).parts
    return (
        "/".join(parts) == name
        and ".." not in parts
        and any(
            len(parts) == len(pattern_parts) and all(map(fnmatch.fnmatchcase, parts, pattern_parts))
            for pattern_parts in (pattern.split("/") for pattern in PATTERNS)
        )
    )
