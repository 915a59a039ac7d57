"""What a document says of its own tables as wholes: how many rows they list, which models they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adhere.evidence.claims.names import clean_label, is_role, looks_like_model, model_name
from adhere.evidence.claims.values import Sheet
from adhere.evidence.read.document import Document, Table

_STATED = re.compile(
    r"\b(?P<count>\d{1,4})\s+(?P<noun>[a-z]+s)\s+(?:were\s+|are\s+|have been\s+)?"
    r"(?:extracted|listed|collected|identified|tabulated|enumerated|found)\b[^.]*",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r";\s*(?P<count>\d{1,4})\s+(?:\w+ly\s+)?(?:were\s+)?(?:\w+ly\s+)?(?P<what>[a-z]+ed)\b", re.IGNORECASE
)
_TICKS = frozenset({"✓", "✔", "yes", "true", "☑"})


class StatedCount:
    """A count in a sentence, and what the table that lists the counted things shows."""

    def __init__(self, line: int, table: Table, message: str) -> None:
        self.line, self.table, self.message = line, table, message


def stated_counts(document: Document) -> Iterator[StatedCount]:
    """Every stated count that the table whose first column lists the counted things contradicts; each statement once."""
    listing: dict[str, list[Table]] = {}
    for table in document.tables:
        corner = clean_label(table.headers[0][0]).lower() if table.headers[0] else ""
        # A table whose rows are models or benchmarks lists scores, not things counted.
        if re.fullmatch(r"[a-z]+", corner) and not any(
            is_role(role, corner) for role in ("models", "benchmarks", "categories")
        ):
            listing.setdefault(corner, []).append(table)
    if not listing:
        return
    for sentence in document.sentences:
        for match in _STATED.finditer(sentence.text):
            tables = listing.get(match["noun"].lower().rstrip("s"), [])
            if len(tables) != 1:
                continue
            rows = len(tables[0].rows)
            if int(match["count"]) != rows:
                yield StatedCount(
                    sentence.line,
                    tables[0],
                    f"“{match.group().strip()}”: but the {tables[0].name} lists {rows} {match['noun'].lower()}",
                )
            yield from _marked_counts(sentence.line, tables[0], match.group())


def _marked_counts(line: int, table: Table, text: str) -> Iterator[StatedCount]:
    match = _MARKED.search(text)
    if not match:
        return
    headers: Sequence[str] = [clean_label(label).lower() for label in table.headers[-1]]
    if match["what"].lower() not in headers:
        return
    column = headers.index(match["what"].lower())
    ticked = sum(len(row.cells) > column and row.cells[column].text.strip().lower() in _TICKS for row in table.rows)
    if ticked != int(match["count"]):
        yield StatedCount(
            line, table, f"“{text.strip()}”: but {ticked} rows of the {table.name} are marked {match['what']}"
        )


_NAME = re.compile(r"[A-Za-z][\w.]*-(?:\d+x)?\d+(?:\.\d+)?[BM](?:-[\w.]*\w)*")


def absent_models(sheet: Sheet) -> Iterator[StatedCount]:
    """Models that a caption says its table compares, where the table has the same size of another version instead."""
    held = {value.model.key: value.model.name for value in sheet.values() if value.model}
    for name in dict.fromkeys(_NAME.findall(sheet.table.caption)):
        found = model_name(name)
        if not looks_like_model(name) or found.key in held or found.parameters is None:
            continue
        family, _, rest = found.key.partition("-")
        size = rest.rpartition("-")[2]
        alike = [held[key] for key in held if key.startswith(f"{family}-") and key.endswith(f"-{size}")]
        if len(alike) == 1:
            line = sheet.table.caption_line or sheet.table.line
            text = f"{sheet.table.name}: the caption names {name}, but the table has no such column or row; it has {alike[0]}"
            yield StatedCount(line, sheet.table, text)
