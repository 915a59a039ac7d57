"""One queue for all models of an endpoint. It decides what is asked next, what again, and when to stop.

No task sleeps: a request that was rejected or failed goes back to the queue with the time of its next try. The limits
are found by trying (`limiter.py`): one for the endpoint, one a lane (a model). Lanes take turns, so hundreds of models
progress together and a slow one holds up nobody. Every request ends in exactly one Response, whatever happens, unless
asking is stopped (Ctrl-C, the cap on cost, no credit): then unanswered requests have no Response, and are asked when
the run is continued.

A rejection (429) is the lane's own business if the lane had several requests under way; a lane that had only this one
may have met a limit of the whole endpoint. Where the server says which of the two it was, it is believed. A lane that
blames the endpoint more often than its share is not believed any more.

One model's trouble is that model's. A model that only fails, or asks for a long pause, is waited for as long as
`patience_s` says and is then set aside. A refused key or spent credit stops one model; it stops all only if several
models meet it with no answer in between.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Literal

from adhere.models.base import Request
from adhere.models.http.attempt import Attempt, failed_attempt, response_to
from adhere.models.http.cost import dollars
from adhere.models.http.lane import Counts, Job, Lane, LaneWait, Policy, RequestEnd
from adhere.models.http.limiter import Breaker, Bucket, Limiter, backoff_s
from adhere.schema import Response

Call = Callable[[str, Request], Awaitable[Attempt]]
FORBIDDEN = 3
"""Number of requests in a row refused with 403 after which a model stops.

Fewer may have been refused for their content.
"""
DENIED_LANES = 3
"""Number of models in a row refused for key, credit or address after which nothing more is sent for now.

