"""Fill a session while a log is read: each message once, each result with its call."""

from __future__ import annotations

import json
import re
from typing import Any

from adhere.rules.session.model import Call, Session, Speech, State, Who
from adhere.schema import Json

Failed = bool | None
MOST_RESULT = 4000
"""Most characters of a result that are kept, half from its beginning and half from its end."""
_EXIT = re.compile(
    r"(?:^|\n)\W{0,3}(?:[Ee]xit [cC]ode:?|Process exited with code|exited with code|exit status:?|"
    r"returncode[:=])\s*(-?\d+)"
)
_REJECTED = re.compile(
    r"(?i)doesn't want to proceed with this tool use|tool use was rejected|rejected by (?:the )?user|user rejected"
    r"|Permission to use .{1,200} (?:has been )?denied|requires approval|hook (?:error|blocked)|denied by|user declined"
    r"|cancelled by (?:the )?user|<tool_use_error>|was declined|not approved|User denied"
)
_INTERRUPTED = re.compile(r"(?i)\[Request interrupted by user|aborted by user|interrupted by user|command was aborted")


class Recorder:
    """Adds what a reader finds to a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._calls: dict[str, Call] = {}
        self._texts: dict[str, list[Speech]] = {}
        self._waiting: dict[str, list[Call]] = {}

    def say(self, line: int, who: Who, text: str, *, agent: str = "", key: str = "") -> None:
        """Add a text that was said; a streamed text replaces its own earlier beginning.

        Args:
            line: Where it stands in the log.
            who: Who said it.
            text: An empty text is not added.
            agent: The name of a sub-agent; empty: the session's own agent.
            key: Names the message, where the log repeats it; empty: it has no name.
        """
        if not text.strip():
            return
        if key:
            speeches = self._texts.setdefault(key, [])
            if any(speech.text.startswith(text) for speech in speeches):
                return
            if (beginning := next((speech for speech in speeches if text.startswith(speech.text)), None)) is not None:
                beginning.text = text
                return
        speech = Speech(line, who, text, agent)
        self.session.events.append(speech)
        if key:
            self._texts[key].append(speech)

    def call(self, line: int, key: str, tool: str, arguments: Any, *, agent: str = "", cwd: str = "") -> Call:
        """Add a call once for each `key` (empty: always); a later record with longer arguments completes the call."""
        earlier_call = self._calls.get(key) if key else None
        fields = as_arguments(arguments)
        if earlier_call is not None:
            if len(str(fields)) > len(str(earlier_call.arguments)):
                earlier_call.arguments = fields
            return earlier_call
        new_call = Call(line, tool, fields, agent, cwd=cwd)
        self.session.events.append(new_call)
        if key:
            self._calls[key] = new_call
        self._waiting.setdefault(tool, []).append(new_call)
        return new_call

    def result(
        self, line: int, key: str, text: str, *, error: bool | None = None, exit_code: int | None = None,
        state: State | None = None, tool: str = "",
    ) -> Call | None:  # fmt: skip
        """Give the call of `key` its result and return the call; None if the log has no such call."""
        call = self._calls.get(key) if key else None
        if call is None and not key and tool:
            call = next((call for call in self._waiting.get(tool, []) if call.result is None), None)
        if call is None:
            return None
        if call.result is None or text:
            call.result, call.result_line = shorten(text), line
        code = exit_code if exit_code is not None else _exit_code(text)
        call.exit_code = code if code is not None else call.exit_code
        call.state = state or _state(text, error, call.exit_code)
        return call

    def known(self, key: str) -> Call | None:
        """Return the call of a key; None if there is none."""
        return self._calls.get(key)

    def interrupt(self) -> None:
        """Mark every call without a result as interrupted by the user."""
        for event in self.session.events:
            if isinstance(event, Call) and event.result is None and event.state == "unknown":
                event.state = "interrupted"

    def finish(self) -> Session:
        """Mark the last text of each turn as final, and return the session."""
        session, last = self.session, None
        for event in session.events:
            if isinstance(event, Speech) and event.who == "user" and not event.agent and last is not None:
                last.final, last = True, None
            elif isinstance(event, Speech) and event.who == "assistant" and not event.agent:
                last = event
            elif isinstance(event, Call) and not event.agent:
                last = None
        if last is not None:
            last.final = True
        return session


def as_arguments(arguments: Any) -> dict[str, Json]:
    """Return a call's arguments as a JSON object; anything else becomes `{"input": …}`, nothing an empty object."""
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments) if arguments.strip().startswith("{") else None
        except (ValueError, RecursionError):
            value = None
        return value if isinstance(value, dict) else {"input": arguments} if arguments else {}
    return arguments if isinstance(arguments, dict) else {} if arguments is None else {"input": arguments}


def shorten(text: str) -> str:
    """Cut the middle out of a text longer than `MOST_RESULT` characters."""
    return text if len(text) <= MOST_RESULT else f"{text[: MOST_RESULT // 2]}\n…\n{text[-MOST_RESULT // 2 :]}"


def _exit_code(text: str) -> int | None:
    match = _EXIT.search(text[:200]) or _EXIT.search(text[-300:])
    return int(match[1][:6]) if match else None


def _state(text: str, error: Failed, exit_code: int | None) -> State:
    head = text[: 60 if error is None else 160]  # without a mark of failure it may be what a file says
    if (error is not False or len(text) < 300) and _INTERRUPTED.search(head):
        return "interrupted"
    if error is not False and exit_code is None and _REJECTED.search(head):
        return "rejected"
    if exit_code is not None:
        return "done" if exit_code == 0 else "failed"
    return "unknown" if error is None else "failed" if error else "done"
