"""What a user can mend ends the run at the first answers and is asked again; fields are added and left out by name."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.unit.models.test_dispatch import response, sweep

from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.models.http import client
from adhere.models.http.attempt import Attempt
from adhere.models.http.client import Endpoint, EndpointModel
from adhere.models.http.dialects import DIALECTS, GENERIC
from adhere.models.http.dispatch import SUSPECTED, Dispatcher, Policy
from adhere.models.http.extra import parse_send
from adhere.models.http.keys import address
from adhere.models.http.native import GEMINI
from adhere.models.http.options import EndpointOptions
from adhere.models.http.streaming import Stream
from adhere.models.http.wire import CUT_PROMPT, Reply, body_of, read
from adhere.schema import Message, Sampling, Tool
from adhere.store.manifest import RunSpec

ASK = Request("p", 0, 0, (Message("user", "hello big world"),), 3)


def attempt(status: int, body: Any, request: Request = ASK) -> Attempt:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return read(Reply(status, {}, data, 0.1), request)


def answer(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], **more}


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


KEYS = [
    {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: wr***34."},
    error("Invalid API Key"),
    error("You didn't provide an API key."),
    error("The api key is expired"),
    {"detail": "Could not validate credentials: invalid bearer token"},
    {"message": "Missing Authentication header"},
    {"detail": [{"type": "missing", "loc": ["header", "authorization"], "msg": "Field required"}]},
]
IN_200 = [
    ({"error": {"type": "authentication_error", "message": "no"}}, "denied", "key"),  # Anthropic's names
    ({"error": {"message": "no", "code": "invalid_api_key"}}, "denied", "key"),
    (
        [{"error": {"code": 400, "message": "no", "details": [{"reason": "API_KEY_INVALID"}]}}],
        "denied",
        "key",
    ),  # Gemini
    ({"error": {"type": "insufficient_quota", "message": "no"}}, "denied", "credit"),
    ({"error": "Unauthorized: invalid api key"}, "transient", "key"),
    ({"error_code": 110, "error_msg": "Access token invalid or no longer valid"}, "transient", "key"),
    (
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None},
        "transient",
        "credit",
    ),
    ({"success": False, "errors": [{"code": 1, "message": "invalid api token"}]}, "transient", "key"),
    ({"code": 20012, "message": "Model does not exist.", "data": None}, "transient", "request"),
    ({"error": {"type": "overloaded_error", "message": "Overloaded"}}, "transient", None),
    ({"error": {"type": "rate_limit_error", "message": "slow"}}, "limited", None),
]


@pytest.mark.parametrize("body", KEYS, ids=[f"{n}" for n in range(len(KEYS))])
def test_a_wrong_key_said_in_words_is_suspected_and_asked_again(body: Any):
    found = attempt(400, body)
    assert (found.kind, found.suspects, found.response.failure) == ("failed", "key", "passing")


@pytest.mark.parametrize(("body", "kind", "blamed"), IN_200, ids=[f"{n}" for n in range(len(IN_200))])
def test_an_error_inside_a_200_is_read_by_what_it_calls_itself_or_says(body: Any, kind: str, blamed: str | None):
    found = attempt(200, body)
    assert (found.kind, found.denied or found.suspects) == (kind, blamed), found.reason
    assert found.response.failure == "passing"


def test_credit_that_is_spent_in_words_is_suspected_and_asked_again():
    for said in ("Your credit balance is too low to access the API.", "Insufficient Balance", "余额不足"):
        found = attempt(400, error(said))
        assert (found.suspects, found.response.failure) == ("credit", "passing")


def test_a_model_that_does_not_exist_by_words_is_suspected():
    for said in ("Model foo does not exist", "Invalid model name passed in model=foo", "foo is not a valid model ID"):
        assert attempt(400, error(said)).reason.startswith("the server has no model of this name: HTTP 400")
    assert attempt(400, error("This model does not support system messages")).suspects is None


STREAMED: list[tuple[bytes, str, str | None]] = [
    (b'{"error": {"message": "no", "code": "invalid_api_key"}}', "denied", "key"),
    (b'error: {"message": "no", "code": 401}', "denied", "key"),
    (b'data: {"object": "error", "message": "boom", "type": "BadRequestError", "code": 400}', "failed", None),
    (b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}', "transient", None),
    (b'data: {"choices": [{"index": 0, "text": "old", "finish_reason": "stop"}]}', "transient", None),
]


@pytest.mark.parametrize(("line", "kind", "blamed"), STREAMED, ids=[f"{n}" for n in range(len(STREAMED))])
def test_an_error_in_a_stream_is_read_in_every_form(line: bytes, kind: str, blamed: str | None):
    stream = Stream()
    stream.feed(line + b"\n\ndata: [DONE]\n\n")
    found = read(Reply(200, {}, stream.body(), 0.1), ASK)
    assert (found.kind, found.denied or found.suspects) == (kind, blamed), found.reason


def test_a_whole_answer_in_place_of_a_stream_is_read():
    stream = Stream()
    stream.feed(json.dumps(answer({"content": "Hi."}), indent=1).encode())
    assert attempt(200, json.loads(stream.body())).response.text == "Hi."


def test_done_ends_an_answer_also_where_the_connection_stays_open(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "END_S", 0.05)
    piece = {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}

    async def chat(request: web.Request) -> web.StreamResponse:
        found = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await found.prepare(request)
        await found.write(f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode())
        await asyncio.sleep(60)
        return found

    async def ask() -> list[Attempt]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        async with TestServer(app) as server:
            found = []
            for stream in (True, False):  # some stream unasked
                options = EndpointOptions(timeout_s=5.0, stream=stream)
                async with Endpoint(address(str(server.make_url("/v1"))), options=options) as endpoint:
                    found.append(await endpoint.call("m", ASK, Sampling()))
            return found

    assert [one.response.text for one in asyncio.run(ask())] == ["Hi.", "Hi."]


@pytest.mark.parametrize(
    "data",
    [
        b'\xef\xbb\xbfdata: {"choices": [{"delta": {"content": "The sea."}}]}\n\n',
        b'data: {"choices": [{"delta":\ndata: {"content": "The sea."}}]}\n\n',
        b'data: {"choices": [{"index": "0", "delta": {"content": "The sea."}}]}\n\n',
        b'data: {"choices": [{"index": 0, "message": {"content": "The sea."}}]}\n\n',
        b'data: {"broken\n\ndata: {"choices": [{"delta": {"content": "The sea."}}]}\n\n',
    ],
    ids=["mark", "lines", "index", "message", "broken"],
)
def test_a_stream_that_is_written_in_another_way_is_no_empty_answer(data: bytes):
    stream = Stream()
    stream.feed(data + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n')
    found = read(Reply(200, {}, stream.body(), 0.1), ASK)
    assert (found.kind, found.response.text) == ("answered", "The sea.")


def test_a_wrong_key_that_a_code_names_is_denied_at_once():
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    body = {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT", "details": details}}
    assert attempt(400, body).denied == "key"


@pytest.mark.parametrize(
    ("message", "helps"),
    [
        ("parameter.enable_thinking must be set to false for non-streaming calls", "--stream"),
        ("This model only supports streaming", "--stream"),
        ("stream must be set to true", "--stream"),
        ("Non-streaming requests are not supported by this model.", "--stream"),
        ("Streaming is not supported for this model", "leave --stream out"),
        ("Unknown parameter: 'seed'.", "--omit seed"),
        (
            "Unsupported value: 'temperature' does not support 0. Only the default (1) value is supported.",
            "--omit temp",
        ),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "--omit max_"),
        ("Unrecognized request argument supplied: stream_options", "--omit stream_options"),
        ("`temperature` and `top_p` cannot both be specified for this model.", "--omit temperature"),
    ],
)
def test_what_a_server_does_not_take_names_what_helps(message: str, helps: str):
    found = attempt(400, error(message))
    assert (found.suspects, helps in found.reason) == ("request", True), found.reason


def test_a_field_that_only_the_structure_names():
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
    nested = {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error", "code": None}
    for body in (nested, {"detail": detail}):
        found = attempt(422, body)
        assert found.suspects == "request"
        assert "--omit seed" in found.reason


def test_a_page_for_people_is_no_api():
    assert attempt(200, "<!DOCTYPE html><html><body>Chat</body></html>").suspects == "address"
    assert attempt(400, "<html><h1>The plain HTTP request was sent to HTTPS port</h1></html>").suspects == "address"


def test_what_is_one_requests_own_trouble_is_final():
    for message in (
        "This model's maximum context length is 512 tokens.",
        "max_tokens is too large: 9",
        "your limit is tier 1",
    ):
        found = attempt(400, error(message, param="max_tokens"))
        assert (found.suspects, found.response.failure) == (None, "final")


def refuse(request: Request) -> Attempt:
    return Attempt("failed", response(request, error="HTTP 400"), "HTTP 400: wrong key", suspects="key", may_cost=False)


def test_a_key_refused_in_words_ends_the_run_at_the_first_answers():
    sent: list[str] = []

    async def call(lane: str, request: Request) -> Attempt:
        sent.append(request.prompt_id)
        await asyncio.sleep(0.1)
        return refuse(request)

    found, _, dispatcher = sweep(call, {"m": 100})
    assert found == []
    assert len(sent) <= 8
    assert (dispatcher.stopped_for, "wrong key" in dispatcher.stopped) == ("key", True)


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_requests_than_it_takes_to_be_sure_are_denied_too(count: int):
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        return refuse(request)

    found, _, dispatcher = sweep(call, {"m": count})
    assert (found, dispatcher.stopped_for) == ([], "key")


def test_an_answer_shows_that_the_words_were_of_one_request():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1 if request.prompt_id in {"p0", "p1"} else 0.2)
        if request.prompt_id in {"p0", "p1"}:
            return refuse(request)
        return Attempt("answered", response(request))

    found, _, dispatcher = sweep(call, {"m": 20})
    assert len(found) == 20
    assert sum(one.status == "error" for _, one in found) == 2
    assert not dispatcher.stopped
    assert SUSPECTED > 2


def test_a_lane_that_is_set_aside_leaves_no_suspected_request_behind():
    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.1)
        if request.prompt_id == "p0":
            return refuse(request)
        return Attempt("lane-stopped", response(request, error="HTTP 404"), "HTTP 404", may_cost=False)

    found, _, _ = sweep(call, {"m": 30})
    assert len(found) == 30


# --- fields

NINE = Sampling(9)


def sent_by(options: EndpointOptions, dialect: str = "openai-compatible", sampling: Sampling = NINE) -> dict[str, Any]:
    kind = DIALECTS[dialect]
    body = body_of(
        "m", ASK, sampling, kind, stream=False, option_fields=options.sent(kind), send=options.send, omit=options.omit
    )
    found: dict[str, Any] = json.loads(body)
    return found


def test_fields_are_added_merged_and_left_out():
    send = parse_send(
        ["top_k=20", "chat_template_kwargs.enable_thinking=false", 'stop=["END"]', 'provider={"sort":"price"}']
    )
    found = sent_by(EndpointOptions(send=send, omit=("seed", "temperature")), "openrouter")
    assert found["top_k"] == 20
    assert found["chat_template_kwargs"] == {"enable_thinking": False}
    assert found["provider"] == {"require_parameters": True, "sort": "price"}
    assert not {"seed", "temperature"} & found.keys()
    gemini = sent_by(EndpointOptions(send=parse_send(['generationConfig={"topK": 5}']), omit=("seed",)), "gemini")
    assert gemini["generationConfig"]["topK"] == 5
    assert "seed" not in gemini["generationConfig"]
    assert gemini["generationConfig"]["maxOutputTokens"] == 9


@pytest.mark.parametrize(
    ("send", "omit", "says"),
    [
        (["top_k"], (), "KEY=JSON"),
        (["top_k=abc"], (), "is no JSON"),
        (["x=NaN"], (), "NaN is no number"),
        (["top_k=1", "top_k=2"], (), "twice"),
        (["temperature=1"], (), "--temperature"),
        (["messages=[]"], (), "the prompts say it"),
        (['generationConfig={"temperature": 1}'], (), "--temperature"),
        (["enable_thinking=False"], (), "JSON writes false"),
        (["chat_template_kwargs..x=1"], (), "KEY=JSON"),
        (["extra_body.top_k=5"], (), "by themselves: --send top_k="),
        (['token="sk-abcdefghijklmnopqrstuvwxyz0123456789"'], (), "looks like a key"),
        ([], ("messages",), "nothing is asked"),
        ([], ("sead",), "Did you mean 'seed'"),
        (["reasoning_effort=1"], ("reasoning_effort",), "both sent and left out"),
    ],
)
def test_fields_that_cannot_be_are_refused(send: list[str], omit: tuple[str, ...], says: str):
    with pytest.raises(UsageError, match=says):
        EndpointOptions(send=parse_send(send), omit=omit)


def test_fields_are_part_of_the_runs_name():
    def name_of(options: EndpointOptions) -> str:
        engine = Endpoint(address("http://127.0.0.1:9/v1"), options=options).engine()
        return RunSpec("m", engine, "s", "1", "x", Sampling(), 1).sha256

    plain, top_k = name_of(EndpointOptions()), name_of(EndpointOptions(send={"top_k": 20}))
    without_seed = name_of(EndpointOptions(omit=("seed",)))
    assert len({plain, top_k, without_seed}) == 3
    assert name_of(EndpointOptions(omit=("top_p", "seed"))) == name_of(EndpointOptions(omit=("seed", "top_p")))


# --- reasoning, in every form

THOUGHT = "I think, so I use commas, many."
FORMS: list[dict[str, Any]] = [
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, {"type": "text", "text": "Hi."}]},
    {"content": [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": "Hi."}]},
    {"content": [{"type": "thinking", "text": THOUGHT}, {"type": "text", "text": "Hi."}]},
    {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]}, {"type": "text", "text": "Hi."}]},
    {"content": [{"type": "reasoning", "reasoning": THOUGHT}, {"type": "output_text", "text": "Hi."}]},
    {"content": [{"text": THOUGHT, "thought": True}, {"text": "Hi."}]},
    {"content": [{"type": "summary_text", "text": THOUGHT}, {"type": "text", "text": "Hi."}]},
    {"content": [{"reasoningContent": {"reasoningText": {"text": THOUGHT}}}, {"text": "Hi."}]},  # Bedrock
    {"content": "Hi.", "reasoning_summary": THOUGHT},
    {"content": "Hi.", "reasoning_content": THOUGHT},
    {"content": "Hi.", "reasoning": THOUGHT, "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]},
    {"content": "Hi.", "reasoning_details": [{"type": "reasoning.summary", "summary": THOUGHT}]},
    {"content": "Hi.", "thinking_blocks": [{"type": "thinking", "thinking": THOUGHT, "signature": "x"}]},
    {"content": "Hi.", "thinking": THOUGHT},
    {"content": "Hi.", "provider_specific_fields": {"reasoning_content": THOUGHT}},
]  # fmt: skip


@pytest.mark.parametrize("message", FORMS, ids=[f"{n}" for n in range(len(FORMS))])
@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_is_read_in_every_form(message: dict[str, Any], streamed: bool):
    body: Any = answer(message)
    if streamed:
        stream = Stream()
        parts = message["content"] if isinstance(message["content"], list) else None
        deltas = [{"content": [part]} for part in parts] if parts else [message]
        for delta in deltas:
            stream.feed(f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode())
        stream.feed(b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
        body = json.loads(stream.body())
    found = attempt(200, body).response
    assert (found.text, found.reasoning) == ("Hi.", THOUGHT)


def test_what_a_tool_of_the_server_gave_is_no_part_of_the_answer():
    found = {"type": "web_search_tool_result", "content": [{"title": "t, t", "text": "a page, a page"}]}
    parts = [{"type": "server_tool_use", "input": {"query": "q"}}, found, {"type": "text", "text": "Hi."}]
    assert attempt(200, answer({"content": parts})).response.text == "Hi."


def test_a_refusal_in_a_part_is_a_refusal():
    found = attempt(200, answer({"content": [{"type": "refusal", "refusal": "No, sorry."}]})).response
    assert (found.status, found.text, found.evidence) == ("refused", "", "No, sorry.")


@pytest.mark.parametrize(
    ("finish", "status"),
    [("content_filter: SAFETY", "refused"), ("sensitive", "refused"), ("insufficient_system_resource", "error")],
)
def test_reasons_of_other_providers_for_no_answer(finish: str, status: str):
    body = {"choices": [{"message": {"content": ""}, "finish_reason": finish}]}
    assert attempt(200, body).response.status == status


def test_a_piece_of_content_may_be_an_object():
    stream = Stream()
    for content in ({"thinking": "hm"}, {"text": "Hi."}):
        stream.feed(f"data: {json.dumps({'choices': [{'delta': {'content': content}}]})}\n\n".encode())
    stream.feed(b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
    found = attempt(200, json.loads(stream.body())).response
    assert (found.text, found.reasoning) == ("Hi.", "hm")


# --- prompts that a server cuts

LONG = Request("p", 0, 0, (Message("user", "word " * 6000),), 3)


@pytest.mark.parametrize("tokens", [8, 2048, 4096])
def test_a_prompt_that_the_server_cut_is_no_answer(tokens: int):
    usage = {"prompt_tokens": tokens, "completion_tokens": 5}
    found = attempt(200, answer({"content": "Hi."}, usage=usage), LONG)
    assert (found.kind, found.response.status, found.response.failure) == ("failed", "error", "passing")
    assert found.response.error == CUT_PROMPT
    assert f"{tokens:,} tokens for a prompt of at least 6,000" in (found.response.evidence or "")


@pytest.mark.parametrize("tokens", [None, 0, 6000, 7800])
def test_a_prompt_that_was_read_or_not_counted_is_answered(tokens: int | None):
    found = attempt(200, answer({"content": "Hi."}, usage={"prompt_tokens": tokens}), LONG)
    assert found.response.status == "ok"


@pytest.mark.parametrize(
    "cached",
    [
        {"prompt_tokens_details": {"cached_tokens": 5992}},
        {"prompt_cache_hit_tokens": 5992},
        {"cache_read_input_tokens": 5000, "cache_creation_input_tokens": 992},
    ],
)
def test_a_cached_prompt_that_is_counted_beside_was_read(cached: dict[str, Any]):
    assert attempt(200, answer({"content": "Hi."}, usage={"prompt_tokens": 8, **cached}), LONG).response.status == "ok"
    cut = {"prompt_tokens": 4096, "prompt_tokens_details": {"cached_tokens": 4000}}
    assert attempt(200, answer({"content": "Hi."}, usage=cut), LONG).response.error == CUT_PROMPT


def test_where_a_script_writes_no_blanks_characters_count():
    chinese = LONG._replace(messages=(Message("user", "海水很蓝风很冷" * 1000),))
    assert attempt(200, answer({"content": "好"}, usage={"prompt_tokens": 2048}), chinese).response.status == "error"
    assert attempt(200, answer({"content": "好"}, usage={"prompt_tokens": 3500}), chinese).response.status == "ok"


def test_a_short_prompt_is_not_compared():
    assert attempt(200, answer({"content": "Hi."}, usage={"prompt_tokens": 1})).response.status == "ok"


# --- small ones


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "400", "provider_specific_fields": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}},
        {"code": "400"},
        {"code": 446, "type": "hooks_failed"},
    ],
)
def test_a_content_filter_behind_a_gateway_is_a_refusal(fields: dict[str, Any]):
    said = "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - filtered"
    assert attempt(400, error(said, **fields)).response.status == "refused"


def test_gemini_s_other_without_text_is_no_empty_answer():
    body = {"candidates": [{"content": {"parts": []}, "finishReason": "OTHER"}]}
    found = read(Reply(200, {}, json.dumps(body).encode(), 0.1), ASK, native=GEMINI)
    assert (found.kind, found.response.status) == ("transient", "error")
    assert "finishReason OTHER" in found.reason


def test_an_answer_that_only_calls_tools_where_none_was_offered_is_empty():
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    found = attempt(200, answer({"content": None, "tool_calls": [call]})).response
    assert (found.status, found.evidence) == ("empty", "it only calls tools, and none was offered")
    offered = ASK._replace(tools=(Tool("f", "", {}),))
    assert attempt(200, answer({"content": None, "tool_calls": [call]}), offered).response.status == "ok"


def test_a_temperature_that_anthropic_does_not_take_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x" * 20)
    with pytest.raises(UsageError, match=r"from 0 to 1, got 1\.3"):
        EndpointModel("anthropic/m").respond([ASK], Sampling(9, 1.3))


def test_azures_api_version_is_told_what_to_do():
    with pytest.raises(UsageError, match="openai/v1#DEPLOYMENT"):
        address("https://x.openai.azure.com/openai/deployments/d?api-version=2024-06-01")


def test_the_dialect_that_pins_nothing_sends_what_is_asked():
    assert GENERIC.pinned == {}
    assert sent_by(EndpointOptions())["seed"] == 3


# --- odd bodies


@pytest.mark.parametrize(
    ("encoding", "header"),
    [
        ("utf-16", ""),
        ("utf-16-le", ""),
        ("utf-32", ""),
        ("utf-8-sig", ""),
        ("latin-1", "application/json; charset=latin-1"),
    ],
)
def test_a_body_in_another_encoding_is_read(encoding: str, header: str):
    data = json.dumps(answer({"content": "caf\xe9"}), ensure_ascii=False).encode(encoding)
    assert read(Reply(200, {"content-type": header}, data, 0.1), ASK).response.text == "caf\xe9"


def test_a_body_that_is_nested_too_deep_fails_for_good_and_says_so():
    found = attempt(200, '{"choices": [{"message": {"content": ' + "[" * 100_000 + "]" * 100_000 + "}}]}")
    assert (found.kind, found.response.failure) == ("failed", "final")
    assert "nested too deep" in found.reason


def test_while_nothing_is_answered_it_is_said_who_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "TELL_S", 0.05)
    said: list[str] = []

    async def call(lane: str, request: Request) -> Attempt:
        await asyncio.sleep(0.02)
        return Attempt("transient", response(request, error="HTTP 500"), "HTTP 500: boom", may_cost=False)

    async def body() -> None:
        dispatcher = Dispatcher(call, policy=Policy(patience_s=0.5, attempts=2))
        dispatcher.add("m", [ASK])
        telling = asyncio.create_task(client.tell_waits(dispatcher, said.append))
        assert [end.response.status async for end in dispatcher.answers()] == ["error"]
        telling.cancel()

    asyncio.run(body())
    assert said
    assert "waiting for m" in said[0]
    assert "HTTP 500: boom" in said[0]
