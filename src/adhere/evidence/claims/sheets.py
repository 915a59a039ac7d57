"""Every printed number of a document's tables, with the model, benchmark, metric and setting that it is about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable

from adhere.evidence.claims.cells import cell_values
from adhere.evidence.claims.context import Context
from adhere.evidence.claims.elsewhere import Elsewhere, find_elsewhere, labels_of, told_apart, ways_of
from adhere.evidence.claims.layout import Layout, layout_of, named_in, ticks_of
from adhere.evidence.claims.rows import (
    about_row,
    column_roles,
    first_number,
    label_above,
    names_of_sizes,
    parts_in_use,
    percent_rows,
    row_labels_of,
    row_role,
)
from adhere.evidence.claims.values import Sheet, Value, printed_again
from adhere.evidence.read.document import Document, Table

_PRIVATE = re.compile(
    r"\bin-?house\b(?! (?:evaluation )?(?:framework|pipeline|harness))|"
    r"\binternal(?:ly)?\b(?! (?:evaluation )?(?:framework|pipeline|harness|sandbox))"
    r"(?=[^.]{0,30}\b(?:bench|eval|test|task|data|set|suite|collect|built|curat|annotat|rat(?:ed|ing)))|"
    r"\bproprietary (?:test|benchmark|evaluation)",
    re.IGNORECASE,
)


def sheets_of(document: Document) -> list[Sheet]:
    """The tables of a document with every number named."""
    layouts = [layout_of(table) for table in document.tables]
    elsewhere = labels_of(document.tables, layouts)
    apart = told_apart(document.tables)
    layouts = [
        layout
        if layout.models_in == "rows" and not named_in(table.caption, elsewhere.named)
        else layout_of(table, elsewhere, apart.get(table.index, ""), is_last=True)
        for table, layout in zip(document.tables, layouts, strict=True)
    ]
    extra = find_elsewhere(document)
    extra.ways = ways_of(document.tables, layouts)
    return [_sheet(document, table, layout, extra) for table, layout in zip(document.tables, layouts, strict=True)]


def _sheet(document: Document, table: Table, layout: Layout, extra: Elsewhere) -> Sheet:
    labels = [" ".join(path) for path in layout.paths]
    row_labels, row_models = row_labels_of(table, layout)
    sheet = Sheet(
        document,
        table,
        layout.models_in,
        first_number(table, layout),
        {},
        row_labels,
        labels,
        [row_role(label, layout, row) for label, row in zip(row_labels, table.rows, strict=True)],
        column_roles(table, layout),
        row_models,
        is_private=bool(_PRIVATE.search(table.caption)),
        nothing=layout.nothing,
    )
    if layout.models_in == "rows":
        for r in percent_rows(table, layout):
            sheet.row_roles[r] = "share"
    context = Context(document, table, layout, extra)
    sized = names_of_sizes(table, layout, row_models)
    for r, row in enumerate(table.rows):
        about = about_row(table, layout, r, row_models[r], sized)
        for c in range(sheet.first_column, len(row.cells)):
            if any(part.number for part in row.cells[c].parts):
                sheet.cells[r, c] = cell_values(sheet, context, about, r, c)
    _tell_apart(sheet, layout)
    return sheet


def _tell_apart(sheet: Sheet, layout: Layout) -> None:
    """Give cells that would mean the same thing what else tells them apart.

    A group, a section, a second label, their order.
    """
    ticks = ticks_of(sheet.table, layout)
    groups: dict[Hashable, list[Value]] = defaultdict(list)
    scores = [value for value in sheet.values() if value.role not in {"attribute", "share"}]
    for value in printed_again(scores, lambda value: value.key and (value.key, value.shots)):
        groups[value.key, value.shots].append(value)
    for same in groups.values():
        if len(same) < 2:
            continue
        choices = [[sheet.table.rows[v.row].section for v in same]]
        choices += [[parts_in_use(sheet.table.rows[v.row], ticks) for v in same]] if ticks else []
        others = [
            c
            for c, kind in enumerate(layout.kinds)
            if c != layout.names and kind not in {"shots", "metric", "size", "tuning"}
        ]
        others += [c for c, kind in enumerate(layout.kinds) if kind in {"shots", "metric", "size", "tuning"}]
        choices += [[label_above(sheet.table, v.row, c) for v in same] for c in others if c not in ticks]
        choices += [[v.row_label for v in same], [v.column_label for v in same]]
        told = [[] for _ in same]  # type: list[list[str]]
        for texts in choices:
            if len(set(texts)) > 1:
                for own, text in zip(told, texts, strict=True):
                    own.append(text)
                if len({tuple(own) for own in told}) == len(same):
                    break
        seen: dict[tuple[str, ...], int] = defaultdict(int)
        for value, own in zip(same, told, strict=True):
            seen[tuple(own)] += 1
            nth = seen[tuple(own)]
            value.beside = ", ".join(dict.fromkeys(filter(None, own)))
            if nth > 1:
                value.beside = ", ".join(filter(None, [value.beside, f"printed again ({nth})"]))
                value.assumed = (*value.assumed, "the table prints this label again without saying what differs")
