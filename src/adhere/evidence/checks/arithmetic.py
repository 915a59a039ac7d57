"""Recompute averages, sums, differences and shares.

What an "Avg." averages is rarely said. So each way that it could have been formed is tried on every line of the table,
and the way that holds on most lines is taken as the rule; lines that break it are findings. Where no way holds on at
least half of the lines (and on two), nothing is concluded: the average may be over tasks that the table does not show.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adhere.evidence.checks.checking import Check, Read, as_printed, round_number, show_number
from adhere.evidence.claims.names import is_role, metric_in
from adhere.evidence.claims.printed import EPSILON, PrintedNumber
from adhere.evidence.claims.values import SPECIAL_AVERAGE, Sheet, Value

LEAST_LINES = 2
LEAST_SHARE = 0.5
LEAST_SHARE_OF_TRIMMED = 0.6
FEW_LINES = 3
LEAST_MEMBERS = 4
_AVERAGES = ("avg", "average", "mean")
NEAR_MEAN = 3.0
NEAR = 0.01
_PLAIN_AVERAGES = frozenset({"avg", "average", "mean", "平均", "平均分", "平均值"})
MAX_MEMBERS = 60


@dataclass(slots=True)
class _Line:
    """Holds the numbers of one row or column of a table, by their position along it; `index` is which row or column."""

    index: int
    numbers: dict[int, Value]


@dataclass(slots=True)
class _Axis:
    """Describes one axis of a table: its positions with labels, roles and groups, and the lines that run along it.

    `word` names such a line: "row" if the positions are columns, "column" if they are rows.
    """

    sheet: Sheet
    labels: list[str]
    roles: list[str]
    groups: list[str]
    lines: list[_Line]
    word: str


def arithmetic_checks(sheet: Sheet) -> list[Check]:
    """Return a check of every average, sum, difference and share whose rule could be found."""
    checks: list[Check] = []
    averages: list[Check] = []
    beside: list[Check] = []
    for axis in _axes(sheet):
        for position, role in enumerate(axis.roles):
            if role == "aggregate":
                averages += _aggregate(axis, position)
            elif role == "delta":
                checks += _delta(axis, position)
            elif role == "share":
                checks += _share(axis, position)
        checks += _hundreds(axis)
        beside += _beside(axis)
    # A difference that fits along one axis is no error along the other, where a few fit by chance.
    fitting = {id(check.subjects[0]) for check in beside if check.holds(as_printed)}
    checks += [check for check in beside if check.holds(as_printed) or id(check.subjects[0]) not in fitting]
    near = [check for check in averages if _misses_by_little(check)]
    if len(near) > 1 and _may_be_weighted(averages):
        for check in near:
            check.severity = "warning"
    return averages + checks


def _misses_by_little(check: Check) -> bool:
    mean = _sum_or_mean([value.printed for value in check.others], is_sum=False)
    return not check.holds(as_printed) and abs(check.subjects[0].printed.value - mean) < NEAR * abs(mean)


def _may_be_weighted(averages: Sequence[Check]) -> bool:
    """Tell whether, wherever an average misses by little, one set of weights explains all of its kind.

    Averages of one kind are over the same members. Weights w ≥ 0 with Σw = 1 and |Σ wᵢxᵢ − average| ≤ rounding on each
    line:
    a linear programme without an objective.
    """
    from scipy.optimize import linprog  # takes 0.3 s, and few documents need it

    groups: dict[tuple[int, ...], list[Check]] = defaultdict(list)
    for check in averages:
        groups[_members(check)].append(check)
    for checks in groups.values():
        if not any(map(_misses_by_little, checks)):
            continue
        rows, bounds = [], []
        for check in checks:
            average, values = check.subjects[0].printed, [value.printed for value in check.others]
            tolerance = average.half + max(value.half for value in values) + EPSILON
            numbers = [value.value for value in values]
            rows += [numbers, [-number for number in numbers]]
            bounds += [average.value + tolerance, tolerance - average.value]
        count = len(rows[0])
        if not linprog([0.0] * count, rows, bounds, [[1.0] * count], [1.0], bounds=(0, 1)).success:
            return False
    return True


def _members(check: Check) -> tuple[int, ...]:
    """Return the axis of an average (0: along a row), then the positions on it of the average and its members."""
    subject = check.subjects[0]
    if all(value.row == subject.row for value in check.others):
        return (0, subject.column, *(value.column for value in check.others))
    return (1, subject.row, *(value.row for value in check.others))


def _axes(sheet: Sheet) -> Iterator[_Axis]:
    numbers = {place: values[0] for place, values in sheet.cells.items() if len(values) == 1 and values[0].is_firm}
    columns = list(range(sheet.first_column, sheet.table.width))
    rows = range(len(sheet.table.rows))
    upper = [" ".join(header[c] for header in sheet.table.headers[:-1]) for c in range(sheet.table.width)]
    across = [
        _Line(r, {c: numbers[r, c] for c in columns if (r, c) in numbers})
        for r in rows
        # A row of differences may print its signs as colours: their mean says nothing.
        if sheet.row_roles[r] not in {"attribute", "delta"} or not sheet.models_in
    ]
    yield _Axis(sheet, sheet.column_labels, [str(role) for role in sheet.column_roles], upper, across, "row")
    down = [_Line(c, {r: numbers[r, c] for r in rows if (r, c) in numbers}) for c in columns]
    # A share or difference column holds other units than the rows' label says; it is not averaged downwards.
    # Nor is a count beside measures: `macro avg` of `F1` and `Support`.
    is_measured = bool(sheet.models_in) or any(map(metric_in, sheet.column_labels))
    down = [line for line in down if sheet.column_roles[line.index] in {"score", "aggregate"} or not is_measured]
    sections = [row.section for row in sheet.table.rows]
    yield _Axis(sheet, sheet.row_labels, [str(role) for role in sheet.row_roles], sections, down, "column")


# ── averages and sums ──


def _aggregate(axis: _Axis, position: int) -> list[Check]:
    label = axis.labels[position]
    about = f"{label} {axis.sheet.table.caption} {' '.join(note.text for note in axis.sheet.table.notes)}"
    if SPECIAL_AVERAGE.search(about):
        return []
    sums = [False] if not is_role("sum", label) else [True, False]
    if not is_role("sum", label) and not any(word in label.lower() for word in _AVERAGES):
        sums = [False, True]
    best: tuple[float, int, tuple[int, ...], bool] | None = None
    for rank, (members, is_trimmed) in enumerate(_compositions(axis, position)):
        for is_sum in sums:
            hits, trials = _votes(axis, position, members, is_sum=is_sum)
            share = hits / trials if trials else 0.0
            # In a table of three lines two may be wrong at once: when two of their cells were exchanged. Then the
            # errors cancel.
            is_exchange = (
                not is_trimmed
                and hits >= 1
                and trials <= FEW_LINES
                and _cancels(axis, position, members, is_sum=is_sum)
            )
            # In a table of two or three lines one exact mean of all other columns is no accident where there are
            # several of them.
            is_plain = rank == 0 and not is_sum and hits >= 1 and trials <= FEW_LINES and len(members) >= LEAST_MEMBERS
            if not (is_exchange or is_plain) and (
                hits < LEAST_LINES or share < (LEAST_SHARE_OF_TRIMMED if is_trimmed else LEAST_SHARE)
            ):
                continue
            if best is None or share > best[0] + EPSILON:
                best = (share, -rank, members, is_sum)
    if best is None:
        return _near_total(axis, position) or _near_mean(axis, position)
    _, _, members, is_sum = best
    checks = [
        _aggregate_check(line, position, members, is_sum=is_sum)
        for line in axis.lines
        if position in line.numbers and sum(member in line.numbers for member in members) >= 2
        if not (is_sum and _lies_among(line, position, members))
    ]
    is_of_items = re.search(r"overall|\ball\b", label.lower()) and not any(word in label.lower() for word in _AVERAGES)
    for check in checks if len(members) == 2 and is_of_items and not is_sum else ():
        check.severity = "warning"  # `Overall` of two classes is weighted wherever they are not equally large
    return checks


def _lies_among(line: _Line, position: int, members: tuple[int, ...]) -> bool:
    """Tell whether an aggregate lies between its members' least and greatest value, so that it is no sum of rates.

    Below counts, `Total` may be the rate of the whole.
    """
    values = [line.numbers[member].printed.value for member in members if member in line.numbers]
    return len(values) >= LEAST_MEMBERS and 0 <= min(values) <= line.numbers[position].printed.value < max(values)


def _near_mean(axis: _Axis, position: int) -> list[Check]:
    """Return a check of the only average of a one-line table if it lies near the mean of all other numbers.

    A failure is a warning, since the average may be weighted.
    """
    members, is_trimmed = next(iter(_compositions(axis, position)), ((), True))
    complete_lines = list(_complete_lines(axis, position, members))
    label = axis.labels[position].strip(" .").lower()
    if is_trimmed or len(members) < LEAST_MEMBERS or len(complete_lines) != 1 or label not in _PLAIN_AVERAGES:
        return []
    line, average, values = complete_lines[0]
    if abs(average.value - _sum_or_mean(values, is_sum=False)) > NEAR_MEAN:
        return []
    check = _aggregate_check(line, position, members, is_sum=False)
    check.severity = "warning"
    return [check]


def _near_total(axis: _Axis, position: int) -> list[Check]:
    """Return checks of a "Total" of whole counts that misses their sum by less than 10 %.

    So near a sum it is hardly the total of other things.
    """
    if not is_role("sum", axis.labels[position]):
        return []
    members, is_trimmed = next(iter(_compositions(axis, position)), ((), True))
    if is_trimmed or len(members) < 3:
        return []
    checks = []
    for line, aggregate, values in _complete_lines(axis, position, members):
        total = _sum_or_mean(values, is_sum=True)
        # A row called `count` is none of the scores, and yet a part of the whole.
        parts = [value.printed for at, value in line.numbers.items() if axis.roles[at] != "aggregate"]
        if excess(aggregate, parts, is_sum=True) <= 0:
            continue
        if not any(value.decimals for value in values) and abs(aggregate.value - total) < 0.1 * abs(total):
            checks.append(_aggregate_check(line, position, members, is_sum=True))
    return checks


def _compositions(axis: _Axis, position: int) -> list[tuple[tuple[int, ...], bool]]:
    """Return the sets of positions whose numbers an aggregate could be formed of, the most natural first.

    A set has 2 to `MAX_MEMBERS` positions. The second part says whether it was cut short at one end.
    """
    scores = [
        p for p, role in enumerate(axis.roles) if role == "score" and any(p in line.numbers for line in axis.lines)
    ]
    aggregates = [p for p, role in enumerate(axis.roles) if role == "aggregate"]
    before = max((p for p in aggregates if p < position), default=-1)
    after = min((p for p in aggregates if p > position), default=len(axis.roles))
    left = tuple(p for p in scores if before < p < position)
    right = tuple(p for p in scores if position < p < after)
    group = axis.groups[position]
    same = tuple(p for p in scores if group and axis.groups[p] == group)
    natural = [same, left, right, tuple(scores), tuple(p for p in aggregates if p < position)]
    cuts = (slice(1, None), slice(2, None)), (slice(None, -1), slice(None, -2))
    trimmed = [run[cut] for at_one_end in cuts for run in (same, left, right) for cut in at_one_end]
    is_trimmed = dict.fromkeys(natural, False) | {run: True for run in trimmed if run not in natural}
    return [(run, cut) for run, cut in is_trimmed.items() if 2 <= len(run) <= MAX_MEMBERS]


def _complete_lines(
    axis: _Axis, position: int, members: tuple[int, ...]
) -> Iterator[tuple[_Line, PrintedNumber, list[PrintedNumber]]]:
    """Yield the lines with a number at `position` and at all `members`: the line, that number, the members' numbers."""
    places = {position, *members}
    for line in axis.lines:
        if places <= line.numbers.keys():
            yield line, line.numbers[position].printed, [line.numbers[member].printed for member in members]


