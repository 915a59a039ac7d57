"""Open a session with the reader that the content of its file asks for, whatever the file's name.

A log is read line by line, so that memory grows with the session, not with the log. A line that is no JSON is
kept as a gap, with the reason; bytes that are no UTF-8 are replaced. A file that holds no session is an error.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import SpecError, UsageError
from adhere.lines.blocks import LineFile
from adhere.rules.session.logs.claude import is_claude, read_claude
from adhere.rules.session.logs.codex import is_codex, read_codex
from adhere.rules.session.logs.episodes import is_episode_row, read_rows, read_run
from adhere.rules.session.logs.gemini import is_gemini, read_checkpoint, read_gemini
from adhere.rules.session.logs.inspect import is_inspect, read_inspect, read_inspect_zip
from adhere.rules.session.logs.messages import Numbered, Row, conversation_of, read_conversations, read_one
from adhere.rules.session.logs.spans import is_spans, read_spans
from adhere.rules.session.model import Session
from adhere.schema import decoder_of

MOST_LOOKED_AT = 50
"""Most rows that are looked at to find out the format of a log."""
MOST_DOCUMENT = 400_000_000
ENDINGS = (".jsonl", ".json", ".ndjson", ".eval", ".jsonl.gz", ".jsonl.zst", ".log")
FORMATS = (
    'Claude Code, Codex, Gemini CLI, OpenAI Responses and Chat, inspect, OpenTelemetry, adhere\'s runs, {"messages"}'
)
_RUN_FILES = ("manifest.json", "shards.json")

_READERS: tuple[tuple[Callable[[Row], bool], Callable[[Numbered, str], Iterator[Session]]], ...] = (
    (is_codex, read_codex),
    (is_claude, read_claude),
    (is_spans, read_spans),
    (is_episode_row, read_rows),
    (is_gemini, read_gemini),
    (lambda row: conversation_of(row) is not None, read_conversations),
)


def read_sessions(path: Path) -> Iterator[Session]:
    """Yield every session of a file, of a stored run, or of the files below a folder.

    Raises:
        UsageError: There is no such path, or a folder has no session.
        SpecError: The file holds no session in a known format.
    """
    if path.is_dir():
        yield from _of_folder(path)
        return
    count = 0
    for session in _of_file(path):
        count += 1
        yield session
    if not count:
        raise SpecError(f"{path}: no session is in it. Known are {FORMATS}")


def _of_file(path: Path) -> Iterator[Session]:
    """Yield the sessions of one file; none if it is another kind of JSON file.

    Raises:
        SpecError: The file holds no session, and lines of it cannot be read.
    """
    if path.suffix == ".eval":
        yield from read_inspect_zip(path)
        return
    rows = _Rows(path)
    count = 0
    for session in _of_rows(rows, str(path)):
        count += 1
        yield session
    if not count and rows.gaps:
        raise SpecError(f"{path}: no session is in it{rows.told()}. Known are {FORMATS}")


def _of_folder(path: Path) -> Iterator[Session]:
    """Yield the sessions of a run, or of the runs and files below a folder; files without a session are skipped."""
    if _is_run(path):
        sessions = list(read_run(path))
        if not sessions:
            raise SpecError(f"{path}: this run has no episode, so nobody called a tool in it. Give a run of a world")
        yield from sessions
        return
    runs = [file.parent for name in _RUN_FILES for file in sorted(path.rglob(name))]
    for run in runs:
        yield from read_run(run)
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.endswith(ENDINGS))
    count = len(runs)
    for file in files:
        if not any(run in file.parents for run in runs):
            for session in _of_file(file):
                count += 1
                yield session
    if not count:
        raise UsageError(
            f"{path}: no session is below it. Known are {FORMATS}, in files that end in {', '.join(ENDINGS)}"
        )


def _is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in _RUN_FILES)


class _Rows:
    """Iterates over the rows of a file with their line numbers, and keeps what could not be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.gaps: list[tuple[int, str]] = []
        self.cut = False
        self.document: Any = None

    def told(self) -> str:
        """Return the first bad line and its error, for a message; empty if there is none."""
        return f" (line {self.gaps[0][0]}: {self.gaps[0][1]})" if self.gaps else ""

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        decoder = decoder_of(object)
        waiting: tuple[int, str] | None = None
        for block in LineFile(self.path).blocks():
            for number, line in block.lines():
                if waiting is not None:
                    self.gaps.append(waiting)
                    waiting = None
                try:
                    value = decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    value, trouble = _again(line)
                    if trouble:
                        waiting = (number, trouble)
                        self.cut = not line.endswith(b"\n")
                        continue
                if isinstance(value, dict):
                    yield number, value
                elif isinstance(value, list) and number == 1:
                    self.document = value
        if waiting is not None and not self.cut:
            self.gaps.append(waiting)


