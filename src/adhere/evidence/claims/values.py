"""Every printed number of a document's tables, with the model, benchmark, metric and setting that it is about."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from adhere.evidence.claims.layout import Labels, Layout, Orientation, column_model, corner_of, layout_of
from adhere.evidence.claims.names import (
    BenchmarkName,
    ModelName,
    Role,
    Tuning,
    benchmark_key,
    benchmark_name,
    clean_label,
    direction_of,
    has_named_sizes,
    is_greek,
    is_known,
    is_length,
    is_metric,
    is_role,
    is_setting,
    is_split,
    label_kind,
    looks_like_model,
    metric_in,
    metric_name,
    model_label,
    model_name,
    role_of,
    said_of,
    shots_of,
    without_how_printed,
)
from adhere.evidence.claims.printed import SCALES, PrintedNumber, is_absent
from adhere.evidence.read.document import Cell, Document, Part, Row, Table
from adhere.evidence.read.documents import repair
from adhere.evidence.read.grid import BETWEEN_VALUES

_CONTINUATION = re.compile(r"^\s*(?:[-+–•↳]|w/o?(?=\s)|with(?:out)?\b|\\quad)\s*\S", re.IGNORECASE)
_ADDED = re.compile(r"\s+(?:\+|w/o?|with(?:out)?)\s+(?=\S)", re.IGNORECASE)
_PRIVATE = re.compile(
    r"\bin-?house\b(?! (?:evaluation )?(?:framework|pipeline|harness))|\binternal(?:ly)?\b"
    r"(?! (?:evaluation )?(?:framework|pipeline|harness|sandbox))|"
    r"\bproprietary (?:test|benchmark|evaluation)",
    re.IGNORECASE,
)
_TOPIC = re.compile(r"\S{2,30}(?: \S+){0,2}")
_FIRST_NAME = re.compile(r"(?:(?=[\w'-]*[A-Z]\d?[\w'-]*[A-Z\d])[A-Z][\w'-]+)(?=[\s(\uff08:\uff1a]|[^\x00-\x7f])")
_NAME_LIKE = re.compile(r"[A-Z][\w'-]*[A-Z\d]|[a-z][A-Z]")  # more than a word with a capital
_ON = re.compile(
    r"\b(?:on|of|for)\s+(?:the\s+)?(?P<name>[A-Z][\w+-]*[A-Z\d][\w.+-]*\w(?:\s\d+(?:\.\d+)*)?)(?![\w+-])(?!(?:\s\w+)?\s(?:models?|methods?|variants?|systems?)\b)"
)
_IN_PARENTHESES = re.compile(r"[(\[]([^()\[\]]*(?:/|\s\|\s)[^()\[\]]*)[)\]]\s*$")
_ON_SET = re.compile(r"\bon (?:the |our )?(?P<name>(?:[\w-]+ ){0,3}[\w-]+) (?:benchmark|data\s?set|leaderboard)\b")
_LANGUAGE = re.compile(
    r"\b(English|Chinese|French|German|Spanish|Japanese|Korean|Arabic|multilingual)\b", re.IGNORECASE
)
SPECIAL_AVERAGE = re.compile(r"\b(?:weighted|not the mean|official|leaderboard)\b", re.IGNORECASE)
_TWO_VALUES = re.compile(
    (
        r"\bx is (?P<first>[^.;]{3,80}?)(?:,|;)? and y is (?P<second>[^.;]{3,80})|(?P<a>[A-Za-z +-]{3,40})\s*/\s*"
        r"(?P<b>[A-Za-z +-]{3,40})\s+(?:scores?|values?)"
    ),
    re.IGNORECASE,
)
_AUTHORS = re.compile(r"[A-Z][\w'@-]+(?: (?:et al\.?|and [A-Z][\w'-]+|& [A-Z][\w'-]+))?,? \((?:19|20)\d\d[a-z]?\)")
_TICKS, _CROSSES = frozenset("✓✔√☑✅"), frozenset(["", *"✗✘×❌☐–—-"])
_BARE_NUMBER = re.compile(r"\d+(?:\.\d+)?%?")
_BILLIONS = re.compile(r"\d+(?:\.\d+)?[Bb]")
_BEHIND_COLON = re.compile(r"[:\uff1a]\s*")
_WINDOW = r"[\s(]*\(?(v\d+(?:\.\d+)?|\d{4}(?:\s?-\s?\d{4})?)\b"
_DEFAULT_SETTINGS = frozenset(
    "original standard default full score scores result results value values performance 得分 分数 结果 性能".split()
)

Key = tuple[str, str, str, str, str, str]


@dataclass(slots=True)
class Value:
    """One printed number in its table.

    `setting` is what the row or column adds to model and benchmark (`without DCA+YARN`, `Non-Contam.`), `shots` how
    many examples were shown, `beside` what else its table prints to tell it apart (a group, a second label).
    `is_private` marks benchmarks that only their authors have: the same name in another document need not be the same
    set. `is_firm` is false for cells of broken rows, which are read but not checked.
    """

    document: str
    table: Table
    row: int
    column: int
    part: int
    is_part: bool
    printed: PrintedNumber
    bold: bool
    underlined: bool
    line: int
    row_label: str
    column_label: str
    role: Role
    model: ModelName | None
    benchmark: BenchmarkName | None
    setting: str = ""
    shots: str = ""
    beside: str = ""
    direction: str = "higher"
    is_private: bool = False
    is_firm: bool = True
    assumed: tuple[str, ...] = ()

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was assumed to read the names of its model (first) and benchmark."""
        return (*self.model.guesses, *self.assumed) if self.model and self.model.guesses else self.assumed

    @property
    def id(self) -> str:
        """`a:t1:r2c3`, and a letter where its cell prints several numbers."""
        letter = "abcdefgh"[self.part] if self.is_part else ""
        return f"{self.sheet_id}:r{self.row + 1}c{self.column}{letter}"

    @property
    def sheet_id(self) -> str:
        """`a:t1`: how the ids of a table begin."""
        return f"{stem(self.document)}:t{self.table.index}"

    @property
    def key(self) -> Key | None:
        """What must agree wherever it is printed; None for numbers about no model or no benchmark."""
        if self.model is None or self.benchmark is None:
            return None
        return (
            self.model.key,
            self.model.tuning,
            self.benchmark.key,
            self.benchmark.variant.lower(),
            self.benchmark.metric,
            self.setting.lower(),
        )

    @property
    def place(self) -> str:
        """Where it stands, for a message: `Table 6, row GPQA, column Qwen2-72B`."""
        return f"{self.table.name}, row {self.row_label!r}, column {self.column_label!r}"


