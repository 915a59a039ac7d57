"""Render the page of `adhere claims`: conflicts with their tables and marked cells, then all checked claims."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from adhere.evidence.examination import Examination
from adhere.evidence.findings import Claim, Conflict, Line
from adhere.report.claims.answer import difference, interval
from adhere.report.claims.text import STATUSES, TYPE_WORDS, first, places, without_claims
from adhere.report.page import render
from adhere.report.pieces.untrusted import mark_hidden

MAX_SHOWN_LINES = 12
MAX_SHOWN_CLAIMS = 1500
MAX_SHOWN_TABLES = 4  # of a conflict
MAX_READINGS = 300
MAX_ROWS, MAX_COLUMNS = 8, 9
MAX_MODELS = 40  # claims.css has a rule for each
_PLACE = re.compile(r":t(?P<table>\d+):r(?P<row>\d+)c(?P<column>\d+)[a-d]?$")

Grids = dict[tuple[str, int], dict[tuple[int, int], list[Claim]]]


class ShownLine(NamedTuple):
    """Holds a source line with the conflict's numbers marked."""

    document: str
    line: int
    text: Markup


class ShownCell(NamedTuple):
    """Holds a cell of a table; `bad` if the conflict names it."""

    text: str
    bad: bool


class ShownTable(NamedTuple):
    """Holds the part of a printed table around a conflict's cells, with its row and column headers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ShownCell, ...]], ...]
    is_part: bool


class ShownConflict(NamedTuple):
    """Shows conflicts about the same columns of the same tables, with these tables and their lines.

    `where` says where a single conflict stands, `more` counts the lines that are not shown, and `classes` are the style
    classes of severity and models.
    """

    severity: str
    title: str
    messages: tuple[str, ...]
    where: str
    tables: tuple[ShownTable, ...]
    lines: tuple[ShownLine, ...]
    more: int
    classes: str


class _Place(NamedTuple):
    table: int
    row: int
    column: int


class Group(NamedTuple):
    """Holds the conflicts of one type: what `members` shows, and the numbers of all conflicts and of errors."""

    kind: str
    words: str
    members: tuple[ShownConflict, ...]
    conflicts: int
    errors: int


def claims_html(examination: Examination) -> str:
    """Return one self-contained page; text of the documents is escaped."""
    findings = examination.findings
    by_id = {claim.id: claim for claim in findings.claims}
    grids = _grids(findings.claims)
    conflicts_by_model = Counter(
        model
        for conflict in findings.conflicts
        for model in dict.fromkeys(by_id[name].model for name in conflict.claims if name in by_id)
        if model
    )
    models = {model: f"m{number}" for number, (model, _) in enumerate(conflicts_by_model.most_common(MAX_MODELS))}
    groups = []
    for kind, words in TYPE_WORDS.items():
        members = [conflict for conflict in findings.conflicts if conflict.type == kind]
        if members:
            shown_conflicts = tuple(_show_conflict(alike, by_id, grids, models) for alike in _alike(members, by_id))
            errors = sum(conflict.severity == "error" for conflict in members)
            groups.append(Group(kind, words, shown_conflicts, len(members), errors))
    by_status = Counter(claim.status for claim in findings.claims)
    checked_claims = [claim for claim in findings.claims if claim.status != "unsupported"]
    guesses = Counter(guess for claim in findings.claims for guess in claim.guesses)
    return render(
        "claims/claims.html.jinja",
        style="claims/claims.css",
        findings=findings,
        models=[(model, name, conflicts_by_model[model]) for model, name in models.items()],
        first=first,
        without_claims=without_claims,
        most_tables=MAX_READINGS,
        severities=Counter(conflict.severity for conflict in findings.conflicts),
        groups=groups,
        statuses=[(status, by_status[status]) for status in STATUSES],
        standings=Counter(item.standing for item in findings.reconciled),
        claims=checked_claims[:MAX_SHOWN_CLAIMS],
        left_out=max(0, len(checked_claims) - MAX_SHOWN_CLAIMS),
        guesses=guesses.most_common(),
        answer=examination.answer,
        tested=examination.tested,
        panel=examination.panel,
        difference=difference,
        interval=interval,
    )


def _alike(conflicts: Sequence[Conflict], claims: dict[str, Claim]) -> list[list[Conflict]]:
    """Group conflicts of one severity about the same columns of the same tables.

    A swapped column is one finding for a reader.
    """
    groups: dict[tuple[str, object], list[Conflict]] = {}
    for conflict in conflicts:
        own_claims = [claims[name] for name in conflict.claims if name in claims]
        columns = [(claim.document, place.table, place.column) for claim in own_claims if (place := _place(claim))]
        is_in_tables = columns and len(columns) == len(own_claims)
        key = frozenset(columns) if is_in_tables else conflict.id
        groups.setdefault((conflict.severity, key), []).append(conflict)
    return list(groups.values())


def _place(claim: Claim) -> _Place | None:
    """Return where a claim's number stands, by the claim's id; None for a number in a sentence."""
    match = _PLACE.search(claim.id)
    return _Place(*map(int, match.groups())) if match else None


def _show_conflict(
    conflicts: Sequence[Conflict], claims: dict[str, Claim], grids: Grids, models: dict[str, str]
) -> ShownConflict:
    own_claims = [claims[name] for conflict in conflicts for name in conflict.claims if name in claims]
    evidence = list(dict.fromkeys(line for conflict in conflicts for line in conflict.evidence))
    lines = tuple(_shown_line(line, own_claims) for line in evidence[:MAX_SHOWN_LINES])
    severity = conflicts[0].severity
    classes = [severity, *dict.fromkeys(models[c.model] for c in own_claims if c.model in models)]
    columns = list(dict.fromkeys(f"“{claim.column}” of {claim.document}" for claim in own_claims if claim.column))
    title = "" if len(conflicts) == 1 else f"{len(conflicts)} numbers of the same columns: {', '.join(columns[:4])}"
    return ShownConflict(
        severity,
        title,
        tuple(conflict.message for conflict in conflicts),
        places(conflicts[0]) if len(conflicts) == 1 else f"{len(evidence)} of them",
        _tables(own_claims, grids),
        lines,
        sum(len(conflict.lines) for conflict in conflicts) - len(lines)
        if len(conflicts) == 1
        else len(evidence) - len(lines),
        " ".join(classes),
    )


def _grids(claims: Sequence[Claim]) -> Grids:
    """Return the claims of every table, by (document, table), then by (row, column)."""
    grids: Grids = defaultdict(lambda: defaultdict(list))
    for claim in claims:
        if place := _place(claim):
            grids[claim.document, place.table][place.row, place.column].append(claim)
    return grids


def _tables(claims: Sequence[Claim], grids: Grids) -> tuple[ShownTable, ...]:
    """Return the tables with a conflict's cells, these cells marked."""
    bad: dict[tuple[str, int], set[tuple[int, int]]] = defaultdict(set)
    for claim in claims:
        if place := _place(claim):
            bad[claim.document, place.table].add((place.row, place.column))
    return tuple(_table(grids[key], cells) for key, cells in list(bad.items())[:MAX_SHOWN_TABLES])


