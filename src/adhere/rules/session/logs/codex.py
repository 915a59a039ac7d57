"""Read Codex's rollouts, of every version, and what `codex exec --json` prints.

Since 2025-09 a row is `{timestamp, type, payload}` (`session_meta`, `turn_context`, `response_item`, `event_msg`,
`compacted`); before, rows were the items themselves after a first row with `id` and `instructions`. A text that an
`event_msg` (`agent_message`, `user_message`) and an item both hold is taken once. A `compacted` row repeats history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adhere.rules.session.logs.messages import Numbered, Row, take, text_of
from adhere.rules.session.model import Session, Speech, State, Who
from adhere.rules.session.record import Recorder

NEAR = 5
"""Number of events to look back for a repeated text."""
_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_EVENTS = re.compile(r"^(thread|turn|item)\.(started|completed|updated|failed)$")
_TOLD = re.compile(
    r"^\s*(?:# AGENTS\.md instructions|<user_instructions>|<INSTRUCTIONS>|<environment_context>|"
    r"<permissions|<turn_aborted>|<collaboration_mode>|<skill)"
)


def is_codex(row: Row) -> bool:
    """Tell whether a row is one of Codex's."""
    kind = row.get("type")
    if kind in _ENVELOPES and isinstance(row.get("payload"), Mapping):
        return True
    if isinstance(kind, str) and _EVENTS.match(kind):
        return kind == "turn.started" or not row.keys().isdisjoint({"thread_id", "item", "usage"})
    return row.get("record_type") == "state" or (
        row.keys() >= {"instructions", "timestamp", "id"} and "messages" not in row
    )


def read_codex(rows: Numbered, name: str) -> Iterator[Session]:
    """Yield the one session that the rows of a file hold."""
    session = Session(name, "codex", agent="codex")
    recorder = Recorder(session)
    for line, row in rows:
        session.started = session.started or str(row.get("timestamp") or "")
        payload = row.get("payload")
        kind = row.get("type")
        if isinstance(payload, Mapping) and kind in _ENVELOPES:
            _take_payload(recorder, line, str(kind), payload)
        elif isinstance(kind, str) and _EVENTS.match(kind):
            _take_event(recorder, line, row)
        elif "type" in row or "role" in row:
            _take_item(recorder, line, row)
        elif isinstance(row.get("instructions"), str):
            session.told.append(row["instructions"])
    yield recorder.finish()


def _take_payload(recorder: Recorder, line: int, kind: str, payload: Row) -> None:
    session = recorder.session
    if kind == "session_meta":
        session.cwd = session.cwd or str(payload.get("cwd") or "")
        session.version = session.version or str(payload.get("cli_version") or "")
        git = payload.get("git")
        session.branch = str(git.get("branch") or "") if isinstance(git, Mapping) else ""
        if payload.get("instructions"):
            session.told.append(text_of(payload["instructions"]))
    elif kind == "turn_context":
        session.cwd = session.cwd or str(payload.get("cwd") or "")
        session.model = session.model or str(payload.get("model") or "")
    elif kind == "response_item":
        _take_item(recorder, line, payload)
    elif kind == "event_msg":
        _take_message(recorder, line, payload)


def _take_item(recorder: Recorder, line: int, item: Row) -> None:
    if item.get("role") in {"user", "developer", "system"}:
        text = text_of(item.get("content"))
        if _TOLD.match(text) or item.get("role") != "user":
            recorder.session.told.append(text)
            cwd = re.search(r"<cwd>(.*?)</cwd>", text)
            recorder.session.cwd = recorder.session.cwd or (cwd[1] if cwd else "")
            recorder.say(line, "notice", text)
        else:
            _say(recorder, line, "user", text)
        return
    if item.get("type") == "message" and item.get("role") == "assistant":
        _say(recorder, line, "assistant", text_of(item.get("content")))
        return
    take(recorder, line, item)


def _take_message(recorder: Recorder, line: int, payload: Row) -> None:
    """Add what an event tells beyond the items: exit codes, interruptions, and texts that no item holds."""
    kind = payload.get("type")
    if kind == "turn_aborted":
        recorder.interrupt()
    elif kind in {"exec_command_end", "patch_apply_end"}:
        key = str(payload.get("call_id") or "")
        code = payload.get("exit_code")
        if not isinstance(code, int):
            code = int(not payload["success"]) if isinstance(payload.get("success"), bool) else None
        text = text_of(payload.get("aggregated_output") or payload.get("stdout") or "")
        if (call := recorder.known(key)) is not None:
            recorder.result(line, key, text or call.result or "", exit_code=code, state=_state(payload))
    elif kind in {"agent_message", "user_message"}:
        _say(recorder, line, "user" if kind == "user_message" else "assistant", text_of(payload.get("message")))


def _state(row: Row) -> State | None:
    return "rejected" if row.get("status") == "declined" else None


def _say(recorder: Recorder, line: int, who: Who, text: str) -> None:
    """Add a text once, where an event and an item hold it one after the other."""
    events = [
        event for event in recorder.session.events[-NEAR:] if not (isinstance(event, Speech) and event.who == "notice")
    ]
    last = events[-1] if events else None
    if who == "user" and _TOLD.match(text):
        who = "notice"
    is_said = isinstance(last, Speech) and last.who == who and last.text.strip() == text.strip()
    if not is_said:
        recorder.say(line, who, text)


def _take_event(recorder: Recorder, line: int, row: Row) -> None:
    """Add a line of `codex exec --json`."""
    item = row.get("item")
    if not isinstance(item, Mapping):
        if row.get("type") == "turn.failed":
            recorder.interrupt()
        return
    kind = item.get("type") or item.get("item_type")
    key, is_ended = str(item.get("id") or ""), row.get("type") == "item.completed"
    if kind in {"agent_message", "assistant_message"}:
        recorder.say(line, "assistant", text_of(item.get("text")), key=key)
    elif kind == "command_execution":
        recorder.call(line, key, "shell", {"command": item.get("command")})
        if is_ended:
            code = item.get("exit_code") if isinstance(item.get("exit_code"), int) else None
            recorder.result(line, key, text_of(item.get("aggregated_output")), exit_code=code, state=_state(item))
    elif kind == "file_change":
        recorder.call(line, key, "file_change", {"changes": item.get("changes")})
        if is_ended:
            recorder.result(line, key, "", state="done" if item.get("status") in {"completed", None} else "failed")
    elif kind == "mcp_tool_call":
        recorder.call(line, key, str(item.get("tool")), item.get("arguments"))
        if is_ended:
            recorder.result(line, key, text_of(item.get("result")), error=item.get("status") == "failed")
