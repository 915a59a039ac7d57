"""Read Gemini CLI's stored chats (one document, or rows since 0.30) and its checkpoints (a list of contents)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adhere.rules.session.logs.messages import Row, codex_output, take, text_of
from adhere.rules.session.model import Session, State
from adhere.rules.session.record import Recorder

_STATES: dict[str, State] = {"success": "done", "error": "failed", "cancelled": "rejected"}
_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})


def is_gemini(row: Row) -> bool:
    """Tell whether a document or a row is one of Gemini CLI's chats."""
    is_message = row.get("type") in {"gemini", "user"} and row.keys() >= {"content", "id", "timestamp"}
    return row.keys() >= {"projectHash", "sessionId"} or (is_message and "message" not in row)


def read_gemini(rows: Sequence[tuple[int, Row]] | Iterator[tuple[int, Row]], name: str) -> Iterator[Session]:
    """Yield the one session of a document with `messages`, or of rows."""
    session = Session(name, "gemini-cli", agent="gemini-cli")
    recorder = Recorder(session)
    for line, row in rows:
        session.started = session.started or str(row.get("startTime") or row.get("timestamp") or "")
        messages = row.get("messages")
        if isinstance(messages, list):
            for number, message in enumerate(messages, start=1):
                if isinstance(message, Mapping):
                    _take(recorder, number, message)
        elif row.get("type") in _TYPES:
            _take(recorder, line, row)
    yield recorder.finish()


def read_checkpoint(contents: Sequence[Any], name: str) -> Iterator[Session]:
    """Yield the one session of a list of contents (`role`, `parts`)."""
    recorder = Recorder(Session(name, "gemini-cli", agent="gemini-cli"))
    for number, content in enumerate(contents, start=1):
        if isinstance(content, Mapping):
            take(recorder, number, content)
    yield recorder.finish()


def _take(recorder: Recorder, line: int, message: Row) -> None:
    kind = message.get("type")
    text = text_of(message.get("content"))
    if kind == "user":
        recorder.say(line, "user", text)
        return
    if kind != "gemini":
        if "cancelled" in text[:80].lower():
            recorder.interrupt()
        recorder.say(line, "notice", text)
        return
    recorder.session.model = recorder.session.model or str(message.get("model") or "")
    key = str(message.get("id") or "")
    recorder.say(line, "assistant", text, key=key)
    calls = message.get("toolCalls")
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, Mapping) and call.get("name"):
            _take_call(recorder, line, call, str(call.get("id") or f"{key}:{place}"))


def _take_call(recorder: Recorder, line: int, call: Row, key: str) -> None:
    recorded_call = recorder.call(line, key, str(call["name"]), call.get("args"))
    answer = call.get("result")
    status = call.get("status")
    if answer is None and status not in _STATES:
        return
    text = ""
    for part in answer if isinstance(answer, list) else [answer]:
        response = part.get("functionResponse") if isinstance(part, Mapping) else None
        text += codex_output(response.get("response"))[0] if isinstance(response, Mapping) else text_of(part)
    recorder.result(line, key, text, state=_STATES.get(str(status)) if status != "success" else None, error=False)
    if status == "success" and recorded_call.tool == "run_shell_command" and recorded_call.exit_code is None:
        recorded_call.state = "done"
        recorded_call.exit_code = 0 if "Exit Code:" not in text else None
    if recorded_call.exit_code is not None and status == "success":
        recorded_call.state = "done" if recorded_call.exit_code == 0 else "failed"
