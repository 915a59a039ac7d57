"""Find the values of one cell: the model and the benchmark that its labels name, and what the labels add."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from adhere.evidence.claims.context import Context, part_benchmark, row_setting, setting_of
from adhere.evidence.claims.elsewhere import Elsewhere
from adhere.evidence.claims.layout import Layout
from adhere.evidence.claims.names import (
    REMARK,
    BenchmarkName,
    ModelName,
    Role,
    Tuning,
    benchmark_key,
    benchmark_name,
    is_known,
    is_length,
    is_metric,
    is_role,
    is_setting,
    is_split,
    is_value,
    looks_like_model,
    metric_in,
    metric_name,
    model_label,
    model_name,
    role_of,
    shots_of,
    without_how_printed,
    without_pictures,
)
from adhere.evidence.claims.rows import AboutRow
from adhere.evidence.claims.values import SPECIAL_AVERAGE, Sheet, Value
from adhere.evidence.read.document import Cell, Part
from adhere.evidence.read.grid import BETWEEN_VALUES

_SPREAD_BEHIND = re.compile(r"\((?:std\.?(?: ?dev\.?)?|sd|±|stderr|se)\)\s*$", re.IGNORECASE)  # `accuracy(std)`
_ADDED = re.compile(r"\s+(?:\+|w/o?|with(?:out)?)\s+(?=\S)", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"[(\[]([^()\[\]]*(?:/|\s\|\s)[^()\[\]]*)[)\]]\s*$")
_TWO_VALUES = re.compile(
    r"\bx is (?P<first>[^.;]{3,80}?)(?:,|;)? and y is (?P<second>[^.;]{3,80})|(?P<a>[A-Za-z +-]{3,40})\s*/\s*"
    r"(?P<b>[A-Za-z +-]{3,40})\s+(?:scores?|values?)|\b(?:cells?|entr(?:y|ies)|values?|numbers?) (?:reports?|"
    r"shows?|gives?|lists?|contains?|are|is):? (?:the )?(?P<one>[\w +@-]{2,40}?)\s*%?\s*/\s*(?P<two>[\w +@-]{2,40})",
    re.IGNORECASE,
)
_VERSION_REMARK = re.compile(r"[\d.\-/ ]+|v\d[\d.]*|(?:\d+x)?\d+(?:\.\d+)?\s?[BbM]|\d{2,4}[-.]\d{2}(?:[-.]\d{2})?")


def cell_values(  # noqa: C901, PLR0912, PLR0915 -- one cell, read in one go
    sheet: Sheet, context: Context, about: AboutRow, r: int, c: int
) -> Sequence[Value]:
    """Return all numbers of a cell; none if nothing names what they are of."""
    table, row, layout = sheet.table, sheet.table.rows[r], context.layout
    cell = row.cells[c]
    path = layout.paths[c] if c < len(layout.paths) else [f"column {c + 1}"]
    row_label = sheet.row_labels[r]
    row_role, column_role = sheet.row_roles[r], sheet.column_roles[c] if c < len(layout.paths) else "score"
    role: Role = row_role if row_role != "score" else column_role
    above: list[str] = []
    below: list[str] = []
    if layout.models_in == "rows":
        role = row_role if row_role in {"attribute", "delta", "share"} and not about.benchmark else column_role
        model_text, benchmark_path, setting = about.model, path, row_setting(row_label, sheet.row_models[r])
        if context.of_corner:
            benchmark_path, setting = [context.corner], " ".join(filter(None, [setting, setting_of(" ".join(path))]))
        if about.benchmark:
            benchmark_path = [about.benchmark, *(label for label in path if setting_of(label))]
    elif layout.models_in == "columns":
        model_text, above, below = context.column(c, path)
        # What stands above a model groups models ("Ours"); what stands below it says what was done with it.
        done = " ".join(label for label in below if not _says_how(label, len(cell.parts)))
        benchmark_path, setting = [row_label], setting_of(done)
        about = _with_shots(about, below)
        if above and not about.metric and is_metric(above[-1]):
            about, above = replace(about, metric=metric_name(above[-1])[0]), above[:-1]
        role = column_role if column_role in {"delta", "share", "attribute"} else row_role
    elif layout.model:
        model_text = layout.model
        role = column_role if column_role == "attribute" and layout.benchmarks_in == "rows" else role
        benchmark_path, setting = (
            (path, row_label) if layout.benchmarks_in == "columns" else ([row_label], setting_of(" ".join(path)))
        )
        if layout.benchmarks_in == "rows" and not about.metric and path and is_metric(path[-1]):
            about, setting = replace(about, metric=metric_name(path[-1])[0]), setting_of(" ".join(path[:-1]))
    else:
        model_text, benchmark_path, setting = "", [row_label, *path], ""
    is_difference = (row_role if sheet.models_in == "rows" else column_role) == "delta"  # `Δ over base` is no model
    has_role = not is_difference and (role not in {"share", "attribute"} or sheet.models_in == "rows")
    model_key = (model_text, about.tuning, has_role)
    if model_key not in context.models:
        context.models[model_key] = _model(context, model_text, about.tuning, has_role=has_role)
    model, addition, remark = context.models[model_key]
    if sheet.models_in == "columns" and model is not None and column_role == "share":
        model = None
    if layout.nothing or c < layout.first:
        model = None
    if len(cell.parts) > 1:
        benchmark_path = [_without_parts(label, cell.parts[-1].place + 1) for label in benchmark_path]
    place = (*benchmark_path, "", row.section, about.metric, about.shots)
    if place not in context.benchmarks:
        name, groups, assumptions = _benchmark(sheet, context, benchmark_path, row.section, about)
        if name and context.metric and not name.metric:
            name = name._replace(metric=context.metric)
        groups = [*groups, context.pair] if context.pair else groups
        context.benchmarks[place] = (name, groups, tuple(assumptions))
    benchmark, group, guesses = context.benchmarks[place]
    if layout.model and not layout.models_in:
        guesses = (*guesses, layout.model_reason)
    labels = [*path, about.benchmark] if layout.models_in != "columns" else [row_label, *below]
    names = _part_settings(context, addition, [*labels, about.setting], cell) if len(cell.parts) > 1 else []
    beside_row = "" if names == [*_names_of_parts(about.setting)[1]] else about.setting  # `S / U` names the parts
    if remark or beside_row:
        setting = " ".join(filter(None, (setting, remark, beside_row)))
    beside = ", ".join([*above, *group] if layout.models_in == "columns" else group) if above or group else ""
    direction = context.direction(c, path, row_label, about.metric)
    column_label = sheet.column_labels[c] if c < len(layout.paths) else f"column {c + 1}"
    is_private = sheet.is_private or context.is_of_categories
    shots = about.shots or (benchmark.shots if benchmark else "")
    is_spread = (bool(path) and _SPREAD_BEHIND.search(path[-1])) or is_role("spread", context.extra.aside)
    values = []
    for k, part in enumerate(cell.parts):
        if part.number is None:
            continue
        own, part_setting = benchmark, _part_setting(cell, part, names) if names or part.is_aside else ""
        if own is not None and part.is_aside and not own.metric and context.extra.aside:
            own, part_setting = own._replace(metric=context.extra.aside), ""
        if (
            part_setting
            and own is not None
            and not part.is_aside
            and metric_in(part_setting)
            and not metric_name(part_setting)[1]
        ):
            own, part_setting = part_benchmark(own, part_setting)
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
                role="attribute" if part.number.is_attribute or (part.is_aside and is_spread) else role,
                model=model,
                benchmark=own,
                setting=" ".join(filter(None, (setting, part_setting))),
                shots=shots,
                beside=beside,
                direction=direction,
                is_private=is_private,
                is_firm=len(row.cells) == table.width,
                assumed=guesses,
            )
        )
    return tuple(values)


def _says_how(label: str, count: int) -> bool:
    """Tell whether a label below a model is a remark, shots, or the names of the `count` values of a cell (`EM/F1`)."""
    return label.startswith("(") or shots_of(label)[1] == "" or (count > 1 and len(_names_of_parts(label)[1]) == count)


def _with_shots(about: AboutRow, labels: list[str]) -> AboutRow:
    for label in labels:
        shots, rest = shots_of(label)
        if shots and not rest:
            return replace(about, shots=shots)
    return about


def _model(context: Context, label: str, tuning: Tuning, *, has_role: bool) -> tuple[ModelName | None, str, str]:
    """Return the model of a label, what the label adds (`+ YARN + DCA`), and the remark in parentheses (`BF16`)."""
    label = model_label(label)
    if not label or not has_role:
        return None, "", ""
    remarks = [match["remark"].strip() for match in REMARK.finditer(label)]
    setting_remarks = [
        remark for remark in remarks if not _VERSION_REMARK.fullmatch(remark) and not model_name("x " + remark).tuning
    ]
    if setting_remarks:
        bare = REMARK.sub(lambda m: " " if m["remark"].strip() in setting_remarks else m.group(), label).strip()
        label, remarks = (bare, setting_remarks) if bare else (label, [])
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
    """Return what distinguishes a value from the other values of its cell: its name, and "in parentheses"."""
    name = part.name or (names[part.place] if cell.parts[-1].place and part.place < len(names) else "")
    return " ".join(filter(None, [name, "in parentheses" if part.is_aside else ""]))


@functools.lru_cache(maxsize=1 << 12)
def _names_of_parts(label: str) -> tuple[str, tuple[str, ...]]:
    """Split a label into its name, and the names of the values in a cell; the name is empty if all of it names values.

    The latter stand in parentheses (`MMSU (Reasoning / Overall)`) or after the name (`LibriSpeech test-clean |
    test-other`).
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


