"""In CI a skip that nobody allowed is a failure."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import skips
from tests.skips import is_allowed

TESTS = Path(__file__).parents[2]
SOUGHT = re.compile(r"^(?:\w+ = )?pytest\.importorskip\(\"([\w.]+)\"\)", re.MULTILINE)


def run(tmp_path: Path, reason: str, *, ci: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n\ndef test_good(): pass\n\ndef test_skipped(): pytest.skip({reason!r})\n"
    )
    known = {name: value for name, value in os.environ.items() if not name.startswith("ADHERE_")}
    environment = {**known, "CI": ci, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
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
def test_a_clone_alone_may_skip_what_needs_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.setattr(skips, "BESIDE", tmp_path / "shared")
    for name in skips.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert is_allowed(reason)
    with monkeypatch.context() as set_here:
        set_here.setenv("ADHERE_DATA" if "DATA" in reason else "ADHERE_PAPERS", "/x")
        assert not is_allowed(reason)
    (tmp_path / "shared").mkdir()
    assert not is_allowed(reason)


def test_a_module_that_is_skipped_whole_counts_too(tmp_path: Path) -> None:
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_module_here')\n")
    done = run(tmp_path, "needs a GPU", ci="true")
    assert done.returncode == 1
    assert "no_such_module_here" in done.stdout


def test_every_package_that_tests_look_for_is_here_or_may_be_missing() -> None:
    """The first that a module looks for decides its reason, also in a module of slow tests."""
    first = {path: SOUGHT.search(path.read_text(encoding="utf-8")) for path in TESTS.rglob("test_*.py")}
    names = {path.name: name[1] for path, name in first.items() if name and path != Path(__file__)}
    assert "torch" in names.values()
    missing = {path: name for path, name in names.items() if importlib.util.find_spec(name.partition(".")[0]) is None}
    bad = {path: name for path, name in missing.items() if not is_allowed(f"could not import '{name}': No module")}
    assert not bad
