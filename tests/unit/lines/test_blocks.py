"""What is no file of UTF-8 lines is said as what it is."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from adhere.errors import SpecError
from adhere.lines.blocks import LineFile

LINE = b'{"a": 1}\n'
KINDS = {
    "UTF-16": LINE.decode().encode("utf-16"),
    "is UTF-16 or UTF-32": LINE.decode().encode("utf-16-le"),
    "UTF-32, not UTF-8": LINE.decode().encode("utf-32"),
    "does not end in .gz": gzip.compress(LINE),
    "compressed by bzip2": bz2.compress(LINE),
    "compressed by xz": lzma.compress(LINE),
    "a zip archive": b"PK\x03\x04rest\n",
    "Rename it": b"PAR1rest\n",
}


@pytest.mark.parametrize("said", KINDS)
def test_a_file_of_another_kind_is_named(said: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(KINDS[said])
    with pytest.raises(SpecError, match=f"rows.jsonl: .*{said}"):
        list(LineFile(path).blocks())


def test_a_plain_file_whose_name_says_compressed(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(LINE)
    with pytest.raises(SpecError, match=r"cannot be decompressed.*take the ending off its name"):
        list(LineFile(path).blocks())


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + LINE)
    assert [line for block in LineFile(path).blocks() for _, line in block.lines()] == [LINE]
