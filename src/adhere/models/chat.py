"""Conversion of conversations to token ids, through the chat template that a model was trained with."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from adhere.errors import UsageError
from adhere.media import TYPES, base64_of, data_url
from adhere.schema import Json, Media, Message, Tool, ToolCall

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Plain = list[dict[str, Any]]
_MADE_UP = ("tool_response", "Example tool call syntax")
"""Texts that OpenVINO's template engine adds on its own, in the user's or the system's name, for tools.

It does so if a template has no place for a tool's answer, or for tools. If a template has no place for calls, the
engine writes them as JSON in the assistant's name, which is correct.
"""
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")


def conversation(messages: Sequence[Message], *, is_sent: bool = False) -> Plain:
    """Convert messages to the form of OpenAI's chat completions, which chat templates take, too.

    A call's id is changed to nine letters and digits if it is not of that form, because Mistral's templates and servers
    refuse any other.

    Args:
        messages: The conversation.
        is_sent: Whether it goes over HTTP: arguments are then a JSON text, and a message that only calls has no
            content. Templates take an object and a text.
    """
    return [_plain(message, is_sent=is_sent) for message in messages]


def _plain(message: Message, *, is_sent: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.media:
        if not is_sent:
            raise UsageError(
                "A prompt shows a picture or plays a sound, and this model is given text alone. "
                "Ask a model behind an endpoint"
            )
        plain["content"] = [{"type": "text", "text": message.content}] if message.content else []
        plain["content"] += [_part(medium) for medium in message.media]
    if message.calls:
        plain["content"] = message.content or (None if is_sent else "")
        plain["tool_calls"] = [
            {
                "id": _id(call.id),
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False) if is_sent else call.arguments,
                },
            }
            for call in message.calls
        ]
    if message.call_id is not None:
        plain["tool_call_id"] = _id(message.call_id)
    return plain


def _part(medium: Media) -> dict[str, Any]:
    if medium.type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(medium)}}
    return {"type": "input_audio", "input_audio": {"data": base64_of(medium), "format": TYPES[medium.type]}}


def _id(call_id: str) -> str:
    if _MISTRAL_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def definitions(tools: Sequence[Tool]) -> Plain:
    """Convert tools to the form that chat completions and chat templates take."""
    return [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in tools]


def render(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[Message],
    *,
    tools: Sequence[Tool] = (),
    generation_prompt: bool = True,
) -> list[int]:
    """Tokenize a conversation.

    Args:
        tokenizer: A transformers tokenizer with a chat template.
        messages: The conversation; the template decides what a missing system message means.
        tools: The tools that the model is told of.
        generation_prompt: Whether to end with the tokens that open an answer.

    Raises:
        UsageError: There is no chat template, or it refuses these messages, or leaves one of them or a tool out.
    """
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise UsageError(
            f"The tokenizer of {tokenizer.name_or_path or 'this model'} has no chat template: it is a base model. "
            "Use its instruction-tuned version, or train it with template = 'chatml'"
        )

    def apply(messages: Plain, tools: Plain, *, tokenize: bool = False) -> Any:
        options: dict[str, Any] = {"tools": tools} if tools else {}
        form: dict[str, Any] = {"return_dict": True} if tokenize else {}
        return tokenizer.apply_chat_template(
            messages, add_generation_prompt=generation_prompt, tokenize=tokenize, **options, **form
        )

    try:
        encoding = apply(conversation(messages), definitions(tools), tokenize=True)
        insist_on_all(lambda *parts: str(apply(*parts)), messages, tools, template=str(tokenizer.chat_template))
    except (TemplateError, TypeError) as error:  # a TypeError where a template adds an object to a text
        roles = ", ".join(message.role for message in messages)
        tools_note = f" and {len(tools)} tools" if tools else ""
        raise UsageError(
            f"The chat template refuses a conversation of the roles {roles}{tools_note}: {error}"
        ) from error
    return [int(token) for token in encoding["input_ids"]]


def insist_on_all(
    apply: Callable[[Plain, Plain], str], messages: Sequence[Message], tools: Sequence[Tool] = (), *, template: str
) -> None:
    """Refuse a chat template that leaves out a part of a conversation: the model would never see it.

    A system message must appear word for word. A template may change the spelling (white space, JSON) of later
    messages, tools and calls, so it is given the same conversation with a made-up word in each place, and each word
    must appear.

    Args:
        apply: The template, as a function of messages and tools.
        messages: The conversation.
        tools: The tools that the model is told of.
        template: The template's source. If it never says "tool" it supports none: OpenVINO then writes their
            answers as the user's words.

    Raises:
        UsageError: Something is left out, or the template knows no tools; the message says which.
    """
    if any(message.role == "system" for message in messages):
        text = apply(conversation(messages), definitions(tools))
        if any(message.role == "system" and message.content.strip() not in text for message in messages):
            raise UsageError(
                "The chat template leaves the system message out: the model takes none, so nothing can be measured here"
            )
    if not tools and all(message.role in {"system", "user"} for message in messages):
        return
    if "tool" not in template and (tools or any(message.calls or message.role == "tool" for message in messages)):
        raise UsageError(
            "The chat template knows no tools: the model was made without them, so nothing can be measured here"
        )
    marks: dict[str, str] = {}

    def mark(label: str) -> str:
        word = f"zq{len(marks)}xj"
        marks[word] = label
        return word

    marked_messages = [
        Message(
            message.role,
            mark(f"message {number} of the conversation, of the {message.role},") if message.content.strip() else "",
            tuple(
                ToolCall(
                    call.id, mark(f"the call of the tool {call.name}"), _mark_empty(call.arguments, call.name, mark)
                )
                for call in message.calls
            ),
            message.call_id,
        )
        for number, message in enumerate(messages, start=1)
    ]
    marked_tools = [
        Tool(mark(f"the tool {tool.name}"), mark(f"what the tool {tool.name} does"), tool.parameters) for tool in tools
    ]
    text = apply(conversation(marked_messages), definitions(marked_tools))
    if any(words in text and words not in template for words in _MADE_UP):
        raise UsageError(
            "The chat template has no place for all that is said of tools, and the engine puts it into other words: "
            "the model was made without it, so nothing can be measured here"
        )
    missing = [label for word, label in marks.items() if word not in text]
    if missing:
        raise UsageError(
            f"The chat template leaves out {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}: "
            "the model was made without it, so nothing can be measured here"
        )


def _mark_empty(arguments: Mapping[str, Json], tool: str, mark: Callable[[str], str]) -> dict[str, Json]:
    return {
        name: mark(f"an argument of the call of {tool}") if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def end_ids(model: Any, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Return every token that ends an answer, from the generation settings and the tokenizer, in ascending order.

    Evaluation and rollouts use the same tokens.

    Raises:
        UsageError: Neither names such a token: an answer would never end.
    """
    eos_ids = getattr(model.generation_config, "eos_token_id", None)
    ids = set(eos_ids if isinstance(eos_ids, list) else [] if eos_ids is None else [eos_ids])
    if isinstance(tokenizer.eos_token_id, int):
        ids.add(tokenizer.eos_token_id)
    if not ids:
        raise UsageError("Neither the model nor its tokenizer names a token that ends an answer (eos_token_id)")
    return tuple(sorted(ids))
