"""Fields of a request that a user adds or leaves out: `--send KEY=JSON`, `--omit KEY`.

A KEY is a field of the request's body; `a.b` is the field `b` of the object in `a`. An added field replaces the one
that would be sent otherwise; two objects are merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from adhere.errors import UsageError, nearest
from adhere.models.http.keys import redact
from adhere.schema import Json

OURS = {
    "model": "the model's name says it",
    "messages": "the prompts say it",
    "contents": "the prompts say it",
    "system": "the prompts say it",
    "systemInstruction": "the prompts say it",
    "tools": "the prompts say it",
    "stream": "say --stream",
    "temperature": "say --temperature",
    "top_p": "say --top-p",
    "topP": "say --top-p",
    "max_tokens": "say --max-new-tokens",
    "max_completion_tokens": "say --max-new-tokens (--dialect openai sends it under this name)",
    "maxOutputTokens": "say --max-new-tokens",
    "seed": "say --seed; each answer has a seed of its own",
    "n": "say --draws",
    "candidateCount": "say --draws",
}
"""Fields that a Run states elsewhere, with where; a second value would make the Run state something false."""
_OF_CLIENTS = frozenset({"extra_body", "extra_headers", "extra_query"})
KEPT = frozenset({"model", "messages", "contents", "generationConfig"})
"""Fields that no request can do without."""
OMITTABLE = frozenset({
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stream", "stream_options", "tools",
    "system", "systemInstruction", "topP", "maxOutputTokens", "provider", "plugins", "reasoning", "reasoning_effort",
    "response_format", "thinking", "output_config", "thinkingConfig", "responseMimeType", "responseJsonSchema",
})  # fmt: skip
"""All fields that some dialect sends, apart from those that hold the question."""


def parse_send(texts: Iterable[str]) -> dict[str, Json]:
    """Parse `KEY=JSON` texts into fields.

    Raises:
        UsageError: A text has no `=`, a value is no JSON, or a key occurs twice.
    """
    fields: dict[str, Json] = {}
    for option in texts:
        name, equals, text = option.partition("=")
        name = name.strip()
        if not equals or not all(name.split(".")):
            raise UsageError(f"--send {option}: write KEY=JSON, such as --send top_k=20 or --send 'stop=[\"END\"]'")
        if name in fields:
            raise UsageError(f"--send {name} is given twice: {json.dumps(fields[name])} and {text}")
        try:
            fields[name] = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            literal = {"True": "true", "False": "false", "None": "null"}.get(text.strip())
            advice = f"JSON writes {literal}" if literal else f"A text is written {name}='{json.dumps(text)}'"
            raise UsageError(f"--send {name}: {text!r} is no JSON ({error}). {advice}") from None
    return fields


def check_fields(send: Mapping[str, Json], omit: Iterable[str]) -> None:
    """Refuse fields that cannot be added or left out.

    Raises:
        UsageError: A Run states the field elsewhere, no request can do without it, it is not sent at all, or it is
            both added and left out.
    """
    for name in send:
        if name.partition(".")[0] in _OF_CLIENTS:
            raise UsageError(
                f"{name} is an argument of OpenAI's Python client and no field: servers would not look at it. Send "
                f"its fields by themselves: --send {name.partition('.')[2] or 'top_k'}=…"
            )
        if redact(text := json.dumps(send[name])) != text:
            raise UsageError(
                f"--send {name} looks like a key, and what is sent is stored. Keys come from the environment"
            )
        leaf, value = name.rpartition(".")[2], send[name]
        nested_names: list[str] = []
        if name == "generationConfig" and isinstance(value, dict):
            nested_names = [inner for inner in value if inner in OURS]
        for ours in [leaf] if leaf in OURS and name in {leaf, f"generationConfig.{leaf}"} else nested_names:
            raise UsageError(f"{name} cannot be sent as {ours}: {OURS[ours]}. --omit {ours} leaves it out")
    omissions = list(omit)
    for name in omissions:
        leaf = name.rpartition(".")[2]
        if not leaf or name in KEPT:
            raise UsageError(f"{name!r} cannot be left out: without it nothing is asked")
        if "." not in name and name not in OMITTABLE:
            omittable = ", ".join(sorted(OMITTABLE))
            raise UsageError(
                f"{name!r} is not sent, so it cannot be left out.{nearest(name, OMITTABLE)} Sent are: {omittable}"
            )
    if both := sorted(set(omissions) & set(send)):
        raise UsageError(f"{', '.join(both)}: both sent and left out; say one of the two")


def with_fields(body: dict[str, Any], send: Mapping[str, Json], omit: Iterable[str]) -> dict[str, Any]:
    """Return a copy of a request's body with the fields of `send` added and those of `omit` left out."""
    for name, value in send.items():
        addition: Json = value
        for part in reversed(name.split(".")):
            addition = {part: addition}
        body = _merge(body, addition)
    for name in omit:
        body = _without(body, name.split("."))
        settings = body.get("generationConfig")
        if isinstance(settings, dict) and name in settings:  # Gemini's sampling lies one level deeper
            body = {**body, "generationConfig": _without(settings, [name])}
    return body


def _merge(body: Any, value: Any) -> Any:
    if not (isinstance(body, dict) and isinstance(value, dict)):
        return value
    return {**body, **{name: _merge(body.get(name), part) for name, part in value.items()}}


def _without(body: dict[str, Any], path: list[str]) -> dict[str, Any]:
    name, *deeper = path
    inner = body.get(name)
    if deeper and isinstance(inner, dict):
        return {**body, name: _without(inner, deeper)}
    return body if deeper else {key: value for key, value in body.items() if key != name}


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no number of JSON")
