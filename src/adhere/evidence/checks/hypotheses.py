"""Explain several findings by one cause: two cells exchanged, or a header that stands over the wrong columns.

A hypothesis repeats the checks that found the conflicts, with the numbers in other places. It is kept when it
removes conflicts and makes none; its evidence is the number of conflicts that it removes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adhere.evidence.checks.arithmetic import excess
from adhere.evidence.checks.checking import Check, Read, exchange, replace_numbers
from adhere.evidence.claims.printed import PrintedNumber
from adhere.evidence.claims.values import Sheet, Value

_FAR, _NEAR = 10.0, 5.0
MAX_NEIGHBOURS = 120
MAX_TRIALS = 60_000
MAX_CHECKS = 24
LEAST_ROTATED = 3
LEAST_SHARE = 0.8
MANY_COLUMNS = 6  # a mean of five numbers met in two rows is no accident
_EQUALITIES = frozenset({"cross_document", "cross_table"})


@dataclass(frozen=True, slots=True)
class Swap:
    """Names two cells whose exchange removes conflicts and makes none.

    `removed` are the failed checks that then hold; `left` are averages and bounds that hold only if other rows are
    exchanged as well.
    """

    one: Value
    other: Value
    removed: tuple[Check, ...]
    left: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Rotation:
    """Says that the labels of a header belong to the numbers of other columns.

    `moves[c]` is the column whose numbers belong under the label of column c. `removed` are the checks that then hold,
    `values` the numbers under a wrong label. `is_certain` is false for a mere suspicion.
    """

    sheet: Sheet
    moves: dict[int, int]
    removed: tuple[Check, ...]
    evidence: str
    values: tuple[Value, ...]
    is_certain: bool = True


# ── swaps ──


def find_swaps(checks: Sequence[Check], sheets: Iterable[Sheet]) -> list[Swap]:
    """Find exchanges of two cells of a row or column that explain failed checks; a cell takes part in at most one.

    An exchange must leave every check about both cells satisfied. It must remove two conflicts: both about these
    cells, or one in each of several rows where the same two columns are exchanged.
    """
    by_value: dict[int, list[Check]] = defaultdict(list)
    for check in sorted(checks, key=lambda check: not check.failed):
        for value in check.values:
            if len(by_value[id(value)]) < MAX_CHECKS:  # a number printed in a thousand places is asked about a few
                by_value[id(value)].append(check)
    neighbours = _Neighbours(sheets)
    swaps: dict[tuple[int, int], Swap] = {}
    trials = 0
    for check in checks:
        if not check.is_open:
            continue
        if trials > MAX_TRIALS:
            break
        for value in check.values:
            for other in neighbours.of(value):
                pair = (min(id(value), id(other)), max(id(value), id(other)))
                if pair in swaps:
                    continue
                trials += 1
                swap = _try_swap(value, other, by_value)
                if swap:
                    swaps[pair] = swap
    return _disjoint(list(swaps.values()), by_value)


class _Neighbours:
    """Finds the numbers in the same row and in the same column as a cell."""

    def __init__(self, sheets: Iterable[Sheet]) -> None:
        self._rows: dict[tuple[str, int, int], list[Value]] = defaultdict(list)
        self._columns: dict[tuple[str, int, int], list[Value]] = defaultdict(list)
        for sheet in sheets:
            for value in sheet.values():
                if value.is_firm:
                    self._rows[value.document, value.table.index, value.row].append(value)
                    self._columns[value.document, value.table.index, value.column].append(value)

    def of(self, value: Value) -> list[Value]:
        """Return the cells that could have been exchanged with `value`: numbers of its kind in its row and column.

        Near ones come first, those of the row before those of the column.
        """
        row = self._rows[value.document, value.table.index, value.row]
        column = self._columns[value.document, value.table.index, value.column]
        row = sorted(row, key=lambda other: abs(other.column - value.column))[: MAX_NEIGHBOURS + 1]
        column = sorted(column, key=lambda other: abs(other.row - value.row))[: MAX_NEIGHBOURS + 1]
        return [
            other
            for other in [*row, *column]
            if other is not value
            and other.role == value.role
            and other.printed.unit == value.printed.unit
            and other.printed.value != value.printed.value
        ]


def _try_swap(value: Value, other: Value, by_value: dict[int, list[Check]]) -> Swap | None:
    own_checks = {id(check): check for check in (*by_value[id(value)], *by_value[id(other)])}.values()
    number_at = exchange([(value, other)])
    removed_checks, open_checks = [], []
    for check in own_checks:
        if check.holds(number_at):
            if check.is_open:
                removed_checks.append(check)
        elif (check.kind == "arithmetic" and len(check.others) > 2) or (
            check.kind == "invariant" and check.severity == "warning"
        ):
            open_checks.append(check)  # an average or a bound may need the exchanges of other rows as well
        elif check.kind != "emphasis":  # marks may have moved with their numbers
            return None
    if not removed_checks:
        return None
    # Two conflicts, or one exact match with another place: the latter counts only if other rows repeat it
    # (`_disjoint`).
    firm = any(check.kind in _EQUALITIES and not check.doubt for check in removed_checks)
    if _weight(removed_checks) >= 2 or (firm and _is_exact(value, other)):
        return Swap(value, other, tuple(removed_checks), tuple(open_checks))
    return None


def _weight(removed_checks: Sequence[Check]) -> int:
    """Count the removed conflicts that prove something.

    Conflicts of marks, and of tables that measure different things, prove little and are not counted.
    """
    return sum(check.kind != "emphasis" and not check.doubt for check in removed_checks)


def _is_exact(value: Value, other: Value) -> bool:
    """Tell whether two cells have enough digits, and differ enough, for a match to be no accident."""
    digits = len(f"{abs(value.printed.value):.{value.printed.decimals}f}".replace(".", "").lstrip("0"))
    return digits >= 3 and abs(value.printed.value - other.printed.value) > 6 * value.printed.half


def _disjoint(swaps: list[Swap], by_value: dict[int, list[Check]]) -> list[Swap]:
    """Choose the best swaps so that no two share a cell or a removed conflict.

    A swap one of whose conflicts is explained already is tried again. Of two swaps that remove equally much, the one
    that repeats an exchange in other rows of the table goes first.
    """
    repeats = Counter(map(_lane, swaps))

    def rank(swap: Swap) -> tuple[float, ...]:
        exact = sum(check.kind in _EQUALITIES for check in swap.removed)
        distance = abs(swap.one.row - swap.other.row) + abs(swap.one.column - swap.other.column)
        return (-len(swap.removed), -exact, -repeats[_lane(swap)], swap.one.row != swap.other.row, distance)

    swapped_cells: set[int] = set()
    chosen: list[Swap] = []
    for swap in sorted(swaps, key=rank):
        weight = _weight(swap.removed)
        if {id(swap.one), id(swap.other)} & swapped_cells or (weight < 2 and repeats[_lane(swap)] < 2):
            continue
        free = [check for check in swap.removed if not check.absorbed]
        if len(free) < len(swap.removed) and _try_swap(swap.one, swap.other, by_value) is None:
            continue
        swapped_cells |= {id(swap.one), id(swap.other)}
        for check in free:
            check.absorbed = True
        chosen.append(swap)
    return _complete(chosen)


def _complete(chosen: list[Swap]) -> list[Swap]:
    """Drop swaps that leave an average wrong even when all swaps of the same two columns are made together."""
    complete_swaps = []
    for group in lanes(chosen).values():
        number_at = exchange([(swap.one, swap.other) for swap in group])
        for swap in group:
            if all(check.holds(number_at) for check in swap.left):
                for check in swap.left:
                    check.absorbed = True
                complete_swaps.append(replace(swap, removed=(*swap.removed, *swap.left), left=()))
            else:
                for check in swap.removed:
                    check.absorbed = False
    return complete_swaps


def _lane(swap: Swap) -> object:
    """Return a key for the two columns (or rows) that an exchange is between."""
    table = (swap.one.document, swap.one.table.index)
    if swap.one.row == swap.other.row:
        return (*table, "columns", *sorted((swap.one.column, swap.other.column)))
    return (*table, "rows", *sorted((swap.one.row, swap.other.row)))


def lanes(swaps: Iterable[Swap]) -> dict[object, list[Swap]]:
    """Group swaps by the pair of columns (or rows) that they exchange."""
    swaps_by_lane: dict[object, list[Swap]] = defaultdict(list)
    for swap in swaps:
        swaps_by_lane[_lane(swap)].append(swap)
    return swaps_by_lane


# ── headers ──


def find_rotations(sheets: Sequence[Sheet], checks: Sequence[Check]) -> list[Rotation]:
    """Find tables whose header labels fit other columns than those they stand over."""
    touching: dict[tuple[str, int], list[Check]] = defaultdict(list)
    for check in checks:
        for place in {(value.document, value.table.index) for value in check.values}:
            touching[place].append(check)
    rotations = []
    trials = 0
    for sheet in sheets:
        own = touching[sheet.document.name, sheet.table.index]
        trials += len(own) * sheet.table.width
        if trials > MAX_TRIALS:
            break
        rotation = _by_equalities(sheet, own) or _by_average(sheet, own)
        if rotation:
            for check in rotation.removed:
                check.absorbed = True
            rotations.append(rotation)
    return rotations


def _by_equalities(sheet: Sheet, checks: Sequence[Check]) -> Rotation | None:
    """Return a rotation if other columns than a label's own hold the numbers that other places print for the label."""
    own = (sheet.document.name, sheet.table.index)
    expectations: dict[int, list[tuple[Value, Check]]] = defaultdict(list)
    for check in checks:
        if check.kind in _EQUALITIES:
            mine = [value for value in check.values if (value.document, value.table.index) == own]
            if len(mine) == 1:
                expectations[mine[0].column].append((mine[0], check))
    failing = sum(check.is_open for group in expectations.values() for _, check in group)
    if failing < LEAST_ROTATED:
        return None
    columns = [c for c in range(sheet.first_column, sheet.table.width) if sheet.column_roles[c] != "attribute"]
    moves = {}
    for column, expected in expectations.items():
        counts = {c: _count_met(sheet, expected, c) for c in columns}
        best = max(columns, key=lambda c: (counts[c][0] - counts[c][1], c == column, -abs(c - column)))
        if counts[best][0] >= 1 and counts[best][0] >= LEAST_SHARE * sum(counts[best]):
            moves[column] = best
    real_moves = {column: source for column, source in moves.items() if column != source}
    n_explained = sum(_count_met(sheet, expectations[column], source)[0] for column, source in real_moves.items())
    if len(real_moves) < 2 or n_explained < LEAST_ROTATED or len(set(real_moves.values())) < len(real_moves):
        return None
    moves = _complete_moves(columns, moves)
    number_at = _move_columns(sheet, moves)
    # Sums and marks inside the table do not depend on what its columns are called.
    equalities = [check for check in checks if check.kind in _EQUALITIES]
    removed_checks = [check for check in equalities if check.is_open and check.holds(number_at)]
    broken_checks = [check for check in equalities if not check.failed and not check.holds(number_at)]
    after = [_count_met(sheet, group, moves.get(column, column)) for column, group in expectations.items()]
    still, total = sum(unmet for _, unmet in after), sum(map(sum, after))
    if (
        len(removed_checks) < LEAST_ROTATED
        or len(broken_checks) > 0.2 * len(removed_checks)
        or still > (1 - LEAST_SHARE) * total
    ):
        return None
    evidence = f"it removes {len(removed_checks)} of {failing} conflicts with other places" + (
        f" and makes {len(broken_checks)}" if broken_checks else " and makes none"
    )
    return Rotation(sheet, moves, tuple(removed_checks), evidence, _column_values(sheet, moves))


