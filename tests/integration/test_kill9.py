"""The store under kill -9, two writers and a disk that is really full: what was acknowledged is there, once.

`test_sweep_cli.py` does the first and the last to whole commands; here the writer dies at many more points, and the
disk is a file system of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.store.run import Run
from adhere.store.segments import Damage, read_segments
from adhere.store.tables.compact import compact
from adhere.store.tables.grouped import from_segments, group_counts
from adhere.sweep.record import load_sweep
from adhere.sweep.rows import Entry

# Imports once, then forks a writer for each point; the child says through a pipe what was acknowledged until it is
# killed.
HOST = """
import json, os, random, signal, sys, time
from pathlib import Path
from adhere.sweep.rows import Entry
from adhere.schema import Response
from adhere.store.segments import SegmentWriter

folder, points = Path(sys.argv[1]), int(sys.argv[2])
rng = random.Random(7)
for point in range(points):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        size = random.Random(point).choice([10, 1_000, 60_000])
        with SegmentWriter(folder) as writer:
            for number in range(10**9):
                writer.append(Entry(f"m/{point}", 0, Response(f"p{number}", 0, 0, "é" * size, "ok")))
                if number % 7 == 0:
                    writer.flush()
                    os.write(writing, b"%d\\n" % writer.safe)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        pipe.readline()  # it has begun
        time.sleep(rng.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        said = pipe.read().split()
    print(json.dumps([point, int(said[-1]) if said else 1, os.WTERMSIG(status)]), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("points", [50])
def test_an_acknowledged_row_survives_kill_9_at_many_points(tmp_path: Path, points: int):
    done = subprocess.run(
        [sys.executable, "-c", HOST, tmp_path / "journal", str(points)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [point for point, _, _ in told] == list(range(points))
    assert {number for _, _, number in told} == {9}
    damage = Damage()
    found: dict[str, list[str]] = {}
    for entry in read_segments(tmp_path / "journal", Entry, damage):
        found.setdefault(entry.model, []).append(entry.response.prompt_id)
    assert not damage.corrupt
    assert len(damage.torn) <= points, "at most one torn tail a writer"
    assert len(list((tmp_path / "journal").glob("*.jsonl"))) == points
    for point, safe, _ in told:
        rows = found[f"m/{point}"]
        assert len(rows) >= safe >= 1
        assert rows == [f"p{number}" for number in range(len(rows))], "in order, none twice, none missing between"
    assert sum(safe for _, safe, _ in told) > 10 * points, "the kills must hit writers that had something to lose"


def _command(url: str, out: Path, *more: str) -> list[str]:
    suite = ["--suite", "core:in-family", "--limit", "8", "--progress", "none"]
    return [sys.executable, "-m", "adhere", "sweep", url, *suite, "--out", str(out), *more]


MODELS = ("a", "b", "c")
WANTED = len(MODELS) * 8


def test_two_processes_run_the_same_sweep_at_once(tmp_path: Path):
    with FakeEndpoint({name: FakeModel() for name in MODELS}, capacity=6, latency_s=0.1) as endpoint:
        both = [
            subprocess.Popen(
                _command(endpoint.url, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        said = [process.communicate(timeout=300) for process in both]
        assert [process.returncode for process in both] == [0, 0], said
        (directory,) = tmp_path.iterdir()
        damage = Damage()
        entries = list(read_segments(directory / "journal", Entry, damage))
        assert not damage
        keys = Counter((entry.model, entry.response.key) for entry in entries)
        assert len(keys) == WANTED
        assert max(keys.values()) == 1
        before = sum(endpoint.served.values())
        assert before == WANTED + len(MODELS), "the second waited, and found everything answered"
        third = subprocess.run(
            _command(endpoint.url, tmp_path), capture_output=True, text=True, timeout=300, check=False
        )
        assert third.returncode == 0, third.stderr
        assert sum(endpoint.served.values()) == before, "everything is answered, so nobody is asked"
    _is_whole(directory)
    compact(directory)
    assert group_counts(directory).groups == from_segments(directory)
    assert sum(group.ok for group in group_counts(directory).groups) == WANTED


def _is_whole(directory: Path, torn: int = 0) -> None:
    """Every Run has every answer once, and its summary counts them; `torn` lines at most were left unfinished."""
    sweep = load_sweep(directory)
    assert len(sweep.runs) == len(MODELS)
    for place in sweep.runs.values():
        run = Run.load(place)
        assert len(run.responses()) == 8
        assert not run.missing()
        assert len(run.verdicts()) == 2 * sum(len(prompt.constraints) for prompt in run.prompts())
        assert not run.damage.corrupt
        assert len(run.damage.torn) <= torn
        assert run.summary().accounting.ok == 8
        assert run.summary().coverage == 1.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root on Linux (test_journal.py fills a pretended disk)")
    libc, folder = ctypes.CDLL(None, use_errno=True), tmp_path / "disk"
    folder.mkdir()
    if libc.mount(b"adhere", os.fsencode(folder), b"tmpfs", 0, b"size=1m"):
        pytest.skip(f"this container may not mount: {os.strerror(ctypes.get_errno())}")
    try:
        yield folder
    finally:
        libc.umount2(os.fsencode(folder), 2)  # lazily: nothing of a failed test keeps it


def test_a_disk_that_is_really_full(small_disk: Path):
    rng = random.Random(1)
    text = " ".join(rng.choice(["sea", "wave", "salt"]) for _ in range(600))
    with FakeEndpoint(
        {name: FakeModel(answer=lambda _: text) for name in MODELS}, capacity=2, latency_s=0.05
    ) as endpoint:
        out, ballast = small_disk / "sweeps", small_disk / "ballast"
        ballast.write_bytes(b"x" * 960_000)
        failed = subprocess.run(_command(endpoint.url, out), capture_output=True, text=True, timeout=300, check=False)
        assert failed.returncode == 5, failed.stderr
        assert "disk full" in failed.stderr or "No space left" in failed.stderr
        assert "Traceback" not in failed.stderr
        (directory,) = out.iterdir()
        kept = [entry.response.key for entry in read_segments(directory / "journal", Entry, Damage())]
        before = sum(endpoint.served.values())
        assert 0 < len(kept) < WANTED, "the disk must be full in the middle"
        ballast.unlink()
        again = subprocess.run(_command(endpoint.url, out), capture_output=True, text=True, timeout=300, check=False)
        assert again.returncode == 0, again.stderr
        assert sum(endpoint.served.values()) == before + WANTED - len(kept), "only what was not safe is asked again"
    _is_whole(directory, torn=1)
