"""What one bad model may cost the others: nothing. In virtual time, as test_dispatch.py."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from typing import Any

import pytest
from tests.unit.models.test_dispatch import Server, names, requests, response, sweep
from tests.unit.models.virtual_time import run

from adhere.models.base import Request
from adhere.models.http.attempt import Attempt
from adhere.models.http.dispatch import Dispatcher, Policy
from adhere.models.http.lane import waiting_line
from adhere.schema import Response


def error_of(found: list[tuple[str, Response]], lane: str, prompt: str) -> str:
    (answer,) = [answer for name, answer in found if (name, answer.prompt_id) == (lane, prompt)]
    return answer.error or ""


@pytest.mark.parametrize(
    "raised", [OverflowError("int too large"), AttributeError("'str' has no 'get'"), MemoryError()]
)
def test_whatever_a_call_raises_is_an_error_row(raised: Exception):
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if request.prompt_id == "p1":
            raise raised
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"m": 3}, policy=Policy(attempts=2))
    assert len(found) == 3
    assert type(raised).__name__ in error_of(found, "m", "p1")
    assert dispatcher.in_flight == 0


def test_a_model_that_always_rejects_does_not_choke_the_others():
    """Without Retry-After nobody says whose limit it is: the lane is believed only so often."""

    async def serve(lane: str, request: Request) -> Attempt:
        if lane == "full":
            await asyncio.sleep(0.001)
            return Attempt("limited", response(request, error="429"), "HTTP 429", may_cost=False)
        await asyncio.sleep(0.2)
        return Attempt("answered", response(request))

    healthy = {f"m{number}": 200 for number in range(20)}
    _, without, _ = sweep(serve, healthy)
    done: dict[str, float] = {}

    async def body() -> Dispatcher:
        dispatcher = Dispatcher(serve, policy=Policy(patience_s=60))
        for lane, count in {"full": 200, **healthy}.items():
            dispatcher.add(lane, requests(count))
        async for lane, _, _ in dispatcher.answers():
            done[lane] = asyncio.get_running_loop().time()
        return dispatcher

    dispatcher = run(body())
    slowest = max(at for lane, at in done.items() if lane != "full")
    assert slowest < 1.3 * without + 1, (slowest, without)
    assert dispatcher.lanes["full"].counts.sent < 200
    assert "set aside after 60 s" in dispatcher.lanes["full"].stopped


def test_one_model_with_a_rate_of_its_own_slows_nobody():
    """Every third of its requests is let through: it is answered, and still blames nobody else."""
    numbers = itertools.count()

    async def serve(lane: str, request: Request) -> Attempt:
        if lane == "rated" and next(numbers) % 3:
            await asyncio.sleep(0.001)
            return Attempt("limited", response(request, error="429"), "HTTP 429", may_cost=False)
        await asyncio.sleep(0.2)
        return Attempt("answered", response(request))

    healthy = {f"m{number}": 200 for number in range(20)}
    _, without, _ = sweep(serve, healthy)
    done: dict[str, float] = {}

    async def body() -> Dispatcher:
        dispatcher = Dispatcher(serve)
        for lane, count in {"rated": 20, **healthy}.items():
            dispatcher.add(lane, requests(count))
        async for lane, _, _ in dispatcher.answers():
            done[lane] = asyncio.get_running_loop().time()
        return dispatcher

    dispatcher = run(body())
    assert max(at for lane, at in done.items() if lane != "rated") < 1.3 * without + 1
    assert dispatcher.lanes["rated"].counts.answered == 20


@pytest.mark.parametrize("kind", ["limited", "transient"])
@pytest.mark.parametrize("pause_s", [86_400.0, 1e9, 1e14])
def test_a_pause_beyond_patience_sets_the_model_aside_at_once(kind: Any, pause_s: float):
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if lane == "asleep":
            return Attempt(kind, response(request, error="HTTP 503"), "HTTP 503", retry_after_s=pause_s)
        return Attempt("answered", response(request))

    found, took, dispatcher = sweep(call, {"asleep": 50, "awake": 50})
    assert names(found) == Counter({(lane, f"p{n}"): 1 for lane in ("asleep", "awake") for n in range(50)})
    assert took < 5
    assert f"asks for a pause of {pause_s:,.0f} s" in dispatcher.lanes["asleep"].stopped
    assert dispatcher.counts.answered == 50


def test_a_pause_of_the_whole_endpoint_beyond_patience_does_not_hold_it():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if lane == "a":
            return Attempt("limited", response(request, error="402"), "HTTP 402", retry_after_s=1e6, scope="endpoint")
        return Attempt("answered", response(request))

    found, took, _ = sweep(call, {"a": 5, "b": 5})
    assert len(found) == 10
    assert took < 5


def test_a_time_out_is_asked_again_in_a_later_pass():
    tries: Counter[str] = Counter()

    async def call(lane: str, request: Request) -> Attempt:
        tries[request.prompt_id] += 1
        await asyncio.sleep(0.1)
        is_slow = request.prompt_id == "never" or (request.prompt_id == "p1" and tries["p1"] == 1)
        if is_slow:
            return Attempt("timeout", response(request, error="timeout"), "timeout: no answer within 10 s")
        return Attempt("answered", response(request))

    async def body() -> list[Any]:
        dispatcher = Dispatcher(call)
        dispatcher.add("m", [*requests(5), Request("never", 0, 0, (), 0)])
        return [answer async for _, _, answer in dispatcher.answers()]

    found = {answer.prompt_id: answer.status for answer in run(body())}
    assert found["p1"] == "ok"
    assert found["never"] == "error"
    assert tries["p1"] == tries["never"] == 2


def test_a_model_that_only_times_out_is_set_aside():
    sent = 0

    async def call(lane: str, request: Request) -> Attempt:
        nonlocal sent
        sent += 1
        await asyncio.sleep(10)
        return Attempt("timeout", response(request, error="timeout"), "timeout: no answer within 10 s")

    found, took, dispatcher = sweep(call, {"slow": 541})
    assert len(found) == 541
    assert sent < 60
    assert took < 330
    assert "set aside after 300 s" in dispatcher.lanes["slow"].stopped


def test_one_model_without_credit_is_that_models_trouble():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if lane == "own":
            return Attempt("denied", response(request, error="402"), "out of credit: HTTP 402", denied="credit")
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"own": 10, "a": 40, "b": 40})
    assert len(found) == 80
    assert {answer.status for _, answer in found} == {"ok"}
    assert (dispatcher.stopped, dispatcher.lanes["own"].stopped) == ("", "out of credit: HTTP 402")
    assert dispatcher.lanes["own"].denied == "credit"


def test_a_bad_key_is_everybodys_after_three_models():
    sent: Counter[str] = Counter()

    async def call(lane: str, request: Request) -> Attempt:
        sent[lane] += 1
        await asyncio.sleep(0.1)
        return Attempt("denied", response(request, error="401"), "HTTP 401: No auth", denied="key")

    found, _, dispatcher = sweep(call, {f"m{number}": 20 for number in range(200)}, policy=Policy(start=5))
    assert not found
    assert (dispatcher.stopped, dispatcher.stopped_for) == ("HTTP 401: No auth", "key")
    assert sum(sent.values()) <= 10


def test_five_models_that_are_denied_at_once_do_not_stop_slow_healthy_ones():
    async def call(lane: str, request: Request) -> Attempt:
        if lane.startswith("own"):
            await asyncio.sleep(0.01)
            return Attempt("denied", response(request, error="402"), "out of credit: HTTP 402", denied="credit")
        await asyncio.sleep(5.0)
        return Attempt("answered", response(request))

    lanes = {**{f"own{number}": 3 for number in range(5)}, **{f"m{number}": 10 for number in range(5)}}
    found, _, dispatcher = sweep(call, lanes)
    assert len(found) == 50
    assert dispatcher.stopped == ""


@pytest.mark.parametrize("is_well", [True, False])
def test_where_only_denied_models_are_left_a_probe_tells(is_well: bool):
    asked: list[str] = []

    async def call(lane: str, request: Request) -> Attempt:
        asked.append(lane)
        await asyncio.sleep(0.1)
        if lane == "healthy" and is_well:
            return Attempt("answered", response(request))
        return Attempt("denied", response(request, error="402"), "out of credit: HTTP 402", denied="credit")

    probe = ("healthy", requests(1)[0])
    _, _, dispatcher = sweep(call, {f"own{number}": 2 for number in range(4)}, probe=probe)
    assert asked.count("healthy") in ({1, 2} if is_well else {1})
    assert dispatcher.stopped_for == ("" if is_well else "credit")
    assert all(lane.denied for lane in dispatcher.lanes.values())


def test_a_single_model_without_credit_stops_the_run():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        return Attempt("denied", response(request, error="402"), "out of credit: HTTP 402", denied="credit")

    _, _, dispatcher = sweep(call, {"m": 20})
    assert dispatcher.stopped_for == "credit"


def test_a_second_stop_loses_nothing_that_settled():
    async def body() -> tuple[int, int]:
        served = 0

        async def call(lane: str, request: Request) -> Attempt:
            nonlocal served
            await asyncio.sleep(1.0 + request.seed / 10)
            served += 1
            return Attempt("answered", response(request))

        dispatcher = Dispatcher(call, policy=Policy(start=50, lane_start=50))
        dispatcher.add("m", requests(30))
        asyncio.get_running_loop().call_later(0.5, dispatcher.stop, "interrupted")
        found = 0
        async for _ in dispatcher.answers():
            found += 1
            if found == 1:  # a consumer that takes its time: others end meanwhile
                await asyncio.sleep(1.0)
                dispatcher.stop("interrupted")
        return found, served

    found, served = run(body())
    assert served > 5
    assert found == served


def test_unknown_costs_are_never_free():
    """A time-out and a broken answer may have been billed: they count as all that they may cost."""

    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        return Attempt("timeout", response(request, error="timeout"), "timeout", may_cost=True)

    sent: list[str] = []
    _, _, dispatcher = sweep(
        call,
        {"m": 100},
        policy=Policy(max_cost_usd=1.0),
        cost_of=lambda lane, request: 0.1,
        watch=lambda lane, request, attempt: sent.append(request.prompt_id),
    )
    assert len(sent) == 10
    assert dispatcher.spent_usd == pytest.approx(1.0)
    assert dispatcher.stopped_for == "cost"


def test_rejections_and_refused_connections_cost_nothing():
    tries: Counter[str] = Counter()

    async def call(lane: str, request: Request) -> Attempt:
        tries[request.prompt_id] += 1
        await asyncio.sleep(0.1)
        if tries[request.prompt_id] < 3 and request.seed % 5 == 0:
            return Attempt("transient", response(request, error="503"), "HTTP 503", may_cost=False)
        return Attempt("answered", response(request, cost=0.01))

    found, _, dispatcher = sweep(call, {"m": 50}, policy=Policy(max_cost_usd=0.6), cost_of=lambda lane, request: 0.02)
    assert len(found) == 50
    assert dispatcher.spent_usd == pytest.approx(0.5)


@pytest.mark.parametrize("cost", [-1_000.0, None])
def test_a_negative_cost_gives_nothing_back(cost: float | None):
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        return Attempt("answered", response(request, cost=cost))

    found, _, dispatcher = sweep(call, {"m": 100}, policy=Policy(max_cost_usd=1.0), cost_of=lambda lane, request: 0.1)
    assert len(found) == 10
    assert dispatcher.spent_usd == pytest.approx(1.0)


def test_what_was_spent_before_counts():
    found, _, dispatcher = sweep(
        Server(), {"m": 100}, policy=Policy(max_cost_usd=1.0), cost_of=lambda lane, request: 0.02, spent_usd=0.9
    )
    assert len(found) == 9
    assert dispatcher.spent_usd == pytest.approx(0.99)


def test_a_dear_model_stops_at_the_cap_and_cheap_ones_go_on():
    found, _, dispatcher = sweep(
        Server(),
        {"dear": 10, "cheap": 40},
        policy=Policy(max_cost_usd=1.0),
        cost_of=lambda lane, request: 5.0 if lane == "dear" else 0.01,
    )
    assert Counter(lane for lane, _ in found) == {"cheap": 40}
    assert "the cap of $1.00" in dispatcher.lanes["dear"].stopped
    assert dispatcher.stopped == ""


def test_requests_are_made_when_their_turn_comes():
    made = 0

    def lazily() -> Any:
        nonlocal made
        for request in requests(1000):
            made += 1
            yield request

    async def body() -> int:
        dispatcher = Dispatcher(Server(latency_s=1.0), policy=Policy(lane_start=8, lane_concurrency=8))
        dispatcher.add("m", lazily(), 1000)
        assert dispatcher.lanes["m"].open_requests == 1000
        most, found = 0, 0
        async for _ in dispatcher.answers():
            found += 1
            most = max(most, made - found)
        assert found == 1000
        return most

    assert run(body()) <= 20


def test_who_is_waited_for_and_until_when():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if lane == "down":
            return Attempt("transient", response(request, error="HTTP 503"), "HTTP 503: overloaded", may_cost=False)
        return Attempt("answered", response(request))

    async def body() -> tuple[list[Any], list[str]]:
        said: list[str] = []
        dispatcher = Dispatcher(call, notice=said.append)
        dispatcher.add("down", requests(100))
        dispatcher.add("up", requests(5))
        seen: list[Any] = []

        def look() -> None:
            seen.extend(dispatcher.waited_for())

        asyncio.get_running_loop().call_later(40, look)
        async for _ in dispatcher.answers():
            pass
        return seen, said

    seen, said = run(body())
    (waited,) = seen
    assert waited.lane == "down"
    assert 0 < waited.next_s <= 60
    assert 250 < waited.patience_s < 265
    assert "HTTP 503: overloaded" in waiting_line(seen)
    assert "waiting for down (next try in" in waiting_line(seen)
    assert any("failures in a row, next try in 30 s" in line for line in said)
    assert any("set aside after 300 s" in line for line in said)
    assert not waiting_line([])
