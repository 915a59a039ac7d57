"""Check bold marks against the numbers that they mark.

The rule of a table is inferred: bold may mean "best of the row", "best of its section", "best of each pair of columns",
or what the caption says ("surpassing their comparable-sized counterparts"). A rule is used only where it explains most
of the bold marks; then the marks that break it are findings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from adhere.evidence.checks.checking import Check, Read, Severity, Source, as_printed, show_number
from adhere.evidence.claims.names import ModelName, is_served_only, looks_like_model, model_name
from adhere.evidence.claims.printed import EPSILON, GREY
from adhere.evidence.claims.values import Sheet, Value

LEAST_SUPPORT = 0.6
LEAST_LINES = 3
_COUNTERPARTS = re.compile(
    r"(?:surpass|outperform|exceed|better than|higher than)(?P<whose>.{0,90}?)\bcounterparts?\b.{0,60}?\bbold",
    re.IGNORECASE,
)
_BOLD_STATED = re.compile(r"\bbold", re.IGNORECASE)
_ONLY_OPEN = re.compile(
    r"\bproprietary\b[^.]{0,30}\bexcluded|\b(?:best|among)\b[^.]{0,20}\bopen(?:-weight|-source)?\b", re.IGNORECASE
)
_COMPARED = re.compile(r"(?P<one>[A-Z][\w.+-]*\w) (?:is|are) compared (?:with|to|against) (?P<other>[A-Z][\w.+-]*\w)")
_TIES = re.compile(
    r"\bgaps?\s+(?:of\s+|that (?:is|are)\s+)?(?:not exceeding|at most|within|no more than|not more than|less than|"
    r"below|under|up to|smaller than)\s+(?P<size>\d+(?:\.\d+)?)|"
    r"\bdiffer(?:ences?|ing)?\s+(?:of\s+|by\s+)?(?:not exceeding|at most|within|no more than|less than|"
    r"up to)\s+(?P<other>\d+(?:\.\d+)?)[^.]{0,40}\b(?:same|equal|ties?|tied|comparable)\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\bhumans?\b|\brandom\b|\bchance\b|\boracle\b|人类|人間", re.IGNORECASE)  # no competitors
_NEAR = 2.5


def emphasis_checks(sheet: Sheet) -> list[Check]:
    """Return the checks of a table's bold marks; empty if nothing is bold or no rule explains the marks."""
    if not sheet.models_in or not any(value.bold for values in sheet.cells.values() for value in values):
        return []
    if _COUNTERPARTS.search(sheet.table.caption):
        checks = _counterpart_checks(sheet)
        return checks if _is_supported(checks, LEAST_LINES) else []
    _without_second_marks(sheet)
    if _is_highlight(sheet) and not _BOLD_STATED.search(sheet.table.caption):
        return []
    mark_checks = _marks(sheet, 0.0)
    # The text is searched for a tolerance only where marks fail without one: it is long, and tables are many.
    ties = 0.0 if all(check.holds(as_printed) for check in mark_checks) else _tolerance(sheet)
    mark_checks = _marks(sheet, ties) if ties else mark_checks
    failed = [check for check in mark_checks if not check.holds(as_printed)]
    if len(failed) > 1:
        for check in failed:
            check.severity = "warning"  # a rule that is broken twice may not be the authors' rule
    return mark_checks


def _marks(sheet: Sheet, ties: float) -> list[Check]:
    best: list[Check] = []
    groupings = _groupings(sheet)
    outside = _out_of_competition(groupings[0])
    for all_lines in groupings:
        lines = [[v for v in line if v.model not in outside and not _is_grey(v)] for line in all_lines]
        checks = [_best_check(line, ties) for line in lines if len(line) >= 2 and any(value.bold for value in line)]
        if _is_supported(checks, 2 if _BOLD_STATED.search(sheet.table.caption) else LEAST_LINES) and len(checks) > len(
            best
        ):
            best = checks
    return best


def _is_grey(value: Value) -> bool:
    return value.table.rows[value.row].cells[value.column].text.startswith(GREY)


def _out_of_competition(lines: list[list[Value]]) -> set[ModelName | None]:
    """Return the models that are never bold although they beat bold numbers, such as closed models among open ones.

    A model counts if it does so on two lines or more, or on one line with at least two others.
    """
    marked_models = {value.model for line in lines for value in line if value.bold}
    ahead: Counter[ModelName | None] = Counter()
    together: set[ModelName | None] = set()
    for line in lines:
        sign = -1 if line[0].direction == "lower" else 1
        best = max((sign * value.printed.value for value in line if value.bold), default=float("inf"))
        own = {value.model for value in line if sign * value.printed.value > best} - marked_models
        ahead.update(own)
        together |= own if len(own) > 2 else set()
    return {model for model, count in ahead.items() if count > 1} | together


