"""Calls of tools as answers: read off the wire in every dialect, stored, judged, shown, exported and verified."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adhere.calls import calls_of
from adhere.constraints import make
from adhere.errors import BadParameter
from adhere.integrations.shared.export import export
from adhere.models.answers import answer_of
from adhere.models.base import Request
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.http.client import EndpointModel
from adhere.models.http.dialects import DIALECTS
from adhere.models.http.native import ANTHROPIC, GEMINI
from adhere.models.http.options import EndpointOptions
from adhere.models.http.streaming import Stream
from adhere.models.http.wire import Reply, read
from adhere.pipeline.evaluate import evaluate_sync
from adhere.report.pages import stored_in
from adhere.schema import (
    ConstraintRef,
    GivenMessages,
    Message,
    Prompt,
    Response,
    Sampling,
    Tool,
    ToolCall,
    Turn,
    decode,
    encode,
)
from adhere.serve.server import ModelServer
from adhere.store.run import answer_hash
from adhere.suites import Suite
from adhere.verify.answers import verify

SCHEMA = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
TOOL = Tool("refund", "Pays an order back.", SCHEMA)
RULES = (
    ConstraintRef("calls:exactly", {"calls": ['refund({"order": 7})']}),
    ConstraintRef("calls:never", {"tools": ["delete"]}),
    ConstraintRef("calls:valid", {"schemas": [f"refund({json.dumps(SCHEMA)})"]}),
    ConstraintRef("calls:asks_first", {"tools": ["refund"]}),
)
BEFORE = Message("user", "Hello."), Message("assistant", "What can I do?")
ASKED = Prompt("p", (Turn("Refund order 7.", RULES),), given=GivenMessages(before=BEFORE, tools=(TOOL,)))
CALLED = Message("assistant", "", (ToolCall("x1", "refund", {"order": 7}),))


def answer(model: EndpointModel) -> Response:
    async def all_of_them() -> list[Response]:
        asked = [Request("p", 0, 0, ASKED.messages(), 1, tools=ASKED.tools)]
        return [one async for one in model.respond(asked, Sampling())]

    (response,) = asyncio.run(all_of_them())
    return response


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("dialect", [name for name, dialect in DIALECTS.items() if dialect.native is None])
def test_every_dialect_brings_calls_with_text_and_without(dialect: str, stream: bool):
    said = [
        Message("assistant", text, (*CALLED.calls, ToolCall("x2", "look", {"name": "plüm"}))) for text in ("", "Now:")
    ]
    with FakeEndpoint({"m": FakeModel(reply=lambda body: said[len(endpoint.seen) - 1])}) as endpoint:
        found = [
            answer(EndpointModel(f"{endpoint.url}#m", options=EndpointOptions(dialect=dialect, stream=stream)))
            for _ in said
        ]
    assert [one.status for one in found] == ["ok", "ok"]
    assert [one.text for one in found] == ["", "Now:"]
    assert [[(call.name, call.arguments) for call in one.calls or ()] for one in found] == [
        [("refund", {"order": 7}), ("look", {"name": "plüm"})]
    ] * 2
    assert found[0].stop_reason == "tool_calls"


@pytest.mark.parametrize(
    ("function", "arguments", "broken"),
    [
        ({"name": "f", "arguments": '{"a": 1}'}, {"a": 1}, False),
        ({"name": "f", "arguments": {"a": 1}}, {"a": 1}, False),
        ({"name": "f", "arguments": ""}, {}, False),
        ({"name": "f"}, {}, False),
        ({"name": "f", "arguments": '{"a": '}, {}, True),
        ({"name": "f", "arguments": "[1]"}, {}, True),
        ({"name": "f", "arguments": '{"a": NaN}'}, {}, True),
    ],
)
def test_arguments_are_an_object_or_kept_as_they_are(function: Any, arguments: dict[str, Any], broken: bool):
    (call,) = calls_of({"tool_calls": [{"id": "i", "type": "function", "function": function}]})
    assert (call.arguments, bool(call.broken)) == (arguments, broken)
    assert decode(encode(call), ToolCall) == call


def test_odd_calls_are_read_as_far_as_they_go():
    rows = [
        {"function": {"name": "a"}},
        {"id": "call_1", "function": {"name": "b"}},
        None,
        3,
        {"id": "z", "function": {}},
    ]
    assert [(call.id, call.name) for call in calls_of({"tool_calls": rows})] == [("call_1", "a"), ("call_2", "b")]
    assert calls_of({"function_call": {"name": "old", "arguments": "{}"}})[0].name == "old"
    assert calls_of({"tool_calls": "x"}) == calls_of({}) == ()


def test_a_stream_that_gives_every_call_the_same_index_or_none_has_them_all():
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"index": 0, "id": "b", "function": {"name": "g", "arguments": {"x": 1}}},
        {"function": {"name": "h"}},
    ]
    stream = Stream()
    for piece in pieces:
        stream.feed(
            b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}).encode() + b"\n"
        )
    stream.feed(b'data: {"choices": [{"finish_reason": "tool_calls"}]}\n')
    calls = calls_of(json.loads(stream.body())["choices"][0]["message"])
    assert [(call.name, call.arguments) for call in calls] == [("f", {}), ("g", {"x": 1}), ("h", {})]


def test_rows_of_before_read_and_hash_as_they_did():
    row = (
        '{"draw":0,"error":null,"evidence":null,"failure":null,"first_token_s":null,"latency_s":0.5,"prompt_id":"p0","provider":null,"reasoning":null,"seed":7,"served_model":null,"status":"ok","stop_reason":"stop","text":"one '
        'two three","turn":0,'
        '"usage":{"completion_tokens":3,"cost_usd":null,"prompt_tokens":3,"reasoning_tokens":null}}'
    )
    stored = decode(row, Response)
    assert encode(stored).decode() == row
    assert answer_hash(stored) == "b2a26a9b14460e3a"
    assert encode(ToolCall("a", "look", {"w": 1})) == b'{"arguments":{"w":1},"id":"a","name":"look"}'


def test_from_the_wire_to_the_page_the_exports_and_back(tmp_path: Path):
    suite = Suite("mine", "1", (ASKED,))
    with FakeEndpoint({"m": FakeModel(reply=lambda body: CALLED)}) as endpoint:
        run = evaluate_sync(EndpointModel(f"{endpoint.url}#m"), suite, tmp_path / "run")
    outcomes = {one.constraint_id: (one.outcome, one.reason) for one in run.verdicts() if one.view == "strict"}
    assert outcomes == {
        "calls:exactly": ("pass", "1 call as wanted"),
        "calls:never": ("pass", '1 call, none of "delete"'),
        "calls:valid": ("pass", "1 call with valid arguments"),
        "calls:asks_first": ("fail", 'it calls refund({"order":7}) without having asked'),
    }
    assert [one.outcome for one in run.verdicts() if one.view == "loose"] == ["pass", "pass", "pass", "fail"]
    assert run.summary().accounting.ok == 1
    assert 'calls refund({"order":7})' in run.to_pandas()["response"][0]
    assert "calls refund(" in stored_in([tmp_path / "run"]).html()
    for to in ("inspect", "evalscope", "lm-eval"):
        export(run, tmp_path / to, to=to)
    (sample,) = (tmp_path / "lm-eval").rglob("samples_*.jsonl")
    assert 'calls refund({\\"order\\":7})' in sample.read_text()
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        json.dumps(
            {
                "key": "p",
                "response": None,
                "tool_calls": [{"function": {"name": "refund", "arguments": '{"order": 7}'}}],
            }
        )
        + "\n"
    )
    stored = [next((tmp_path / "inspect").glob("*.json")), *(tmp_path / "evalscope").glob("*/*/*.jsonl"), rows]
    for file in stored:
        found = verify(suite, file)
        assert (found.n_instructions, found.instruction_strict) == (4, 0.75), file
    assert len(stored) == 4


def test_compositions_hold_calls_alone_or_text_alone():
    other = make("calls:exactly", calls=['refund({"order":8})'])
    either = make("compose:any_of", of=[make(RULES[0].id, **RULES[0].params).ref(), other.ref()])
    whole = Response("p", 0, 0, "", "ok", calls=(ToolCall("x", "refund", {"order": 8.0}),)).whole
    assert either.check(whole).outcome == "pass"
    assert either.check('refund({"order":8})').outcome == "fail"
    with pytest.raises(BadParameter, match="calls of tools and on text"):
        make("compose:any_of", of=[other.ref(), ConstraintRef("case:lower")])


def test_order_and_broken_arguments_count():
    two = ['f({"a":1})', 'f({"a":2})']
    calls = (ToolCall("1", "f", {"a": 2}), ToolCall("2", "f", {"a": 1}))
    whole = Response("p", 0, 0, "", "ok", calls=calls).whole
    assert make("calls:exactly", calls=two).check(whole).reason == "the calls are right, their order is not"
    assert make("calls:exactly", calls=two, sequence="any").check(whole).outcome == "pass"
    broken = Response("p", 0, 0, "", "ok", calls=(ToolCall("1", "f", {}, '{"a": '),)).whole
    assert "no JSON object" in make("calls:valid", schemas=["f({})"]).check(broken).reason
    assert make("calls:exactly", calls=["f({})"]).check(broken).outcome == "fail"


def test_anthropic_and_gemini_bring_calls_in_their_own_blocks():
    anthropic = {
        "content": [
            {"type": "text", "text": "Now:"},
            {"type": "tool_use", "id": "t1", "name": "refund", "input": {"order": 7}},
        ],
        "stop_reason": "tool_use",
    }
    gemini = {
        "candidates": [
            {
                "content": {"parts": [{"text": "Now:"}, {"functionCall": {"name": "refund", "args": {"order": 7}}}]},
                "finishReason": "STOP",
            }
        ]
    }
    for native, found in ((ANTHROPIC, anthropic), (GEMINI, gemini)):
        reply = Reply(200, {}, json.dumps(native.completion(found)).encode(), 0.1)
        response = read(reply, Request("p", 0, 0, ASKED.messages(), 1)).response
        assert (response.status, response.text) == ("ok", "Now:")
        assert [(call.name, call.arguments) for call in response.calls or ()] == [("refund", {"order": 7})]


@pytest.mark.parametrize(
    ("text", "rest", "names"),
    [
        ('Now:\n<tool_call>\n{"name": "refund", "arguments": {"order": 7}}\n</tool_call>', "Now:", ["refund"]),
        ('<tool_call>{"name": "a", "arguments": {}}</tool_call>\n<tool_call>{"name": "b"}</tool_call>', "", ["a", "b"]),
        ('{"name": "refund", "parameters": {"order": 7}}', "", ["refund"]),
        ('```json\n{"name": "refund", "arguments": "{}"}\n```', "", ["refund"]),
        ('{"name": "Ada", "age": 7}', '{"name": "Ada", "age": 7}', []),
        ("I would refund.", "I would refund.", []),
        ("<tool_call>{broken</tool_call>", "<tool_call>{broken</tool_call>", []),
    ],
)
def test_models_on_this_machine_write_calls_as_their_templates_teach_them(text: str, rest: str, names: list[str]):
    request = Request("p", 0, 0, ASKED.messages(), 1, tools=ASKED.tools)
    response = answer_of(request, text, is_ended=True, tokens=(1, 1), latency_s=0.1, model="m")
    assert (response.text, [call.name for call in response.calls or ()], response.status) == (rest, names, "ok")
    untold = answer_of(request._replace(tools=()), text, is_ended=True, tokens=(1, 1), latency_s=0.1, model="m")
    assert (untold.text, untold.calls or ()) == (text, ()), "who was told of no tool calls none"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_our_own_server_hands_calls_on(stream: bool):
    model = ScriptedModel(lambda request: CALLED if request.tools else Message("assistant", "no tools"))

    async def ask() -> list[Response]:
        async with ModelServer(model) as server:
            client = EndpointModel(f"{server.url}#{model.name}", options=EndpointOptions(stream=stream))
            asked = [Request("p", 0, 0, ASKED.messages(), 1, tools=ASKED.tools)]
            return [one async for one in client.respond(asked, Sampling())]

    (found,) = asyncio.run(ask())
    assert (found.status, found.stop_reason) == ("ok", "tool_calls")
    assert [(call.name, call.arguments) for call in found.calls or ()] == [("refund", {"order": 7})]
