"""A sweep's journal.

Every reader takes the same rows from it, cut anywhere, and a full disk loses nothing that was safe.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from adhere.errors import ResourceError
from adhere.schema import EngineInfo, Response, Sampling, encode
from adhere.store.segments import Damage, SegmentWriter, read_segments
from adhere.store.tables.cells import Reader
from adhere.store.tables.grouped import from_segments
from adhere.sweep.rows import Entry
from adhere.sweep.spec import Filter, SweepSpec

MODELS = ("m/a", "m/b")


def _start(root: Path) -> Path:
    spec = SweepSpec(
        "http://127.0.0.1:1/v1", EngineInfo("endpoint", "1", "none"), Filter(), (("tiny", "1", "0" * 64),), Sampling()
    )
    root.mkdir()
    (root / "sweep.json").write_bytes(encode(spec))
    return root


def _entry(model: str, number: int, text: str = "é \u2028 text", status: str = "ok") -> Entry:
    return Entry(model, 0, Response(f"p{number}", 0, 0, text, status))


def _naive(root: Path) -> tuple[dict[tuple[str, str], Response], Damage]:
    """The rule as it is written down, row by row."""
    damage, found = Damage(), {}
    for entry in read_segments(root / "journal", Entry, damage):
        name = (entry.model, entry.response.prompt_id)
        before = found.get(name)
        if before is None or before.status == "error" or entry.response.status != "error":
            found[name] = entry.response
    return found, damage


def _indexed(root: Path) -> tuple[dict[tuple[str, str], Response], Damage]:
    reader = Reader(root)
    cells, journal = reader.cells()
    rows = {
        (cell.place[0], key[0]): response
        for cell in cells
        if cell.place is not None
        for key, response in reader.responses(cell, journal).items()
    }
    return rows, reader.damage


def test_every_reader_takes_the_same_rows(tmp_path: Path):
    rng = random.Random(5)
    for round_number in range(20):
        root = _start(tmp_path / str(round_number))
        for session in range(rng.randrange(1, 4)):
            with SegmentWriter(root / "journal") as first, SegmentWriter(root / "journal") as second:  # two at once
                for row in range(rng.randrange(12)):
                    status = rng.choice(["ok", "ok", "error", "truncated", "empty"])
                    entry = _entry(rng.choice(MODELS), rng.randrange(4), f"{session}.{row}", status)
                    rng.choice([first, second]).append(entry)
        expected, _ = _naive(root)
        assert _indexed(root)[0] == expected
        statuses = Counter((model, response.status) for (model, _), response in expected.items())
        groups = {group.model.partition("#")[2]: group for group in from_segments(root)}
        assert set(groups) == {model for model, _ in expected}
        for model, group in groups.items():
            for status in ("ok", "truncated", "empty", "refused", "error"):
                assert getattr(group, status) == statuses[model, status]


def test_a_journal_cut_at_every_byte(tmp_path: Path):
    root = _start(tmp_path / "sweep")
    with SegmentWriter(root / "journal") as writer:
        for number in range(3):
            writer.append(_entry("m/a", number))
    whole = writer.path.read_bytes()
    for cut in range(len(whole) + 1):
        writer.path.write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n")
        is_torn = cut > 0 and whole[cut - 1 : cut] != b"\n"
        for rows, damage in (_naive(root), _indexed(root)):
            assert [name for _, name in rows] == [f"p{number}" for number in range(lines)]
            assert len(damage.torn) == is_torn
            assert not damage.corrupt
        assert sum(group.ok for group in from_segments(root)) == lines


def test_one_flipped_byte_costs_one_row_at_most(tmp_path: Path):
    root = _start(tmp_path / "sweep")
    with SegmentWriter(root / "journal") as writer:
        for number in range(3):
            writer.append(_entry("m/a", number))
    whole = bytearray(writer.path.read_bytes())
    rng = random.Random(2)
    for _ in range(300):
        place = rng.randrange(len(whole))
        broken = bytearray(whole)
        broken[place] ^= 1 << rng.randrange(8)
        writer.path.write_bytes(broken)
        naive, damage = _naive(root)
        rows, same_damage = _indexed(root)
        assert rows == naive
        assert damage.rows == same_damage.rows <= 2, "a lost line feed makes two lines one"
        assert len(rows) + damage.rows >= 2
        assert len([name for name in ("p0", "p1", "p2") if ("m/a", name) in rows]) >= 1


@pytest.mark.parametrize("failing", ["write", "fsync"])
def test_a_full_disk_keeps_what_was_acknowledged_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
):
    root = _start(tmp_path / "sweep")
    writer: SegmentWriter[Entry] = SegmentWriter(root / "journal")
    for number in range(70):
        writer.append(_entry("m/a", number))
    writer.flush()
    assert writer.safe == 70

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    writer.append(_entry("m/a", 70))
    with pytest.raises(
        ResourceError, match=r"disk full at .*: 70 rows of this session are safe, the last 1 are not"
    ) as caught:
        writer.flush()
    assert caught.value.exit_code == 5
    monkeypatch.undo()
    writer.append(_entry("m/a", 71))
    writer.close()
    rows, damage = _indexed(root)
    names = {name for _, name in rows}
    assert names >= {f"p{number}" for number in [*range(70), 71]}
    assert ("p70" in names) == (failing == "fsync"), "what was written but not synced may be there; it was not promised"
    assert not damage
