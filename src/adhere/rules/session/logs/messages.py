"""Read conversations as APIs have them.

OpenAI's Chat and Responses, Anthropic's Messages, Gemini's contents and OpenTelemetry's parts are read by one function,
message by message. A log of requests repeats the conversation so far in every row; each message is taken once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adhere.rules.session.model import Session, State, Who
from adhere.rules.session.record import Recorder
from adhere.shapes.messages import ROLES

Row = Mapping[str, Any]
Numbered = Iterator[tuple[int, Row]]
_CALLS = frozenset("function_call custom_tool_call local_shell_call shell_call apply_patch_call mcp_call".split())
_RESULTS = frozenset({f"{name}_output" for name in _CALLS})
_LISTS = ("messages", "input", "contents", "conversations", "conversation", "items")
_MARKS = frozenset("role content type call_id tool_calls output arguments parts tool_call_id name".split())
"""Fields that identify a message where a log repeats it."""
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking"})


def take(recorder: Recorder, line: int, item: Row) -> None:
    """Add one message, call or result in any of the API shapes; an item of another shape is skipped."""
    kind = str(item.get("type") or "")
    if kind in _RESULTS:
        _take_result(recorder, line, item)
    elif kind in _CALLS:
        _take_call(recorder, line, item)
    elif isinstance(item.get("role"), str) or isinstance(item.get("from"), str):
        _take_message(recorder, line, item)


def _take_call(recorder: Recorder, line: int, item: Row) -> None:
    key = str(item.get("call_id") or item.get("id") or "")
    kind = str(item["type"])
    action = item.get("action")
    if kind in {"local_shell_call", "shell_call"} and isinstance(action, Mapping):
        command = action.get("command") or action.get("commands")
        fields = {"command": command, "workdir": action.get("working_directory")}
        recorder.call(line, key, "shell", {name: value for name, value in fields.items() if value})
    elif kind == "apply_patch_call":
        recorder.call(line, key, "apply_patch", item.get("operation"))
    else:
        recorder.call(line, key, str(item.get("name") or kind), item.get("arguments", item.get("input")))
    if item.get("status") == "incomplete":
        recorder.interrupt()
    if kind == "mcp_call" and (item.get("output") is not None or item.get("error")):
        recorder.result(line, key, text_of(item.get("output") or item.get("error")), error=bool(item.get("error")))


def _take_result(recorder: Recorder, line: int, item: Row) -> None:
    key = str(item.get("call_id") or item.get("id") or "")
    output = item.get("output")
    text, code = codex_output(output)
    error = True if item.get("status") == "failed" else None
    recorder.result(line, key, text, error=error, exit_code=code)


def codex_output(output: Any) -> tuple[str, int | None]:
    """Return the text of a tool's result, and its exit code (None: not given).

    `output` is a text, JSON with `output` and `metadata`, or the list that the shell tool returns.
    """
    if isinstance(output, str) and output.startswith("{"):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return output, None
    if isinstance(output, Mapping):
        metadata = output.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, Mapping) else output.get("exit_code")
        inner = output.get("output", output.get("content", output.get("stdout")))
        return text_of(inner if inner is not None else dict(output)), code if isinstance(code, int) else None
    if isinstance(output, list) and output and isinstance(output[0], Mapping) and "outcome" in output[0]:
        codes = [run.get("outcome", {}).get("exit_code") for run in output if isinstance(run.get("outcome"), Mapping)]
        text = "\n".join(f"{run.get('stdout', '')}{run.get('stderr', '')}" for run in output)
        return text, next((code for code in reversed(codes) if isinstance(code, int)), None)
    return text_of(output), None


def _take_message(recorder: Recorder, line: int, item: Row) -> None:
    name = str(item.get("role") or item.get("from")).lower()
    role = ROLES.get(name, "notice")
    content = item.get("content", item.get("value", item.get("parts")))
    if role == "tool":
        _take_tool_message(recorder, line, item, content)
        return
    texts: list[str] = []
    parts = content if isinstance(content, list) else [] if content is None else [content]
    later: list[Row] = []
    for part in parts:
        text = part if isinstance(part, str) else _text_part(part) if isinstance(part, Mapping) else ""
        if text is not None:
            texts.append(text)
        else:
            later.append(part)
    full_text = "\n".join(text for text in texts if text)
    who: Who = "user" if role == "user" else "assistant" if role == "assistant" else "system"
    if role in {"system", "notice"}:
        recorder.session.told.append(full_text)
    recorder.say(line, who, full_text)
    for part in later:
        _take_part(recorder, line, part)
    _take_calls(recorder, line, item)


def _text_part(part: Row) -> str | None:
    kind = str(part.get("type") or "")
    if kind in _THOUGHTS or part.get("thought") is True:
        return ""
    text = part.get("text", part.get("refusal", part.get("content") if kind == "text" else None))
    return text if isinstance(text, str) else None


def _take_part(recorder: Recorder, line: int, part: Row) -> None:
    """Add a part of a message that is a call or a result."""
    kind = part.get("type")
    call = part.get("functionCall") or part.get("function_call")
    answer = part.get("functionResponse") or part.get("function_response")
    if kind in {"tool_use", "server_tool_use"}:
        recorder.call(line, str(part.get("id") or ""), str(part.get("name")), part.get("input"))
    elif kind == "tool_result":
        error = bool(part["is_error"]) if "is_error" in part else None
        recorder.result(line, str(part.get("tool_use_id") or ""), text_of(part.get("content")), error=error)
    elif kind == "tool_call":
        recorder.call(line, str(part.get("id") or ""), str(part.get("name")), part.get("arguments"))
    elif kind == "tool_call_response":
        text, code = codex_output(part.get("response", part.get("result")))
        recorder.result(line, str(part.get("id") or ""), text, exit_code=code)
    elif isinstance(call, Mapping):
        recorder.call(line, str(call.get("id") or ""), str(call.get("name")), call.get("args"))
    elif isinstance(answer, Mapping):
        text, code = codex_output(answer.get("response"))
        recorder.result(line, str(answer.get("id") or ""), text, exit_code=code, tool=str(answer.get("name") or ""))


def _take_calls(recorder: Recorder, line: int, item: Row) -> None:
    calls = item.get("tool_calls") or item.get("calls") or []
    calls = list(calls) if isinstance(calls, list | tuple) else []
    if isinstance(item.get("function_call"), Mapping):
        calls = [*calls, {"function": item["function_call"]}]
    for call in calls:
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        fields = function if isinstance(function, Mapping) else call
        name = fields.get("name") or (function if isinstance(function, str) else None)
        if name:
            arguments = fields.get("arguments", fields.get("args", fields.get("input")))
            recorder.call(line, str(call.get("id") or ""), str(name), arguments)


def _take_tool_message(recorder: Recorder, line: int, item: Row, content: Any) -> None:
    key = str(item.get("tool_call_id") or item.get("call_id") or "")
    name = str(item.get("name") or item.get("function") or "")
    trouble = item.get("error")
    text, code = codex_output(content)
    state: State | None = None
    if isinstance(trouble, Mapping):  # inspect's
        text = f"{text}\n{trouble.get('message') or ''}".strip()
        state = "rejected" if trouble.get("type") in {"approval", "permission"} else "failed"
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and _text_part(part) is None:
            _take_part(recorder, line, part)
    code = item["exit_code"] if isinstance(item.get("exit_code"), int) else code
    recorder.result(line, key, text, exit_code=code, state=state, tool="" if key else name)


def text_of(value: Any) -> str:
    """Return a value as text: a text as it is, a list's text parts joined by line breaks, else JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(part, Mapping | str) for part in value):
        texts = [part if isinstance(part, str) else _text_part(part) for part in value]
        if any(text is not None for text in texts):
            return "\n".join(text for text in texts if text)
    return json.dumps(value, ensure_ascii=False, default=str)


