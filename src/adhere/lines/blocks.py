"""Read files of JSON lines, plain or compressed, in blocks of whole lines; write them whole or not at all.

The ending of the name says how a file is compressed: `.gz` or `.zst`, anything else is plain. Files are read in blocks
rather than lines, because a block can be handed to another process and its lines cut there.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

import msgspec

from adhere.errors import SpecError, UsageError
from adhere.schema import convert, decoder_of, open_whole

BLOCK_BYTES = 1 << 18  # fits into a core's own cache, where lines are then parsed from
_CHUNK_BYTES = 1 << 16
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MARKS = {
    b"\x1f\x8b": "compressed by gzip, and its name does not end in .gz. Rename it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd, and its name does not end in .zst. Rename it",
    b"PK\x03\x04": "a zip archive, not JSON lines. Unpack it",
    b"BZh": "compressed by bzip2, which is not read. Unpack it, or compress it as .gz or .zst",
    b"\xfd7zXZ": "compressed by xz, which is not read. Unpack it, or compress it as .gz or .zst",
    b"PAR1": "Parquet, and its name does not end in .parquet. Rename it",
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself. Get it: git lfs pull",
    b"<": "a page of HTML or XML, not JSON lines; perhaps what a download gave instead of the file",
}

T = TypeVar("T")


class WrongColumn(SpecError):
    """Says that a line is a JSON object, but a column is missing or has another type than it should."""


class Block(NamedTuple):
    """Holds some whole lines with their newlines. `first_line` counts from 1; a file's last line may lack a newline."""

    first_line: int
    data: list[bytes]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number, line) for all but blank lines."""
        for number, line in enumerate(self.data, start=self.first_line):
            if not line.isspace():
                yield number, line


class LineFile:
    """Reads a file of JSON lines once, from front to back; `-` is the standard input.

    Attributes:
        name: Name of the file, for messages.
        size: Bytes of the (compressed) file, or None if unknown.
        bytes_read: How many of these bytes have been read.
        sha256: Hash of the lines read so far, uncompressed (hex): the same for a file and its compressed copies.

    Raises:
        UsageError: There is no such file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_stdin = str(path) == "-"
        self.name = "<stdin>" if self._is_stdin else str(path)
        if not self._is_stdin and not path.is_file():
            problem = "a directory" if path.is_dir() else "no such file" if not path.exists() else None
            if problem:
                raise UsageError(f"{path}: {problem}. Give a file of JSON lines: plain, .gz or .zst")
        if path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith(_TABLES):
            raise UsageError(
                f"{path}: a table, not JSON lines. With pandas: pd.read_csv(…) (or read_parquet, read_excel) and then "
                '.to_json("rows.jsonl", orient="records", lines=True)'
            )
        self.size = path.stat().st_size if path.is_file() and not self._is_stdin else None
        self.bytes_read = 0
        self._hash = hashlib.sha256()

    _first_line = 1

    def _open(self, stack: ExitStack) -> BinaryIO:
        return sys.stdin.buffer if self._is_stdin else stack.enter_context(self._path.open("rb"))

    @property
    def sha256(self) -> str:
        """Hash of the lines read so far, uncompressed (hex)."""
        return self._hash.hexdigest()

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[Block]:
        """Yield the lines in blocks of about `size` bytes; a longer line is a block by itself.

        Raises:
            SpecError: The compressed data is damaged or incomplete, or the file is no UTF-8 text.
        """
        number = self._first_line
        with ExitStack() as stack:
            file = self._open(stack)
            decompressor = _decompressor(self.name)
            if decompressor is not None:
                file = io.BufferedReader(_StreamReader(file, decompressor, self), _CHUNK_BYTES)
            while lines := file.readlines(size):
                self._hash.update(b"".join(lines))
                if decompressor is None:
                    self.bytes_read += sum(map(len, lines))
                if number == 1:
                    self._insist_on_text(lines[0])
                    lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
                yield Block(number, lines)
                number += len(lines)

    def rows(self, kind: type[T], size: int = BLOCK_BYTES) -> Iterator[tuple[int, T]]:
        """Yield (line number, row) of each line that is not blank, decoded as `kind`.

        Raises:
            SpecError: A line cannot be decoded (the message names file and line), or `blocks` raises it.
        """
        decoder = decoder_of(kind)
        for block in self.blocks(size):
            for number, line in block.lines():
                try:
                    row = parse_line(line, decoder)
                except SpecError as problem:
                    raise SpecError(f"{self.name}:{number}: {problem}") from problem
                yield number, row

    def _insist_on_text(self, beginning: bytes) -> None:
        """Refuse a file that is not UTF-8 lines, and say what it is.

        Raises:
            SpecError: The file is of another kind or encoding.
        """
        kind = next((kind for mark, kind in _MARKS.items() if beginning.startswith(mark)), None)
        if kind is not None:
            raise SpecError(f"{self.name}: {kind}")
        if beginning.startswith(_UTF_16) or b"\0" in beginning[:4]:
            raise SpecError(
                f"{self.name}: this is UTF-16 or UTF-32, not UTF-8. Write it anew: iconv -f UTF-16 -t UTF-8 IN > OUT"
            )


