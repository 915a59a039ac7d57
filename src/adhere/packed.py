"""Keeps long texts in memory compressed, one after the other in large blocks."""

from __future__ import annotations

import threading

_BLOCK_BYTES = 4 << 20


class PackedText:
    """Holds a compressed text; `str` returns it exactly.

    A thousand contexts of 128k tokens are half a gigabyte of text. Packed prose takes about a third of that, and the
    repeated sentences of the suite `long` a ninth.
    """

    __slots__ = ("_data",)

    def __init__(self, text: str) -> None:
        import zstandard  # 10 ms that whoever has no long text need not pay

        self._data = _SHELF.keep(zstandard.compress(text.encode("utf-8", "surrogatepass")))

    def __str__(self) -> str:
        import zstandard

        return zstandard.decompress(self._data).decode("utf-8", "surrogatepass")

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[PackedText], tuple[str]]:
        return PackedText, (str(self),)


class _Shelf:
    """Keeps packed texts in blocks of 4 MiB; a block is freed when none of its texts is in use.

    If each had its own memory, it would lie in the hole that the unpacked text before it left, and the next text would
    not fit there: the process would grow as if no text were packed.
    """

    def __init__(self) -> None:
        self._free = memoryview(bytearray())
        self._lock = threading.Lock()

    def keep(self, data: bytes) -> memoryview:
        """Copy `data` into a block and return the copy."""
        with self._lock:
            if len(data) > len(self._free):
                self._free = memoryview(bytearray(max(_BLOCK_BYTES, len(data))))
            place, self._free = self._free[: len(data)], self._free[len(data) :]
        place[:] = data
        return place


_SHELF = _Shelf()
