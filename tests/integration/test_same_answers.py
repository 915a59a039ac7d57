"""The embedded model gives the same answers each time: whatever the limit, and however often it was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adhere.errors import MissingModel
from adhere.models.local.fetch import gguf_path
from adhere.store.run import Run

pytest.importorskip("openvino_genai")
try:
    gguf_path("local/smollm2-135m")
except MissingModel:
    pytest.skip("local/smollm2-135m is not here (adhere fetch local/smollm2-135m)", allow_module_level=True)


def command(out: Path, limit: int) -> list[str]:
    options = [
        "--suite",
        "core",
        "--limit",
        str(limit),
        "--max-new-tokens",
        "24",
        "--out",
        str(out),
        "--min-coverage",
        "0",
    ]
    return [sys.executable, "-m", "adhere", "eval", "local/smollm2-135m", *options]


def texts(out: Path) -> dict[str, str]:
    (folder,) = out.iterdir()
    return {one.prompt_id: one.text for one in Run.load(folder).responses()}


def stored(out: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in out.glob("*/responses/*.jsonl"))


def test_interrupted_limited_or_not_the_answers_are_the_same(tmp_path: Path) -> None:
    subprocess.run(command(tmp_path / "more", 23), check=True, capture_output=True)
    whole = texts(tmp_path / "more")
    assert len(whole) == 23
    process = subprocess.Popen(command(tmp_path / "killed", 20), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and stored(tmp_path / "killed") < 2:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 2 <= stored(tmp_path / "killed") < 20
    subprocess.run(command(tmp_path / "killed", 20), check=True, capture_output=True)
    killed = texts(tmp_path / "killed")
    assert len(killed) == 20
    assert killed.items() <= whole.items()
    (folder,) = (tmp_path / "killed").iterdir()
    settings = json.loads((folder / "manifest.json").read_bytes())["spec"]["engine"]["settings"]
    assert settings["batch_invariant"] == "in fixed chunks of 16"
