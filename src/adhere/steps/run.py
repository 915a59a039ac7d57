"""Do the work of `--engine`: plan shards, let an engine do those that are missing, and add up the records."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from adhere import __version__
from adhere.build.decontaminate.counts import FileResult, count_up
from adhere.build.decontaminate.rows import BlockMatches, Decontaminate
from adhere.errors import Incomplete, UsageError
from adhere.lines.places import is_remote, write_place
from adhere.lines.step import Counts, Step
from adhere.progress import Progress, Silent
from adhere.schema import Record, content_hash, convert, encode
from adhere.steps.engines import EngineName, do_each
from adhere.steps.shards import SHARD_BYTES, Plan, ShardDone, Source, Work, make_plan, record_of
from adhere.suites.base import Suite
from adhere.verify.answers import Verification, added_up
from adhere.verify.rows import Desk, TalliedBlock


class Manifest(Record, frozen=True):
    """Holds the result for all files: read = kept + dropped + broken.

    `sha256` is over sources and shards: equal rows, equal hash.
    """

    version: int
    adhere: str
    step: str
    engine: EngineName
    sources: tuple[Source, ...]
    counts: Counts
    shards: tuple[ShardDone, ...]
    sha256: str
    seconds: float


def run_shards(
    step: Step,
    patterns: Sequence[str],
    out: str,
    *,
    engine: EngineName = "local",
    jobs: int = 1,
    shard_bytes: int = SHARD_BYTES,
    progress: Progress | None = None,
) -> Manifest:
    """Run a step over files of any number and place; shards that `out` holds are not done again.

    Args:
        step: The step that decides what becomes of rows.
        patterns: Files, patterns or URLs that fsspec reads.
        out: A folder, or a URL that fsspec writes to; every worker must see it.
        engine: The engine that does the shards.
        jobs: See `engines.do_each`.
        shard_bytes: Approximate size of a shard.
        progress: Where to report.

    Raises:
        UsageError: A pattern names no file, or there are no rows.
        RunMismatch: `out` holds the work of another step, or on other files.
        AdhereError: The step raises it; finished shards stay.
    """
    progress, start_s = progress or Silent(), time.monotonic()
    plan = make_plan(step, tuple(patterns), out, shard_bytes=shard_bytes)
    work = Work(step, plan.key, out)
    # datatrove numbers its ranks by place and keeps its own completions, so it is told of all shards each time.
    missing = [shard for shard in plan.shards if record_of(out, plan.key, shard) is None]
    if len(missing) < len(plan.shards):
        progress.say(f"{len(plan.shards) - len(missing)} of {len(plan.shards)} shards are done already in {out}")
    with progress.step(step.kind, len(plan.shards), "shards", done=len(plan.shards) - len(missing)) as bar:
        for _ in do_each(
            work,
            plan.shards if engine == "datatrove" else missing,
            engine=engine,
            jobs=jobs,
            logs=f"{out}/logs",
            purpose=f"{step.kind} ",
        ):
            bar.advance()
    return _manifest(plan, step, engine, out, time.monotonic() - start_s)


def _manifest(plan: Plan, step: Step, engine: EngineName, out: str, seconds: float) -> Manifest:
    records = [record_of(out, plan.key, shard) for shard in plan.shards]
    done_records = [record for record in records if record is not None]
    if len(done_records) < len(records):
        raise Incomplete(
            f"{len(records) - len(done_records)} of {len(records)} shards are not done, though {engine} says so. "
            f"If {out}/done was deleted, delete {out}/logs too, and run the same command again"
        )
    counts = sum((record.counts for record in done_records), Counts())
    if not counts.read:
        raise UsageError(f"{', '.join(source.place for source in plan.sources)}: no rows")
    hashes = (
        [(source.place, source.bytes) for source in plan.sources],
        [(record.sha256, record.files) for record in done_records],
    )
    bare = tuple(msgspec.structs.replace(record, notes=()) for record in done_records)
    manifest = Manifest(
        1, __version__, step.kind, engine, plan.sources, counts, bare, content_hash(list(hashes)), round(seconds, 1)
    )
    for leftover in [] if is_remote(out) else Path(out).glob("*/.*.tmp"):  # by a worker that died
        leftover.unlink(missing_ok=True)
    with write_place(f"{out}/manifest.json") as write:
        write(encode(manifest) + b"\n")
    return msgspec.structs.replace(manifest, shards=tuple(done_records))


def notes(manifest: Manifest, kind: type[Any]) -> Iterator[tuple[ShardDone, Any]]:
    """Yield (the shard's record, note) for the note of every block, read as `kind`, in the order of the files."""
    for record in manifest.shards:
        for note in record.notes:
            yield record, convert(note, kind)


def sha256_of_sources(manifest: Manifest) -> str:
    """Return the sha256 of the source's lines, uncompressed; for several sources or shards, a hash of their hashes."""
    parts: list[str] = []
    for source in manifest.sources:
        of_shards = [record.sha256 for record in manifest.shards if record.shard.place == source.place]
        parts += of_shards if source.sha256 is None else [source.sha256]
    return parts[0] if len(parts) == 1 else content_hash(parts)


def count_decontamination(step: Decontaminate, manifest: Manifest) -> FileResult:
    """Return the counts of `adhere decontaminate` over all shards."""
    drop_counts: Counter[str] = Counter()
    touched_items: set[int] = set()
    for _, note in notes(manifest, BlockMatches):
        drop_counts.update(note.dropped)
        touched_items.update(note.items)
    return count_up(
        step.settings,
        rows=manifest.counts.read,
        drop_counts=dict(drop_counts),
        touched_items=sorted(touched_items),
        skipped=manifest.counts.broken,
        skipped_lines=[problem for shard in manifest.shards for problem in shard.problems],
        sha256=sha256_of_sources(manifest),
    )


def count_verification(desk: Desk, suite: Suite, manifest: Manifest) -> Verification:
    """Return the numbers of `adhere verify` over all shards.

    Raises:
        SpecError: Two rows, perhaps of two shards, answer the same prompt.
    """
    before: dict[str, int] = {}  # of each file: how many lines the files before it have
    last: dict[str, int] = {record.shard.place: record.last_line for record in manifest.shards}
    for place in last:
        before[place] = sum(last[other] for other in before)
    starts, places = list(before.values()), list(before)

    def where(line: int) -> str:
        at = bisect_left(starts, line) - 1
        return f"{places[at]}:{line - starts[at]}"

    tallies = (note.judged(before[record.shard.place]) for record, note in notes(manifest, TalliedBlock))
    name = manifest.sources[0].place if len(manifest.sources) == 1 else f"{len(manifest.sources)} files"
    return added_up(desk, suite, tallies, name=name, sha256=sha256_of_sources(manifest), where=where)
