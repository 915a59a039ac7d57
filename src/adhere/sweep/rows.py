"""Define the records that a sweep keeps on disk beside its spec: the pinned list, and rows that are only appended."""

from __future__ import annotations

from adhere.schema import Json, Record, Response
from adhere.store.tables.cells import Entry


class Snapshot(Record, frozen=True):
    """Holds the list of an endpoint at one time. `wanted` are ids, `left_out` has the reasons for the others."""

    fetched: float
    base_url: str
    dialect: str
    rows: tuple[dict[str, Json], ...]
    wanted: tuple[str, ...]
    left_out: dict[str, str]


class Liveness(Record, frozen=True):
    """Records the outcome of the small question to one model; `reason` says why the model is dead.

    `is_final`: asking again would bring the same (the model is gone, the key has no access to it). A model that timed
    out or was overloaded is asked again by the next run.
    """

    model: str
    alive: bool
    reason: str
    response: Response
    is_final: bool = True


class Trouble(Record, frozen=True):
    """Records one attempt that brought no answer."""

    at: float
    model: str
    prompt_id: str
    kind: str
    reason: str


__all__ = ["Entry", "Liveness", "Snapshot", "Trouble"]
