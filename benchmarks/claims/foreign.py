"""Errors planted into documents of other authors.

How many are found, and what is reported of the documents as they are.

    python -m benchmarks.claims.foreign DOC… [--json]

Every document is checked as it stands; then one error at a time is put into its text, and the document is checked
again. An error is found by a conflict that the clean document does not have and that names a line of it. Only errors
that a reader could find from the document itself are planted: numbers that the document prints twice or that a printed
average covers, and marks in rows whose mark is the best. Nothing of the checker's own findings is used to choose them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adhere.evidence.check import findings_of, gather
from adhere.evidence.claims.sheets import sheets_of
from adhere.evidence.claims.values import Sheet, Value
from adhere.evidence.findings import Findings
from adhere.evidence.read.document import Document
from adhere.evidence.read.documents import parse_document

PER_TYPE = 6
Some = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Plant:
    """One changed text: which error, the lines that hold it, in words."""

    kind: str
    lines: frozenset[int]
    detail: str
    text: str


def checked(text: str, name: str, suffix: str) -> tuple[Document, Findings]:
    """A document and what is found in it."""
    document = parse_document(text.encode(), name=name, suffix=suffix)
    return document, findings_of(gather([document]))


def _row_span(lines: list[str], start: int) -> int:
    """The line after the row that begins at `start` (from 0): one line in pipes, up to </tr> in HTML."""
    if "<tr" not in lines[start].lower() and "<td" not in lines[start].lower():
        return start + 1
    end = start
    while end < len(lines) - 1 and "</tr" not in lines[end].lower():
        end += 1
    return end + 1


def _cell_at(lines: list[str], value: Value) -> tuple[int, int, int] | None:
    """Where the number of a cell stands: line, start, end; by counting cells of its row."""
    start = value.line - 1
    end = _row_span(lines, start)
    digits = value.printed.text.strip().lstrip("+")
    places = [
        (number, match.start(), match.end())
        for number in range(start, end)
        for match in re.finditer(rf"(?<![\d.]){re.escape(digits)}(?![\d.]|\d)", lines[number])
    ]
    if not places:
        return None
    if len(places) == 1:
        return places[0]
    if end == start + 1:  # pipes: the cell's column tells which one
        bars = [m.start() for m in re.finditer(r"\|", lines[start])]
        lead = 0 if lines[start].lstrip().startswith("|") else -1
        for place in places:
            if sum(bar < place[1] for bar in bars) - 1 - lead == value.column:
                return place
    return None


def _put(lines: list[str], place: tuple[int, int, int], text: str) -> list[str]:
    number, start, end = place
    changed = list(lines)
    changed[number] = lines[number][:start] + text + lines[number][end:]
    return changed


def _shown(value: float, like: Value) -> str:
    return f"{value:.{like.printed.decimals}f}"


def _twice(sheets: list[Sheet]) -> list[Value]:
    """Scores that another table of the document prints too, with the same number."""
    groups: dict[object, list[Value]] = defaultdict(list)
    for sheet in sheets:
        for value in sheet.values():
            if value.key and value.role == "score" and not value.beside:
                groups[value.key, value.shots].append(value)
    return [
        v
        for group in groups.values()
        if len({w.table.index for w in group}) > 1 and len({w.printed.value for w in group}) == 1
        for v in group
    ]


def _averaged(sheets: list[Sheet]) -> list[tuple[Value, list[Value]]]:
    """Averages that are the plain mean of all other scores of their line, on more than half of the table's lines."""
    found = []
    for sheet in sheets:
        for across in (True, False):
            pairs, holding = [], 0
            for average in (v for v in sheet.values() if v.role == "aggregate" and v.model):
                members = [
                    v
                    for v in sheet.values()
                    if v.role == "score"
                    and v.model
                    and (v.row == average.row if across else v.column == average.column)
                ]
                if len(members) >= 3:
                    pairs.append((average, members))
                    mean = sum(m.printed.value for m in members) / len(members)
                    holding += abs(mean - average.printed.value) <= 2 * average.printed.half + 1e-9
            if pairs and holding > 0.5 * len(pairs):
                found += [
                    (a, m)
                    for a, m in pairs
                    if abs(sum(v.printed.value for v in m) / len(m) - a.printed.value) <= 2 * a.printed.half + 1e-9
                ]
    return found


def plants(text: str, name: str, suffix: str, rng: random.Random) -> Iterator[Plant]:
    """Errors of every type that the document allows, a few of each."""
    document = parse_document(text.encode(), name=name, suffix=suffix)
    lines = text.split("\n")
    sheets = sheets_of(document)
    twice, averaged = _twice(sheets), _averaged(sheets)

    def some(items: list[Any]) -> list[Any]:
        return rng.sample(items, min(PER_TYPE, len(items)))

    for value in some([*twice, *(m for _, members in averaged for m in members)]):
        place = _cell_at(lines, value)
        if place and value.printed.value >= 10:
            wrong = _shown(value.printed.value + rng.choice([-10, 10, 7, -7]), value)
            yield Plant(
                "digit",
                frozenset({value.line}),
                f"{value.place}: {value.printed.text} -> {wrong}",
                "\n".join(_put(lines, place, wrong)),
            )
    for average, _ in some(averaged):
        place = _cell_at(lines, average)
        if place:
            wrong = _shown(average.printed.value + rng.choice([-2, 2, 1, -1]), average)
            yield Plant(
                "average",
                frozenset({average.line}),
                f"{average.place}: {average.printed.text} -> {wrong}",
                "\n".join(_put(lines, place, wrong)),
            )
    by_row: dict[tuple[int, int], list[Value]] = defaultdict(list)
    for value in twice:
        by_row[value.table.index, value.row].append(value)
    swaps = [
        (a, b)
        for row in by_row.values()
        for a in row
        for b in row
        if a.column < b.column and abs(a.printed.value - b.printed.value) > 2
    ]
    for one, other in some(swaps):
        first, second = _cell_at(lines, one), _cell_at(lines, other)
        if first and second:
            later, earlier = sorted([(first, other), (second, one)], key=lambda item: item[0], reverse=True)
            changed = _put(lines, later[0], later[1].printed.text)
            changed = _put(changed, earlier[0], earlier[1].printed.text)
            yield Plant("swap", frozenset({one.line}), f"{one.place} with {other.column_label!r}", "\n".join(changed))
    yield from _bold(lines, sheets, some)
    yield from _headers(lines, sheets, twice, averaged, some)


