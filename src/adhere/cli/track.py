"""`adhere eval --track`: log the main numbers of each measurement to trackers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adhere.store.summary import Summary
    from adhere.train.recipe.tracking import Tracker


class Trackers:
    """Holds the trackers that were asked for; no tracker's package is imported if none was.

    Args:
        names: The values of `--track`.
        directory: Where trackers write that write to disk.

    Raises:
        UsageError: There is no tracker of a name, or it refuses to begin.
        MissingExtra: A tracker is not installed.
    """

    def __init__(self, names: Sequence[str], directory: Path) -> None:
        self._opened: list[Tracker] = []
        if names:
            from adhere.train.recipe.tracking import open_tracker

            self._opened = [open_tracker(name, name="adhere eval", directory=directory) for name in names]

    def log(self, model: str, suite: str, summary: Summary) -> None:
        """Log one measurement as MODEL/SUITE/number."""
        from adhere.pipeline.summarize.tracked import tracked_numbers

        for tracker in self._opened:
            tracker.log(model, {f"{suite}/{name}": value for name, value in tracked_numbers(summary).items()})

    def close(self) -> None:
        """Let the trackers write what they hold."""
        for tracker in self._opened:
            tracker.close()
