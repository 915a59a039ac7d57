"""Read messages as other tools write them.

They are objects or mappings, with `role`/`content` or ShareGPT's `from`/`value`, in texts or parts. A reward is paid
for what the model wrote, so only this module decides which words are the model's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adhere.calls import calls_of, written_calls
from adhere.errors import UsageError
from adhere.schema import Role

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system",
    "user": "user", "human": "user", "prompter": "user",
    "assistant": "assistant", "gpt": "assistant", "model": "assistant", "ai": "assistant", "bot": "assistant",
    "chatbot": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant",
    "function_call": "assistant",
    "tool": "tool", "function": "tool", "observation": "tool", "function_response": "tool", "ipython": "tool",
}  # fmt: skip
_REASONING = ("reasoning_content", "reasoning", "thinking")
_THOUGHTS = frozenset({"thinking", "reasoning"})  # types of parts that hold no answer
_TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})


class ReadMessage(NamedTuple):
    """Holds one message in a uniform shape.

    Attributes:
        role: Who wrote it.
        text: Its content without reasoning; None if it has none.
        reasoning: The model's reasoning, from a field or a part of the message; empty if there is none.
        calls: Whether the message calls a tool.
        other: Types of its parts that are no text (a picture, a sound).
    """

    role: Role
    text: str | None
    reasoning: str
    calls: bool
    other: tuple[str, ...]


class Content(NamedTuple):
    """Holds the parts of a message's content; fields as in `ReadMessage`."""

    text: str | None
    reasoning: str
    other: tuple[str, ...]


def field(message: Any, *names: str) -> Any:
    """Return the first of some fields of a mapping or an object that is not None; None if all are."""
    for name in names:
        value = message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
        if value is not None:
            return value
    return None


def is_message(value: Any) -> bool:
    """Tell whether a value is one message: it has a role."""
    return isinstance(field(value, "role", "from"), str) and not isinstance(value, str)


def read_message(message: Any, where: str = "a message") -> ReadMessage:
    """Read one message of any known shape.

    Raises:
        UsageError: The message has no known role, or its content is neither a text nor parts.
    """
    name = field(message, "role", "from")
    name = getattr(name, "value", name)  # an enumeration's
    role = ROLES.get(str(name).lower()) if isinstance(name, str) else None
    if role is None:
        raise UsageError(
            f"{where}: {_show(message)} is no message: its role is {name!r}. Wanted: a mapping with role (or from), "
            f"one of {', '.join(ROLES)}, and content (or value)"
        )
    content = content_of(field(message, "content", "value", "parts"), where)
    is_call = name == "function_call"
    thoughts = [value for name in _REASONING if isinstance(value := field(message, name), str) and value]
    return ReadMessage(
        role,
        None if is_call else content.text,
        thoughts[0] if thoughts else content.reasoning,
        is_call or has_calls(message),
        content.other,
    )


def has_calls(message: Any) -> bool:
    """Tell whether an assistant's message calls a tool."""
    calls, call = field(message, "tool_calls"), field(message, "function_call")
    if isinstance(calls, Sequence) and not isinstance(calls, str) and len(calls):
        return True
    return call is not None or (isinstance(message, dict) and bool(calls_of(message)))


def content_of(content: Any, where: str = "a message") -> Content:
    """Read a content: its text (parts are joined), its reasoning, and the types of other parts.

    Raises:
        UsageError: The content is neither None, a text nor a list of parts.
    """
    if content is None or isinstance(content, str):
        return Content(content, "", ())
    if is_listed(content):
        texts, thoughts, other = [], [], []
        for part in content:
            kind = field(part, "type") if not isinstance(part, str) else "text"
            text = part if isinstance(part, str) else field(part, "text", "refusal", "thinking", "reasoning")
            if kind in _THOUGHTS or (kind is None and field(part, "thought") is True):  # the second is Gemini's
                thoughts.append(_plain(text))
            elif isinstance(text, str) and (kind is None or kind in _TEXTS):
                texts.append(text)
            else:
                other.append(str(kind))
        return Content("".join(texts) if texts or not len(content) else None, "\n".join(thoughts), tuple(other))
    raise UsageError(f"{where}: a content is a text or a list of parts, got {type(content).__name__}: {content!r:.80}")


def _plain(value: Any) -> str:
    """Return the reasoning in a part, which is a text or again a list of parts (Mistral)."""
    if isinstance(value, str):
        return value
    return "".join(str(field(part, "text") or "") for part in value) if is_listed(value) else ""


def is_listed(value: Any) -> bool:
    """Tell whether a value is a list, a tuple or an array."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__getitem__"):
        return False
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0  # an array of no dimension has no length


def answer_of(completion: Any) -> str | None:
    """Return the model's answer, with its reasoning as a `<think>` block before it; None without a completion.

    Among messages, the last one of the model counts, even if others follow. A message that only calls a tool is an
    empty answer, and so is a conversation in which the model says nothing.

    Raises:
        UsageError: The completion is neither a text nor messages.
    """
    if completion is None:
        return None
    if isinstance(completion, str):
        return completion
    messages = [completion] if is_message(completion) else completion
    if not is_listed(messages):
        raise UsageError(
            f"A completion must be a text or a list of messages with a role and a content, got {completion!r}"
        )
    read_messages = [read_message(message, "A completion") for message in messages]
    last = next((message for message in reversed(read_messages) if message.role == "assistant"), None)
    if last is None:
        return ""
    text = last.text or ""
    return f"<think>{last.reasoning}</think>{text}" if last.reasoning else text


def without_calls(text: str) -> str:
    """Return an answer without the `<tool_call>` blocks that it begins or ends with; any other text unchanged."""
    bare = text.strip()
    return written_calls(text)[0] if bare.startswith("<tool_call>") or bare.endswith("</tool_call>") else text


def asked_in(prompt: Any) -> str:
    """Return the text of a prompt, or that of its last user message if it is a conversation."""
    if isinstance(prompt, str):
        return prompt
    user_messages = [turn for message in prompt if (turn := read_message(message, "A prompt")).role == "user"]
    return (user_messages[-1].text or "") if user_messages else ""


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
