"""Anthropic's and Gemini's own APIs, and what a server is told to enforce, against fakes that behave as documented."""

import asyncio
import json

import pytest

from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.client import Endpoint, EndpointModel
from adhere.models.http.dialects import DIALECTS
from adhere.models.http.keys import Key, address
from adhere.models.http.options import EndpointOptions
from adhere.models.http.wire import Prices, body_of
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.respond import request_of
from adhere.schema import ConstraintRef, Message, Prompt, Sampling, Tool, ToolCall, Turn
from adhere.suites.base import Suite

SCHEMA = (
    '{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"}},"additionalProperties":false}'
)
TALK = (
    Message("system", "be brief"),
    Message("user", "weather?"),
    Message(
        "assistant",
        "",
        (ToolCall("call00001", "look", {"city": "Rome"}), ToolCall("call00002", "look", {"city": "Oslo"})),
    ),
    Message("tool", "sunny", call_id="call00001"),
    Message("tool", "snow", call_id="call00002"),
)
ASK = Request("p", 0, 0, TALK, 3, tools=(Tool("look", "Looks.", {"type": "object"}),), schema=SCHEMA)


def body(dialect, sampling=None, **options):
    kind = DIALECTS[dialect]
    sent = EndpointOptions(**options).sent(kind)
    return json.loads(body_of("m", ASK, sampling or Sampling(9, 0.5), kind, stream=False, option_fields=sent))


def test_anthropic_s_messages_keep_system_tools_thinking_and_schema():
    found = body("anthropic", reasoning_effort="xhigh", response_format="json_schema")
    assert (found["system"], found["max_tokens"]) == ("be brief", 9)
    assert found["output_config"] == {"effort": "max", "format": {"type": "json_schema", "schema": json.loads(SCHEMA)}}
    assert found["thinking"] == {"type": "adaptive"}
    assert not {"temperature", "seed", "response_format", "reasoning_effort", "stream"} & found.keys()
    assert [message["role"] for message in found["messages"]] == ["user", "assistant", "user"]
    assert found["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "call00002",
        "name": "look",
        "input": {"city": "Oslo"},
    }
    assert [block["tool_use_id"] for block in found["messages"][2]["content"]] == ["call00001", "call00002"]
    assert found["tools"] == [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    assert body("anthropic", Sampling(9, 0.7, 0.9)).items() >= {"temperature": 0.7, "top_p": 0.9}.items()
    assert "top_p" not in body("anthropic", Sampling(9, 0.0, 0.9))  # greedy
    assert "temperature" not in body("anthropic", Sampling(9, 1.0, 0.9))  # newer models refuse both at once


def test_gemini_s_contents_keep_system_tools_thoughts_and_schema():
    found = body("gemini", reasoning_effort="low", response_format="json_schema")
    assert found["systemInstruction"] == {"parts": [{"text": "be brief"}]}
    assert found["generationConfig"] == {
        "temperature": 0.5,
        "maxOutputTokens": 9,
        "seed": 3,
        "responseMimeType": "application/json",
        "responseJsonSchema": json.loads(SCHEMA),
        "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
    }
    assert [content["role"] for content in found["contents"]] == ["user", "model", "user"]
    assert found["contents"][2]["parts"][1] == {"functionResponse": {"name": "look", "response": {"result": "snow"}}}
    assert found["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == {"type": "object"}
    assert body("gemini", reasoning_effort="none")["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}


@pytest.mark.parametrize(("dialect", "path"), [("anthropic", "/v1"), ("gemini", "/v1beta")])
def test_what_they_answer_has_its_thoughts_stops_refusals_and_tokens(dialect, path):
    async def asked(fake):
        where = address(fake.url.removesuffix("/v1") + path)
        options = EndpointOptions(dialect=dialect, reasoning_effort="high", price=Prices(1e-6, 1e-5))
        async with Endpoint(
            where, key=Key("secret-key", base_url=where.base_url, variable="X"), options=options
        ) as endpoint:
            await endpoint.models()
            plain = Request("p", 0, 0, (Message("user", "hello big world"),), 3)
            return [(await endpoint.call("m", plain, Sampling())).response for _ in range(4)]

    faults = (None, "length", "refusal", "content filter")
    with FakeEndpoint({"m": FakeModel(faults=faults)}, key="secret-key") as fake:
        ok, cut, refused, blocked = asyncio.run(asked(fake))
    assert (ok.text, ok.reasoning, ok.status) == ("hello big world", "because of this", "ok")
    assert (cut.status, refused.status) == ("truncated", "refused")
    assert (ok.usage.prompt_tokens, ok.usage.cost_usd) == pytest.approx(
        (15, 15e-6 + 7e-5) if dialect == "anthropic" else (10, 10e-6 + 10e-5)
    )
    if dialect == "gemini":
        assert (blocked.status, blocked.text, ok.usage.reasoning_tokens) == ("refused", "", 3)
        assert "PROHIBITED_CONTENT" in blocked.evidence


def test_their_keys_and_options(monkeypatch):
    for name, variable in (("anthropic/claude", "ANTHROPIC_API_KEY"), ("gemini/pro", "GEMINI_API_KEY")):
        with pytest.raises(UsageError, match=variable):
            EndpointModel(name)
        monkeypatch.setenv(variable, "secret")
        model = EndpointModel(name)
        assert model.engine.settings["dialect"] == name.partition("/")[0]
        with pytest.raises(UsageError, match="not streamed"):
            EndpointModel(name, options=EndpointOptions(stream=True))
    with pytest.raises(UsageError, match="json_schema"):
        EndpointModel("anthropic/claude", options=EndpointOptions(response_format="json_object"))
    with pytest.raises(UsageError, match="json_object, json_schema"):
        EndpointOptions(response_format="xml")


def test_lm_evaluation_harness_2865_a_schema_is_enforced_by_the_server_and_compared_with_asking_by_words(tmp_path):
    asks = ConstraintRef("data:json_schema", {"schema": SCHEMA})
    prompts = (
        Prompt("a", (Turn("Cats? Answer in JSON.", (asks,)),)),
        Prompt("b", (Turn("Dogs? Be brief.", (ConstraintRef("case:lower"),)),)),
    )
    assert request_of(prompts[0], ("a", 0, 0), lambda _turn: None, Sampling()).schema == SCHEMA
    suite = Suite("mine", "1", prompts)
    runs = {}
    with FakeEndpoint(["m"]) as fake:
        for form in ("json_schema", "json_object", None):

            def answer(text):
                return '{"answer": "yes"}' if fake.seen[-1].get("response_format") else "sure, yes"

            fake.models["m"] = FakeModel(answer)
            model = EndpointModel(f"{fake.url}#m", options=EndpointOptions(response_format=form, model_concurrency=1))
            runs[form] = evaluate_sync(model, suite, tmp_path / str(form))
    sent = [(seen["messages"][-1]["content"][:4], seen.get("response_format")) for seen in fake.seen]
    enforced = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": json.loads(SCHEMA)}}
    assert dict(sent[:2]) == {"Cats": enforced, "Dogs": None}
    assert [form for _, form in sent[2:4]] == [{"type": "json_object"}] * 2
    assert [form for _, form in sent[4:]] == [None] * 2
    found = compare_runs(runs["json_schema"], runs[None])
    assert (found.overall.rate_a, found.overall.rate_b) == (1.0, 0.5)
    assert any("response_format" in note for note in found.notes)
    assert "json_schema" in found.a
