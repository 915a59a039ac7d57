"""Read OpenTelemetry's GenAI spans: OTLP's JSON, or a span in each row.

Each conversation, or else each trace, is a session.

Source: OpenTelemetry semantic conventions for generative AI, 1.37: `gen_ai.input.messages`, `gen_ai.output.messages`,
`gen_ai.tool.*`; the events of earlier versions (`gen_ai.user.message`, `gen_ai.choice`) are read, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from adhere.rules.session.logs.messages import Numbered, Row, codex_output, take, text_of
from adhere.rules.session.model import Session
from adhere.rules.session.record import Recorder

_ROLES = {f"gen_ai.{role}.message": role for role in ("user", "system", "assistant", "tool")}


def is_spans(row: Row) -> bool:
    """Tell whether a row holds spans of a model or an agent."""
    if "resourceSpans" in row:
        return True
    fields = row.get("attributes")
    return isinstance(fields, Mapping | list) and any(name.startswith("gen_ai.") for name in _fields(fields))


def read_spans(rows: Numbered, name: str) -> Iterator[Session]:
    """Yield a session for each conversation or trace, its spans in the order in which they ended."""
    spans = [(line, span) for line, row in rows for span in _spans(row)]
    conversations: dict[str, str] = {}  # by trace: spans of tools often name the trace alone
    for _, span in spans:
        if conversation := _fields(span.get("attributes")).get("gen_ai.conversation.id"):
            conversations.setdefault(_trace(span), str(conversation))
    groups: dict[str, list[tuple[int, Row, dict[str, Any]]]] = {}
    for line, span in spans:
        fields = _fields(span.get("attributes"))
        if any(key.startswith("gen_ai.") for key in fields):
            groups.setdefault(conversations.get(_trace(span)) or _trace(span), []).append((line, span, fields))
    for number, group in enumerate(groups.values(), start=1):
        group.sort(key=lambda entry: (_time(entry[1], "end"), entry[0]))
        yield _session(group, name if number == 1 else f"{name}#{number}")


def _spans(row: Row) -> Iterator[Row]:
    if "resourceSpans" not in row:
        yield row
        return
    for resource in row["resourceSpans"] or ():
        for scope in resource.get("scopeSpans") or ():
            yield from (span for span in scope.get("spans") or () if isinstance(span, Mapping))


def _fields(attributes: Any) -> dict[str, Any]:
    if isinstance(attributes, Mapping):
        return dict(attributes)
    pairs = attributes if isinstance(attributes, list) else []
    return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs if isinstance(pair, Mapping)}


def _value(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "arrayValue" in value:
        return [_value(entry) for entry in value["arrayValue"].get("values", [])]
    if "kvlistValue" in value:
        return _fields(value["kvlistValue"].get("values"))
    return next(iter(value.values()), None)


def _trace(span: Row) -> str:
    context = span.get("context")
    return str(span.get("traceId") or (context.get("trace_id") if isinstance(context, Mapping) else None) or "")


def _time(span: Row, which: str) -> str:
    value = span.get("endTimeUnixNano" if which == "end" else "startTimeUnixNano") or span.get(f"{which}_time") or ""
    return str(value).zfill(24)


def _session(group: list[tuple[int, Row, dict[str, Any]]], name: str) -> Session:
    session = Session(name, "otel")
    recorder = Recorder(session)
    marks: set[str] = set()
    for line, span, fields in group:
        model = fields.get("gen_ai.request.model") or fields.get("gen_ai.response.model")
        session.model = session.model or str(model or "")
        session.agent = session.agent or str(fields.get("gen_ai.agent.name") or "")
        session.started = session.started or _time(span, "start").lstrip("0")
        if fields.get("gen_ai.operation.name") == "execute_tool" or "gen_ai.tool.call.id" in fields:
            _take_tool(recorder, line, fields, span)
            continue
        if fields.get("gen_ai.operation.name") == "invoke_agent":
            continue  # its messages are those of the calls inside it
        for item in _messages(span, fields):
            mark = json.dumps(item, sort_keys=True, default=str)
            if mark not in marks:
                marks.add(mark)
                take(recorder, line, item)
    return recorder.finish()


def _take_tool(recorder: Recorder, line: int, fields: Mapping[str, Any], span: Row) -> None:
    key = str(fields.get("gen_ai.tool.call.id") or "")
    tool = str(fields.get("gen_ai.tool.name") or "")
    recorder.call(line, key, tool, fields.get("gen_ai.tool.call.arguments"))
    answer = fields.get("gen_ai.tool.call.result")
    status = span.get("status")
    failed = isinstance(status, Mapping) and status.get("code") in {2, "STATUS_CODE_ERROR", "ERROR"}
    if answer is not None or failed:
        text, code = codex_output(answer)
        recorder.result(line, key, text, error=failed or None, exit_code=code, tool=tool)


def _messages(span: Row, fields: Mapping[str, Any]) -> Iterator[Row]:
    system = _decode(fields.get("gen_ai.system_instructions"))
    if system:
        yield {"role": "system", "content": text_of(system)}
    for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
        messages = _decode(fields.get(name))
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, Mapping):
                yield {"role": message.get("role"), "parts": message.get("parts", message.get("content"))}
    for event in span.get("events") or ():
        if isinstance(event, Mapping):
            yield from _event(event)


def _event(event: Row) -> Iterator[Row]:
    fields = _fields(event.get("attributes"))
    name = str(event.get("name") or "")
    if name in _ROLES:
        calls = _decode(fields.get("tool_calls"))
        yield {
            "role": _ROLES[name],
            "content": fields.get("content"),
            "tool_calls": calls,
            "tool_call_id": fields.get("id"),
        }
    elif name == "gen_ai.choice":
        message = _decode(fields.get("message"))
        if isinstance(message, Mapping):
            yield {"role": "assistant", **message}


def _decode(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
