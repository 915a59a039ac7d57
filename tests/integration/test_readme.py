"""The README's commands and code, run as they stand.

Run are the blocks that need nothing but the published IFEval file. That all commands know their options and all links
lead somewhere is asked of every page in tests/unit/docs/test_pages.py.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DATA = Path(os.environ.get("ADHERE_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "ifeval").is_dir(), reason=f"the published files are not at {DATA} (set ADHERE_DATA)"
)


def blocks(language: str) -> list[str]:
    """The blocks of a language, in order; fences come in pairs."""
    parts = re.split(r"^```(.*)$", README, flags=re.MULTILINE)  # text, info of the opening fence, block, "", text, …
    return [
        block.removeprefix("\n")
        for info, block in zip(parts[1::4], parts[2::4], strict=True)
        if info.strip() == language
    ]


def test_there_are_blocks_to_run() -> None:
    assert len(blocks("python")) >= 1


@needs_data
@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.strip().splitlines()[0][:40])
def test_python_blocks_run_and_print_what_they_say(block: str, tmp_path: Path) -> None:
    """Each `print(…)  # text` prints that text."""
    (tmp_path / "input_data.jsonl").symlink_to(DATA / "ifeval" / "input_data.jsonl")
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^print\(.*\)  # (.+)$", block, re.MULTILINE)
    assert done.stdout.splitlines() == said
    assert said


@needs_data
def test_the_verify_block_prints_its_numbers(tmp_path: Path) -> None:
    (block,) = [block for block in blocks("") if "adhere verify" in block]
    (tmp_path / "input_data.jsonl").symlink_to(DATA / "ifeval" / "input_data.jsonl")
    (tmp_path / "gpt-4.jsonl").symlink_to(DATA / "ifeval" / "responses" / "gpt-4-20231107.jsonl")
    first, *shown = block.splitlines()
    words = shlex.split(first.removeprefix("$ "), comments=True)
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert [line for line in shown if line.strip() and " ".join(line.split()) not in printed] == []


def test_every_folder_that_is_named_exists() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", README, re.MULTILINE)
    named = [place for row in rows for place in re.findall(r"`([\w./]+/)`", row)]
    assert len(named) >= 8
    for place in named:
        assert (ROOT / place).is_dir() or any((ROOT / "src" / "adhere").glob(f"**/{place}")), place
