"""The same number in two places: do they agree, do they differ, or may they not be compared?"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adhere.evidence.checks.authors import Authors
from adhere.evidence.checks.checking import Check, ConflictType, Read, Severity, as_printed, show_number
from adhere.evidence.claims.names import BenchmarkName
from adhere.evidence.claims.printed import Printed, agree
from adhere.evidence.claims.values import Value

Standing = Literal["agree", "differ", "not comparable"]
_VERSION = re.compile(r"v?\d[\d.\s-]*")
_SEVERAL_METRICS = frozenset({"ifeval", "alpacaeval", "alpacaeval2"})
_UNSAID = "one place does not say whether the model is base or instruct"
_Z = 1.959964
LEAST_AGREEING = 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two places that print a number for one model on one benchmark.

    `difference` is second minus first, in the first one's unit. `allowed` is the 95 % half width of the difference of two
    independent evaluations, where the number of items is known.
    """

    first: Value
    second: Value
    standing: Standing
    reason: str
    difference: float | None = None
    allowed: float | None = None


def comparisons(
    values: Iterable[Value], plain_means: set[str], authors: Mapping[str, Authors]
) -> tuple[list[Comparison], list[Check]]:
    """Every number that is printed more than once, compared; and the checks (equality) of those that may be compared.

    Averages take part only where they are known (by id, `plain_means`) to be plain means of their table: weighted ones differ
    without a fault. `authors` says whose each document is: only what one laboratory prints twice can be an error. Each number is compared with the one that most places agree on, so the work is linear in the numbers.
    """
    buckets: dict[tuple[str, str, str], list[Value]] = defaultdict(list)
    for value in values:
        if value.model and value.benchmark and value.is_firm and (value.role == "score" or value.id in plain_means):
            buckets[value.model.key, value.benchmark.key, _setting_key(value.setting)].append(value)
    found: list[Comparison] = []
    checks: list[Check] = []
    for bucket in buckets.values():
        if len({(value.document, value.table.index) for value in bucket}) < 2:
            continue
        _compare_bucket(bucket, found, checks, authors)
    _doubt_different_tables(checks)
    doubted = {(check.subjects[0].id, check.subjects[1].id) for check in checks if check.doubt}
    return [item for item in found if (item.first.id, item.second.id) not in doubted], checks


def _doubt_different_tables(checks: Iterable[Check]) -> None:
    """Take two tables of a document as one measurement only where they share several cells and most of them agree.

    They often hold the same models on the same benchmarks and differ in what their headings say: thinking
    or not, five-shot or zero-shot, another language. The same is asked of a single model and of a single benchmark: where
    all that two tables print for one of them differs, they mean another checkpoint or another split.
    """
    tables: dict[tuple[object, ...], list[Check]] = defaultdict(list)
    lines: dict[tuple[object, ...], list[Check]] = defaultdict(list)
    for check in checks:
        one, other = check.subjects
        if one.document != other.document:
            continue
        place = (one.document, one.table.index, other.table.index)
        tables[place].append(check)
        lines[(*place, "model", one.model and one.model.key)].append(check)
        lines[(*place, "benchmark", one.benchmark and one.benchmark.key)].append(check)
    for key, members in lines.items():
        agreeing, count = _agreeing(members), len(members)
        if key[3] == "model" and agreeing >= LEAST_AGREEING and agreeing > count / 2:
            for check in members:
                check.is_repeated = True
        elif not agreeing and count >= LEAST_AGREEING:
            _doubt(members, f"agree in 0 of the {count} cells that they share for this {key[3]}")
    for members in tables.values():
        agreeing, count = _agreeing(members), len(members)
        if agreeing >= LEAST_AGREEING and agreeing > count / 2:
            continue
        # A row that is printed again among others that differ, or one of two cells: worth a look, and no more.
        again = members if agreeing and 2 * agreeing >= count else [check for check in members if check.is_repeated]
        for check in again:
            check.severity = "warning" if check.severity == "error" else check.severity
        known = {id(check) for check in again}
        _doubt(
            [check for check in members if id(check) not in known],
            f"agree in {agreeing} of the {count} cells that they share",
        )


