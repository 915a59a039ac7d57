"""The client against the fake endpoint.

Every fault becomes the right Attempt, with its evidence and without the key.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import AdhereError, Incomplete, OutOfCredit, UsageError
from adhere.models.base import Request
from adhere.models.catalog import open_model
from adhere.models.fake.endpoint import FAULTS, FakeEndpoint, FakeModel
from adhere.models.http.attempt import Attempt
from adhere.models.http.client import Endpoint, EndpointModel, Unreachable, proxy_for, split
from adhere.models.http.cost import dollars
from adhere.models.http.dialects import DIALECTS, dialect, guess
from adhere.models.http.dispatch import Policy
from adhere.models.http.keys import Key, address, is_loopback, key_for, redact
from adhere.models.http.options import EndpointOptions, price_of
from adhere.models.http.streaming import Stream
from adhere.models.http.wire import Prices, Reply, body_of, read, retry_after_s
from adhere.schema import Message, Sampling, Usage, encode

ASK = Request("p", 0, 0, (Message("user", "hello big world"),), 3)
SECRET = "sk-or-v1-0123456789abcdef"

# fault -> (kind, status, what the reason or the evidence says); None: an ordinary answer
EXPECTED: dict[str | None, tuple[str, str, str]] = {
    None: ("answered", "ok", ""),
    "429": ("limited", "error", "Rate limit"),
    "429 retry": ("limited", "error", "Rate limit"),
    "402": ("denied", "error", "out of credit"),
    "402 in flight": ("limited", "error", "in flight"),
    "401": ("denied", "error", "Invalid key"),
    "403": ("forbidden", "error", "Forbidden"),
    "403 key": ("denied", "error", "Key limit"),
    "403 moderation": ("answered", "refused", "flagged"),
    "404": ("lane-stopped", "error", "No endpoints"),
    "400": ("failed", "error", "Unknown parameter"),
    "400 context": ("failed", "error", "maximum context length"),
    "408": ("transient", "error", "HTTP 408"),
    "500": ("transient", "error", "HTTP 500"),
    "502": ("transient", "error", "HTTP 502"),
    "503": ("transient", "error", "overloaded"),
    "503 retry": ("transient", "error", "Loading"),
    "529": ("transient", "error", "HTTP 529"),
    "200 error": ("transient", "error", "HTTP 200 (error 502)"),
    "200 error 429": ("limited", "error", "HTTP 200 (error 429)"),
    "200 empty": ("transient", "error", "empty body"),
    "200 blank": ("transient", "error", "empty body"),
    "200 broken": ("transient", "error", "no JSON object"),
    "200 list": ("transient", "error", "no JSON object"),
    "200 no choices": ("transient", "error", "without choices"),
    "200 choice error": ("transient", "error", "provider died"),
    "200 finish error": ("transient", "error", "finish_reason 'error'"),
    "padded": ("answered", "ok", ""),
    "null content": ("answered", "empty", ""),
    "length": ("answered", "truncated", ""),
    "length null": ("answered", "truncated", "used up before the answer began"),
    "refusal": ("answered", "refused", "I cannot help"),
    "content filter": ("answered", "refused", "content_filter"),
    "reasoning": ("answered", "ok", ""),
    "reasoning_content": ("answered", "ok", ""),
    "think": ("answered", "ok", ""),
    "parts": ("answered", "ok", ""),
    "surrogate": ("answered", "ok", ""),
    "hang": ("timeout", "error", "timeout: no answer within 0.4 s"),
    "drip": ("timeout", "error", "timeout: no answer within 0.4 s"),
    "huge": ("failed", "error", "larger than 1 MB"),
    "reset": ("transient", "error", "disconnected"),
    "redirect": ("denied", "error", "give that base URL"),
    "cut stream": ("transient", "error", "ended before"),
}


def ask_all(
    models: dict[str, FakeModel], *, options: EndpointOptions, key: Key | None = None, server_key: str | None = None
) -> dict[str, Attempt]:
    async def body() -> dict[str, Attempt]:
        with FakeEndpoint(models, key=server_key) as fake:
            bound = None if key is None else Key(SECRET, base_url=fake.url, variable="TEST_KEY")
            async with Endpoint(address(fake.url), key=bound, options=options) as endpoint:
                names = list(models)
                found = await asyncio.gather(*(endpoint.call(name, ASK, Sampling()) for name in names))
                return dict(zip(names, found, strict=True))

    return asyncio.run(body())


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "streamed"])
def attempts(request: pytest.FixtureRequest) -> tuple[bool, dict[str, Attempt]]:
    models = {str(fault): FakeModel(faults=(fault,)) for fault in EXPECTED}
    options = EndpointOptions(timeout_s=0.4, stream=request.param, most_bytes=1 << 20)
    # The 1 MB limit must be met before the time-out, and the machine may be busy: that one fault is asked on its own.
    patient = EndpointOptions(timeout_s=60, stream=request.param, most_bytes=1 << 20)
    found = ask_all({name: model for name, model in models.items() if name in {"hang", "drip"}}, options=options)
    found |= ask_all({name: model for name, model in models.items() if name not in {"hang", "drip"}}, options=patient)
    return request.param, found


def test_the_matrix_is_complete():
    assert set(EXPECTED) == {None, *FAULTS}


@pytest.mark.parametrize("fault", EXPECTED, ids=str)
def test_every_fault_becomes_what_it_means(fault: str | None, attempts: tuple[bool, dict[str, Attempt]]):
    streamed, found = attempts
    attempt = found[str(fault)]
    kind, status, says = EXPECTED[fault]
    if fault == "cut stream" and not streamed:
        kind, status, says = EXPECTED[None]
    assert (attempt.kind, attempt.response.status) == (kind, status), attempt
    assert says in attempt.reason or says in (attempt.response.evidence or ""), attempt
    assert attempt.response.key == ("p", 0, 0)
    assert attempt.response.seed == 3
    assert attempt.response.latency_s is not None
    assert "user_secret_account" not in encode(attempt.response).decode()
    if kind == "answered" and status == "ok":
        assert "hello big world" in attempt.response.text
        assert attempt.response.usage == Usage(3, 3, 3 if fault == "reasoning" else None, 6e-6)
        assert attempt.response.provider == "FakeProvider"
        assert attempt.response.served_model == str(fault)
        assert (attempt.response.first_token_s is not None) == streamed
    if status == "error":
        assert attempt.response.error
        assert attempt.response.text == ""
    assert (attempt.retry_after_s == 1.0) == (fault in {"429 retry", "402 in flight", "503 retry"})


def test_reasoning_is_kept_apart(attempts: tuple[bool, dict[str, Attempt]]):
    _, found = attempts
    for name in ("reasoning", "reasoning_content"):
        assert found[name].response.reasoning == "because of this"
        assert "because" not in found[name].response.text
    assert found["think"].response.text.startswith("<think>")  # pipeline.respond takes these apart, for every model
    assert found["length null"].response.reasoning == "thinking and thinking"
    assert found["200 error 429"].scope == "lane"
    assert found["402 in flight"].scope == "endpoint"


def test_an_endpoint_that_is_not_there_is_transient():
    async def body() -> Attempt:
        async with Endpoint(address("http://127.0.0.1:9/v1")) as endpoint:
            with pytest.raises(Unreachable, match="cannot be read"):
                await endpoint.models()
            return await endpoint.call("m", ASK, Sampling())

    attempt = asyncio.run(body())
    assert attempt.kind == "transient"
    assert "127.0.0.1" in attempt.reason


def test_the_key_is_sent_and_never_shown():
    key = Key(SECRET, base_url="x", variable="TEST_KEY")
    found = ask_all(
        {"m": FakeModel(), "gone": FakeModel(faults=("500",))}, options=EndpointOptions(), key=key, server_key=SECRET
    )
    assert found["m"].response.text == "hello big world"
    assert ask_all({"m": FakeModel()}, options=EndpointOptions(), server_key=SECRET)["m"].kind == "denied"
    for shown in (repr(key), str(key), f"{key}", repr([key])):
        assert SECRET not in shown
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(key)
    assert key.redact(f"the key {SECRET} is wrong") == "the key *** is wrong"
    assert redact("Authorization: Bearer abcdefgh12345 and hf_abcdefghijkl") == "Authorization: *** and ***"


def test_an_echoed_key_is_taken_out():
    message = json.dumps({"error": {"code": 500, "message": f"bad key {SECRET}"}, "user_id": "user_secret"}).encode()
    attempt = read(Reply(500, {}, message, 0.1), ASK)
    for text in (attempt.reason, attempt.response.error, attempt.response.evidence):
        assert SECRET not in str(text)
        assert "user_secret" not in str(text)


def test_keys_come_from_the_environment_and_stay_with_their_endpoint():
    router = address("openrouter")
    assert router.base_url == "https://openrouter.ai/api/v1"
    with pytest.raises(UsageError, match=r"set \$OPENROUTER_API_KEY"):
        key_for(router, {})
    key = key_for(router, {"OPENROUTER_API_KEY": SECRET})
    assert key is not None
    assert key.headers(router.base_url) == {"Authorization": f"Bearer {SECRET}"}
    with pytest.raises(UsageError, match=r"is not sent to https://evil\.example/v1"):
        key.headers("https://evil.example/v1")
    local = address("http://127.0.0.1:8000/v1/")
    assert local.base_url == "http://127.0.0.1:8000/v1"
    assert key_for(local, {"OPENROUTER_API_KEY": SECRET}) is None
    assert key_for(local, {"ADHERE_API_KEY": SECRET}) is not None
    with pytest.raises(UsageError, match=r"\$ADHERE_API_KEY holds a line break") as caught:
        key_for(local, {"ADHERE_API_KEY": f"{SECRET}\nX-Evil: 1"})
    assert SECRET not in str(caught.value)
    far = address("https://models.example/v1")
    with pytest.raises(UsageError, match=r"ADHERE_API_KEY_FOR=https://models\.example/v1"):
        key_for(far, {"ADHERE_API_KEY": SECRET})
    assert key_for(far, {"ADHERE_API_KEY": SECRET, "ADHERE_API_KEY_FOR": "https://models.example/v1"}) is not None
    with pytest.raises(UsageError, match="plain http"):
        key_for(
            address("http://models.example/v1"),
            {"ADHERE_API_KEY": SECRET, "ADHERE_API_KEY_FOR": "http://models.example/v1"},
        )


@pytest.mark.parametrize(
    "name", ["openruoter", "ftp://x/v1", "http://", "http://user:pw@host/v1", "https://host/v1?key=1"]
)
def test_what_is_no_endpoint_is_refused(name: str):
    with pytest.raises(UsageError):
        address(name)


def test_loopback():
    assert is_loopback("http://127.0.0.1:80/v1")
    assert is_loopback("http://localhost/v1")
    assert is_loopback("http://[::1]:80/v1")
    assert not is_loopback("http://127.0.0.1.evil.example/v1")


def test_what_is_sent_is_pinned_by_the_dialect():
    request = ASK._replace(
        messages=(
            Message("system", "Be brief."),
            Message("user", "Hi"),
            Message("system", "In French."),
            Message("user", "?"),
        )
    )
    sampling = Sampling(max_new_tokens=50, temperature=0.5, top_p=0.9)
    sent = json.loads(
        body_of(
            "m",
            request,
            sampling,
            DIALECTS["openrouter"],
            stream=False,
            option_fields=EndpointOptions(reasoning_effort="low").sent(DIALECTS["openrouter"]),
        )
    )
    assert sent == {
        "model": "m",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
        "seed": 3,
        "stream": False,
        "messages": [
            {"role": "system", "content": "Be brief.\n\nIn French."},
            {"role": "user", "content": "Hi"},
            {"role": "user", "content": "?"},
        ],
        "provider": {"require_parameters": True},
        "plugins": [{"id": "context-compression", "enabled": False}],
        "reasoning": {"effort": "low"},
    }
    sent = json.loads(body_of("m", ASK, Sampling(), DIALECTS["openai"], stream=True, option_fields={}))
    assert sent["max_completion_tokens"] == 64
    assert "max_tokens" not in sent
    assert "top_p" not in sent
    assert sent["stream_options"] == {"include_usage": True}


def test_dialects_are_guessed_or_named():
    assert guess("openrouter.ai").name == "openrouter"
    assert guess("notopenrouter.ai").name == "openai-compatible"
    assert guess("127.0.0.1", [{"id": "x", "owned_by": "vllm"}]).name == "vllm"
    assert guess("127.0.0.1", [{"id": "x", "owned_by": "library"}]).name == "ollama"
    with pytest.raises(AdhereError, match="Did you mean 'openrouter'"):
        dialect("openroter")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:50 GMT"}, 10.0),
        ({"retry-after": "Thu Jan  1 00:16:50 1970"}, 10.0),  # asctime's form, which names no zone and is in UTC
        ({"retry-after": "soon"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030000"}, 1029000.0),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "30"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000000"}, 1700000000.0 - 1000.0),
        ({}, None),
    ],
)
def test_pauses_that_servers_ask_for(headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch):
    if headers.get("x-ratelimit-reset") == "1030000":
        seconds = 1030000.0  # seconds from now
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert retry_after_s(headers, now=1000.0) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("body", [b"", b"{}", b"null", b"\xff\xfe", b"[" * 100_000, b'{"choices":[7]}',
    b'{"choices":[{"message":3}]}', b'{"error":"x"}', b'{"error":{"code":"x"}}',
    b'{"choices":[{"message":{"content":7}}],"usage":7}'])  # fmt: skip
@pytest.mark.parametrize("status", [200, 400, 402, 403, 429, 500, 302])
def test_no_bytes_make_the_reader_raise(body: bytes, status: int):
    attempt = read(Reply(status, {}, body, 0.1), ASK)
    assert attempt.kind in {"answered", "failed", "transient", "limited", "forbidden", "lane-stopped", "denied"}
    encode(attempt.response)


def test_a_price_list_stands_in_for_a_cost_that_is_not_reported():
    body = json.dumps(
        {
            "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }
    ).encode()
    assert read(Reply(200, {}, body, 0.1), ASK).response.usage.cost_usd is None
    assert read(Reply(200, {}, body, 0.1), ASK, prices=Prices(0.1, 1.0, 2.0)).response.usage.cost_usd == pytest.approx(
        8.0
    )


def test_a_stream_may_be_cut_anywhere_between_bytes():
    whole = (
        b': hi\n\ndata: {"choices":[{"delta":{"content":"h\xc3\xa9llo "}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"you"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    for at in range(len(whole)):
        stream = Stream()
        stream.feed(whole[:at])
        stream.feed(whole[at:])
        assert read(Reply(200, {}, stream.body(), 0.1), ASK).response.text == "héllo you"


def test_a_model_of_an_endpoint_is_a_model_like_others():
    with FakeEndpoint({"good": FakeModel(faults=("503", None, None)), "dead": FakeModel(faults=("404",))}) as fake:
        model = open_model(f"{fake.url}#good")
        assert isinstance(model, EndpointModel)
        assert model.engine.settings["base_url"] == fake.url
        model.policy = Policy(first_open_s=0.1)
        requests = [ASK._replace(prompt_id=f"p{number}") for number in range(12)]

        async def ask(model: Any) -> list[Any]:
            return [response async for response in model.respond(requests, Sampling())]

        found = asyncio.run(ask(model))
        assert {response.prompt_id for response in found} == {f"p{number}" for number in range(12)}
        assert {response.status for response in found} == {"ok"}
        dead = asyncio.run(ask(open_model(f"{fake.url}#dead")))
        assert {response.status for response in dead} == {"error"}
        assert len(dead) == 12
        with pytest.raises(UsageError, match="names no model"):
            open_model(fake.url)
        with pytest.raises(UsageError, match="runs elsewhere"):
            open_model(f"{fake.url}#good", precision="fp32")
    assert split("openrouter/qwen/qwen-2.5-7b")[1] == "qwen/qwen-2.5-7b"


def test_only_what_can_change_an_answer_names_a_run():
    """Another time limit, another cap and another version of the client continue a stored Run."""
    here = address("http://127.0.0.1:8000/v1")
    plain = Endpoint(here).engine()
    for options in (
        EndpointOptions(timeout_s=3),
        EndpointOptions(stream=True),
        EndpointOptions(concurrency=2),
        EndpointOptions(max_cost_usd=1.0),
        EndpointOptions(requests_per_minute=3),
        EndpointOptions(patience_s=1),
        EndpointOptions(price=Prices(1, 1)),
    ):
        assert Endpoint(here, options=options).engine() == plain
    assert "aiohttp" not in encode(plain).decode()
    for options in (EndpointOptions(reasoning_effort="low"), EndpointOptions(dialect="vllm")):
        assert Endpoint(here, options=options).engine() != plain


def test_a_provider_is_pinned_where_there_are_several():
    router = Endpoint(address("openrouter"), options=EndpointOptions(provider="fireworks"))
    sent = router.engine().settings["sent"]
    assert isinstance(sent, dict)
    assert sent["provider"] == {"require_parameters": True, "only": ["fireworks"], "allow_fallbacks": False}
    with pytest.raises(UsageError, match="at openrouter only"):
        Endpoint(address("http://127.0.0.1:8000/v1"), options=EndpointOptions(provider="x")).engine()


def test_every_request_has_a_time_limit():
    assert EndpointOptions().total_s(64) == pytest.approx(66.4)
    assert EndpointOptions().total_s(10**6) == 1800
    assert EndpointOptions(timeout_s=5).total_s(10**6) == 5


def test_options_out_of_range_are_refused():
    for bad in (
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"reasoning_effort": "much"},
        {"dialect": "vlm"},
        {"concurrency": 0},
    ):
        with pytest.raises(UsageError):
            EndpointOptions(**bad)  # type: ignore[arg-type]
    assert price_of("0.15,0.6") == Prices(0.15e-6, 0.6e-6)
    for bad_price in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"):
        with pytest.raises(UsageError, match="two numbers"):
            price_of(bad_price)


def test_an_answer_in_one_piece_may_take_longer_than_a_stall() -> None:
    """Only a streamed answer can stall; before, --timeout beyond 120 s did not help a slow server."""
    with FakeEndpoint({"m": FakeModel(latency_s=0.6)}) as fake:
        model = open_model(f"{fake.url}#m", endpoint=EndpointOptions(stall_s=0.2, timeout_s=20, patience_s=0))
        asked = [Request("p", 0, 0, (Message("user", "hello"),), 0)]

        async def answers() -> list[Any]:
            return [response async for response in model.respond(asked, Sampling())]

        (response,) = asyncio.run(answers())
    assert response.status == "ok", response.error


@pytest.mark.parametrize("key", [None, SECRET])
def test_no_password_of_netrc_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login user password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    sent: list[str | None] = []

    class Listening(FakeEndpoint):
        def _unauthorized(self, request: Any) -> None:
            sent.append(request.headers.get("Authorization"))

    async def body(url: str) -> Attempt:
        bound = None if key is None else Key(key, base_url=url, variable="TEST_KEY")
        async with Endpoint(address(url), key=bound) as endpoint:
            await endpoint.models()
            return await endpoint.call("m", ASK, Sampling())

    with Listening(["m"]) as fake:
        assert asyncio.run(body(fake.url)).response.status == "ok"
    assert sent == [None if key is None else f"Bearer {key}"] * 2


def test_a_proxy_of_the_environment_is_used_but_never_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://user:word@proxy.example:3128")
    monkeypatch.setenv("no_proxy", "intern.example")
    assert proxy_for("https://models.example/v1") == "http://user:word@proxy.example:3128"
    assert proxy_for("https://intern.example/v1") is None
    assert proxy_for("http://127.0.0.1:8000/v1") is None
    assert proxy_for("http://localhost:8000/v1") is None
    monkeypatch.setenv("https_proxy", "user:word@proxy.example:3128")
    assert proxy_for("https://models.example/v1") == "http://user:word@proxy.example:3128"
    for wrong in ("socks5://user:word@proxy.example:1080", "http://user:word@[bad", "http://user:word@p.example:x"):
        monkeypatch.setenv("https_proxy", wrong)
        with pytest.raises(UsageError, match=r"\$HTTPS_PROXY names no http proxy") as refused:
            proxy_for("https://models.example/v1")
        assert "word" not in str(refused.value)


def test_the_password_of_a_proxy_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(_through_a_proxy_that_refuses(monkeypatch))


async def _through_a_proxy_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    seen: list[bytes] = []
    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.delenv("no_proxy", raising=False)
    for scheme in ("http", "https"):
        monkeypatch.setenv(f"{scheme}_proxy", f"http://user:s3cret@127.0.0.1:{port}")
    for where in ("http://models.invalid/v1", "https://models.invalid/v1"):
        async with Endpoint(address(where)) as endpoint:
            attempt = await endpoint.call("m", ASK, Sampling())
            assert attempt.kind == ("denied" if where.startswith("http:") else "transient")
            assert attempt.response.failure == "passing", "the next run asks again"
            assert "407" in attempt.reason
            assert "s3cret" not in repr(attempt)
            with pytest.raises(Unreachable) as told:
                await endpoint.models()
            assert "s3cret" not in str(told.value)
    assert all(b"Proxy-Authorization: Basic " in head for head in seen)
    assert seen
    server.close()


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [("402", OutOfCredit, "out of credit"), ("401", AdhereError, "HTTP 401"), ("403 key", AdhereError, "HTTP 403")],
)
def test_one_model_without_credit_or_key_ends_with_what_it_is(fault: str, kind: type[Exception], says: str) -> None:
    with FakeEndpoint({"m": FakeModel(faults=(fault,))}) as fake:
        model = open_model(f"{fake.url}#m")

        async def ask() -> list[Any]:
            return [response async for response in model.respond([ASK], Sampling())]

        with pytest.raises(kind, match=says):
            asyncio.run(ask())


def test_a_dead_address_is_reported_soon() -> None:
    said: list[str] = []
    model = open_model("http://127.0.0.1:9/v1#foo", endpoint=EndpointOptions(wait_s=0.6), say=said.append)

    async def ask() -> list[Any]:
        return [response async for response in model.respond([ASK], Sampling())]

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9/v1/models cannot be read"):
        asyncio.run(ask())
    assert said == ["Nothing listens at http://127.0.0.1:9/v1 yet; waiting up to 0.6 s for it (--wait)"]


def test_a_cap_holds_for_one_model_too() -> None:
    with FakeEndpoint({"m": FakeModel(usage={"cost": 0.01})}) as fake:
        with pytest.raises(UsageError, match="State it with --price"):
            asyncio.run(_ask_many(open_model(f"{fake.url}#m", endpoint=EndpointOptions(max_cost_usd=1.0))))
        options = EndpointOptions(max_cost_usd=0.1, price=Prices(0.0, 0.01 / 64))
        model = open_model(f"{fake.url}#m", endpoint=options)
        with pytest.raises(Incomplete, match=r"the cap of \$0\.10 is reached"):
            asyncio.run(_ask_many(model))
        assert fake.served["m"] == 10
        again = open_model(f"{fake.url}#m", endpoint=options)
        again.spent_usd = 0.1  # type: ignore[attr-defined]
        with pytest.raises(Incomplete):
            asyncio.run(_ask_many(again))
        assert fake.served["m"] == 10


async def _ask_many(model: Any) -> list[Any]:
    requests = [ASK._replace(prompt_id=f"p{number}") for number in range(30)]
    return [response async for response in model.respond(requests, Sampling())]


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"message": "upstream: connection refused"}, "failed"),
        (400, {"message": "the content was flagged", "code": "content_filter"}, "answered"),
        (403, {"message": "limited availability"}, "forbidden"),
        (403, {"message": "key limit", "metadata": {"limit_source": "openrouter_key_limit"}}, "denied"),
        (429, {"message": "insufficient credits to be this fast"}, "limited"),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}, "denied"),
        (400, {"message": "safety first", "type": "invalid_request_error"}, "failed"),
        (400, {"message": "x", "code": "model_not_found"}, "lane-stopped"),
        (400, {"message": "ResponsibleAI", "innererror": {"code": "ResponsibleAIPolicyViolation"}}, "answered"),
    ],
)
def test_structure_decides_and_words_do_not(status: int, error: dict[str, Any], kind: str) -> None:
    assert read(Reply(status, {}, json.dumps({"error": error}).encode(), 0.1), ASK).kind == kind


def test_a_byte_order_mark_before_the_reply_is_no_damage():
    body = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}).encode()
    assert read(Reply(200, {}, b"\xef\xbb\xbf" + body, 0.1), ASK).response.text == "yes"


@pytest.mark.parametrize("name", ["max_cost_usd", "patience_s", "wait_s", "timeout_s", "requests_per_minute"])
@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_no_limit_is_a_number_that_nothing_reaches(name: str, value: float):
    with pytest.raises(UsageError, match=name):
        EndpointOptions(**{name: value})


@pytest.mark.parametrize(
    ("amount", "said"), [(0.0, "$0.00"), (0.0012, "$0.0012"), (0.35, "$0.35"), (1234.5, "$1234.50")]
)
def test_an_amount_below_a_cent_is_not_called_nothing(amount: float, said: str):
    assert dollars(amount) == said