def _votes(axis: _Axis, position: int, members: tuple[int, ...], *, is_sum: bool) -> tuple[int, int]:
    """Count the lines whose aggregate is formed of `members` as supposed, and all lines that could show it."""
    hits = trials = 0
    for _, aggregate, values in _complete_lines(axis, position, members):
        if any(value.value for value in values):  # of zeros any weights give 0
            trials += 1
            hits += excess(aggregate, values, is_sum=is_sum) <= 0
    return hits, trials


def _cancels(axis: _Axis, position: int, members: tuple[int, ...], *, is_sum: bool) -> bool:
    """Tell whether exactly two lines fail, by the same amount in opposite directions."""
    gaps, tolerance = [], 0.0
    for _, aggregate, values in _complete_lines(axis, position, members):
        if excess(aggregate, values, is_sum=is_sum) > 0:
            gaps.append(aggregate.value - _sum_or_mean(values, is_sum=is_sum))
            tolerance += 2 * aggregate.half
    return len(gaps) == 2 and abs(sum(gaps)) <= tolerance + EPSILON


def _sum_or_mean(members: Sequence[PrintedNumber], *, is_sum: bool) -> float:
    total = sum(member.value for member in members)
    return total if is_sum else total / len(members)


def excess(aggregate: PrintedNumber, members: Sequence[PrintedNumber], *, is_sum: bool) -> float:
    """Return how far an aggregate is off beyond what rounding allows; at most 0 if it agrees with its members."""
    is_count = is_sum and not any(member.decimals for member in members)
    halves = 0.0 if is_count else sum(member.half for member in members)  # integers are counts, not rounded numbers
    count = 1 if is_sum else len(members)
    return abs(aggregate.value - _sum_or_mean(members, is_sum=is_sum)) - aggregate.half - halves / count - EPSILON