def _agreeing(checks: Iterable[Check]) -> int:
    return sum(check.holds(as_printed) for check in checks)


def _doubt(checks: Iterable[Check], why: str) -> None:
    for check in checks:
        check.doubt = f"the two tables {why}"


def _setting_key(setting: str) -> str:
    return " ".join(sorted(re.findall(r"[a-z0-9.]+", setting.lower())))


def _compare_bucket(
    bucket: Sequence[Value], found: list[Comparison], checks: list[Check], authors: Mapping[str, Authors]
) -> None:
    classes: dict[tuple[str, ...], list[Value]] = defaultdict(list)
    for value in bucket:
        classes[_class(value)].append(value)
    for members in classes.values():
        reference = _most_agreed(members)
        for value in members:
            if value is reference or value.table is reference.table:
                continue
            first, second = sorted((reference, value), key=lambda v: (v.document, v.line))
            _compare(first, second, "", found, checks, authors)
    heads = [_most_agreed(members) for members in classes.values()]
    for index, first in enumerate(heads):
        for second in heads[index + 1 : index + 5]:
            if first.table is second.table:
                continue
            standing, reason = _comparable(first, second)
            if standing == "not comparable":
                if first.model and second.model and {first.model.tuning, second.model.tuning} != {"base", "instruct"}:
                    found.append(Comparison(first, second, "not comparable", reason))
            else:
                _compare(first, second, reason, found, checks, authors)


def _class(value: Value) -> tuple[str, ...]:
    model, benchmark = value.model, value.benchmark
    if model is None or benchmark is None:
        return ()
    private = value.document if value.is_private else ""
    return (model.tuning, benchmark.variant.lower(), benchmark.metric, value.shots, private)


def _most_agreed(values: Sequence[Value]) -> Value:
    counts: dict[float, int] = defaultdict(int)
    for value in values:
        counts[round(value.printed.value, 1)] += 1
    return max(values, key=lambda value: (counts[round(value.printed.value, 1)], -value.line))


def _comparable(first: Value, second: Value) -> tuple[Standing, str]:  # noqa: PLR0911 -- one return a reason
    """Whether numbers of two classes may be compared; a reason with `agree` says what had to be assumed."""
    one, other = first.benchmark, second.benchmark
    if first.model is None or second.model is None or one is None or other is None:
        return "not comparable", "no model or benchmark"
    if first.model.tuning and second.model.tuning and first.model.tuning != second.model.tuning:
        return "not comparable", f"{first.model.tuning} model against {second.model.tuning} model"
    tunings = {first.model.tuning, second.model.tuning}
    if len(tunings) > 1 and "instruct" in tunings and first.document == second.document:
        # A document that writes -Chat where it means the tuned model means another one where it does not.
        return "not comparable", "the document writes the tuned model's suffix in one place and not in the other"
    if (first.is_private or second.is_private) and first.document != second.document:
        return "not comparable", "a set that only its authors have: nothing says that both documents used the same one"
    assumed = []
    if first.model.tuning != second.model.tuning:
        assumed.append(_UNSAID)
    if first.shots and second.shots and first.shots != second.shots:
        return "not comparable", f"{first.shots}-shot against {second.shots}-shot"
    standing, reason = _same_benchmark(one, other)
    if standing == "not comparable":
        return standing, reason
    return "agree", "; ".join(filter(None, [*assumed, reason]))


def _same_benchmark(one: BenchmarkName, other: BenchmarkName) -> tuple[Standing, str]:
    if one.variant.lower() != other.variant.lower():
        if one.variant and other.variant:
            return "not comparable", f"different versions of {one.name}: {one.variant} and {other.variant}"
        stated = one.variant or other.variant
        if not _VERSION.fullmatch(stated):
            return "not comparable", f"{one.name} {stated} is another set than {one.name}"
        return "agree", f"one place does not say that it is version {stated}"
    if one.metric != other.metric:
        if one.metric and other.metric:
            return "not comparable", f"different metrics: {one.metric} and {other.metric}"
        if one.key in _SEVERAL_METRICS:
            return "agree", f"one place does not say that it is {one.metric or other.metric}"
    return "agree", ""


