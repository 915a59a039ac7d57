"""Anthropic's and Gemini's own APIs, and what their OpenAI-compatible ones lose.

Anthropic's losses stand in its documentation; Gemini's are told by others, and no account was at hand to look.

| | lost there | here |
|---|---|---|
| Anthropic | the thinking is not returned; `response_format`, `reasoning_effort` and `seed` are ignored without a word; refusals | `thinking` blocks, `output_config`, the stop reason `refusal` |
| Gemini | thoughts come inside the answer, as a `<thought>` tag; a blocked prompt has no choices | parts marked `thought`, `promptFeedback.blockReason`, `thoughtsTokenCount` |

A request is written in their form, and a reply is rewritten as a chat completion, so everything else (statuses,
retries, prices, the store) is that of every other endpoint. Answers are not streamed.

Source: platform.claude.com/docs/en/api/openai-sdk, …/api/messages, …/build-with-claude/structured-outputs, …/effort;
ai.google.dev/gemini-api/docs/openai, …/api/generate-content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from adhere.errors import UsageError
from adhere.media import base64_of
from adhere.models.base import Request
from adhere.models.http.values import mapping_of, number_of, text_of
from adhere.schema import Json, Message, Sampling

_GEMINI_ROLES = {"assistant": "model", "user": "user", "tool": "user"}
_NO_ANSWER = frozenset({
    "OTHER", "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
})  # fmt: skip
_LEVELS = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "max"}


class Native(NamedTuple):
    """Describes one API that differs from OpenAI's.

    Attributes:
        path: Returns the path of a model's answers, below the base URL.
        body: Makes the body from model, request, sampling, and OpenAI's options (`reasoning_effort`,
            `response_format`).
        completion: Converts a reply to a chat completion.
        key_header: The header of the key.
        headers: Headers sent with every request.
        models: The path of the list of models.
        most_temperature: The highest temperature that the API accepts.
    """

    path: Callable[[str], str]
    body: Callable[[str, Request, Sampling, Mapping[str, Json]], dict[str, Any]]
    completion: Callable[[Mapping[str, Any]], dict[str, Any]]
    key_header: str
    models: str
    headers: Mapping[str, str] = {}
    most_temperature: float = 2.0


def _to_anthropic(
    model: str, request: Request, sampling: Sampling, option_fields: Mapping[str, Json]
) -> dict[str, Any]:
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": sampling.max_new_tokens,
        "messages": _merge_neighbours(
            [
                ("assistant" if message.role == "assistant" else "user", _blocks(message))
                for message in request.messages
                if message.role != "system"
            ],
            "content",
        ),
    }
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    effort = option_fields.get("reasoning_effort")
    if effort in _EFFORTS:  # a model that thinks takes no other temperature than its own
        body |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": _EFFORTS[str(effort)]}}
    else:
        # Newer models refuse both at once; greedy answers know no top-p, and 1 is the temperature that they have anyway.
        if sampling.top_p == 1.0 or sampling.temperature != 1.0:
            body["temperature"] = sampling.temperature
        if sampling.top_p != 1.0 and sampling.temperature > 0:
            body["top_p"] = sampling.top_p
    if (schema := _schema_of(option_fields)) is not None:
        body.setdefault("output_config", {})["format"] = {"type": "json_schema", "schema": schema}
    return body


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.content}]
    text: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content else []
    for medium in message.media:
        if not medium.type.startswith("image/"):
            raise UsageError(f"Anthropic's messages take pictures, no {medium.type}")
        text.append(
            {"type": "image", "source": {"type": "base64", "media_type": medium.type, "data": base64_of(medium)}}
        )
    return [
        *text,
        *({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.calls),
    ]


def _from_anthropic(reply: Mapping[str, Any]) -> dict[str, Any]:
    content = reply.get("content")
    blocks = [mapping_of(block) for block in content] if isinstance(content, list) else []
    message: dict[str, Any] = {
        "content": "".join(text_of(block.get("text")) or "" for block in blocks if block.get("type") == "text") or None,
        "reasoning": "\n".join(
            text_of(block.get("thinking")) or "" for block in blocks if block.get("type") == "thinking"
        ),
        "tool_calls": [block for block in blocks if block.get("type") == "tool_use"],
    }
    token_counts = mapping_of(reply.get("usage"))
    parts = [
        number_of(token_counts.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    usage = {
        "prompt_tokens": sum(part or 0 for part in parts) if parts[0] is not None else None,
        "completion_tokens": token_counts.get("output_tokens"),
    }
    choices = [{"message": message, "finish_reason": reply.get("stop_reason")}] if "content" in reply else None
    return {"model": reply.get("model"), "choices": choices, "usage": usage}


def _to_gemini(model: str, request: Request, sampling: Sampling, option_fields: Mapping[str, Json]) -> dict[str, Any]:  # noqa: ARG001 - it is in the path
    settings: dict[str, Any] = {"temperature": sampling.temperature, "maxOutputTokens": sampling.max_new_tokens}
    settings |= {"topP": sampling.top_p} if sampling.top_p != 1.0 else {}
    settings |= {"seed": request.seed % 2**31}
    effort = option_fields.get("reasoning_effort")
    if effort == "none":
        settings["thinkingConfig"] = {"thinkingBudget": 0}
    elif effort in _LEVELS:
        settings["thinkingConfig"] = {"thinkingLevel": _LEVELS[str(effort)], "includeThoughts": True}
    if option_fields.get("response_format"):
        settings["responseMimeType"] = "application/json"
        schema = _schema_of(option_fields)
        settings |= {"responseJsonSchema": schema} if schema is not None else {}
    names = {call.id: call.name for message in request.messages for call in message.calls}
    turns = [
        (_GEMINI_ROLES[message.role], _parts(message, names))
        for message in request.messages
        if message.role != "system"
    ]
    body: dict[str, Any] = {"contents": _merge_neighbours(turns, "parts"), "generationConfig": settings}
    system = [{"text": message.content} for message in request.messages if message.role == "system"]
    if system:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        functions = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": functions}]
    return body


def _parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    if message.role == "tool":
        name = names.get(message.call_id or "", "")
        return [{"functionResponse": {"name": name, "response": {"result": message.content}}}]
    text: list[dict[str, Any]] = [{"text": message.content}] if message.content else []
    text += [{"inlineData": {"mimeType": medium.type, "data": base64_of(medium)}} for medium in message.media]
    return [*text, *({"functionCall": {"name": call.name, "args": call.arguments}} for call in message.calls)]


def _from_gemini(reply: Mapping[str, Any]) -> dict[str, Any]:
    candidates = reply.get("candidates")
    token_counts = mapping_of(reply.get("usageMetadata"))
    answer = number_of(token_counts.get("candidatesTokenCount"))
    thoughts = number_of(token_counts.get("thoughtsTokenCount"))
    usage = {
        "prompt_tokens": token_counts.get("promptTokenCount"),
        "completion_tokens": None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }
    block_reason = text_of(mapping_of(reply.get("promptFeedback")).get("blockReason"))
    choices: list[dict[str, Any]] | None = None
    if isinstance(candidates, list) and candidates:
        first = mapping_of(candidates[0])
        parts = mapping_of(first.get("content")).get("parts")
        parts = [mapping_of(part) for part in parts] if isinstance(parts, list) else []
        message = {
            "content": "".join(text_of(part.get("text")) or "" for part in parts if not part.get("thought")) or None,
            "reasoning": "".join(text_of(part.get("text")) or "" for part in parts if part.get("thought")),
            "tool_calls": [part for part in parts if part.get("functionCall")],
        }
        finish = first.get("finishReason")
        choices = [{"message": message, "finish_reason": finish}]
        has_said = message["content"] or message["tool_calls"]
        if not has_said and finish in _NO_ANSWER:  # the model did not end an empty answer: it gave none
            choices[0]["error"] = {"code": 502, "message": f"finishReason {finish} without text"}
    elif block_reason:
        message = {"content": None, "refusal": f"the prompt was blocked: {block_reason}"}
        choices = [{"message": message, "finish_reason": "SAFETY"}]
    return {"model": reply.get("modelVersion"), "choices": choices, "usage": usage}


def _schema_of(option_fields: Mapping[str, Json]) -> Any:
    return mapping_of(mapping_of(option_fields.get("response_format")).get("json_schema")).get("schema")


def _merge_neighbours(turns: Sequence[tuple[str, list[dict[str, Any]]]], name: str) -> list[dict[str, Any]]:
    """Make messages of (role, blocks); neighbours of one role (several results of tools) become one message."""
    messages: list[dict[str, Any]] = []
    for role, blocks in turns:
        if messages and messages[-1]["role"] == role:
            messages[-1][name] += blocks
        else:
            messages.append({"role": role, name: list(blocks)})
    return messages


def response_format(kind: str, schema: str) -> dict[str, Json] | None:
    """Return OpenAI's `response_format` for one request; None if a schema is asked for and the prompt has none.

    Args:
        kind: `json_object` or `json_schema`.
        schema: The JSON Schema of the request as text; empty: the request has none.
    """
    if kind == "json_object":
        return {"type": "json_object"}
    if not schema:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": json.loads(schema)}}


ANTHROPIC = Native(
    lambda _model: "messages",
    _to_anthropic,
    _from_anthropic,
    "x-api-key",
    "models?limit=1000",
    {"anthropic-version": "2023-06-01"},
    most_temperature=1.0,
)
GEMINI = Native(
    lambda model: f"models/{quote(model.removeprefix('models/'))}:generateContent",
    _to_gemini,
    _from_gemini,
    "x-goog-api-key",
    "models?pageSize=1000",
)