def _without_second_marks(sheet: Sheet) -> None:
    """Remove the bold of underlined numbers, if only some bold numbers are underlined.

    Both marks together then mean something else (Kimi K2: bold is the best of all, bold and underlined the best of the
    open models).
    """
    bold = [value for value in sheet.values() if value.bold]
    if any(value.underlined for value in bold) and not all(value.underlined for value in bold):
        for value in bold:
            value.bold = not value.underlined


def _tolerance(sheet: Sheet) -> float:
    """Return how far apart numbers are that the text calls equal ("a gap not exceeding 0.3"); 0 if it says nothing."""
    texts = [
        sheet.table.caption,
        *(note.text for note in sheet.table.notes),
        *(s.text for s in sheet.document.sentences if "gap" in s.text or "differ" in s.text),
    ]
    match = next(filter(None, map(_TIES.search, texts)), None)
    return float(match["size"] or match["other"]) if match else 0.0


def _is_highlight(sheet: Sheet) -> bool:
    """Tell whether bold sets one model apart: all of its numbers are bold, and none of another model."""
    scores = [v for v in sheet.values() if v.model and v.role in {"score", "aggregate"}]
    bold = {v.model.key for v in scores if v.bold and v.model}
    return len(bold) == 1 and all(v.bold for v in scores if v.model and v.model.key in bold)


def _is_supported(checks: Sequence[Check], least: int) -> bool:
    hits = sum(check.holds(as_printed) for check in checks)
    return hits >= least and hits >= LEAST_SUPPORT * len(checks)


def _groupings(sheet: Sheet) -> list[list[list[Value]]]:
    """Return five ways to group numbers so that the best of each group may be the bold one.

    The ways: whole lines, lines by section, lines by group of labels, both halves (small models and large ones),
    adjacent pairs.
    """
    groupings: list[dict[object, list[Value]]] = [defaultdict(list) for _ in range(5)]
    half: bool | None
    first, middle = sheet.first_column, (sheet.first_column + sheet.table.width) / 2
    only_open = _ONLY_OPEN.search(sheet.table.caption) is not None
    for (row, column), values in sorted(sheet.cells.items()):
        for value in values:
            if value.model is None or not value.is_firm or value.role not in {"score", "aggregate"}:
                continue
            if _REFERENCE.search(f"{value.model.name} {value.setting}") and not value.bold:
                continue
            if only_open and is_served_only(value.model.key):
                continue
            if value.is_part and all(other.bold for other in values):
                continue  # a mark over a whole cell of several numbers does not say which of them is the best
            benchmark = value.benchmark
            part = (value.part, benchmark.key if benchmark else "", benchmark.variant if benchmark else "")
            if sheet.models_in == "columns":
                line, half, pair, section = row, column >= middle, (column - first) // 2, ""
            else:
                line, half, pair, section = column, None, row // 2, sheet.table.rows[row].section
            for grouping, group in zip(groupings, ("", section, value.beside, half, pair), strict=True):
                if group is not None:  # models in rows have no halves
                    grouping[line, part, group].append(value)
    return [list(grouping.values()) for grouping in groupings]


def _best_check(line: list[Value], ties: float) -> Check:
    bold = tuple(value for value in line if value.bold)
    rest = tuple(value for value in line if not value.bold)
    lower = line[0].direction == "lower"
    sign = -1 if lower else 1

    def better(number_at: Read) -> Value | None:
        """Return the best unmarked number that beats a marked one; None if there is none."""
        worst = min(sign * number_at(value).value for value in bold)
        ahead = [value for value in rest if sign * number_at(value).value > worst + ties + EPSILON]
        return max(ahead, key=lambda value: sign * number_at(value).value) if ahead else None

    def holds(number_at: Read) -> bool:
        values = [number_at(value).value for value in bold]
        return better(number_at) is None and max(values) - min(values) <= ties + EPSILON

    def message(number_at: Read) -> str:
        ahead = better(number_at)
        marked_value = min(bold, key=lambda value: sign * number_at(value).value)
        if ahead is None:
            return f"{marked_value.place}: {len(bold)} different numbers are marked as best"
        word = "lower" if lower else "higher"
        return (
            f"{marked_value.place}: {show_number(number_at(marked_value))} is marked as best, "
            f"but {ahead.column_label if marked_value.row == ahead.row else ahead.row_label} has "
            f"{show_number(number_at(ahead))}, which is {word}"
        )

    # Several marks of which no unmarked number beats the best: the authors may count them as equal, or mark more than
    # one thing, though they do not say so.
    best = max(sign * value.printed.value for value in bold)
    is_beaten = any(sign * value.printed.value > best + ties + EPSILON for value in rest)
    severity: Severity = "error" if is_beaten else "warning"
    return Check("emphasis", bold, rest, holds, message, severity)


