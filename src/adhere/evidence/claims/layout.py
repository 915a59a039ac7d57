"""Find what the rows and columns of a table are.

That is: the axis that holds models, the columns that only label rows, and how names are completed. A table's own words
decide first (a corner that says "Model" or "Benchmark"), then what its labels read like, then their place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from adhere.evidence.claims.axis import (
    BARE_SIZE,
    NOWHERE,
    PAIR,
    Labels,
    Orientation,
    are_classes,
    axis_elsewhere,
    axis_in_most,
    axis_of_models,
    share,
)
from adhere.evidence.claims.names import (
    REMARK,
    Kind,
    benchmark_name,
    clean_label,
    is_attribute,
    is_known,
    is_metric,
    is_part,
    is_role,
    is_setting,
    is_value,
    label_kind,
    looks_like_model,
    metric_in,
    metric_name,
    model_name,
    role_of,
    shots_of,
    without_how_printed,
    without_pictures,
)
from adhere.evidence.claims.printed import CROSSES, SCALES, TICKS, is_absent, number_of
from adhere.evidence.read.document import Correction, Table

LabelKind = Kind | Literal["names", "tuning", ""]
_SIZE_PIECE = re.compile(
    r"(?:~|≈)?\s*(?:\d+x)?\d+(?:\.\d+)?\s?[BbM](?:[-\s]?(?:A\d+(?:\.\d+)?B|instruct|inst\.?|chat|base|it))*|"
    r"instruct|chat|base|it",
    re.IGNORECASE,
)
_VERSION_PIECE = re.compile(r"(?:[vVrR]\d[\w.]*|\.[a-z]\w*)(?:[ -].*)?")
_SHOT_CELL = re.compile(
    r"\d{1,2}(?:\s?-\s?\d{1,2})?|\d+(?:-\d+)?[- ]shots?(?:.{0,20})|zero[- ]shot|few[- ]shot|-|–|—|", re.IGNORECASE
)
_DATE = re.compile(r"(?:19|20)\d\d[-/.]\d{1,2}(?:[-/.]\d{1,2})?")
_MODEL_WORD = re.compile(r"\b(?:models?|模型)\b|模型", re.IGNORECASE)


@dataclass(slots=True)
class Layout:
    """Describes how a table is laid out: which columns hold labels, and on which axis models stand.

    The first `first` columns hold labels; `kinds[c]` says what those of column c are ("names" for the column `names`,
    which names the row). `paths` are the labels over each column. `model` is the one model that a table without models
    on either axis is about, by its corner, caption or heading (`model_reason`); its rows are then settings of that
    model, or benchmarks, as `benchmarks_in` says. `nothing` says why a table makes no claims. `grouped` are labels of
    the header that those above them only group.
    """

    models_in: Orientation
    first: int
    names: int
    kinds: list[LabelKind]
    paths: list[list[str]]
    model: str = ""
    model_reason: str = ""
    benchmarks_in: Orientation = ""
    nothing: str = ""
    grouped: frozenset[str] = frozenset()


def layout_of(table: Table, elsewhere: Labels = NOWHERE, apart: str = "", *, is_last: bool = False) -> Layout:
    """Find how a table is laid out; never fails, but may find that the table makes no claims.

    `apart` is the name by which the caption differs from that of a table with the same labels. `is_last` says that
    other tables have told what they can: what is still unknown is then laid out as in most tables.
    """
    paths = _labels_over(table)
    first, name_column = _first_data_column(table, paths), None
    if correction := table.correction:
        _bring_names_to_front(table, correction, first)
        paths = _labels_over(table)
        first = min([_first_data_column(table, paths), *(c for c in table.columns_called(*correction.scores) if c)])
        name_column = next(iter(table.columns_called(correction.names)), None) if correction.names else None
    names, kinds = _label_columns(table, paths, first, name_column)
    layout = Layout("", first, names, kinds, paths, grouped=_labels_in_groups(paths[first:]))
    are_methods = _lift_methods(paths[first:])
    is_named = _find_models(table, layout, elsewhere, apart, are_methods=are_methods, is_last=is_last)
    if correction and correction.says_who:
        layout.nothing = "its correction says that it holds no scores" if correction.models == "none" else ""
    elif not (table.is_ruled or table.caption):
        layout.nothing = "it has neither a caption nor rules, and may be a plot or running text"
    elif is_role("counts", table.caption):
        layout.nothing = "its caption says that it counts or describes something"
    elif layout.models_in == "columns" and {path[-1] for path in paths[first:]} <= elsewhere.sets:
        layout.nothing = "its columns are sets on which other tables measure"
    elif layout.models_in and _is_about_attributes(table, layout):
        layout.nothing = "its rows and columns name attributes of models (size, speed, training), no benchmark"
    if is_named and layout.models_in == "columns":
        _complete_sizes(table, layout)
        _complete_from_row(table, layout)
        if not are_methods:
            _join_names(layout)
    return layout


def _bring_names_to_front(table: Table, correction: Correction, first: int) -> None:
    """Make the column of names that a correction gives the first one, if numbers stand before it."""
    name_column = next(iter(table.columns_called(correction.names)), 0) if correction.names else 0
    if name_column >= first or any(2 * len(_numbers_in(table, c)) > len(table.rows) for c in range(name_column)):
        table.bring_to_front(name_column)


def _numbers_in(table: Table, column: int) -> list[str]:
    return [text for text in _column(table, column) if number_of(text)]


def _labels_over(table: Table) -> list[list[str]]:
    """Return the labels over each column, upper ones first but measures last, without a title over all columns."""
    paths = [_path([row[c] for row in table.headers]) for c in range(table.width)]
    spread = {tuple(path[:-1]) for path in paths if len(path) > 1 and is_role("spread", path[-1])}
    # A mean beside its deviation is over runs or raters, not over the other columns: it is what stands above it.
    paths = [
        path[:-1] if is_role("aggregate", path[-1]) and tuple(path[:-1]) in spread else path
        for path in (path or [""] for path in paths)
    ]
    _spell_out(paths)
    for path in paths:
        if (match := _MEASURES_FIRST.fullmatch(path[-1])) and is_metric(match["measures"]):
            path[-1:] = [match["rest"], match["measures"]]
    _put_measures_last(paths)
    title = paths[0][0]
    if all(len(path) > 1 and path[0] == title for path in paths) and not (_SET.search(title) or is_known(title)):
        for path in paths:
            path.pop(0)  # one text over everything groups nothing
    return paths


_SET = re.compile(r"bench|eval|test|data ?set", re.IGNORECASE)


def _label_columns(
    table: Table, paths: list[list[str]], first: int, name_column: int | None
) -> tuple[int, list[LabelKind]]:
    """Find the column that names the row, and the kind of the labels in each of the `first` columns.

    `name_column` is the column that a correction names; None if there is no correction.
    """
    kinds = [_kind(table, c, paths[c]) for c in range(first)]
    wholes = {tuple(path[:-1]) for path in paths[first:] if len(path) > 1 and is_metric(path[-1])}
    if len(wholes) > 1 or sum(any(map(is_known, path)) for path in paths[first:]) > 1:
        # What was measured stands over the columns: a `Dataset` beside the rows is what was trained on.
        kinds = ["note" if kind == "benchmarks" and first > 1 else kind for kind in kinds]
    names = _name_column(table, first, kinds) if name_column is None else name_column
    if (
        name_column is None
        and names + 1 < first
        and kinds[names] == "benchmarks"
        and paths[names + 1] == [""]
        and not kinds[names + 1]
    ):
        # `Benchmark` over two columns: groups and benchmarks, or benchmarks and their parts.
        groups, finer = (share(_column(table, c), is_known) for c in (names, names + 1))
        names += finer > groups
    kinds[names] = "names"
    return names, kinds


def _find_models(
    table: Table, layout: Layout, elsewhere: Labels, apart: str, *, are_methods: bool, is_last: bool
) -> bool:
    """Find the axis of models, or the one model that the whole table is about.

    Returns:
        Whether the table's own labels, or those of other tables, say on which axis the models stand.
    """
    correction = table.correction
    if correction and correction.says_who:
        is_of_rows = (
            correction.names
            and not correction.model
            and label_kind(correction.names) not in {"benchmarks", "metric", "categories"}
        )
        axis = correction.models or ("rows" if is_of_rows else "columns")
        layout.models_in = "" if correction.model or axis == "none" else axis
        layout.model, layout.model_reason = correction.model, "its correction names the model"
        layout.benchmarks_in = correction.benchmarks or "rows"
        return bool(layout.models_in)
    corner, data = corner_of(table, layout.names), layout.paths[layout.first :]
    corners = {label for header in table.headers if (label := clean_label(header[layout.names]))}
    if len(corners) > 1 and all(label_kind(label) in {"benchmarks", "metric", "categories"} for label in corners):
        corner = ""  # `Dataset`, `Task`, `Metric` one above the other name the rows of the header
    axes = (data, [label for text in _column(table, layout.names) if (label := clean_label(text))], corner)
    _about_named_model(table, layout, corner, named_in(table.caption, elsewhere.named), elsewhere)
    if not layout.model:
        layout.models_in = (
            "columns"
            if are_methods
            else axis_of_models(*axes, is_grouped=bool(layout.grouped)) or axis_elsewhere(*axes, elsewhere)
        )
        if not layout.models_in and layout.names in ticks_of(table, layout):
            layout.models_in = "rows"  # each row is what it ticks
    if apart and not (layout.models_in or layout.model):
        _about_named_model(table, layout, corner, [apart], elsewhere)
    if layout.models_in or layout.model:
        return bool(layout.models_in)
    _about_one_model(table, layout, corner)
    measure_share = share(data, lambda path: is_metric(path[-1]))
    has_set = any(map(PAIR.search, table.headings[-1:]))
    if not layout.model and measure_share > 0.5 and label_kind(corner) == "shots" and has_set:
        layout.models_in, layout.nothing = "rows", ""  # `Setting` over what was tried, below `en → de`
    elif is_last and not (layout.model or layout.models_in or layout.nothing):
        layout.models_in = axis_in_most(table, *axes)
    return False


def _spell_out(paths: list[list[str]]) -> None:
    """Spell out `P`, `R` and `Support` where they stand with `F1`; alone they may mean anything."""
    labels = {label for path in paths for label in path}
    if any(metric_in(label) == "F1" for label in labels) and any(_SHORT.get(label) == "Precision" for label in labels):
        for path in paths:
            path[:] = [_SHORT.get(label, label) for label in path]


_MEASURES_FIRST = re.compile(r"(?P<measures>[\w@-]+ ?/ ?[\w@-]+) (?P<rest>[^\W\d].+)")  # `EM/F1 with augmentation`
_SHORT = {
    **dict.fromkeys(("P", "Prec", "Prec.", "Precision", "precision"), "Precision"),
    **dict.fromkeys(("R", "Rec", "Rec.", "Recall", "recall"), "Recall"),
    **dict.fromkeys(("Supp", "Supp.", "Support", "support"), "Samples"),
}


def _put_measures_last(paths: list[list[str]]) -> None:
    """Reverse each `F1` over `Physio set`, if the set stands below several measures."""
    over: dict[str, set[str]] = {}
    for path in paths:
        if len(path) == 2 and is_metric(path[0]) and not is_part(path[1]):
            over.setdefault(path[1], set()).add(path[0])
    for path in paths:
        if len(path) == 2 and len(over.get(path[1], ())) > 1:
            path.reverse()


def _lift_methods(data: list[list[str]]) -> bool:
    """Move methods to the end of the labels if groups are named after them; tell whether they are.

    The parts of one group (`Acc.` over A and B) then begin the names of all other groups (`A harm`, `B harm`). The rest
    of such a name is what was measured of the method.
    """
    groups: dict[str, list[str]] = {}
    for path in data:
        groups.setdefault(path[0], []).append(path[-1])
    for group, methods in groups.items():
        of = {
            other: method for other in groups if other != group for method in methods if other.startswith(method + " ")
        }
        if len(of) == len(groups) - 1 == len({*of.values()}) == len(methods) > 1:
            for path in data:
                if method := of.get(path[0], ""):
                    path[:] = [f"{REMARK.sub(' ', path[0].removeprefix(method)).strip()} {path[-1]}", method]
            return True
    return False


def _labels_in_groups(paths: list[list[str]]) -> frozenset[str]:
    """Return the labels that the labels above them only group (`Reasoning` over MMLU and GPQA).

    Other labels are parts of the one above them. Parts are repeated below several labels (`F1` and `Score` of every
    set); a grouped label is named once.
    """
    below: dict[str, set[tuple[str, ...]]] = {}
    for path in paths:
        if len(path) > 1 and not is_part(path[-1]):
            below.setdefault(path[-1], set()).add(tuple(path[:-1]))
    once = frozenset(label for label, above in below.items() if len(above) == 1)
    scores = [label for label in below if role_of(label) == "score"]
    # One alone is what is left of parts of whose names the others are said (`w subs` beside `w/o subs`).
    return once if sum(label in once for label in scores) > max(1, len(scores) / 2) else frozenset()


def _path(texts: list[str]) -> list[str]:
    path: list[str] = []
    for text in texts:
        label = clean_label(text)
        if path and label[:1].isalpha() and _BROKEN.search(path[-1]):
            path[-1] = path[-1][: -1 if label[0].islower() else None] + label  # `Counter-` over `factual`
        elif label and label not in path and not is_absent(label):
            path.append(label)
    # `Metrics` over `Pass@1` names nothing.
    return path if len(path) < 2 else [label for label in path[:-1] if label_kind(label) != "metric"] + path[-1:]


_BROKEN = re.compile(r"[a-z]{3}-$")


def _column(table: Table, column: int) -> list[str]:
    return [row.cells[column].text for row in table.rows if len(row.cells) > column]


def _first_data_column(table: Table, paths: list[list[str]]) -> int:
    """Return the first column of scores; columns before it name or group the row, or state shots, metric or size."""
    for column in range(1, table.width):
        if not _is_label_column(table, column, paths[column]):
            return column
    return 1


def _is_label_column(table: Table, column: int, path: list[str]) -> bool:
    cells = [row.cells[column] for row in table.rows if len(row.cells) > column and row.cells[column].text.strip()]
    filled = [cell for cell in cells if not is_absent(cell.text)]
    kind = _head_kind(path)
    numbers = sum(any(part.number and part.number.unit not in SCALES for part in cell.parts) for cell in filled)
    if kind == "shots" and all(_SHOT_CELL.fullmatch(clean_label(cell.text)) for cell in cells):
        return True
    if kind in {"size", "attribute", "note"} and filled:
        # Only where scores follow: a table of nothing but attributes has no label columns but its names.
        return any(
            not is_attribute(" ".join(_path([row[c] for row in table.headers]))) for c in range(column + 1, table.width)
        )
    if not filled:
        # A column of blanks or dashes: a label only if nothing says that it is a model or benchmark.
        return not path or bool(kind)
    return numbers <= 0.3 * len(filled) or _tells_rows_apart(table, column)


def _tells_rows_apart(table: Table, column: int) -> bool:
    """Tell whether a column's whole numbers only distinguish rows with the same labels: `full | 512`, `full | 1024`.

    Scores may be whole numbers, too, but then the same numbers do not return below every label, each once.
    """
    labels: list[str] = [""] * column
    before: list[tuple[str, ...]] = []
    numbers: list[float] = []
    for row in table.rows:
        if len(row.cells) <= column:
            return False
        cell = row.cells[column].number
        if cell is None or cell.decimals or cell.unit:
            return False
        labels = [clean_label(own.text) or above for own, above in zip(row.cells, labels, strict=False)]
        before.append(tuple(labels))
        numbers.append(cell.value)
    return (
        len(set(numbers)) > 1
        and 2 * len(set(before)) <= len(before)
        and 2 * len(set(numbers)) <= len(numbers)
        and len(set(zip(before, numbers, strict=True))) == len(numbers)
    )


def _head_kind(path: list[str]) -> Kind | Literal[""]:
    return next(filter(None, map(label_kind, reversed(path))), "")


def _kind(table: Table, column: int, path: list[str]) -> LabelKind:
    kind = _head_kind(path)
    filled = [text for text in map(clean_label, _column(table, column)) if text and not is_absent(text)]
    if filled and kind in {"categories", "", "note", "attribute"}:
        n_tuned = sum(bool(model_name("x " + text).tuning) and len(text) <= 12 for text in filled)
        if 2 * n_tuned > len(filled):
            return "tuning"
    if not kind and filled and all(BARE_SIZE.fullmatch(text) for text in filled):
        return "size"
    if filled and all(_DATE.fullmatch(text) for text in filled):
        return "note"  # whatever stands over it: `Data` is a date in many languages
    return kind


def corner_of(table: Table, names: int) -> str:
    """Return the label over the column of names: that of the lowest header row that has one; empty without any."""
    return next((label for header in reversed(table.headers) if (label := clean_label(header[names]))), "")


def _name_column(table: Table, first: int, kinds: list[LabelKind]) -> int:
    """Choose the column that names the row among the `first` columns; a column of series may stand before it."""
    for kind in ("models", "benchmarks"):
        if kind in kinds:
            return kinds.index(kind)
    free = (
        [c for c in range(first) if kinds[c] in {"", "categories"}]
        or [c for c in range(first) if kinds[c] == "metric"]
        or [c for c in range(first) if kinds[c] != "note" and not any(map(number_of, _column(table, c)))]
        or [0]
    )
    counts = {c: sum(_is_name(clean_label(text)) for text in _column(table, c)) for c in free}
    best = max(free, key=lambda c: counts[c])
    if counts[best]:
        return best
    # Nothing is known: the column that tells most rows apart, the first of equals.
    return max(free, key=lambda c: (len(set(_column(table, c))), -c))


def _is_name(label: str) -> bool:
    return bool(label) and (looks_like_model(label) or is_known(label) or benchmark_name(label).is_known)


def ticks_of(table: Table, layout: Layout) -> dict[int, str]:
    """Return the label columns with nothing but ticks and crosses, with the part of a method that each one names."""
    names_by_column = {}
    for c in range(layout.first):
        marks = {clean_label(row.cells[c].text) for row in table.rows if len(row.cells) > c}
        name = layout.paths[c][-1]
        if name and marks & TICKS and all(mark in TICKS or mark in CROSSES for mark in marks):
            names_by_column[c] = name
    return names_by_column


def _is_about_attributes(table: Table, layout: Layout) -> bool:
    """Tell whether the axis across from the models names nothing but attributes and settings."""
    if layout.models_in == "columns":
        labels = [clean_label(text) for text in _column(table, layout.names)]
    else:
        labels = [path[-1] if path else "" for path in layout.paths[layout.first :]]
    labels = [label for label in labels if label and not is_role("spread", REMARK.sub("", label))]
    if any(is_known(label) for label in labels):
        return False
    corners = [label for header in table.headers if (label := clean_label(header[layout.names]))]
    if any(is_role("parameters", label) for label in corners) or (
        layout.models_in == "columns" and any(map(is_attribute, corners[-1:]))
    ):
        return True
    about = sum(is_setting(label) or role_of(label) in {"attribute", "share"} for label in labels)
    # Among several attributes an unknown label is one, too, unless it names a measure.
    return bool(labels) and (
        about == len(labels) or (about >= 3 and about > len(labels) / 2 and not any(map(metric_in, labels)))
    )


def _about_named_model(table: Table, layout: Layout, corner: str, names: list[str], elsewhere: Labels) -> None:
    """Set the model of a table without models if `names` is one name, which the caption has from other tables.

    Nothing is set if the table's own labels name models.
    """
    labels = [label for path in layout.paths for label in path] + [clean_label(t) for t in _column(table, layout.names)]
    if len(names) != 1 or label_kind(corner) == "models" or any(map(looks_like_model, labels)):
        return
    is_trained_on = re.search(rf"\btrained on (?:[\w-]+ ){{0,3}}{re.escape(names[0])}", table.caption, re.IGNORECASE)
    own = {without_pictures(label).lower() for label in labels}
    if not is_trained_on and own.isdisjoint(map(str.lower, elsewhere.named)):
        layout.model, layout.model_reason = names[0], f"the table names no model; its caption names {names[0]}"
        are_values = all(path and is_value(path[-1]) for path in layout.paths[layout.first :])
        is_of_sets = label_kind(corner) in {"benchmarks", "categories"} or are_values
        layout.benchmarks_in = "rows" if is_of_sets else "columns"


SET_BEHIND = re.compile(
    r"\s*(?:data ?sets?|corp(?:us|ora)|bench\w*|tasks?|test ?sets?|languages?|domains?|(?<=BERT)\W?scores?)\b",
    re.IGNORECASE,
)


def named_in(text: str, names: frozenset[str]) -> list[str]:
    """Return the names that occur in a text; within longer names, and in names of data sets, they do not count."""
    hits: list[str] = []
    lowered = text.lower()
    near = [name for name in names if len(name) > 1 and name.lower() in lowered] if text else []
    for name in sorted(near, key=lambda name: (-len(name), name)):
        match = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE if len(name) > 2 else 0)
        is_there = match and not SET_BEHIND.match(text, match.end())
        if is_there and not any(name in other for other in hits):
            hits.append(name)
    return hits


def _about_one_model(table: Table, layout: Layout, corner: str) -> None:
    """Set the model of a table of benchmarks, if its corner, caption or heading names the one model it is about."""
    data = layout.paths[layout.first :]
    rows = [clean_label(text) for text in _column(table, layout.names)]
    known_columns = _share_of_names([path[-1:] for path in data])
    known_rows = _share_of_names([[label] for label in rows])
    # `Dataset | DER | JER` below `Scores with the x-vector model`, or classes above `macro avg`.
    is_of_sets = label_kind(corner) in {"benchmarks", "categories"} or are_classes(rows)
    is_of_sets = is_of_sets and share(data, lambda path: is_metric(path[-1])) > 0.5
    if max(known_columns, known_rows) < 0.3 and not is_of_sets:
        return
    corner_model = _MODEL_WORD.sub(" ", corner).strip(" :-")
    places = [("the corner of the table", [corner_model] if looks_like_model(corner_model) else [])]
    places += [("its caption", models_in(table.caption)), ("the text above it", models_in(table.lead))]
    if is_of_sets:
        captioned = [_without_kind(match["name"] or match["first"]) for match in _MODEL_SAID.finditer(table.caption)]
        places.append(("its caption", captioned))
    places += [(f"the heading {text!r}", models_in(text)) for text in reversed(table.headings)]
    for where, models in places:
        if len(models) == 1:
            layout.model, layout.model_reason = models[0], f"the table names no model; {where} names {models[0]}"
            layout.benchmarks_in = "columns" if known_columns >= known_rows and not is_of_sets else "rows"
            return
        if models:
            break
    labels = [path[-1] if path else "" for path in data] if known_rows > known_columns else rows
    if (
        max(known_columns, known_rows) >= 0.5
        and not is_of_sets
        and labels
        and not any(is_setting(label) or is_metric(label) or role_of(label) != "score" for label in labels)
    ):
        layout.models_in = "columns" if known_rows > known_columns else "rows"
    else:
        layout.nothing = "it names benchmarks, but no model: neither its labels nor its caption or heading do"


_MODEL_SAID = re.compile(
    r"\b(?:with|of|for|using|from) (?:the |our |an? )?"
    r"(?P<name>[^.,;:]{2,70}?\b(?:model|system|classifier|network|parser|baseline)\b(?: trained on [^.,;:]+)?)|"
    r"\b(?P<first>Baseline) (?:scores|results|performance)\b"
)


def _without_kind(name: str) -> str:
    """Return a model's name without its last word "model", "system" or "network", if the rest reads like a name."""
    bare = re.sub(r" (?:model|system|network)$", "", name)
    return bare if re.fullmatch(r"\S*[A-Z]\S*[A-Z\d]\S*", bare) else name


