"""Reads the facts of a GGUF file's header that an engine needs to describe itself; the weights are not read."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from adhere.errors import IntegrityError

Value = int | float | bool | str | None

# Value types of the format: struct codes of the fixed-size ones, by number.
_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
LONGEST_STRING = 1 << 24  # a chat template has a few thousand bytes
_FILE_TYPES = {0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 15: "q4_k_m", 18: "q6_k"}


def read_header(path: Path) -> dict[str, Value]:
    """Return the header's keys and values; arrays (vocabularies) are skipped and become None.

    Raises:
        IntegrityError: The file is no GGUF file of version 2 or 3, or its header is damaged.
    """
    with path.open("rb") as file:
        try:
            magic, version, _, count = struct.unpack("<4sIQQ", file.read(24))
            if magic != b"GGUF" or version not in (2, 3):
                raise IntegrityError(f"{path}: not a GGUF file of version 2 or 3")
            header: dict[str, Value] = {}
            for _ in range(count):
                key = _string(file)
                header[key] = _value(file, _number(file, "I"))
        except (struct.error, KeyError, UnicodeDecodeError, OverflowError, OSError) as error:  # lengths may be absurd
            raise IntegrityError(f"{path}: its GGUF header is damaged") from error
    return header


def context_length(header: dict[str, Value]) -> int | None:
    """Return the number of positions that the model was trained for; None if the file does not state it."""
    length = header.get(f"{header.get('general.architecture')}.context_length")
    return length if isinstance(length, int) else None


def weight_format(header: dict[str, Value]) -> str:
    """Return the format that most weights are stored in, e.g. `q4_1`."""
    number = header.get("general.file_type")
    return _FILE_TYPES.get(number, f"gguf type {number}") if isinstance(number, int) else "gguf"


def _number(file: BinaryIO, code: str) -> int:
    (number,) = struct.unpack(f"<{code}", file.read(struct.calcsize(code)))
    return int(number)


def _string(file: BinaryIO) -> str:
    length = _number(file, "Q")
    if length > LONGEST_STRING:
        raise OverflowError
    return file.read(length).decode("utf-8")


def _value(file: BinaryIO, kind: int) -> Value:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        code = _FIXED[kind]
        (value,) = struct.unpack(f"<{code}", file.read(struct.calcsize(code)))
        return value if isinstance(value, int | float) else None
    inner, count = _number(file, "I"), _number(file, "Q")
    if inner in _FIXED:
        file.seek(count * struct.calcsize(_FIXED[inner]), 1)
    else:
        for _ in range(count):
            _value(file, inner)
    return None
