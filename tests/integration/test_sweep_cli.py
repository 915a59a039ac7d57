"""`adhere sweep` from outside, against the fake endpoint: exit codes, streams, resuming, and kill -9 at any instant."""

from __future__ import annotations

import errno
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import ResourceError
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.schema import decode
from adhere.store.run import Run
from adhere.store.segments import Damage, read_segments
from adhere.sweep.board import Leaderboard
from adhere.sweep.record import load_sweep
from adhere.sweep.rows import Entry, Liveness
from command_line import run_here

LIMIT = 6
NAMES = ("a", "b", "c", "d")


def command(url: str, out: Path, *more: object) -> list[str]:
    arguments = ["sweep", url, "--suite", "core:in-family", "--limit", str(LIMIT), "--out", str(out), *map(str, more)]
    return [sys.executable, "-m", "adhere", *arguments]


def run(url: str, out: Path, *more: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = run_here(*command(url, out, *more)[3:])
    assert done.returncode == code, done.stderr
    return done


def board_of(done: subprocess.CompletedProcess[str]) -> Leaderboard:
    return decode(done.stdout.encode(), Leaderboard)


def only(out: Path) -> Path:
    (directory,) = out.iterdir()
    return directory


def served(endpoint: FakeEndpoint) -> int:
    return sum(endpoint.served.values())


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def settle(endpoint: FakeEndpoint) -> None:
    """Wait until what a dead client had sent is answered, also where the server had not read or accepted it yet."""
    for _ in range(2):  # connections are accepted and read in the order they came: ours is behind all of its
        with urllib.request.urlopen(f"{endpoint.url}/models", timeout=30) as listing:
            listing.read()
        wait_until(lambda: endpoint.is_idle)


@pytest.fixture
def numbered() -> Iterator[Callable[[str], str]]:
    """Answers that are never the same twice, so that one asked for again shows."""
    numbers = itertools.count()
    return lambda asked: f"answer {next(numbers)}"


def test_a_good_sweep_and_the_same_again(tmp_path: Path) -> None:
    models = {
        "good": FakeModel(answer=str.lower, listing={"context_length": 8192}),
        "poor": FakeModel(answer=lambda asked: "WORD " * 40),
        "gone": FakeModel(faults=("404",)),
        "[/bold]\x1b[2J=evil": FakeModel(),
    }
    with FakeEndpoint(models) as endpoint:
        first = run(endpoint.url, tmp_path / "out", "--json", "--xlsx", tmp_path / "x.xlsx")
        board = board_of(first)
        assert (board.listed, board.wanted, board.alive) == (4, 4, 3)
        assert [(dead.model, "404" in dead.reason) for dead in board.dead] == [("gone", True)]
        assert {row.model for row in board.rows} == {"good", "poor", "[/bold]\x1b[2J=evil"}
        assert all(row.coverage == 1.0 and row.accounting.ok == LIMIT and row.rank for row in board.rows)
        assert board.rows[-1].model == "poor"
        assert board.rows[0].cost.total_usd
        stored = decode((only(tmp_path / "out") / "leaderboard.json").read_bytes(), Leaderboard)
        assert stored == board
        asked = served(endpoint)
        assert asked == 4 + 3 * LIMIT
        workbook = openpyxl.load_workbook(tmp_path / "x.xlsx")
        assert workbook.sheetnames[:3] == ["Overview", "Model Summary", "Run settings"]

        again = run(endpoint.url, tmp_path / "out")
        assert served(endpoint) == asked
        assert "3 alive, 1 dead" in again.stdout
        assert "\x1b" not in again.stdout
        assert "[/bold]" in again.stdout
        report = "report", only(tmp_path / "out")
        assert run_here(*report).stdout == again.stdout
        assert run_here(*report, "--xlsx", tmp_path / "y.xlsx").stdout == ""
        assert openpyxl.load_workbook(tmp_path / "y.xlsx").sheetnames == workbook.sheetnames
        assert load_sweep(only(tmp_path / "out")).alive == ["[/bold]\x1b[2J=evil", "good", "poor"]


def test_time_outs_are_outcomes_of_their_own_and_exit_3(tmp_path: Path) -> None:
    """A prompt that always hangs is asked again once in this run, and again by the next run."""
    hanging: list[str] = []

    def fault_of(asked: str) -> str | None:
        if "capital of France" in asked:
            return None
        hanging[:] = hanging or [asked]
        return "hang" if asked == hanging[0] else None

    models = {"slow": FakeModel(fault_of=fault_of), "fast": FakeModel()}
    with FakeEndpoint(models) as endpoint:
        done = run(endpoint.url, tmp_path, "--timeout", 2, "--json", code=3)
        board = board_of(done)
        row = board.rows[-1]
        assert (row.model, row.rank, row.timeouts, row.accounting.error, row.accounting.ok) == ("slow", None, 1, 1, 5)
        assert row.coverage == pytest.approx(5 / 6)
        assert row.bound_high - row.bound_low == pytest.approx(1 / 6)
        assert "83.3%" in row.unranked
        assert [failure.mode for failure in row.failures][-1] == "timeout"
        assert "slow" in done.stderr
        before = endpoint.asked["slow"], endpoint.asked["fast"]
        assert before == (1 + LIMIT + 1, 1 + LIMIT)
        endpoint.models["slow"] = FakeModel()
        board = board_of(run(endpoint.url, tmp_path, "--json"))
        assert (endpoint.asked["slow"], endpoint.asked["fast"]) == (before[0] + 1, before[1])
        assert [row.coverage for row in board.rows] == [1.0, 1.0]


def test_no_credit_is_exit_4_and_keeps_what_was_answered(tmp_path: Path) -> None:
    with FakeEndpoint({"poor": FakeModel(faults=(*[None] * 4, "402"))}) as endpoint:
        done = run(endpoint.url, tmp_path, "--model-concurrency", 1, code=4)
        assert "out of credit" in done.stderr
        assert len(list(read_segments(only(tmp_path) / "journal", Entry, Damage()))) == 3
        endpoint.models["poor"] = FakeModel()
        before = served(endpoint)
        run(endpoint.url, tmp_path, "--model-concurrency", 1)
        assert served(endpoint) == before + LIMIT - 3


def test_more_than_the_cap_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    dear = FakeModel(listing={"pricing": {"prompt": "0.01", "completion": "0.01"}})
    with FakeEndpoint({"dear": dear}) as endpoint:
        done = run(endpoint.url, tmp_path, "--max-cost", 1, code=2)
        assert "--max-cost 1.00" in done.stderr
        assert served(endpoint) == 0
        run(endpoint.url, tmp_path, "--max-cost", 1, "--yes")
        assert served(endpoint) == 1 + LIMIT


def test_an_empty_listing_and_a_dead_port_are_errors(tmp_path: Path) -> None:
    with FakeEndpoint({"a": FakeModel()}) as endpoint:
        assert (
            "No model matches 'nothing/*'. 1 are listed"
            in run(endpoint.url, tmp_path, "--models", "nothing/*", code=2).stderr
        )
    assert "cannot be read" in run("http://127.0.0.1:9/v1", tmp_path, "--wait", 0, code=5).stderr


def test_only_dead_models_give_an_empty_board(tmp_path: Path) -> None:
    with FakeEndpoint({"a": FakeModel(faults=("404",)), "b": FakeModel(faults=("400",))}) as endpoint:
        done = run(endpoint.url, tmp_path)
        assert "2 dead" in done.stdout
        assert "no leaderboard" in done.stdout


def test_progress_as_json_lines(tmp_path: Path) -> None:
    with FakeEndpoint(["a", "b"], latency_s=0.01) as endpoint:
        done = run(endpoint.url, tmp_path, "--progress", "jsonl")
        lines: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]
        assert lines[0]["stage"] == "alive"
        assert lines[-1] == {"stage": "stored", "sweep": str(only(tmp_path)), "stopped": ""}
        asked = [line for line in lines if line["stage"] == "ask"]
        assert asked[-1]["done"] == asked[-1]["total"] == 2 * LIMIT
        assert sum(line["done"] == line["total"] for line in asked) == 1
        assert asked[-1]["spent_usd"] > 0


