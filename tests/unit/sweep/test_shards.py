"""Three processes on one sweep, one of them killed: what is reported in the end is what one process reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import UsageError
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.report.pages import StoredSweep
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import load_sweep

MODELS = {
    f"lab/m{n}": FakeModel(answer=lambda text, n=n: text[: 20 * n], latency_s=0.05 if n == 4 else 0.0) for n in range(7)
}  # type: ignore[misc]
MEASURED = ["--suite", "core:in-family", "--limit", "12", "--progress", "none", "--json"]


def board_of(out: Path) -> dict:
    (directory,) = [path.parent for path in out.glob("*/sweep.json")]
    found = load_sweep(directory)
    board = json.loads(StoredSweep(found, leaderboard(found)).json())
    return {
        "rows": [
            {name: value for name, value in row.items() if name not in {"run", "latency", "first_token"}}
            for row in board["rows"]
        ]
    }


@pytest.mark.slow
def test_three_processes_one_killed(tmp_path: Path) -> None:
    with FakeEndpoint(MODELS) as endpoint:
        one, many = tmp_path / "one", tmp_path / "many"
        done = CliRunner().invoke(adhere, ["sweep", endpoint.url, *MEASURED, "--out", str(one)])
        assert done.exit_code == 0, done.output
        asked = endpoint.served.total()
        command = [sys.executable, "-m", "adhere", "sweep", endpoint.url, *MEASURED, "--out", str(many), "--shard"]
        parts = [subprocess.Popen([*command, f"{n}/3"], stdout=subprocess.DEVNULL) for n in (1, 2, 3)]
        while not list(many.glob("*/journal/*.jsonl")):
            time.sleep(0.05)
        parts[1].kill()
        assert [part.wait() for part in parts] == [0, -9, 0]
        assert subprocess.run([*command, "2/3"], stdout=subprocess.DEVNULL, check=False).returncode == 0
        assert board_of(many) == board_of(one)
        assert asked <= endpoint.served.total() - asked <= asked + 100, "at most what was under way was asked twice"


def test_parts_are_dealt_in_turn_and_all_of_it_is_the_whole(tmp_path: Path) -> None:
    models = {name: MODELS[name] for name in ("lab/m1", "lab/m2", "lab/m3")}
    with FakeEndpoint(models) as endpoint:
        arguments = [
            "sweep",
            endpoint.url,
            "--suite",
            "core:in-family",
            "--limit",
            "2",
            "--progress",
            "none",
            "--json",
            "--out",
            str(tmp_path),
        ]
        for number, wanted in ((1, {"lab/m1", "lab/m3"}), (2, {"lab/m2"})):
            done = CliRunner().invoke(adhere, [*arguments, "--shard", f"{number}/2"])
            assert done.exit_code == 0, done.output
            assert {row["model"] for row in json.loads(done.stdout)["rows"]} == wanted
        before = endpoint.served.total()
        assert len(board_of(tmp_path)["rows"]) == 3
        assert CliRunner().invoke(adhere, arguments).exit_code == 0
        assert endpoint.served.total() == before, "nothing is left to ask"
    for wrong in ("0/2", "3/2", "x"):
        assert isinstance(CliRunner().invoke(adhere, [*arguments, "--shard", wrong]).exception, UsageError)


def test_a_job_file_has_the_command_that_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [
        "sweep",
        "http://127.0.0.1:1/v1",
        "--suite",
        "core",
        "--models",
        "a b*",
        "--yes",
        "--emit",
        "slurm",
        "--parts",
        "3",
    ]
    done = CliRunner().invoke(adhere, arguments)
    assert done.exit_code == 0, done.output
    text = Path("sweep.slurm").read_text()
    assert "#SBATCH --array=1-3\n" in text
    assert (
        text.splitlines()[-1]
        == "adhere sweep http://127.0.0.1:1/v1 --models 'a b*' --suite core --yes --shard \"$SLURM_ARRAY_TASK_ID/3\""
    )
    assert subprocess.run(["bash", "-n", "sweep.slurm"], check=False).returncode == 0
    for wrong in (arguments[:-2], [*arguments, "--shard", "1/3"], ["sweep", "openai", "--parts", "2"]):
        assert isinstance(CliRunner().invoke(adhere, wrong).exception, UsageError)


@pytest.mark.slow
def test_the_jobs_of_the_array_do_the_whole_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job as Slurm runs it, but for Slurm: bash, with the number of the job."""
    monkeypatch.chdir(tmp_path)
    command = tmp_path / "bin/adhere"
    command.parent.mkdir()
    command.write_text(f'#!/bin/bash\nexec {sys.executable} -m adhere "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(command.parent), os.environ["PATH"]]))
    models = {name: MODELS[name] for name in ("lab/m1", "lab/m2", "lab/m3")}
    with FakeEndpoint(models) as endpoint:
        arguments = ["sweep", endpoint.url, *MEASURED]
        assert CliRunner().invoke(adhere, [*arguments, "--out", "one"]).exit_code == 0
        done = CliRunner().invoke(adhere, [*arguments, "--out", "many", "--emit", "slurm", "--parts", "3"])
        assert done.exit_code == 0, done.output
        for number in ("1", "2", "3"):
            job = {**os.environ, "SLURM_ARRAY_TASK_ID": number}
            subprocess.run(["bash", "sweep.slurm"], env=job, stdout=subprocess.DEVNULL, check=True)
        assert board_of(tmp_path / "many") == board_of(tmp_path / "one")