@dataclass(slots=True)
class Sheet:
    """A table with its numbers. `cells[(row, column)]` are the values of a cell, one or more.

    `models_in` says on which axis models stand; `""` where the table is about no models.
    """

    document: Document
    table: Table
    models_in: Orientation
    first_column: int
    cells: dict[tuple[int, int], Sequence[Value]]
    row_labels: list[str]
    column_labels: list[str]
    row_roles: list[Role]
    column_roles: list[Role]
    row_models: list[str]
    is_private: bool = False
    nothing: str = ""
    _ordered: list[Value] = field(default_factory=list)

    def value(self, row: int, column: int) -> Value | None:
        """The number of a cell that holds exactly one."""
        found = self.cells.get((row, column), ())
        return found[0] if len(found) == 1 else None

    def values(self) -> list[Value]:
        """All numbers, row by row."""
        if not self._ordered:
            self._ordered = [value for place in sorted(self.cells) for value in self.cells[place]]
        return self._ordered


def sheets_of(document: Document) -> list[Sheet]:
    """The tables of a document with every number named."""
    layouts = [layout_of(table) for table in document.tables]
    elsewhere = _labels(document.tables, layouts)
    if any(elsewhere):
        layouts = [
            layout if layout.models_in else layout_of(table, elsewhere)
            for table, layout in zip(document.tables, layouts, strict=True)
        ]
    extra = _stated_elsewhere(document)
    extra.ways = _ways(document.tables, layouts)
    return [_sheet(document, table, layout, extra) for table, layout in zip(document.tables, layouts, strict=True)]


def _labels(tables: Sequence[Table], layouts: Sequence[Layout]) -> Labels:
    """The labels that name benchmarks and models in those tables that hold models."""
    benchmarks: set[str] = set()
    models: set[str] = set()
    for table, layout in zip(tables, layouts, strict=True):
        above = {path[-1] for path in layout.paths[layout.first :] if path and role_of(path[-1]) == "score"}
        beside = {clean_label(row.cells[layout.names].text) for row in table.rows if len(row.cells) > layout.names}
        if layout.models_in and not layout.nothing:
            benchmarks |= above if layout.models_in == "rows" else beside
            models |= beside if layout.models_in == "rows" else above
    return Labels(frozenset(benchmarks - {""}), frozenset(models - {""}))


def _ways(tables: Sequence[Table], layouts: Sequence[Layout]) -> frozenset[tuple[str, ...]]:
    """The headers that tables of several sets have: their columns say how it was measured, not on what.

    `Reported F1 | Our F1` below the headings of one set each; every column names a metric.
    """
    sets: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for table, layout in zip(tables, layouts, strict=True):
        labels = _measures(layout)
        if layout.models_in == "rows" and labels and all(metric_in(label) and not is_known(label) for label in labels):
            topic = _said_set(table) or _topic(table)
            sets[labels].append(topic.key if topic else "")
    return frozenset(labels for labels, found in sets.items() if len({*found} - {""}) > 1)


def _measures(layout: Layout) -> tuple[str, ...]:
    return tuple(path[-1] for path in layout.paths[layout.first :] if path and label_kind(path[-1]) != "note")


def _sheet(document: Document, table: Table, layout: Layout, extra: _Elsewhere) -> Sheet:
    labels = [" ".join(path) for path in layout.paths]
    row_labels, row_models = _row_labels(table, layout)
    sheet = Sheet(
        document,
        table,
        layout.models_in,
        _first_number(table, layout),
        {},
        row_labels,
        labels,
        [_row_role(label, layout, row) for label, row in zip(row_labels, table.rows, strict=True)],
        _column_roles(table, layout),
        row_models,
        is_private=bool(_PRIVATE.search(table.caption)),
        nothing=layout.nothing,
    )
    if layout.models_in == "rows":
        for r in _percent_rows(table, layout):
            sheet.row_roles[r] = "share"
    context = _Context(document, table, layout, extra)
    sized = _names_of_sizes(table, layout, row_models)
    for r, row in enumerate(table.rows):
        about = _about_row(table, layout, r, row_models[r], sized)
        for c in range(sheet.first_column, len(row.cells)):
            if any(part.number for part in row.cells[c].parts):
                sheet.cells[r, c] = _cell_values(sheet, context, about, r, c)
    _tell_apart(sheet, layout)
    return sheet


def _first_number(table: Table, layout: Layout) -> int:
    """The first column of numbers, those included that only describe a row (`# Examples`): sums may be over them."""
    first = layout.first
    while first > 1 and first - 1 != layout.names and layout.kinds[first - 1] in {"attribute", "size", "note"}:
        cells = [row.cells[first - 1] for row in table.rows if len(row.cells) >= first]
        if not any(part.number for cell in cells for part in cell.parts):
            break
        first -= 1
    return first


def _numbers(cell: Cell) -> list[PrintedNumber]:
    return [part.number for part in cell.parts if part.number]


def _row_role(label: str, layout: Layout, row: Row) -> Role:
    numbers = [number for cell in row.cells[layout.first :] for number in _numbers(cell)]
    if layout.models_in == "rows":
        if looks_like_model(label) or is_greek(label):
            return "score"
        is_score = role_of(label) == "attribute" and 2 * sum(number.decimals > 0 for number in numbers) > len(numbers)
        # A stage (`Pretraining`) whose numbers have decimals was measured; `N-shot` says how.
        return "score" if is_score else "attribute" if label_kind(label) == "shots" else role_of(label)
    is_counts = len(numbers) > 1 and 2 * sum(number.unit in SCALES for number in numbers) > len(numbers)
    return "attribute" if layout.models_in == "columns" and is_counts else role_of(label)


def _percent_rows(table: Table, layout: Layout) -> list[int]:
    """The rows that print nothing but percentages where no other row has one: what a row of scores saved or gained."""
    signs = [{n.unit == "%" for cell in row.cells[layout.first :] for n in _numbers(cell)} for row in table.rows]
    found = [r for r, own in enumerate(signs) if own == {True}]
    return found if 2 * len(found) < len(signs) and all(len(own) < 2 for own in signs) else []


