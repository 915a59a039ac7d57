"""Check documents, from their text to the findings that are stored; read this file first.

read → sheets (every number named) → checks (within a document, across documents) → hypotheses (swaps, rotations)
     → conflicts → a verdict for each claim
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec

from adhere.errors import UsageError
from adhere.evidence.checks.arithmetic import arithmetic_checks
from adhere.evidence.checks.authors import Authors
from adhere.evidence.checks.checking import Check, Source, as_printed
from adhere.evidence.checks.emphasis import emphasis_checks
from adhere.evidence.checks.hypotheses import (
    Rotation,
    Swap,
    find_profile_rotations,
    find_rotations,
    find_swaps,
    lanes,
)
from adhere.evidence.checks.invariants import absent_models, invariant_checks
from adhere.evidence.checks.reconcile import Comparison, comparisons
from adhere.evidence.claims.coverage import coverage_of
from adhere.evidence.claims.sheets import sheets_of
from adhere.evidence.claims.values import Sheet, Value
from adhere.evidence.findings import VERSION, Conflict, DocumentFacts, Findings, Line, Reconciliation, Unread
from adhere.evidence.read.document import Document
from adhere.evidence.read.documents import read_document
from adhere.evidence.verdicts import claims_of, reading_of

MAX_QUOTED = 400
MAX_QUOTES = 12
_WITHIN = re.compile(r"; the difference of [\d.]+ is within what two independent evaluations allow \(±[\d.]+\)")
_SEVERITY_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(slots=True)
class Evidence:
    """Holds everything known about some documents: their numbers, the checks of the numbers, and the results.

    `sheets` are tables with their numbers read, `compared` pairs of places that print a number for one model on one
    benchmark. `swaps` (two exchanged cells) and `rotations` (a header over the wrong columns) each explain several
    failed checks.
    """

    documents: list[Document]
    sheets: list[Sheet] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)
    rotations: list[Rotation] = field(default_factory=list)
    swaps: list[Swap] = field(default_factory=list)
    _by_name: dict[str, Document] = field(default_factory=dict)

    def values(self) -> list[Value]:
        """Return every number of every table."""
        return [value for sheet in self.sheets for value in sheet.values()]

    def quote(self, document: str, line: int) -> Line:
        """Return a line of a document, cut to `MAX_QUOTED` characters."""
        if not self._by_name:
            self._by_name = {source.name: source for source in self.documents}
        text = self._by_name[document].line(line)
        return Line(document, line, text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…")


def check_files(paths: Sequence[Path]) -> Findings:
    """Read documents and report every number, every conflict and a verdict for each claim.

    Raises:
        UsageError: A document cannot be read, or is given twice.
    """
    return findings_of(gather(read_all(paths)))


def read_all(paths: Sequence[Path]) -> list[Document]:
    """Read documents; each is named after its file, or by its path if two files share a name.

    Raises:
        UsageError: A document cannot be read, or is given twice.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("A document is given twice: " + ", ".join(map(str, paths)))
    if [str(path) for path in paths].count("-") == 1 and len(paths) == 1:
        return [read_document(paths[0])]
    shared = Counter(path.name for path in paths)
    names = [path.name if shared[path.name] == 1 else str(path) for path in paths]
    return [read_document(path, name=name) for path, name in zip(paths, names, strict=True)]


def gather(documents: list[Document]) -> Evidence:
    """Name every number of the documents, run every check, and search for causes of several failures at once."""
    evidence = Evidence(documents)
    by_document = [sheets_of(document) for document in documents]
    evidence.sheets = [sheet for sheets in by_document for sheet in sheets]
    for sheet in evidence.sheets:
        evidence.checks += [*arithmetic_checks(sheet), *emphasis_checks(sheet), *invariant_checks(sheet)]
    values = evidence.values()
    means = {
        id(check.subjects[0])
        for check in evidence.checks
        if check.kind == "arithmetic" and check.subjects[0].role == "aggregate"
    }
    authors = {document.name: Authors(document) for document in documents}
    evidence.compared, equalities = comparisons(values, means, authors)
    evidence.checks += equalities
    for check in evidence.checks:
        check.failed = not check.holds(as_printed)
    _leave_what_follows(evidence.checks)
    evidence.rotations = find_rotations(evidence.sheets, evidence.checks)
    evidence.rotations += find_profile_rotations(evidence.sheets, evidence.rotations)
    evidence.swaps = find_swaps(evidence.checks, evidence.sheets)
    return evidence


