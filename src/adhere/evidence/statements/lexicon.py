"""The words and patterns of `words.toml`, read once."""

from __future__ import annotations

import functools
import re
import tomllib
from importlib import resources
from typing import Any


@functools.cache
def data(room: str) -> dict[str, Any]:
    """Return everything under a heading of `words.toml`."""
    text = resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    entries: dict[str, Any] = tomllib.loads(text)[room]
    return entries


def words(room: str, name: str) -> list[str]:
    """Return the words under a name."""
    return str(data(room)[name]).split()


@functools.cache
def pattern(room: str, name: str, **parts: str) -> re.Pattern[str]:
    """Return the pattern under a name, with `{PART}` filled in; it ignores case, and its line breaks are removed."""
    text = str(data(room)[name]).replace("\n", "")
    for part, replacement in parts.items():
        text = text.replace(f"{{{part}}}", replacement)
    return re.compile(text, re.IGNORECASE)
