"""Find, read and write the places of rows.

A place is a path of this machine, or what fsspec reads (`s3://…`, `hf://…`, `memory://…`), with patterns.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from glob import glob
from pathlib import Path
from typing import Any, BinaryIO

from adhere.errors import ResourceError, UsageError
from adhere.extras import need
from adhere.lines.blocks import compressing, written_whole

_BUFFER_BYTES = 1 << 20


def is_remote(place: str) -> bool:
    """Tell whether a place is a URL rather than a path of this machine."""
    return "://" in place


def _file_system(place: str) -> tuple[Any, str]:
    fsspec = need("fsspec", extra="remote")
    try:
        system_and_path: tuple[Any, str] = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:  # fsspec says which package reads such a place, or that it knows none
        raise UsageError(f"{place}: {error}") from error
    return system_and_path


def find(patterns: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return (place, bytes) of every file that the places and patterns name.

    The order is that of `patterns`; files of one pattern are sorted, and no file comes twice.

    Raises:
        UsageError: A pattern names no file.
        MissingExtra: A place is remote, and fsspec is not installed.
    """
    places: dict[str, int] = {}
    for pattern in patterns:
        if is_remote(pattern):
            system, path = _file_system(pattern)
            sizes = {
                file: int(info["size"])
                for file, info in system.glob(path, detail=True).items()
                if info["type"] == "file"
            }
            names = {str(system.unstrip_protocol(file)): size for file, size in sorted(sizes.items())}
        else:
            paths = [pattern] if Path(pattern).is_file() else sorted(glob(pattern, recursive=True))  # noqa: PTH207 - patterns may be absolute
            names = {path: Path(path).stat().st_size for path in paths if Path(path).is_file()}
        if not names:
            raise UsageError(
                f"{pattern}: no such file, and no file matches it. Patterns: 'data/*.jsonl.zst', "
                "'s3://bucket/**/*.parquet'"
            )
        places |= names
    return list(places.items())


@contextmanager
def open_place(place: str) -> Iterator[BinaryIO]:
    """Open a file for reading, without decompressing it.

    Raises:
        ResourceError: A remote file does not exist any more.
    """
    if not is_remote(place):
        with Path(place).open("rb") as file:
            yield file
        return
    system, path = _file_system(place)
    try:
        with system.open(path, "rb") as file:
            yield io.BufferedReader(
                file, _BUFFER_BYTES
            )  # the files of some stores have no `readlines` of so many bytes
    except FileNotFoundError as error:
        raise ResourceError(f"{place} is not there any more") from error


@contextmanager
def write_place(place: str) -> Iterator[Callable[[bytes], object]]:
    """Yield a function that writes to a place, compressed as its name says.

    On this machine readers see the whole file or none. In an object store, too, the file appears when it is whole; if
    something is raised inside, part of it may stay.
    """
    if not is_remote(place):
        with written_whole(Path(place)) as write:
            yield write
        return
    system, path = _file_system(place)
    system.makedirs(path.rpartition("/")[0], exist_ok=True)
    with system.open(path, "wb") as file, ExitStack() as stack:
        yield compressing(place, file, stack)


def read_if_there(place: str) -> bytes | None:
    """Return the content of a small file, or None if there is none."""
    if not is_remote(place):
        path = Path(place)
        return path.read_bytes() if path.is_file() else None
    system, name = _file_system(place)
    return bytes(system.cat_file(name)) if system.exists(name) else None