def _aggregate_check(line: _Line, position: int, members: tuple[int, ...], *, is_sum: bool) -> Check:
    subject = line.numbers[position]
    present = tuple(line.numbers[member] for member in members if member in line.numbers)
    missing = len(members) - len(present)
    word = "sum" if is_sum else "mean"

    def holds(number_at: Read) -> bool:
        return excess(number_at(subject), [number_at(value) for value in present], is_sum=is_sum) <= 0

    def message(number_at: Read) -> str:
        values = [number_at(value) for value in present]
        computed = _sum_or_mean(values, is_sum=is_sum)
        text = (
            f"{subject.place}: prints {show_number(number_at(subject))}, but the {word} of its {len(present)} numbers "
            f"({', '.join(show_number(value) for value in values[:12])}{', …' if len(values) > 12 else ''}) is "
            f"{round_number(computed, number_at(subject), more=1)}"
        )
        if missing:
            text += f"; {missing} of the {len(members)} cells hold no number, so one may have been lost"
        return text

    off = excess(subject.printed, [value.printed for value in present], is_sum=is_sum)
    slight = off <= subject.printed.half + EPSILON

    return Check("arithmetic", (subject,), present, holds, message, "warning" if slight or missing else "error")


# ── differences ──

_Formula = Callable[[float, float], float]


