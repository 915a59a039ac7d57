"""Find the roles of rows and columns, by labels and numbers.

Roles are names, scores, attributes, differences, and parts of a method.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from adhere.evidence.claims.layout import Layout, corner_of, ticks_of
from adhere.evidence.claims.names import (
    Role,
    Tuning,
    clean_label,
    has_arrow,
    is_greek,
    is_known,
    is_metric,
    is_role,
    is_split,
    label_kind,
    looks_like_model,
    metric_in,
    metric_name,
    model_name,
    role_of,
    shots_of,
)
from adhere.evidence.claims.printed import SCALES, TICKS, PrintedNumber, is_absent
from adhere.evidence.read.document import Cell, Row, Table

_CONTINUATION = re.compile(r"^\s*(?:[-+–•↳]|w/o?(?=\s)|with(?:out)?\b|\\quad)\s*\S", re.IGNORECASE)
_WITHOUT = re.compile(r"(?:no|without) \w", re.IGNORECASE)
_AUTHORS = re.compile(r"[A-Z][\w'@-]+(?: (?:et al\.?|and [A-Z][\w'-]+|& [A-Z][\w'-]+))?,? \((?:19|20)\d\d[a-z]?\)")
_BARE_NUMBER = re.compile(r"\d+(?:\.\d+)?%?")
_BILLIONS = re.compile(r"\d+(?:\.\d+)?[Bb]")
_RATING = re.compile(r"elo|rating|score|points|arena|length|等级|评分", re.IGNORECASE)
DEFAULT_SETTINGS = frozenset(
    "original standard default full score scores result results value values performance 得分 分数 结果 性能".split()
)


def first_number(table: Table, layout: Layout) -> int:
    """Return the first column of numbers; unlike the first of scores it may describe a row (`# Examples`).

    Sums may be over such columns.
    """
    first = layout.first
    while first > 1 and first - 1 != layout.names and layout.kinds[first - 1] in {"attribute", "size", "note"}:
        cells = [row.cells[first - 1] for row in table.rows if len(row.cells) >= first]
        if not any(part.number for cell in cells for part in cell.parts):
            break
        first -= 1
    return first


def _numbers(cell: Cell) -> list[PrintedNumber]:
    return [part.number for part in cell.parts if part.number]


def _numbers_below(table: Table, c: int) -> list[PrintedNumber]:
    return [number for row in table.rows for cell in row.cells[c : c + 1] for number in _numbers(cell)]


def row_role(label: str, layout: Layout, row: Row) -> Role:
    """Return the role of the numbers of a row, by its label and numbers."""
    numbers = [number for cell in row.cells[layout.first :] for number in _numbers(cell)]
    if layout.models_in == "rows":
        if (looks_like_model(label) and not is_role("delta", label)) or is_greek(label):
            return "score"
        is_stage = role_of(label) == "attribute" and not is_role("spread", label)
        is_score = is_stage and 2 * sum(number.decimals > 0 for number in numbers) > len(numbers)
        # A stage (`Pretraining`) whose numbers have decimals was measured; `N-shot` says how.
        return "score" if is_score else "attribute" if label_kind(label) == "shots" else role_of(label)
    is_counts = len(numbers) > 1 and 2 * sum(number.unit in SCALES for number in numbers) > len(numbers)
    return "attribute" if layout.models_in == "columns" and is_counts else role_of(label)


def percent_rows(table: Table, layout: Layout) -> list[int]:
    """Return the indexes of rows that alone print percentages: such a row states a saving or a share, no scores.

    A row that a model names, or whose numbers are like those in other rows, prints scores with their sign.
    """
    signs = [{n.unit == "%" for cell in row.cells[layout.first :] for n in _numbers(cell)} for row in table.rows]
    indexes = [r for r, own in enumerate(signs) if own == {True}]
    if 2 * len(indexes) >= len(signs) or any(len(own) > 1 for own in signs):
        return []
    others = [row for r, row in enumerate(table.rows) if r not in indexes]
    return [r for r in indexes if not _is_like_others(table.rows[r], others, layout)]


def _is_like_others(row: Row, others: Sequence[Row], layout: Layout) -> bool:
    """Tell whether a row of percentages is a row of scores, by its name or by its numbers."""
    label = clean_label(row.cells[layout.names].text) if len(row.cells) > layout.names else ""
    if looks_like_model(label) and not is_role("delta", label):
        return True
    if role_of(label) in {"delta", "share"} or any(n.text[:1] in "+-↑↓" for c in row.cells for n in _numbers(c)):
        return False
    for c in range(layout.first, len(row.cells)):
        beside = [n.value for other in others if len(other.cells) > c for n in _numbers(other.cells[c])]
        if beside and not all(0.5 * min(beside) <= n.value <= 1.5 * max(beside) for n in _numbers(row.cells[c])):
            return False
    return True


def column_roles(table: Table, layout: Layout) -> list[Role]:
    """Return the role of the numbers of each column: by a correction, else by labels and numbers."""
    if table.correction and table.correction.scores:
        scores = table.columns_called(*table.correction.scores)
        return [
            ("aggregate" if _column_role(path) == "aggregate" else "score") if c in scores else "attribute"
            for c, path in enumerate(layout.paths)
        ]
    count_columns = _beside_shares(table, layout)
    roles: list[Role] = [
        "attribute" if c < layout.first or c in count_columns or _counts(table, c) else _column_role(path)
        for c, path in enumerate(layout.paths)
    ]
    for tells in (has_arrow, is_share):
        has_sign = [any(tells(row[c]) for row in table.headers) for c in range(len(layout.paths))]
        if 2 * sum(has_sign) <= len(has_sign) - layout.first or layout.models_in != "rows":
            continue
        # Who says of most columns whether more or less is better, or that they are percentages, says it of all
        # measures: the others count or cost something.
        for c, path in enumerate(layout.paths):
            if (
                roles[c] == "score"
                and not has_sign[c]
                and not any(is_known(label) or metric_in(label) for label in path)
            ):
                roles[c] = "attribute"
    labels = [path[-1] for path in layout.paths[layout.first :]]
    if layout.models_in == "rows" and 2 * sum(map(is_metric, labels)) > len(labels):
        for c, path in enumerate(layout.paths):
            if roles[c] == "score" and len(path[-1]) == 1 and not is_metric(path[-1]):
                roles[c] = "attribute"  # beside measures, one letter stands for what was set (`S` beside `F1`)
    if "score" not in roles:
        # "Score" beside no other scores is what the rows score, not a sum of anything.
        for c, path in enumerate(layout.paths):
            if roles[c] == "aggregate" and path and path[-1].lower() in DEFAULT_SETTINGS:
                roles[c] = "score"
    return roles


def _beside_shares(table: Table, layout: Layout) -> frozenset[int]:
    """Return the columns of bare whole numbers next to a column of percentages: they count, unless they name a measure.

    `Runs`, `Passed` and `Accuracy` of each model, in whatever language.
    """
    numbers_by_column = {c: _numbers_below(table, c) for c in range(layout.first, len(layout.paths))}
    columns = {c: numbers for c, numbers in numbers_by_column.items() if len(numbers) > 2}
    if layout.models_in != "rows" or not any(all(n.unit == "%" for n in numbers) for numbers in columns.values()):
        return frozenset()
    bare = (c for c, numbers in columns.items() if all(map(_is_bare, numbers)))
    return frozenset(
        c for c in bare if not any(is_known(x) or metric_in(x) or _RATING.search(x) for x in layout.paths[c])
    )


_SHARE = re.compile(r"\((?:%|/ ?\d+)\)")


def is_share(label: str) -> bool:
    """Tell whether a label says that its numbers are percentages, or parts of a total: `Fluency (%)`, `(/100)`."""
    return bool(_SHARE.search(label))


def _counts(table: Table, c: int) -> bool:
    """Tell whether a column counts tokens, steps, parameters or items.

    Most of its numbers have a scale letter (`275B`), or a split has hundreds of items.
    """
    numbers = _numbers_below(table, c)
    head = clean_label(table.headers[-1][c]) if table.headers and len(table.headers[-1]) > c else ""
    is_set = len(head) == 1 and head.isalpha() and all(map(_is_bare, numbers))  # `N`, `t`
    # `15.898` beside `261`: the point parts thousands.
    has_thousands = {n.decimals for n in numbers} == {0, 3} and all(n.decimals or n.value >= 100 for n in numbers)
    # How many items a split has.
    is_split_size = len(numbers) > 1 and is_split(head) and all(not n.decimals and n.value >= 200 for n in numbers)
    if is_set or has_thousands or is_split_size:
        return True
    if len(numbers) > 2 and all(map(_is_bare, numbers)) and max(number.value for number in numbers) > 1:
        others = _others(table, c)  # whole numbers beside fractions of one are no scores
        if others and all(number.decimals > 1 and number.value <= 1 for number in others):
            return True
    if len(numbers) > 2 and all(map(_is_bare, numbers)) and max(number.value for number in numbers) >= 1000:
        # Whole thousands beside numbers with decimals count something (`N`, `Step`), but for ratings.
        return _prints_decimals(table, c) and not _RATING.search(head)
    if len(numbers) > 2 and len({number.value for number in numbers}) == 1 and _is_bare(numbers[0]):
        return _prints_decimals(table, c)  # one whole number in every row, beside scores: how many items were asked
    return len(numbers) > 1 and 2 * sum(number.unit in SCALES for number in numbers) > len(numbers)


def _is_bare(number: PrintedNumber) -> bool:
    return not (number.decimals or number.unit)


def _others(table: Table, but: int) -> list[PrintedNumber]:
    return [n for row in table.rows for c, cell in enumerate(row.cells) if c != but for n in _numbers(cell)]


def _prints_decimals(table: Table, but: int) -> bool:
    """Tell whether most numbers of the columns other than `but` are no bare whole numbers."""
    others = _others(table, but)
    return 2 * sum(map(_is_bare, others)) < len(others)


def _column_role(path: list[str]) -> Role:
    """Return the role of a column, by its lowest label.

    A label above counts only if it makes all below it differences, shares or averages.
    """
    if not path:
        return "score"
    lowest = role_of(path[-1])
    if lowest != "score" or looks_like_model(path[-1]):
        return lowest
    return next((role for label in path[:-1] if (role := role_of(label)) in {"delta", "share", "aggregate"}), "score")


def row_labels_of(table: Table, layout: Layout) -> tuple[list[str], list[str]]:
    """Return each row's own label, and the model that each row belongs to: `w/o DCA` continues the model above it.

    The models are empty texts unless models stand in rows.
    """
    labels, models = [], []
    current, above, section = "", "", ""
    corner, ticks = corner_of(table, layout.names), ticks_of(table, layout)
    is_scale = bool(corner) and layout.models_in == "rows" and _is_scale(table, layout.names)
    is_scale = is_scale and label_kind(corner) != "models"  # `Model = 20` names none
    are_below = _has_authors_below(table, layout.names)
    names = _names_by_values(table, layout)
    for r, row in enumerate(table.rows):
        texts = [clean_label(cell.text) for cell in row.cells[: layout.first]]
        name = texts[layout.names] if len(texts) > layout.names else ""
        if names:
            name = names[r]
        elif are_below and _AUTHORS.fullmatch(name):
            name = ""
        elif layout.names in ticks:
            name = parts_in_use(row, ticks)
        elif is_scale:
            name = f"{corner} = {name}"  # `0.1` below `λ`
        if is_absent(name) and name:  # a dash names nothing: the row is what stands beside it (`Specialist SOTAs`)
            name = next((text for text in texts if not is_absent(text)), "")
        # `Average` over the groups and the names, an arrow behind it; not `∆`, which says what the row is.
        if not any(map(str.isalnum, name)) and not is_role("delta", name):
            name = next(filter(None, reversed(texts[: layout.names])), "")
        above = name or above
        if layout.models_in == "rows":
            current, section = (row.section if row.section != section else current), row.section
            # `With Context` is the other of `No Context`, and no more of it.
            if name and (not _CONTINUATION.match(row.cells[layout.names].text) or _WITHOUT.match(current)):
                current = name
            models.append(current)
        else:
            models.append("")
        # What stands before the names groups them (a series, "General"); what stands behind says how they were scored.
        labels.append(name or current or (above if any(texts) else ""))
    return labels, models


def _names_by_values(table: Table, layout: Layout) -> list[str]:
    """Return a name for each row if several columns of bare values distinguish the rows: `#Layers 6 Dim 512`; else [].

    A blank repeats the value above it.
    """
    named_columns = [c for c in range(layout.first) if layout.paths[c][-1]]
    columns = {c: [clean_label(text_at(table, r, c)) for r in range(len(table.rows))] for c in named_columns}
    if layout.models_in != "rows" or len(named_columns) < 2 or layout.names not in named_columns:
        return []
    if not all(_VALUE.fullmatch(text) for texts in columns.values() for text in texts):
        return []
    above: dict[int, str] = {}
    names = []
    for r in range(len(table.rows)):
        above |= {c: texts[r] for c, texts in columns.items() if texts[r]}
        names.append(" ".join(f"{layout.paths[c][-1]} {text}" for c, text in sorted(above.items())))
    return names


_VALUE = re.compile(r"|yes|no|true|false|\d[\d.,]*(?:\s?[-\u2013]\s?\d[\d.,]*)?\s?[kKMBT%]?", re.IGNORECASE)


def _has_authors_below(table: Table, c: int) -> bool:
    """Tell whether authors stand in cells below the names that are theirs (`GPT-4.1`, `OpenAI (2025)`)."""
    are = [bool(_AUTHORS.fullmatch(clean_label(text_at(table, r, c)))) for r in range(len(table.rows))]
    return any(are) and not are[0] and not any(above and below for above, below in pairwise(are))


def parts_in_use(row: Row, ticks: dict[int, str]) -> str:
    """Return the parts of a method that a row ticks: `RM + KL`; `w/o RM, w/o KL` if it ticks none."""
    parts = [name for c, name in ticks.items() if len(row.cells) > c and clean_label(row.cells[c].text) in TICKS]
    return " + ".join(parts) if parts else ", ".join(f"w/o {name}" for name in ticks.values())


def _is_scale(table: Table, c: int) -> bool:
    """Tell whether a column of names holds only different numbers: values of what its header names."""
    names = [clean_label(row.cells[c].text) for row in table.rows if len(row.cells) > c]
    return len(names) > 1 and len(set(names)) == len(names) and all(map(_BARE_NUMBER.fullmatch, names))


@dataclass(slots=True)
class AboutRow:
    """Holds the model of a table's row and what its other label columns say; empty where they do not say it.

    `shots` is the number of examples in the prompt.
    """

    model: str = ""
    tuning: Tuning = ""
    benchmark: str = ""
    shots: str = ""
    metric: str = ""
    setting: str = ""


def names_of_sizes(table: Table, layout: Layout, models: Sequence[str]) -> frozenset[str]:
    """Return the names of models that the column of sizes completes.

    Those of several rows (`Llama | 7B`, `Llama | 13B`). All names, if the column has only billions (`Gopher | 280B`)
    and
    contradicts no size in a name: then it counts parameters, which names leave out.
    """
    sizes: dict[str, set[str]] = defaultdict(set)
    for r, model in enumerate(models if "size" in layout.kinds else ()):
        if not is_absent(size := label_above(table, r, layout.kinds.index("size"))):
            sizes[model].add(size)
    sizes_in_names = [(model_name(model).parameters, size) for model, own in sizes.items() for size in own]
    if all(_BILLIONS.fullmatch(size) and own_size in {None, float(size[:-1])} for own_size, size in sizes_in_names):
        return frozenset(filter(None, sizes))
    return frozenset(model for model, own in sizes.items() if model and len(own) > 1)


def about_row(table: Table, layout: Layout, r: int, model: str, sized_models: frozenset[str]) -> AboutRow:
    """Read what the label columns of a row say besides its name."""
    about = AboutRow(model)
    for c, kind in enumerate(layout.kinds):
        if c == layout.names:
            continue
        is_spanned = kind in {"size", "tuning"} or (kind == "benchmarks" and layout.models_in == "rows")
        text = label_above(table, r, c) if is_spanned else clean_label(text_at(table, r, c))
        if not text or is_absent(text):
            continue
        if (
            c == layout.kinds.index(kind)
            and kind == "size"
            and model in sized_models
            and model_name(model).parameters is None
        ):
            is_counted = re.search(r"param|psz|\(b\)|billion", " ".join(layout.paths[c]), re.IGNORECASE)
            about.model = f"{model} {text}{'B' if is_counted and text[-1] not in 'BbM' else ''}"  # not `Size | 50`
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


def text_at(table: Table, r: int, c: int) -> str:
    """Return the text of a cell; empty if the row is shorter."""
    cells = table.rows[r].cells
    return cells[c].text if len(cells) > c else ""


def label_above(table: Table, r: int, c: int) -> str:
    """Return the label of a row, or of the nearest row above that has one: a cell that spans rows is printed once."""
    return next((label for at in range(r, -1, -1) if (label := clean_label(text_at(table, at, c)))), "")
