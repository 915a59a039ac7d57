"""Fill a session while a log is read: each message once, each result with its call."""

from __future__ import annotations

import json
import re
from typing import Any

from adhere.rules.session.model import Call, Session, Speech, State, Who
from adhere.schema import Json

Failed = bool | None
MOST_RESULT = 4000
"""Characters of a result that are kept, half from its beginning and half from its end."""
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
    """Puts what a reader meets into a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._calls: dict[str, Call] = {}
        self._texts: dict[str, list[Speech]] = {}
        self._waiting: dict[str, list[Call]] = {}

    def say(self, line: int, who: Who, text: str, *, agent: str = "", key: str = "") -> None:
        """Add what was said; a streamed text that goes on replaces its beginning.

        Args:
            line: Where it stands.
            who: Whose it is.
            text: Nothing is added for an empty one.
            agent: See Speech.
            key: Names the message where the log repeats it.
        """
        if not text.strip():
            return
        if key:
            known = self._texts.setdefault(key, [])
            if any(one.text.startswith(text) for one in known):
                return
            if (begun := next((one for one in known if text.startswith(one.text)), None)) is not None:
                begun.text = text
                return
        said = Speech(line, who, text, agent)
        self.session.events.append(said)
        if key:
            self._texts[key].append(said)

    def call(self, line: int, key: str, tool: str, arguments: Any, *, agent: str = "", cwd: str = "") -> Call:
        """Add a call, once for each `key`; a later record with more arguments completes it."""
        known = self._calls.get(key) if key else None
        fields = as_arguments(arguments)
        if known is not None:
            if len(str(fields)) > len(str(known.arguments)):
                known.arguments = fields
            return known
        made = Call(line, tool, fields, agent, cwd=cwd)
        self.session.events.append(made)
        if key:
            self._calls[key] = made
        self._waiting.setdefault(tool, []).append(made)
        return made

    def result(
        self, line: int, key: str, text: str, *, error: bool | None = None, exit_code: int | None = None,
        state: State | None = None, tool: str = "",
    ) -> Call | None:  # fmt: skip
        """Give a call its result; None: the log has no such call."""
        known = self._calls.get(key) if key else None
        if known is None and not key and tool:
            known = next((one for one in self._waiting.get(tool, []) if one.result is None), None)
        if known is None:
            return None
        if known.result is None or text:
            known.result, known.result_line = shorten(text), line
        code = exit_code if exit_code is not None else _exit_code(text)
        known.exit_code = code if code is not None else known.exit_code
        known.state = state or _state(text, error, known.exit_code)
        return known

    def known(self, key: str) -> Call | None:
        """The call of a key."""
        return self._calls.get(key)

    def interrupt(self) -> None:
        """Mark every call that has no result: the user stopped it."""
        for one in self.session.events:
            if isinstance(one, Call) and one.result is None and one.state == "unknown":
                one.state = "interrupted"

    def finish(self) -> Session:
        """Mark the last text of each turn as final, and return the session."""
        session, last = self.session, None
        for one in session.events:
            if isinstance(one, Speech) and one.who == "user" and not one.agent and last is not None:
                last.final, last = True, None
            elif isinstance(one, Speech) and one.who == "assistant" and not one.agent:
                last = one
            elif isinstance(one, Call) and not one.agent:
                last = None
        if last is not None:
            last.final = True
        return session


def as_arguments(arguments: Any) -> dict[str, Json]:
    """A call's arguments as an object; a text that is none stands under `input`."""
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments) if arguments.strip().startswith("{") else None
        except (ValueError, RecursionError):
            value = None
        return value if isinstance(value, dict) else {"input": arguments} if arguments else {}
    return arguments if isinstance(arguments, dict) else {} if arguments is None else {"input": arguments}


def shorten(text: str) -> str:
    """A long text's beginning and end."""
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