def _compare(  # noqa: PLR0917 -- the parts of one comparison
    first: Value,
    second: Value,
    assumed: str,
    found: list[Comparison],
    checks: list[Check],
    authors: Mapping[str, Authors],
) -> None:
    factor = _scale_factor(first, second)
    allowed = sampling_allowance(first, second)
    is_equal = agree(first.printed, _scaled(second.printed, factor))
    difference = second.printed.value * factor - first.printed.value
    standing: Standing = "agree" if is_equal else "differ"
    found.append(Comparison(first, second, standing, assumed, difference, allowed))
    kind: ConflictType = "cross_document" if first.document != second.document else "cross_table"
    whose = (authors.get(first.document), authors.get(second.document))
    apart = ""
    if first.document != second.document and whose[0] and whose[1] and not whose[0].shared(whose[1]):
        apart = f"two laboratories' documents ({whose[0].shown}; {whose[1].shown}): each may have run it itself"
    checks.append(_equality(first, second, factor, kind, assumed, allowed, apart))


def _scale_factor(first: Value, second: Value) -> float:
    """100 where the second prints fractions and the first percent, 0.01 the other way round."""
    one, other = first.printed, second.printed
    if one.unit == other.unit == "%":
        return 1.0
    if other.value <= 1 < one.value and other.decimals >= 2 and one.value <= 100 and agree(one, _scaled(other, 100.0)):
        return 100.0
    if one.value <= 1 < other.value and one.decimals >= 2 and other.value <= 100 and agree(one, _scaled(other, 0.01)):
        return 0.01
    return 1.0


def _scaled(number: Printed, factor: float) -> Printed:
    if factor == 1.0:
        return number
    shift = 2 if factor > 1 else -2
    return number._replace(value=number.value * factor, decimals=max(number.decimals - shift, 0))


def _equality(  # noqa: PLR0917 -- the parts of one comparison
    first: Value, second: Value, factor: float, kind: ConflictType, assumed: str, allowed: float | None, apart: str
) -> Check:
    def holds(read: Read) -> bool:
        return agree(read(first), _scaled(read(second), factor))

    def message(read: Read) -> str:
        a, b = read(first), read(second)
        name = first.model.name if first.model else first.row_label
        benchmark = described(first.benchmark)
        places = (
            f"{first.document} ({first.table.name}) prints {show_number(a)}, {second.document} ({second.table.name}) prints {show_number(b)}"
            if first.document != second.document
            else f"{first.table.name} prints {show_number(a)}, {second.table.name} of the same document prints {show_number(b)}"
        )
        text = f"{name} on {benchmark}: {places}"
        if allowed is not None:
            size = abs(b.value * factor - a.value)
            word = "more than" if size > allowed else "within"
            text += f"; the difference of {size:.{a.decimals}f} is {word} what two independent evaluations allow (±{allowed:.1f})"
        text += f"; settings: {settings}" if settings else ""
        text += f". This is information: {apart}" if apart else ""
        return f"{text}. Assumed: {assumed}" if assumed else text

    settings = _settings(first, second)
    difference = abs(second.printed.value * factor - first.printed.value)
    is_within = allowed is not None and difference <= allowed
    severity: Severity = "info" if apart or _UNSAID in assumed else "warning" if assumed or is_within else "error"
    return Check(kind, (first, second), (), holds, message, severity)


def _settings(first: Value, second: Value) -> str:
    """Shots and settings of both places, where either prints any."""
    said = [", ".join(filter(None, [v.setting, f"{v.shots}-shot" if v.shots else ""])) for v in (first, second)]
    return " against ".join(text or "not stated" for text in said) if any(said) and said[0] != said[1] else ""


def described(benchmark: BenchmarkName | None) -> str:
    """`IFEval (multilingual, strict-prompt)`."""
    if benchmark is None:
        return "an unnamed benchmark"
    extra = ", ".join(filter(None, [benchmark.variant[:60], benchmark.metric]))
    return f"{benchmark.name} ({extra})" if extra else benchmark.name


def sampling_allowance(first: Value, second: Value) -> float | None:
    """The 95 % half width of the difference of two independent evaluations of a proportion, in percent points.

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
