"""Reads a chat completions request to a local model.

It reads strictly, because an ignored parameter is a wrong measurement. A field that would change the answer and that no
engine here supports is an error. A field that changes nothing (`user`), or that has its neutral value (`n` 1, no
penalties), is accepted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from adhere.errors import UsageError, nearest
from adhere.schema import Message, Role, Sampling, Tool, ToolCall

TEMPERATURE = 1.0
"""Temperature of a request that sets none, as at OpenAI."""

_READ = {
    "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stream",
    "stream_options", "tools",
}  # fmt: skip
_WITHOUT_EFFECT = {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "stop": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}
_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip


class BadRequest(UsageError):
    """A request cannot be answered as it stands; `field` is the wrong field, `code` a name for programs."""

    def __init__(self, message: str, *, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.field, self.code = field, code


class ChatRequest(NamedTuple):
    """Holds a request that was read.

    Attributes:
        model: The model's name.
        messages: The conversation.
        sampling: How the answer is drawn; its seed is the answer's own.
        is_streamed: Whether the answer goes out as events.
        with_usage: Whether the events end with the usage.
        tools: Tools that the model is told of; empty if `tool_choice` is `none`.
    """

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    is_streamed: bool
    with_usage: bool
    tools: tuple[Tool, ...] = ()


def read(data: bytes, *, max_new_tokens: int, seed: int) -> ChatRequest:
    """Read a request's body.

    Args:
        data: The body, JSON.
        max_new_tokens: The limit if the body sets none.
        seed: The seed if the body sets none.

    Raises:
        BadRequest: The body is no JSON; a field is missing, unknown or of the wrong type; or a value is not supported.
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}", code="invalid_json") from error
    if not isinstance(body, dict):
        raise BadRequest(f"The body must be a JSON object, got {type(body).__name__}")
    body = {name: value for name, value in body.items() if value is not None}
    _refuse_unknown(body)
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("model must be a name; GET /v1/models lists them", field="model")
    options = body.get("stream_options", {})
    if not isinstance(options, dict):
        raise BadRequest("stream_options must be an object", field="stream_options")
    return ChatRequest(
        model,
        _messages(body.get("messages")),
        Sampling(
            max_new_tokens=_limit(body, max_new_tokens),
            temperature=_number(body, "temperature", TEMPERATURE, low=0.0, high=2.0),
            top_p=_number(body, "top_p", 1.0, low=1e-9, high=1.0),
            seed=_whole(body, "seed", seed),
        ),
        _flag(body, "stream"),
        _flag(options, "include_usage"),
        _tools([] if body.get("tool_choice") == "none" else body.get("tools", [])),
    )


def _refuse_unknown(body: Mapping[str, Any]) -> None:
    for name, value in body.items():
        if name in _READ or name in _WITHOUT_EFFECT:
            continue
        if name not in _NEUTRAL:
            fields = sorted(_READ)
            raise BadRequest(
                f"{name} is not known here and might change the answer.{nearest(name, fields)} "
                f"Known: {', '.join(fields)}",
                field=name,
                code="unknown_parameter",
            )
        # 0 == False in Python, and 1 == True: types are compared too
        if not any(value == neutral and _is_alike(value, neutral) for neutral in _NEUTRAL[name]):
            neutral = " or ".join(json.dumps(value) for value in _NEUTRAL[name])
            raise BadRequest(
                f"{name} would change the answer, and no engine here has it: leave it out (or {neutral})",
                field=name,
                code="unsupported_value",
            )


def _is_alike(value: Any, neutral: Any) -> bool:
    return isinstance(value, bool) == isinstance(neutral, bool)


def _messages(messages: Any) -> tuple[Message, ...]:
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages must be a list with at least one message", field="messages")
    return tuple(_message(message, f"messages[{place}]") for place, message in enumerate(messages))