def _relative(a: float, b: float) -> float:
    return 100.0 * (b - a) / a if a else float("inf")


_FORMULAS: dict[str, _Formula] = {
    "{b} − {a}": lambda a, b: b - a,
    "{a} − {b}": lambda a, b: a - b,
    "|{b} − {a}|": lambda a, b: abs(b - a),
    "({b} − {a}) / {a}, in %": _relative,
    "({a} − {b}) / {b}, in %": lambda a, b: _relative(b, a),
}


def _delta(axis: _Axis, position: int) -> list[Check]:
    best: tuple[float, str, tuple[int, int]] | None = None
    best_trials = 0
    for pair in _pairs(axis, position):
        for name, formula in _FORMULAS.items():
            hits, trials = _pair_votes(axis, position, pair, formula)
            # Signs can be lost on a line or two; only where they fail more often is the column one of sizes.
            share = (hits - 2 * name.startswith("|")) / trials if trials else 0.0
            if hits >= LEAST_LINES and share >= 0.5 and (best is None or share > best[0] + EPSILON):
                best, best_trials = (share, name, pair), trials
    ablation, share = _ablation(axis, position)
    if best is None or share > best[0] + EPSILON or (ablation and not best_trials):
        return ablation
    _, name, (first, second) = best
    checks = []
    for line in axis.lines:
        if {position, first, second} <= line.numbers.keys():
            check = _delta_check(line.numbers[position], line.numbers[first], line.numbers[second], name)
            if check.holds(as_printed) or not _is_to_the_best(axis, line, position, (first, second), _FORMULAS[name]):
                checks.append(check)
    return checks


