"""Every documented `vf-eval` goes through verifiers' own parser, to the resolved config."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from adhere.integrations.houses import house_of

pytestmark = pytest.mark.slow
pytest.importorskip("verifiers")

COMMANDS = [door.command for door in house_of("verifiers").doors if door.command.startswith("vf-eval")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_resolves(command: str, tmp_path: Path) -> None:
    words = shlex.split(command.replace("NAME", "some/model").replace("URL", "http://127.0.0.1:1/v1"))
    binary = Path(sys.executable).parent / words[0]
    done = subprocess.run(
        [str(binary), *words[1:], "--dry-run", "-o", str(tmp_path)], capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_environment_loads() -> None:
    from adhere.integrations.verifiers.environment import load_environment

    assert load_environment("core:x1", limit=2) is not None
