"""Processes of a study: whatever ends the one that started them, they end with it; a restart finishes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.study.test_execute import TEXT

from adhere.errors import UsageError
from adhere.progress import Silent
from adhere.study import jobs as jobs_room
from adhere.study import prepared as prepared_room
from adhere.study.jobs import choose_jobs, parse_jobs
from adhere.study.prepared import PreparedStudy
from command_line import run_here

SLEEPERS = """
import multiprocessing, sys, time
from pathlib import Path
from adhere.lines.workers import end_with_parent

def sleep(folder):
    end_with_parent()
    import os
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=sleep, args=(sys.argv[1],)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def runs(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return not stat.parent.parent.joinpath("self").exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def all_gone(pids: list[int], within_s: float = 20) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not any(runs(pid) for pid in pids):
            return True
        time.sleep(0.05)
    for pid in pids:  # a failed test leaves nothing behind either
        if runs(pid):
            os.kill(pid, signal.SIGKILL)
    return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    script, folder = tmp_path / "sleepers.py", tmp_path / "pids"
    script.write_text(SLEEPERS)
    folder.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(folder)])
    while len(list(folder.iterdir())) < 2:
        assert parent.poll() is None
        time.sleep(0.02)
    workers = [int(file.name) for file in folder.iterdir()]
    assert all(map(runs, workers))
    parent.send_signal(how)
    parent.wait()
    assert all_gone(workers)


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


@pytest.mark.slow
def test_a_killed_study_leaves_no_orphans_and_a_restart_finishes(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """A random model's answers may hold nothing to learn from; then that is what is named, and all else is finished."""
    spec, out = tmp_path / "tiny.toml", tmp_path / "out"
    text = TEXT.replace("START", str(tiny_llama_dir)).replace("prompts = 14, draws = 2", "prompts = 60, draws = 6")
    spec.write_text(text)
    command = [sys.executable, "-m", "adhere", "study", str(spec), "--jobs", "2", "--json", "--out", str(out)]
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    parent = subprocess.Popen(command, env=quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (out / "locks").exists():  # somebody works
        assert parent.poll() is None
        time.sleep(0.05)
    workers = children(parent.pid)
    assert len(workers) >= 2
    parent.kill()
    parent.wait()
    assert all_gone(workers)
    again = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=300, check=False)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["seeds"] == 2 or "no rows to train on" in again.stderr
    assert "with 2 processes" in again.stderr


def test_a_directory_that_cannot_be_written_is_one_line(tiny_llama_dir: Path, tmp_path: Path) -> None:
    spec, file = tmp_path / "tiny.toml", tmp_path / "file"
    spec.write_text(TEXT.replace("START", str(tiny_llama_dir)))
    file.touch()
    done = run_here("study", spec, "--out", file / "study")
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "in all      about" in done.stderr, "a first guess stands there before anything is measured"


@pytest.mark.parametrize(
    ("minutes", "free", "chosen"),
    [
        ({1: 40.0, 4: 30.0}, None, 4),
        ({1: 30.0, 4: 30.0}, None, 1),
        ({1: 40.0, 4: 30.0}, 10, 1),
        ({1: 20.0, 4: 30.0}, None, 1),
    ],
)
def test_processes_are_chosen_by_what_ends_soonest(
    minutes: dict[int, float], free: int | None, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Measured:
        spec, device = SimpleNamespace(threads=4, serves=False), "cpu"

        def __init__(self, jobs: int = 1) -> None:
            self.estimate = SimpleNamespace(memory_bytes=4.0 * jobs, minutes=minutes[jobs])

        def shared(self, jobs: int) -> Measured:
            return Measured(jobs)

        def probed(self, *, jobs: int, progress: object) -> Measured:
            assert self.estimate.minutes == minutes[jobs]
            return self

    monkeypatch.setattr(jobs_room, "available_bytes", lambda _device: free)
    assert choose_jobs(Measured(), Silent()) == chosen  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("total", "cpus", "chosen"), [(80e9, 16, 7), (141e9, 16, 8), (24e9, 16, 2), (8e9, 16, 1), (80e9, 1, 1)]
)
def test_as_many_processes_as_a_gpus_memory_holds(
    total: float, cpus: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = SimpleNamespace(spec=SimpleNamespace(threads=cpus, serves=False), device="cuda")
    prepared.shared = lambda _jobs: SimpleNamespace(estimate=SimpleNamespace(memory_bytes=9.9e9))
    monkeypatch.setattr(jobs_room, "available_bytes", lambda _device: int(total))
    assert choose_jobs(prepared, Silent()) == chosen  # type: ignore[arg-type]


def test_jobs_are_a_number_or_auto() -> None:
    assert (parse_jobs("3"), parse_jobs("auto")) == (3, None)
    for text in ("0", "-1", "many", "1.5", "9999"):
        with pytest.raises(UsageError, match=f"--jobs {text}: write a number"):
            parse_jobs(text)


@pytest.mark.parametrize(
    ("trains", "serves", "weights", "device"),
    [
        (False, False, None, "cpu"),
        (True, False, None, "cuda"),
        (False, True, None, "cuda"),
        (False, False, Path("model"), "cuda"),
    ],
)
def test_a_gpu_is_for_what_computes_here(
    trains: bool, serves: bool, weights: Path | None, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_room, "resolve_device", lambda asked: {"auto": "cuda"}[asked])
    spec = SimpleNamespace(trains=trains, serves=serves, device="auto")
    study = SimpleNamespace(spec=spec, sources={("a", 0): SimpleNamespace(weights=weights)})
    assert PreparedStudy.device.fget(study) == device  # type: ignore[attr-defined]
