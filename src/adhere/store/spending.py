"""Keep the ledger for a cap on cost: what every process spent in one directory, written down as it is spent."""

from __future__ import annotations

import time
from pathlib import Path

from adhere.schema import Record
from adhere.store.segments import Damage, SegmentWriter, read_segment

FOLDER = "spend"


class SpentSoFar(Record, frozen=True):
    """Holds the money that one process had spent, and what its requests under way may cost.

    Of each segment, the last row counts.
    """

    at: float
    spent_usd: float
    reserved_usd: float


class Ledger:
    """Writes down what this process spends in a directory; a process that spends nothing leaves no file."""

    def __init__(self, directory: Path) -> None:
        self._writer: SegmentWriter[SpentSoFar] = SegmentWriter(directory / FOLDER)
        self._last = 0.0

    def note(self, spent_usd: float) -> None:
        """Note the money spent so far, requests under way at their maximum.

        Raises:
            ResourceError: The disk is full.
        """
        if spent_usd != self._last:
            self._last = spent_usd
            self._writer.append(SpentSoFar(time.time(), spent_usd, 0.0))

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()


def read_spent(directory: Path, damage: Damage) -> float:
    """Return the USD that all processes spent in a directory; requests under way when one was killed count."""
    total = 0.0
    for path in sorted((directory / FOLDER).glob("*.jsonl")):
        rows = list(read_segment(path, SpentSoFar, damage))
        total += max(0.0, rows[-1].spent_usd) + max(0.0, rows[-1].reserved_usd) if rows else 0.0
    return total
