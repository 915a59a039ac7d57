"""Find the axis of a table that holds the models.

A table's own words decide first (a corner that says "Model" or "Benchmark"), then what its labels read like, then what
other tables of the document say, then the labels' place.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from adhere.evidence.claims.names import (
    benchmark_name,
    is_known,
    is_metric,
    is_part,
    is_role,
    is_split,
    is_value,
    label_kind,
    looks_like_model,
    metric_in,
    metric_name,
    role_of,
    shots_of,
    without_pictures,
)
from adhere.evidence.read.document import Table

Orientation = Literal["columns", "rows", ""]
BARE_SIZE = re.compile(r"(?:~|≈)?\s*(?:\d+x)?\d+(?:\.\d+)?\s?[BbM]")
_OVER_CLASSES = re.compile(
    r"(?:macro|weighted|micro)[ _-]?(?:avg\.?|average)|all|overall|total|average|avg\.?|整体|总体|平均", re.IGNORECASE
)
LEAST_SHARED = 3
LEAST_CITED = 0.3  # share of rows
_VALUES = frozenset({"value", "values", "score", "scores", "result", "results", "stderr", "n-shot", "得分"})
_CITED = re.compile(r"\bet al\.?,? \(?(?:19|20)\d\d")  # whom a table names by author and year it compares with


class Labels(NamedTuple):
    """Holds the labels that name benchmarks and models in other tables of a document.

    `named` are labels that surely name models, `sets` labels that surely do not, because a table says so.
    """

    benchmarks: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()


NOWHERE = Labels()


def axis_of_models(data: list[list[str]], rows: list[str], corner: str, *, is_grouped: bool) -> Orientation:
    """Return the axis on which models stand, by the table's own labels; empty if they do not tell.

    `data` are the labels over each column of numbers, `rows` those of the rows, `corner` is the label over the rows'
    names. `is_grouped` says that the upper labels of `data` only group the lower ones. Where every measure comes in the
    same ways (`BLEU (tuned)`), `data` is split into measure and way, in place.
    """
    in_columns = share(data, lambda path: any(looks_like_model(label) for label in path))
    known_columns = share(data, lambda path: any(is_known(label) or benchmark_name(label).is_known for label in path))
    in_rows = share(rows, looks_like_model)
    known_rows = share(rows, lambda label: is_known(label) or benchmark_name(label).is_known)
    kind = label_kind(corner)
    if not in_rows and not in_columns:
        names = [[label for label in path if not is_metric(label)] for path in data]
        is_of_sets = kind in {"benchmarks", "categories"} or corner.lower().endswith((" type", " types"))
        are_sets = known_rows >= 0.5 or (is_of_sets and names != data)
        if are_sets and not known_columns and all(names) and _may_be_models(names, ""):
            return "columns"  # across from benchmarks, whether or not a measure stands with them
        orientation = _by_heads(data, rows, kind) or _by_measures(data, rows, kind, known_columns)
        if orientation is not None:
            return orientation
    says = 0.6 if kind == "models" else 0.4 if is_role("ways", corner) else 0.0
    other = 0.6 if kind in {"benchmarks", "metric"} else 0.3 if kind == "categories" else 0.0
    by_rows, by_columns = in_rows + known_columns + says, in_columns + known_rows + other
    # Few names are known (of a field that the list has little of), and nothing speaks for the other axis.
    are_few = in_rows * len(rows) >= 2 and not by_columns and kind in {"", "models"}
    if not are_few and (max(by_rows, by_columns) < 0.25 or (max(in_rows, in_columns) == 0 and not says and not other)):
        # The same parts below several labels (`F1`, `EM`) are what benchmarks have: what stands in the rows was
        # measured on them.
        parts = [path[-1] for path in data if len(path) > 1]
        is_measured = len(parts) > 3 and len(set(parts)) <= len(parts) / 2 and not is_grouped
        is_measured |= share(data, lambda path: any(metric_in(label) for label in path)) >= 0.5
        if is_measured and kind not in {"benchmarks", "metric", "categories"}:
            return "rows"
        return _beside_averages(data, rows, kind) or _by_other_axis(data, rows, kind)
    if by_rows >= by_columns:
        return "rows" if in_rows or says else ""
    return "columns" if in_columns or (other and _may_be_models(_without_differences(data), kind)) else ""


def _by_heads(data: list[list[str]], rows: list[str], kind: str) -> Orientation:
    """Return the axis of models in a table where no label reads like a model; empty if nothing tells it.

    Signs are citations, pairs of languages, one measure of several ways, and a header `Model` above the labels.
    """
    if share(rows, _CITED.search) >= LEAST_CITED or share(data, lambda path: PAIR.fullmatch(path[-1])) == 1:
        return "rows"
    compared_columns = _without_differences(data)
    is_across = len(compared_columns) < len(data) or kind in {"benchmarks", "categories"}
    if kind != "models" and len(compared_columns) > 1 and is_across:
        # `Vanilla PPL | Tuned PPL | Δ`: one measure of each of those compared.
        measures, ways = zip(*(metric_name(path[-1]) for path in compared_columns), strict=True)
        if len({*measures}) == 1 and measures[0] and len({*ways}) == len(ways) and all(ways):
            return "" if any(is_split(way) or _KINDS.fullmatch(way) for way in ways) else "columns"
    return "columns" if share(data, lambda path: len(path) > 1 and label_kind(path[0]) == "models") > 0.5 else ""


_KINDS = re.compile(r"macro|micro|weighted|strict|exact|partial|top-?\d+", re.IGNORECASE)  # of one measure


def _beside_averages(data: list[list[str]], rows: list[str], kind: str) -> Orientation:
    """Return the axis of models by an average, which stands beside the benchmarks that it is over; empty without it."""
    over_columns, over_rows = (
        [role_of(label) == "aggregate" and bool(_AVERAGE.search(label)) for label in own]
        for own in ([path[-1] for path in data], rows)
    )
    names = rows if any(over_columns) else [path[-1] for path in data]
    if any(over_columns) == any(over_rows) or not all(any(map(str.isalpha, name)) for name in names):
        return ""
    if any(over_columns):
        return "rows" if kind not in {"benchmarks", "metric", "categories", "shots"} and len(data) > 2 else ""
    return "columns" if kind != "models" and len(rows) > 2 and _may_be_models(data, "") else ""


_AVERAGE = re.compile(r"avg|average|mean\b|overall|平均|综合|总体|평균", re.IGNORECASE)  # a total may be of anything

_RESULTS = re.compile(
    r"\b(?:results?|evaluations?|performance|benchmarks?|leaderboard|scores?|accuracy|resultados?|avaliação|"
    r"evaluación|résultats?|ergebnisse)\b|评测|评估|结果|性能|結果|評価|결과|평가|성능",
    re.IGNORECASE,
)


def _by_other_axis(data: list[list[str]], rows: list[str], kind: str) -> Orientation:
    """Return the axis of models by differences, sizes or splits over the columns; empty without these.

    Beside a difference, and where they are sizes, the columns are models; below splits the rows are.
    """
    last = [path[-1] for path in data]
    compared_columns = _without_differences(data)
    if kind not in {"models", "shots"} and _are_names(rows) and 1 < len(compared_columns) < len(data):
        return "columns" if _may_be_models(compared_columns, "") else ""  # `Uniform | Gradient | Improvement`
    if len(data) > 1 and all(map(BARE_SIZE.fullmatch, last)):
        return "columns"
    return "rows" if kind in {"", "models"} and _are_names(rows) and all(map(is_split, last)) else ""


def _without_differences(data: list[list[str]]) -> list[list[str]]:
    """Return the labels over columns, without the columns of differences."""
    return [path for path in data if not is_role("delta", path[-1])]


def axis_in_most(table: Table, data: list[list[str]], rows: list[str], corner: str) -> Orientation:
    """Return "rows", as in most tables, for a table of results whose labels tell nothing; empty for other tables."""
    last = [path[-1] for path in data]
    if label_kind(corner) or min(len(last), len(rows)) < 2 or are_classes(rows):
        return ""
    if not _are_names(rows) or set(last) & set(rows):
        return ""
    numbers = [number for row in table.rows for cell in row.cells if (number := cell.number)]
    are_scores = 2 * sum(number.decimals > 0 for number in numbers) > len(numbers)
    is_plain = all(role_of(label) in {"score", "aggregate"} and not is_value(label) for label in (*last, *rows))
    is_about_results = any(map(_RESULTS.search, (table.caption, *table.headings[-2:])))
    return "rows" if are_scores and is_plain and is_about_results else ""


def _are_names(labels: list[str]) -> bool:
    return all(any(map(str.isalpha, label)) for label in labels) and not any(map(is_metric, labels))


def are_classes(rows: list[str]) -> bool:
    """Tell whether rows are classes of one model's results, by an average over them (`macro avg`, `All`)."""
    return any(map(_OVER_CLASSES.fullmatch, rows))


