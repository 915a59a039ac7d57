"""Open stored files that may come from somebody else: only regular files of a sane size are read.

A pipe would be waited for, a device never ends, and a sparse file of gigabytes is read as zeros. None of them is
opened.
"""

from __future__ import annotations

import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from adhere.errors import IntegrityError

MOST_BYTES = 256 << 20
"""Largest size of a manifest, a summary or another file that is one record."""
MOST_PROMPT_BYTES = 1 << 30
"""Largest size of the prompts of one Run, and of a segment that is read at once."""
MOST_LINE_BYTES = 64 << 20
"""Largest size of one line of a segment, which is one answer. An endpoint's whole reply has at most 32 MB."""


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading.

    Raises:
        FileNotFoundError: There is no such file.
        IntegrityError: The path is a pipe, a device, a socket or a directory.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IntegrityError(f"{path} is no regular file")
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return all bytes of a regular file.

    Raises:
        FileNotFoundError: There is no such file.
        IntegrityError: The path is no regular file, or has more than `most` bytes.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise IntegrityError(f"{path} has {size:,} bytes, more than the {most:,} that are read")
        return file.read(size + 1)


def sha256_of(path: Path) -> str:
    """Return the sha256 (hex) of a regular file of at most MOST_PROMPT_BYTES, read in pieces.

    Raises:
        FileNotFoundError, IntegrityError: See `read_regular`.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_PROMPT_BYTES:
            raise IntegrityError(f"{path} has {size:,} bytes, more than the {MOST_PROMPT_BYTES:,} that are read")
        return hashlib.file_digest(file, "sha256").hexdigest()


def inside(base: Path, place: str) -> Path:
    """Return `base / place`, for a place named by a stored file.

    Raises:
        IntegrityError: The place lies outside of `base`, by `..`, an absolute path or a link.
    """
    path = base / place
    if not path.resolve().is_relative_to(base.resolve()):
        raise IntegrityError(f"{place} lies outside of {base}, so it is not read")
    return path