class _Decompressor(Protocol):
    """Declares the interface that zlib and zstandard both call a decompressobj."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _decompressor(name: str) -> Callable[[], _Decompressor] | None:
    name = name.lower()
    if name.endswith(".gz"):
        return lambda: zlib.decompressobj(wbits=31)
    if name.endswith(".zst"):
        import zstandard  # only whoever reads or writes such a file pays for it

        return lambda: zstandard.ZstdDecompressor().decompressobj()
    return None


class _StreamReader(io.RawIOBase):
    """Reads the data of one or several concatenated compressed streams, as `cat a.gz b.gz` makes them."""

    def __init__(self, file: BinaryIO, make: Callable[[], _Decompressor], source: LineFile) -> None:
        self._file, self._make, self._source = file, make, source
        self._decompressor = make()
        self._is_begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Return True, as io.BufferedReader requires."""
        return True

    def readinto(self, target: Any) -> int:
        """Fill `target` with at most one piece of data; return the number of bytes, 0 at the end."""
        while not self._ready:
            chunk = self._file.read(_CHUNK_BYTES)
            if not chunk:
                self._check_end()
                return 0
            self._source.bytes_read += len(chunk)
            self._ready = memoryview(b"".join(self._pieces(chunk)))
        n = min(len(target), len(self._ready))
        target[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        rest = chunk
        while rest:
            if self._decompressor.eof:
                rest = rest.lstrip(b"\0")  # some writers pad the end of a stream
                self._decompressor, self._is_begun = self._make(), False
                continue
            self._is_begun = True
            try:
                yield self._decompressor.decompress(rest)
            except Exception as error:
                if not _is_of_decompressor(error):
                    raise
                raise SpecError(
                    f"{self._source.name}: cannot be decompressed ({error}). If it is plain text, take the ending off "
                    "its name; otherwise copy or make the file again"
                ) from error
            rest = self._decompressor.unused_data if self._decompressor.eof else b""

    def _check_end(self) -> None:
        if self._is_begun and not self._decompressor.eof:
            raise SpecError(
                f"{self._source.name}: the compressed data ends too early; the file looks cut off. "
                "Copy or make it again"
            )


def _is_of_decompressor(error: Exception) -> bool:
    return isinstance(error, zlib.error) or type(error).__module__.partition(".")[0] == "zstandard"


def parse_line(line: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode one line as a record.

    A lone surrogate, or `NaN` in another column, which Python's `json` writes and msgspec refuses, is read too.

    Args:
        line: The line; without a newline it is taken as the last line of a file that may have been cut off.
        decoder: Decoder of the record's type.

    Raises:
        WrongColumn: A column has another type, or is missing.
        SpecError: The line is no JSON object. The caller adds file and line to both errors.
    """
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _second_look(line, decoder, error)


def _second_look(line: bytes, decoder: msgspec.json.Decoder[T], error: Exception) -> T:
    import json

    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        if (problem := _encoding_problem(line)) is not None:
            raise SpecError(
                f"not UTF-8 ({problem}). Write it anew from its own encoding: iconv -f ISO-8859-1 -t UTF-8 IN > OUT"
            ) from error
        if not line.endswith(b"\n"):
            raise SpecError(
                f"the last line looks cut off: it is no whole JSON value and has no newline at its end ({error}). "
                "Write the file again, or delete that line"
            ) from error
        raise SpecError(f"not JSON: {error}. Each line must be one JSON object") from error
    if not isinstance(value, dict):
        kind = {list: "a list", str: "a text", type(None): "null", bool: "a truth value"}.get(type(value), "a number")
        advice = "; of an array: jq -c '.[]' IN > OUT" if kind == "a list" else ""
        raise SpecError(f"found {kind}; each line must be one JSON object{advice}") from error
    try:
        return convert(value, decoder.type)
    except msgspec.ValidationError as problem:
        raise WrongColumn(f"{_in_words(problem)}. Columns of this row: {', '.join(map(str, value))}") from error


def _encoding_problem(line: bytes) -> str | None:
    """Name the byte that is no UTF-8; None if there is none, or if the line ends within a letter, as if cut off."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        is_cut = error.end == len(line) and error.reason == "unexpected end of data"
        return None if is_cut else f"byte 0x{line[error.start]:02x}"
    return None


def _in_words(problem: msgspec.ValidationError) -> str:
    """Put the key of a validation error first: `key: Expected …, got …` instead of `Expected …, got … - at `$.key``."""
    message, _, where = str(problem).partition(" - at `$.")
    return f"{where.rstrip('`')}: {message}" if where else message


@contextmanager
def written_whole(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Yield a function that writes to `path`, compressed as the name says.

    Readers see the whole new file or the old one. If anything is raised inside, an interruption too, no trace of the
    new file is left.
    """
    with open_whole(path) as file, ExitStack() as stack:
        yield compressing(path.name, file, stack)


def compressing(name: str, file: BinaryIO, stack: ExitStack) -> Callable[[bytes], object]:
    """Return a function that writes to `file`, compressed as the ending of `name` says.

    Neither format stores a name or a time: equal rows make equal files.
    """
    if name.endswith(".gz"):
        import gzip

        return stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)).write
    if name.endswith(".zst"):
        import zstandard

        return stack.enter_context(zstandard.ZstdCompressor().stream_writer(file, closefd=False)).write
    return file.write