def test_ctrl_c_keeps_everything_and_the_same_command_goes_on(tmp_path: Path, numbered: Callable[[str], str]) -> None:
    models = {name: FakeModel(answer=numbered) for name in NAMES}
    with FakeEndpoint(models, capacity=2, latency_s=0.05) as endpoint:
        process = subprocess.Popen(command(endpoint.url, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: served(endpoint) >= len(NAMES) + 5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert b"run the same command again" in err
        assert b"asking ended early: interrupted" in out
        before = served(endpoint)
        kept = sum(1 for _ in read_segments(only(tmp_path) / "journal", Entry, Damage()))
        assert kept == before - len(NAMES)  # what was under way was waited for
        assert kept < len(NAMES) * LIMIT
        board = board_of(run(endpoint.url, tmp_path, "--json"))
        assert served(endpoint) == len(NAMES) * (1 + LIMIT)
        assert all(row.coverage == 1.0 for row in board.rows)


def _kill_and_resume(tmp_path: Path, answer: Callable[[str], str], rng: random.Random) -> int:
    """Kill a sweep after a random number of answers; how many had been acknowledged."""
    models = {name: FakeModel(answer=answer) for name in NAMES}
    wanted = len(NAMES) * (1 + LIMIT)
    with FakeEndpoint(models, capacity=4, latency_s=0.06) as endpoint:
        process = subprocess.Popen(command(endpoint.url, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        last = rng.randrange(1, wanted)
        wait_until(lambda: served(endpoint) >= last or process.poll() is not None)
        time.sleep(rng.random() * 0.4)
        process.kill()
        process.communicate(timeout=60)
        settle(endpoint)
        before = served(endpoint)
        directories = list(tmp_path.iterdir())
        entries, alive = [], []
        if directories:
            entries = list(read_segments(directories[0] / "journal", Entry, Damage()))
            alive = list(read_segments(directories[0] / "liveness", Liveness, Damage()))
        run(endpoint.url, tmp_path)
        assert served(endpoint) == before + wanted - len(entries) - len(alive)  # exactly the unacknowledged again
        sweep = load_sweep(only(tmp_path))
        stored = {
            (model, response.key): response.text
            for (model, _), directory in sweep.runs.items()
            for response in Run.load(directory).responses()
        }
        assert len(stored) == len(NAMES) * LIMIT
        assert {(entry.model, entry.response.key): entry.response.text for entry in entries}.items() <= stored.items()
    return len(entries)


@pytest.mark.parametrize("point", range(5))
def test_kill_9_loses_nothing_and_asks_nothing_twice(
    tmp_path: Path, numbered: Callable[[str], str], point: int
) -> None:
    _kill_and_resume(tmp_path, numbered, random.Random(point))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_more_points(tmp_path: Path, numbered: Callable[[str], str]) -> None:
    kept = [_kill_and_resume(tmp_path / str(point), numbered, random.Random(100 + point)) for point in range(50)]
    assert sum(map(bool, kept)) >= 10, "the kills must hit sweeps that had something to lose"


def test_a_full_disk_stops_asking_and_the_same_command_goes_on(
    tmp_path: Path, numbered: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {name: FakeModel(answer=numbered) for name in NAMES}
    real = os.write
    room = 4_000

    def write(descriptor: int, data: bytes) -> int:
        nonlocal room
        if len(data) <= room or b'"suite"' not in data[:2000]:  # rows of the journal name their suite
            room -= len(data) if b'"suite"' in data[:2000] else 0
            return real(descriptor, data)
        real(descriptor, data[:room])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with FakeEndpoint(models, capacity=2, latency_s=0.1) as endpoint:
        arguments = command(endpoint.url, tmp_path, "--progress", "none")[3:]
        monkeypatch.setattr("adhere.store.segments.os.write", write)
        failed = CliRunner().invoke(adhere, arguments)
        assert isinstance(failed.exception, ResourceError), failed.exception
        assert "disk full" in str(failed.exception)
        monkeypatch.undo()
        settle(endpoint)
        before = served(endpoint)
        kept = sum(1 for _ in read_segments(only(tmp_path) / "journal", Entry, Damage()))
        assert 0 < kept < before - len(NAMES)
        assert before < len(NAMES) * (1 + LIMIT)  # asking stopped
        board = board_of(run(endpoint.url, tmp_path, "--json"))
        assert served(endpoint) == before + len(NAMES) * LIMIT - kept
        assert all(row.coverage == 1.0 for row in board.rows)


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with FakeEndpoint(["m"]) as endpoint:
        for option in ("--html", "--xlsx"):
            done = run(endpoint.url, tmp_path / "out", option, tmp_path / "file" / "x", code=2)
            assert "cannot be written" in done.stderr
        assert not endpoint.seen
