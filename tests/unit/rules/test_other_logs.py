"""Readers of logs that no story is told in: streams, checkpoints, zips, older events, and runs of our worlds."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import adhere
from adhere.rules.session.acts import Act, acts_of
from adhere.rules.session.model import Session
from adhere.rules.session.read import read_sessions


def _read(path: Path, rows: list[Any]) -> tuple[Session, list[Act]]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    session = next(read_sessions(path))
    return session, acts_of(session)


def _commands(acts: list[Act]) -> list[tuple[tuple[str, ...], bool | None, bool | None]]:
    return [(act.run.words, act.ran, act.passed) for act in acts if act.kind == "command" and act.run is not None]


def test_claude_codes_stream(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Exit code 2", "is_error": True}
    head = {"session_id": "s", "parent_tool_use_id": None}
    session, acts = _read(tmp_path / "s.jsonl", [
        {"type": "system", "subtype": "init", "cwd": "/r", "model": "claude-x", "session_id": "s"},
        {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [call]}, **head},
        {"type": "user", "message": {"role": "user", "content": [result]}, **head},
        {"type": "assistant", "message": {"id": "n", "role": "assistant", "content": [{"type": "text", "text": "It fails."}]}, **head},
        {"type": "result", "subtype": "success", "result": "It fails.", "session_id": "s"},
    ])  # fmt: skip
    assert (session.format, session.model, session.cwd) == ("claude-code", "claude-x", "/r")
    assert _commands(acts) == [(("make", "test"), True, False)]
    assert [(act.text, act.final) for act in acts if act.kind == "reply"] == [("It fails.", True)]


def test_codex_exec(tmp_path: Path) -> None:
    session, acts = _read(tmp_path / "c.jsonl", [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "item.started", "item": {"id": "i0", "type": "command_execution", "command": "bash -lc 'pytest -q'", "status": "in_progress"}},
        {"type": "item.completed", "item": {"id": "i0", "type": "command_execution", "command": "bash -lc 'pytest -q'", "aggregated_output": "ok", "exit_code": 0, "status": "completed"}},
        {"type": "item.completed", "item": {"id": "i1", "type": "command_execution", "command": "git push", "exit_code": -1, "status": "declined"}},
        {"type": "item.completed", "item": {"id": "i2", "type": "file_change", "changes": [{"path": "a.py", "kind": "update"}], "status": "completed"}},
        {"type": "item.completed", "item": {"id": "i3", "type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
    ])  # fmt: skip
    assert session.format == "codex"
    assert _commands(acts)[1] == (("pytest", "-q"), True, True)
    assert [ran for words, ran, _ in _commands(acts) if words == ("git", "push")] == [False]
    assert [(act.path, act.how) for act in acts if act.kind == "edit"] == [("a.py", "modify")]


def test_codex_before_its_envelopes(tmp_path: Path) -> None:
    session, acts = _read(tmp_path / "o.jsonl", [
        {"id": "u", "timestamp": "2025-06-01T00:00:00Z", "instructions": "Be short.", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["bash", "-lc", "ls"]}},
        {"type": "local_shell_call_output", "call_id": "c", "output": json.dumps({"output": "a", "metadata": {"exit_code": 0}})},
    ])  # fmt: skip
    assert session.told == ["Be short."]
    assert _commands(acts) == [(("ls",), True, True)]


def test_geminis_checkpoints_and_rows(tmp_path: Path) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {"command": "npm test"}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "run_shell_command", "response": {"output": "Exit Code: 1"}}}],
        },
    ]
    (tmp_path / "c.json").write_text(json.dumps(contents))
    assert _commands(acts_of(next(read_sessions(tmp_path / "c.json")))) == [(("npm", "test"), True, False)]
    session, acts = _read(tmp_path / "r.jsonl", [
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
        {"id": "1", "timestamp": "t", "type": "user", "content": [{"text": "Go"}]},
        {"id": "2", "timestamp": "t", "type": "gemini", "content": "Done.", "model": "gemini-x"},
    ])  # fmt: skip
    assert (session.format, session.model) == ("gemini-cli", "gemini-x")
    assert [(act.kind, act.text) for act in acts] == [("user", "Go"), ("reply", "Done.")]


def test_inspects_zip(tmp_path: Path) -> None:
    call = {"id": "k", "function": "bash", "arguments": {"command": "ls"}, "type": "function"}
    messages = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "k", "function": "bash", "content": "", "error": {"type": "approval", "message": "no"}}]  # fmt: skip
    with zipfile.ZipFile(tmp_path / "l.eval", "w") as log:
        log.writestr("header.json", json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}))
        log.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "epoch": 1, "messages": messages}))
    session = next(read_sessions(tmp_path / "l.eval"))
    assert session.name.endswith("l.eval#1")
    assert _commands(acts_of(session)) == [(("ls",), False, None)]


def test_older_events_of_spans(tmp_path: Path) -> None:
    call = [{"id": "k", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]
    _, acts = _read(tmp_path / "e.jsonl", [
        {"name": "chat m", "context": {"trace_id": "t"}, "attributes": {"gen_ai.system": "x", "gen_ai.request.model": "m"}, "events": [
            {"name": "gen_ai.user.message", "attributes": {"content": "Go"}},
            {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": None, "tool_calls": call})}},
        ]},
    ])  # fmt: skip
    assert [act.text for act in acts if act.kind == "user"] == ["Go"]
    assert [words for words, _, _ in _commands(acts)] == [("ls",)]


def test_runs_of_worlds_are_sessions(tmp_path: Path) -> None:
    adhere.evaluate("scripted/solver", "world:files:x3", out=tmp_path / "run")
    sessions = list(read_sessions(tmp_path / "run"))
    assert len(sessions) == 3
    assert all(one.format == "episode" and one.model == "scripted/solver" for one in sessions)
    acts = [act for one in sessions for act in acts_of(one)]
    assert {act.kind for act in acts} >= {"user", "reply", "call"}
    assert any(act.kind == "edit" for act in acts) or any(act.kind == "read" for act in acts)