def _count_met(sheet: Sheet, expected: Sequence[tuple[Value, Check]], column: int) -> tuple[int, int]:
    """Count the expectations of a label that the numbers of a column meet, and those that they miss.

    An expectation is a value under the label and the check that compares it with another place. Rows without a number
    in the column count for neither.
    """
    n_met = n_missed = 0
    for value, check in expected:
        number = sheet.value(value.row, column)
        if number is not None:
            holds = check.holds(replace_numbers({id(value): number.printed}))
            n_met, n_missed = n_met + holds, n_missed + (not holds)
    return n_met, n_missed


def _complete_moves(columns: list[int], moves: dict[int, int]) -> dict[int, int]:
    """Return the moves of all columns if the known moves are one shift of the whole header, else the known ones.

    A cycle with one unknown move is closed.
    """
    size = len(columns)
    at = {column: index for index, column in enumerate(columns)}
    shifts = {(at[source] - at[column]) % size for column, source in moves.items() if column != source}
    still = [column for column, source in moves.items() if column == source]
    if len(shifts) == 1 and not still:
        return _turn(columns, shifts.pop())
    real_moves = {column: source for column, source in moves.items() if column != source}
    # A cycle needs every source to be a target; close it with the columns that nothing is known about.
    open_targets = [c for c in columns if c in real_moves.values() and c not in real_moves]
    open_sources = [c for c in columns if c in real_moves and c not in real_moves.values()]
    if len(open_targets) == 1 and len(open_sources) == 1:
        real_moves[open_targets[0]] = open_sources[0]
    return real_moves