def _is_to_the_best(axis: _Axis, line: _Line, position: int, pair: tuple[int, int], formula: _Formula) -> bool:
    """Tell whether a difference that misses with its pair fits a member of the pair and another column.

    The other column is the one with the best or the worst number among the rest.
    """
    scores = {p: line.numbers[p].printed for p, role in enumerate(axis.roles) if role == "score" and p in line.numbers}
    difference = line.numbers[position].printed
    for member in pair:
        others = sorted((n for p, n in scores.items() if p != member), key=lambda number: number.value)
        for other in (*others[-1:], *others[:1]):
            mine = line.numbers[member].printed
            a, b = (mine, other) if member == pair[0] else (other, mine)
            if _delta_off(difference, a, b, formula) <= 0:
                return True
    return False


def _ablation(axis: _Axis, position: int) -> tuple[list[Check], float]:
    """Return checks of a column of differences between rows, and the share of all such checks that hold.

    A difference is a row's number minus that of the first row, or of the row above. All difference columns of the table
    vote on which of the two is meant; the checks are those of the column at `position`.
    """
    deltas = [p for p, role in enumerate(axis.roles) if role == "delta"]
    best: tuple[list[Check], float] = ([], 0.0)
    for is_first in (True, False):
        own: list[Check] = []
        every: list[Check] = []
        for delta in deltas:
            checks = _row_differences(axis, delta, is_first=is_first)
            every += checks
            own = checks if delta == position else own
        hits = sum(check.holds(as_printed) for check in every)
        share = hits / len(every) if every else 0.0
        if hits >= LEAST_LINES and share >= 0.5 and share > best[1]:
            best = (own, share)
    own, share = best
    # A column of which not one difference holds is to another row (`Δ vs replication` beside `Δ vs baseline`).
    return (own, share) if len(own) < 2 or any(check.holds(as_printed) for check in own) else ([], share)


def _row_differences(axis: _Axis, delta: int, *, is_first: bool) -> list[Check]:
    beside = max((p for p, role in enumerate(axis.roles) if role == "score" and p < delta), default=None)
    if beside is None or beside == 0:
        return []
    lines = [line for line in axis.lines if beside in line.numbers]
    checks = []
    for index, line in enumerate(lines[1:], start=1):
        base = lines[0] if is_first else lines[index - 1]
        if delta in line.numbers:
            checks.append(_delta_check(line.numbers[delta], base.numbers[beside], line.numbers[beside], "{b} − {a}"))
    return checks


