"""Turn the errors of a full or read-only disk into one message that says what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adhere.errors import AdhereError, ResourceError

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR})


def disk_trouble(error: Exception, directory: Path) -> ResourceError | None:
    """Return the error to raise if `error` says that the disk is full or read-only, else None.

    Libraries that write weights raise errors of their own, which have the system's message and no number.
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
    """Turn errors of a full or read-only disk, inside the context, into one line about `directory`.

    Raises:
        ResourceError: The disk is full or read-only.
    """
    try:
        yield
    except Exception as error:
        if (trouble := disk_trouble(error, directory)) is not None:
            raise trouble from error
        raise
