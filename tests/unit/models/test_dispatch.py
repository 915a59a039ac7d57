"""The dispatcher against scripted servers, in virtual time: hours of waiting take milliseconds."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.models.virtual_time import run

from adhere.models.base import Request
from adhere.models.http.attempt import Attempt
from adhere.models.http.dispatch import Dispatcher, Policy
from adhere.models.http.limiter import Breaker, Bucket, Limiter, backoff_s
from adhere.schema import Message, Response, Usage


def requests(count: int) -> list[Request]:
    return [Request(f"p{number}", 0, 0, (Message("user", "hello"),), number) for number in range(count)]


def response(request: Request, *, error: str | None = None, cost: float | None = None) -> Response:
    return Response(
        request.prompt_id,
        request.turn,
        request.draw,
        text="" if error else "yes",
        status="error" if error else "ok",
        error=error,
        usage=Usage(cost_usd=cost),
    )


class Server:
    """Answers after `latency_s`, at most `capacity` at once; the rest is rejected at once.

    Lanes may have caps of their own.
    """

    def __init__(self, *, latency_s: float = 0.5, capacity: int = 10**9, lanes: dict[str, int] | None = None) -> None:
        self.latency_s, self.capacity, self.caps = latency_s, capacity, lanes or {}
        self.busy: Counter[str] = Counter()
        self.calls: list[tuple[float, str, str]] = []
        self.most = 0

    async def __call__(self, lane: str, request: Request) -> Attempt:
        now = asyncio.get_running_loop().time()
        if sum(self.busy.values()) >= self.capacity or self.busy[lane] >= self.caps.get(lane, 10**9):
            self.calls.append((now, lane, "rejected"))
            await asyncio.sleep(0.001)
            return Attempt("limited", response(request, error="429"), "HTTP 429")
        self.calls.append((now, lane, "served"))
        self.busy[lane] += 1
        self.most = max(self.most, sum(self.busy.values()))
        await asyncio.sleep(self.latency_s)
        self.busy[lane] -= 1
        return Attempt("answered", response(request, cost=0.01), tokens=10)

    @property
    def rejected(self) -> int:
        return sum(what == "rejected" for _, _, what in self.calls)


async def collect(dispatcher: Dispatcher) -> tuple[list[tuple[str, Response]], float]:
    loop = asyncio.get_running_loop()
    start = loop.time()
    found = [(lane, answer) async for lane, _, answer in dispatcher.answers()]
    return found, loop.time() - start


def sweep(call: Any, lanes: dict[str, int], **options: Any) -> tuple[list[tuple[str, Response]], float, Dispatcher]:
    async def body() -> tuple[list[tuple[str, Response]], float, Dispatcher]:
        dispatcher = Dispatcher(call, **options)
        for lane, count in lanes.items():
            dispatcher.add(lane, requests(count))
        return *await collect(dispatcher), dispatcher

    return run(body())


def names(found: list[tuple[str, Response]]) -> Counter[tuple[str, str]]:
    return Counter((lane, answer.prompt_id) for lane, answer in found)


def test_256_models_share_a_capacity_of_50_within_1_15_of_the_ideal():
    server = Server(capacity=50)
    found, took, dispatcher = sweep(server, {f"m{number}": 20 for number in range(256)})
    ideal = 256 * 20 / 50 * 0.5
    assert set(names(found).values()) == {1}
    assert len(found) == 5120
    assert took <= 1.15 * ideal, took / ideal
    assert server.rejected <= 0.03 * 5120, server.rejected
    assert dispatcher.counts.limited == server.rejected


def test_one_model_finds_its_capacity():
    server = Server(capacity=50)
    found, took, _ = sweep(server, {"m": 2000}, policy=Policy(lane_concurrency=1000))
    assert len(found) == 2000
    assert took <= 1.15 * 20.0, took
    assert server.rejected <= 61, server.rejected


def test_a_narrow_model_does_not_slow_the_others():
    server = Server(lanes={"narrow": 1})
    found, took, dispatcher = sweep(server, {"narrow": 20, **{f"wide{number}": 40 for number in range(10)}})
    assert len(found) == 420
    done = {lane: max(at for at, name, what in server.calls if name == lane) for lane in dispatcher.lanes}
    assert took <= 20 * 0.5 * 1.2 + 1
    assert max(at for lane, at in done.items() if lane != "narrow") <= 4.0
    assert dispatcher.endpoint.cuts <= 1


def test_lanes_progress_together():
    server = Server(latency_s=1.0, capacity=10**9)
    order = []

    async def body() -> None:
        dispatcher = Dispatcher(server, policy=Policy(concurrency=30))
        for number in range(30):
            dispatcher.add(f"m{number}", requests(10))
        async for lane, _, _ in dispatcher.answers():
            order.append(lane)

    run(body())
    half = Counter(order[:150])
    assert len(half) == 30
    assert max(half.values()) - min(half.values()) <= 2


def test_retry_after_is_obeyed_by_its_lane_alone():
    times: dict[str, list[float]] = {"slow": [], "fast": []}

    async def call(lane: str, request: Request) -> Attempt:
        now = asyncio.get_running_loop().time()
        times[lane].append(now)
        await asyncio.sleep(0.1)
        if lane == "slow" and now < 30:
            return Attempt("limited", response(request, error="429"), "429", retry_after_s=30.0)
        return Attempt("answered", response(request))

    found, took, _ = sweep(call, {"slow": 3, "fast": 50})
    assert len(found) == 53
    assert all(answer.status == "ok" for _, answer in found)
    assert min(at for at in times["slow"] if at > 0.2) >= 30
    assert max(times["fast"]) < 3
    assert took < 32


def test_a_pause_of_the_whole_endpoint_holds_every_lane():
    times = []

    async def call(lane: str, request: Request) -> Attempt:
        now = asyncio.get_running_loop().time()
        times.append(now)
        await asyncio.sleep(0.1)
        if now < 0.05:
            return Attempt("limited", response(request, error="429"), "429", retry_after_s=20.0, scope="endpoint")
        return Attempt("answered", response(request))

    found, _, _ = sweep(call, {"a": 20, "b": 20})
    assert len(found) == 40
    assert not [at for at in times if 0.2 < at < 20]


def test_failures_are_tried_again_then_parked_then_given_a_second_pass():
    tries: Counter[str] = Counter()

    async def call(lane: str, request: Request) -> Attempt:
        tries[request.prompt_id] += 1
        await asyncio.sleep(0.1)
        if request.prompt_id == "p0":
            return Attempt("transient", response(request, error="HTTP 503, again"), "HTTP 503")
        if request.prompt_id == "p1" and tries["p1"] <= 5:
            return Attempt("transient", response(request, error="HTTP 503"), "HTTP 503")
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"m": 6}, policy=Policy(attempts=4))
    answers = {answer.prompt_id: answer for _, answer in found}
    assert len(found) == 6
    assert answers["p0"].status == "error"
    assert answers["p0"].error == "HTTP 503, again"
    assert tries["p0"] == 8  # four, and four more in the second pass
    assert answers["p1"].status == "ok"
    assert tries["p1"] == 6
    assert dispatcher.counts.failed == 1
    assert dispatcher.counts.answered == 5


def test_a_dead_model_is_set_aside_and_the_others_go_on():
    calls: Counter[str] = Counter()

    async def call(lane: str, request: Request) -> Attempt:
        calls[lane] += 1
        await asyncio.sleep(0.1)
        if lane == "dead":
            return Attempt("transient", response(request, error="HTTP 500"), "HTTP 500")
        return Attempt("answered", response(request))

    found, took, dispatcher = sweep(call, {"dead": 541, "alive": 541})
    assert names(found) == Counter({(lane, f"p{n}"): 1 for lane in ("dead", "alive") for n in range(541)})
    assert all(answer.status == ("error" if lane == "dead" else "ok") for lane, answer in found)
    assert calls["dead"] < 150
    assert dispatcher.lanes["dead"].stopped == "set aside after 300 s without an answer; the last: HTTP 500"
    assert any("not asked: set aside after 300 s" in (answer.error or "") for _, answer in found)
    assert took == pytest.approx(300, abs=5)


def test_a_model_that_comes_back_is_asked_again():
    async def call(lane: str, request: Request) -> Attempt:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(0.1)
        if now < 100:
            return Attempt("transient", response(request, error="HTTP 502"), "HTTP 502")
        return Attempt("answered", response(request))

    found, took, dispatcher = sweep(call, {"m": 200}, policy=Policy(attempts=8))
    assert len(found) == 200
    assert {answer.status for _, answer in found} == {"ok"}
    assert 100 < took < 400
    assert not dispatcher.lanes["m"].breaker.is_suspicious


def test_a_stopped_lane_answers_everything_and_costs_one_call():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if lane == "gone":
            return Attempt("lane-stopped", response(request, error="HTTP 404: no endpoints"), "HTTP 404: no endpoints")
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"gone": 100, "there": 10}, policy=Policy(lane_start=1))
    gone = [answer for lane, answer in found if lane == "gone"]
    assert len(gone) == 100
    assert dispatcher.lanes["gone"].counts.sent == 1
    assert sum(answer.error == "not asked: HTTP 404: no endpoints" for answer in gone) == 99


def test_a_request_that_is_forbidden_stops_no_model_and_three_in_a_row_do():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if lane == "closed" or int(request.prompt_id[1:]) % 4 == 0:
            return Attempt("forbidden", response(request, error="HTTP 403: flagged"), "HTTP 403: flagged")
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"closed": 100, "moderated": 100}, policy=Policy(lane_start=1))
    moderated = Counter(answer.error for lane, answer in found if lane == "moderated")
    assert moderated == {"HTTP 403: flagged": 25, None: 75}
    closed = Counter(answer.error for lane, answer in found if lane == "closed")
    assert closed == {"HTTP 403: flagged": 3, "not asked: HTTP 403: flagged": 97}
    assert dispatcher.lanes["closed"].counts.sent == 3


def test_no_credit_stops_everything_and_answers_nothing_it_did_not_ask():
    async def call(lane: str, request: Request) -> Attempt:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(0.5)
        if now >= 1.0:
            return Attempt("denied", response(request, error="402"), "HTTP 402: out of credits", denied="credit")
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"a": 100, "b": 100}, policy=Policy(start=10))
    assert (dispatcher.stopped, dispatcher.stopped_for) == ("HTTP 402: out of credits", "credit")
    assert 0 < len(found) < 200
    assert {answer.status for _, answer in found} == {"ok"}
    assert len(found) + sum(lane.open_requests for lane in dispatcher.lanes.values()) == 200


def test_the_dollar_cap_is_never_exceeded():
    server = Server()
    found, _, dispatcher = sweep(
        server, {"a": 100, "b": 100}, policy=Policy(max_cost_usd=0.35), cost_of=lambda lane, request: 0.02
    )
    assert len(found) == 34  # the 35th might have cost 0.02, and 0.34 + 0.02 is too much
    assert dispatcher.counts.spent_usd == pytest.approx(0.34)
    assert dispatcher.stopped == "the cap of $0.35 is reached"


def test_caps_per_minute_hold_for_each_lane():
    server = Server(latency_s=0.01)
    sweep(server, {"a": 60, "b": 30}, policy=Policy(requests_per_minute=30.0))
    for lane in ("a", "b"):
        times = sorted(at for at, name, _ in server.calls if name == lane)
        for start in times:
            assert sum(start <= at < start + 60 for at in times) <= 31
    found, took, _ = sweep(
        Server(latency_s=0.01), {"a": 20}, policy=Policy(tokens_per_minute=600.0), tokens_of=lambda lane, request: 100
    )
    assert len(found) == 20
    assert 180 <= took <= 205


def test_stopping_drains_and_stopping_twice_does_not_wait():
    async def body(second: bool) -> tuple[int, float]:
        server = Server(latency_s=5.0)
        dispatcher = Dispatcher(server, policy=Policy(start=10))
        dispatcher.add("m", requests(50))
        loop = asyncio.get_running_loop()
        loop.call_later(2.0, dispatcher.stop, "interrupted")
        if second:
            loop.call_later(3.0, dispatcher.stop, "interrupted")
        found, took = await collect(dispatcher)
        return len(found), took

    assert run(body(False)) == (8, pytest.approx(5.0))
    assert run(body(True)) == (0, pytest.approx(3.0))


def test_draining_ends_when_it_has_taken_too_long():
    async def body() -> tuple[int, float]:
        dispatcher = Dispatcher(Server(latency_s=1000.0), policy=Policy(drain_s=10.0))
        dispatcher.add("m", requests(5))
        asyncio.get_running_loop().call_later(2.0, dispatcher.stop, "interrupted")
        found, took = await collect(dispatcher)
        return len(found), took

    assert run(body()) == (0, pytest.approx(12.0))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    lanes=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 25), min_size=1),
    capacity=st.integers(1, 30),
    fault=st.floats(0, 0.9),
)
def test_no_request_is_lost_and_none_is_answered_twice(seed: int, lanes: dict[str, int], capacity: int, fault: float):
    """Whatever the server does, and attempts stay bounded."""
    rng = random.Random(seed)
    tries: Counter[tuple[str, str]] = Counter()
    busy = 0

    async def call(lane: str, request: Request) -> Attempt:
        nonlocal busy
        if busy >= capacity:
            await asyncio.sleep(rng.choice((0.0, 0.001)))
            return Attempt("limited", response(request, error="429"), "429", rng.choice((None, None, 2.0)))
        busy += 1
        await asyncio.sleep(rng.random())
        busy -= 1
        tries[lane, request.prompt_id] += 1
        draw = rng.random()
        if draw < fault:
            kind = rng.choice(("transient",) * 9 + ("lane-stopped",))
            return Attempt(kind, response(request, error=kind), kind)
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, lanes, policy=Policy(attempts=3), rng=random.Random(seed))
    assert names(found) == Counter({(lane, f"p{n}"): 1 for lane, count in lanes.items() for n in range(count)})
    assert max(tries.values(), default=0) <= 6
    assert dispatcher.in_flight == 0
    assert all(lane.limiter.in_flight == 0 and lane.open_requests == 0 for lane in dispatcher.lanes.values())


def test_a_limit_grows_only_while_it_is_used_and_is_cut_once_an_episode():
    limiter = Limiter(start=4)
    epochs = [limiter.sent() for _ in range(4)]
    assert not limiter.has_room
    for epoch in epochs:
        limiter.succeeded(epoch)
    assert limiter.limit == 8  # slow start doubles
    limiter.succeeded(limiter.sent())
    assert limiter.limit == 8  # one at a time says nothing about room for more
    epochs = [limiter.sent() for _ in range(8)]
    assert [limiter.rejected(epoch) for epoch in epochs[:3]] == [True, False, False]
    assert limiter.limit == pytest.approx(0.9 * 5)  # five of eight were not rejected
    assert limiter.cuts == 1
    for epoch in epochs[3:]:
        limiter.succeeded(epoch)  # sent before the cut: no reason to grow
    assert limiter.limit == pytest.approx(4.5)
    for _ in range(2):
        for epoch in [limiter.sent() for _ in range(4)]:
            limiter.succeeded(epoch)
    assert limiter.limit == pytest.approx(5.5)  # by one, after a full round
    for _ in range(50):
        limiter.rejected(limiter.sent())
    assert limiter.limit == 1


def test_a_bucket_refills_evenly():
    bucket = Bucket(per_minute=60, burst_s=2)
    assert bucket.ready_at(0.0) == 0.0
    bucket.take(0.0)
    bucket.take(0.0)
    assert bucket.ready_at(0.0) == pytest.approx(1.0)
    assert bucket.ready_at(1.0) == pytest.approx(1.0)
    assert bucket.ready_at(1.0, 5) == pytest.approx(2.0)  # more than it holds: when it is full
    with pytest.raises(ValueError, match="above 0"):
        Bucket(per_minute=0)


def test_a_breaker_opens_longer_every_time():
    breaker = Breaker(failures=3, first_s=60, longest_s=200)
    assert [breaker.failed(1.0) for _ in range(3)] == [False, False, True]
    assert breaker.closed_at == 61.0
    assert not breaker.failed(2.0)  # sent before it opened
    assert breaker.failed(61.0)
    assert breaker.closed_at == 181.0
    assert breaker.failed(181.0)
    assert breaker.closed_at == 381.0
    assert breaker.is_suspicious
    breaker.succeeded()
    assert not breaker.is_suspicious


def test_backoff_is_jittered_and_capped():
    rng = random.Random(0)
    waits = [[backoff_s(attempt, rng) for _ in range(500)] for attempt in range(1, 10)]
    for attempt, drawn in enumerate(waits, start=1):
        cap = min(60.0, 2.0 ** (attempt - 1))
        assert 0 <= min(drawn) < 0.1 * cap
        assert 0.9 * cap < max(drawn) <= cap


def test_what_is_queued_while_the_last_answers_are_taken_is_sent_at_once():
    """A later turn, or the next step of an episode, when all requests under way ended together.

    No event but a timer was left to send it.
    """

    async def main() -> tuple[int, float]:
        async def call(_lane: str, request: Request) -> Attempt:
            return Attempt("answered", response(request))

        dispatcher = Dispatcher(call, policy=Policy())
        first, *later = requests(6)
        dispatcher.add("m", [first])
        started, answered = asyncio.get_running_loop().time(), 0
        async for lane, _, _ in dispatcher.answers():
            answered += 1
            if later:
                dispatcher.add(lane, [later.pop(0)], goes_first=True)
        return answered, asyncio.get_running_loop().time() - started

    answered, seconds = run(main())
    assert (answered, seconds < 1) == (6, True)


def test_what_goes_first_is_sent_before_what_was_queued():
    sent: list[str] = []

    async def main() -> None:
        async def call(_lane: str, request: Request) -> Attempt:
            sent.append(request.prompt_id)
            return Attempt("answered", response(request))

        dispatcher = Dispatcher(call, policy=Policy(lane_concurrency=1, lane_start=1))
        *queued, follow_up = requests(7)
        dispatcher.add("m", iter(queued), 6)
        async for _, request, _ in dispatcher.answers():
            if request.prompt_id == queued[0].prompt_id:
                dispatcher.add("m", [follow_up], goes_first=True)

    run(main())
    assert sent == ["p0", "p1", "p2", "p6", "p3", "p4", "p5"], (
        "two of them had left the queue when the first was answered"
    )
