"""Write the findings of `adhere claims` for the terminal and as tab-separated values.

Text of documents is made safe to print.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from adhere.evidence.findings import Claim, Conflict, Findings, Status, TableReading
from adhere.report.pieces.numbers import plural
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.terminal import one_line

TYPE_WORDS = {
    "swap": "cells that look exchanged",
    "header_rotation": "headers over the wrong columns",
    "cross_document": "one number, printed differently in two places",
    "arithmetic": "averages, sums, differences, shares",
    "invariant": "what must hold by construction",
    "emphasis": "bold marks",
}
MAX_READINGS = 30
MAX_LEFT = 8
_SIGNS = {"error": "✗", "warning": "!", "info": "i"}
STATUSES: tuple[Status, ...] = ("confirmed", "contradicted", "unsupported", "not comparable")
_COLUMNS = (
    "id", "model", "benchmark", "variant", "metric", "setting", "value", "printed", "unit", "document", "table", "row",
    "column", "line", "status", "basis", "guesses",
)  # fmt: skip


def claims_text(findings: Findings, *, width: int = 100) -> str:
    """Return conflicts by type, then what was read, and the status of the claims."""
    blocks = [
        _conflicts(findings, width),
        heading("What was read"),
        _read(findings, width),
        heading("Claims"),
        _claims(findings, width),
    ]
    if findings.unread:
        blocks.append(heading("Not read"))
        blocks += [
            paragraph(f"{item.document}:{item.line}: {item.message}", width=width, label="!", hang=2)
            for item in findings.unread[:20]
        ]
        if len(findings.unread) > 20:
            blocks.append(f"  … and {len(findings.unread) - 20} more (--json lists all)")
    blocks.append(_verdict(findings))
    return "\n\n".join(block for block in blocks if block)


def _conflicts(findings: Findings, width: int) -> str:
    lines: list[str] = []
    for kind, words in TYPE_WORDS.items():
        members = [conflict for conflict in findings.conflicts if conflict.type == kind]
        if not members:
            continue
        by_severity = Counter(conflict.severity for conflict in members)
        lines += ["", heading(f"{words} ({', '.join(f'{n} {severity}' for severity, n in by_severity.items())})")]
        for conflict in members:
            lines.append(paragraph(conflict.message, width=width, label=_SIGNS[conflict.severity], hang=2))
            lines.append(paragraph(places(conflict), width=width, label="", hang=4))
    return "\n".join(lines).strip("\n")


def places(conflict: Conflict, *, most: int = 6) -> str:
    """Return where a conflict stands: `at a.md:30,31 b.md:326`; of each document at most `most` lines."""
    by_document: dict[str, list[int]] = {}
    for document, line in zip(conflict.documents, conflict.lines, strict=True):
        by_document.setdefault(document, []).append(line)
    parts = []
    for document, lines in by_document.items():
        numbers = ",".join(map(str, lines[:most])) + (",…" if len(lines) > most else "")
        parts.append(f"{document}:{numbers}")
    return "at " + " ".join(parts)


def _read(findings: Findings, width: int) -> str:
    rows = [["document", "format", "lines", "tables", "claims"]]
    rows += [[d.name, d.format, str(d.lines), str(d.tables), str(d.claims)] for d in findings.documents]
    checks = [["check", "held", "failed", "explained by a swap or header"]]
    checks += [[kind, str(n["held"]), str(n["failed"]), str(n["explained"])] for kind, n in findings.checks.items()]
    table = text_table(rows, width=width, left=2)
    return "\n\n".join(
        filter(None, [table, _readings(findings, width), text_table(checks, width=width) if len(checks) > 1 else ""])
    )


def _readings(findings: Findings, width: int) -> str:
    """Return how each table was read, a line or two each, so that a reader sees misread tables."""
    if not findings.tables:
        return ""
    lines = [
        paragraph(f"{reading_words(table)} ({plural(table.claims, 'claim')})", width=width, label="·", hang=2)
        for table in findings.tables[:MAX_READINGS]
    ]
    if len(findings.tables) > MAX_READINGS:
        lines.append(
            f"  … and {plural(len(findings.tables) - MAX_READINGS, 'table')} more (--html and --json list all)"
        )
    advice = "Look the names over. A table that is misread is so as a whole: --corrections FILE says how to read it."
    return "\n".join([*lines, "", paragraph(advice, width=width)])


def reading_words(table: TableReading) -> str:
    """Say how a table was read: `a.md:12 Table 1: models in rows: A, B and 3 more; measured: MMLU, GPQA`."""
    place = f"{table.document}:{table.line} {table.label}".rstrip()
    where = f"models in {table.models_in}" if table.models_in else "about one model"
    place += f", p. {table.page}" if table.page else ""
    place += " (corrected)" if table.is_corrected else ""
    return (
        f"{place}: {where}: {first(table.models, table.model_count)}; "
        f"measured: {first(table.benchmarks, table.benchmark_count)}"
        + (f"; no scores: {without_claims(table)}" if table.no_scores else "")
    )


def without_claims(table: TableReading) -> str:
    """Name the first columns and rows of numbers that make no claim, and how many more there are."""
    return first(table.no_scores[:MAX_LEFT], len(table.no_scores))


def first(names: Sequence[str], count: int) -> str:
    """Join `names`, the first of `count`, and say how many more there are."""
    more = count - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _claims(findings: Findings, width: int) -> str:
    by_status = Counter(claim.status for claim in findings.claims)
    rows = [["status", "claims"]] + [[status, str(by_status[status])] for status in STATUSES]
    by_standing = Counter(item.standing for item in findings.reconciled)
    line = (
        f"Numbers printed in two places: {by_standing['agree']} agree, {by_standing['differ']} differ, "
        f"{by_standing['not comparable']} are not comparable. --tsv FILE writes every claim."
    )
    return f"{text_table(rows, width=width)}\n\n{paragraph(line, width=width)}"


def _verdict(findings: Findings) -> str:
    by_severity = Counter(conflict.severity for conflict in findings.conflicts)
    text = f"{plural(findings.errors, 'error')}, {plural(by_severity['warning'], 'warning')}."
    if by_severity["info"]:
        text = (
            f"{text[:-1]}, {plural(by_severity['info'], 'piece')} of information (what laboratories "
            "measured themselves)."
        )
    if findings.unclaimed:
        names = ", ".join(findings.unclaimed)
        if len(findings.unclaimed) == len(findings.documents):
            return f"Nothing was checked: no number of {names} could be read as a claim (see “Not read”)."
        text += f" Nothing was checked in {names}: no number there could be read as a claim (see “Not read”)."
    if findings.partly_read:
        text += f" Less than 90 % of a table was read (see “Not read”): {'; '.join(findings.partly_read)}."
    return text


def claims_tsv(claims: Sequence[Claim]) -> str:
    """Return every claim on one tab-separated line, after headings. Tabs and line breaks of texts become spaces."""
    lines = ["\t".join(_COLUMNS)]
    for claim in claims:
        cells = [getattr(claim, name) for name in _COLUMNS]
        lines.append("\t".join(tsv_cell(cell) for cell in cells))
    return "\n".join(lines) + "\n"


_BEGIN_FORMULAS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
_SIGNED = re.compile(r"[+-][\d.,]+(?:[eE][+-]?\d+)?\s?%?")


def tsv_cell(value: object) -> str:
    """Write a value for a tab-separated line: on one line, and never a formula to a spreadsheet."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        value = "; ".join(map(str, value))
    text = one_line(str(value))
    # A spreadsheet would take a leading = + - @ of a text (in any width) for a formula; a negative number and a lone
    # dash are none.
    is_formula = text[:1] in _BEGIN_FORMULAS and _SIGNED.fullmatch(text) is None and len(text) > 1
    return f"'{text}" if isinstance(value, str) and is_formula else text
