"""Check what must hold by construction.

Captions that promise no change, benchmarks that contain each other, ends of scales, sizes of models.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from adhere.evidence.checks.checking import Check, Read, Source, as_printed, show_number
from adhere.evidence.claims.names import ceiling_of, is_length, looks_like_model, model_name
from adhere.evidence.claims.printed import EPSILON, PrintedNumber, agree, number_of
from adhere.evidence.claims.values import Sheet, Value

_NO_CHANGE = (
    re.compile(
        r"(?P<what>[\w+& *-]{2,60}?)\*? (?:does|do|did) not (?:change|affect|alter|influence)\b[^.]{0,60}?"
        r"\b(?:within|below|up to|under)\s+(?P<length>\d+)\s*[kK]"
    ),
    re.compile(
        r"\b(?:[Ww]ithin|[Bb]elow|[Uu]p to|[Uu]nder)\s+(?P<length>\d+)\s*[kK](?:\s+tokens)?,?\s+"
        r"(?P<what>[\w+& *-]{2,60}?)\s+"
        r"(?:leaves?\b[^.]{0,40}\bunchanged|(?:does|do|did) not (?:change|affect|alter|influence)|has no "
        r"(?:effect|influence)|changes nothing)"
    ),
    re.compile(
        r"\b(?:[Ww]ithin|[Bb]elow|[Uu]p to|[Uu]nder)\s+(?P<length>\d+)\s*[kK](?:\s+tokens)?\s+(?:are|is|stay|remain)\s+"
        r"(?:the same|identical|equal|unchanged)\s+with (?:and|or) without\s+(?P<what>[\w+& -]{2,60})"
    ),
    re.compile(
        r"(?P<what>[\w+& *-]{2,60}?)\s+(?:is|are)\s+only\s+(?:active|used|applied|enabled)\s+"
        r"(?:beyond|above|over|for more than)\s+"
        r"(?P<length>\d+)\s*[kK]"
    ),
    re.compile(
        r"(?P<what>[\w+& *-]{2,60}?)\s+(?:leaves?\b[^.]{0,40}\bunchanged|has no (?:effect|influence)\b[^.]{0,40}?|"
        r"changes nothing)\s+"
        r"(?:within|below|up to|under)\s+(?P<length>\d+)\s*[kK]"
    ),
)
_SCALE = re.compile(
    r"\b(?:scores?|values?|ratings?|grades?|points?|scale)\b[^.]{0,30}?\b(?:from|between|of)\s+(?P<low>\d+)\s*"
    r"(?:to|and|-)\s*(?P<high>\d+)(?![\d.]*\s*[kKB%\w])",
    re.IGNORECASE,
)
_PERCENTAGES = re.compile(
    r"\b(?:all )?(?:values|scores|numbers|results) (?:are|in) (?:percentages|percent|%)", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z]+")


def invariant_checks(sheet: Sheet) -> list[Check]:
    """Return a check for every invariant that a table's caption, benchmarks or scale imply."""
    return [*_no_change(sheet), *_check_ceilings(sheet), *_loose(sheet), *_scales(sheet), *_sizes(sheet)]


# ── "YARN+DCA does not change the model behavior within 32K tokens" ──


def _no_change(sheet: Sheet) -> list[Check]:
    match = next(filter(None, (pattern.search(sheet.table.caption) for pattern in _NO_CHANGE)), None)
    if not match:
        return []
    words = {word.lower() for word in _WORD.findall(match["what"]) if len(word) > 2}
    limit = float(match["length"]) * 1000
    caption = Source(sheet.document.name, sheet.table.caption_line or sheet.table.line)
    groups: dict[tuple[str, str, str], list[Value]] = defaultdict(list)
    for value in sheet.values():
        if value.model is None or value.benchmark is None or not value.is_firm or value.role != "score":
            continue
        labels = (value.benchmark.variant, *value.column_label.split()[-1:])
        length = next(filter(is_length, labels), "")
        number = number_of(length) if length else None
        if number is None or number.magnitude > limit:
            continue
        setting_words = {word.lower() for word in _WORD.findall(value.setting)}
        if not value.setting or setting_words & words:
            groups[value.model.key, value.benchmark.key, length].append(value)
    return [
        _same_check(values[0], other, match.group().strip(" *."), caption)
        for values in groups.values()
        for other in values[1:]
    ]