def _column_roles(table: Table, layout: Layout) -> list[Role]:
    roles: list[Role] = [
        "attribute" if c < layout.first or _counts(table, c) else _column_role(path)
        for c, path in enumerate(layout.paths)
    ]
    if "score" not in roles:
        # "Score" beside no other scores is what the rows score, not a sum of anything.
        for c, path in enumerate(layout.paths):
            if roles[c] == "aggregate" and path and path[-1].lower() in _DEFAULT_SETTINGS:
                roles[c] = "score"
    return roles


def _counts(table: Table, c: int) -> bool:
    """Whether a column counts tokens, steps, parameters or items.

    Most numbers carry a scale letter (`275B`), or a split has hundreds.
    """
    numbers = [part.number for row in table.rows if len(row.cells) > c for part in row.cells[c].parts if part.number]
    head = clean_label(table.headers[-1][c]) if table.headers and len(table.headers[-1]) > c else ""
    if len(numbers) > 1 and is_split(head) and all(number.decimals == 0 and number.value >= 200 for number in numbers):
        return True  # how many items a split has
    if len(numbers) > 2 and all(map(_is_bare, numbers)) and max(number.value for number in numbers) > 1:
        others = _others(table, c)  # whole numbers beside fractions of one are no scores
        if others and all(number.decimals > 1 and number.value <= 1 for number in others):
            return True
    if len(numbers) > 2 and len({number.value for number in numbers}) == 1 and _is_bare(numbers[0]):
        return _prints_decimals(table, c)  # one whole number in every row, beside scores: how many items were asked
    return len(numbers) > 1 and 2 * sum(number.unit in SCALES for number in numbers) > len(numbers)


def _is_bare(number: PrintedNumber) -> bool:
    return not (number.decimals or number.unit)


def _others(table: Table, but: int) -> list[PrintedNumber]:
    return [n for row in table.rows for c, cell in enumerate(row.cells) if c != but for n in _numbers(cell)]


def _prints_decimals(table: Table, but: int) -> bool:
    """Whether most numbers of the other columns are no bare whole numbers."""
    others = _others(table, but)
    return 2 * sum(map(_is_bare, others)) < len(others)


def _column_role(path: list[str]) -> Role:
    """The role of the lowest label.

    A label above it counts only where it makes a difference or an average of all below it.
    """
    if not path:
        return "score"
    lowest = role_of(path[-1])
    if lowest != "score" or looks_like_model(path[-1]):
        return lowest
    return next((role for label in path[:-1] if (role := role_of(label)) in {"delta", "share", "aggregate"}), "score")


def _row_labels(table: Table, layout: Layout) -> tuple[list[str], list[str]]:
    """Each row's own label, and the model that it belongs to: `w/o DCA` continues the model above it."""
    labels, models = [], []
    current, above, section = "", "", ""
    corner, ticks = corner_of(table, layout.names), _ticks(table, layout)
    is_scale = bool(corner) and layout.models_in == "rows" and _is_scale(table, layout.names)
    are_below = _has_authors_below(table, layout.names)
    for row in table.rows:
        texts = [clean_label(cell.text) for cell in row.cells[: layout.first]]
        name = texts[layout.names] if len(texts) > layout.names else ""
        if are_below and _AUTHORS.fullmatch(name):
            name = ""
        elif layout.names in ticks:
            name = _parts_in_use(row, ticks)
        elif is_scale:
            name = f"{corner} = {name}"  # `0.1` below `λ`
        if is_absent(name) and name:  # a dash names nothing: the row is what stands beside it (`Specialist SOTAs`)
            name = next((text for text in texts if not is_absent(text)), "")
        if not any(map(str.isalnum, name)) and not is_role(
            "delta", name
        ):  # `Average` over the groups and the names, an arrow behind it
            name = next(filter(None, reversed(texts[: layout.names])), "")
        above = name or above
        if layout.models_in == "rows":
            current, section = (row.section if row.section != section else current), row.section
            if name and not _CONTINUATION.match(row.cells[layout.names].text):
                current = name
            models.append(current)
        else:
            models.append("")
        # What stands before the names groups them (a series, "General"); what stands behind says how they were scored.
        labels.append(name or current or (above if any(texts) else ""))
    return labels, models


def _has_authors_below(table: Table, c: int) -> bool:
    """Whether authors stand below the names that are theirs (`GPT-4.1`, `OpenAI (2025)`), not for rows of their own."""
    are = [bool(_AUTHORS.fullmatch(clean_label(_text(table, r, c)))) for r in range(len(table.rows))]
    return any(are) and not are[0] and not any(one and other for one, other in pairwise(are))


def _ticks(table: Table, layout: Layout) -> dict[int, str]:
    """The label columns that hold nothing but ticks and crosses, and the part of a method that each names."""
    found = {}
    for c in range(layout.first):
        marks = {clean_label(row.cells[c].text) for row in table.rows if len(row.cells) > c}
        name = layout.paths[c][-1]
        if name and marks & _TICKS and all(mark in _TICKS or mark in _CROSSES for mark in marks):
            found[c] = name
    return found


def _parts_in_use(row: Row, ticks: dict[int, str]) -> str:
    """The parts of a method that a row ticks: `RM + KL`; `w/o RM, w/o KL` where it ticks none."""
    used = [name for c, name in ticks.items() if len(row.cells) > c and clean_label(row.cells[c].text) in _TICKS]
    return " + ".join(used) if used else ", ".join(f"w/o {name}" for name in ticks.values())


def _is_scale(table: Table, c: int) -> bool:
    """Whether a column of names holds nothing but different numbers: values of what stands above them."""
    names = [clean_label(row.cells[c].text) for row in table.rows if len(row.cells) > c]
    return len(names) > 1 and len(set(names)) == len(names) and all(map(_BARE_NUMBER.fullmatch, names))


@dataclass(slots=True)
class _Row:
    """What the label columns of a row say besides its name."""

    model: str = ""
    tuning: Tuning = ""
    benchmark: str = ""
    shots: str = ""
    metric: str = ""
    setting: str = ""


