"""Find the rows of a Run, of a sweep or of a directory of Runs, and which of them count.

A *cell* is one model on one suite: a Run, or in a running sweep the journal's answers of a model that has no Run yet.
Rows are chosen as `store.run` chooses them, in the order of the segments' names: the last answer counts, a failed call
never replaces one, and a verdict about another text is left out. Rows of a Run go before the journal's. The journal may
have more: answers that came since, or twice, from two processes that ran the same sweep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.schema import Failure, Prompt, Record, Response, Status, decode, decoder_of, read_prompts
from adhere.store.files import sha256_of
from adhere.store.manifest import Manifest
from adhere.store.run import Key, StoredVerdict, all_keys, answer_hash
from adhere.store.segments import Damage
from adhere.store.sharded import ShardedRun
from adhere.store.shelf import SHARDED

BLOCK_BYTES = 16 << 20
T = TypeVar("T", bound=Record)
Rank = tuple[bool, bool, str, int]
"""(is an answer, is in the Run, segment's name, line). Of the rows with one key, the greatest rank counts."""


class Cell(NamedTuple):
    """Names one model on one suite, and where its rows lie.

    Attributes:
        model: Name of the model in the Run.
        suite: The suite's name.
        run: The Run's directory; None while there is no Run.
        place: (model, number of the suite) under which the sweep's journal has it; None outside of sweeps.
        manifest: Manifest of the Run.
        whole: Directory of the sharded Run of which `run` is a shard.
    """

    model: str
    suite: str
    run: Path | None
    place: tuple[str, int] | None
    manifest: Manifest | None
    whole: Path | None = None

    @property
    def name(self) -> str:
        """Name of the Run's folder, the same for all shards; empty while there is no Run."""
        folder = self.whole or self.run
        return folder.name if folder is not None else ""

    def count_asked(self, prompts: Sequence[Prompt] | None) -> int | None:
        """Return how many answers the Run with these prompts asks for; None while there is no Run."""
        if prompts is None or self.manifest is None:
            return None
        return self.manifest.spec.draws * sum(len(prompt.turns) for prompt in prompts)


class _SweepSpec(Record, frozen=True, forbid_unknown_fields=False):
    """Holds the needed fields of `sweep.json`; `suites` are (name, version, sha256)."""

    base_url: str
    suites: tuple[tuple[str, str, str], ...]


class Entry(Record, frozen=True):
    """Holds one answer of a sweep's journal: the model, the suite (its place in the spec), and the answer."""

    model: str
    suite: int
    response: Response


class Spot(NamedTuple):
    """Says where in the journal the row that counts lies."""

    rank: Rank
    status: Status
    failure: Failure | None
    path: Path
    offset: int
    length: int


Journal = dict[tuple[str, int], dict[Key, Spot]]


class Segment(Record, frozen=True):
    """Records one file as it was read. `path` is below the compacted directory."""

    path: str
    size: int
    mtime_ns: int
    sha256: str


class Reader:
    """Reads files once, and records what they were.

    Args:
        root: The folder above; paths of `segments` are relative to it.

    Attributes:
        segments: Every file that was read.
        damage: Lines that could not be used.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.segments: list[Segment] = []
        self.damage = Damage()
        self._prompts: dict[str, tuple[Prompt, ...]] = {}

    def cells(self) -> tuple[list[Cell], Journal]:
        """Return the cells below `root`, sorted, and the journal of a sweep; empty outside of sweeps.

        Raises:
            UsageError: `root` holds no Run and no sweep.
            IntegrityError: A manifest is damaged, or a Run or the journal is about a suite that the sweep did not ask.
        """
        if (self.root / "manifest.json").is_file() or (self.root / SHARDED).is_file():
            return self._cells(self.root, None), {}
        sweep = self.root / "sweep.json"
        sweep_spec = decode(self._file(sweep), _SweepSpec) if sweep.is_file() else None
        folder = self.root / "runs" if sweep_spec is not None else self.root
        runs = {file.parent for name in ("manifest.json", SHARDED) for file in folder.glob(f"*/{name}")}
        cells = [cell for run in sorted(runs) for cell in self._cells(run, sweep_spec)]
        if sweep_spec is None:
            if not cells:
                raise UsageError(f"{self.root} holds no Run and no sweep (adhere list runs)")
            return _in_order(cells), {}
        folder = self.root / "journal"
        journal, places = self.journal(folder), {cell.place for cell in cells}
        for model, place in journal:
            if (model, place) in places:
                continue
            if not 0 <= place < len(sweep_spec.suites):
                raise IntegrityError(f"{folder} has answers to suite {place}, which the sweep did not ask")
            suite = sweep_spec.suites[place][0]
            cells.append(Cell(f"{sweep_spec.base_url}#{model}", suite, None, (model, place), None))
        return _in_order(cells), journal

    def prompts(self, cell: Cell) -> tuple[Prompt, ...]:
        """Read the prompts that a Run asked; Runs with the same prompts share them in memory.

        Raises:
            IntegrityError: The file is not what the manifest says.
        """
        assert cell.run is not None and cell.manifest is not None, "a cell without a Run has no prompts"  # noqa: S101, PT018
        file, sha256 = cell.run / "prompts.jsonl", cell.manifest.prompts_sha256
        if not file.is_file() or sha256_of(file) != sha256:
            raise IntegrityError(f"{file} is not what this Run asked: it is missing, or its sha256 is another")
        if sha256 not in self._prompts:
            if cell.whole is not None:  # no other cell asks what a shard does
                self._prompts.clear()
            self._prompts[sha256] = read_prompts(file)
        return self._prompts[sha256]

    def journal(self, folder: Path) -> Journal:
        """Return where the journal's rows that count lie, by cell, so that texts are read one cell at a time."""
        decoder = decoder_of(Entry)
        spots_by_cell: Journal = {}
        for path in sorted(folder.glob("*.jsonl")):
            for block in self._blocks(path):
                rows = self._decode(block, decoder, Entry)
                for line, offset, length, row in rows:
                    call = row.response
                    cell = spots_by_cell.setdefault((row.model, row.suite), {})
                    key, rank = (call.prompt_id, call.turn, call.draw), (call.status != "error", False, path.name, line)
                    before = cell.get(key)
                    if before is None or before.rank < rank:
                        cell[key] = Spot(rank, call.status, call.failure, path, block.offset + offset, length)
        return spots_by_cell

    def responses(self, cell: Cell, journal: Journal) -> dict[Key, Response]:
        """Return the Response of every key that has any, from the journal and the Run."""
        ranked_rows: dict[Key, tuple[Rank, Response]] = {}
        keys = self._keys(cell)
        spots = journal.get(cell.place, {}) if cell.place is not None else {}
        for rank, response in read_spots(spots.values()):
            self._take(ranked_rows, rank, response, keys)
        if cell.run is not None:
            decoder = decoder_of(Response)
            for path in sorted((cell.run / "responses").glob("*.jsonl")):
                for block in self._blocks(path):
                    for line, _, _, response in self._decode(block, decoder, Response):
                        self._take(ranked_rows, (response.status != "error", True, path.name, line), response, keys)
        return {key: response for key, (_, response) in ranked_rows.items()}

    def verdicts(self, cell: Cell, responses: dict[Key, Response]) -> dict[tuple[Key, int, str], StoredVerdict]:
        """Return the last verdict on each of these answers, by (key, constraint's index, view).

        Verdicts on answers that were replaced since are left out, and counted as stale.
        """
        rows: dict[tuple[Key, int, str], StoredVerdict] = {}
        if cell.run is None:
            return rows
        hashes: dict[Key, str] = {}
        decoder = decoder_of(StoredVerdict)
        for path in sorted((cell.run / "verdicts").glob("*.jsonl")):
            for block in self._blocks(path):
                for _, _, _, row in self._decode(block, decoder, StoredVerdict):
                    key = (row.prompt_id, row.turn, row.draw)
                    if key not in hashes and key in responses:
                        hashes[key] = answer_hash(responses[key])
                    if hashes.get(key) == row.answer:
                        rows[key, row.index, row.view] = row
                    else:
                        self.damage.stale += 1
        return rows

    def _take(
        self, ranked_rows: dict[Key, tuple[Rank, Response]], rank: Rank, response: Response, keys: frozenset[Key] | None
    ) -> None:
        if keys is not None and response.key not in keys:
            self.damage.corrupt.append(f"responses: {response.key} answers nothing that this Run asked")
            return
        before = ranked_rows.get(response.key)
        if before is None or before[0] < rank:
            ranked_rows[response.key] = (rank, response)

    def _keys(self, cell: Cell) -> frozenset[Key] | None:
        if cell.manifest is None:
            return None
        return frozenset(all_keys(self.prompts(cell), cell.manifest.spec.draws))

    def _cells(self, directory: Path, sweep_spec: _SweepSpec | None) -> list[Cell]:
        """Return the cells of a Run: one, or one for each shard."""
        if not (directory / SHARDED).is_file():
            return [self._cell(directory, sweep_spec)]
        self._file(directory / SHARDED)
        return [self._cell(shard, sweep_spec)._replace(whole=directory) for shard in ShardedRun.load(directory).shards]

    def _cell(self, directory: Path, sweep_spec: _SweepSpec | None) -> Cell:
        try:
            manifest = decode(self._file(directory / "manifest.json"), Manifest)
        except IntegrityError as error:
            raise IntegrityError(f"{directory / 'manifest.json'}: {error}") from error
        spec, place = manifest.spec, None
        if sweep_spec is not None:
            numbers = [
                n
                for n, (name, _, sha256) in enumerate(sweep_spec.suites)
                if (name, sha256) == (spec.suite, spec.suite_sha256)
            ]
            if not numbers:
                raise IntegrityError(f"{directory} is about a suite that {self.root} did not ask")
            place = (spec.model.partition("#")[2], numbers[0])
        return Cell(spec.model, spec.suite, directory, place, manifest)

    def _file(self, path: Path) -> bytes:
        """Read a small file, and record it as a source."""
        data = path.read_bytes()
        self._remember(path, path.stat().st_mtime_ns, len(data), hashlib.sha256(data).hexdigest())
        return data

    def _remember(self, path: Path, mtime_ns: int, size: int, sha256: str) -> None:
        self.segments.append(Segment(path.relative_to(self.root).as_posix(), size, mtime_ns, sha256))

    def _blocks(self, path: Path) -> Iterator[Block]:
        """Yield the whole lines of a segment in pieces; `damage` gets an unfinished last line."""
        digest, offset, line, rest = hashlib.sha256(), 0, 0, b""
        with path.open("rb") as file:
            mtime_ns = path.stat().st_mtime_ns  # before reading: what comes later makes it stale
            while data := file.read(BLOCK_BYTES):
                digest.update(data)
                data = rest + data
                end = data.rfind(b"\n") + 1
                rest = data[end:]
                if end:
                    block = Block(path, data[:end], offset, line)
                    yield block
                    offset, line = offset + end, line + block.data.count(b"\n")
        if rest:
            self.damage.torn.append(f"{path.parent.name}/{path.name}:{line + 1}")
        self._remember(path, mtime_ns, offset + len(rest), digest.hexdigest())

    def _decode(
        self, block: Block, decoder: msgspec.json.Decoder[T], kind: type[T]
    ) -> Iterator[tuple[int, int, int, T]]:
        """Yield (line, offset in the block, length, row) for every readable line."""
        lines = block.data.splitlines(keepends=True) if b"\r" not in block.data else _lines(block.data)
        try:
            rows: list[T] | None = decoder.decode_lines(block.data)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
            rows = None
        if rows is not None and len(rows) != len(lines):
            rows = None  # an empty line, or a value over several: what `read_segments` does not take either
        at = 0
        for number, data in enumerate(lines):
            line = block.line + number
            if rows is not None:
                yield line, at, len(data), rows[number]
            else:
                try:
                    yield line, at, len(data), decode(data, kind)
                except IntegrityError as error:
                    self.damage.corrupt.append(f"{block.path.parent.name}/{block.path.name}:{line + 1}: {error}")
            at += len(data)


class Block(NamedTuple):
    """Holds some whole lines of a segment, from byte `offset` and line `line` (counted from 0) on."""

    path: Path
    data: bytes
    offset: int
    line: int


def read_spots(spots: Iterable[Spot]) -> Iterator[tuple[Rank, Response]]:
    """Read rows of the journal from disk, and yield the rank and the Response of each, file by file."""
    by_path: dict[Path, list[Spot]] = {}
    for spot in spots:
        by_path.setdefault(spot.path, []).append(spot)
    decoder = decoder_of(Entry)
    for path, path_spots in by_path.items():
        with path.open("rb") as file:
            for spot in path_spots:
                file.seek(spot.offset)
                yield spot.rank, decoder.decode(file.read(spot.length)).response


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds only."""
    return [line + b"\n" for line in data[:-1].split(b"\n")]


def _in_order(cells: Iterable[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (cell.model, cell.suite, cell.name, str(cell.run)))