def _share_of_names(paths: list[list[str]]) -> float:
    """Return the share of paths with a label that names a benchmark.

    Known benchmarks count. If one is known and most labels are written like names (`OLMES`), those count as well.
    """
    n_known = sum(any(map(is_known, path)) for path in paths)
    n_named = sum(any(is_known(label) or _ACRONYM.search(label) for label in path) for path in paths)
    return (n_named if n_known and 2 * n_named > len(paths) else n_known) / max(len(paths), 1)


_ACRONYM = re.compile(r"^[A-Z][A-Za-z-]*[A-Z]")
_NAME_IN_TEXT = re.compile(r"[A-Za-z][\w.+-]*\w(?:[ -](?:\d+(?:\.\d+)?[BbM]?|[A-Z]\d[\w.]*|Instruct|Chat|Base|IT))*")


def models_in(text: str) -> list[str]:
    """Return the models that a caption or heading names, each once."""
    models: dict[str, str] = {}
    for match in _NAME_IN_TEXT.finditer(text):
        label = match.group()
        is_phrase = re.match(r"[a-z]+\s", label)  # `with 1.2M`
        if looks_like_model(label) and any(char.isdigit() for char in label) and not is_phrase:
            models.setdefault(model_name(label).key, label)
    return list(models.values())


def _complete_sizes(table: Table, layout: Layout) -> None:
    """Complete columns called `7B` and `70B` with the one family that the caption or a heading names."""
    data = layout.paths[layout.first :]
    if not data or not all(path and BARE_SIZE.fullmatch(path[-1]) and len(path) == 1 for path in data):
        return
    for text in (table.caption, table.lead, *reversed(table.headings)):
        families = list(dict.fromkeys(re.sub(r"[-\s]?\d+(?:\.\d+)?[BbM]\b.*", "", name) for name in models_in(text)))
        if len(families) == 1:
            for path in data:
                path[-1] = f"{families[0]} {path[-1]}"
            return