def _turn(columns: list[int], shift: int) -> dict[int, int]:
    """Return the moves that turn a header by `shift` columns; the last columns follow the first ones."""
    return {column: columns[(index + shift) % len(columns)] for index, column in enumerate(columns)}


def _move_columns(sheet: Sheet, moves: dict[int, int]) -> Read:
    numbers: dict[int, PrintedNumber] = {}
    for (row, column), values in sheet.cells.items():
        source = sheet.value(row, moves.get(column, column))
        if len(values) == 1 and source is not None:
            numbers[id(values[0])] = source.printed
    return replace_numbers(numbers)


def _column_values(sheet: Sheet, moves: dict[int, int]) -> tuple[Value, ...]:
    return tuple(value for value in sheet.values() if value.column in moves and moves[value.column] != value.column)


def _by_average(sheet: Sheet, checks: Sequence[Check]) -> Rotation | None:
    """Return a rotation if the column that is the mean of the others is not the one called "Avg."."""
    columns = [
        c for c in range(sheet.first_column, sheet.table.width) if sheet.column_roles[c] in {"score", "aggregate"}
    ]
    average_columns = [c for c in columns if sheet.column_roles[c] == "aggregate"]
    if (
        len(average_columns) != 1
        or len(columns) < 4
        or any(
            c.kind == "arithmetic"
            and c.subjects[0].column == average_columns[0]
            and c.subjects[0].role == "aggregate"
            and not c.failed
            and len(c.others) > 2
            for c in checks
        )
    ):
        return None
    rows = [r for r in range(len(sheet.table.rows)) if all(sheet.value(r, c) for c in columns)]
    least = LEAST_ROTATED if len(columns) < MANY_COLUMNS else 2
    if len(rows) < least:
        return None
    hits = {c: sum(_is_mean(sheet, r, c, columns) for r in rows) for c in columns}
    best = max(columns, key=lambda c: hits[c])
    if (
        best == average_columns[0]
        or hits[best] < max(least, LEAST_SHARE * len(rows))
        or hits[average_columns[0]] > 0.2 * len(rows)
    ):
        return None
    moves = _turn(columns, columns.index(best) - columns.index(average_columns[0]))
    evidence = (
        f"the column under {sheet.column_labels[best]!r} is the mean of the others in {hits[best]} of {len(rows)} "
        f"rows, the one under {sheet.column_labels[average_columns[0]]!r} in {hits[average_columns[0]]}"
    )
    number_at = _move_columns(sheet, moves)
    removed_checks = tuple(check for check in checks if check.is_open and check.holds(number_at))
    return Rotation(sheet, moves, removed_checks, evidence, _column_values(sheet, moves))