def _pairs(axis: _Axis, position: int) -> list[tuple[int, int]]:
    group = axis.groups[position]
    scores = [
        p
        for p, role in enumerate(axis.roles)
        if role in {"score", "aggregate"} and any(p in line.numbers for line in axis.lines)
    ]
    near = [p for p in scores if axis.groups[p] == group] if group else scores
    near = near if len(near) >= 2 else scores  # a group of models above one column and its difference
    near = sorted(near, key=lambda p: abs(p - position))[:6]
    pairs = [(a, b) for a in sorted(near) for b in sorted(near) if a < b]
    return sorted(pairs, key=lambda pair: abs(pair[0] - position) + abs(pair[1] - position))


def _pair_votes(axis: _Axis, position: int, pair: tuple[int, int], formula: _Formula) -> tuple[int, int]:
    hits = trials = 0
    shifts = [0]
    # Further difference columns with the same label obey the same rule (one per model).
    for other, role in enumerate(axis.roles):
        if (
            role == "delta"
            and other != position
            and axis.labels[other].split()[-1:] == axis.labels[position].split()[-1:]
        ):
            shifts.append(other - position)
    for line in axis.lines:
        for shift in shifts:
            places = (position + shift, pair[0] + shift, pair[1] + shift)
            if all(place in line.numbers for place in places):
                trials += 1
                difference, a, b = (line.numbers[place].printed for place in places)
                hits += _delta_off(difference, a, b, formula) <= 0
    return hits, trials


def _delta_off(difference: PrintedNumber, a: PrintedNumber, b: PrintedNumber, formula: _Formula) -> float:
    """Return how far a difference is off beyond rounding; at most 0 if it agrees with `a` and `b`.

    Rounding of the operands is taken into account by the corners of their intervals.
    """
    corners = [formula(a.value + i * a.half, b.value + j * b.half) for i in (-1, 1) for j in (-1, 1)]
    centre = formula(a.value, b.value)
    reach = max(abs(corner - centre) for corner in corners)
    return abs(difference.value - centre) - difference.half - reach - EPSILON


def _delta_check(subject: Value, a: Value, b: Value, name: str) -> Check:
    formula = _FORMULAS[name]

    def holds(number_at: Read) -> bool:
        return _delta_off(number_at(subject), number_at(a), number_at(b), formula) <= 0

    def message(number_at: Read) -> str:
        computed = formula(number_at(a).value, number_at(b).value)
        text = (
            f"{subject.place}: prints {show_number(number_at(subject))}, but "
            f"{name.format(a=show_number(number_at(a)), b=show_number(number_at(b)))} "
            f"is {round_number(computed, number_at(subject))}"
        )
        if abs(computed + number_at(subject).value) <= number_at(subject).half + EPSILON:
            text += " (the sign is lost)"
        return text

    return Check("arithmetic", (subject,), (a, b), holds, message)


def _beside(axis: _Axis) -> list[Check]:
    """Return checks of differences printed behind scores (`70.6 (−0.1)`); empty if they fit neither of two readings.

    A difference is to the first number of the line, or to the number before. All lines vote on which of the two is
    meant.
    """
    best: list[Check] = []
    best_share = 0.0
    for is_first in (True, False):
        checks = []
        for line in axis.lines:
            numbers = [line.numbers[p] for p in sorted(line.numbers)]
            for index, value in enumerate(numbers[1:], start=1):
                if value.printed.beside is not None:
                    checks.append(_beside_check(value, numbers[0] if is_first else numbers[index - 1]))
        hits = sum(check.holds(as_printed) for check in checks)
        share = hits / len(checks) if checks else 0.0
        if hits >= LEAST_LINES and share >= LEAST_SHARE_OF_TRIMMED and share > best_share:
            best, best_share = checks, share
    return best