def _may_be_models(data: list[list[str]], kind: str) -> bool:
    """Tell whether columns of which none reads like a model may still be models, since they name nothing else."""
    last = [path[-1] for path in data if path]
    if kind == "categories" or share(last, lambda label: role_of(label) == "attribute") >= 0.5:
        return False  # a corner word alone is not enough: "Task | Epochs | Batch" is about no models
    if any(label.lower() in _VALUES or role_of(label) == "aggregate" for label in last):
        return False  # averages stand beside what they average: these columns are no models
    says_measure = any(is_metric(label) or (label[-1:] == "%") or not shots_of(label)[1] for label in last)
    if says_measure and not any(map(looks_like_model, last)):
        return False  # a measure, a share or a number of shots is no model
    # `n`, `R`, `p` are statistics, `Train` and `Test` are parts of sets.
    return not any(len(label.partition("(")[0].strip()) == 1 or is_split(label) for label in last)


def _by_measures(data: list[list[str]], rows: list[str], kind: str, known_columns: float) -> Orientation | None:
    """Return the axis of models in a table where no label reads like a model, by where measures stand.

    Empty if there are no models; None if the measures do not tell.
    """
    are_pairs = share(rows, PAIR.fullmatch) > 0.5
    are_ways = (kind in {"benchmarks", "categories"} or are_pairs) and _split_ways(data)
    scores = [path for path in data if role_of(path[-1]) != "attribute" and label_kind(path[-1]) != "note"]
    measure_share = share(scores, lambda path: any(is_metric(label) for label in (*path[:1], *path[-1:])))
    if measure_share > 0.5 and kind != "models":
        are_measures = share(rows, is_metric) > 0.5
        if kind in {"benchmarks", "categories"} or are_pairs or are_classes(rows) or are_measures:
            return "columns" if are_ways else ""
        return "" if kind in {"metric", "shots"} else "rows"
    # `Method` may stand over the measures, for the columns beside it.
    if measure_share == known_columns == 0 and share(rows, is_metric) > (0.5 if kind == "models" else 0.3):
        return "columns" if kind == "models" or _may_be_models(_without_differences(data), kind) else ""
    labels = [label for path in data for label in path]
    is_method = not kind and not known_columns and not any(map(metric_in, labels))
    by_columns, by_rows = any(_METHOD.search(path[-1]) for path in data if path), any(map(_METHOD.search, rows))
    if is_method and by_columns != by_rows:
        return "columns" if by_columns else "rows"  # `Baseline | Fine-tuned` over sets that no list has
    return None