def _message(message: Any, where: str) -> Message:
    if not isinstance(message, dict):
        raise BadRequest(f"{where} must be an object with role and content", field=where)
    fields = {name: value for name, value in message.items() if value is not None}
    role = _ROLES.get(str(fields.get("role")))
    if role is None:
        raise BadRequest(
            f"{where}.role is {fields.get('role')!r}; it must be one of {', '.join(_ROLES)}", field=f"{where}.role"
        )
    also = {"assistant": ["tool_calls"], "tool": ["tool_call_id", "name"]}.get(role, [])
    if unknown := sorted(set(fields) - {"role", "content", *also}):
        raise BadRequest(
            f"{where}.{unknown[0]} is not known here: a message of the {role} has "
            f"{', '.join(['role', 'content', *also])}",
            field=where,
        )
    content = _content(fields.get("content", ""), f"{where}.content")
    if role == "tool" and not isinstance(fields.get("tool_call_id"), str):
        raise BadRequest(f"{where}.tool_call_id must name the call that it answers", field=f"{where}.tool_call_id")
    calls = fields.get("tool_calls", [])
    if not isinstance(calls, list):
        raise BadRequest(f"{where}.tool_calls must be a list", field=f"{where}.tool_calls")
    tool_calls = tuple(_call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(calls))
    return Message(role, content, tool_calls, fields.get("tool_call_id"))


def _call(call: Any, where: str) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if (
        not isinstance(function, dict)
        or not isinstance(call.get("id"), str)
        or call.get("type", "function") != "function"
    ):
        raise BadRequest(f"{where} must have an id, the type function and a function", field=where)
    name, arguments = function.get("name"), function.get("arguments", "{}")
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(name, str) or not isinstance(values, dict):
        raise BadRequest(f"{where}.function must have a name, and arguments as the JSON text of an object", field=where)
    return ToolCall(call["id"], name, values)


def _tools(rows: Any) -> tuple[Tool, ...]:
    if not isinstance(rows, list):
        raise BadRequest("tools must be a list", field="tools")
    tools = []
    for place, row in enumerate(rows):
        function = row.get("function") if isinstance(row, dict) and row.get("type") == "function" else None
        fields = function if isinstance(function, dict) else {}
        name, about, parameters = fields.get("name"), fields.get("description", ""), fields.get("parameters", {})
        if not isinstance(name, str) or not isinstance(about, str) or not isinstance(parameters, dict):
            raise BadRequest(
                f"tools[{place}] must be of type function, with name, description and parameters",
                field=f"tools[{place}]",
            )
        tools.append(Tool(name, about, parameters))
    return tuple(tools)


def _content(content: Any, where: str) -> str:
    """Return a text, or the texts of its parts joined; refuse pictures and sound."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{where} must be a text or a list of text parts", field=where)
    texts = []
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise BadRequest(f"{where}: only parts of type text are read here", field=where)
        texts.append(part["text"])
    return "".join(texts)


def _limit(body: Mapping[str, Any], default: int) -> int:
    names = [name for name in ("max_completion_tokens", "max_tokens") if name in body]
    limits = {_whole(body, name, default) for name in names} or {default}
    if len(limits) > 1 or min(limits) < 1:
        raise BadRequest(
            f"{' and '.join(names)} must be one number of at least 1, got {', '.join(map(str, sorted(limits)))}",
            field=names[0],
        )
    return limits.pop()


def _number(body: Mapping[str, Any], name: str, default: float, *, low: float, high: float) -> float:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise BadRequest(f"{name} must be a number, got {_show(value)}", field=name)
    if not low <= value <= high:
        raise BadRequest(f"{name} must lie between {low:g} and {high:g}, got {value:g}", field=name)
    return float(value)


def _whole(body: Mapping[str, Any], name: str, default: int) -> int:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise BadRequest(f"{name} must be a whole number of 64 bits, got {_show(value)}", field=name)
    return value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _show(value: Any) -> str:
    try:
        return json.dumps(value)[:80]
    except (ValueError, RecursionError):  # more digits than Python writes, or nested too deeply
        return f"a {type(value).__name__} that is too large to show"


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise BadRequest(f"{name} must be true or false, got {_show(value)}", field=name)
    return value
