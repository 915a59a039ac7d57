"""Open a document of any format: Markdown, HTML, LaTeX, plain text or PDF.

What cannot be read is refused with the reason.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from adhere.errors import UsageError
from adhere.evidence.read.document import Document, Problem
from adhere.evidence.read.pdf import pdf_blocks
from adhere.evidence.read.text import read_html_document, read_latex_document, read_pdf_document, read_text_document

MAX_BYTES = 64 * 1024 * 1024
_MOJIBAKE = re.compile(r"[^\x00-\x7f]{2,}")
_HTML = re.compile(rb"^\s*(?:<!doctype html|<html|<\?xml|<head|<body)", re.IGNORECASE)
_LATEX = re.compile(rb"^\s*(?:%[^\n]*\n\s*)*\\(?:documentclass|begin\{(?:table|tabular|document))")
_CONTROL = frozenset(range(9)) | {11} | frozenset(range(14, 32)) - {27}


def read_document(path: Path, *, name: str = "") -> Document:
    """Read the document at `path` (`-`: standard input), under `name` (by default the file's name without its ending).

    Raises:
        UsageError: The file is absent, a directory, empty, larger than 64 MiB, binary, or an encrypted or damaged PDF;
            or `path` is an address.
    """
    if str(path) == "-":
        return _from_stdin(name)
    address = re.match(r"(?P<scheme>https?|ftp):/+(?P<rest>.*)", str(path))
    if address:
        url = f"{address['scheme']}://{address['rest']}"
        raise UsageError(f"{url}: an address, not a file. Download it first, e.g. curl -LO {url}")
    try:
        if path.is_dir():
            raise UsageError(f"{path}: a directory, not a document. Name its files, e.g. {path}/*.md")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(
                f"{path}: {size / 2**20:.0f} MiB; documents of up to {MAX_BYTES // 2**20} MiB are read. Split it."
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not data.strip():
        raise UsageError(f"{path}: empty: it makes no claims that could be checked")
    return parse_document(data, name=name or path.stem, path=str(path), suffix=path.suffix.lower())


def _from_stdin(name: str) -> Document:
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"standard input: more than {MAX_BYTES // 2**20} MiB; split it")
    if not data.strip():
        raise UsageError("standard input: empty: it makes no claims that could be checked")
    return parse_document(data, name=name if name and name != "-" else "stdin", path="-")


def parse_document(data: bytes, *, name: str, path: str = "", suffix: str = ".md") -> Document:
    """Read bytes as `read_document` reads a file; `suffix` is the ending of the file's name."""
    where = path or name
    if data.startswith(b"%PDF-") or suffix == ".pdf":
        blocks, problems = pdf_blocks(data, where)
        document = Document(name, where, "pdf", [], problems=[Problem(name, 1, message) for message in problems])
        read_pdf_document(document, blocks)
        return document
    text, problem = _decode(data, where)
    kind = _kind(data, suffix)
    lines = text.removesuffix("\n").split("\n")
    document = Document(name, where, kind, lines)
    if problem:
        document.problems.append(Problem(name, 1, problem))
    repaired_lines = [repair(line) for line in lines]
    if kind == "html":
        read_html_document(document, "\n".join(repaired_lines))
    elif kind == "latex":
        read_latex_document(document, "\n".join(repaired_lines))
    else:
        read_text_document(document, repaired_lines, is_aligned=kind == "text")
    return document


def _kind(data: bytes, suffix: str) -> str:
    if suffix in {".html", ".htm", ".xhtml"} or _HTML.match(data):
        return "html"
    if suffix in {".tex", ".ltx"} or _LATEX.match(data):
        return "latex"
    return "text" if suffix == ".txt" else "markdown"


def repair(line: str) -> str:
    """Undo UTF-8 that was read as Mac Roman or Windows-1252 (`¬≤` is `²`, `Ã©` is `é`); keep other text as it is."""
    return line if line.isascii() else _MOJIBAKE.sub(_repair_mojibake, line)


def _repair_mojibake(match: re.Match[str]) -> str:
    run = match.group()
    for codec in ("mac_roman", "cp1252"):
        try:
            return run.encode(codec).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
    return run


def _decode(data: bytes, where: str) -> tuple[str, str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return _lines(data.decode("utf-16")), ""
        except UnicodeDecodeError as error:
            raise UsageError(f"{where}: begins as UTF-16 but is not: {error}") from error
    sample = data[:65536]
    if b"\x00" in data or sum(byte in _CONTROL for byte in sample) > len(sample) // 50:
        raise UsageError(f"{where}: binary data, not a document. Markdown, HTML, plain text and PDF are read.")
    try:
        return _lines(data.decode("utf-8-sig")), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _lines(data.decode("cp1252", "replace")), f"not UTF-8 (line {line}); read as Windows-1252"


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