def _same_check(first: Value, second: Value, promise: str, caption: Source) -> Check:
    def holds(number_at: Read) -> bool:
        return agree(number_at(first), number_at(second))

    def message(number_at: Read) -> str:
        name = first.model.name if first.model else first.row_label
        return (
            f"{first.table.name}, column {first.column_label!r}: the caption says {promise!r}, "
            f"yet {name} has {show_number(number_at(first))} in row {first.row_label!r} and "
            f"{show_number(number_at(second))} in row {second.row_label!r}"
        )

    return Check("invariant", (first, second), (), holds, message, "error", (caption,))


# ── one benchmark bounds another ──


def _check_ceilings(sheet: Sheet) -> list[Check]:
    scores: dict[tuple[str, str, str], Value] = {}
    for value in sheet.values():
        if value.model and value.benchmark and value.is_firm and value.role == "score" and not value.benchmark.variant:
            scores[value.model.key, value.benchmark.key, value.setting] = value
    checks = []
    for (model, benchmark, setting), value in scores.items():
        above = ceiling_of(benchmark)
        ceiling = scores.get((model, above, setting)) if above else None
        if ceiling is not None:
            checks.append(_bound_check(value, ceiling))
    return checks


def _is_at_most(number: PrintedNumber, limit: PrintedNumber) -> bool:
    return number.value <= limit.value + max(number.half, limit.half) + EPSILON


def _bound_check(value: Value, ceiling: Value) -> Check:
    def holds(number_at: Read) -> bool:
        return _is_at_most(number_at(value), number_at(ceiling))

    def message(number_at: Read) -> str:
        return (
            f"{value.place}: {show_number(number_at(value))} is above {show_number(number_at(ceiling))} in row "
            f"{ceiling.row_label!r}, although {value.row_label} only adds tests to the same problems"
        )

    return Check("invariant", (value, ceiling), (), holds, message, "warning")


def _loose(sheet: Sheet) -> list[Check]:
    """Check that no loose score is below its strict score: loose forgives what strict does not."""
    scores: dict[tuple[str, str, str, str], Value] = {}
    for value in sheet.values():
        if value.model and value.benchmark and value.is_firm and value.role == "score" and value.benchmark.metric:
            scores[value.model.key, value.benchmark.key, value.setting, value.benchmark.metric] = value
    checks = []
    for (model, benchmark, setting, metric), value in scores.items():
        kind, _, level = metric.partition("-")
        loose = scores.get((model, benchmark, setting, f"loose-{level}")) if kind == "strict" else None
        if loose is not None:
            checks.append(_loose_check(value, loose))
    return checks


def _loose_check(strict: Value, loose: Value) -> Check:
    def holds(number_at: Read) -> bool:
        return _is_at_most(number_at(strict), number_at(loose))

    def message(number_at: Read) -> str:
        return (
            f"{loose.place}: {show_number(number_at(loose))} is below the strict score "
            f"{show_number(number_at(strict))} of the same answers (column {strict.column_label!r}, "
            f"row {strict.row_label!r}); loose forgives more, so it cannot be lower"
        )

    return Check("invariant", (loose, strict), (), holds, message)


# ── ends of scales ──


def _scales(sheet: Sheet) -> list[Check]:
    scores = [
        value
        for value in sheet.values()
        if value.is_firm
        and value.role in {"score", "aggregate"}
        and value.printed.unit[:1] not in {"K", "M", "B", "T", "/"}
    ]
    if scale := _stated_scale(sheet):
        caption = Source(sheet.document.name, sheet.table.caption_line or sheet.table.line)
        checks = [_scale_check(value, *scale, "the caption's scale", (caption,)) for value in scores]
        broken_values = (check.values[0] for check in checks if not check.holds(as_printed))
        # One benchmark outside may be a slip. A scale that several break is not the table's, but that of a few rows.
        if len({v.row_label if sheet.models_in == "columns" else v.column_label for v in broken_values}) <= 1:
            return checks
    outside = [
        value
        for value in scores
        # "MMLU Length" is no score on MMLU's scale.
        if value.model
        and value.benchmark
        and value.benchmark.has_scale
        and value.direction != "lower"
        and not value.benchmark.variant
        and (value.printed.value > value.benchmark.top + EPSILON or value.printed.value < 0)
    ]
    # One number may be a slip. Of several in a row or column the line counts something else (`W→R/R→W | 193 | 632`).
    rows, columns = Counter(value.row for value in outside), Counter(value.column for value in outside)
    return [
        _scale_check(value, 0.0, value.benchmark.top, f"the scale of {value.benchmark.name}", ())
        for value in outside
        if value.benchmark and rows[value.row] == columns[value.column] == 1
    ]