def conversation_of(row: Row) -> list[Row] | None:
    """Return the messages of a row, the answers after what was sent; None if it has none."""
    body = _inside(row, "request", "body")
    messages = next((body[name] for name in _LISTS if name in body), None)
    if isinstance(messages, str) and "input" in body:
        messages = [{"role": "user", "content": messages}]
    items = [message for message in messages if isinstance(message, Mapping)] if isinstance(messages, list) else None
    if items is not None:
        system = body.get("instructions") or body.get("system") or body.get("systemInstruction")
        if system:
            items = [{"role": "system", "content": text_of(system)}, *items]
    answers = _answers_of(row)
    return None if items is None and not answers else [*(items or []), *answers]


def _inside(row: Row, *names: str) -> Row:
    """Return the object that the names lead to, one inside the other; a name that holds no object is skipped."""
    for name in names:
        inner = row.get(name)
        row = inner if isinstance(inner, Mapping) else row
    return row


def _answers_of(row: Row) -> list[Row]:
    answer = _inside(row, "response", "body")
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        return [{"role": "assistant", **message}] if isinstance(message, Mapping) else []
    if isinstance(answer.get("output"), list):
        return [output for output in answer["output"] if isinstance(output, Mapping)]
    if answer is not row and answer.get("role") == "assistant":
        return [answer]
    return []


def read_conversations(rows: Numbered, name: str) -> Iterator[Session]:
    """Yield a session for each conversation; rows that continue the row before belong to one conversation."""
    recorder: Recorder | None = None
    before: list[bytes] = []
    last_reply_id = ""
    count = 0
    for line, row in rows:
        items = conversation_of(row)
        if items is None:
            continue
        marks = [_mark(message) for message in items]
        body = _inside(row, "request")
        is_chained = bool(last_reply_id) and body.get("previous_response_id") == last_reply_id
        goes_on = len(marks) > len(before) > 0 and marks[: len(before)] == before
        if recorder is None or not (is_chained or goes_on):
            if recorder is not None:
                yield recorder.finish()
            count += 1
            recorder = Recorder(_session(row, f"{name}#{count}" if count > 1 else name))
            before = []
        new = items if is_chained else items[len(before) :]
        offset = len(items) - len(new) if not is_chained else 0
        for place, item in enumerate(new, start=offset + 1):
            take(recorder, line or place, item)
        before = marks if not is_chained else [*before, *marks]
        answer = _inside(row, "response")
        last_reply_id = str(answer.get("id") or "")
    if recorder is not None:
        yield recorder.finish()


def _session(row: Row, name: str) -> Session:
    answer = _inside(row, "response")
    body = _inside(row, "request")
    model = row.get("model") or body.get("model") or answer.get("model")
    session = Session(name, "messages", model=str(model or ""))
    session.cwd = str(row.get("cwd") or "")
    session.task_id = str(row.get("task") or row.get("task_id") or "")
    session.agent = str(row.get("agent") or "")
    session.version = str(row.get("agent_version") or "")
    session.started = str(row.get("timestamp") or row.get("created_at") or "")
    session.solved = row["solved"] if isinstance(row.get("solved"), bool) else None
    return session


def _mark(item: Row) -> bytes:
    bare = {key: value for key, value in item.items() if key in _MARKS and value}
    return json.dumps(bare, sort_keys=True, default=str).encode("utf-8", "replace")


def read_one(items: Sequence[Row], session: Session, *, start: int = 1) -> Session:
    """Return a session of the messages of one document; their numbers count as lines."""
    recorder = Recorder(session)
    for number, item in enumerate(items, start=start):
        take(recorder, number, item)
    return recorder.finish()