def _complete_from_row(table: Table, layout: Layout) -> None:
    """Complete repeated names of columns from a row of sizes that distinguishes them (`Total parameters | 1B | 3B`)."""
    data = layout.paths[layout.first :]
    names = [path[-1] if path else "" for path in data]
    if len(set(names)) == len(names):
        return
    for row in table.rows:
        sizes = [clean_label(cell.text) for cell in row.cells[layout.first :]]
        label = clean_label(row.cells[layout.names].text) if len(row.cells) > layout.names else ""
        is_size = label_kind(label) == "size" and len(sizes) == len(data) and all(map(BARE_SIZE.fullmatch, sizes))
        if is_size and len(set(zip(names, sizes, strict=True))) > len(set(names)):
            for path, size in zip(data, sizes, strict=True):
                if path:
                    path[-1] = f"{path[-1]} {size}"
            return


def _join_names(layout: Layout) -> None:
    """Name columns by all their labels where the lowest ones repeat (`Dictionary` over `Tag`, `Phrases` over `Tag`)."""
    data = layout.paths[layout.first :]
    names = [column_model(path)[0] for path in data]
    has_known_label = any(
        looks_like_model(label) or is_known(label) or is_metric(label) for path in data for label in path
    )
    if not has_known_label and len(set(names)) < len(names) == len({tuple(path) for path in data}):
        for path in data:
            path[:] = path if is_role("delta", path[-1]) else [" ".join(path)]