def _names_of_sizes(table: Table, layout: Layout, models: Sequence[str]) -> frozenset[str]:
    """The names that the column of sizes completes.

    Those that several rows bear (`Llama | 7B`, `Llama | 13B`); and all where it has billions (`Gopher | 280B`), and
    says of no name with a size another one: then it counts parameters, which names leave out.
    """
    sizes: dict[str, set[str]] = defaultdict(set)
    for r, model in enumerate(models if "size" in layout.kinds else ()):
        if not is_absent(size := _label_above(table, r, layout.kinds.index("size"))):
            sizes[model].add(size)
    stated = [(model_name(model).parameters, size) for model, own in sizes.items() for size in own]
    if all(_BILLIONS.fullmatch(size) and named in {None, float(size[:-1])} for named, size in stated):
        return frozenset(filter(None, sizes))
    return frozenset(model for model, own in sizes.items() if model and len(own) > 1)


def _about_row(table: Table, layout: Layout, r: int, model: str, sized: frozenset[str]) -> _Row:
    about = _Row(model)
    for c, kind in enumerate(layout.kinds):
        if c == layout.names:
            continue
        is_spanned = kind in {"size", "tuning"} or (kind == "benchmarks" and layout.models_in == "rows")
        text = _label_above(table, r, c) if is_spanned else clean_label(_text(table, r, c))
        if not text or is_absent(text):
            continue
        if c == layout.kinds.index(kind) and kind == "size" and model in sized and model_name(model).parameters is None:
            about.model = f"{model} {text if re.search(r'[BbM]$', text) else text + 'B'}"
        elif kind == "tuning" and layout.models_in == "rows":
            about.tuning = model_name("x " + text).tuning
        elif kind == "shots":
            about.shots, rest = shots_of(text)
            about.shots = about.shots or (text if re.fullmatch(r"\d[\d -]*", text) else "")
            about.setting = " ".join(filter(None, [about.setting, rest if about.shots != rest else ""]))
        elif kind == "metric":
            about.metric, rest = metric_name(text)
            about.setting = " ".join(filter(None, [about.setting, rest]))
        elif kind == "benchmarks" and layout.models_in == "rows":
            about.benchmark = text
        elif kind == "models" and layout.models_in == "columns":
            about.setting = " ".join(filter(None, [about.setting, text]))
    return about


def _text(table: Table, r: int, c: int) -> str:
    cells = table.rows[r].cells
    return cells[c].text if len(cells) > c else ""


def _label_above(table: Table, r: int, c: int) -> str:
    """The label of a row, or of the nearest row above that has one: a cell that spans rows is printed once."""
    return next((label for at in range(r, -1, -1) if (label := clean_label(_text(table, at, c)))), "")


def _tell_apart(sheet: Sheet, layout: Layout) -> None:
    """Give cells that would mean the same thing what else tells them apart.

    A group, a section, a second label, their order.
    """
    ticks = _ticks(sheet.table, layout)
    groups: dict[Hashable, list[Value]] = defaultdict(list)
    scores = [value for value in sheet.values() if value.role not in {"attribute", "share"}]
    for value in printed_again(scores, lambda value: value.key and (value.key, value.shots)):
        groups[value.key, value.shots].append(value)
    for same in groups.values():
        if len(same) < 2:
            continue
        choices = [[sheet.table.rows[v.row].section for v in same]]
        choices += [[_parts_in_use(sheet.table.rows[v.row], ticks) for v in same]] if ticks else []
        others = [
            c
            for c, kind in enumerate(layout.kinds)
            if c != layout.names and kind not in {"shots", "metric", "size", "tuning"}
        ]
        others += [c for c, kind in enumerate(layout.kinds) if kind in {"shots", "metric", "size", "tuning"}]
        choices += [[_label_above(sheet.table, v.row, c) for v in same] for c in others if c not in ticks]
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


def printed_again(values: Iterable[Value], key: Callable[[Value], Hashable]) -> list[Value]:
    """The values whose key (None: none) another value has, too.

    Decided by hashes, because a dictionary of all keys is large.
    """
    seen: set[int] = set()
    twice: set[int] = set()
    places: list[tuple[int, Value]] = []
    for value in values:
        if (own := key(value)) is not None:
            number = hash(own)
            (twice if number in seen else seen).add(number)
            places.append((number, value))
    return [value for number, value in places if number in twice] if twice else []


# ── what stands elsewhere in the document ──


@dataclass(slots=True)
class _Elsewhere:
    """Variants and metrics that the text states once for all tables."""

    variants: dict[str, tuple[str, str]] = field(default_factory=dict)
    has_named_sizes: bool = False
    metrics: dict[str, tuple[str, str]] = field(default_factory=dict)
    ways: frozenset[tuple[str, ...]] = frozenset()
    aside: str = ""  # the metric in parentheses behind another one: `in the format of Rank-1 (mAP)`


def _stated_elsewhere(document: Document) -> _Elsewhere:
    found = _Elsewhere()
    labels = {clean_label(cell.text) for table in document.tables for row in table.rows for cell in row.cells[:2]}
    labels |= {clean_label(label) for table in document.tables for header in table.headers for label in header}
    found.has_named_sizes = has_named_sizes(labels)
    known: dict[str, set[str]] = {}
    for label in labels:
        name = benchmark_name(label) if label else None
        if name and name.is_known:
            known.setdefault(name.key, set()).add(name.name)
    forms = {match.groups() for line in document.lines if "format" in line for match in _FORM.finditer(line)}
    asides = {aside for first, aside in forms if is_metric(first) and is_metric(aside)}
    found.aside = asides.pop() if len(asides) == 1 else ""
    windows = defaultdict(set)
    if known:
        names = {name for group in known.values() for name in group}
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))}){_WINDOW}")
        for sentence in document.sentences:
            if any(char.isdigit() for char in sentence.text):
                for match in pattern.finditer(sentence.text):
                    windows[benchmark_name(match[1]).key].add((match[2].replace(" ", ""), sentence.line))
    for key, seen in windows.items():
        texts = {text for text, _ in seen}
        if len(texts) == 1 and not re.fullmatch(r"(?:19|20)\d\d", next(iter(texts))):
            text, line = min(seen, key=lambda item: item[1])
            found.variants[key] = (text, f"line {line} names {text}")
    for note in document.notes:
        metric = metric_in(note.text)
        if note.mark and metric:
            for key in _marked_benchmarks(document, note.mark):
                found.metrics[key] = (metric, f"the footnote at line {note.line} says {metric}")
    return found


