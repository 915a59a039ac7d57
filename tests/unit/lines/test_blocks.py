"""What is no file of UTF-8 lines is said as what it is."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import SpecError
from adhere.lines.blocks import LineFile, parse_line
from adhere.schema import decoder_of

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
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "a page of HTML": b"<!DOCTYPE html>\n",
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


@pytest.mark.parametrize("name", ["rows.jsonl.GZ", "ROWS.JSONL.Gz"])
def test_an_ending_in_capitals_is_one(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(LINE))
    assert [block.data for block in LineFile(tmp_path / name).blocks()] == [[LINE]]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "gb18030", "shift_jis"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_another_encoding_is_named_and_not_called_a_cut_line(encoding: str, end: str) -> None:
    text = {"latin-1": "caf\u00e9", "cp1252": "\u201cok\u201d"}.get(encoding, "\u6d77\u6c34\u5f88\u84dd\u5929")
    line = ('{"a": "' + text + '"}' + end).encode(encoding, "ignore")
    with pytest.raises(SpecError, match=r"not UTF-8 \(byte 0x.*iconv"):
        parse_line(line, decoder_of(dict[str, Any]))
    with pytest.raises(SpecError, match="looks cut off"):
        parse_line('{"a": "caf\u00e9'.encode()[:-1], decoder_of(dict[str, Any]))


def test_an_array_says_how_it_becomes_lines() -> None:
    with pytest.raises(SpecError, match="found a list; each line must be one JSON object; of an array: jq"):
        parse_line(b'[{"a": 1}]\n', decoder_of(dict[str, Any]))
