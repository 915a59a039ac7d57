"""Segments survive what happens to files: kill -9, cuts at any byte, two writers, rubbish, a full disk."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adhere.errors import ResourceError
from adhere.schema import Response
from adhere.store.segments import Damage, SegmentWriter, read_segments

WRITER = """
import sys
from pathlib import Path
from adhere.schema import Response
from adhere.store.segments import SegmentWriter

writer = SegmentWriter(Path(sys.argv[1]))
shown = -1
for number in range(10**9):
    writer.append(Response(f"{sys.argv[2]}-{number}", 0, 0, "é" * (number % 700), "ok"))
    if writer.safe != shown:
        shown = writer.safe
        print(shown, flush=True)  # acknowledged: these rows must be found again
"""


def _read(folder: Path) -> tuple[list[Response], Damage]:
    damage = Damage()
    return list(read_segments(folder, Response, damage)), damage


def _write(folder: Path, name: str, n: int) -> Path:
    with SegmentWriter(folder) as writer:
        for number in range(n):
            writer.append(Response(f"{name}-{number}", 0, 0, f"text {number} \u2028 \n é", "ok"))
    return writer.path


def test_rows_come_back(tmp_path: Path):
    _write(tmp_path, "a", 200)
    rows, damage = _read(tmp_path)
    assert [row.prompt_id for row in rows] == [f"a-{number}" for number in range(200)]
    assert rows[7].text == "text 7 \u2028 \n é"
    assert not damage
    assert str(damage) == "none"


def test_a_writer_without_rows_leaves_no_file(tmp_path: Path):
    with SegmentWriter(tmp_path / "none"):
        pass
    assert not (tmp_path / "none").exists()


def test_kill_9_loses_no_acknowledged_row(tmp_path: Path):
    """Two writers into one folder, killed at random moments, 10 times: 20 kills.

    All acknowledged rows must be there.
    """
    rng = random.Random(0)
    total = 0
    for round_number in range(10):
        folder = tmp_path / str(round_number)
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, folder, name], stdout=subprocess.PIPE, text=True)
            for name in "ab"
        ]
        acknowledged = {name: int(writer.stdout.readline()) for name, writer in zip("ab", writers, strict=True)}
        time.sleep(rng.uniform(0, 0.05))
        for name, writer in zip("ab", writers, strict=True):
            writer.send_signal(signal.SIGKILL)
            acknowledged[name] = max(acknowledged[name], *map(int, writer.communicate()[0].split()), 0)
            assert writer.returncode == -signal.SIGKILL
        rows, damage = _read(folder)
        found = {row.prompt_id for row in rows}
        assert len(found) == len(rows)
        total += sum(acknowledged.values())
        for name, safe in acknowledged.items():
            assert all(f"{name}-{number}" in found for number in range(safe))
        assert not damage.corrupt
    assert total > 0


def test_a_segment_cut_at_every_byte_keeps_its_whole_lines(tmp_path: Path):
    whole = _write(tmp_path / "whole", "a", 2).read_bytes()
    for cut in range(len(whole) + 1):
        folder = tmp_path / "cut"
        folder.mkdir(exist_ok=True)
        (folder / "1.jsonl").write_bytes(whole[:cut])
        rows, damage = _read(folder)
        assert [row.prompt_id for row in rows] == [f"a-{number}" for number in range(whole[:cut].count(b"\n"))]
        assert len(damage.torn) == (cut > 0 and whole[cut - 1 : cut] != b"\n")
        assert not damage.corrupt


def test_a_corrupt_line_is_named_and_the_rest_is_used(tmp_path: Path):
    path = _write(tmp_path, "a", 5)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1], lines[3] = b"\x00" * 20 + b"\n", b'{"prompt_id":"x","unknown":1}\n'
    path.write_bytes(b"".join(lines))
    rows, damage = _read(tmp_path)
    assert [row.prompt_id for row in rows] == ["a-0", "a-2", "a-4"]
    assert damage.rows == 2
    assert damage.corrupt[0].startswith(f"{tmp_path.name}/{path.name}:2: ")
    assert f"{path.name}:4: " in str(damage)


def test_later_segments_are_read_later(tmp_path: Path):
    first, second = _write(tmp_path, "a", 1), _write(tmp_path, "b", 1)
    assert first.name < second.name
    assert [row.prompt_id for row in _read(tmp_path)[0]] == ["a-0", "b-0"]


def test_lone_surrogates_are_stored_as_replacement_characters(tmp_path: Path):
    with SegmentWriter(tmp_path) as writer:
        writer.append(Response("p", 0, 0, "a\ud83db", "ok"))
    assert _read(tmp_path)[0][0].text == "a\ufffdb"


@pytest.mark.parametrize("short", [False, True])
def test_a_full_disk_stops_at_once_and_says_what_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: bool):
    writer: SegmentWriter[Response] = SegmentWriter(tmp_path)
    for number in range(64):
        writer.append(Response(f"a-{number}", 0, 0, "text", "ok"))
    assert writer.safe == 64
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if short:
            return real(descriptor, data[:30])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    writer.append(Response("b-0", 0, 0, "text", "ok"))
    with pytest.raises(
        ResourceError, match=r"disk full .* 64 rows of this session are safe, the last 1 are not.*same command"
    ):
        writer.flush()
    monkeypatch.undo()
    writer.append(Response("c-0", 0, 0, "text", "ok"))
    writer.close()
    rows, damage = _read(tmp_path)
    assert [row.prompt_id for row in rows] == [*(f"a-{number}" for number in range(64)), "c-0"]
    assert len(damage.torn) == short


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_the_kernels_own_full_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda path, flags, *mode: real("/dev/full" if flags & os.O_WRONLY else path, flags & ~os.O_EXCL, *mode),
    )
    writer: SegmentWriter[Response] = SegmentWriter(tmp_path)
    writer.append(Response("a", 0, 0, "text", "ok"))
    with pytest.raises(ResourceError, match="disk full"):
        writer.flush()


def test_slow_answers_do_not_wait_for_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    writer: SegmentWriter[Response] = SegmentWriter(tmp_path)
    writer.append(Response("a", 0, 0, "text", "ok"))
    assert writer.safe == 0
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 0.6)
    writer.append(Response("b", 0, 0, "text", "ok"))
    assert writer.safe == 2
    writer.close()