def _marked_benchmarks(document: Document, mark: str) -> set[str]:
    raised = mark.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    sign = rf"(?:\^\{{?{re.escape(mark)}\}}?|{re.escape(raised)}|\[\^{re.escape(mark)}\])(?!\d)"
    pattern = re.compile(rf"([A-Za-z][\w+.-]*)\s*(?:\([^()]*\))?\s*{sign}")
    found = set()
    for line in document.lines:
        if line.isascii() and "^" not in line:
            continue
        for match in pattern.finditer(repair(line)):
            name = benchmark_name(match[1])
            if name.is_known:
                found.add(name.key)
    return found


class _Context:
    """What caption, headings, notes and the rest of the document say about a table's numbers."""

    def __init__(self, document: Document, table: Table, layout: Layout, extra: _Elsewhere) -> None:
        self.document, self.table, self.layout, self.extra = document, table, layout, extra
        self.tuning, self.tuning_reason = _tuning(table)
        self.tuned_names = _tuned_names(table.caption)
        self.notes = " ".join(note.text for note in table.notes)
        self.language = (_LANGUAGE.search(table.caption) or [""])[0]
        self.corner = corner_of(table, layout.names)
        # Categories of one set; over several columns of labels the word is about the groups of what is named there.
        self.is_of_categories = is_role("categories", self.corner) and layout.first == 1
        self.caption_benchmark = _caption_benchmark(table, layout, (table.caption,))
        self.about_benchmark = self.caption_benchmark or _caption_benchmark(table, layout, table.headings[-1:])
        self.topic = self.about_benchmark or _said_set(table) or _topic(table)
        self.is_of_topic = self.topic is not None and layout.models_in == "rows" and _measures(layout) in extra.ways
        self.names = frozenset(
            {label for path in layout.paths for label in path}
            | {clean_label(row.cells[layout.names].text) for row in table.rows if len(row.cells) > layout.names}
        )
        self.special = SPECIAL_AVERAGE.search(f"{table.caption} {self.notes}")
        # A corner that names a benchmark says what all was measured on; the columns are then ways in which (`AIME |
        # DAPO | VAPO`).
        is_of_corner = layout.models_in == "rows" and is_known(self.corner)
        self.of_corner = is_of_corner and not any(is_known(path[-1]) for path in layout.paths[layout.first :] if path)
        self._compositions: dict[str, str] = {}
        # What labels mean, once for all the cells that they stand beside.
        self.models: dict[tuple[str, Tuning, bool], tuple[ModelName | None, str, str]] = {}
        self.benchmarks: dict[tuple[str, ...], tuple[BenchmarkName | None, list[str], tuple[str, ...]]] = {}
        self._parts: dict[tuple[BenchmarkName, str], tuple[BenchmarkName, str]] = {}
        self._columns: dict[int, tuple[str, list[str], list[str]]] = {}
        self._said: dict[int, frozenset[str]] = {}
        self._row_said: dict[tuple[str, ...], frozenset[str]] = {}
        self._settings: dict[tuple[str, str], str] = {}

    def column(self, c: int, path: list[str]) -> tuple[str, list[str], list[str]]:
        """Of the labels over a column: the model's name, what stands above it, and what stands below it."""
        if c not in self._columns:
            self._columns[c] = column_model(path) if path else ("", [], [])
        return self._columns[c]

    def direction(self, c: int, path: list[str], *labels: str) -> Literal["higher", "lower"]:
        """Whether more is better in a column, by the caption, its labels and those of the row."""
        if c not in self._said:
            self._said[c] = said_of(self.table.caption, *path)
        if labels not in self._row_said:
            self._row_said[labels] = said_of(*labels)
        said = self._said[c] | self._row_said[labels]
        return direction_of(said=said) if said else "higher"

    def part(self, benchmark: BenchmarkName, said: str) -> tuple[BenchmarkName, str]:
        """The benchmark of one of several values of a cell that names a metric.

        And the name where that is another word (`EM`).
        """
        if (benchmark, said) not in self._parts:
            metric = metric_name(said)[0]
            variant = "" if "/" in benchmark.variant else benchmark.variant
            rest = "" if metric.lower() == said.lower() else said
            self._parts[benchmark, said] = (benchmark._replace(metric=metric, variant=variant), rest)
        return self._parts[benchmark, said]

    def row_setting(self, label: str, model: str) -> str:
        """What the label of a row adds to the model that it continues."""
        if (label, model) not in self._settings:
            self._settings[label, model] = _row_setting(label, model)
        return self._settings[label, model]

    def model(self, label: str, own: Tuning = "") -> ModelName:
        """The model that a label of this table names; `own` is what a column beside it says of its tuning."""
        name = model_name(label)
        if self.extra.has_named_sizes and name.tuning == "base" and name.parameters is None:
            return model_name(label, is_sized=True)
        if not name.tuning and own:
            return model_name(label, own, "the column beside it says so")
        if not name.tuning and name.key in self.tuned_names:
            return model_name(label, "instruct", "the caption writes it with its suffix")
        return model_name(label, self.tuning, self.tuning_reason) if self.tuning else name

    def composition(self, sheet: Sheet, section: str) -> str:
        """What an average of this table is over, once for each section."""
        if section not in self._compositions:
            self._compositions[section] = _composition(sheet, section)
        return self._compositions[section]


def _tuning(table: Table) -> tuple[Tuning, str]:
    # A heading that is a model's name says nothing of the models that it is compared with.
    headings = [text for text in reversed(table.headings) if not looks_like_model(text)]
    places = [("its caption", table.caption), *((f"the heading {text!r}", text) for text in headings)]
    for where, text in places:
        if re.search(r"(?:-Instruct|-Chat)\W{1,4}(?:or|and|/).{0,30}omitted", text):
            return "instruct", f'{where} says that "-Instruct" or "-Chat" is omitted'
        tuned = re.search(
            (
                r"\binstruct(?:ion[- ]tuned|ed)?\b|-Instruct\b|\bchat models?\b|-Chat\b|\bpost-trained\b|"
                r"\baligned models?\b"
            ),
            text,
            re.IGNORECASE,
        )
        base = re.search(r"\bbase (?:language )?models?\b|\bbase\b|\bpre-?trained models?\b", text, re.IGNORECASE)
        if tuned and not base:
            return "instruct", f"{where} says {tuned.group()!r}"
        if base and not tuned:
            return "base", f"{where} says {base.group()!r}"
    return "", ""


