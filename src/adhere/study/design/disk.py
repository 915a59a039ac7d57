"""The error of a study whose directory cannot be written."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adhere.errors import AdhereError, ResourceError

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR})


def disk_trouble(error: Exception, directory: Path) -> ResourceError | None:
    """The error to raise where `error` says that the disk is full or read-only; None where it says something else.

    Libraries that write weights raise errors of their own, which have the system's words and no number.
    """
    words = str(error)
    if isinstance(error, AdhereError):
        return None
    if not (isinstance(error, OSError) and error.errno in UNWRITABLE) and "No space left on device" not in words:
        return None
    return ResourceError(
        f"{directory} cannot be written: {words}. What was finished is stored. Free space or mend its permissions, "
        "or use --out on another disk, and run the same command again"
    )


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Say it in one line where what is done inside cannot be written to `directory`.

    Raises:
        ResourceError: The disk is full or read-only.
    """
    try:
        yield
    except Exception as error:
        if (trouble := disk_trouble(error, directory)) is not None:
            raise trouble from error
        raise
