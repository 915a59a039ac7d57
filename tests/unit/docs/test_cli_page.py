"""docs/reference/cli.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import EXIT_CODES

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def test_exit_codes() -> None:
    rows = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, flags=re.MULTILINE)}
    assert rows == EXIT_CODES
    printed = CliRunner().invoke(adhere, ["--help"]).output
    assert all(f"{code:<4} {meaning}"[:60] in printed for code, meaning in EXIT_CODES.items())


def test_token_limits(listing: dict[str, Any]) -> None:
    rows = {row.name: row.tokens for row in listing.values()}
    said = {
        name: int(tokens.replace(",", ""))
        for names, tokens in re.findall(r"^\| (`[^|]+) \| ([\d,]+) \|", PAGE, flags=re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", names)
    }
    assert {"ifeval", "ifbench", "ifbench-2025", "iftrain", "core", "diagnostic"} <= set(said)
    assert {name: rows[name] for name in said} == said