def _part_settings(context: Context, addition: str, labels: list[str], cell: Cell) -> list[str]:
    """Return names for the values of a cell: by a label (`EM / F1`), a note ("x is … and y is …"), or their order."""
    count = cell.parts[-1].place + 1
    for label in reversed(labels):
        if count > 1 and len(names := _names_of_parts(label)[1]) == count:
            return [*names]
    two_values = _TWO_VALUES.search(f"{context.table.caption} {context.notes}")
    if two_values and two_values["first"]:
        return [_keep_from_with(two_values["first"]), _keep_from_with(two_values["second"])]
    if two_values:
        return [(two_values["one"] or two_values["a"]).strip(), (two_values["two"] or two_values["b"]).strip()]
    return (
        [f"without {addition}", f"with {addition}"]
        if addition
        else ["first of two", "second of two", "third", "fourth"]
    )


def _keep_from_with(text: str) -> str:
    match = re.search(r"\bwith(?:out)?\b.*", text)
    return (match.group() if match else text).strip()


_SET_NAME = re.compile(r"[A-Z].*[A-Z\d]")
_BARE = re.compile(
    r"scores?|results?|values?|得分|分数|スコア|점수", re.IGNORECASE
)  # a column that says no more than this


def _with_measure(benchmark: BenchmarkName, label: BenchmarkName) -> BenchmarkName:
    """Return `benchmark` with the metric and shots of `label`, which names nothing else, where `label` has any."""
    return benchmark._replace(metric=label.metric or benchmark.metric, shots=label.shots or benchmark.shots)