def _tuned_names(caption: str) -> frozenset[str]:
    found = set()
    for word in re.findall(r"[A-Za-z][\w.+-]*-(?:Instruct|Chat|IT)\b", caption):
        found.add(model_name(word).key)
    return frozenset(found)


def _caption_benchmark(table: Table, layout: Layout, texts: tuple[str, ...]) -> BenchmarkName | None:
    """The one known benchmark that a caption or heading names and no label does: what bare labels are of."""
    labels = {benchmark_name(label).key for path in layout.paths for label in path}
    labels |= {
        benchmark_name(clean_label(row.cells[layout.names].text)).key
        for row in table.rows
        if len(row.cells) > layout.names
    }
    for text in texts:
        named: dict[str, BenchmarkName] = {}
        for word in re.findall(r"[A-Z][\w+.-]*\w", text):
            name = benchmark_name(word.strip("_"))
            if name.is_known and not any(name.key in label for label in labels):
                named[name.key] = name
        if named:
            return next(iter(named.values())) if len(named) == 1 else None
    # Where no label is more than a metric, the caption says of what: `Question answering results on FQuAD 1.0`.
    bare = [label for path in layout.paths[layout.first :] for label in path]
    return _said_set(table) if bare and layout.models_in == "rows" and all(map(is_metric, bare)) else None


def _said_set(table: Table) -> BenchmarkName | None:
    """The one set that the caption says was measured on, listed or not: `Question answering results on FQuAD 1.0`."""
    said = list(dict.fromkeys(match["name"] for match in _ON.finditer(table.caption)))
    said = said or [match["name"] for match in _ON_SET.finditer(table.caption)]
    return benchmark_name(said[0]) if len(said) == 1 else None


def _topic(table: Table) -> BenchmarkName | None:
    """The set that the nearest heading names, listed or not: `Reading comprehension: CMRC 2018`."""
    if not table.headings:
        return None
    heading = _NUMBERED.sub("", table.headings[-1].strip(" .:\uff1a*_"))
    name = _BEHIND_COLON.split(heading)[-1].strip(" .:*_")
    if not _TOPIC.fullmatch(name):  # `AFQMC: semantic similarity (Accuracy)`, `Yidu S4K (CCKS 2019)`
        first = _FIRST_NAME.match(heading)
        name = first.group() if first else _REMARK.sub(" ", heading).strip()
    is_name = 2 <= len(name) <= 30 and len(name.split()) <= 3 and _NAME_LIKE.search(name) and shots_of(name)[1] == name
    if not is_name or looks_like_model(name) or role_of(name) != "score" or _ABOUT.search(name):
        return None
    return benchmark_name(name)


_FORM = re.compile(r"([\w@-]+) \(([\w@-]+)\)")
_NUMBERED = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+")
# A heading that says what is done names no set.
_ABOUT = re.compile(
    r"\b(?:analys[ei]s|experiments?|ablations?|comparisons?|effects?|models?|settings?|training|characteristics)\b"
    r"|实验|分析|对比|比较|模型|方法|训练|消融|モデル|実験|手法",
    re.IGNORECASE,
)


# ── one cell ──


def _cell_values(  # noqa: C901, PLR0912, PLR0915 -- one cell, read in one go
    sheet: Sheet, context: _Context, about: _Row, r: int, c: int
) -> Sequence[Value]:
    table, row, layout = sheet.table, sheet.table.rows[r], context.layout
    cell = row.cells[c]
    path = layout.paths[c] if c < len(layout.paths) else [f"column {c + 1}"]
    row_label = sheet.row_labels[r]
    row_role, column_role = sheet.row_roles[r], sheet.column_roles[c] if c < len(layout.paths) else "score"
    role: Role = row_role if row_role != "score" else column_role
    above: list[str] = []
    if layout.models_in == "rows":
        role = row_role if row_role in {"attribute", "delta", "share"} and not about.benchmark else column_role
        model_text, benchmark_path, setting = about.model, path, context.row_setting(row_label, sheet.row_models[r])
        if context.of_corner:
            benchmark_path, setting = [context.corner], " ".join(filter(None, [setting, _setting(" ".join(path))]))
        if about.benchmark:
            benchmark_path = [about.benchmark, *(label for label in path if _setting(label))]
    elif layout.models_in == "columns":
        model_text, above, below = context.column(c, path)
        # What stands above a model groups models ("Ours"); what stands below it says what was done with it.
        done = " ".join(label for label in below if not (label.startswith("(") or shots_of(label)[1] == ""))
        benchmark_path, setting = [row_label], _setting(done)
        about = _with_shots(about, below)
        role = column_role if column_role in {"delta", "share", "attribute"} else row_role
    elif layout.model:
        model_text = layout.model
        benchmark_path, setting = (
            (path, row_label) if layout.benchmarks_in == "columns" else ([row_label], _setting(" ".join(path)))
        )
    else:
        model_text, benchmark_path, setting = "", [row_label, *path], ""
    is_difference = (row_role if sheet.models_in == "rows" else column_role) == "delta"  # `Δ over base` is no model
    has_role = not is_difference and (role not in {"share", "attribute"} or sheet.models_in == "rows")
    known = (model_text, about.tuning, has_role)
    if known not in context.models:
        context.models[known] = _model(context, model_text, about.tuning, has_role=has_role)
    model, added, remark = context.models[known]
    if sheet.models_in == "columns" and model is not None and column_role == "share":
        model = None
    if layout.nothing or c < layout.first:
        model = None
    if len(cell.parts) > 1:
        benchmark_path = [_without_parts(label, cell.parts[-1].place + 1) for label in benchmark_path]
    place = (*benchmark_path, "", row.section, about.metric, about.shots)
    if place not in context.benchmarks:
        found, groups, guessed = _benchmark(sheet, context, benchmark_path, row.section, about)
        context.benchmarks[place] = (found, groups, tuple(guessed))
    benchmark, group, guesses = context.benchmarks[place]
    if layout.model and not layout.models_in:
        guesses = (*guesses, layout.model_reason)
    labels = [*path, about.benchmark] if layout.models_in != "columns" else [row_label]
    names = _part_settings(context, added, labels, cell) if len(cell.parts) > 1 else []
    if remark or about.setting:
        setting = " ".join(filter(None, (setting, remark, about.setting)))
    beside = ", ".join([*above, *group] if layout.models_in == "columns" else group) if above or group else ""
    direction = context.direction(c, path, row_label, about.metric)
    column_label = sheet.column_labels[c] if c < len(layout.paths) else f"column {c + 1}"
    is_private = sheet.is_private or context.is_of_categories
    shots = about.shots or (benchmark.shots if benchmark else "")
    values = []
    for k, part in enumerate(cell.parts):
        if part.number is None:
            continue
        own, said = benchmark, _part_setting(cell, part, names) if names or part.is_aside else ""
        if own is not None and part.is_aside and not own.metric and context.extra.aside:
            own, said = own._replace(metric=context.extra.aside), ""
        if said and own is not None and not part.is_aside and metric_in(said) and not metric_name(said)[1]:
            own, said = context.part(own, said)
        if own is not None and part.number.unit.startswith("/"):
            own = own._replace(metric="correct", n=None, has_scale=False)  # `197/200` counts what was right
        values.append(
            Value(
                document=sheet.document.name,
                table=table,
                row=r,
                column=c,
                part=k,
                is_part=len(cell.parts) > 1,
                printed=part.number,
                bold=part.bold,
                underlined=part.underlined,
                line=cell.line,
                row_label=row_label,
                column_label=column_label,
                role="attribute" if part.number.is_attribute else role,
                model=model,
                benchmark=own,
                setting=" ".join(filter(None, (setting, said))),
                shots=shots,
                beside=beside,
                direction=direction,
                is_private=is_private,
                is_firm=len(row.cells) == table.width,
                assumed=guesses,
            )
        )
    return tuple(values)