def _stated_scale(sheet: Sheet) -> tuple[float, float] | None:
    """Return the ends of the scale that a caption states ("Scores range from 1 to 5"); None if it states none."""
    match = _SCALE.search(sheet.table.caption)
    if match:
        return float(match["low"]), float(match["high"])
    return (0.0, 100.0) if _PERCENTAGES.search(sheet.table.caption) else None


def _scale_check(value: Value, low: float, top: float, scale: str, sources: tuple[Source, ...]) -> Check:
    def holds(number_at: Read) -> bool:
        return low - EPSILON <= number_at(value).value <= top + EPSILON

    def message(number_at: Read) -> str:
        return f"{value.place}: {show_number(number_at(value))} lies outside {scale}, {low:g} to {top:g}"

    return Check("invariant", (value,), (), holds, message, "error", sources)


# ── sizes of models ──


def _sizes(sheet: Sheet) -> list[Check]:
    """Check that active parameters are at most all, and all in a dense model, and that sizes in names agree."""
    if sheet.models_in != "columns":
        return []
    rows = {label.lower(): index for index, label in enumerate(sheet.row_labels)}
    total = next(
        (r for label, r in rows.items() if re.fullmatch(r"(?:#|number of|total)?\s*param(?:eter)?s\.?", label)), None
    )
    active = next((r for label, r in rows.items() if re.search(r"\bact(?:ive|ivated)?\b.*param", label)), None)
    kind = next((r for label, r in rows.items() if label == "architecture"), None)
    checks = []
    for column in range(sheet.first_column, sheet.table.width):
        total_size = sheet.value(total, column) if total is not None else None
        active_size = sheet.value(active, column) if active is not None else None
        cells = sheet.table.rows[kind].cells if kind is not None else ()
        is_dense = len(cells) > column and cells[column].text.strip().lower() == "dense"
        if total_size and active_size:
            checks.append(_active_check(active_size, total_size, is_dense=is_dense))
        label = sheet.column_labels[column]
        if total_size and looks_like_model(label):
            size = model_name(label).parameters
            if size is not None and "x" not in model_name(label).key:
                checks.append(_name_check(total_size, label, size))
    return checks


def _active_check(active_size: Value, total_size: Value, *, is_dense: bool) -> Check:
    def holds(number_at: Read) -> bool:
        a, b = number_at(active_size), number_at(total_size)
        tolerance = EPSILON if is_dense else float("inf")
        return a.magnitude <= b.magnitude + EPSILON and b.magnitude - a.magnitude <= tolerance

    def message(number_at: Read) -> str:
        a, b = (f"{show_number(number)}{number.unit}" for number in (number_at(active_size), number_at(total_size)))
        why = "a dense model uses all of its parameters" if is_dense else "active parameters are part of all parameters"
        return f"{active_size.place}: {a} active of {b} parameters in all, but {why}"

    return Check("invariant", (active_size,), (total_size,), holds, message)


def _name_check(total_size: Value, label: str, size: float) -> Check:
    def holds(number_at: Read) -> bool:
        number = number_at(total_size)
        return abs(number.magnitude / 1e9 - size) <= max(0.05 * size, 0.51) or number.unit not in {"B", "M"}

    def message(number_at: Read) -> str:
        return (
            f"{total_size.place}: {show_number(number_at(total_size))}{number_at(total_size).unit} parameters, "
            f"but the name {label} says {size:g}B"
        )

    return Check("invariant", (total_size,), (), holds, message, "warning")


_SIZED_NAME = re.compile(r"[A-Za-z][\w.]*-(?:\d+x)?\d+(?:\.\d+)?[BM](?:-[\w.]*\w)*")


def absent_models(sheet: Sheet) -> Iterator[str]:
    """Yield a message for each sized model that a caption names and the table lacks.

    Only if exactly one model of the table has the same family and size: then one of the two names is a slip.
    """
    names_by_key = {value.model.key: value.model.name for value in sheet.values() if value.model}
    for name in dict.fromkeys(_SIZED_NAME.findall(sheet.table.caption)):
        model = model_name(name)
        if not looks_like_model(name) or model.key in names_by_key or model.parameters is None:
            continue
        family, _, rest = model.key.partition("-")
        size = rest.rpartition("-")[2]
        alike = [names_by_key[key] for key in names_by_key if key.startswith(f"{family}-") and key.endswith(f"-{size}")]
        if len(alike) == 1:
            yield (
                f"{sheet.table.name}: the caption names {name}, but the table has no such column or "
                f"row; it has {alike[0]}"
            )
