"""Read first: the whole of `adhere claims` in one function, document by document, then all of them together.

read → sheets (every number named) → checks (within a document, prose, across documents) → hypotheses (swaps, rotations)
     → conflicts → a verdict per claim
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adhere.errors import UsageError
from adhere.evidence.checks.arithmetic import arithmetic_checks
from adhere.evidence.checks.authors import Authors
from adhere.evidence.checks.checking import Check, Source, as_printed
from adhere.evidence.checks.counts import absent_models, stated_counts
from adhere.evidence.checks.emphasis import emphasis_checks
from adhere.evidence.checks.hypotheses import (
    Rotation,
    Swap,
    find_profile_rotations,
    find_rotations,
    find_swaps,
    lanes,
    run_all,
    unexplained,
)
from adhere.evidence.checks.invariants import invariant_checks
from adhere.evidence.checks.prose.sentences import read_prose
from adhere.evidence.checks.reconcile import Comparison, comparisons
from adhere.evidence.claims.coverage import coverage_of, is_claim
from adhere.evidence.claims.statement import ProseClaim
from adhere.evidence.claims.values import Sheet, Value, sheets_of
from adhere.evidence.findings import (
    VERSION,
    Claim,
    Conflict,
    DocumentFacts,
    Findings,
    Line,
    Reconciled,
    Status,
    Unread,
)
from adhere.evidence.read.document import Document
from adhere.evidence.read.documents import read_document

MAX_QUOTED = 400
MAX_QUOTES = 12
_WITHIN = re.compile(r"; the difference of [\d.]+ is within what two independent evaluations allow \(±[\d.]+\)")
_SEVERITY_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(slots=True)
class Evidence:
    """Everything known about some documents: the numbers, what was asked of them, and what came out."""

    documents: list[Document]
    sheets: list[Sheet] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    prose: list[ProseClaim] = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)
    rotations: list[Rotation] = field(default_factory=list)
    swaps: list[Swap] = field(default_factory=list)
    _by_name: dict[str, Document] = field(default_factory=dict)

    def values(self) -> list[Value]:
        """Every number of every table."""
        return [value for sheet in self.sheets for value in sheet.values()]

    def quote(self, document: str, line: int) -> Line:
        """A line as it stands in its document."""
        if not self._by_name:
            self._by_name = {found.name: found for found in self.documents}
        text = self._by_name[document].line(line)
        return Line(document, line, text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…")


def check_files(paths: Sequence[Path]) -> Findings:
    """Read documents and report every number, every conflict and a verdict per claim.

    Raises:
        UsageError: A document cannot be read, or is given twice.
    """
    return findings_of(gather(read_all(paths)))


def read_all(paths: Sequence[Path]) -> list[Document]:
    """The documents under distinct names: the file's name, with its directory where two files share it."""
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("A document is given twice: " + ", ".join(map(str, paths)))
    if [str(path) for path in paths].count("-") == 1 and len(paths) == 1:
        return [read_document(paths[0])]
    shared = Counter(path.name for path in paths)
    names = [path.name if shared[path.name] == 1 else str(path) for path in paths]
    return [read_document(path, name=name) for path, name in zip(paths, names, strict=True)]


def gather(documents: list[Document]) -> Evidence:
    """Ask every check of every document and look for what explains several failures at once."""
    evidence = Evidence(documents)
    by_document = [sheets_of(document) for document in documents]
    evidence.sheets = [sheet for sheets in by_document for sheet in sheets]
    for document, sheets in zip(documents, by_document, strict=True):
        reading = read_prose(document, sheets, evidence.sheets)
        evidence.prose += reading.claims
        evidence.checks += reading.checks
        for sheet in sheets:
            evidence.checks += [*arithmetic_checks(sheet), *emphasis_checks(sheet), *invariant_checks(sheet)]
    values = evidence.values()
    means = {
        check.subjects[0].id
        for check in evidence.checks
        if check.kind == "arithmetic" and check.subjects[0].role == "aggregate"
    }
    authors = {document.name: Authors(document) for document in documents}
    evidence.compared, equalities = comparisons(values, means, authors)
    for check in evidence.checks:
        names = {value.document for value in check.values} | {source.document for source in check.sources}
        if check.kind == "cross_document" and not all(authors[a].shared(authors[b]) for a in names for b in names):
            check.severity = "info"  # a sentence quotes a number that another laboratory ran itself
        elif check.severity == "error" and check.kind in {"cross_document", "prose_table"}:
            check.severity = (
                "warning"  # prose is read by patterns: what it says is never certain enough to accuse a table
            )
    evidence.checks += equalities
    run_all(evidence.checks)
    evidence.rotations = find_rotations(evidence.sheets, evidence.checks)
    evidence.rotations += find_profile_rotations(evidence.sheets, evidence.rotations, evidence.checks)
    evidence.swaps = find_swaps(evidence.checks, evidence.sheets)
    return evidence