def _split_ways(data: list[list[str]]) -> bool:
    """Split labels such as `BLEU (plain)` into measure and way, in place; return whether they were split.

    They are split only if every measure comes in the same ways.
    """
    matches = [re.fullmatch(r"(.+?)\s*\((.+)\)", path[-1]) for path in data if len(path) == 1]
    split = [match.groups() for match in matches if match and is_metric(match[1]) and not is_part(match[2])]
    ways = {way for _, way in split}
    if len(split) < len(data) or len(ways) < 2 or len({*split}) < len({name for name, _ in split}) * len(ways):
        return False
    for path, labels in zip(data, split, strict=True):
        path[:] = labels
    return True


PAIR = re.compile(r"\w+(?: \w+)?\s?[\u2192\u2194\u21d2\u21d4]\s?\w+(?: \w+)?")  # `en → de`
_METHOD = re.compile(
    r"\b(?:baselines?|fine-?tun(?:ed|ing)|pre-?trained|from scratch|vanilla|proposed|ours?|w/o|without|oracle)\b",
    re.IGNORECASE,
)


def axis_elsewhere(data: list[list[str]], rows: list[str], corner: str, elsewhere: Labels) -> Orientation:
    """Return the axis of models by labels that other tables of the document have for benchmarks or models."""
    if are_classes(rows):
        return ""
    above, beside = [without_pictures(path[-1]) for path in data], [*filter(None, map(without_pictures, rows))]
    has_models = label_kind(corner) in {"models", ""}  # `Language` says that rows are none
    for own, others, orientation in (
        (above, elsewhere.benchmarks if has_models else frozenset(), "rows"),
        (beside, elsewhere.benchmarks, "columns"),
        (beside, elsewhere.models, "rows"),
        (above, elsewhere.models, "columns"),
    ):
        n_known = sum(label in others for label in own)
        is_known_axis = (n_known >= LEAST_SHARED and n_known >= len(own) / 2) or n_known == len(own) > 1
        if is_known_axis and not (orientation == "columns" and any(map(is_metric, above))):
            return orientation  # type: ignore[return-value]
    return ""


def share(items: list, test) -> float:  # type: ignore[no-untyped-def,type-arg]
    """Return the share of items for which `test` is true; 0 if there are no items."""
    return sum(bool(test(item)) for item in items) / max(len(items), 1)