def _bold(lines: list[str], sheets: list[Sheet], some: Some) -> Iterator[Plant]:
    candidates = []
    for sheet in sheets:
        groups: dict[int, list[Value]] = defaultdict(list)
        for value in sheet.values():
            if value.model and value.role in {"score", "aggregate"}:
                groups[value.row if sheet.models_in == "columns" else value.column].append(value)
        rows = [(group, [v for v in group if v.bold]) for group in groups.values()]
        marked = [(group, bold[0]) for group, bold in rows if len(bold) == 1 and len(group) > 2]
        best = [
            (g, b)
            for g, b in marked
            if b.printed.value == (min if b.direction == "lower" else max)(v.printed.value for v in g)
        ]
        if len(best) >= 4 and len(best) > 0.8 * len(marked):
            candidates += [
                (b, min((v for v in g if v is not b), key=lambda v: (v.printed.value, v.column), default=b))
                for g, b in best
            ]
    for old, new in some(candidates):
        a, b = _cell_at(lines, old), _cell_at(lines, new)
        if not a or not b or old is new:
            continue
        changed = list(lines)
        stripped = re.sub(
            rf"\*\*\s*{re.escape(old.printed.text)}\s*\*\*|<(b|strong)>\s*{re.escape(old.printed.text)}\s*</\1>",
            old.printed.text,
            changed[a[0]],
        )
        if stripped == changed[a[0]]:
            continue
        same = a[0] == b[0]
        changed[a[0]] = stripped
        place = b
        if same:
            moved = len(lines[a[0]]) - len(stripped)
            place = (b[0], b[1] - (moved if b[1] > a[1] else 0), b[2] - (moved if b[1] > a[1] else 0))
        mark = ("<strong>", "</strong>") if "<td" in lines[b[0]] else ("**", "**")
        changed = _put(changed, place, f"{mark[0]}{new.printed.text}{mark[1]}")
        yield Plant(
            "bold",
            frozenset({old.line, new.line}),
            f"{old.place}: bold moved from {old.printed.text} to {new.printed.text}",
            "\n".join(changed),
        )


def _headers(
    lines: list[str], sheets: list[Sheet], twice: list[Value], averaged: list[tuple[Value, list[Value]]], some: Some
) -> Iterator[Plant]:
    candidates = []
    for sheet in sheets:
        line = lines[sheet.table.line - 1]
        own = {v.column for v in twice if v.table is sheet.table}
        covered = sum(v.table is sheet.table for v in twice)
        has_average = any(a.table is sheet.table for a, _ in averaged)
        if "|" in line and (has_average or (len(own) >= 3 and covered >= 6)):
            candidates.append(sheet)
    for sheet in some(candidates):
        number = sheet.table.line - 1
        cells = lines[number].strip().strip("|").split("|")
        first = min(v.column for v in sheet.values() if v.model and v.role in {"score", "aggregate"})
        head, data = cells[:first], cells[first:]
        changed = list(lines)
        changed[number] = "|" + "|".join([*head, data[-1], *data[:-1]]) + "|"
        rows = frozenset(row.line for row in sheet.table.rows) | {sheet.table.line}
        yield Plant("header", rows, f"{sheet.table.name}: labels turned by one", "\n".join(changed))


def main() -> None:
    """Check, plant, count, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    planted: Counter[str] = Counter()
    met: Counter[str] = Counter()
    clean, missed = [], []
    for path in asked.documents:
        text = path.read_text(encoding="utf-8")
        _, findings = checked(text, path.name, path.suffix)
        known = {(c.type, c.lines) for c in findings.conflicts}
        clean += [(path.name, c.type, c.lines[:2], c.message) for c in findings.conflicts if c.severity == "error"]
        for plant in plants(text, path.name, path.suffix, random.Random(path.name)):
            planted[plant.kind] += 1
            _, after = checked(plant.text, path.name, path.suffix)
            new = [
                c
                for c in after.conflicts
                if (c.type, c.lines) not in known and c.severity != "info" and plant.lines & set(c.lines)
            ]
            met[plant.kind] += bool(new)
            if not new:
                missed.append((path.name, plant.kind, plant.detail))
    result = {"planted": dict(planted), "found": dict(met), "missed": missed, "errors_as_they_are": clean}
    if asked.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return
    for kind in sorted(planted):
        print(f"{kind:8} {met[kind]:3} of {planted[kind]:3}")
    print(f"all      {sum(met.values()):3} of {sum(planted.values()):3}")
    for name, kind, detail in missed:
        print(f"  missed {kind} in {name}: {detail}")
    for name, kind, at, message in clean:
        print(f"  error  {name}:{at} {kind}: {message[:160]}")


if __name__ == "__main__":
    main()