# ── conflicts ──


def findings_of(evidence: Evidence) -> Findings:
    """The stored form of what was gathered."""
    conflicts = _number(_conflicts(evidence))
    named = {name for conflict in conflicts for name in conflict.claims}
    claims = _claims(evidence, conflicts, named)
    held: dict[str, dict[str, int]] = defaultdict(lambda: {"held": 0, "failed": 0, "explained": 0})
    for check in evidence.checks:
        held[check.kind]["explained" if check.absorbed else "failed" if check.failed else "held"] += 1
    counts = Counter(claim.document for claim in claims)
    covered = [coverage_of(sheet) for sheet in evidence.sheets]
    partial: dict[str, list[str]] = defaultdict(list)
    for sheet, found in zip(evidence.sheets, covered, strict=True):
        if found.is_partial:
            partial[sheet.document.name].append(f"{sheet.table.name} ({found.read} of {found.printed} cells)")
    return Findings(
        version=VERSION,
        documents=tuple(
            _facts(document, counts[document.name], partial[document.name]) for document in evidence.documents
        ),
        claims=tuple(claims),
        conflicts=tuple(conflicts),
        reconciled=tuple(
            Reconciled(c.first.id, c.second.id, c.standing, c.reason, _short(c.difference), _short(c.allowed))
            for c in evidence.compared
        ),
        unread=(
            *(Unread(p.document, p.line, p.message) for document in evidence.documents for p in document.problems),
            *(
                Unread(sheet.document.name, sheet.table.line, found.message)
                for sheet, found in zip(evidence.sheets, covered, strict=True)
                if found.message
            ),
        ),
        checks={kind: dict(counted) for kind, counted in sorted(held.items())},
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
    found: list[Conflict] = []
    found += [_rotation_conflict(evidence, rotation) for rotation in evidence.rotations]
    for group in lanes(evidence.swaps).values():
        found += [_swap_conflict(evidence, swap, len(group)) for swap in group]
    found += _check_conflicts(evidence, unexplained(evidence.checks))
    for document in evidence.documents:
        for stated in stated_counts(document):
            sources = [Source(document.name, stated.line), Source(document.name, stated.table.line)]
            found.append(_conflict(evidence, "prose_table", "warning", (), stated.message, sources))
    for sheet in evidence.sheets:
        for absent in absent_models(sheet):
            sources = [Source(sheet.document.name, absent.line), Source(sheet.document.name, sheet.table.line)]
            found.append(_conflict(evidence, "prose_table", "warning", (), absent.message, sources))
    return found


def _number(conflicts: list[Conflict]) -> list[Conflict]:
    """Most serious first, then by place; ids by position, so that the same documents give the same ids."""
    import msgspec

    ordered = sorted(
        conflicts,
        key=lambda c: (_SEVERITY_ORDER[c.severity], c.type, c.documents[:1], c.lines[:1], c.message),
    )
    return [msgspec.structs.replace(conflict, id=f"k{number}") for number, conflict in enumerate(ordered, start=1)]


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
    places = [Source(value.document, value.line) for value in values] + list(sources)
    places = list(dict.fromkeys(places))
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
    """One conflict per failed check; checks of one sentence against one table are one conflict."""
    found, sentences = [], defaultdict(list)
    doubted: dict[tuple[str, int], list[Check]] = defaultdict(list)
    for check in failed:
        if check.doubt:
            doubted[check.subjects[1].document, check.subjects[1].table.index].append(check)
        elif check.kind == "prose_table" and check.sources:
            table = check.values[0].table.index if check.values else 0
            sentences[check.sources[0], table, check.message(as_printed).partition("”")[0]].append(check)
        else:
            found.append(
                _conflict(
                    evidence, check.kind, check.severity, check.subjects, check.message(as_printed), check.sources
                )
            )
    for pair in doubted.values():
        one, other = pair[0].subjects
        text = (
            f"{one.table.name} and {other.table.name} print different numbers in {len(pair)} places that are labelled alike, "
            f"but {pair[0].doubt}: they are read as two measurements. First: {pair[0].message(as_printed)}"
        )
        found.append(_conflict(evidence, pair[0].kind, "info", (), text, _sources(pair[:1])))
    for group in sentences.values():
        worst = min((check.severity for check in group), key=lambda severity: _SEVERITY_ORDER[severity])
        first = group[0].message(as_printed)
        head, _, _ = first.partition("”")
        message = first + "".join("; " + _tail(check.message(as_printed), head) for check in group[1:])
        values = [value for check in group for value in (check.values if len(check.values) <= 8 else check.subjects)]
        found.append(_conflict(evidence, "prose_table", worst, values, message, group[0].sources))
    return found


def _sources(checks: Sequence[Check]) -> list[Source]:
    return [Source(value.document, value.line) for check in checks for value in check.subjects]


def _tail(message: str, head: str) -> str:
    return message[len(head) + 1 :].lstrip(": ").removeprefix("but ") if message.startswith(head) else message


def _swap_conflict(evidence: Evidence, swap: Swap, repeats: int) -> Conflict:
    one, other = sorted((swap.one, swap.other), key=lambda value: (value.row, value.column))
    across = one.row == other.row
    where = (
        f"{one.table.name}, row {one.row_label!r}: {one.printed.text} under {one.column_label!r} and {other.printed.text} under {other.column_label!r}"
        if across
        else f"{one.table.name}, column {one.column_label!r}: {one.printed.text} in row {one.row_label!r} and {other.printed.text} in row {other.row_label!r}"
    )
    # That one of several exchanged cells differs by less than sampling allows says nothing against the exchange.
    removed = [_WITHIN.sub("", check.message(as_printed)) for check in swap.removed]
    text = f"{where} look exchanged: exchanging them removes {len(removed)} conflict{'s' * (len(removed) != 1)} and makes none"
    if repeats > 1:
        text += f"; the same two {'columns' if across else 'rows'} are exchanged in {repeats} {'rows' if across else 'columns'} of this table"
    others = [value for check in swap.removed for value in check.values]
    sources = [source for check in swap.removed for source in check.sources]
    places = [Source(value.document, value.line) for value in others] + sources
    return _conflict(evidence, "swap", "error", (one, other), f"{text}. Removed: {'; '.join(removed)}", places, removed)


def _rotation_conflict(evidence: Evidence, rotation: Rotation) -> Conflict:
    sheet = rotation.sheet
    moved = [column for column, source in rotation.moves.items() if column != source]
    labels = ", ".join(
        f"numbers under {sheet.column_labels[source]!r} fit {sheet.column_labels[column]!r}"
        for column, source in rotation.moves.items()
        if column in moved
    )
    text = f"{sheet.document.name}, {sheet.table.name}: the header seems to stand over the wrong columns ({labels}); {rotation.evidence}"
    if not rotation.is_certain:
        text += ". Sets that only their authors have need not be the same, so this is a suspicion"
    removed = [check.message(as_printed) for check in rotation.removed]
    sources = [Source(sheet.document.name, sheet.table.line)]
    sources += [Source(v.document, v.line) for check in rotation.removed for v in check.values]
    severity = "error" if rotation.is_certain else "warning"
    return _conflict(evidence, "header_rotation", severity, rotation.values, text, sources, removed)


# ── claims ──


def _claims(evidence: Evidence, conflicts: Sequence[Conflict], named: set[str]) -> list[Claim]:
    """Every number about a model on a benchmark, and every other number that a conflict names."""
    accused: dict[str, Conflict] = {}
    for conflict in conflicts:
        for name in conflict.claims:
            # A wrong mark says nothing against the number that it marks.
            if name not in accused and conflict.severity == "error" and conflict.type != "emphasis":
                accused[name] = conflict
    supported = _support(evidence)
    apart = {value.id for c in evidence.compared if c.standing == "not comparable" for value in (c.first, c.second)}
    claims = [
        _claim(value, accused.get(value.id), supported.get(value.id), is_apart=value.id in apart)
        for value in evidence.values()
        if value.id in named or is_claim(value)
    ]
    return claims + [_prose_claim(claim) for claim in evidence.prose]


_STRENGTH = {"cross_document": 0, "cross_table": 1, "prose_table": 2, "arithmetic": 3, "invariant": 4}
_BASIS = {
    "cross_document": "another document prints the same",
    "cross_table": "another table prints the same",
    "prose_table": "the text says the same",
    "arithmetic": "it fits the average, sum or difference",
    "invariant": "it fits an equality that the caption promises",
}


def _support(evidence: Evidence) -> dict[str, str]:
    """What speaks for each number: the strongest check that holds; orderings and upper bounds support no value."""
    best: dict[str, int] = {}
    for check in evidence.checks:
        if check.failed or check.doubt or check.kind not in _STRENGTH:
            continue
        if check.kind == "prose_table" and len(check.values) != 1:
            continue
        if check.kind == "invariant" and (len(check.subjects) != 2 or check.severity != "error"):
            continue
        for value in check.values:
            best[value.id] = min(best.get(value.id, len(_STRENGTH)), _STRENGTH[check.kind])
    kinds = {rank: kind for kind, rank in _STRENGTH.items()}
    return {name: _BASIS[kinds[rank]] for name, rank in best.items()}


def _claim(value: Value, accused: Conflict | None, support: str | None, *, is_apart: bool) -> Claim:
    status: Status = "unsupported"
    basis = "printed once, and no other number can confirm or deny it"
    if accused:
        status, basis = "contradicted", accused.type
    elif support:
        status, basis = "confirmed", support
    elif is_apart:
        status, basis = "not comparable", "its only counterpart is of another version, metric or set"
    return Claim(
        id=value.id,
        model=value.model.name if value.model else "",
        benchmark=value.benchmark.shown if value.benchmark else value.row_label,
        metric=(value.benchmark.metric if value.benchmark else "") or _metric(value),
        value=value.printed.value,
        document=value.document,
        table=value.table.name,
        row=value.row_label,
        column=value.column_label,
        line=value.line,
        printed=value.printed.text,
        variant=_variant(value),
        setting=", ".join(filter(None, [value.setting, f"{value.shots}-shot" if value.shots else "", value.beside])),
        unit=value.printed.unit,
        tuning=value.model.tuning if value.model else "",
        direction=value.direction,
        status=status,
        basis=basis,
        guesses=tuple(dict.fromkeys(value.guesses)),
    )


def _variant(value: Value) -> str:
    """The variant; of an average over many sets the first and the last of them."""
    variant = value.benchmark.variant if value.benchmark else ""
    sets = variant.split(", ")
    return f"{sets[0]} … {sets[-1]} ({len(sets)} sets)" if value.role == "aggregate" and len(sets) > 3 else variant


def _metric(value: Value) -> str:
    return {"aggregate": "average", "delta": "difference", "share": "share"}.get(value.role, "score")


def _prose_claim(claim: ProseClaim) -> Claim:
    status: Status = "unsupported"
    basis = "no table prints this model on this benchmark"
    if claim.check is not None and claim.value is not None:
        status = "contradicted" if claim.check.failed and claim.check.severity == "error" else "confirmed"
        basis = "prose_table" if claim.check.failed else "the table prints the same"
        if claim.check.failed and status == "confirmed":
            status, basis = "not comparable", "its only counterpart is of other authors"
    return Claim(
        id=claim.id,
        model=claim.model,
        benchmark=claim.benchmark,
        metric="score",
        value=claim.printed.value,
        document=claim.document,
        table=None,
        row=None,
        column=None,
        line=claim.line,
        printed=claim.printed.text,
        unit=claim.printed.unit,
        status=status,
        basis=basis,
        guesses=tuple(claim.guesses),
    )
