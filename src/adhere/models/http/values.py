"""Reading what a server sent: every function takes whatever JSON may hold, and none raises."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from adhere.schema import Json

DEEPEST = 32
LARGEST_WHOLE = 2**53


def json_of(body: bytes) -> Any:
    """The JSON value; None where it is none. Numbers that JSON does not have (NaN) are None."""
    try:
        # The standard library's reader: faster ones reject lone surrogates, which models do write. Some servers begin
        # with a byte order mark.
        return json.loads(body.strip().decode("utf-8-sig", "replace"), parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None


def number_of(value: Any) -> float | None:
    """A finite number, given as a number or as a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e15 else None


def whole_of(value: Any) -> int | None:
    """A count of at least 0; None for anything else."""
    number = number_of(value)
    return None if number is None or number < 0 else int(number)


def text_of(value: Any) -> str | None:
    """A text with something in it; None for anything else."""
    return value if isinstance(value, str) and value else None


def mapping_of(value: Any) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def content_of(content: Any) -> str:
    """A message's text: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def thought_of(message: Mapping[str, Any]) -> Any:
    """The reasoning of a message, under either of its names."""
    return message.get("reasoning") or message.get("reasoning_content")


def storable(value: Any, depth: int = DEEPEST) -> Json:  # noqa: PLR0911 - one return a type
    """The value as it can be stored: what lies deeper than `depth`, and numbers that no JSON has, become None."""
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


__all__ = ["content_of", "json_of", "mapping_of", "number_of", "storable", "text_of", "thought_of", "whole_of"]
