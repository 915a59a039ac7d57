"""Verdicts on every printed number; the claim that states the number is made when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from adhere.evidence.checks.checking import Check
from adhere.evidence.checks.reconcile import Comparison
from adhere.evidence.claims.coverage import is_claim
from adhere.evidence.claims.values import Sheet, Value
from adhere.evidence.findings import Claim, Conflict, Status, TableReading

MOST_NAMED = 4

_STRENGTH = {"cross_document": 0, "cross_table": 1, "arithmetic": 2, "invariant": 3}
_BASIS = (
    "another document prints the same",
    "another table prints the same",
    "it fits the average, sum or difference",
    "it fits an equality that the caption promises",
)


class Verdict(NamedTuple):
    """Holds a claim's status and what it rests on."""

    status: Status
    basis: str


_UNSUPPORTED = Verdict("unsupported", "printed once, and no other number can confirm or deny it")
_APART = Verdict("not comparable", "its only counterpart is of another version, metric or set")


class Claims(Sequence[Claim]):
    """Holds the claims of some documents as a sequence.

    A claim is made from its cell when it is asked for, so that half a million need not be kept. `values` are the cells,
    in the order of the claims.
    """

    def __init__(self, values: list[Value], verdicts: dict[int, Verdict]) -> None:
        self.values = values
        self._verdicts = verdicts

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Claim: ...
    @overload
    def __getitem__(self, index: slice) -> list[Claim]: ...
    def __getitem__(self, index: int | slice) -> Claim | list[Claim]:
        if isinstance(index, slice):
            return [self.claim(value) for value in self.values[index]]
        return self.claim(self.values[index])

    def __iter__(self) -> Iterator[Claim]:
        return map(self.claim, self.values)

    def verdict(self, value: Value) -> Verdict:
        """Return the verdict on a cell."""
        return self._verdicts.get(id(value), _UNSUPPORTED)

    def claim(self, value: Value) -> Claim:
        """Return the claim that a cell makes."""
        verdict = self.verdict(value)
        return Claim(
            id=value.id,
            model=model_of(value),
            benchmark=value.benchmark.shown if value.benchmark else value.row_label,
            metric=metric_of(value),
            value=value.printed.value,
            document=value.document,
            table=value.table.name,
            row=value.row_label,
            column=value.column_label,
            line=value.line,
            printed=value.printed.text,
            variant=variant_of(value),
            setting=setting_of(value),
            unit=value.printed.unit,
            tuning=value.model.tuning if value.model else "",
            direction=value.direction,
            status=verdict.status,
            basis=verdict.basis,
            guesses=value.guesses,
        )


def claims_of(
    values: Iterable[Value], checks: Iterable[Check], comparisons: Iterable[Comparison], conflicts: Iterable[Conflict]
) -> Claims:
    """Return a claim for every number about a model on a benchmark, and for every other number in a conflict."""
    verdicts: dict[int, Verdict] = {}
    for item in comparisons:
        if item.standing == "not comparable":
            verdicts |= {id(item.first): _APART, id(item.second): _APART}
    verdicts |= _find_support(checks)
    claim_ids: set[str] = set()
    verdict_of_claim: dict[str, Verdict] = {}
    for conflict in conflicts:
        claim_ids |= set(conflict.claims)
        # A wrong mark says nothing against the number that it marks.
        if conflict.severity == "error" and conflict.type != "emphasis":
            for name in conflict.claims:
                verdict_of_claim.setdefault(name, Verdict("contradicted", conflict.type))
    if not claim_ids:
        return Claims([value for value in values if is_claim(value)], verdicts)
    tables = {name.rpartition(":")[0] for name in claim_ids}
    claimed_values = []
    for value in values:
        is_named = value.sheet_id in tables and value.id in claim_ids
        if is_named and value.id in verdict_of_claim:
            verdicts[id(value)] = verdict_of_claim[value.id]
        if is_named or is_claim(value):
            claimed_values.append(value)
    return Claims(claimed_values, verdicts)