The requests under way are then awaited. An answer shows that the refused models have trouble of their own; without an
answer, the whole endpoint refuses.
"""
SUSPECTED = 3
"""Number of first requests that must blame the key, the address or a field in words before a model is denied."""
CORROBORATED_S = 10.0
Stop = Literal["", "interrupted", "cost", "credit", "key", "address", "request"]


class Dispatcher:
    """Sends the requests of several lanes, and yields every answer as soon as it is known.

    Args:
        call: Sends one request of a lane once. An exception counts as a failed attempt of that request.
        policy: See Policy.
        rng: Spreads retries.
        clock: A monotonic clock in seconds; by default the running loop's time, so that tests can use a loop with
            its own time.
        cost_of: Returns the most that a request may cost, for `max_cost_usd`.
        tokens_of: Returns the most tokens that a request may use, for `tokens_per_minute`.
        spent_usd: USD spent before, under the same cap.
        probe: A small request to a model that has answered before, sent if only this can show whether the endpoint
            works.
        watch: Called with every attempt that was not an answer: (lane, request, attempt).
        notice: Called with a sentence when a lane is paused for long, stopped or set aside.
    """

    def __init__(
        self,
        call: Call,
        *,
        policy: Policy | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] | None = None,
        cost_of: Callable[[str, Request], float] = lambda _lane, _request: 0.0,
        tokens_of: Callable[[str, Request], int] = lambda _lane, _request: 0,
        spent_usd: float = 0.0,
        probe: tuple[str, Request] | None = None,
        watch: Callable[[str, Request, Attempt], None] = lambda _lane, _request, _attempt: None,
        notice: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.call, self.policy, self.watch, self.notice = call, policy or Policy(), watch, notice
        self.cost_of, self.tokens_of, self.probe = cost_of, tokens_of, probe
        self.rng = rng or random.Random(0)
        self.endpoint = Limiter(self.policy.start, self.policy.concurrency)
        self.lanes: dict[str, Lane] = {}
        self.counts = Counts()
        self.stopped = ""
        self.stopped_for: Stop = ""
        self._clock = clock
        self._spent_before_usd = spent_usd
        self._reserved_usd = 0.0
        self._turn: deque[Lane] = deque()
        self._gate = 0.0
        self._timers: list[tuple[float, int, Lane, Job | None]] = []
        self._ticket = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: asyncio.Queue[tuple[Lane, Job, Attempt, tuple[int, int], float]] = asyncio.Queue()
        self._out: deque[RequestEnd] = deque()
        self._drained_at: float | None = None
        self._denials: set[str] = set()
        self._suspicion: Attempt | None = None
        self._probing: asyncio.Task[None] | None = None
        self._blames = 0
        self._alone: list[tuple[Lane, float]] = []

    @property
    def in_flight(self) -> int:
        """Number of requests under way."""
        return self.endpoint.in_flight

    @property
    def spent_usd(self) -> float:
        """The USD spent, before and by this dispatcher."""
        return self._spent_before_usd + self.counts.spent_usd

    @property
    def reserved_usd(self) -> float:
        """The most that the requests under way may cost, in USD."""
        return max(0.0, self._reserved_usd)

    def stop(self, reason: str, kind: Stop = "interrupted") -> None:
        """Send nothing more.

        Requests under way are waited for as long as the policy says; a second call ends that wait at once.
        """
        now = self._now()
        self._drained_at = now if self.stopped else now + self.policy.drain_s
        self.stopped, self.stopped_for = self.stopped or reason, self.stopped_for or kind
        self._ended.put_nowait(_WAKE)

    def add(
        self, lane: str, requests: Iterable[Request], count: int | None = None, *, goes_first: bool = False
    ) -> None:
        """Queue requests; a new lane may be added while answers come in.

        Args:
            lane: The lane (model) that they are for.
            requests: The requests, in order. With a `count` they are taken from the iterator one by one when their
                turn comes.
            count: Their number; None: they are counted, which takes them all at once.
            goes_first: Whether they go before what the lane has queued, so that a conversation ends before the next
                begins.
        """
        own_lane = self.lanes.get(lane)
        if own_lane is None:
            policy = self.policy
            caps = {"requests": policy.requests_per_minute, "tokens": policy.tokens_per_minute}
            own_lane = self.lanes[lane] = Lane(
                lane,
                Limiter(policy.lane_start, policy.lane_concurrency),
                Breaker(policy.failures, policy.first_open_s, policy.longest_open_s),
                {name: Bucket(cap) for name, cap in caps.items() if cap is not None},  # type: ignore[misc]
            )
        if count is None:
            requests = list(requests)
            count = len(requests)
        (own_lane.sources.appendleft if goes_first else own_lane.sources.append)(iter(requests))
        own_lane.unread += count
        if own_lane.stopped and own_lane.denied is None:
            self._give_up_all(own_lane)
        else:
            self._take_turn(own_lane)

    async def answers(self) -> AsyncGenerator[RequestEnd, None]:
        """Yield the end of every request, in the order in which they are known."""
        try:
            while True:
                self._pump()
                if self._out:
                    while self._out:
                        yield self._out.popleft()
                    # whoever took them may have queued more, and with nothing under way no event would send it
                    continue
                if not self.in_flight and self._probing is None and (self.stopped or not self._has_more()):
                    return
                await self._wait()
                if self._drained_at is not None and self._now() + 1e-6 >= self._drained_at:
                    self._settle_ended()
                    while self._out:  # what is settled is never dropped
                        yield self._out.popleft()
                    return
        finally:
            tasks = [*self._tasks, *([self._probing] if self._probing is not None else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Requests that were dropped under way may be billed all the same.
            self.counts.spent_usd += self.reserved_usd
            self._reserved_usd = 0.0

    def waited_for(self) -> list[LaneWait]:
        """List the lanes that have requests left but cannot send one now, by the time of their next try."""
        now = self._now()
        waits = []
        soonest: dict[str, float] = {}
        for when, _, lane, job in self._timers:
            if job is not None:
                soonest[lane.name] = min(when, soonest.get(lane.name, when))
        for lane in self.lanes.values():
            if lane.stopped or lane.limiter.in_flight or not lane.open_requests:
                continue
            times = [max(self._gate, lane.gate, lane.breaker.closed_at)] if lane.has_ready else []
            times += [soonest[lane.name]] if lane.name in soonest else []
            next_s = min(times, default=now) - now
            if next_s > 0:
                patience_s = self._patience_left(lane, now)
                waits.append(
                    LaneWait(lane.name, lane.trouble or "a pause was asked for", min(next_s, patience_s), patience_s)
                )
        return sorted(waits, key=lambda wait: wait.next_s)

    def troubled(self) -> list[LaneWait]:
        """List the lanes that failed since their last answer, whether they are being tried now or not."""
        now = self._now()
        soonest = {wait.lane: wait.next_s for wait in self.waited_for()}
        return [
            LaneWait(lane.name, lane.trouble, soonest.get(lane.name, 0.0), self._patience_left(lane, now))
            for lane in self.lanes.values()
            if lane.troubled_at is not None and lane.open_requests and not lane.stopped
        ]

    def _patience_left(self, lane: Lane, now: float) -> float:
        since = now if lane.troubled_at is None else lane.troubled_at
        return max(0.0, since + self.policy.patience_s - now)

    def _now(self) -> float:
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def _has_more(self) -> bool:
        """Tell whether any lane has something left to send, or something has to be settled."""
        return bool(self._out or self._suspicion) or any(
            lane.open_requests and not lane.stopped for lane in self.lanes.values()
        )

    def _take_turn(self, lane: Lane) -> None:
        if lane.stopped or lane.is_in_turn:
            return
        if lane.parked and not (lane.has_ready or lane.waiting or lane.limiter.in_flight):
            self._second_pass(lane)
        if lane.has_ready:
            lane.is_in_turn = True
            self._turn.append(lane)

    def _second_pass(self, lane: Lane) -> None:
        """Give each parked request of a lane, which has nothing else left, one more round of attempts."""
        while lane.parked:
            job = lane.parked.popleft()
            job.attempts, job.is_second = 0, True
            lane.ready.append(job)

    def _pump(self) -> None:
        """Send every request that may be sent now.

        A lane that may not send is taken out of the queue of lanes; a timer or an answer of its own puts it back.
        """
        now = self._now() + 1e-6  # a timer that fires a rounding error early is due
        while self._timers and self._timers[0][0] <= now:
            _, _, lane, job = heapq.heappop(self._timers)
            if job is not None:
                lane.waiting -= 1
                lane.ready.append(job)
            self._set_aside_if_due(lane, now)
            self._take_turn(lane)
        if self._suspicion is not None:
            self._settle_suspicion(self._suspicion)
            return
        if self._gate > now:
            return
        while self._turn and self.endpoint.has_room and not self.stopped:
            lane = self._turn.popleft()
            lane.is_in_turn = False
            if not lane.has_ready or lane.stopped:
                continue
            job = lane.first()
            opens = self._opens_at(lane, job, now)
            if opens > now:
                self._at(opens, lane, None)
                continue
            if not lane.limiter.has_room or (lane.breaker.is_suspicious and lane.limiter.in_flight):
                continue  # an answer of this lane brings it back
            cost = self.cost_of(lane.name, job.request)
            if self._is_too_dear(cost):
                if self._is_too_dear(cost, alone=True):
                    self._too_dear(lane)
                    continue
                self._take_turn(lane)
                return  # what is under way may turn out cheaper
            lane.ready.popleft()
            self._send(lane, job, cost, now)
            self._take_turn(lane)

    def _opens_at(self, lane: Lane, job: Job, now: float) -> float:
        """Return when the lane may send: `now`, or later for a pause, an open breaker or a cap per minute."""
        times = [now, lane.gate, lane.breaker.closed_at]
        if "requests" in lane.buckets:
            times.append(lane.buckets["requests"].ready_at(now))
        if "tokens" in lane.buckets:
            times.append(lane.buckets["tokens"].ready_at(now, self.tokens_of(lane.name, job.request)))
        return max(times)

    def _is_too_dear(self, cost_usd: float, *, alone: bool = False) -> bool:
        cap = self.policy.max_cost_usd
        reserved_usd = 0.0 if alone else self.reserved_usd
        return cap is not None and self.spent_usd + reserved_usd + cost_usd > cap + 1e-9

    def _too_dear(self, lane: Lane) -> None:
        """Stop a lane whose next request does not fit under the cost cap; cheaper lanes go on."""
        lane.stopped = f"the cap of {dollars(self.policy.max_cost_usd or 0.0)} is reached"
        lane.denied = "credit"
        if not any(other.open_requests and not other.stopped for other in self.lanes.values()):
            self.stop(lane.stopped, "cost")

    def _send(self, lane: Lane, job: Job, cost_usd: float, now: float) -> None:
        job.attempts += 1
        epochs = (lane.limiter.sent(), self.endpoint.sent())
        for name, bucket in lane.buckets.items():
            bucket.take(now, 1 if name == "requests" else self.tokens_of(lane.name, job.request))
        self._reserved_usd += cost_usd
        self.counts.sent += 1
        lane.counts.sent += 1
        task = asyncio.get_running_loop().create_task(self._run(lane, job, epochs, cost_usd))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, lane: Lane, job: Job, epochs: tuple[int, int], cost_usd: float) -> None:
        try:
            attempt = await self.call(lane.name, job.request)
        except Exception as error:  # noqa: BLE001 - the boundary of one model call: whatever it raises is a failed attempt
            reason = f"{type(error).__name__}: {error}"
            attempt = failed_attempt("transient", job.request, reason, latency_s=0.0, may_cost=True)
        self._ended.put_nowait((lane, job, attempt, epochs, cost_usd))

    async def _wait(self) -> None:
        """Wait until a request ends, or a timer or the end of draining comes; then settle all ended requests."""
        times = [self._timers[0][0]] if self._timers else []
        if self._drained_at is not None:
            times.append(self._drained_at)
        try:
            timeout = max(0.0, min(times) - self._now()) if times else None
            ending = await asyncio.wait_for(self._ended.get(), timeout)
        except TimeoutError:
            return
        self._settle(*ending)
        self._settle_ended()

    def _settle_ended(self) -> None:
        while not self._ended.empty():
            self._settle(*self._ended.get_nowait())

    def _settle(self, lane: Lane, job: Job, attempt: Attempt, epochs: tuple[int, int], cost_usd: float) -> None:
        if lane is _NOBODY:
            return
        now = self._now()
        job.last = attempt
        self._reserved_usd -= cost_usd
        charge_usd = _charged_usd(attempt, cost_usd)
        for counts in (self.counts, lane.counts):
            counts.spent_usd += charge_usd
        if attempt.kind == "answered":
            lane.limiter.succeeded(epochs[0])
            self.endpoint.succeeded(epochs[1])
            self._recover(lane)
            self._answer(lane, job.request, attempt.response)
            self._settle_suspected(lane)
            self._take_turn(lane)
            return
        self.watch(lane.name, job.request, attempt)
        if attempt.kind == "limited":
            is_of_endpoint, has_company = self._rejected(lane, attempt, epochs, now)
            self._count(lane, rejections=1)
            if not has_company:
                self._troubled(lane, attempt.reason, now)
            self._requeue(lane, job, attempt, now, has_company=has_company, is_of_endpoint=is_of_endpoint)
        else:
            lane.limiter.ended()
            self.endpoint.ended()
            self._failed(lane, job, attempt, now)
        self._settle_suspected(lane)
        self._set_aside_if_due(lane, now)
        self._take_turn(lane)

    def _failed(self, lane: Lane, job: Job, attempt: Attempt, now: float) -> None:
        if attempt.suspects is not None and not lane.counts.answered:
            lane.suspected.append(job)
            return
        if attempt.kind == "failed":  # the model is there, and said no to this one request
            self._recover(lane)
            self._answer(lane, job.request, attempt.response)
            return
        if attempt.kind == "denied":
            self._deny(lane, job, attempt)
            return
        if attempt.kind == "forbidden":
            lane.forbidden += 1
            if lane.forbidden < FORBIDDEN:
                self._answer(lane, job.request, attempt.response)
                return
        if attempt.kind in {"forbidden", "lane-stopped"}:
            lane.is_gone = True
            self._stop_lane(lane, attempt.reason, job)
            return
        self._count(lane, transient=1)
        self._troubled(lane, attempt.reason, now)
        if lane.breaker.failed(now):
            pause = lane.breaker.closed_at - now
            self.notice(f"{lane.name}: failures in a row, next try in {pause:.0f} s; the last: {attempt.reason}")
        if lane.stopped:
            self._give_up(lane, job, lane.stopped)
        elif self._asks_too_much(lane, attempt, now):
            self._stop_lane(lane, _asks(attempt), job)
        elif attempt.kind == "timeout" or job.attempts >= self.policy.attempts:
            self._park(lane, job)
        else:
            self._at(now + (attempt.retry_after_s or backoff_s(job.attempts, self.rng)), lane, job)

    def _count(self, lane: Lane, *, rejections: int = 0, transient: int = 0) -> None:
        for counts in (self.counts, lane.counts):
            counts.limited += rejections
            counts.transient += transient

    def _recover(self, lane: Lane) -> None:
        """Forget a lane's troubles after an answer."""
        lane.breaker.succeeded()
        lane.forbidden = 0
        lane.troubled_at, lane.trouble, lane.alone = None, "", 0
        self._denials.clear()
        self._suspicion = None

    def _troubled(self, lane: Lane, reason: str, now: float) -> None:
        """Note that the lane failed; from its first failure on it is waited for as long as the policy says."""
        lane.trouble = reason
        if lane.troubled_at is None:
            lane.troubled_at = now
            self._at(now + self.policy.patience_s, lane, None)

    def _set_aside_if_due(self, lane: Lane, now: float) -> None:
        if lane.stopped or lane.troubled_at is None or lane.limiter.in_flight or not lane.open_requests:
            return
        if now + 1e-6 >= lane.troubled_at + self.policy.patience_s:
            reason = f"set aside after {self.policy.patience_s:g} s without an answer; the last: {lane.trouble}"
            self._stop_lane(lane, reason)

    def _asks_too_much(self, lane: Lane, attempt: Attempt, now: float) -> bool:
        return (attempt.retry_after_s or 0.0) > self._patience_left(lane, now)

    def _rejected(self, lane: Lane, attempt: Attempt, epochs: tuple[int, int], now: float) -> tuple[bool, bool]:
        """Cut the limit that was met, once an episode, and pause if the server asks for it.

        Return whether it was the endpoint's limit, and whether requests are under way whose end makes room under it.
        """
        is_of_endpoint = attempt.scope == "endpoint"
        if lane.limiter.in_flight == 1:
            lane.alone += 1
            is_of_endpoint |= self._blames_endpoint(lane, attempt, now)
        if is_of_endpoint:
            lane.limiter.ended()
            self.endpoint.rejected(epochs[1])
            lane.blames += 1
            self._blames += 1
        else:
            lane.limiter.rejected(epochs[0])
            self.endpoint.ended()
        after = attempt.retry_after_s
        if after is not None and after <= self.policy.patience_s:
            if attempt.scope == "endpoint":
                self._gate = max(self._gate, now + after)
                self._at(now + after, _NOBODY, None)
            else:
                lane.gate = max(lane.gate, now + after)
        return is_of_endpoint, (self.endpoint if is_of_endpoint else lane.limiter).in_flight > 0

    def _blames_endpoint(self, lane: Lane, attempt: Attempt, now: float) -> bool:
        """Tell whether a lane rejected with one request under way met a limit of the whole endpoint.

        If the server does not say so, three things must hold: the lane is not rejected every time, another lane was
        just rejected alone, too, and the lane does not blame the endpoint more often than its share. Otherwise a model
        that is always full would choke all others.
        """
        others = [pair for pair in self._alone if pair[0] is not lane]
        self._alone = [(lane, now), *others][:2]
        if attempt.scope is not None or attempt.retry_after_s is not None:
            return False
        is_alone_in_it = not others or now - others[0][1] > CORROBORATED_S
        share = 2 + 2 * self._blames / len(self.lanes)
        return lane.alone <= 2 and not is_alone_in_it and lane.blames < share

    def _requeue(
        self, lane: Lane, job: Job, attempt: Attempt, now: float, *, has_company: bool, is_of_endpoint: bool
    ) -> None:
        """Put a rejected request back at the head of the queue, or let it wait if no ending request makes room."""
        job.attempts -= 1
        if lane.stopped and lane.denied is None:
            self._give_up(lane, job, lane.stopped)
        elif self._asks_too_much(lane, attempt, now):
            self._stop_lane(lane, _asks(attempt), job)
        elif has_company:
            lane.ready.appendleft(job)
        elif is_of_endpoint:
            # Nothing of ours was under way and still there was no room: others use it up, or it is a rate.
            self._at(now + (attempt.retry_after_s or backoff_s(lane.alone, self.rng)), lane, job)
        else:
            lane.ready.appendleft(job)
            lane.gate = max(lane.gate, now + (attempt.retry_after_s or backoff_s(lane.alone, self.rng)))

    def _settle_suspected(self, lane: Lane) -> None:
        """Settle the lane's jobs whose errors may be the user's mistake.

        If the lane has had an answer, they are asked again. If not, the model is refused as soon as it was refused
        before, nothing else of the lane is open, or `SUSPECTED` jobs failed in this way.
        """
        if not lane.suspected:
            return
        jobs, last = lane.suspected, lane.suspected[-1].last
        is_alone = not (lane.has_ready or lane.parked or lane.waiting or lane.limiter.in_flight)
        if lane.counts.answered:
            lane.ready.extend(jobs)
        elif last is not None and (lane.denied is not None or is_alone or len(jobs) >= SUSPECTED):
            lane.ready.extendleft(reversed(jobs[:-1]))
            self._deny(lane, jobs[-1], last._replace(denied=last.suspects))
        else:
            return
        lane.suspected = []

    def _deny(self, lane: Lane, job: Job, attempt: Attempt) -> None:
        """Stop a lane whose key, credit or address was refused. Its unanswered requests stay unanswered."""
        lane.ready.appendleft(job)
        lane.stopped, lane.denied = lane.stopped or attempt.reason, attempt.denied or "key"
        if attempt.denied != "request":  # which fields a model takes says nothing about the others
            self._denials.add(lane.name)
        others = [other for other in self.lanes.values() if other is not lane]
        is_left = any(other.open_requests and not other.stopped for other in others)
        was_answered = any(other.counts.answered for other in others)
        is_last = not is_left and (len(self._denials) > 1 or not was_answered or lane.counts.answered > 0)
        if is_last or len(self._denials) >= DENIED_LANES:
            self._suspicion = attempt
        else:
            self.notice(f"{lane.name}: {attempt.reason}; the other models are asked on")

    def _settle_suspicion(self, attempt: Attempt) -> None:
        """Find out whether the whole endpoint refuses, once nothing is under way.

        The probe, if there is one, shows whether anybody is still answered; without one, asking stops.
        """
        if self.in_flight or self._probing is not None or self.stopped:
            return
        if self.probe is None or self._is_too_dear(self.cost_of(*self.probe)):
            self.stop(attempt.reason, attempt.denied or "key")
        else:
            self._probing = asyncio.get_running_loop().create_task(self._prove(*self.probe, attempt))

    async def _prove(self, lane: str, request: Request, suspicion: Attempt) -> None:
        """Ask a model that has answered before; if it is denied now, stop asking all models."""
        try:
            attempt = await self.call(lane, request)
        except Exception as error:  # noqa: BLE001 - as in `_run`
            attempt = failed_attempt("transient", request, str(error), latency_s=0.0, may_cost=True)
        self.counts.spent_usd += _charged_usd(attempt, self.cost_of(lane, request))
        if attempt.kind == "denied":
            self.stop(suspicion.reason, suspicion.denied or "key")
        else:
            self._denials.clear()
            self._suspicion = None
            self._ended.put_nowait(_WAKE)
        self._probing = None

    def _park(self, lane: Lane, job: Job) -> None:
        if job.is_second:
            self._give_up(lane, job, "")
        else:
            lane.parked.append(job)

    def _stop_lane(self, lane: Lane, reason: str, job: Job | None = None) -> None:
        """Answer all remaining requests of the lane with an error; those under way end by themselves."""
        if not lane.stopped:
            self.notice(f"{lane.name}: {reason}")
        lane.stopped = lane.stopped or reason
        timers = []
        for timer in self._timers:
            if timer[2] is not lane:
                timers.append(timer)
            elif timer[3] is not None:
                lane.ready.append(timer[3])
        lane.waiting = 0
        lane.ready.extend(lane.suspected)
        lane.suspected = []
        self._timers = timers
        heapq.heapify(self._timers)
        if job is not None:
            self._give_up(lane, job, lane.stopped)
        self._give_up_all(lane)

    def _give_up_all(self, lane: Lane) -> None:
        while lane.parked:
            lane.ready.append(lane.parked.popleft())
        while lane.has_ready:
            job = lane.first()
            lane.ready.popleft()
            self._give_up(lane, job, lane.stopped)

    def _give_up(self, lane: Lane, job: Job, reason: str) -> None:
        """Answer a request with its last attempt's error, or, if it was never sent, with an error that says why."""
        if job.last is not None:
            self._answer(lane, job.request, job.last.response)
            return
        why = f"not asked: {reason}"
        error = response_to(job.request, text="", status="error", error=why, failure="not asked")
        self._answer(lane, job.request, error)

    def _answer(self, lane: Lane, request: Request, response: Response) -> None:
        for counts in (self.counts, lane.counts):
            counts.failed += response.status == "error"
            counts.answered += response.status != "error"
        self._out.append(RequestEnd(lane.name, request, response))

    def _at(self, when: float, lane: Lane, job: Job | None) -> None:
        self._ticket += 1
        lane.waiting += job is not None
        heapq.heappush(self._timers, (when, self._ticket, lane, job))


def _charged_usd(attempt: Attempt, at_most_usd: float) -> float:
    """Return the cost in USD that an attempt counts with.

    It is what the server reports; without a report it is the most it may have cost, or 0 if it cannot have cost
    anything.
    """
    cost = attempt.response.usage.cost_usd
    if cost is not None and cost >= 0:
        return cost
    return at_most_usd if attempt.may_cost else 0.0


def _asks(attempt: Attempt) -> str:
    return f"set aside, because it asks for a pause of {attempt.retry_after_s:,.0f} s; the last: {attempt.reason}"


_NOBODY = Lane("", Limiter(), Breaker(), {})
_NOTHING = Request("", 0, 0, (), 0)
_WAKE = (_NOBODY, Job(_NOTHING), Attempt("answered", response_to(_NOTHING, text="", status="error")), (0, 0), 0.0)

__all__ = ["Counts", "Dispatcher", "Lane", "LaneWait", "Policy", "RequestEnd", "Stop"]