def _leave_what_follows(checks: Iterable[Check]) -> None:
    """Mark failed arithmetic checks as absorbed if a number that they use is itself found wrong.

    A share of a total that is wrong is no second error.
    """
    failed = [check for check in checks if check.failed and check.kind == "arithmetic"]
    check_by_subject = {id(value): check for check in failed for value in check.subjects}
    for check in failed:
        causes = [check_by_subject[id(value)] for value in check.others if id(value) in check_by_subject]
        check.absorbed = any(cause is not check and not cause.absorbed for cause in causes)


# ── conflicts ──


def findings_of(evidence: Evidence) -> Findings:
    """Return the findings of all evidence, in the form that is stored and printed."""
    conflicts = _number(_conflicts(evidence))
    claims = claims_of(evidence.values(), evidence.checks, evidence.compared, conflicts)
    check_counts: dict[str, dict[str, int]] = defaultdict(lambda: {"held": 0, "failed": 0, "explained": 0})
    for check in evidence.checks:
        check_counts[check.kind]["explained" if check.absorbed else "failed" if check.failed else "held"] += 1
    counts = Counter(value.document for value in claims.values)
    coverages = [coverage_of(sheet) for sheet in evidence.sheets]
    partial: dict[str, list[str]] = defaultdict(list)
    for sheet, coverage in zip(evidence.sheets, coverages, strict=True):
        if coverage.is_partial:
            partial[sheet.document.name].append(f"{sheet.table.name} ({coverage.read} of {coverage.printed} cells)")
    for document in evidence.documents:
        rows = document.loose_rows
        if any(after - before == 1 for before, after in pairwise(rows)):  # one alone may be anything
            partial[document.name].append(f"{len(rows)} rows from line {rows[0]} on, which stand in no table")
    return Findings(
        version=VERSION,
        documents=tuple(
            _facts(document, counts[document.name], partial[document.name]) for document in evidence.documents
        ),
        claims=claims,
        conflicts=tuple(conflicts),
        reconciled=tuple(
            Reconciliation(c.first.id, c.second.id, c.standing, c.reason, _short(c.difference), _short(c.allowed))
            for c in evidence.compared
        ),
        unread=(
            *(Unread(p.document, p.line, p.message) for document in evidence.documents for p in document.problems),
            *(
                Unread(sheet.document.name, sheet.table.line, coverage.message)
                for sheet, coverage in zip(evidence.sheets, coverages, strict=True)
                if coverage.message
            ),
        ),
        checks={kind: dict(own_counts) for kind, own_counts in sorted(check_counts.items())},
        tables=tuple(filter(None, map(reading_of, evidence.sheets))),
    )


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def _facts(document: Document, claims: int, partly_read: Sequence[str]) -> DocumentFacts:
    digest = hashlib.sha256("\n".join(document.lines).encode("utf-8", "surrogatepass")).hexdigest()
    return DocumentFacts(
        document.name,
        document.path,
        document.format,
        digest,
        len(document.lines),
        len(document.tables),
        len(document.sentences),
        claims,
        sum(any(cell.number for row in table.rows for cell in row.cells) for table in document.tables),
        tuple(partly_read),
    )


def _conflicts(evidence: Evidence) -> list[Conflict]:
    conflicts: list[Conflict] = []
    conflicts += [_rotation_conflict(evidence, rotation) for rotation in evidence.rotations]
    for group in lanes(evidence.swaps).values():
        conflicts += [_swap_conflict(evidence, swap, len(group)) for swap in group]
    conflicts += _check_conflicts(evidence, [check for check in evidence.checks if check.is_open])
    for sheet in evidence.sheets:
        for text in absent_models(sheet):
            lines = [sheet.table.caption_line or sheet.table.line, sheet.table.line]
            sources = [Source(sheet.document.name, line) for line in lines]
            conflicts.append(_conflict(evidence, "invariant", "warning", (), text, sources))
    return conflicts


def _number(conflicts: list[Conflict]) -> list[Conflict]:
    """Sort conflicts, most serious first and then by place, and number them: the same documents give the same ids."""
    sorted_conflicts = sorted(
        conflicts, key=lambda c: (_SEVERITY_ORDER[c.severity], c.type, c.documents[:1], c.lines[:1], c.message)
    )
    return [
        msgspec.structs.replace(conflict, id=f"k{number}") for number, conflict in enumerate(sorted_conflicts, start=1)
    ]


