"""One story told as each tool would log it: a list of `say`, `user`, `run`, `write`, `edit`, `read` steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from adhere.rules.session.model import Session
from adhere.rules.session.read import read_sessions

ROOT = "/work/shop"


class Step(NamedTuple):
    kind: str  # user, say, run, write, edit, read
    text: str = ""  # what is said; the command; the path
    more: str = ""  # the result; the text that is written
    status: int | None = 0
    state: str = ""  # "rejected", "interrupted"


def user(text: str) -> Step:
    return Step("user", text)


def say(text: str) -> Step:
    return Step("say", text)


def run(command: str, result: str = "", status: int | None = 0, state: str = "") -> Step:
    return Step("run", command, result, status, state)


def write(path: str, text: str) -> Step:
    return Step("write", path, text)


def edit(path: str, old: str, new: str) -> Step:
    return Step("edit", path, f"{old}\0{new}")


def read(path: str, text: str = "") -> Step:
    return Step("read", path, text)


def _lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def claude(steps: list[Step], root: str = ROOT) -> str:
    base = {"sessionId": "s", "cwd": root, "version": "2.1.0", "gitBranch": "work", "isSidechain": False}
    rows: list[Any] = [{"type": "summary", "summary": "all rules kept", "leafUuid": "x"}]
    for number, step in enumerate(steps):
        stamp = {"uuid": f"u{number}", "timestamp": f"2026-10-01T10:00:{number % 60:02}Z"}
        if step.kind == "user":
            rows.append({**base, **stamp, "type": "user", "message": {"role": "user", "content": step.text}})
            continue
        message: dict[str, Any] = {"id": f"m{number}", "role": "assistant", "model": "claude-test", "content": []}
        if step.kind == "say":
            message["content"] = [{"type": "text", "text": step.text}]
            rows += [{**base, **stamp, "type": "assistant", "message": message}] * 2  # streamed twice
            continue
        name, fields = _claude_call(step, root)
        message["content"] = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": fields}]
        rows.append({**base, **stamp, "type": "assistant", "message": message})
        part: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": step.more if step.kind in {"run", "read"} else "ok",
        }
        extra: Any = {"stdout": step.more, "stderr": "", "interrupted": step.state == "interrupted"}
        if step.state == "rejected":
            part |= {
                "is_error": True,
                "content": "The user doesn't want to proceed with this tool use. The tool use was rejected",
            }
            extra = "User rejected tool use"
        elif step.status and step.kind == "run":
            part |= {"is_error": True, "content": f"Exit code {step.status}\n{step.more}"}
            extra = f"Error: Exit code {step.status}"
        rows.append(
            {
                **base,
                "uuid": f"r{number}",
                "type": "user",
                "message": {"role": "user", "content": [part]},
                "toolUseResult": extra,
            }
        )
    return _lines(rows)


def _claude_call(step: Step, root: str) -> tuple[str, dict[str, Any]]:
    path = f"{root}/{step.text}"
    old, _, new = step.more.partition("\0")
    return {
        "run": ("Bash", {"command": step.text}),
        "write": ("Write", {"file_path": path, "content": step.more}),
        "edit": ("Edit", {"file_path": path, "old_string": old, "new_string": new}),
        "read": ("Read", {"file_path": path}),
    }[step.kind]


def codex(steps: list[Step], root: str = ROOT) -> str:
    rows: list[Any] = [
        _codex("session_meta", {"id": "c", "cwd": root, "cli_version": "0.60.0", "git": {"branch": "work"}}),
        _codex("turn_context", {"cwd": root, "model": "gpt-test"}),
        _item(
            "message",
            role="user",
            content=[
                {
                    "type": "input_text",
                    "text": f"# AGENTS.md instructions for {root}\n<INSTRUCTIONS>all rules kept</INSTRUCTIONS>",
                }
            ],
        ),
    ]
    for number, step in enumerate(steps):
        key = f"call_{number}"
        if step.kind in {"user", "say"}:
            role, kind = ("user", "input_text") if step.kind == "user" else ("assistant", "output_text")
            rows.append(_item("message", role=role, content=[{"type": kind, "text": step.text}]))
            event = {"type": "user_message" if step.kind == "user" else "agent_message", "message": step.text}
            rows.append(_codex("event_msg", event))
        elif step.kind in {"write", "edit"}:
            rows.append(_item("custom_tool_call", name="apply_patch", call_id=key, input=_patch(step)))
            rows.append(
                _item(
                    "custom_tool_call_output",
                    call_id=key,
                    output=json.dumps({"output": "Success", "metadata": {"exit_code": 0}}),
                )
            )
        else:
            command = step.text if step.kind == "run" else f"cat {step.text}"
            rows.append(
                _item(
                    "function_call",
                    name="shell",
                    call_id=key,
                    arguments=json.dumps({"command": ["bash", "-lc", command], "workdir": root}),
                )
            )
            output = json.dumps({"output": step.more, "metadata": {"exit_code": step.status, "duration_seconds": 0.1}})
            output = (
                "exec command rejected by user"
                if step.state == "rejected"
                else "aborted by user after 3.1s"
                if step.state == "interrupted"
                else output
            )
            rows.append(_item("function_call_output", call_id=key, output=output))
    rows.append(_codex("event_msg", {"type": "token_count", "info": None}))
    return _lines(rows)


def _codex(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-10-01T10:00:00Z", "type": kind, "payload": payload}


def _item(kind: str, **fields: Any) -> dict[str, Any]:
    return _codex("response_item", {"type": kind, **fields})


def _patch(step: Step) -> str:
    if step.kind == "write":
        body = f"*** Add File: {step.text}\n" + "".join(f"+{line}\n" for line in step.more.splitlines())
    else:
        old, _, new = step.more.partition("\0")
        lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        body = f"*** Update File: {step.text}\n@@\n" + "\n".join(lines) + "\n"
    return f"*** Begin Patch\n{body}*** End Patch"


def gemini(steps: list[Step], root: str = ROOT) -> str:
    messages: list[Any] = []
    for number, step in enumerate(steps):
        head = {"id": f"g{number}", "timestamp": "2026-10-01T10:00:00Z"}
        if step.kind == "user":
            messages.append({**head, "type": "user", "content": step.text})
        elif step.kind == "say":
            messages.append({**head, "type": "gemini", "content": step.text, "model": "gemini-test", "thoughts": []})
        else:
            messages.append(
                {
                    **head,
                    "type": "gemini",
                    "content": "",
                    "model": "gemini-test",
                    "toolCalls": [_gemini_call(step, number, root)],
                }
            )
    document = {"sessionId": "g", "projectHash": "h", "startTime": "2026-10-01T10:00:00Z", "messages": messages}
    return json.dumps(document, indent=2)


def _gemini_call(step: Step, number: int, root: str) -> dict[str, Any]:
    old, _, new = step.more.partition("\0")
    name, fields, text = {
        "run": (
            "run_shell_command",
            {"command": step.text},
            step.more + (f"\nExit Code: {step.status}" if step.status else ""),
        ),
        "write": ("write_file", {"file_path": f"{root}/{step.text}", "content": step.more}, "ok"),
        "edit": ("replace", {"file_path": f"{root}/{step.text}", "old_string": old, "new_string": new}, "ok"),
        "read": ("read_file", {"absolute_path": f"{root}/{step.text}"}, step.more),
    }[step.kind]
    status = "cancelled" if step.state else "success"
    result = [{"functionResponse": {"id": f"c{number}", "name": name, "response": {"output": text}}}]
    return {"id": f"c{number}", "name": name, "args": fields, "status": status, "result": result}


def _chat_messages(steps: list[Step]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        if step.kind in {"user", "say"}:
            messages.append({"role": "user" if step.kind == "user" else "assistant", "content": step.text})
            continue
        name, fields = _claude_call(step, ROOT)
        call = {
            "id": f"k{number}",
            "type": "function",
            "function": {"name": name.lower(), "arguments": json.dumps(fields)},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = step.more if step.kind != "run" else f"{step.more}\nExit code: {step.status}"
        text = (
            "The user rejected the call: rejected by user"
            if step.state == "rejected"
            else "aborted by user"
            if step.state
            else text
        )
        messages.append({"role": "tool", "tool_call_id": f"k{number}", "content": text})
    return messages


def chat(steps: list[Step], root: str = ROOT) -> str:
    return _lines([{"model": "m", "cwd": root, "messages": _chat_messages(steps)}])


def chat_log(steps: list[Step], root: str = ROOT) -> str:
    """A log of requests, each with the conversation so far."""
    messages = _chat_messages(steps)
    ends = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    rows = [
        {
            "request": {"model": "m", "messages": messages[:place]},
            "response": {"choices": [{"message": messages[place]}]},
            "cwd": root,
        }
        for place in ends
    ]
    return _lines(rows)


def responses(steps: list[Step], root: str = ROOT) -> str:
    items: list[Any] = []
    for number, step in enumerate(steps):
        if step.kind in {"user", "say"}:
            items.append(
                {
                    "type": "message",
                    "role": "user" if step.kind == "user" else "assistant",
                    "content": [{"type": "output_text", "text": step.text}],
                }
            )
            continue
        name, fields = _claude_call(step, ROOT)
        items.append(
            {"type": "function_call", "call_id": f"k{number}", "name": name.lower(), "arguments": json.dumps(fields)}
        )
        text = step.more if step.kind != "run" else f"{step.more}\nExit code: {step.status}"
        text = "rejected by user" if step.state == "rejected" else "aborted by user" if step.state else text
        items.append({"type": "function_call_output", "call_id": f"k{number}", "output": text})
    return _lines([{"id": "r1", "model": "m", "input": items[:1], "output": items[1:], "cwd": root}])


def inspect(steps: list[Step], root: str = ROOT) -> str:
    messages = _chat_messages(steps)
    for message in messages:
        for call in message.pop("tool_calls", []) if message.get("tool_calls") else []:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "function": call["function"]["name"],
                    "arguments": json.loads(call["function"]["arguments"]),
                    "type": "function",
                }
            ]
    sample = {"id": "one", "epoch": 1, "input": "x", "messages": messages}
    return json.dumps(
        {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [sample]}, indent=1
    )


def spans(steps: list[Step], root: str = ROOT) -> str:
    rows: list[Any] = []

    def span(name: str, **fields: Any) -> None:
        attributes = [
            {"key": f"gen_ai.{key.replace('__', '.')}", "value": {"stringValue": value}}
            for key, value in fields.items()
        ]
        number = len(rows) + 1
        inner = {
            "traceId": "t",
            "spanId": str(number),
            "name": name,
            "endTimeUnixNano": str(1790000000000000000 + number),
            "startTimeUnixNano": str(1790000000000000000),
            "attributes": attributes,
        }
        rows.append({"resourceSpans": [{"scopeSpans": [{"spans": [inner]}]}]})

    for number, step in enumerate(steps):
        if step.kind in {"user", "say"}:
            side = "input__messages" if step.kind == "user" else "output__messages"
            message = [
                {
                    "role": "user" if step.kind == "user" else "assistant",
                    "parts": [{"type": "text", "content": step.text}],
                }
            ]
            span("chat", operation__name="chat", request__model="m", **{side: json.dumps(message)})
            continue
        name, fields = _claude_call(step, ROOT)
        text = step.more if step.kind != "run" else f"{step.more}\nExit code: {step.status}"
        text = "rejected by user" if step.state == "rejected" else "aborted by user" if step.state else text
        span(
            "execute_tool",
            operation__name="execute_tool",
            tool__name=name.lower(),
            tool__call__id=f"k{number}",
            tool__call__arguments=json.dumps(fields),
            tool__call__result=text,
        )
    return _lines(rows)


FORMATS = {
    "claude.jsonl": claude, "codex.jsonl": codex, "gemini.json": gemini, "chat.jsonl": chat, "chatlog.jsonl": chat_log,
    "responses.jsonl": responses, "inspect.json": inspect, "spans.jsonl": spans,
}  # fmt: skip


def session(folder: Path, steps: list[Step], name: str = "claude.jsonl", root: str = ROOT) -> Session:
    """A story, written in one format and read back."""
    path = folder / name
    path.write_text(FORMATS[name](steps, root), encoding="utf-8")
    return next(read_sessions(path))
