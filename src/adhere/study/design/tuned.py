"""Read the stored record of a tuning: what it tried, chose and cost."""

from __future__ import annotations

from pathlib import Path

from adhere.schema import Json, Record, decode

FOLDER, FILE = "tune", "tuning.json"
VERSION = 1


class Trial(Record, frozen=True):
    """Holds one trial: its settings, its results and its cost.

    `rates` has the share of dev prompts passed at each seed; it is empty if the trial failed.
    """

    settings: dict[str, Json]
    rates: list[float]
    tokens: int
    minutes: float

    @property
    def rate(self) -> float | None:
        """Mean rate over the seeds; None if the trial failed."""
        return sum(self.rates) / len(self.rates) if self.rates else None


class TunedStage(Record, frozen=True):
    """Holds the trials of one stage in the order of its grid, and the index of the chosen one."""

    stage: str
    trials: list[Trial]
    chosen: int


class Apart(Record, frozen=True):
    """Counts the prompts that the dev slice was compared with, and what it shares with them.

    Nothing may be shared, or no tuning is done.
    """

    training: int
    test: int
    shared: dict[str, int]


class Tuning(Record, frozen=True):
    """Records which settings were tried and chosen before a study, and what it cost.

    `key` is of the tuning's own spec; `apart` is None in the earliest records. `prompts` counts the prompts that trials
    were measured on, and `dev_sha256` is the hash of these. `tokens` is the budget of every trial; None: each trial had
    the budget of what its stage was matched to. `final_seeds` are those of the second round, whose trials have the most
    rates.
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
    """Read the tuning of the study in a directory; None if nothing was tuned."""
    file = directory / FILE
    return decode(file.read_bytes(), Tuning) if file.exists() else None