def _benchmark(  # noqa: C901, PLR0911, PLR0912 -- one branch and return a kind of label, in the order in which they are tried
    sheet: Sheet, context: Context, path: list[str], section: str, about: AboutRow
) -> tuple[BenchmarkName | None, list[str], list[str]]:
    """Return the benchmark of a row or column, the labels of the groups above it, and the guesses made."""
    labels = [label for label in path if label]
    heading = context.table.headings[-1] if context.table.headings else ""
    if len(labels) == 1 and _BARE.fullmatch(labels[0]) and is_metric(heading):
        labels = [heading]  # `### Recall@10`, and a column called Score
    if not labels:  # a dash over a column: the whole of what the heading names
        return context.topic if sheet.models_in == "rows" or context.is_told else None, [], []
    group = benchmark_name(section) if section else None
    text = " ".join(labels)
    if group and not context.is_told and (group.is_group or (sheet.models_in == "rows" and group.is_known)):
        return group._replace(variant=text, n=None), [], []
    name, above = _benchmark_of(labels, context.layout)
    if about.metric and not name.metric:
        name = name._replace(metric=about.metric)
    if about.shots and not name.shots:
        name = name._replace(shots=about.shots)
    guesses: list[str] = []
    context_benchmark = context.caption_benchmark
    are_values = is_value(labels[-1])
    # No set stands over the values (`CIFAR-10N`), at most what they are of (`Learning rate`).
    nothing_else = are_values and not context.is_told and not any(_SET_NAME.search(label) for label in labels[:-1])
    if nothing_else and not context_benchmark and (metric := metric_in(context.table.caption)):
        guesses.append(f"{text!r} is a setting; the caption names {metric}")
        return BenchmarkName(benchmark_key(metric), metric, text, metric), above, guesses
    if (
        not name.is_known
        and context_benchmark
        and (are_values or is_length(text) or role_of(text) == "aggregate" or not name.key)
    ):
        guesses.append(f"{text!r} is of {context_benchmark.name}, the benchmark that the caption names")
        if not name.key:  # the label is nothing but a metric or shots
            return _with_measure(context_benchmark, name), above, guesses
        return context_benchmark._replace(variant=text, n=None), above, guesses
    if context.topic and context.is_of_topic:
        way, metric = metric_name(text)[1], name.metric or metric_in(text) or context.topic.metric
        if not way and name.key and (context.is_told or sheet.table.index in context.extra.headed):
            way = without_pictures(text)
        return context.topic._replace(variant=way, metric=metric, n=None), above, guesses
    if context.topic and (is_split(text) or (is_split(labels[0]) and not any(map(is_known, labels)))):
        return context.topic._replace(variant=text, n=None), above, [f"{text!r} is a part of what the heading names"]
    context_benchmark = context.about_benchmark if name.key else context.topic
    if not name.key and context_benchmark:
        return _with_measure(context_benchmark, name), above, guesses
    if context_benchmark and (not name.is_known or role_of(text) == "aggregate"):
        above = [*above, f"of {context_benchmark.name}"]
    if not name.key:  # nothing but a metric, and nothing says of what: "PPL"
        text = without_how_printed(text)
        return name._replace(key=benchmark_key(text), name=text), above, guesses
    if role_of(text) == "aggregate" or (role_of(labels[-1]) == "aggregate" and not name.is_known):
        is_special = SPECIAL_AVERAGE.search(text) or context.special
        weight = f"{is_special.group().lower()}, " if is_special else ""
        over = (f"{context_benchmark.name}: " if context_benchmark else "") + context.composition(sheet, section)
        return name._replace(key="average", variant=f"{weight}of {over}" if over else ""), above, guesses
    if sheet.is_private:
        label = f"in-house {context.language}".strip()
        return (
            name._replace(key=f"{label.lower()}:{name.key}", name=f"{label}: {text}", n=None, is_known=False),
            [],
            guesses,
        )
    if name.is_known:
        name, more = _complete_name(name, context.extra)
        guesses += [*name.guesses, *more]
    elif context_benchmark and not name.is_known and name.key:
        name = name._replace(key=f"{context_benchmark.key}:{name.key}")
    elif not name.is_known and name.key:
        guesses.append(f"{name.name!r} is read as a benchmark by its place in the table")
    return name, above, guesses


def _benchmark_of(labels: list[str], layout: Layout) -> tuple[BenchmarkName, list[str]]:
    """Return the benchmark that labels (upper ones first) name, and the upper labels that only group benchmarks."""
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
        measure = metric_in(rest) or head.metric
        return head._replace(variant=" ".join(filter(None, [head.variant, rest])), metric=measure, n=None), []
    return head._replace(metric=metric), []


def _complete_name(name: BenchmarkName, extra: Elsewhere) -> tuple[BenchmarkName, list[str]]:
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
