"""Find the statements of a report: its sentences that assert something, and tables that list statements."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adhere.errors import UsageError
from adhere.evidence.claims.printed import plain
from adhere.evidence.read.document import Document, Table
from adhere.evidence.read.documents import read_document
from adhere.evidence.statements.assessments import Statement
from adhere.evidence.statements.lexicon import pattern
from adhere.evidence.statements.wording import wording

LEAST_WORDS = 4
MAX_LETTERS = 1_500
_KEYS = ("statement", "claim", "sentence", "text")
_LISTED = 0.6  # of a column's cells that are sentences, where it lists statements
_CITATION, _PLAN, _TALK, _SETTING, _COMPARISON, _REFERENCES = (
    pattern("statements", name) for name in ("citation", "plan", "talk", "setting", "comparison", "references")
)


class Extraction(NamedTuple):
    """Holds the statements of a report in their order, and how many sentences are none, by reason."""

    statements: tuple[Statement, ...]
    left_out: dict[str, int]


def extract(document: Document) -> Extraction:
    """Return every statement of a document: of its sentences, and of tables that list statements."""
    table_statements = [statement for table in document.tables for statement in listed_statements(document.name, table)]
    left_out: Counter[str] = Counter()
    statements: list[Statement] = []
    is_behind = False
    for sentence in document.sentences:
        is_behind = is_behind or bool(_REFERENCES.match(sentence.text))
        reason = "references" if is_behind else why_none(sentence.text)
        if reason:
            left_out[reason] += 1
        else:
            statements.append(Statement(sentence.text[:MAX_LETTERS], document.name, sentence.line))
    return Extraction(tuple(sorted([*statements, *table_statements], key=lambda s: s.line)), dict(left_out))


def why_none(text: str) -> str:
    """Say why a sentence is no statement: a question, a plan, talk of the text itself …; empty if it is one."""
    sentence = wording(text)
    reasons = {
        "fragment": _is_short(text) or _is_title(text),
        "question": text.rstrip("\"'”’ )").endswith("?"),
        "citation": bool(_CITATION.search(text)) and len(text.split()) < 40,
        "plan": bool(_PLAN.search(text)),
        "talk": bool(_TALK.search(text)),
        "nothing to compare": not (
            sentence.numbers
            or any(n.is_sure for n in sentence.names)
            or _SETTING.search(text)
            or _COMPARISON.search(text)
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _is_short(text: str) -> bool:
    return len(text.split()) < LEAST_WORDS and not re.search(r"[\u3040-\u9fff]{6,}", text)


def _is_title(text: str) -> bool:
    """Tell whether a text is written like a title: no full stop, and nearly every longer word with a capital."""
    longer = [word for word in text.split() if len(word) > 3]
    return text[-1:] not in ".!;:。" and sum(word[0].isupper() for word in longer) > 0.8 * len(longer)


def listed_statements(file: str, table: Table) -> Iterator[Statement]:
    """Yield the statements that a table lists, one a row: those in its first column of mostly sentences."""
    for column in range(table.width):
        cells = [(plain(row.cells[column].text), row.line) for row in table.rows if column < len(row.cells)]
        sentences = [cell for cell in cells if len(cell[0].split()) >= LEAST_WORDS + 2]
        if len(sentences) >= max(2, _LISTED * len(table.rows)):
            yield from (
                Statement(text[:MAX_LETTERS], file, line) for text, line in cells if len(text.split()) >= LEAST_WORDS
            )
            return


def given_statements(path: Path) -> tuple[Statement, ...]:
    """Return the statements of a file: a table of them, JSON lines with `statement`, or a sentence a line.

    Raises:
        UsageError: The file cannot be read, or holds no statement.
    """
    document = read_document(path, name=path.name)
    rows = _json_rows(document, path) if path.suffix.lower() in {".jsonl", ".ndjson"} else []
    rows = rows or [statement for table in document.tables for statement in listed_statements(path.name, table)]
    if not rows:
        lines = enumerate(document.lines, start=1)
        rows = [
            Statement(plain(_BULLET.sub("", line))[:MAX_LETTERS], path.name, n)
            for n, line in lines
            if line.strip() and line.strip()[0] != "#"
        ]
    rows = [row for row in rows if row.text]
    if not rows:
        raise UsageError(
            f"{path}: holds no statement. Give a sentence a line, JSON lines with `statement`, or a table of them."
        )
    return tuple(rows)


_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def _json_rows(document: Document, path: Path) -> list[Statement]:
    rows = []
    for number, line in enumerate(document.lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}:{number}: not JSON ({error}). Each line is an object with `statement`."
            ) from error
        text = next((row[key] for key in _KEYS if key in row), None) if isinstance(row, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"{path}:{number}: has no text under {', '.join(_KEYS)}; got {line[:80]!r}")
        rows.append(Statement(" ".join(text.split())[:MAX_LETTERS], path.name, number))
    return rows
