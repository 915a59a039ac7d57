"""Reads tool calls as others write them.

They come from OpenAI's chat completions and servers that copy them, other harnesses, and models' plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from adhere.schema import ToolCall, convert, encode
from adhere.terminal import one_line

MOST_CALLS = 256
LONGEST_NAME = 200
LONGEST_ARGUMENTS = 1_000_000


def calls_of(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Read the calls in an assistant's message: `tool_calls`, or the `function_call` of older servers. Never raises.

    Anthropic's and Gemini's own blocks are read, too. A call without an id, or with another call's id, gets one by its
    index. Arguments are a JSON text over HTTP and an object elsewhere; anything else is kept as `broken`. An entry
    without a name is no call.
    """
    rows = message.get("tool_calls") or [message.get("function_call")]
    calls: list[ToolCall] = []
    for row in rows[:MOST_CALLS] if isinstance(rows, list) else ():
        fields = _mapping(row)
        function = _mapping(fields.get("function") or fields.get("functionCall"))
        name = _text(function.get("name")) or _text(fields.get("function")) or _text(fields.get("name"))
        if name is None:
            continue
        places = ((function, "arguments"), (function, "args"), (fields, "arguments"), (fields, "input"))
        arguments = next((place[key] for place, key in places if key in place), None)
        calls.append(_call(_text(fields.get("id")), one_line(name)[:LONGEST_NAME], arguments, calls))
    return tuple(calls)


_BLOCK = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def written_calls(text: str, names: Collection[str] | None = None) -> tuple[str, tuple[ToolCall, ...]]:
    """Split what a model wrote into text and calls.

    Calls are `<tool_call>` blocks (Hermes, Qwen), or a single JSON object (Llama), fenced or not, and nothing else.

    Args:
        text: What the model wrote. Without a call it is returned unchanged.
        names: Names of the tools, for an object without a block: an object with another name is text. None: any name.
    """
    blocks = _BLOCK.findall(text)
    fence = _FENCE.fullmatch(text.strip())
    call_texts = blocks or [fence[1] if fence else text.strip()]
    calls: list[ToolCall] = []
    for call_text in call_texts[:MOST_CALLS]:
        try:
            row = json.loads(call_text) if call_text.startswith("{") else None
        except (ValueError, RecursionError):
            row = None
        name = _text(_mapping(row).get("name"))
        if name is None or (not blocks and names is not None and name not in names):
            return text, ()
        arguments = _mapping(row).get("arguments", _mapping(row).get("parameters"))
        calls.append(_call(None, one_line(name)[:LONGEST_NAME], arguments, calls))
    return _BLOCK.sub("", text).strip() if blocks else "", tuple(calls)


def _call(call_id: str | None, name: str, arguments: Any, before: list[ToolCall]) -> ToolCall:
    ids = {call.id for call in before}
    place = call_id if call_id and call_id not in ids else f"call_{len(before) + 1}"
    while place in ids:
        place += "+"
    if arguments is None or arguments == "":
        return ToolCall(place, name)
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
        if isinstance(value, dict):
            encode(value)  # not every number can be stored
            return ToolCall(place, name, value)
    except (ValueError, OverflowError, RecursionError):
        pass
    text = arguments if isinstance(arguments, str) else str(arguments)
    return ToolCall(place, name, {}, text[:LONGEST_ARGUMENTS])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def without(call: ToolCall, redact: Any) -> ToolCall:
    """Return the call with `redact` applied to its fields as plain values (a dictionary)."""
    return convert(redact(msgspec.to_builtins(call)), ToolCall)