def _table(grid: dict[tuple[int, int], list[Claim]], bad: set[tuple[int, int]]) -> ShownTable:
    every_row, every_column = sorted({row for row, _ in grid}), sorted({column for _, column in grid})
    rows = _window(every_row, {row for row, _ in bad}, MAX_ROWS)
    columns = _window(every_column, {column for _, column in bad}, MAX_COLUMNS)
    first = next(iter(grid.values()))[0]
    heads = {column: claims[0].column or "" for (_, column), claims in grid.items()}
    sides = {row: claims[0].row or "" for (row, _), claims in grid.items()}
    return ShownTable(
        f"{first.document}, {first.table}",
        tuple(heads[column] for column in columns),
        tuple(
            (
                sides[row],
                tuple(
                    ShownCell(" / ".join(c.printed for c in grid.get((row, column), [])), (row, column) in bad)
                    for column in columns
                ),
            )
            for row in rows
        ),
        len(rows) < len(every_row) or len(columns) < len(every_column),
    )


def _window(every: Sequence[int], targets: set[int], most: int) -> list[int]:
    """Return all of `every` if they are at most `most`, else `targets` and the indices nearest to them, sorted."""
    if len(every) <= most:
        return list(every)
    near = sorted(every, key=lambda place: (min((abs(place - w) for w in targets), default=0), place))
    return sorted(near[: max(most, min(len(targets), 3 * most))])


def _shown_line(line: Line, claims: list[Claim]) -> ShownLine:
    """Mark each of the conflict's numbers in the line."""
    numbers = sorted(
        {claim.printed for claim in claims if claim.document == line.document and claim.line == line.line},
        key=len,
        reverse=True,
    )
    text = line.text
    pieces: list[Markup] = []
    position = 0
    while position < len(text):
        match = next(
            (n for n in numbers if n and text.startswith(n, position) and _stands_alone(text, position, len(n))), None
        )
        if match:
            pieces.append(Markup("<mark>{}</mark>").format(mark_hidden(match)))
            position += len(match)
            continue
        end = min((at for n in numbers if n and (at := text.find(n, position + 1)) >= 0), default=len(text))
        pieces.append(mark_hidden(text[position:end]))
        position = end
    return ShownLine(line.document, line.line, Markup("").join(pieces))


def _stands_alone(text: str, start: int, size: int) -> bool:
    before, after = text[start - 1 : start], text[start + size : start + size + 1]
    return not (before.isalnum() or before == ".") and not after.isdigit()