# ── "surpassing their comparable-sized counterparts are in bold" ──


def _counterpart_checks(sheet: Sheet) -> list[Check]:
    by_model: dict[str, dict[tuple[int, str], Value]] = defaultdict(dict)
    names: dict[str, ModelName] = {}
    for value in sheet.values():
        if value.model and value.is_firm and value.role in {"score", "aggregate"}:
            along = value.column if sheet.models_in == "rows" else value.row
            by_model[value.model.key][along, value.setting] = value
            names[value.model.key] = value.model
    marked_keys = {key for key, values in by_model.items() if any(value.bold for value in values.values())}
    families = {_family(names[key]) for key in marked_keys}
    if not families:
        return []
    explicit = _explicit_pairs(sheet.table.caption)
    whose = _COUNTERPARTS.search(sheet.table.caption)
    named_families = {family for family in map(_family, names.values()) if whose and _is_named(family, whose["whose"])}
    caption = sheet.table.caption_line or sheet.table.line
    checks = []
    for key, values in by_model.items():
        if _family(names[key]) not in families:
            continue
        rivals = explicit.get(key) or _counterparts(names[key], names, families, named_families)
        for place, value in values.items():
            others = tuple(by_model[rival][place] for rival in rivals if rival in by_model and place in by_model[rival])
            if others:
                checks.append(_surpass_check(value, others, Source(value.document, caption)))
    return checks


def _family(name: ModelName) -> str:
    """Return a model's series, which is its key without the size: Qwen2 and Qwen1.5 are two series."""
    return re.sub(r"-(?:\d+x)?\d+(?:\.\d+)?[bm]\b.*", "", name.key)


def _explicit_pairs(caption: str) -> dict[str, list[str]]:
    pairs = (match.group("one", "other") for match in _COMPARED.finditer(caption))
    model_pairs = (pair for pair in pairs if all(map(looks_like_model, pair)))
    return {model_name(name).key: [model_name(rival).key] for name, rival in model_pairs}


def _is_named(family: str, text: str) -> bool:
    """Tell whether a caption names a series: `qwen-1.5` in "their comparable-sized Qwen1.5 counterparts"."""
    words = text.lower().replace("-", "").replace(" ", "")
    return re.search(re.escape(family.replace("-", "")) + r"(?![\d.]*\d)", words) is not None


def _counterparts(
    name: ModelName, names: dict[str, ModelName], families: set[str], named_families: set[str]
) -> list[str]:
    """Return the keys of the models that `name` is compared with: the nearest in size of every other series.

    If the caption names series, only of those. Only sizes within a factor of `_NEAR` are comparable.
    """
    if name.parameters is None:
        return []
    size = name.parameters
    nearest: dict[str, tuple[float, str]] = {}
    for key, other in names.items():
        family = _family(other)
        if family in families or other.parameters is None or (named_families and family not in named_families):
            continue
        ratio = max(other.parameters / size, size / other.parameters)
        if ratio <= _NEAR and (family not in nearest or ratio < nearest[family][0]):
            nearest[family] = (ratio, key)
    return [key for _, key in nearest.values()]


def _surpass_check(value: Value, rivals: tuple[Value, ...], caption: Source) -> Check:
    def ahead(number_at: Read) -> bool:
        sign = -1 if value.direction == "lower" else 1
        return all(sign * number_at(value).value > sign * number_at(rival).value for rival in rivals)

    def holds(number_at: Read) -> bool:
        return ahead(number_at) == value.bold

    def message(number_at: Read) -> str:
        beside = ", ".join(
            f"{rival.model.name if rival.model else rival.row_label} {show_number(number_at(rival))}"
            for rival in rivals
        )
        if value.bold:
            return (
                f"{value.place}: {show_number(number_at(value))} is bold, which the caption says means surpassing its "
                f"counterpart; beside it stand {beside}"
            )
        return f"{value.place}: {show_number(number_at(value))} surpasses its counterpart ({beside}) but is not bold"

    return Check("emphasis", (value,), rivals, holds, message, "error" if value.bold else "warning", (caption,))
