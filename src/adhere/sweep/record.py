"""Read a sweep from disk, finished or not, as reports need it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from adhere.errors import IntegrityError, UsageError
from adhere.schema import decode
from adhere.store.files import read_regular
from adhere.store.run import Run
from adhere.store.segments import Damage, read_segments
from adhere.sweep.rows import Liveness, Snapshot
from adhere.sweep.spec import SweepSpec

if TYPE_CHECKING:  # reports read a sweep and never talk to an endpoint
    from adhere.models.http.dispatch import Stop


@dataclass
class Sweep:
    """Holds a finished or interrupted sweep.

    Attributes:
        directory: Directory of the sweep.
        spec: The spec of the sweep.
        snapshot: The models that the endpoint listed.
        liveness: By model, whether it answered the small question.
        runs: Directories of the Runs, by (model, place of the suite).
        set_aside: Alive models that the last process did not ask to the end, with the reason.
        stopped: Why asking ended before everything was answered; empty if it did not.
        stopped_for: The reason of `stopped` in a word.
    """

    directory: Path
    spec: SweepSpec
    snapshot: Snapshot
    liveness: dict[str, Liveness] = field(default_factory=dict)
    runs: dict[tuple[str, int], Path] = field(default_factory=dict)
    set_aside: dict[str, str] = field(default_factory=dict)
    stopped: str = ""
    stopped_for: Stop = ""

    @property
    def alive(self) -> list[str]:
        """Models that answered the small question, in the order of their ids."""
        return [model for model in self.snapshot.wanted if model in self.liveness and self.liveness[model].alive]

    @property
    def dead(self) -> dict[str, str]:
        """Models that did not answer the small question, with the reason."""
        return {
            model: self.liveness[model].reason
            for model in self.snapshot.wanted
            if model in self.liveness and not self.liveness[model].alive
        }


def load_sweep(directory: Path) -> Sweep:
    """Read a stored sweep, without its endpoint.

    Raises:
        UsageError: `directory` holds no sweep.
        IntegrityError: A file cannot be read.
    """
    if not (directory / "sweep.json").is_file() or not (directory / "models.json").is_file():
        raise UsageError(f"{directory} is no sweep: it has no sweep.json and models.json")
    spec = decode(read_regular(directory / "sweep.json"), SweepSpec)
    snapshot = decode(read_regular(directory / "models.json"), Snapshot)
    sweep = Sweep(directory, spec, snapshot)
    sweep.liveness = {row.model: row for row in read_segments(directory / "liveness", Liveness, Damage())}
    places = {(name, sha256): place for place, (name, _, sha256) in enumerate(spec.suites)}
    for manifest in sorted((directory / "runs").glob("*/manifest.json")):
        run = Run.load(manifest.parent)
        model = run.spec.model.partition("#")[2]
        place = places.get((run.spec.suite, run.spec.suite_sha256))
        if place is None:
            raise IntegrityError(f"{manifest.parent} is about a suite that {directory} did not ask")
        sweep.runs[model, place] = manifest.parent
    return sweep
