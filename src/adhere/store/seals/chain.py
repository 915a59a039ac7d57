"""Seal a Run: note the hashes of what it holds when it is finished, so that later changes are noticed.

`seals.jsonl` has a line for every time the Run was sealed: the size and sha256 of each file, and the hash of the line
before. Segments only grow, so each must still begin with what an earlier seal covers. `adhere doctor DIR` compares.

No key is involved: a rewritten Run with rewritten seals is noticed only if the hash of the last line (`SealCheck.head`)
was written down elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import adhere
from adhere.errors import IntegrityError
from adhere.schema import Record, decode, encode, write_atomic
from adhere.store.files import inside, open_regular, read_regular

FILE, SUMMARY = "seals.jsonl", "summary.json"
_PIECE = 1 << 20


class SealedFile(Record, frozen=True):
    """Holds the size and hash of a file as it was; `path` is below the sealed directory."""

    path: str
    size: int
    sha256: str


class Seal(Record, frozen=True):
    """Holds one line. `before` is the sha256 of the line before it, without line feed; empty in the first."""

    version: int
    made: str
    adhere: str
    before: str
    files: tuple[SealedFile, ...]


class SealCheck(NamedTuple):
    """Tells the state of a Run since it was sealed.

    `head` is the sha256 of the last seal, `problems` says what was changed. `unfinished`: the Run has no summary, so
    rows may have come since; the sealed ones are unchanged. `not sealed`: the Run never had a summary, or an earlier
    version of adhere made it.
    """

    state: Literal["whole", "changed", "unfinished", "not sealed"]
    seals: int
    head: str
    problems: tuple[str, ...]


def add_seal(directory: Path, summary: bytes) -> None:
    """Add a seal over the files of a Run, and over the summary that is written next.

    Nothing is added if the last seal has the same files.
    """
    file = directory / FILE
    before = read_regular(file) if file.exists() else b""
    files = [_seal_file(directory, path) for path in run_files(directory) if path.name != SUMMARY]
    files.append(SealedFile(SUMMARY, len(summary), hashlib.sha256(summary).hexdigest()))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    lines = before.splitlines()
    if lines and (last := _readable(lines[-1])) is not None and last.files == tuple(files):
        return
    seal = Seal(1, now, adhere.__version__, _sha256(lines[-1]) if lines else "", tuple(files))
    write_atomic(file, before + encode(seal) + b"\n")


def check_seals(directory: Path) -> SealCheck:
    """Compare a Run with its seals."""
    file, is_open = directory / FILE, not (directory / SUMMARY).exists()
    if not file.exists():
        return SealCheck("not sealed", 0, "", ())
    lines = read_regular(file).splitlines()
    problems: list[str] = []
    seals: list[Seal] = []
    for number, line in enumerate(lines, start=1):
        try:
            seal = decode(line, Seal)
        except IntegrityError as error:
            problems.append(f"{FILE}:{number} cannot be read: {error}")
            continue
        if seal.before != (_sha256(lines[number - 2]) if number > 1 else ""):
            problems.append(f"{FILE}:{number} does not follow from the line before: one of the two was changed")
        seals.append(seal)
    if seals:
        problems += _changes(directory, seals)
        problems += [] if is_open else _additions(directory, seals[-1])
    head = _sha256(lines[-1]) if lines else ""
    return SealCheck("changed" if problems else "unfinished" if is_open else "whole", len(lines), head, tuple(problems))


def _changes(directory: Path, seals: list[Seal]) -> Iterator[str]:
    """Yield what differs from the seals; if several disagree about a file, the earliest counts."""
    entries_by_path: dict[str, list[tuple[SealedFile, str]]] = {}
    for seal in seals:
        for sealed_file in seal.files:
            if sealed_file.path != SUMMARY or seal is seals[-1]:  # the summary is written anew each time
                entries_by_path.setdefault(sealed_file.path, []).append((sealed_file, seal.made))
    if not (directory / SUMMARY).exists():
        entries_by_path.pop(SUMMARY, None)
    for path, entries in entries_by_path.items():
        file = inside(directory, path)
        if not file.is_file():
            yield f"{path} is gone; it was sealed on {entries[0][1]}"
            continue
        size = file.stat().st_size
        for sealed_file, date in entries:
            if size < sealed_file.size:
                yield f"{path} was changed after {date}: it has {size:,} bytes and had {sealed_file.size:,}"
                break
            if _sha256_of_start(file, sealed_file.size) != sealed_file.sha256:
                yield f"{path} was changed after {date}: it holds other bytes than those that were sealed"
                break


def _additions(directory: Path, seal: Seal) -> Iterator[str]:
    """Yield files and bytes that the last seal does not cover, although there is a summary."""
    sizes = {sealed_file.path: sealed_file.size for sealed_file in seal.files}
    for file in run_files(directory):
        path, size = file.relative_to(directory).as_posix(), file.stat().st_size
        if path not in sizes:
            yield f"{path} came after the last seal, of {seal.made}"
        elif size > sizes[path]:
            yield f"{path} has grown by {size - sizes[path]:,} bytes after the last seal, of {seal.made}"


def run_files(directory: Path) -> list[Path]:
    """List the files that a Run consists of, apart from its seals."""
    names = (directory / name for name in ("manifest.json", "prompts.jsonl", SUMMARY))
    segments = (
        path for folder in ("responses", "steps", "verdicts") for path in sorted((directory / folder).glob("*.jsonl"))
    )
    return [*filter(Path.exists, names), *segments]


def _readable(line: bytes) -> Seal | None:
    """Decode a line; None if it is damaged, which `check_seals` reports."""
    try:
        return decode(line, Seal)
    except IntegrityError:
        return None


def _seal_file(directory: Path, path: Path) -> SealedFile:
    size = path.stat().st_size
    return SealedFile(path.relative_to(directory).as_posix(), size, _sha256_of_start(path, size))


def _sha256_of_start(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while size > 0 and (piece := file.read(min(size, _PIECE))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()


def _sha256(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
