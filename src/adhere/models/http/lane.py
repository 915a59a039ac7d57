"""One model in the queue: its open requests, its known capacity, and its state for display."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from adhere.models.base import Request
from adhere.models.http.attempt import Attempt, Denied
from adhere.models.http.limiter import Breaker, Bucket, Limiter
from adhere.schema import Response


@dataclass(frozen=True)
class Policy:
    """Holds the caps that a user may set, and the dispatcher's patience.

    Args:
        concurrency: Requests under way at once, all lanes together.
        lane_concurrency: The same for one lane.
        start, lane_start: The first limits of these, before they are adapted.
        requests_per_minute, tokens_per_minute: Caps of each lane; None: no cap.
        max_cost_usd: Nothing is sent that could make the whole cost more than this; None: no cap.
        attempts: Times a request is sent before it is parked; parked requests get one more such round when their
            lane has nothing else to do.
        patience_s: How long a lane is waited for from its first failure since the last answer; then it is set aside.
        drain_s: How long requests under way are waited for when asking is stopped.
        failures, first_open_s, longest_open_s: See Breaker.
    """

    concurrency: int = 1_000
    lane_concurrency: int = 100
    start: int = 20
    lane_start: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost_usd: float | None = None
    attempts: int = 6
    patience_s: float = 300.0
    drain_s: float = 10.0
    failures: int = 20
    first_open_s: float = 30.0
    longest_open_s: float = 900.0


@dataclass
class Counts:
    """Counts what happened so far, for display."""

    sent: int = 0
    answered: int = 0
    failed: int = 0
    limited: int = 0
    transient: int = 0
    spent_usd: float = 0.0

    @property
    def limited_share(self) -> float:
        """Share of rejections among the attempts that ended; 0 before the first."""
        attempts = self.answered + self.failed + self.limited + self.transient
        return self.limited / attempts if attempts else 0.0


class RequestEnd(NamedTuple):
    """Holds the end of one request."""

    lane: str
    request: Request
    response: Response


class LaneWait(NamedTuple):
    """Describes a lane that is waited for: the reason, and in how many seconds it is tried again and set aside."""

    lane: str
    reason: str
    next_s: float
    patience_s: float


class Job:
    """A request in the queue, with the number of attempts and the result of the last."""

    __slots__ = ("attempts", "is_second", "last", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.attempts = 0
        self.is_second = False
        self.last: Attempt | None = None


@dataclass
class Lane:
    """One model: its queue and its known capacity. Times are those of the dispatcher's clock.

    Attributes:
        limiter, breaker, buckets: How many requests it takes at once; whether it only fails; its caps per minute.
        ready: Requests that may be sent, in order; `sources` yield further ones, `unread` of them.
        parked: Requests that failed `Policy.attempts` times; they are tried once more when nothing else is left.
        suspected: Requests whose error blames what a user can correct, until it is known whether all do.
        waiting: Number of requests that wait for the time of their next try.
        gate: Time before which nothing is sent, because the server asked for a pause.
        stopped: Why it is not asked any more; empty: it is asked.
        denied: What was refused, if that stopped it; its requests then stay without a Response.
        is_gone: Whether it was stopped because the model is not there.
        forbidden: HTTP 403s in a row.
        trouble, troubled_at: Its last failure, and the time of the first one since its last answer.
        alone: Rejections in a row that met it with one request under way.
        blames: Rejections of it that cut the endpoint's limit.
        is_in_turn: Whether it is in the queue of lanes that may send.
    """

    name: str
    limiter: Limiter
    breaker: Breaker
    buckets: dict[Literal["requests", "tokens"], Bucket]
    ready: deque[Job] = field(default_factory=deque)
    sources: deque[Iterator[Request]] = field(default_factory=deque)
    unread: int = 0
    parked: deque[Job] = field(default_factory=deque)
    suspected: list[Job] = field(default_factory=list)
    waiting: int = 0
    gate: float = 0.0
    stopped: str = ""
    denied: Denied | None = None
    is_gone: bool = False
    forbidden: int = 0
    trouble: str = ""
    troubled_at: float | None = None
    alone: int = 0
    blames: int = 0
    is_in_turn: bool = False
    counts: Counts = field(default_factory=Counts)

    @property
    def open_requests(self) -> int:
        """Number of requests without an answer."""
        queue_length = len(self.ready) + self.unread + len(self.parked) + len(self.suspected)
        return queue_length + self.waiting + self.limiter.in_flight

    @property
    def has_ready(self) -> bool:
        """Whether the lane has a request that could be sent if there were room."""
        return bool(self.ready or self.unread)

    @property
    def state(self) -> Literal["done", "stopped", "parked", "paused", "active"]:
        """The lane's state, for the live table."""
        if self.stopped:
            return "stopped"
        if not self.open_requests:
            return "done"
        if self.breaker.is_suspicious:
            return "paused"
        return "parked" if not (self.has_ready or self.waiting or self.limiter.in_flight) else "active"

    def first(self) -> Job:
        """Return the request at the head of the queue; requests are made when their turn comes."""
        while not self.ready:
            request = next(self.sources[0], None)
            if request is None:
                self.sources.popleft()
                continue
            self.unread -= 1
            self.ready.append(Job(request))
        return self.ready[0]


def lane_states(lanes: Iterable[Lane]) -> Mapping[str, int]:
    """Count the lanes by state."""
    states: dict[str, int] = {}
    for lane in lanes:
        states[lane.state] = states.get(lane.state, 0) + 1
    return states


def waiting_line(waits: Sequence[LaneWait], most: int = 3) -> str:
    """Name the lanes that are waited for and their next try, in one line; empty if there are none."""
    if not waits:
        return ""
    lines = [
        f"{wait.lane} (next try in {wait.next_s:.0f} s, set aside in {wait.patience_s:.0f} s: {wait.reason[:80]})"
        for wait in waits[:most]
    ]
    more = f" and {len(waits) - most} more" if len(waits) > most else ""
    return f"waiting for {', '.join(lines)}{more}"