def _conflict(  # noqa: PLR0917 -- the parts of one record, in its order
    evidence: Evidence,
    kind: str,
    severity: str,
    values: Iterable[Value],
    message: str,
    sources: Iterable[Source] = (),
    explains: Iterable[str] = (),
) -> Conflict:
    values = list({value.id: value for value in values}.values())
    kind = "cross_document" if kind == "cross_table" else kind  # a document may contradict itself in two tables
    places = list(dict.fromkeys([*(Source(value.document, value.line) for value in values), *sources]))
    return Conflict(
        id="",
        type=kind,
        severity=severity,  # type: ignore[arg-type]
        claims=tuple(value.id for value in values),
        message=message,
        documents=tuple(place.document for place in places),
        lines=tuple(place.line for place in places),
        evidence=tuple(evidence.quote(place.document, place.line) for place in places[:MAX_QUOTES]),
        explains=tuple(explains),
    )


def _check_conflicts(evidence: Evidence, failed: Sequence[Check]) -> list[Conflict]:
    """Return a conflict for each failed check, but one for all doubted failures of a table.

    A failure is doubted if the two tables that it compares seem to measure different things.
    """
    conflicts = []
    doubted_checks: dict[tuple[str, int], list[Check]] = defaultdict(list)
    for check in failed:
        if check.doubt:
            doubted_checks[check.subjects[1].document, check.subjects[1].table.index].append(check)
        else:
            text = check.message(as_printed)
            conflicts.append(_conflict(evidence, check.kind, check.severity, check.subjects, text, check.sources))
    for pair in doubted_checks.values():
        first, second = pair[0].subjects
        text = (
            f"{first.table.name} and {second.table.name} print different numbers in places that are labelled alike, "
            f"but {pair[0].doubt}: they are read as two measurements. First: {pair[0].message(as_printed)}"
        )
        sources = [Source(value.document, value.line) for value in pair[0].subjects]
        conflicts.append(_conflict(evidence, pair[0].kind, "info", (), text, sources))
    return conflicts


def _swap_conflict(evidence: Evidence, swap: Swap, repeats: int) -> Conflict:
    first, second = sorted((swap.one, swap.other), key=lambda value: (value.row, value.column))
    across = first.row == second.row
    if across:
        where, places = f"row {first.row_label!r}", [f"under {value.column_label!r}" for value in (first, second)]
    else:
        where, places = f"column {first.column_label!r}", [f"in row {value.row_label!r}" for value in (first, second)]
    where = f"{first.table.name}, {where}: {first.printed.text} {places[0]} and {second.printed.text} {places[1]}"
    # That one of several exchanged cells differs by less than sampling allows says nothing against the exchange.
    removed_messages = [_WITHIN.sub("", check.message(as_printed)) for check in swap.removed]
    text = (
        f"{where} look exchanged: exchanging them removes {len(removed_messages)} "
        f"conflict{'s' * (len(removed_messages) != 1)} and makes none"
    )
    if repeats > 1:
        text += (
            f"; the same two {'columns' if across else 'rows'} are exchanged in {repeats} "
            f"{'rows' if across else 'columns'} of this table"
        )
    text += f". Removed: {'; '.join(removed_messages)}"
    sources = [Source(value.document, value.line) for check in swap.removed for value in check.values]
    sources += [source for check in swap.removed for source in check.sources]
    return _conflict(evidence, "swap", "error", (first, second), text, sources, removed_messages)


def _rotation_conflict(evidence: Evidence, rotation: Rotation) -> Conflict:
    sheet = rotation.sheet
    labels = ", ".join(
        f"numbers under {sheet.column_labels[source]!r} fit {sheet.column_labels[column]!r}"
        for column, source in rotation.moves.items()
        if column != source
    )
    text = (
        f"{sheet.document.name}, {sheet.table.name}: the header seems to stand over the wrong columns "
        f"({labels}); {rotation.evidence}"
    )
    if not rotation.is_certain:
        text += ". Sets that only their authors have need not be the same, so this is a suspicion"
    removed_messages = [check.message(as_printed) for check in rotation.removed]
    sources = [Source(sheet.document.name, sheet.table.line)]
    sources += [Source(v.document, v.line) for check in rotation.removed for v in check.values]
    severity = "error" if rotation.is_certain else "warning"
    return _conflict(evidence, "header_rotation", severity, rotation.values, text, sources, removed_messages)