def _is_mean(sheet: Sheet, row: int, column: int, columns: list[int]) -> bool:
    target = sheet.value(row, column)
    others = (sheet.value(row, c) for c in columns if c != column)
    members = [value.printed for value in others if value is not None]
    return target is not None and bool(members) and excess(target.printed, members, is_sum=False) <= 0


# ── headers of sets that only their authors have ──


def find_profile_rotations(sheets: Sequence[Sheet], already: Iterable[Rotation]) -> list[Rotation]:
    """Find suspect headers of in-house tables, by such tables in other documents.

    The numbers of two documents need not be equal, but one set and model should not be far apart. A header is suspect
    if one shift of it brings the numbers of every shared model nearer to those of the other document. Distances beyond
    10 points count as 10, since single sets may have been replaced. A suspicion is no proof: `is_certain` is false.
    """
    done = {id(rotation.sheet) for rotation in already}
    private = [sheet for sheet in sheets if sheet.is_private and sheet.models_in == "rows" and id(sheet) not in done]
    rotations: list[Rotation] = []
    for sheet in private:
        for other in private:
            if other.document is sheet.document or any(
                earlier.sheet is sheet or earlier.sheet is other for earlier in rotations
            ):
                continue
            for suspect, reference in ((sheet, other), (other, sheet)):
                rotation = _by_profile(suspect, reference)
                if rotation:  # either header may be the wrong one, so both are named
                    doubt = (
                        "nothing says which of the two headers is wrong (the other is that of "
                        f"{reference.document.name}, {reference.table.name})"
                    )
                    rotations.append(replace(rotation, evidence=f"{rotation.evidence}; {doubt}"))
    return rotations