def _with_shots(about: _Row, labels: list[str]) -> _Row:
    for label in labels:
        shots, rest = shots_of(label)
        if shots and not rest:
            return _Row(about.model, about.tuning, about.benchmark, shots, about.metric, about.setting)
    return about


def _setting(text: str) -> str:
    shown = " ".join(text.split())
    return "" if shown.lower() in _DEFAULT_SETTINGS or is_role("delta", shown) else shown


def _row_setting(label: str, model: str) -> str:
    rest = label.removeprefix(model)
    rest = re.sub(r"\s*\+\s*", "+", " ".join(rest.split()))
    rest = re.sub(r"^w/o\b", "without", rest)
    return _setting(re.sub(r"^w/(?=\s|\w)", "with", rest))


_REMARK = re.compile(r"\s*[(\[\uff08](?P<remark>[^()\[\]\uff08\uff09]*)[)\]\uff09]\s*")
_VERSION_REMARK = re.compile(r"[\d.\-/ ]+|v\d[\d.]*|(?:\d+x)?\d+(?:\.\d+)?\s?[BbM]|\d{2,4}[-.]\d{2}(?:[-.]\d{2})?")


def _model(context: _Context, label: str, tuning: Tuning, *, has_role: bool) -> tuple[ModelName | None, str, str]:
    """The model of a label, what the label adds to it (`+ YARN + DCA`), and the remark in its parenthesis (`BF16`)."""
    label = model_label(label)
    if not label or not has_role:
        return None, "", ""
    remarks = [match["remark"].strip() for match in _REMARK.finditer(label)]
    kept = [
        remark for remark in remarks if not _VERSION_REMARK.fullmatch(remark) and not model_name("x " + remark).tuning
    ]
    if kept:
        bare = _REMARK.sub(lambda m: " " if m["remark"].strip() in kept else m.group(), label).strip()
        label, remarks = (bare, kept) if bare else (label, [])
    else:
        remarks = []
    words = label.split()
    while len(words) > 1 and is_setting(words[-1]):
        remarks.append(words.pop())
        label = " ".join(words)
    pieces = _ADDED.split(label, maxsplit=1)
    if len(pieces) == 2 and pieces[0] in context.names and looks_like_model(pieces[0]):
        return context.model(pieces[0], tuning), re.sub(r"\s*\+\s*", "+", pieces[1]), " ".join(remarks)
    name = context.model(label, tuning)
    if not looks_like_model(label):
        name = name._replace(guesses=(*name.guesses, f"{label!r} is read as a model by its place in the table"))
    return name, "", " ".join(remarks)


def _part_setting(cell: Cell, part: Part, names: list[str]) -> str:
    """What tells a value from the others of its cell."""
    name = part.name or (names[part.place] if cell.parts[-1].place and part.place < len(names) else "")
    return " ".join(filter(None, [name, "in parentheses" if part.is_aside else ""]))


@functools.lru_cache(maxsize=1 << 12)
def _names_of_parts(label: str) -> tuple[str, tuple[str, ...]]:
    """A label without what says what the values of a cell are, and that.

    It stands in parentheses (`MMSU (Reasoning / Overall)`) or behind the name (`LibriSpeech test-clean | test-other`).
    """
    inside = _IN_PARENTHESES.search(label)
    pieces = (*filter(None, BETWEEN_VALUES.split((inside[1] if inside else label).strip())),)
    words, length = pieces[0].split() if pieces else [], len(pieces[-1].split()) if pieces else 0
    if inside or len(pieces) < 2 or len(words) <= length:
        return _IN_PARENTHESES.sub("", label) if inside else "", pieces
    return " ".join(words[:-length]), (" ".join(words[-length:]), *pieces[1:])


def _without_parts(label: str, count: int) -> str:
    name, parts = _names_of_parts(label)
    return name if name and len(parts) == count else label


def _part_settings(context: _Context, added: str, labels: list[str], cell: Cell) -> list[str]:
    """What the values of a cell mean: by its label (`EM / F1`), a note ("x is … and y is …"), else by their order."""
    count = cell.parts[-1].place + 1
    for label in reversed(labels):
        if count > 1 and len(named := _names_of_parts(label)[1]) == count:
            return [*named]
    stated = _TWO_VALUES.search(f"{context.table.caption} {context.notes}")
    if stated and stated["first"]:
        return [_keep_from_with(stated["first"]), _keep_from_with(stated["second"])]
    if stated and stated["a"]:
        return [stated["a"].strip(), stated["b"].strip()]
    return [f"without {added}", f"with {added}"] if added else ["first of two", "second of two", "third", "fourth"]


