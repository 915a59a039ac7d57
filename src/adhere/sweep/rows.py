"""Records that a sweep keeps on disk beside its spec: the pinned list, and rows that are only ever appended."""

from __future__ import annotations

from adhere.schema import Json, Record, Response
from adhere.store.tables.cells import Entry


class Snapshot(Record, frozen=True):
    """The list of an endpoint at one time. `wanted` are ids, `left_out` the reasons for the others."""

    fetched: float
    base_url: str
    dialect: str
    rows: tuple[dict[str, Json], ...]
    wanted: tuple[str, ...]
    left_out: dict[str, str]


class Liveness(Record, frozen=True):
    """The outcome of the small question to one model; `reason` says why it is dead.

    `is_final`: asking again would bring the same (the model is gone, the key has no access to it). A model that timed
    out or was overloaded is asked again by the next run.
    """

    model: str
    alive: bool
    reason: str
    response: Response
    is_final: bool = True


class Trouble(Record, frozen=True):
    """One attempt that was no answer."""

    at: float
    model: str
    prompt_id: str
    kind: str
    reason: str


__all__ = ["Entry", "Liveness", "Snapshot", "Trouble"]