def reading_of(sheet: Sheet) -> TableReading | None:
    """Return how a table was read; None if it makes no claim."""
    values = [value for value in sheet.values() if is_claim(value)]
    if not values:
        return None
    # Once for each row or column: a table of half a million cells names few models.
    is_across = sheet.models_in == "columns"
    models = {value.column if is_across else value.row: value for value in values}
    benchmarks = {id(value.benchmark): value for value in values}
    model_names = [*dict.fromkeys(model_of(models[place]) for place in sorted(models))]
    measures = [*dict.fromkeys(map(_measure_of, benchmarks.values()))]
    table = sheet.table
    return TableReading(
        document=sheet.document.name,
        line=table.line,
        name=table.name,
        models_in=sheet.models_in,
        models=tuple(model_names[:MOST_NAMED]),
        model_count=len(model_names),
        benchmarks=tuple(measures[:MOST_NAMED]),
        benchmark_count=len(measures),
        claims=len(values),
        no_scores=_without_claims(sheet.values(), values),
        page=table.page,
        is_corrected=table.correction is not None,
    )


def _without_claims(numbers: Sequence[Value], claims: Sequence[Value]) -> tuple[str, ...]:
    """Return the labels of the columns, and then of the rows, that print numbers but no claim."""
    columns = {value.column for value in claims}
    rows = {value.row for value in claims}
    left_columns = (value.column_label for value in numbers if value.column not in columns)
    left_rows = (value.row_label for value in numbers if value.row not in rows)
    return tuple(dict.fromkeys(filter(None, [*dict.fromkeys(left_columns), *dict.fromkeys(left_rows)])))


def _measure_of(value: Value) -> str:
    """Return the benchmark of a number with its variant and metric, as one text."""
    name, metric = value.benchmark.shown if value.benchmark else "", metric_of(value)
    says_more = metric not in {"score", "average"} and metric.lower() not in name.lower()
    return " ".join(filter(None, [name, variant_of(value), metric if says_more else ""]))


def _find_support(checks: Iterable[Check]) -> dict[int, Verdict]:
    """Return the verdict `confirmed` for each number (by id) that a check supports, with the strongest such check.

    Orderings and upper bounds support no number: they leave its value open.
    """
    best: dict[int, int] = {}
    for check in checks:
        if check.failed or check.doubt or check.kind not in _STRENGTH:
            continue
        if check.kind == "invariant" and (len(check.subjects) != 2 or check.severity != "error"):
            continue
        rank = _STRENGTH[check.kind]
        for value in check.values:
            best[id(value)] = min(best.get(id(value), rank), rank)
    verdicts = [Verdict("confirmed", basis) for basis in _BASIS]
    return {name: verdicts[rank] for name, rank in best.items()}


def variant_of(value: Value) -> str:
    """Return the variant of a value's benchmark; of an average over many sets only the first and the last set."""
    variant = value.benchmark.variant if value.benchmark else ""
    if value.role != "aggregate":
        return variant
    sets = variant.split(", ")
    return f"{sets[0]} … {sets[-1]} ({len(sets)} sets)" if len(sets) > 3 else variant


def metric_of(value: Value) -> str:
    """Return the metric of a value; if none is named, the value's role ("average", "difference", "share", "score")."""
    metric = value.benchmark.metric if value.benchmark else ""
    return metric or {"aggregate": "average", "delta": "difference", "share": "share"}.get(value.role, "score")


def model_of(value: Value) -> str:
    """Return the name of a value's model; empty without one.

    A setting that begins with `+`, as in a row `+ LoRA` below a model, is part of the name: it makes another model.
    """
    name = value.model.name if value.model else ""
    return f"{name}{_PLUS.sub(' + ', value.setting)}" if _adds(value) else name


_PLUS = re.compile(r"\+(?=\w)")


def _adds(value: Value) -> bool:
    return value.model is not None and value.setting.startswith("+") and not value.is_part


def setting_of(value: Value) -> str:
    """Return how a number was measured, as one text: its setting, its shots and further labels."""
    own = "" if _adds(value) else value.setting
    if not value.shots and not value.beside:
        return own
    return ", ".join(filter(None, (own, f"{value.shots}-shot" if value.shots else "", value.beside)))
