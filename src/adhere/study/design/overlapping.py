"""Overlaps of training rows with what a study asks, as they are stored."""

from __future__ import annotations

from pathlib import Path

from adhere.schema import Record, decode

FILE = "overlaps.json"


class Overlap(Record, frozen=True):
    """One file of training rows: how many of its `rows` repeat a prompt, by suite, and some of them."""

    arm: str
    file: str
    rows: int
    against: dict[str, int]
    shown: list[str]

    @property
    def repeated(self) -> int:
        """Rows that repeat a prompt."""
        return sum(self.against.values())


class Overlaps(Record, frozen=True):
    """All files; `key` changes with the files, the suites and what arms name."""

    key: str
    files: list[Overlap]


def load_overlaps(directory: Path) -> list[Overlap]:
    """Return what was found; empty where nothing was compared."""
    file = directory / FILE
    return decode(file.read_bytes(), Overlaps).files if file.exists() else []
