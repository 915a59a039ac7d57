"""Store the results of `adhere stable` about a model's engine, beside its runs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from adhere.errors import IntegrityError
from adhere.schema import Record, content_hash, decode, encode, write_atomic
from adhere.store.manifest import RunSpec, slug

FOLDER = "stable"


class Way(Record, frozen=True):
    """Counts for one way of asking how many texts and verdicts differ from those of prompts asked alone."""

    way: str
    answers: int
    texts: int
    verdicts: int


class Stability(Record, frozen=True):
    """Holds the result of `adhere stable`.

    Attributes:
        model: Name of the model.
        engine_sha256: Hash of model and engine (`engine_hash`); the result is about Runs with the same hash.
        suite: Name of the suite.
        suite_sha256: Hash of the suite.
        max_new_tokens: Token limit of an answer.
        prompts: Number of first turns asked in each way.
        batch_invariant: What the engine says of itself.
        ways: Counts for each way of asking.
        failed: Number of prompts with a failed call in any way, which are left out.
    """

    version: int
    model: str
    engine_sha256: str
    suite: str
    suite_sha256: str
    max_new_tokens: int
    prompts: int
    batch_invariant: str
    ways: tuple[Way, ...]
    failed: int = 0

    @property
    def text_share(self) -> float | None:
        """The largest share of texts that changed; None where no prompt was answered in every way."""
        return self._share("texts")

    @property
    def verdict_share(self) -> float | None:
        """The largest share of verdicts that changed; None where no prompt was answered in every way."""
        return self._share("verdicts")

    def _share(self, field: str) -> float | None:
        shares = [getattr(way, field) / way.answers for way in self.ways if way.answers]
        return max(shares) if shares else None


def engine_hash(spec: RunSpec) -> str:
    """Return the identity of a run's model and engine, as a hash."""
    fields = msgspec.to_builtins(spec.engine)
    settings = {name: value for name, value in fields["settings"].items() if name not in {"total_s", "batch_invariant"}}
    return content_hash([spec.model, {**fields, "settings": settings}])


def store(stability: Stability, out: Path) -> Path:
    """Write the result below the folder of the runs; return the file. A repeated measurement replaces it."""
    setting = [stability.engine_sha256, stability.suite_sha256, stability.max_new_tokens, stability.prompts]
    path = out / FOLDER / f"{slug(stability.model)}-{content_hash(setting)[:12]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, encode(stability))
    return path


def stored_for(spec: RunSpec, runs: Path) -> tuple[Stability | None, list[Path]]:
    """Return the stability stored for the engine of a run, and the files that cannot be read.

    Of several measurements it is the one with the largest share of verdicts. A damaged file may be of this engine.
    """
    engine_sha256 = engine_hash(spec)
    measurements, damaged_paths = [], []
    for path in sorted((runs / FOLDER).glob("*.json")):
        try:
            measurement = decode(path.read_bytes(), Stability)
        except (OSError, IntegrityError, msgspec.MsgspecError):
            damaged_paths.append(path)
            continue
        if measurement.engine_sha256 == engine_sha256 and measurement.verdict_share is not None:
            measurements.append(measurement)
    return max(measurements, key=lambda measurement: measurement.verdict_share or 0.0, default=None), damaged_paths
