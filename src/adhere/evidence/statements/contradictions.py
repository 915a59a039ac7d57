"""Find where a report contradicts itself: a sentence and its own tables, or two sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adhere.evidence.claims.names import is_role
from adhere.evidence.claims.printed import CROSSES, TICKS, plain
from adhere.evidence.read.document import Document, Table
from adhere.evidence.statements.assessments import Contradiction, Quote, Statement
from adhere.evidence.statements.cells import counts
from adhere.evidence.statements.extract import why_none
from adhere.evidence.statements.grids import Grids
from adhere.evidence.statements.judge import TOLD, Sources
from adhere.evidence.statements.passages import Passage
from adhere.evidence.statements.prose import match
from adhere.evidence.statements.wording import stem, wording

_MARKED = re.compile(
    r"[;,.]\s*(?:and\s+|of which\s+)?(?P<count>\d{1,5})\s+(?:were\s+|are\s+)?(?:\w+ly\s+)?(?P<what>[a-z]+ed)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:19|20)\d\d(?:[-/.]\d\d?){0,2}")
_CODE = re.compile(r"(?:^|\s)--?\w|[=({]\w*\s*=|://")  # a command or a line of a program is no statement
_LISTED = re.compile(
    r"\b(?:extracted|listed|collected|identified|tabulated|enumerated|found|reported)\b", re.IGNORECASE
)


def contradictions(document: Document, statements: Sequence[Statement], grids: Grids) -> Iterator[Contradiction]:
    """Yield every sentence of a report that its own tables contradict, each with its reason once.

    Things that a table lists are counted by its rows and their ticks. A comparison of two models over several
    benchmarks is counted over the table that has both.
    """
    lists = {stem(plain(t.headers[0][0])): t for t in document.tables if t.headers and _is_list(t)}
    seen: set[tuple[str, str]] = set()
    for statement in statements:
        if why_none(statement.text) == "fragment":
            continue  # `5 Extraction Claims` is a heading
        for contradiction in (*_counts(document, statement, lists), *_leads(document, statement, grids)):
            if (contradiction.statement.text, contradiction.reason) not in seen:
                seen.add((contradiction.statement.text, contradiction.reason))
                yield contradiction


def between_sentences(document: Document, own: Sources) -> Iterator[Contradiction]:
    """Yield every two sentences of a report that repeat each other except for a number, each pair once.

    By the matcher of sources each must deny the other by its number, both must name the same, and hardly a word of one
    may be new to the other: sentences of one report that differ in a name, a date or a setting speak of two things.

    Args:
        document: The report.
        own: Its own passages.
    """
    sentences = {
        passage.text: passage
        for passage in own.passages
        if passage.kind == "sentence" and passage.text.rstrip("\"'”’)").endswith((".", "!", "。"))  # no label of a list
    }
    seen: set[frozenset[str]] = set()
    for text, passage in sentences.items():
        if not wording(text).numbers or why_none(text) or _CODE.search(text):
            continue
        for candidate in own.search.best(text):
            other, pair = sentences.get(candidate.text), frozenset((text, candidate.text))
            if other is None or other is passage or pair in seen:
                continue
            seen.add(pair)
            if (
                _are_one_subject(text, other.text)
                and (against := _denies(passage, other, own))
                and _denies(other, passage, own)
            ):
                first, second = sorted((passage, other), key=lambda sentence: sentence.line)
                reason = f"two sentences of the report differ in a number: {against}"
                place = Quote(document.name, second.line, second.text[:400])
                yield Contradiction(Statement(first.text, document.name, first.line), place, reason)


def _are_one_subject(text: str, other: str) -> bool:
    keys, other_keys = ({name.key for name in wording(sentence).names if name.is_sure} for sentence in (text, other))
    return keys == other_keys


def _denies(sentence: Passage, source: Passage, own: Sources) -> str:
    """Return both numbers, as `20 and 18`, if a sentence denies another by one number; empty if not.

    The other must have nearly all words of the sentence, and the number must not be a date.
    """
    comparison = match(wording(sentence.text), source, own.rarity)
    is_denied = comparison.standing == "denied" and comparison.kind == "number" and comparison.related >= TOLD
    is_one = len(comparison.missing) == 1 and not _DATE.fullmatch(comparison.missing[0])
    return f"{comparison.missing[0]} and {comparison.instead}" if is_denied and is_one else ""


def _is_list(table: Table) -> bool:
    """Tell whether a table lists things of one kind, named in its corner, but no models, benchmarks or categories."""
    corner = plain(table.headers[0][0]).lower() if table.headers[0] else ""
    return bool(re.fullmatch(r"[a-z]+", corner)) and not any(
        is_role(role, corner) for role in ("models", "benchmarks", "categories")
    )


def _counts(document: Document, statement: Statement, lists: dict[str, Table]) -> Iterator[Contradiction]:
    """Yield wrong counts: `20 claims were extracted` over a table of 18 claims, `2 verified` over three ticks."""
    if not _LISTED.search(statement.text):
        return
    for number in wording(statement.text).numbers:
        table = lists.get(stem(number.noun)) if number.noun and not number.unit and not number.bound else None
        if table is None:
            continue
        if number.value != len(table.rows):
            yield _against(
                document,
                statement,
                table.line,
                f"it says {number.text} {number.noun}; the {table.name} lists {len(table.rows)}",
            )
        mark_match = _MARKED.search(statement.text, number.end)
        column = next(iter(table.columns_called(mark_match["what"])), None) if mark_match else None
        if mark_match and column is not None:
            cells = [plain(row.cells[column].text).strip() for row in table.rows if column < len(row.cells)]
            ticks = sum(cell in TICKS or cell.lower() in {"yes", "true"} for cell in cells)
            is_marked = all(cell in TICKS | CROSSES or cell.lower() in {"yes", "no", "true", "false"} for cell in cells)
            if is_marked and ticks != int(mark_match["count"]):
                count, label = mark_match["count"], mark_match["what"]
                reason = f"it says {count} {label}; {ticks} rows of the {table.name} are marked so"
                yield _against(document, statement, table.line, reason)


def _leads(document: Document, statement: Statement, grids: Grids) -> Iterator[Contradiction]:
    """Yield a wrong count of benchmarks on which a model leads, by the table that has both models.

    `A outperforms B on eight out of ten benchmarks`.
    """
    reading = counts(wording(statement.text), grids, statement.line)
    if reading is not None and reading.finding == "denied":
        yield _against(document, statement, reading.cells[0].line, reading.reason)


def _against(document: Document, statement: Statement, line: int, reason: str) -> Contradiction:
    return Contradiction(statement, Quote(document.name, line, document.line(line).strip()[:400]), reason)
