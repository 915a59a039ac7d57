"""Say what every printed number of a document's tables is about: the model, benchmark, metric and setting."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable

from adhere.evidence.claims.cells import cell_values
from adhere.evidence.claims.context import Context
from adhere.evidence.claims.coverage import is_claim
from adhere.evidence.claims.elsewhere import Elsewhere, find_elsewhere, headed_apart, labels_of, told_apart, ways_of
from adhere.evidence.claims.layout import Layout, layout_of, named_in, ticks_of
from adhere.evidence.claims.names import is_metric, is_split
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
    """Return a sheet for each table of a document: the table with what each of its numbers is about."""
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
    extra.headed = headed_apart(document.tables, layouts)
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
    sized_models = names_of_sizes(table, layout, row_models)
    for r, row in enumerate(table.rows):
        about = about_row(table, layout, r, row_models[r], sized_models)
        for c in range(sheet.first_column, len(row.cells)):
            if any(part.number for part in row.cells[c].parts):
                sheet.cells[r, c] = cell_values(sheet, context, about, r, c)
    if table.correction is None:
        _withhold_misnamed(sheet)
    _tell_apart(sheet, layout)
    return sheet


# What names no model: numbers (but for sizes), single letters, a value left open (`r =`); and what names no benchmark.
_NO_MODEL = re.compile(r"[~≈<>]?\d[\d.,]*(?:e[-–]?\d+)?\s?[kK%]?|\([^()]*\d[^()]*\)|[a-z]|\w{1,2}\s?=|=.*|\W*")
_NO_BENCHMARK = re.compile(r"\d+\.\d+|.{120,}")


def _withhold_misnamed(sheet: Sheet) -> None:
    """Withdraw the claims of a table if most names of its models or benchmarks are numbers, measures or sentences.

    Its rows or columns were misread, such as the ticks of a plot, a first row of numbers as a header, or measures in
    the place of models. The table is listed as unread, with this reason.
    """
    claims = [value for value in sheet.values() if is_claim(value)]
    models = {value.model.name for value in claims if value.model}
    benchmarks = {value.benchmark.name for value in claims if value.benchmark}
    no_models = sum(bool(_NO_MODEL.fullmatch(name)) or is_metric(name) or is_split(name) for name in models)
    no_benchmarks = sum(bool(_NO_BENCHMARK.fullmatch(name)) for name in benchmarks)
    if 2 * no_models > len(models) or 2 * no_benchmarks > len(benchmarks):
        noun = "models" if 2 * no_models > len(models) else "benchmarks"
        sheet.nothing = f"what stands in the place of its {noun} are numbers, measures or sentences"
        for value in claims:
            value.model = None


def _tell_apart(sheet: Sheet, layout: Layout) -> None:
    """Set `beside` of numbers that would otherwise mean the same thing to what distinguishes them in the table.

    That is a section, a tick, a second label, or else their order.
    """
    ticks = ticks_of(sheet.table, layout)
    label_columns = [c for c in range(len(layout.kinds)) if c != layout.names and c not in ticks]
    label_columns.sort(key=lambda c: layout.kinds[c] in {"shots", "metric", "size", "tuning"})  # these tell least
    groups: dict[Hashable, list[Value]] = defaultdict(list)
    scores = [value for value in sheet.values() if value.role not in {"attribute", "share"}]
    for value in printed_again(scores, lambda value: value.key and (value.key, value.shots)):
        groups[value.key, value.shots].append(value)
    telling: set[int] = set()  # columns of labels without which some rows would be one
    for same in groups.values():
        if len(same) < 2:
            continue
        choices: list[tuple[int | None, list[str]]] = [(None, [sheet.table.rows[v.row].section for v in same])]
        choices += [(None, [parts_in_use(sheet.table.rows[v.row], ticks) for v in same])] if ticks else []
        choices += [(c, [label_above(sheet.table, v.row, c) for v in same]) for c in label_columns]
        choices += [(None, [v.row_label for v in same]), (None, [v.column_label for v in same])]
        details = [[] for _ in same]  # type: list[list[str]]
        for c, texts in choices:
            if len(set(texts)) > 1:
                telling |= set() if c is None else {c}
                for own, text in zip(details, texts, strict=True):
                    own.append(text)
                if len({tuple(own) for own in details}) == len(same):
                    break
        seen: dict[tuple[str, ...], int] = defaultdict(int)
        for value, own in zip(same, details, strict=True):
            seen[tuple(own)] += 1
            nth = seen[tuple(own)]
            value.beside = ", ".join(dict.fromkeys(filter(None, own)))
            if nth > 1:
                value.beside = ", ".join(filter(None, [value.beside, f"printed again ({nth})"]))
                value.assumed = (*value.assumed, "the table prints this label again without saying what differs")
    if layout.models_in == "rows" and telling:
        again = {id(value) for same in groups.values() for value in same}
        _name_groups(sheet.table, [value for value in scores if id(value) not in again], sorted(telling))


def _name_groups(table: Table, values: list[Value], columns: list[int]) -> None:
    """Add to `beside` of values their rows' labels in `columns`, which other rows need in order to be told apart."""
    for value in values:
        names = (label_above(table, value.row, c) for c in columns)
        value.beside = ", ".join(dict.fromkeys(filter(None, [value.beside, *names])))