def _keep_from_with(text: str) -> str:
    match = re.search(r"\bwith(?:out)?\b.*", text)
    return (match.group() if match else text).strip()


def _benchmark(  # noqa: C901, PLR0911, PLR0912 -- one branch and return a kind of label, in the order in which they are tried
    sheet: Sheet, context: _Context, path: list[str], section: str, about: _Row
) -> tuple[BenchmarkName | None, list[str], list[str]]:
    """The benchmark of a row or column, the groups above it, and what was assumed."""
    labels = [label for label in path if label]
    if not labels:
        return None, [], []
    group = benchmark_name(section) if section else None
    text = " ".join(labels)
    if group and (group.is_group or (sheet.models_in == "rows" and group.is_known)):
        return group._replace(variant=text, n=None), [], []
    name, above = _benchmark_of(labels, context.layout)
    if about.metric and not name.metric:
        name = name._replace(metric=about.metric)
    if about.shots and not name.shots:
        name = name._replace(shots=about.shots)
    guesses: list[str] = []
    known = context.caption_benchmark
    if not name.is_known and known and (is_length(text) or role_of(text) == "aggregate" or not name.key):
        guesses.append(f"{text!r} is of {known.name}, the benchmark that the caption names")
        if not name.key:  # the label is nothing but a metric or shots
            return known._replace(metric=name.metric or known.metric, shots=name.shots or known.shots), above, guesses
        return known._replace(variant=text, n=None), above, guesses
    if context.topic and context.is_of_topic:
        way, metric = metric_name(text)[1], name.metric or metric_in(text)
        return context.topic._replace(variant=way, metric=metric, n=None), above, guesses
    if context.topic and (is_split(text) or (is_split(labels[0]) and not any(map(is_known, labels)))):
        return context.topic._replace(variant=text, n=None), above, [f"{text!r} is a part of what the heading names"]
    known = context.about_benchmark if name.key else context.topic
    if not name.key and known:
        return known._replace(metric=name.metric or known.metric, shots=name.shots or known.shots), above, guesses
    if known and (not name.is_known or role_of(text) == "aggregate"):
        above = [*above, f"of {known.name}"]
    if not name.key:  # nothing but a metric, and nothing says of what: "PPL"
        text = without_how_printed(text)
        return name._replace(key=benchmark_key(text), name=text), above, guesses
    if role_of(text) == "aggregate" or (role_of(labels[-1]) == "aggregate" and not name.is_known):
        is_special = SPECIAL_AVERAGE.search(text) or context.special
        weight = f"{is_special.group().lower()}, " if is_special else ""
        over = (
            f"{known.name}: " * bool(known) + context.composition(sheet, section)
            if known
            else context.composition(sheet, section)
        )
        return name._replace(key="average", variant=f"{weight}of {over}" if over else ""), above, guesses
    if sheet.is_private:
        label = f"in-house {context.language}".strip()
        return (
            name._replace(key=f"{label.lower()}:{name.key}", name=f"{label}: {text}", n=None, is_known=False),
            [],
            guesses,
        )
    if context.is_of_categories and sheet.models_in == "columns":
        return name._replace(name=f"{context.corner}: {text}"), above, guesses
    if name.is_known:
        name, more = _complete_name(name, context.extra)
        guesses += [*name.guesses, *more]
    elif known and not name.is_known and name.key:
        name = name._replace(key=f"{known.key}:{name.key}")
    elif not name.is_known and name.key:
        guesses.append(f"{name.name!r} is read as a benchmark by its place in the table")
    return name, above, guesses


def _benchmark_of(labels: list[str], layout: Layout) -> tuple[BenchmarkName, list[str]]:
    """The benchmark that labels above one another name, and those above it that only group benchmarks."""
    if len(labels) == 1 or is_known(" ".join(labels)):
        return benchmark_name(" ".join(labels)), []
    at = next((i for i in range(len(labels) - 1, -1, -1) if is_known(labels[i])), None)
    if at is not None:
        return benchmark_name(" ".join(labels[at:])), labels[:at]
    shots, last = shots_of(labels[-1])
    if shots and not last:
        name, above = _benchmark_of(labels[:-1], layout)
        return name._replace(shots=shots), above
    if labels[-1] in layout.grouped or (layout.grouped and role_of(labels[-1]) == "aggregate"):
        return benchmark_name(labels[-1]), labels[:-1]
    head, rest = benchmark_name(labels[0]), " ".join(labels[1:])
    metric, more = metric_name(rest)
    if more or not metric_in(rest):
        return head._replace(variant=" ".join(filter(None, [head.variant, rest])), metric=metric_in(rest), n=None), []
    return head._replace(metric=metric), []


def _composition(sheet: Sheet, section: str) -> str:
    """What an average is over: averages of different sets are different measures."""
    if sheet.models_in == "rows":
        places = zip(sheet.column_labels[sheet.first_column :], sheet.column_roles[sheet.first_column :], strict=True)
    else:
        sections = [row.section for row in sheet.table.rows]
        chosen = [index for index, found in enumerate(sections) if found == section]
        places = ((sheet.row_labels[index], sheet.row_roles[index]) for index in chosen)  # type: ignore[assignment]
    return ", ".join(sorted(benchmark_name(label).key for label, role in places if role == "score"))


def _complete_name(name: BenchmarkName, extra: _Elsewhere) -> tuple[BenchmarkName, list[str]]:
    guesses = []
    if not name.variant and name.key in extra.variants:
        variant, reason = extra.variants[name.key]
        name = name._replace(variant=variant, n=None)
        guesses.append(f"{name.name} is taken as its version {variant}: {reason}")
    if not name.metric and name.key in extra.metrics and not name.variant:
        metric, reason = extra.metrics[name.key]
        name = name._replace(metric=metric)
        guesses.append(f"{name.name} is taken as {metric}: {reason}")
    return name, guesses


@functools.cache
def stem(document: str) -> str:
    """A document's name without its extension, for short ids."""
    head, dot, tail = document.rpartition(".")
    return head if dot and len(tail) <= 5 else document
