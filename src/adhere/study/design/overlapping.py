"""Read the stored overlaps of training rows with what a study asks."""

from __future__ import annotations

from pathlib import Path

from adhere.schema import Record, decode

FILE = "overlaps.json"


class Overlap(Record, frozen=True):
    """Counts the rows of one file of training rows that repeat a prompt of a suite.

    `rows` is the number of rows in the file, `against` the number of repeating rows by suite; `shown` names a few of
    them, each with its line and the prompt.
    """

    arm: str
    file: str
    rows: int
    against: dict[str, int]
    shown: list[str]

    @property
    def repeated(self) -> int:
        """Number of rows that repeat a prompt."""
        return sum(self.against.values())


class Overlaps(Record, frozen=True):
    """Holds the overlaps of all files; `key` changes with the files, the suites and the rows that arms name."""

    key: str
    files: list[Overlap]


def load_overlaps(directory: Path) -> list[Overlap]:
    """Return the stored overlaps; empty if nothing was compared."""
    file = directory / FILE
    return decode(file.read_bytes(), Overlaps).files if file.exists() else []
