"""Describe the spec of a sweep: everything that can change an answer or how it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adhere.schema import EngineInfo, Mode, Record, Sampling, content_hash, decode
from adhere.store.manifest import identity, place_below, slug
from adhere.suites.base import Suite

if TYPE_CHECKING:  # reports read a spec and never talk to an endpoint
    from adhere.models.http.client import Endpoint


class Filter(Record, frozen=True):
    """Holds the conditions that wanted models meet among the listed ones; see `models.http.discover.select`."""

    globs: tuple[str, ...] = ()
    max_price: float | None = None
    min_context: int | None = None
    modality: str | None = "text"


class SweepSpec(Record, frozen=True):
    """Holds everything that can change an answer or how it is judged. Two sweeps with one spec are one sweep.

    `suites` are (name, version, sha256). `limit` is how many prompts of each suite are asked. `samplings` has one for
    each suite; empty: all suites have `sampling`.
    """

    base_url: str
    engine: EngineInfo
    filter: Filter
    suites: tuple[tuple[str, str, str], ...]
    sampling: Sampling
    draws: int = 1
    limit: int | None = None
    mode: Mode = "reference"
    samplings: tuple[Sampling, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of what can change an answer.

        `samplings` is left out if empty, so that older sweeps can be resumed.
        """
        fields = identity(self)
        if not self.samplings:
            del fields["samplings"]
        return content_hash(fields)

    def sampling_of(self, place: int) -> Sampling:
        """Return how answers to the suite at this place are drawn."""
        return self.samplings[place] if self.samplings else self.sampling

    def model_name(self, model: str) -> str:
        """Return the name that the Runs of this model give it."""
        return f"{self.base_url}#{model}"

    def directory(self, out: Path) -> Path:
        """Return the directory of this sweep below `out`, existing or not, named by host and hash."""
        parts = urlsplit(self.base_url)

        def sha256_of(folder: Path) -> str:
            return decode((folder / "sweep.json").read_bytes(), SweepSpec).sha256

        return place_below(out, slug(parts.netloc + parts.path, "endpoint"), self.sha256, sha256_of)


def sweep_spec(
    endpoint: Endpoint,
    suites: Sequence[Suite],
    *,
    model_filter: Filter,
    samplings: Sequence[Sampling],
    draws: int = 1,
    limit: int | None = None,
    mode: Mode = "reference",
) -> SweepSpec:
    """Return the spec of asking an endpoint's wanted models these suites; `samplings` has one for each suite."""
    are_alike = len(set(map(content_hash, samplings))) == 1
    return SweepSpec(
        base_url=endpoint.base_url,
        engine=endpoint.engine(),
        filter=model_filter,
        suites=tuple((suite.name, suite.version, suite.sha256) for suite in suites),
        sampling=samplings[0],
        samplings=() if are_alike else tuple(samplings),
        draws=draws,
        limit=limit,
        mode=mode,
    )