def column_model(path: list[str]) -> tuple[str, list[str], list[str]]:
    """Split the labels over a column into the model's name, the labels above it, and the labels below it.

    A size or tuning below a family completes its name (`Qwen2.5` over `7B`).
    """
    at = next((i for i in range(len(path)) if looks_like_model(path[i])), None)
    if at is None:
        may_be_model = [
            role_of(label) == "score"
            and label_kind(label) in {"", "models"}
            and not (_is_remark(label) or (is_metric(label) and not all(map(is_metric, path))))
            for label in path
        ]
        at = max((i for i, is_possible in enumerate(may_be_model) if is_possible), default=0)
    below = path[at + 1 :]
    name = path[at]
    if at and _SIZE_PIECE.fullmatch(name):
        at -= 1
        name = f"{path[at]} {name}"  # `Foo` over `7B`
    while below and _VERSION_PIECE.fullmatch(below[0]):
        name = f"{name}{'' if below[0].startswith('.') else ' '}{below[0]}"  # `DeepSeek` over `V2 Base`
        below = below[1:]
    while below and (_SIZE_PIECE.fullmatch(below[0]) or (looks_like_model(below[0]) and not is_setting(below[0]))):
        name = below[0] if looks_like_model(below[0]) and not _SIZE_PIECE.fullmatch(below[0]) else f"{name} {below[0]}"
        below = below[1:]
    metric, bare = metric_name(without_how_printed(name))
    if metric and bare and name != bare and name.startswith(bare):
        return bare, [*path[:at], name.removeprefix(bare).strip()], below  # `Qwen2.5-7B acc.`
    return name, path[:at], below


def _is_remark(label: str) -> bool:
    return (
        is_setting(label)
        or not shots_of(label)[1]
        or is_role("delta", label)
        or label.lower() in {"original", "standard", "score", "results"}
    )
