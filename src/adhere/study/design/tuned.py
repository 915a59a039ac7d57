"""The stored record of a tuning: what it tried, chose and cost."""

from __future__ import annotations

from pathlib import Path

from adhere.schema import Json, Record, decode

FOLDER, FILE = "tune", "tuning.json"
VERSION = 1


class Trial(Record, frozen=True):
    """One trial.

    Its settings, at each seed the share of dev prompts that were passed (none where it failed), and what it cost.
    """

    settings: dict[str, Json]
    rates: list[float]
    tokens: int
    minutes: float

    @property
    def rate(self) -> float | None:
        """Mean over the seeds; None where the trial failed."""
        return sum(self.rates) / len(self.rates) if self.rates else None


class TunedStage(Record, frozen=True):
    """The trials of one stage in the order of its grid, and which was chosen."""

    stage: str
    trials: list[Trial]
    chosen: int


class Apart(Record, frozen=True):
    """How many prompts the dev slice was compared with, and how many things it shares with them.

    None, or nothing is tuned.
    """

    training: int
    test: int
    shared: dict[str, int]


class Tuning(Record, frozen=True):
    """The record of what was tried and chosen, and what it cost.

    `key` is of the tuning's own spec; `apart` is None in the earliest ones. `tokens` is the budget of every trial;
    None: each had that of what it was matched to. `final_seeds` are of the second round, whose trials have most rates.
    """

    version: int
    key: str
    seeds: list[int]
    prompts: int
    dev_sha256: str
    stages: list[TunedStage]
    minutes: float
    apart: Apart | None = None
    tokens: int | None = None
    final_seeds: list[int] = []


def load_tuning(directory: Path) -> Tuning | None:
    """Read what was tried and chosen for the study in a directory; None where nothing was tuned."""
    file = directory / FILE
    return decode(file.read_bytes(), Tuning) if file.exists() else None
