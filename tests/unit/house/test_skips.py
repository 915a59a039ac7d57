"""In CI a skip that nobody allowed is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


def run(tmp_path: Path, reason: str, *, ci: str, **more: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n\ndef test_good(): pass\n\ndef test_skipped(): pytest.skip({reason!r})\n"
    )
    known = {name: value for name, value in os.environ.items() if not name.startswith("ADHERE_")}
    environment = {**known, "CI": ci, "PYTHONPATH": str(TESTS), **more}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "skips", "-p", "no:cacheprovider", str(tmp_path)]
    return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("reason", "ci", "code"),
    [
        ("needs ../shared/data", "true", 1),
        ("needs ../shared/data", "", 0),
        ("this container may not mount: no", "true", 0),
    ],
)
def test_an_unexpected_skip_fails_in_ci_only(tmp_path: Path, reason: str, ci: str, code: int) -> None:
    done = run(tmp_path, reason, ci=ci)
    assert done.returncode == code, done.stdout
    assert ("unexpected skips" in done.stdout) == (code == 1)


@pytest.mark.parametrize(
    "reason", ["needs ../shared/data: /x is not there (set ADHERE_DATA)", "no papers (ADHERE_PAPERS)"]
)
def test_a_clone_alone_may_skip_what_needs_files_beside_it(tmp_path: Path, reason: str) -> None:
    home = tmp_path / "clone" / "tests"
    home.mkdir(parents=True)
    shutil.copy(TESTS / "skips.py", home)
    assert run(tmp_path, reason, ci="true", PYTHONPATH=str(home)).returncode == 0
    name = "ADHERE_DATA" if "DATA" in reason else "ADHERE_PAPERS"
    assert run(tmp_path, reason, ci="true", PYTHONPATH=str(home), **{name: "/x"}).returncode == 1
    (tmp_path / "shared").mkdir()
    assert run(tmp_path, reason, ci="true", PYTHONPATH=str(home)).returncode == 1


def test_a_module_that_is_skipped_whole_counts_too(tmp_path: Path) -> None:
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_module_here')\n")
    done = run(tmp_path, "needs a GPU", ci="true")
    assert done.returncode == 1
    assert "no_such_module_here" in done.stdout
