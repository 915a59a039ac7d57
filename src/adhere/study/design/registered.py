"""A rule that was registered, as it is stored."""

from __future__ import annotations

from pathlib import Path

from adhere.schema import Record, decode

FILE, VERSION = "registered.json", 1


class Registration(Record, frozen=True):
    """A rule that was registered.

    Attributes:
        sha256: Of the spec.
        judge: `judge_hash` of its suite.
        at: When, by the clock of that machine.
        adhere: The version that stored it.
        sources: How many models or files of answers the spec names.
    """

    version: int
    sha256: str
    judge: str
    at: str
    adhere: str
    sources: int


def load_registration(directory: Path) -> Registration | None:
    """The rule that is registered in a directory; None where none is."""
    file = directory / FILE
    return decode(file.read_bytes(), Registration) if file.exists() else None