def _again(line: bytes) -> tuple[Any, str]:
    """Read a line that msgspec refuses, with bad UTF-8 replaced; return the value and the error (empty: none)."""
    try:
        return json.loads(line.decode("utf-8", "replace"), strict=False), ""
    except (ValueError, RecursionError) as error:
        return None, f"no JSON: {error}"[:160]


def _of_rows(rows: _Rows, name: str) -> Iterator[Session]:
    if _is_document(rows.path):
        yield from _of_document(rows.path, name)
        return
    source = iter(rows)
    head: list[tuple[int, Row]] = []
    reader = None
    for pair in itertools.islice(source, MOST_LOOKED_AT):
        head.append(pair)
        reader = next((candidate for knows, candidate in _READERS if knows(pair[1])), None)
        if reader is not None:
            break
    if reader is None:
        return
    for session in reader(itertools.chain(head, source), name):
        session.gaps, session.cut = rows.gaps, rows.cut
        yield session


def _is_document(path: Path) -> bool:
    """Tell whether a file is one JSON document over several lines, or a list."""
    if path.name.endswith((".gz", ".zst")) or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:1] == b"[":
        return True
    first = head.partition(b"\n")[0].rstrip()
    return head[:1] == b"{" and b"\n" in head and not first.endswith(b"}")


def _of_document(path: Path, name: str) -> Iterator[Session]:
    if path.stat().st_size > MOST_DOCUMENT:
        raise SpecError(
            f"{path}: a JSON document of more than {MOST_DOCUMENT // 10**6} MB is not read; give JSON lines"
        )
    data = path.read_bytes()
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        document, trouble = _again(data.lstrip(b"\xef\xbb\xbf"))
        if trouble:
            raise SpecError(
                f"{path}: {trouble}. A log of lines has a JSON object on each; one document is whole"
            ) from None
    yield from of_value(document, name)


def of_value(document: Any, name: str) -> Iterator[Session]:
    """Yield the sessions of one JSON document."""
    rows = [row for row in (document if isinstance(document, list) else [document]) if isinstance(row, Mapping)]
    first = rows[0] if rows else {}
    if isinstance(document, list) and "parts" in first:
        yield from read_checkpoint(rows, name)
    elif isinstance(document, list) and ("role" in first or str(first.get("type", "")) in {"message", "function_call"}):
        yield read_one(rows, Session(name, "messages"))
    elif isinstance(document, Mapping) and is_inspect(document):
        yield from read_inspect(document, name)
    elif isinstance(document, Mapping) and is_gemini(document):
        yield from read_gemini(iter([(0, document)]), name)
    else:
        numbered_rows = [(0 if len(rows) == 1 else number, row) for number, row in enumerate(rows, start=1)]
        reader = next((reader for knows, reader in _READERS if any(knows(row) for row in rows[:MOST_LOOKED_AT])), None)
        yield from reader(iter(numbered_rows), name) if reader is not None else ()
