"""`adhere report` on places that cannot be written and on files that hold nonsense.

Words and a code, never a traceback.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from adhere.models.catalog import open_model
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.suites import load
from adhere.sweep.run import SweepRequest, run_sweep
from command_line import run_here


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    done = run_here("report", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("run") / "run"
    evaluate_sync(open_model("scripted/echo"), load("core", limit=4), directory)
    return directory


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with FakeEndpoint({"m": FakeModel()}) as endpoint:
        return run_sweep(
            SweepRequest(where=endpoint.url, suites=("core",), limit=4, out=tmp_path_factory.mktemp("sweep"))
        ).directory


@pytest.mark.parametrize("option", ["--html", "--xlsx"])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_read(option: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = report(run, option, tmp_path / "file" / "page")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["summary.json", "manifest.json", "prompts.jsonl"])
@pytest.mark.parametrize("what", ["a directory", "rubbish", "nothing"])
def test_a_run_with_one_file_spoilt(name: str, what: str, run: Path, tmp_path: Path) -> None:
    broken = tmp_path / "run"
    shutil.copytree(run, broken)
    (broken / name).unlink()
    if what == "a directory":
        (broken / name).mkdir()
    else:
        (broken / name).write_bytes(b"\xff{rubbish" if what == "rubbish" else b"")
    done = report(broken, "--html", tmp_path / "page.html")
    assert done.returncode in {2, 5}, done.stderr
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize("fetched", ["1e300", "-1e300", "0"])
def test_a_sweep_of_an_impossible_time(fetched: str, sweep: Path, tmp_path: Path) -> None:
    broken = tmp_path / "sweep"
    shutil.copytree(sweep, broken)
    models = broken / "models.json"
    models.write_text(re.sub(r'"fetched":[\d.e+]+', f'"fetched":{fetched}', models.read_text()))
    done = report(broken, "--html", tmp_path / "page.html")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr  # what goes to a file is not printed too
    done = report(broken)
    assert done.returncode == 0, done.stderr
    assert "1 alive" in done.stdout
