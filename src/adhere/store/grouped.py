"""Counts by model of many Runs at once: from their Parquet if it is current, else from their segments.

From segments the quickest honest way is taken for each Run: its summary, which stands only beside the very rows that it
counts; else rows without their texts; else, where rows were damaged or answered twice, everything, because only a text
says which verdicts are about it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from adhere.errors import IntegrityError, MissingExtra
from adhere.extras import need
from adhere.schema import Outcome, Prompt, Record, Status, View, decode
from adhere.store.cells import BLOCK_BYTES, Cell, Journal, Reader
from adhere.store.compact import FILES, FOLDER, Made, Tally, made_from, tally, whats_stale
from adhere.store.run import Key, all_keys
from adhere.store.summary import Rate, Summary

T = TypeVar("T")


class Share(Record, frozen=True):
    """`passed` of the `n` that were measured."""

    passed: int
    n: int

    @property
    def rate(self) -> float | None:
        """None where nothing was measured."""
        return self.passed / self.n if self.n else None


class Group(Record, frozen=True):
    """One model on one suite; see Accounting and SliceScore for the words.

    `run` is the folder of the Run, empty while there is none; then `missing` is None, for what was asked is not known.
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


class Grouped(NamedTuple):
    """All groups, sorted by model, suite and run.

    Attributes:
        groups: See Group.
        source: What they were counted from.
        reason: Why not from the Parquet; empty: they were.
    """

    groups: list[Group]
    source: str
    reason: str


class _Call(msgspec.Struct, gc=False):
    """A stored Response without its text."""

    prompt_id: str
    turn: int
    draw: int
    status: Status


class _JournalCall(msgspec.Struct, gc=False):
    model: str
    suite: int
    response: _Call


class _Mark(msgspec.Struct, gc=False):
    """A stored Verdict without what it says."""

    prompt_id: str
    turn: int
    draw: int
    index: int
    view: View
    outcome: Outcome


_STATUSES: tuple[Status, ...] = ("ok", "truncated", "empty", "refused", "error")


def grouped(directory: Path) -> Grouped:
    """Counts by model, suite and Run.

    Args:
        directory: Of a Run, a sweep, or Runs.

    Raises:
        UsageError: There is nothing to count.
        IntegrityError: A manifest or the prompts are damaged.
    """
    try:
        made = made_from(directory)
        reason = whats_stale(directory, made)
    except MissingExtra as error:
        return Grouped(from_segments(directory), "segments", str(error))
    if made is None or reason:
        return Grouped(from_segments(directory), "segments", reason)
    return Grouped(_from_parquet(directory, made), "parquet", "")


def from_segments(directory: Path, *, use_summaries: bool = True) -> list[Group]:
    """Counts without any Parquet; `use_summaries` False counts every row itself.

    Raises:
        UsageError: There is nothing to count.
        IntegrityError: A manifest or the prompts are damaged.
    """
    reader = Reader(directory)
    found = reader.found()
    journal = _journal(found.journal, reader) if found.journal is not None else {}
    spots: Journal | None = None
    groups = []
    for cell in reader.with_journal(found, journal):
        noted = journal.get(cell.place) if cell.place is not None else None
        if cell.run is None:
            groups.append(_group(cell, Counter((noted or {}).values()), [], None))
            continue
        summary = _summary(cell.run) if use_summaries else None
        if summary is not None and (noted is None or Counter(noted.values()) == _statuses(summary)):
            groups.append(_of_summary(cell, summary))
            continue
        rows = None if noted else _narrow(cell.run, reader.prompts(cell), cell)
        if rows is None:
            if spots is None:
                spots = reader.journal(found.journal) if found.journal is not None else {}
            rows = _whole(reader, cell, spots)
        groups.append(_counted(cell, *rows, reader.prompts(cell)))
    return groups


