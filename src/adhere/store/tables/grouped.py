"""Count many Runs at once by model, from their Parquet if it is current, else from their segments.

Without Parquet, a finished Run's counts come from its summary, which exists only beside the very rows that it counts.
Of an unfinished Run every row is read; the Parquet makes that fast.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from adhere.errors import IntegrityError, MissingExtra
from adhere.extras import need
from adhere.schema import Outcome, Prompt, Record, Status, decode
from adhere.store.files import read_regular
from adhere.store.run import Key
from adhere.store.summary import Rate, Summary
from adhere.store.tables.cells import Cell, Journal, Reader
from adhere.store.tables.compact import FILES, FOLDER, Origin, Tally, made_from, tally, whats_stale


class Share(Record, frozen=True):
    """Holds `passed` of the `n` that were measured."""

    passed: int
    n: int

    @property
    def rate(self) -> float | None:
        """Share that passed; None if nothing was measured."""
        return self.passed / self.n if self.n else None


class Group(Record, frozen=True):
    """Counts one model on one suite; see Accounting and SliceScore for the words.

    `run` is the folder of the Run, empty while there is none; `missing` is then None, for what was asked is not known.
    """

    model: str
    suite: str
    run: str
    ok: int
    truncated: int
    empty: int
    refused: int
    error: int
    missing: int | None
    prompt_strict: Share
    instruction_strict: Share
    prompt_loose: Share
    instruction_loose: Share


class GroupedCounts(NamedTuple):
    """Holds all groups, sorted by model, suite and run.

    Attributes:
        groups: The groups.
        source: What the groups were counted from.
        reason: Why they were not counted from the Parquet; empty if they were.
    """

    groups: list[Group]
    source: str
    reason: str


_STATUSES: tuple[Status, ...] = ("ok", "truncated", "empty", "refused", "error")


def group_counts(directory: Path) -> GroupedCounts:
    """Count by model, suite and Run.

    Args:
        directory: Directory of a Run, a sweep, or Runs.

    Raises:
        UsageError: There is nothing to count.
        IntegrityError: A manifest or the prompts are damaged.
    """
    try:
        origin = made_from(directory)
        reason = whats_stale(directory, origin)
    except MissingExtra as error:
        return GroupedCounts(from_segments(directory), "segments", str(error))
    if origin is None or reason:
        return GroupedCounts(from_segments(directory), "segments", reason)
    return GroupedCounts(_from_parquet(directory, origin), "parquet", "")


def from_segments(directory: Path, *, use_summaries: bool = True) -> list[Group]:
    """Count without any Parquet; with `use_summaries` False, count every row itself.

    Raises:
        UsageError: There is nothing to count.
        IntegrityError: A manifest or the prompts are damaged.
    """
    reader = Reader(directory)
    cells, journal = reader.cells()
    groups: list[Group] = []
    for cell in cells:
        spots = journal.get(cell.place, {}) if cell.place is not None else {}
        statuses = Counter(spot.status for spot in spots.values())
        if cell.run is None:
            groups.append(_group(cell, statuses, [], None))
            continue
        summary = _summary(cell.run) if use_summaries else None
        if summary is not None and (not spots or statuses == _statuses(summary)):
            groups.append(_of_summary(cell, summary))
        else:
            groups.append(_count_cell(cell, *_whole(reader, cell, journal), reader.prompts(cell)))
        if cell.whole is not None and len(groups) > 1 and _name(groups[-2]) == _name(groups[-1]):
            last = groups.pop()
            groups.append(_together(groups.pop(), last))
    return groups


def _name(group: Group) -> tuple[str, str, str]:
    return group.model, group.suite, group.run


def _together(group: Group, other: Group) -> Group:
    """Add the counts of two shards of one Run, which asked different prompts."""
    counts = [getattr(group, name) + getattr(other, name) for name in (*_STATUSES, "missing")]
    pairs = ((getattr(group, name), getattr(other, name)) for name in Group.__struct_fields__[9:])
    return Group(*_name(group), *counts, *(Share(a.passed + b.passed, a.n + b.n) for a, b in pairs))


def _from_parquet(directory: Path, origin: Origin) -> list[Group]:
    """Count by DuckDB. A conversation's answers are one trial of `prompt_…`, its constraints trials of `instruction_…`.

    As in `pipeline.outcomes`, a known fail is a fail; without one every constraint must be decided.
    """
    duckdb = need("duckdb", extra="parquet")
    statuses = ", ".join(f"count(*) FILTER (status = '{status}')" for status in _STATUSES)
    whole = "wanted > 0 AND judged >= wanted"
    file = str(directory / FOLDER / FILES[0])
    counts = duckdb.execute(
        f"SELECT model, suite, run, {statuses} FROM read_parquet(?) GROUP BY ALL",  # noqa: S608 - the statuses are ours
        [file],
    ).fetchall()
    rates = duckdb.execute(
        f"""
        WITH conversations AS (
            SELECT model, suite, run, max(constraints) AS wanted, sum(judged) AS judged,
                   sum(strict_passed) AS strict_passed, sum(strict_undecided) AS strict_undecided,
                   sum(loose_passed) AS loose_passed, sum(loose_undecided) AS loose_undecided
            FROM read_parquet(?) GROUP BY model, suite, run, prompt_id, draw
        )
        SELECT model, suite, run,
               count(*) FILTER ({whole} AND strict_passed = judged),
               count(*) FILTER (({whole} AND strict_undecided = 0) OR strict_passed + strict_undecided < judged),
               sum(strict_passed), sum(judged - strict_undecided),
               count(*) FILTER ({whole} AND loose_passed = judged),
               count(*) FILTER (({whole} AND loose_undecided = 0) OR loose_passed + loose_undecided < judged),
               sum(loose_passed), sum(judged - loose_undecided)
        FROM conversations GROUP BY ALL
        """,  # noqa: S608
        [file],
    ).fetchall()
    status_of = {row[:3]: Counter(dict(zip(_STATUSES, row[3:], strict=True))) for row in counts}
    rates_of = {row[:3]: tuple(map(int, row[3:])) for row in rates}
    groups = []
    for cell in origin.cells:
        name = (cell.model, cell.suite, cell.run)
        groups.append(_make_group(name, cell.asked, status_of.get(name, Counter()), rates_of.get(name, (0,) * 8)))
    return groups


def _make_group(
    name: tuple[str, str, str], n_asked: int | None, statuses: Mapping[Status, int], rates: Sequence[int]
) -> Group:
    """Make a group; `rates` are passed and n of prompts and instructions, strict and then loose."""
    counts = [statuses.get(status, 0) for status in _STATUSES]
    missing = None if n_asked is None else n_asked - sum(counts)
    shares = [Share(rates[at], rates[at + 1]) for at in (0, 2, 4, 6)]
    return Group(*name, *counts, missing, *shares)  # type: ignore[call-arg, arg-type]


def _count_cell(
    cell: Cell,
    statuses: Mapping[Key, Status],
    outcomes: Mapping[tuple[Key, int, str], Outcome],
    prompts: Sequence[Prompt],
) -> Group:
    return _group(
        cell,
        Counter(statuses.values()),
        list(zip(statuses, tally(statuses.items(), outcomes, prompts), strict=True)),
        prompts,
    )


def _group(
    cell: Cell, statuses: Counter[Status], tallies: Sequence[tuple[Key, Tally]], prompts: Sequence[Prompt] | None
) -> Group:
    """Count a cell from tallies, as `_from_parquet` does."""
    conversations: dict[tuple[str, int], list[Tally]] = defaultdict(list)
    for (prompt_id, _, draw), turn_tally in tallies:
        conversations[prompt_id, draw].append(turn_tally)
    rates = [0] * 8
    for turns in conversations.values():
        n_constraints, n_judged = turns[0].constraints or 0, sum(turn.judged for turn in turns)
        for at, passed, n_undecided in (
            (0, sum(turn.strict_passed for turn in turns), sum(turn.strict_undecided for turn in turns)),
            (4, sum(turn.loose_passed for turn in turns), sum(turn.loose_undecided for turn in turns)),
        ):
            is_whole = n_constraints > 0 and n_judged >= n_constraints
            rates[at] += is_whole and passed == n_judged
            rates[at + 1] += (is_whole and not n_undecided) or passed + n_undecided < n_judged
            rates[at + 2] += passed
            rates[at + 3] += n_judged - n_undecided
    return _make_group((cell.model, cell.suite, cell.name), cell.count_asked(prompts), statuses, rates)


def _of_summary(cell: Cell, summary: Summary) -> Group:
    counts, score = summary.accounting, summary.overall

    def share(rate: Rate) -> Share:
        return Share(rate.passed, rate.n)

    return Group(
        cell.model, cell.suite, cell.name, ok=counts.ok, truncated=counts.truncated, empty=counts.empty,
        refused=counts.refused, error=counts.error, missing=counts.missing,
        prompt_strict=share(score.prompt_strict), instruction_strict=share(score.instruction_strict),
        prompt_loose=share(score.prompt_loose), instruction_loose=share(score.instruction_loose),
    )  # fmt: skip


def _statuses(summary: Summary) -> Counter[Status]:
    return Counter({status: count for status in _STATUSES if (count := getattr(summary.accounting, status))})


def _summary(run: Path) -> Summary | None:
    """Return the summary of a Run; None if the Run is not finished."""
    try:
        return decode(read_regular(run / "summary.json"), Summary)
    except FileNotFoundError:
        return None
    except IntegrityError as error:
        raise IntegrityError(f"{run / 'summary.json'}: {error}") from error


def _whole(reader: Reader, cell: Cell, spots: Journal) -> tuple[dict[Key, Status], dict[tuple[Key, int, str], Outcome]]:
    responses = reader.responses(cell, spots)
    outcomes = {name: verdict.outcome for name, verdict in reader.verdicts(cell, responses).items()}
    return {key: response.status for key, response in responses.items()}, outcomes
