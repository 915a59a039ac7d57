"""Given messages: in prompts, over HTTP in every dialect, through chat templates, at our own server, and in wrappers.

What an engine cannot say is a Response with status `error`, never an answer.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from adhere.errors import IntegrityError, UsageError
from adhere.models.base import Request
from adhere.models.chat import conversation, insist_on_all, render
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.http.client import EndpointModel
from adhere.models.http.cost import text_of
from adhere.models.http.dialects import DIALECTS
from adhere.models.http.options import EndpointOptions
from adhere.models.wrap.names import open_wrapped
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.respond import request_of
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
    content_hash,
    decode,
    encode,
)
from adhere.serve.chat_request import BadRequest
from adhere.serve.chat_request import read as read_chat
from adhere.serve.server import ModelServer
from adhere.suites.base import Suite

TOOL = Tool("look_up", "Looks a word up.", {"type": "object", "properties": {"word": {"type": "string"}}})
CALL = ToolCall("call_1", "look_up", {"word": "plüm", "exact": True})
CALLED = GivenMessages(
    after=(Message("assistant", "", (CALL,)), Message("tool", "A fruit.\nBlue.", call_id="call_1")), tools=(TOOL,)
)
SAID = GivenMessages(before=(Message("user", "Name a fruit."), Message("assistant", "Plum.")))
LOWER = ConstraintRef("case:lower")
ASKED = Prompt("a", (Turn("What is a plum?", (LOWER,)),), system="Be brief.", given=CALLED)
FOLLOWED = Prompt("b", (Turn("Another one?", (LOWER,)), Turn("And one more?", (LOWER,))), given=SAID)

TOOLS_TEMPLATE = (
    "{% if tools %}{{ '<|im_start|>system\nTools: ' + (tools | tojson) + '<|im_end|>\n' }}{% endif %}"
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content }}"
    "{% for call in message.tool_calls or [] %}{{ '<call>' + (call.function | tojson) + '</call>' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def request(prompt: Prompt) -> Request:
    found = request_of(prompt, (prompt.id, 0, 0), lambda _: None, Sampling())
    assert isinstance(found, Request)
    return found


class TestPrompts:
    def test_what_is_not_given_is_neither_stored_nor_hashed(self) -> None:
        plain = Prompt("a", (Turn("t"),))
        assert (
            encode(plain) == b'{"id":"a","source":"","system":null,"tags":{},"turns":[{"constraints":[],"text":"t"}]}'
        )
        assert content_hash(plain) == "fc1bcd62c3a6e074a26550bedb03a03cbe7e39df92e4f2723d5e5cdbda0ce699"
        assert (plain.tools, plain.shown(0), plain.everything) == ((), "t", "t")
        assert encode(Message("user", "x")) == b'{"content":"x","role":"user"}'

    def test_what_is_given_comes_back_from_disk(self) -> None:
        for prompt in (ASKED, FOLLOWED):
            assert decode(encode(prompt), Prompt) == prompt
        assert content_hash(FOLLOWED) != content_hash(msgspec.structs.replace(FOLLOWED, given=CALLED))

    def test_messages_in_their_order(self) -> None:
        assert [message.role for message in ASKED.messages()] == ["system", "user", "assistant", "tool"]
        assert [message.content for message in FOLLOWED.messages()] == ["Name a fruit.", "Plum.", "Another one?"]
        assert [message.content for message in FOLLOWED.messages(["Pear."])][-2:] == ["Pear.", "And one more?"]

    def test_a_person_sees_them(self) -> None:
        assert FOLLOWED.shown(0) == "[user] Name a fruit.\n\n[assistant] Plum.\n\n[user] Another one?"
        assert FOLLOWED.shown(1) == "And one more?"
        assert '[assistant] calls look_up({"exact":true,"word":"plüm"})' in ASKED.shown(0)
        assert "A fruit.\nBlue." in ASKED.everything

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "no message before or after"),
            ({"before": [{"role": "system", "content": "x"}]}, "belongs into the prompt's system"),
            ({"before": [{"role": "user", "content": "x"}]}, "must end with a message of the assistant or of a tool"),
            ({"after": [{"role": "tool", "content": "x", "call_id": "c"}]}, "answers the call 'c', which is not open"),
            ({"after": [{"role": "assistant", "content": "x"}]}, "must begin with a message of the assistant, and end"),
            (
                {"after": [{"role": "assistant", "content": "", "calls": [{"id": "c", "name": "f"}]}]},
                "nothing answers the calls c",
            ),
            (
                {"before": [{"role": "user", "content": "", "calls": [{"id": "c", "name": "f"}]}]},
                "in a message of the user",
            ),
        ],
    )
    def test_what_no_conversation_can_hold(self, given: object, message: str) -> None:
        with pytest.raises(IntegrityError, match=message):
            decode(json.dumps({"id": "a", "turns": [], "given": given}), Prompt)


def answers(model: EndpointModel, *requests: Request) -> list[Response]:
    async def collect() -> list[Response]:
        return [response async for response in model.respond(requests, Sampling(max_new_tokens=8))]

    return asyncio.run(collect())


class TestEndpoints:
    @pytest.mark.parametrize("name", [name for name, one in DIALECTS.items() if one.native is None])
    def test_every_dialect_is_sent_the_call_and_what_the_tool_said(self, name: str) -> None:
        with FakeEndpoint({"m": FakeModel()}) as endpoint:
            model = EndpointModel(f"{endpoint.url}#m", options=EndpointOptions(dialect=name))
            (response,) = answers(model, request(ASKED))
        (body,) = endpoint.seen
        assert (response.status, response.text) == ("ok", "A fruit.\nBlue.")
        system, user, called, told = body["messages"]
        assert (system["role"], user) == ("system", {"role": "user", "content": "What is a plum?"})
        assert called["content"] is None
        (call,) = called["tool_calls"]
        assert (call["type"], call["function"]["name"]) == ("function", "look_up")
        assert json.loads(call["function"]["arguments"]) == {"word": "plüm", "exact": True}
        assert len(call["id"]) == 9, "Mistral takes no other"
        assert call["id"].isalnum()
        assert told == {"role": "tool", "content": "A fruit.\nBlue.", "tool_call_id": call["id"]}
        (tool,) = body["tools"]
        assert tool == {"type": "function", "function": msgspec.to_builtins(TOOL)}

    def test_earlier_turns_are_ordinary_messages_and_nothing_else_is_sent(self) -> None:
        with FakeEndpoint({"m": FakeModel()}) as endpoint:
            answers(EndpointModel(f"{endpoint.url}#m"), request(FOLLOWED))
        (body,) = endpoint.seen
        assert body["messages"] == [
            {"role": "user", "content": "Name a fruit."},
            {"role": "assistant", "content": "Plum."},
            {"role": "user", "content": "Another one?"},
        ]
        assert "tools" not in body

    def test_a_server_without_such_a_role_is_an_error_and_no_score(self, tmp_path: Path) -> None:
        suite = Suite("mine", "1", (ASKED,))
        with FakeEndpoint({"m": FakeModel(faults=("400",))}) as endpoint:
            run = evaluate_sync(EndpointModel(f"{endpoint.url}#m"), suite, tmp_path / "run")
        (response,) = run.responses()
        assert (response.status, response.failure) == ("error", "final")
        assert list(run.verdicts()) == []
        assert run.summary().overall.prompt_strict.of_all is None
        assert run.prompts() == [ASKED] or tuple(run.prompts()) == (ASKED,)

    def test_what_it_may_cost_counts_calls_and_tools(self) -> None:
        assert "Looks a word up." in text_of(request(ASKED))
        assert text_of(request(FOLLOWED)) == "Name a fruit.\nPlum.\nAnother one?"


@pytest.fixture(scope="session")
def tokenizer(tiny_llama_dir: Path):  # type: ignore[no-untyped-def]
    transformers = pytest.importorskip("transformers")
    return lambda template: _with(transformers.AutoTokenizer.from_pretrained(tiny_llama_dir), template)


def _with(tokenizer, template):  # type: ignore[no-untyped-def]
    if template is not None:
        tokenizer.chat_template = template
    return tokenizer


class TestChatTemplates:
    def test_one_that_knows_tools(self, tokenizer) -> None:  # type: ignore[no-untyped-def]
        known = tokenizer(TOOLS_TEMPLATE)
        text = known.decode(render(known, ASKED.messages(), tools=ASKED.tools))
        call = text[text.index("<call>") + 6 : text.index("</call>")]
        assert json.loads(call) == {"name": "look_up", "arguments": {"word": "plüm", "exact": True}}
        assert "Looks a word up." in text
        assert text.endswith("<|im_start|>tool\nA fruit.\nBlue.<|im_end|>\n<|im_start|>assistant\n")

    def test_earlier_turns_pass_through_an_ordinary_one(self, tokenizer) -> None:  # type: ignore[no-untyped-def]
        plain = tokenizer(None)
        assert "<|im_start|>assistant\nPlum.<|im_end|>" in plain.decode(render(plain, FOLLOWED.messages()))

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            (None, "The chat template knows no tools"),
            (
                "{# tool #}{% for m in messages %}{{ m.content }}{% endfor %}",
                "leaves out the call of the tool look_up and 3 more",
            ),
            (TOOLS_TEMPLATE.replace("{% if tools %}", "{% if false %}"), "leaves out the tool look_up and 1 more"),
            (
                TOOLS_TEMPLATE.replace("(call.function | tojson)", "call.function.name"),
                "an argument of the call of look_up",
            ),
            (
                TOOLS_TEMPLATE.replace("message.content", "('' if message.role == 'tool' else message.content)"),
                "message 4 of the",
            ),
            (
                TOOLS_TEMPLATE.replace("(call.function | tojson)", "call.function.arguments"),
                "refuses a conversation of the roles",
            ),
            (
                "{{ raise_exception('roles must alternate') }}",
                "roles system, user, assistant, tool and 1 tools: roles must",
            ),
        ],
    )
    def test_what_one_leaves_out_or_refuses(self, tokenizer, template: str | None, message: str) -> None:  # type: ignore[no-untyped-def]
        known = tokenizer(template)
        with pytest.raises(UsageError, match=message):
            render(known, ASKED.messages(), tools=ASKED.tools)

    def test_an_engine_that_makes_up_what_its_template_lacks(self) -> None:
        def apply(messages: object, tools: object) -> str:
            return json.dumps([{"role": "user", "content": {"tool_response": [messages, tools]}}])

        with pytest.raises(UsageError, match="has no place for all that is said of tools"):
            insist_on_all(apply, ASKED.messages(), ASKED.tools, template="{{ tools }}")
        insist_on_all(apply, ASKED.messages(), ASKED.tools, template="{{ tools }} <tool_response>")

    def test_a_template_that_forgets_what_was_answered(self, tokenizer) -> None:  # type: ignore[no-untyped-def]
        forgetful = tokenizer("{{ messages[-1]['content'] }}")
        with pytest.raises(UsageError, match="leaves out message 1 of the conversation, of the user, and 1 more"):
            render(forgetful, FOLLOWED.messages())

    def test_a_local_engine_answers_with_a_status(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        pytest.importorskip("torch")
        from adhere.models.local.transformers import TransformersModel

        model = TransformersModel.load(tiny_llama_dir, name="hf/tiny")
        suite = Suite("mine", "1", (ASKED, msgspec.structs.replace(FOLLOWED, turns=FOLLOWED.turns[:1])))
        run = evaluate_sync(model, suite, tmp_path / "run", sampling=Sampling(max_new_tokens=2))
        found = {response.prompt_id: response for response in run.responses()}
        assert found["a"].status == "error"
        assert "The chat template knows no tools" in str(found["a"].error)
        assert found["b"].status != "error"
        assert {verdict.prompt_id for verdict in run.verdicts()} == {"b"}


class TestOurServer:
    def test_a_model_behind_it_is_told_all_of_it(self) -> None:
        told: list[Request] = []
        served = ScriptedModel(lambda request: told.append(request) or "a fruit", name="scripted/told")

        async def ask() -> Response:
            async with ModelServer(served) as server:
                client = EndpointModel(f"{server.url}#scripted/told")
                (response,) = [one async for one in client.respond([request(ASKED)], Sampling(max_new_tokens=8))]
                return response

        assert asyncio.run(ask()).text == "a fruit"
        (found,) = told
        assert found.tools == (TOOL,)
        assert [(one.role, one.content) for one in found.messages] == [
            (one.role, one.content) for one in ASKED.messages()
        ]
        assert found.messages[2].calls[0].arguments == CALL.arguments

    def test_it_reads_what_our_client_sends(self) -> None:
        asked = request(ASKED)
        sent = {"model": "m", "messages": conversation(asked.messages, is_sent=True)}
        tools = [{"type": "function", "function": msgspec.to_builtins(TOOL)}]
        found = read_chat(json.dumps(sent | {"tools": tools}).encode(), max_new_tokens=8, seed=0)
        assert found.tools == (TOOL,)
        assert [message.role for message in found.messages] == ["system", "user", "assistant", "tool"]
        assert found.messages[2].calls[0].arguments == CALL.arguments
        assert found.messages[3].call_id == found.messages[2].calls[0].id

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"messages": [{"role": "tool", "content": "x"}]}, "tool_call_id must name the call"),
            (
                {"messages": [{"role": "user", "content": "x", "tool_calls": []}]},
                "a message of the user has role, content",
            ),
            ({"messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]}, "must have an id, the type function"),
            (
                {
                    "messages": [
                        {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "["}}]}
                    ]
                },
                "arguments as the JSON text of an object",
            ),
            ({"tools": {}}, "tools must be a list"),
            ({"tools": [{"type": "search"}]}, "must be of type function"),
        ],
    )
    def test_what_it_refuses(self, changed: dict[str, object], message: str) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]} | changed
        with pytest.raises(BadRequest, match=message):
            read_chat(json.dumps(body).encode(), max_new_tokens=8, seed=0)


class TestWrappers:
    def asked(self, name: str, prompt: Prompt) -> list[Request]:
        inner = ScriptedModel(lambda _: "fine", name="scripted/inner")
        model = open_wrapped(f"{name}(scripted/inner)", lambda _: inner)

        async def collect() -> None:
            async for _ in model.respond([request(prompt)], Sampling()):
                pass

        asyncio.run(collect())
        return inner.asked

    def test_a_prefix_stands_before_what_the_user_said(self) -> None:
        (asked,) = self.asked("prefix", ASKED)
        assert asked.tools == (TOOL,)
        assert asked.messages[1].content.endswith("\n\nWhat is a plum?")
        assert asked.messages[2:] == CALLED.after

    def test_nothing_is_put_into_the_tools_mouth(self) -> None:
        first, *_ = self.asked("self-check", ASKED)
        assert first.messages[:-1] == request(ASKED).messages
        assert first.messages[-1].role == "user"
