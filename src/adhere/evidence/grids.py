"""The JSON of very many claims: what a row or a column of a table has in common is stored once.

A grid is one table: `rows` and `columns` hold the keys of a claim that are the same all along them, `kinds` those that
several cells share (`setting`, `status`, …), and `cells` of a row are `[column, value]` or `[column, value, kind]`,
where a missing kind is 0. `claims_in` restores the claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from adhere.evidence.claims.values import Value
from adhere.evidence.verdicts import Claims, metric_of, model_of, setting_of, variant_of
from adhere.schema import encode

_MODEL = ("model", "tuning", "assumed")
_BENCHMARK = ("benchmark", "metric", "variant", "direction", "assumed")


def grids_of(claims: Claims, claim_ids: set[str], places: dict[str, int]) -> tuple[list[bytes], list[Value]]:
    """Return the grids of all claims, each as JSON, and the cells that no grid holds.

    No grid holds a cell that does not fit in or that a conflict names. `places` collects the assumptions, as for single
    claims.
    """
    tables = {name.rpartition(":")[0] for name in claim_ids}
    grids, single_values = [], list[Value]()
    for sheet, values in groupby(claims.values, key=lambda value: value.sheet_id):
        grid = _Grid(claims, claim_ids if sheet in tables else set(), places)
        grids.append(grid.encoded(sheet, list(values)))
        single_values += grid.left
    return grids, single_values


class _Grid:
    """Encodes the claims of one table as JSON, row by row, since a table may have very many rows.

    `left` are the values that the grid does not hold. `places` gives each assumption its position in the report.
    """

    def __init__(self, claims: Claims, claim_ids: set[str], places: dict[str, int]) -> None:
        self.claims, self.claim_ids, self.places = claims, claim_ids, places
        self.left: list[Value] = []
        self._columns: dict[int, tuple[Any, ...]] = {}
        self._kinds: dict[tuple[Any, ...], int] = {}
        self._benchmarks: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def encoded(self, sheet: str, values: list[Value]) -> bytes:
        """Return the grid of a table's values as JSON."""
        is_down = len({(v.column, v.model) for v in values}) > len({(v.row, v.model) for v in values})
        across, down = (_MODEL, _BENCHMARK) if is_down else (_BENCHMARK, _MODEL)
        rows = [
            row for _, cells in groupby(values, key=lambda v: v.row) if (row := self._row(list(cells), across, is_down))
        ]
        heads = {value.column: value.column_label for value in values}
        head = {
            "id": sheet,
            "document": values[0].document,
            "table": values[0].table.name,
            "columns": [
                {"n": c, "column": heads[c]} | self._said(down, self._columns[c]) for c in sorted(self._columns)
            ],
            "kinds": [_kind(kind) for kind in self._kinds],
        }
        return encode(head)[:-1] + b',"rows":[' + b",".join(rows) + b"]}"

    def _row(self, values: list[Value], across: tuple[str, ...], is_down: bool) -> bytes:  # noqa: FBT001 -- one call
        about: tuple[Any, ...] | None = None
        cells: list[tuple[Any, ...]] = []
        for value in values:
            verdict = self.claims.verdict(value)
            model = (model_of(value), value.model.tuning, value.model.guesses) if value.model else ("", "", ())
            benchmark = self._benchmark(value)
            row, column = (model, benchmark) if is_down else (benchmark, model)
            about = about or row
            text, number = value.printed.text, value.printed.value
            short = number if text == repr(number) else _short(value)
            fits = about == row and self._columns.setdefault(value.column, column) == column and not value.is_part
            is_plain = short is number or text == _plainly(value)
            if not fits or not is_plain or (self.claim_ids and value.id in self.claim_ids):
                self.left.append(value)
                continue
            kind = (setting_of(value), verdict.status, verdict.basis, value.printed.unit)
            place = self._kinds.setdefault(kind, len(self._kinds))
            cells.append((value.column, short, place) if place else (value.column, short))
        if not cells or about is None:
            return b""
        head = {"row": values[0].row_label, "line": values[0].line, "n": values[0].row + 1}
        return encode(head | self._said(across, about))[:-1] + b',"cells":' + msgspec.json.encode(cells) + b"}"

    def _benchmark(self, value: Value) -> tuple[Any, ...]:
        key = (id(value.benchmark), id(value.assumed), value.role, value.direction)
        if value.benchmark is None or key not in self._benchmarks:
            name = value.benchmark.shown if value.benchmark else value.row_label
            self._benchmarks[key] = (name, metric_of(value), variant_of(value), value.direction, value.assumed)
        return self._benchmarks[key]

    def _said(self, names: tuple[str, ...], texts: tuple[Any, ...]) -> dict[str, Any]:
        facts = {name: text for name, text in zip(names, texts, strict=True) if text not in {"", (), "higher"}}
        if "assumed" in facts:
            facts["assumed"] = [self.places.setdefault(text, len(self.places)) for text in facts["assumed"]]
        return facts


def _plainly(value: Value) -> str:
    return f"{value.printed.value:.{value.printed.decimals}f}{value.printed.unit if value.printed.unit == '%' else ''}"


def _short(value: Value) -> float | int | str:
    """Return the number; as text where JSON would drop a printed zero (`61.20`)."""
    number, text = value.printed.value, value.printed.text
    if text == repr(number) or text.rstrip("%") == repr(number):
        return number
    return int(number) if number == int(number) and value.printed.decimals == 0 else text.rstrip("%")


def _kind(kind: tuple[Any, ...]) -> dict[str, Any]:
    setting, status, basis, unit = kind
    fields: dict[str, Any] = {"status": status}
    if setting:
        fields["setting"] = setting
    if status != "unsupported":
        fields["basis"] = basis
    if unit:
        fields["unit"] = unit
    return fields


def claims_in(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every claim of a JSON report of `adhere claims`, also those of `grids`, with the keys of a listed claim."""
    yield from report["claims"]
    for grid in report.get("grids", ()):
        columns = {column["n"]: column for column in grid["columns"]}
        for row in grid["rows"]:
            for number, value, *kind in row["cells"]:
                column = columns[number]
                assumptions = [*row.get("assumed", ()), *column.get("assumed", ())]
                fields: dict[str, Any] = {"model": "", "tuning": "", "variant": "", "setting": ""}
                fields |= {
                    name: text for name, text in {**column, **row}.items() if name not in {"n", "cells", "assumed"}
                }
                fields |= grid["kinds"][kind[0] if kind else 0]
                as_number = float(value)
                printed_text = f"{value}{'%' if fields.get('unit') == '%' else ''}"
                if assumptions:
                    fields["assumed"] = sorted(assumptions)
                if printed_text != repr(as_number):
                    fields["printed"] = printed_text
                yield {
                    "id": f"{grid['id']}:r{row['n']}c{number}",
                    "document": grid["document"],
                    "table": grid["table"],
                    "value": as_number,
                    **fields,
                }