def _by_profile(sheet: Sheet, other: Sheet) -> Rotation | None:
    columns = [c for c in range(sheet.first_column, sheet.table.width) if sheet.column_roles[c] == "score"]
    theirs = {
        (v.model.key, v.benchmark.key): v.printed.value
        for v in other.values()
        if v.model and v.benchmark and v.role == "score"
    }
    rows: list[tuple[int, dict[int, float]]] = []
    for row in range(len(sheet.table.rows)):
        numbers = {}
        for column in columns:
            value = sheet.value(row, column)
            if value and value.model and value.benchmark and (value.model.key, value.benchmark.key) in theirs:
                numbers[column] = theirs[value.model.key, value.benchmark.key]
        if len(numbers) >= 3:
            rows.append((row, numbers))
    if len(rows) < 3:
        return None

    def gap(row: int, column: int, number: float) -> float:
        value = sheet.value(row, column)
        return min(abs(value.printed.value - number), _FAR) if value else _FAR

    # By shift of the header: for each row, how far its numbers are from those of the other document.
    turned = [_turn(columns, shift) for shift in range(len(columns))]
    gaps = [
        [[gap(row, moves[column], number) for column, number in numbers.items()] for row, numbers in rows]
        for moves in turned
    ]
    sums = [sum(map(sum, by_row)) for by_row in gaps]
    best = min(range(len(columns)), key=lambda shift: sums[shift])
    if best == 0 or sums[best] > 0.75 * sums[0]:
        return None
    if any(sum(now) >= sum(before) for now, before in zip(gaps[best], gaps[0], strict=True)):
        return None
    cells = sum(len(numbers) for _, numbers in rows)
    before, now = (sum(gap <= _NEAR for row in gaps[shift] for gap in row) for shift in (0, best))
    moves = turned[best]
    evidence = (
        f"of {cells} cells that {other.document.name}, {other.table.name} prints for the same {len(rows)} models "
        f"under the same headings, {before} are within {_NEAR:g} points as printed and {now} "
        "with the header turned"
    )
    return Rotation(sheet, moves, (), evidence, _column_values(sheet, moves), is_certain=False)
