"""Read the JSON in an answer within limits, and match it against a small subset of JSON Schema.

The subset: `type` (one name), `properties`, `required`, `additionalProperties` (only false), `items` (one schema),
`minItems`, `maxItems`, `enum`, `minLength`, `maxLength`, `minimum`, `maximum`. Any other keyword is refused, so that a
schema never asks for something that is not checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST_SCHEMA = 8
_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength")
_NUMBERS = ("minimum", "maximum")
_KEYWORDS = ("type", "properties", "required", "additionalProperties", "items", "enum", *_COUNTS, *_NUMBERS)


def parse(text: str) -> tuple[Any, str | None]:
    """Read `text` as one JSON value; return (value, None), or (None, what is wrong with the text).

    A repeated key, NaN and Infinity, a number of thousands of digits and brackets nested too deeply count as wrong.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=refuse_constant), None
    except json.JSONDecodeError as error:
        return None, f"not valid JSON: {error.msg} at position {error.pos}"
    except RecursionError:
        return None, "not readable as JSON: nested too deeply"
    except ValueError as error:
        return None, f"not readable as JSON: {str(error)[:80]}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is repeated")
    return value


def refuse_constant(name: str) -> None:
    """Raise a ValueError for NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(f"{name} is not JSON")


def texts(value: object) -> Iterator[str]:
    """Yield the strings among the values of a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def depth(value: object, *, most: int = 1000) -> int:
    """Return how deeply objects and arrays are nested: 0 for a plain value, 1 for `[1]`.

    The result is at most `most` + 1, as counting stops there.
    """
    level, layer = 0, [value]
    while level <= most:
        inner = [
            child
            for item in layer
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not any(isinstance(item, dict | list) for item in layer):
            return level
        level, layer = level + 1, inner
    return level


def schema_problem(schema: object, *, level: int = 0) -> str | None:
    """Say what in `schema` is outside the subset; None if nothing is."""
    return next(_problems(schema, level), None)


def _problems(schema: object, level: int) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield "a schema must be an object"
        return
    if level > DEEPEST_SCHEMA:
        yield f"schemas nest at most {DEEPEST_SCHEMA} levels"
        return
    for keyword in schema:
        if keyword not in _KEYWORDS:
            yield f"{keyword!r} is not supported; supported are {', '.join(_KEYWORDS)}"
    if "type" in schema and schema["type"] not in _TYPES:
        yield f"'type' must be one of {', '.join(_TYPES)}"
    if schema.get("additionalProperties", False) is not False:
        yield "'additionalProperties' may only be false"
    if "required" in schema and not _is_strings(schema["required"]):
        yield "'required' must be a list of names"
    if not isinstance(schema.get("enum", [""]), list) or not schema.get("enum", [""]):
        yield "'enum' must be a list of values, not empty"
    yield from _limit_problems(schema)
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        yield "'properties' must be an object"
        return
    for inner in (*properties.values(), *([schema["items"]] if "items" in schema else [])):
        yield from _problems(inner, level + 1)


def _limit_problems(schema: Mapping[str, Any]) -> Iterator[str]:
    for keyword in (*_COUNTS, *_NUMBERS):
        limit = schema.get(keyword, 0)
        if type(limit) is not int or (keyword in _COUNTS and limit < 0):
            yield f"{keyword!r} must be a whole number{' from 0' if keyword in _COUNTS else ''}"


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def mismatch(value: Any, schema: Mapping[str, Any], at: str = "the value") -> str | None:
    """Say the first way in which `value` does not match `schema`, and where; None if it matches."""
    if "type" in schema and not _is_type(value, schema["type"]):
        return f"{at} is {_type_of(value)}, needed {schema['type']}"
    if "enum" in schema and not any(type(value) is type(option) and value == option for option in schema["enum"]):
        return f"{at} is {json.dumps(value)[:60]}, needed one of {json.dumps(schema['enum'])[:120]}"
    if isinstance(value, list):
        return _mismatched_array(value, schema, at)
    if isinstance(value, dict):
        return _mismatched_object(value, schema, at)
    if isinstance(value, str):
        return _outside(len(value), schema, ("minLength", "maxLength"), at, "characters")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return _outside(value, schema, ("minimum", "maximum"), at, "") if is_number else None


def _outside(amount: float, schema: Mapping[str, Any], limits: tuple[str, str], at: str, unit: str) -> str | None:
    low, high = schema.get(limits[0]), schema.get(limits[1])
    statement = f"{at} has {amount} {unit}" if unit else f"{at} is {amount}"
    if low is not None and amount < low:
        return f"{statement}, needed at least {low}"
    if high is not None and amount > high:
        return f"{statement}, allowed at most {high}"
    return None


def _mismatched_array(value: list[Any], schema: Mapping[str, Any], at: str) -> str | None:
    problem = _outside(len(value), schema, ("minItems", "maxItems"), at, "items")
    if problem or "items" not in schema:
        return problem
    problems = (mismatch(item, schema["items"], f"item {number} of {at}") for number, item in enumerate(value, start=1))
    return next(filter(None, problems), None)


def _mismatched_object(value: dict[str, Any], schema: Mapping[str, Any], at: str) -> str | None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{at} lacks the key {name!r}"
    if "additionalProperties" in schema:
        for name in value:
            if name not in properties:
                return f"{at} has the further key {name[:40]!r}"
    problems = (mismatch(value[name], part, f"{name!r} of {at}") for name, part in properties.items() if name in value)
    return next(filter(None, problems), None)


def _is_type(value: object, name: str) -> bool:
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return _type_of(value) == name


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = ((str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"))
    return next(name for kind, name in names if isinstance(value, kind))


def instance(schema: Mapping[str, Any]) -> Any:
    """Return a value that matches `schema`, with words where possible and with optional keys."""
    if "enum" in schema:
        return schema["enum"][0]
    name = schema.get("type", "object" if "properties" in schema else "string")
    if name == "object":
        properties = {key: instance(part) for key, part in schema.get("properties", {}).items()}
        return {**dict.fromkeys(schema.get("required", ()), "cats"), **properties}
    if name == "array":
        count = max(1, schema.get("minItems", 1))
        return [instance(schema.get("items", {})) for _ in range(min(count, schema.get("maxItems", count)))]
    if name == "string":
        text = "cats".ljust(schema.get("minLength", 0), "s")
        return text[: schema.get("maxLength", len(text))]
    low, high = schema.get("minimum"), schema.get("maximum")
    return {"boolean": True, "null": None}.get(name, low if low is not None else min(3, 3 if high is None else high))
