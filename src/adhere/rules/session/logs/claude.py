"""Read sessions of Claude Code.

A record holds a content block or a whole message. Streamed records repeat their message, and a resumed session repeats
records of the session before. Sub-agents (`isSidechain`, `parent_tool_use_id`) act for the session and do not speak to
the user. Compaction adds a summary; the messages that it sums up stay in the log and count. `<synthetic>` messages,
reminders, hook and command output are notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adhere.rules.session.logs.messages import Numbered, Row, text_of
from adhere.rules.session.model import Call, Session, State, Who
from adhere.rules.session.record import Recorder

_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_OWN_FIELDS = frozenset("sessionId session_id uuid parentUuid isSidechain parent_tool_use_id".split())
_OWN_WORDS = re.compile(
    r"^\s*(?:<(?:command-name|command-message|command-args|local-command-\w+|bash-\w+|task-notification|"
    r"user-prompt-submit-hook|ide_\w+|new-diagnostics)\b|Caveat: The messages below|\[Request interrupted by user|"
    r"This session is being continued)"
)


def is_claude(row: Row) -> bool:
    """Tell whether a row is one of Claude Code's."""
    if row.get("type") in {"user", "assistant"} and isinstance(row.get("message"), Mapping):
        return not row.keys().isdisjoint(_OWN_FIELDS)
    return row.get("type") in {"summary", "file-history-snapshot", "queue-operation"} or (
        row.get("type") == "system" and ("sessionId" in row or "session_id" in row)
    )


def read_claude(rows: Numbered, name: str) -> Iterator[Session]:
    """Yield the one session that the rows of a file hold."""
    session = Session(name, "claude-code", agent="claude-code")
    recorder = Recorder(session)
    seen: set[str] = set()
    for line, row in rows:
        mark = row.get("uuid")
        if isinstance(mark, str):
            if mark in seen and row.get("type") != "assistant":
                continue
            seen.add(mark)
        _take_row(recorder, line, row)
    yield recorder.finish()


def _take_row(recorder: Recorder, line: int, row: Row) -> None:
    session = recorder.session
    session.cwd = session.cwd or str(row.get("cwd") or "")
    session.branch = session.branch or str(row.get("gitBranch") or "")
    session.version = session.version or str(row.get("version") or row.get("claude_code_version") or "")
    session.started = session.started or str(row.get("timestamp") or "")
    message = row.get("message")
    agent = str(row.get("agentId") or row.get("parent_tool_use_id") or ("side" if row.get("isSidechain") else ""))
    if row.get("type") == "user" and isinstance(message, Mapping):
        _take_user(recorder, line, row, message, agent)
    elif row.get("type") == "assistant" and isinstance(message, Mapping):
        _take_assistant(recorder, line, row, message, agent)
    elif row.get("type") == "system":
        session.model = session.model or str(row.get("model") or "")
        recorder.say(line, "notice", text_of(row.get("content") or ""))


def _take_user(recorder: Recorder, line: int, row: Row, message: Row, agent: str) -> None:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    is_notice = bool(row.get("isMeta") or row.get("isCompactSummary") or row.get("isVisibleInTranscriptOnly"))
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "tool_result":
            _take_result(recorder, line, row, part)
        elif isinstance(part.get("text"), str):
            text = str(part["text"])
            if "[Request interrupted by user" in text[:60]:
                recorder.interrupt()
            recorder.session.told += _REMINDER.findall(text)
            bare = _REMINDER.sub("", text)
            who: Who = "notice" if is_notice or _OWN_WORDS.match(bare) else "user"
            recorder.say(line, who, bare, agent=agent)


def _take_result(recorder: Recorder, line: int, row: Row, part: Row) -> None:
    text = text_of(part.get("content"))
    extra = row.get("toolUseResult", row.get("tool_use_result"))
    error = part.get("is_error") is True
    code: int | None = None
    state: State | None = None
    if isinstance(extra, Mapping):
        if extra.get("interrupted") is True:
            state = "interrupted"
        if isinstance(extra.get("exitCode"), int):
            code = extra["exitCode"]
        text = text or f"{extra.get('stdout') or ''}{extra.get('stderr') or ''}"
        if extra.get("backgroundTaskId") or extra.get("isAsync"):
            state = state or "unknown"
    elif isinstance(extra, str) and extra.startswith("User rejected"):
        state = "rejected"
    call = recorder.result(line, str(part.get("tool_use_id") or ""), text, error=error, exit_code=code, state=state)
    if call is None:
        return
    if call.tool in {"Bash", "PowerShell"} and call.state == "done" and call.exit_code is None:
        call.exit_code = 0
    if isinstance(extra, Mapping):
        _keep_file(call, extra)


def _keep_file(call: Call, extra: Row) -> None:
    """Keep the whole file as `call.before`, where the log holds it."""
    original = extra.get("originalFile")
    if isinstance(original, str):
        call.before = original
    file = extra.get("file")
    if not isinstance(file, Mapping) or file.get("startLine", 1) != 1 or file.get("numLines") != file.get("totalLines"):
        return
    if isinstance(file.get("content"), str):
        call.before = file["content"]


def _take_assistant(recorder: Recorder, line: int, row: Row, message: Row, agent: str) -> None:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    is_notice = row.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
    if not is_notice and not recorder.session.model:
        recorder.session.model = str(message.get("model") or "")
    key = str(message.get("id") or row.get("uuid") or "")
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            who: Who = "notice" if is_notice else "assistant"
            recorder.say(line, who, str(part["text"]), agent=agent, key=key)
        elif part.get("type") in {"tool_use", "server_tool_use"}:
            name, cwd = str(part.get("name")), str(row.get("cwd") or "")
            recorder.call(line, str(part.get("id") or ""), name, part.get("input"), agent=agent, cwd=cwd)
