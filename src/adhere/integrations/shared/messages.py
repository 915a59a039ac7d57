"""Converts messages to the form of inspect and EvalScope.

A tool's message has the name of the function, and arguments are an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from adhere.media import TYPES, data_url
from adhere.schema import Media, Message, Response


def _part(medium: Media) -> dict[str, Any]:
    kind = medium.type.partition("/")[0]
    return {"type": kind, kind: data_url(medium)} | ({"format": TYPES[medium.type]} if kind == "audio" else {})


def assistant(response: Response) -> Message:
    """Return an answer as the assistant's message."""
    return Message("assistant", response.text, response.calls or ())


def answer(response: Response) -> tuple[Message, ...]:
    """Return the messages that an answer adds: the assistant's, or all messages of an episode."""
    return response.steps or (assistant(response),)


def messages_for(messages: Sequence[Message], harness: Literal["inspect", "evalscope"]) -> list[dict[str, Any]]:
    """Return one object for each message; messages without tools are the same for both harnesses.

    Args:
        messages: The conversation.
        harness: A call's `function` is its name for inspect, an object with name and arguments for EvalScope.
    """
    names = {call.id: call.name for message in messages for call in message.calls}
    rows = []
    for message in messages:
        row: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.media:
            row["content"] = [{"type": "text", "text": message.content}, *(_part(medium) for medium in message.media)]
        if message.calls:
            row["tool_calls"] = [
                {"id": call.id, "function": call.name, "arguments": call.arguments, "type": "function"}
                if harness == "inspect"
                else {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in message.calls
            ]
        if message.call_id is not None:
            row |= {"tool_call_id": message.call_id, "function": names.get(message.call_id)}
        rows.append(row)
    return rows