def _from_parquet(directory: Path, made: Made) -> list[Group]:
    """One question to DuckDB. Answers of one conversation are one trial of `prompt_…`, and several of `instruction_…`."""
    duckdb = need("duckdb", extra="parquet")
    statuses = ", ".join(f"count(*) FILTER (status = '{status}')" for status in _STATUSES)
    measured = "wanted > 0 AND judged >= wanted AND"
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
               count(*) FILTER ({measured} strict_undecided = 0 AND strict_passed = judged),
               count(*) FILTER ({measured} strict_undecided = 0),
               sum(strict_passed), sum(judged - strict_undecided),
               count(*) FILTER ({measured} loose_undecided = 0 AND loose_passed = judged),
               count(*) FILTER ({measured} loose_undecided = 0),
               sum(loose_passed), sum(judged - loose_undecided)
        FROM conversations GROUP BY ALL
        """,  # noqa: S608
        [file],
    ).fetchall()
    status_of = {row[:3]: Counter(dict(zip(_STATUSES, row[3:], strict=True))) for row in counts}
    rates_of = {row[:3]: tuple(map(int, row[3:])) for row in rates}
    groups = []
    for cell in made.cells:
        name = (cell.model, cell.suite, cell.run)
        groups.append(_made(name, cell.asked, status_of.get(name, Counter()), rates_of.get(name, (0,) * 8)))
    return groups


def _made(name: tuple[str, str, str], asked: int | None, statuses: Mapping[Status, int], rates: Sequence[int]) -> Group:
    """`rates` are passed and n of prompts and instructions, strict and then loose."""
    counts = [statuses.get(status, 0) for status in _STATUSES]
    missing = None if asked is None else asked - sum(counts)
    shares = [Share(rates[at], rates[at + 1]) for at in (0, 2, 4, 6)]
    return Group(*name, *counts, missing, *shares)  # type: ignore[call-arg, arg-type]


def _counted(
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
    """Counts as `_from_parquet` does."""
    conversations: dict[tuple[str, int], list[Tally]] = defaultdict(list)
    for (prompt_id, _, draw), one in tallies:
        conversations[prompt_id, draw].append(one)
    rates = [0] * 8
    for turns in conversations.values():
        wanted, judged = turns[0].constraints or 0, sum(one.judged for one in turns)
        for at, passed, undecided in (
            (0, sum(one.strict_passed for one in turns), sum(one.strict_undecided for one in turns)),
            (4, sum(one.loose_passed for one in turns), sum(one.loose_undecided for one in turns)),
        ):
            if wanted and judged >= wanted and not undecided:
                rates[at] += passed == judged
                rates[at + 1] += 1
            rates[at + 2] += passed
            rates[at + 3] += judged - undecided
    asked = None
    if prompts is not None and cell.manifest is not None:
        asked = cell.manifest.spec.draws * sum(len(prompt.turns) for prompt in prompts)
    return _made((cell.model, cell.suite, cell.name), asked, statuses, rates)


def _of_summary(cell: Cell, summary: Summary) -> Group:
    counts, score = summary.accounting, summary.overall

    def share(rate: Rate) -> Share:
        return Share(rate.passed, rate.n)

    return Group(
        cell.model, cell.suite, cell.name, counts.ok, counts.truncated, counts.empty, counts.refused, counts.error,
        counts.missing, share(score.prompt_strict), share(score.instruction_strict), share(score.prompt_loose),
        share(score.instruction_loose),
    )  # fmt: skip


def _statuses(summary: Summary) -> Counter[Status]:
    return Counter({status: count for status in _STATUSES if (count := getattr(summary.accounting, status))})


def _summary(run: Path) -> Summary | None:
    """None: the Run is not finished."""
    try:
        return decode((run / "summary.json").read_bytes(), Summary)
    except FileNotFoundError:
        return None
    except IntegrityError as error:
        raise IntegrityError(f"{run / 'summary.json'}: {error}") from error


def _narrow(
    run: Path, prompts: Sequence[Prompt], cell: Cell
) -> tuple[dict[Key, Status], dict[tuple[Key, int, str], Outcome]] | None:
    """Statuses and outcomes without any text; None where only texts can tell which rows count."""
    assert cell.manifest is not None  # noqa: S101
    known = frozenset(all_keys(prompts, cell.manifest.spec.draws))
    statuses: dict[Key, Status] = {}
    for call in _rows(run / "responses", _Call):
        if call is None:
            return None
        key = (call.prompt_id, call.turn, call.draw)
        if statuses.get(key, "error") != "error" or key not in known:
            return None
        statuses[key] = call.status
    outcomes: dict[tuple[Key, int, str], Outcome] = {}
    for mark in _rows(run / "verdicts", _Mark):
        if mark is None:
            return None
        outcomes[(mark.prompt_id, mark.turn, mark.draw), mark.index, mark.view] = mark.outcome
    return statuses, outcomes


def _whole(reader: Reader, cell: Cell, spots: Journal) -> tuple[dict[Key, Status], dict[tuple[Key, int, str], Outcome]]:
    responses = reader.responses(cell, spots)
    outcomes = {name: verdict.outcome for name, verdict in reader.verdicts(cell, responses).items()}
    return {key: response.status for key, response in responses.items()}, outcomes


def _journal(folder: Path, reader: Reader) -> dict[tuple[str, int], dict[Key, Status]]:
    """The status of every answer of a sweep's journal, by (model, number of the suite)."""
    found: dict[tuple[str, int], dict[Key, Status]] = defaultdict(dict)
    for entry in _rows(folder, _JournalCall):
        if entry is None:
            spots = Reader(reader.root).journal(folder)
            return {place: {key: spot.status for key, spot in cell.items()} for place, cell in spots.items()}
        call, known = entry.response, found[entry.model, entry.suite]
        key = (call.prompt_id, call.turn, call.draw)
        if call.status != "error" or known.get(key, "error") == "error":
            known[key] = call.status
    return found


def _rows(folder: Path, kind: type[T]) -> Iterator[T | None]:
    """The rows of all segments, oldest first; None where one holds a line that cannot be read, and then no more."""
    decoder = msgspec.json.Decoder(kind)
    for path in sorted(folder.glob("*.jsonl")):
        for data in _pieces(path):
            try:
                rows = decoder.decode_lines(data)
            except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
                rows = []
            if len(rows) != data.count(b"\n"):
                yield None
                return
            yield from rows


def _pieces(path: Path) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time; an unfinished last one stands alone and without its end."""
    rest = b""
    with path.open("rb") as file:
        while data := file.read(BLOCK_BYTES):
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if end:
                yield data[:end]
    if rest:
        yield b"\n"  # no row on one line: whoever reads takes the careful way


__all__ = ["Group", "Grouped", "Share", "from_segments", "grouped"]
