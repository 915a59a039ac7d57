"""Compare two places that print the same number: they agree, they differ, or they may not be compared."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from adhere.evidence.checks.authors import Authors
from adhere.evidence.checks.checking import Check, ConflictType, Read, Severity, show_number
from adhere.evidence.claims.names import BenchmarkName
from adhere.evidence.claims.printed import PrintedNumber, agree
from adhere.evidence.claims.values import Value, printed_again

Standing = Literal["agree", "differ", "not comparable"]
_VERSION = re.compile(r"v?\d[\d.\s-]*")
_SEVERAL_METRICS = frozenset({"ifeval", "alpacaeval", "alpacaeval2"})
_UNSAID = "one place does not say whether the model is base or instruct"
_Z = 1.959964
LEAST_AGREEING = 2
MOST_DOUBTED = 20_000  # such comparisons in all documents
MAX_DOUBTED = 4  # rows of two tables that measure different things: enough to see a header that was turned


@dataclass(slots=True)
class Comparison:
    """Compares two places that print a number for one model on one benchmark.

    `factor` brings the second number to the first one's unit (100, 0.01 or 1); `difference` is then second minus first.
    `allowed` is the 95 % half width of the difference of two independent evaluations, where the number of items is
    known. `apart` says that two laboratories printed them, `doubt` is the doubt of a Check, `is_repeated` says that
    most numbers of the same model are printed in both places, `is_soft` that a difference is worth a look and no more.
    """

    first: Value
    second: Value
    standing: Standing
    reason: str
    difference: float | None = None
    allowed: float | None = None
    factor: float = 1.0
    apart: str = ""
    doubt: str = ""
    is_repeated: bool = False
    is_soft: bool = False


def comparisons(
    values: Iterable[Value], plain_means: set[int], authors: Mapping[str, Authors]
) -> tuple[list[Comparison], list[Check]]:
    """Compare every number that is printed more than once; return the comparisons and the checks of equality.

    Each number is compared with the one that most places agree on, so the work is linear in the numbers. Averages take
    part only if their id is in `plain_means`, the plain means of their table: weighted ones differ without a fault.
    `authors` says whose each document is: only what one laboratory prints twice can be an error. Only comparable
    numbers get a check.
    """
    buckets: dict[tuple[str, str, str], list[Value]] = defaultdict(list)
    taking_part = [
        value
        for value in values
        if value.model and value.benchmark and value.is_firm and (value.role == "score" or id(value) in plain_means)
    ]
    for value in printed_again(taking_part, _bucket):
        buckets[_bucket(value)].append(value)
    all_pairs: list[Comparison] = []
    for bucket in buckets.values():
        if len({(value.document, value.table.index) for value in bucket}) < 2:
            continue
        _compare_bucket(bucket, all_pairs, authors)
    pairs = [item for item in all_pairs if item.standing != "not comparable"]
    _doubt_different_tables(pairs)
    return [item for item in all_pairs if not item.doubt], [_equality(item) for item in _limit_doubted(pairs)]


def _limit_doubted(pairs: Iterable[Comparison]) -> Iterator[Comparison]:
    """Yield the comparisons that get a check: all without a doubt, and some of the others.

    Of tables that seem to measure different things, only as many as are needed to find a shifted header.
    """
    n_by_table: Counter[int] = Counter()
    n_doubted = 0
    for item in pairs:
        if item.doubt:
            tables = (item.first.table, item.second.table)
            if n_doubted >= MOST_DOUBTED or all(n_by_table[id(table)] >= MAX_DOUBTED * table.width for table in tables):
                continue
            n_doubted += 1
            n_by_table.update(map(id, tables))
        yield item


def _doubt_different_tables(items: Iterable[Comparison]) -> None:
    """Doubt comparisons of two tables of a document unless they share several cells and most of these agree.

    Such tables often hold the same models on the same benchmarks and differ in what their headings say: thinking or
    not, five-shot or zero-shot, another language. A single model or benchmark is doubted likewise: if all numbers that
    two tables print for it differ, they mean another checkpoint or another split.
    """
    inside = [item for item in items if item.first.document == item.second.document]
    inside.sort(key=_tables)
    for _, shared in groupby(inside, key=_tables):
        _doubt_pair(list(shared))


def _tables(item: Comparison) -> tuple[str, int]:
    """Return a key of the two tables that a comparison is of, both in one document.

    The two table numbers are packed into one, since there may be very many pairs.
    """
    return item.first.document, (item.first.table.index << 24) + item.second.table.index


def _doubt_pair(members: list[Comparison]) -> None:
    lines: dict[tuple[str, object], list[Comparison]] = defaultdict(list)
    for item in members:
        lines["model", item.first.model and item.first.model.key].append(item)
        lines["benchmark", item.first.benchmark and item.first.benchmark.key].append(item)
    for (axis, _), shared in lines.items():
        agreeing, count = _agreeing(shared), len(shared)
        if axis == "model" and agreeing >= LEAST_AGREEING and agreeing > count / 2:
            for item in shared:
                item.is_repeated = True
        elif not agreeing and count >= LEAST_AGREEING:
            _doubt(shared, f"agree in 0 of the {count} cells that they share for this {axis}")
    agreeing, count = _agreeing(members), len(members)
    if agreeing >= LEAST_AGREEING and agreeing > count / 2:
        return
    # A row that is printed again among others that differ, or one of two cells: worth a look, and no more.
    again = members if agreeing and 2 * agreeing >= count else [item for item in members if item.is_repeated]
    for item in again:
        item.is_soft = True
    ids = {id(item) for item in again}
    _doubt(
        [item for item in members if id(item) not in ids], f"agree in {agreeing} of the {count} cells that they share"
    )


def _agreeing(items: Iterable[Comparison]) -> int:
    return sum(item.standing == "agree" for item in items)


def _doubt(items: Iterable[Comparison], why: str) -> None:
    for item in items:
        item.doubt = f"the two tables {why}"


def _bucket(value: Value) -> tuple[str, str, str]:
    model, benchmark = value.model, value.benchmark
    return (model.key if model else "", benchmark.key if benchmark else "", _setting_key(value.setting))


@functools.lru_cache(maxsize=1 << 14)
def _setting_key(setting: str) -> str:
    return " ".join(sorted(re.findall(r"[a-z0-9.]+", setting.lower())))


def _compare_bucket(bucket: Sequence[Value], all_pairs: list[Comparison], authors: Mapping[str, Authors]) -> None:
    classes: dict[tuple[str, ...], list[Value]] = defaultdict(list)
    for value in bucket:
        classes[_class(value)].append(value)
    for members in classes.values():
        reference = _most_agreed(members)
        by_table: dict[int, list[Value]] = defaultdict(list)
        for value in members:
            if value.table is not reference.table:
                by_table[id(value.table)].append(value)
        for own in by_table.values():
            pairs = (sorted((reference, value), key=lambda v: (v.document, v.line)) for value in own)
            own_pairs = [_compare(first, second, "", authors) for first, second in pairs]
            # Of rows that a group tells apart (`absolute | single`, `absolute | mixed`) one is the row meant elsewhere.
            same = [item for item in own_pairs if item.standing == "agree"]
            all_pairs += same if len(own) > 1 and same else own_pairs
    groups = [(_most_agreed(members), members) for members in classes.values()]
    for index, (head, members) in enumerate(groups):
        for other_head, others in groups[index + 1 : index + 5]:
            if head.table is other_head.table:
                continue
            second = _row_meant(other_head, others, head)
            first = _row_meant(head, members, second)
            standing, reason = _comparable(first, second)
            if standing == "not comparable":
                if first.model and second.model and {first.model.tuning, second.model.tuning} != {"base", "instruct"}:
                    all_pairs.append(Comparison(first, second, "not comparable", reason))
            else:
                all_pairs.append(_compare(first, second, reason, authors))


def _row_meant(head: Value, members: Iterable[Value], other: Value) -> Value:
    """Return the value among `members`, in the table of `head`, that prints the same number as `other`; else `head`.

    So the row that is meant is found among rows that a label tells apart (`Base`, `+ LRS`).
    """
    alike = (v for v in members if v.table is head.table and v.printed.value == other.printed.value)
    return next(alike, head)


def _class(value: Value) -> tuple[str, ...]:
    model, benchmark = value.model, value.benchmark
    if model is None or benchmark is None:
        return ()
    private = value.document if value.is_private else ""
    return (model.tuning, benchmark.variant.lower(), benchmark.metric, value.shots, private)


def _most_agreed(values: Sequence[Value]) -> Value:
    counts = Counter(round(value.printed.value, 1) for value in values)
    return max(values, key=lambda value: (counts[round(value.printed.value, 1)], -value.line))


def _comparable(first: Value, second: Value) -> tuple[Standing, str]:  # noqa: PLR0911 -- one return a reason
    """Tell whether two numbers may be compared: ("agree", assumptions) or ("not comparable", reason)."""
    first_benchmark, second_benchmark = first.benchmark, second.benchmark
    if first.model is None or second.model is None or first_benchmark is None or second_benchmark is None:
        return "not comparable", "no model or benchmark"
    if first.model.tuning and second.model.tuning and first.model.tuning != second.model.tuning:
        return "not comparable", f"{first.model.tuning} model against {second.model.tuning} model"
    tunings = {first.model.tuning, second.model.tuning}
    if len(tunings) > 1 and "instruct" in tunings and first.document == second.document:
        # A document that writes -Chat where it means the tuned model means another one where it does not.
        return "not comparable", "the document writes the tuned model's suffix in one place and not in the other"
    if (first.is_private or second.is_private) and first.document != second.document:
        return "not comparable", "a set that only its authors have: nothing says that both documents used the same one"
    assumption = _UNSAID if first.model.tuning != second.model.tuning else ""
    if first.shots and second.shots and first.shots != second.shots:
        return "not comparable", f"{first.shots}-shot against {second.shots}-shot"
    standing, reason = _same_benchmark(first_benchmark, second_benchmark)
    if standing == "not comparable":
        return standing, reason
    return "agree", "; ".join(filter(None, [assumption, reason]))


def _same_benchmark(first: BenchmarkName, second: BenchmarkName) -> tuple[Standing, str]:
    if first.variant.lower() != second.variant.lower():
        if first.variant and second.variant:
            return "not comparable", f"different versions of {first.name}: {first.variant} and {second.variant}"
        version = first.variant or second.variant
        if not _VERSION.fullmatch(version):
            return "not comparable", f"{first.name} {version} is another set than {first.name}"
        return "agree", f"one place does not say that it is version {version}"
    if first.metric != second.metric:
        if first.metric and second.metric:
            return "not comparable", f"different metrics: {first.metric} and {second.metric}"
        if first.key in _SEVERAL_METRICS:
            return "agree", f"one place does not say that it is {first.metric or second.metric}"
    return "agree", ""


def _compare(first: Value, second: Value, assumption: str, authors: Mapping[str, Authors]) -> Comparison:
    factor = _scale_factor(first, second)
    is_equal = agree(first.printed, _scale(second.printed, factor))
    difference = second.printed.value * factor - first.printed.value
    apart = ""
    if first.document != second.document:
        whose = (authors.get(first.document), authors.get(second.document))
        if whose[0] and whose[1] and not whose[0].shared(whose[1]):
            apart = f"two laboratories' documents ({whose[0].shown}; {whose[1].shown}): each may have run it itself"
    allowance = sampling_allowance(first, second)
    return Comparison(
        first, second, "agree" if is_equal else "differ", assumption, difference, allowance, factor, apart
    )


def _scale_factor(first: Value, second: Value) -> float:
    """Return the factor that brings the second number to the first one's unit: 100, 0.01 or 1.

    100: the second is a fraction and the first in percent; 0.01: the other way round.
    """
    number, other_number = first.printed, second.printed
    if number.unit == other_number.unit == "%":
        return 1.0
    for fraction, percent, factor in ((other_number, number, 100.0), (number, other_number, 0.01)):
        is_fraction = fraction.value <= 1 < percent.value <= 100 and fraction.decimals >= 2
        if is_fraction and agree(number, _scale(other_number, factor)):
            return factor
    return 1.0


def _scale(number: PrintedNumber, factor: float) -> PrintedNumber:
    if factor == 1.0:
        return number
    shift = 2 if factor > 1 else -2
    return number._replace(value=number.value * factor, decimals=max(number.decimals - shift, 0))


def _equality(item: Comparison) -> Check:
    """Return the check that two places print one number."""
    first, second, factor, allowance = item.first, item.second, item.factor, item.allowed

    def holds(number_at: Read) -> bool:
        return agree(number_at(first), _scale(number_at(second), factor))

    def message(number_at: Read) -> str:
        a, b = number_at(first), number_at(second)
        name = first.model.name if first.model else first.row_label
        benchmark = describe(first.benchmark)
        places = (
            f"{first.document} ({first.table.name}) prints {show_number(a)}, "
            f"{second.document} ({second.table.name}) prints {show_number(b)}"
            if first.document != second.document
            else (
                f"{first.table.name} prints {show_number(a)}, {second.table.name} of the same document "
                f"prints {show_number(b)}"
            )
        )
        text = f"{name} on {benchmark}: {places}"
        if allowance is not None:
            size = abs(b.value * factor - a.value)
            word = "more than" if size > allowance else "within"
            text += (
                f"; the difference of {size:.{a.decimals}f} is {word} what two independent evaluations "
                f"allow (±{allowance:.1f})"
            )
        settings = _settings(first, second)
        text += f"; settings: {settings}" if settings else ""
        text += f". This is information: {item.apart}" if item.apart else ""
        return f"{text}. Assumed: {item.reason}" if item.reason else text

    kind: ConflictType = "cross_document" if first.document != second.document else "cross_table"
    is_within = allowance is not None and item.difference is not None and abs(item.difference) <= allowance
    is_soft = item.is_soft or bool(item.reason) or is_within
    severity: Severity = "info" if item.apart or _UNSAID in item.reason else "warning" if is_soft else "error"
    return Check(kind, (first, second), (), holds, message, severity, doubt=item.doubt)


def _settings(first: Value, second: Value) -> str:
    """Return the shots and settings of both places as text; empty if they are alike or neither prints any."""
    settings = [", ".join(filter(None, [v.setting, f"{v.shots}-shot" if v.shots else ""])) for v in (first, second)]
    return "" if settings[0] == settings[1] else " against ".join(text or "not stated" for text in settings)


def describe(benchmark: BenchmarkName | None) -> str:
    """Write a benchmark with its variant and metric, as `IFEval (multilingual, strict-prompt)`."""
    if benchmark is None:
        return "an unnamed benchmark"
    extra = ", ".join(filter(None, [benchmark.variant[:60], benchmark.metric]))
    return f"{benchmark.name} ({extra})" if extra else benchmark.name


def sampling_allowance(first: Value, second: Value) -> float | None:
    """Return the 95 % half width of the difference of two independent evaluations of a proportion, in percent points.

    None where the number of items is not known, or the score is not a proportion (MT-Bench).
    """
    benchmark = first.benchmark
    if benchmark is None or benchmark.n is None or benchmark.top != 100.0:
        return None
    variance = 0.0
    for value in (first, second):
        rate = value.printed.value / (1.0 if value.printed.value <= 1 and value.printed.decimals >= 2 else 100.0)
        if not 0 <= rate <= 1:
            return None
        variance += rate * (1 - rate) / benchmark.n
    return 100 * _Z * math.sqrt(variance)
