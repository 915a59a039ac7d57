"""Reads what a server sent: every function takes any JSON value, and none raises."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from adhere.schema import Json

_CHARSET = re.compile(r"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
DEEPEST = 32
LARGEST_WHOLE = 2**53

TOO_DEEP = object()
"""Stands for a JSON value that is nested too deep to be read."""


def json_of(body: bytes) -> Any:
    """Return the JSON value; None if `body` is no JSON, or one that is nested too deep to be read."""
    json_value = json_or_deep(body)
    return None if json_value is TOO_DEEP else json_value


def json_or_deep(body: bytes, content_type: str = "") -> Any:
    """Return the JSON value; None if `body` is no JSON, TOO_DEEP if it is nested too deep to be read.

    Numbers that JSON does not have (NaN) become None.

    Args:
        body: UTF-8, UTF-16 or UTF-32, as JSON may be; another encoding only if its header says so.
        content_type: The header, which may name the encoding.
    """
    try:
        # The standard library's reader: faster ones reject lone surrogates, which models do write. Some servers begin
        # with a byte order mark.
        return json.loads(_decode(body, content_type), parse_constant=lambda _name: None)
    except ValueError:
        return None
    except RecursionError:
        return TOO_DEEP


def _decode(body: bytes, content_type: str) -> str:
    encoding: str = json.detect_encoding(body[:4])
    if encoding in {"utf-8", "utf-8-sig"}:
        try:
            return body.strip().decode("utf-8-sig")
        except UnicodeDecodeError:
            charset = _CHARSET.search(content_type)
            encoding = charset[1] if charset else "utf-8-sig"
            body = body.strip()
    try:
        return body.decode(encoding, "replace")
    except LookupError:  # no such encoding
        return body.decode("utf-8-sig", "replace")


def number_of(value: Any) -> float | None:
    """Return a finite number, given as a number or as a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e15 else None


def whole_of(value: Any) -> int | None:
    """Return a count of at least 0; None for anything else."""
    number = number_of(value)
    return None if number is None or number < 0 else int(number)


def text_of(value: Any) -> str | None:
    """Return a text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "thought", "thoughts", "thinking_content",
             "reasoning_details", "thinking_blocks", "reasoning_summary", "reasoningContent")  # fmt: skip
"""Fields of a message with its reasoning. A gateway repeats one text under several names, so the first counts."""
_WORDS = ("text", "thinking", "reasoning", "summary", "content", "value", "thought", "reasoningContent",
          "reasoningText")  # fmt: skip
_BESIDE = re.compile(r"tool|search|result|citation|reference|image|audio|video|file|document|refusal", re.IGNORECASE)
"""Matches types of parts that hold neither answer nor reasoning: results of the server's tools, sources, pictures."""


def content_of(content: Any) -> str:
    """Return a message's text: a string, or the texts of its parts that are neither reasoning nor of a tool."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "".join(_words(part) for part in parts if not _is_thought(part) and not _BESIDE.search(_type(part)))


def refusal_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message's field `refusal`, or of a content part of that type."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    refusals = (text_of(mapping_of(part).get("refusal")) for part in parts)
    return content_of(message.get("refusal")) or "".join(filter(None, refusals))


def _type(part: Any) -> str:
    return text_of(mapping_of(part).get("type")) or ""


def thought_of(message: Mapping[str, Any]) -> str:
    """Return the reasoning of a message or of a piece of a stream, in whatever form a server gives it.

    That is a field of its own (a text, or parts), or parts of the content that say that they are reasoning.
    """
    provider_fields = mapping_of(message.get("provider_specific_fields"))
    fields = (_words(place.get(name)) for place in (message, provider_fields) for name in _THOUGHTS)
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    return next((text for text in fields if text), "") or "".join(_words(part) for part in parts if _is_thought(part))


def _is_thought(part: Any) -> bool:
    """Tell whether a part of a content is reasoning: its type says so, or it has only fields of reasoning."""
    fields = mapping_of(part)
    kind = _type(part)
    if re.search("think|thought|summary|^reasoning", kind) or fields.get("thought") is True:
        return True
    return (
        not kind.startswith(("text", "output"))
        and "text" not in fields
        and any(name in fields for name in ("thinking", "reasoning", "reasoning_content", "reasoningContent"))
    )


def _words(value: Any, depth: int = 8) -> str:
    """Return the texts of a value that is a text, a part, or a list of parts."""
    if isinstance(value, str):
        return value
    if depth <= 0:
        return ""
    if isinstance(value, list):
        return "".join(_words(part, depth - 1) for part in value)
    if isinstance(value, dict):
        return next((text for name in _WORDS if (text := _words(value.get(name), depth - 1))), "")
    return ""


def storable(value: Any, depth: int = DEEPEST) -> Json:  # noqa: PLR0911 - one return a type
    """Return the value in a form that can be stored: what is nested too deep, and invalid numbers, become None."""
    if isinstance(value, dict | list) and depth <= 0:
        return None
    match value:
        case str() | bool():
            return value
        case int():
            return value if abs(value) <= LARGEST_WHOLE else None
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): storable(item, depth - 1) for name, item in value.items()}
        case list():
            return [storable(item, depth - 1) for item in value]
    return None