def _beside_check(value: Value, base: Value) -> Check:
    beside = value.printed.beside

    def holds(number_at: Read) -> bool:
        tolerance = 0.5 * 10.0 ** -(beside.decimals if beside else 0) + number_at(value).half + number_at(base).half
        difference = beside.value if beside else 0.0
        return abs(difference - (number_at(value).value - number_at(base).value)) <= tolerance + EPSILON

    def message(number_at: Read) -> str:
        computed = number_at(value).value - number_at(base).value
        return (
            f"{value.place}: prints {beside.value if beside else 0:+g} beside {show_number(number_at(value))}, but "
            f"{show_number(number_at(value))} − {show_number(number_at(base))} "
            f"is {round_number(computed, number_at(value))}"
        )

    return Check("arithmetic", (value,), (base,), holds, message)


# ── shares ──


def _share(axis: _Axis, position: int) -> list[Check]:
    """Return checks of a column of shares (count / total), with a column of counts and a printed or summed total.

    Empty if no column of counts makes at least half of the shares right.
    """
    lines = [line for line in axis.lines if position in line.numbers]
    roles = axis.sheet.row_roles if axis.word == "row" else []
    total_lines = {index for index, role in enumerate(roles) if role == "aggregate"}
    for counts in range(len(axis.labels)):
        rows = [line for line in lines if counts in line.numbers and counts != position]
        if len(rows) < 3 or any(line.numbers[counts].printed.decimals for line in rows):
            continue
        parts = [line for line in rows if line.index not in total_lines]
        printed_total = next((line.numbers[counts] for line in rows if line.index in total_lines), None)
        total = (
            printed_total.printed.value if printed_total else sum(line.numbers[counts].printed.value for line in parts)
        )
        checks = [
            _share_check(line.numbers[position], line.numbers[counts], printed_total, total) for line in parts if total
        ]
        hits = sum(check.holds(as_printed) for check in checks)
        if hits >= LEAST_LINES and hits >= 0.5 * len(checks):
            return checks
    return []


def _share_check(subject: Value, count: Value, printed_total: Value | None, total: float) -> Check:
    def expected(number_at: Read) -> float:
        whole = number_at(printed_total).value if printed_total else total
        scale = (
            100.0 if subject.printed.unit == "%" or subject.printed.value > 1 or "%" in subject.column_label else 1.0
        )
        return scale * number_at(count).value / whole if whole else float("inf")

    def holds(number_at: Read) -> bool:
        return abs(number_at(subject).value - expected(number_at)) <= number_at(subject).half + EPSILON

    def message(number_at: Read) -> str:
        return (
            f"{subject.place}: prints {show_number(number_at(subject))}, but "
            f"{show_number(number_at(count))} of {total:g} is {round_number(expected(number_at), number_at(subject))}"
        )

    others = (count, printed_total) if printed_total else (count,)
    return Check("arithmetic", (subject,), others, holds, message)


def _hundreds(axis: _Axis) -> list[Check]:
    """Return a check of each line that its numbers add up to 100 (win, tie, loss).

    Empty unless at least three lines, and 60 % of all, do so.
    """
    positions = [p for p, role in enumerate(axis.roles) if role in {"score", "share"}]
    full = [line for line in axis.lines if len(positions) >= 2 and all(p in line.numbers for p in positions)]
    if len(full) < 3 or len(positions) > 8:
        return []
    checks = [_hundred_check(tuple(line.numbers[p] for p in positions), axis.word) for line in full]
    hits = sum(check.holds(as_printed) for check in checks)
    return checks if hits >= max(3, 0.6 * len(checks)) else []


def _hundred_check(members: tuple[Value, ...], word: str) -> Check:
    def holds(number_at: Read) -> bool:
        return (
            abs(sum(number_at(value).value for value in members) - 100)
            <= sum(number_at(value).half for value in members) + EPSILON
        )

    def message(number_at: Read) -> str:
        total = sum(number_at(value).value for value in members)
        return (
            f"{members[0].place}: the shares of this {word} "
            f"({', '.join(show_number(number_at(value)) for value in members)}) make "
            f"{round_number(total, number_at(members[0]))}, not 100 as the others do"
        )

    return Check("arithmetic", members, (), holds, message)
