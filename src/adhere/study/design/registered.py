"""Read a registered rule from its file."""

from __future__ import annotations

from pathlib import Path

from adhere.schema import Record, decode

FILE, VERSION = "registered.json", 1


class Registration(Record, frozen=True):
    """Records a registered rule.

    Attributes:
        sha256: Hash of the spec.
        judge: `judge_hash` of the suite.
        at: Time of registration, by the clock of that machine.
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
    """Return the rule that is registered in a directory, or None."""
    file = directory / FILE
    return decode(file.read_bytes(), Registration) if file.exists() else None
