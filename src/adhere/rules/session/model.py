"""Define a session: turns in order, calls with their results, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from adhere.schema import Json

Who = Literal["user", "assistant", "system", "notice"]
State = Literal["done", "failed", "rejected", "interrupted", "unknown"]
"""State of a call: `failed` ran and ended badly; `rejected` and `interrupted` did not run to an end."""


@dataclass
class Speech:
    """Holds something that was said.

    Attributes:
        line: Where it stands in the log, from 1; in a log that is one document, the number of the message.
        who: The speaker; `notice` is what the tool itself put in: reminders, summaries, its own errors.
        text: The whole text.
        agent: The name of a sub-agent; empty: the session's own agent.
        final: Whether the assistant's turn ends with this text; set when the log has been read.
    """

    line: int
    who: Who
    text: str
    agent: str = ""
    final: bool = False


@dataclass
class Call:
    """Holds a call of a tool, with its result.

    Attributes:
        line: Where the call stands in the log.
        tool: The tool's name as it is logged.
        arguments: As they are logged; a text that is no JSON object is kept as `input`.
        agent: The name of a sub-agent; empty: the session's own agent.
        state: What became of the call.
        exit_code: Of a command; None: unknown.
        result: The result's beginning and end; None: the log has none.
        result_line: Where the result stands in the log.
        before: The file's text before the call (of a read: what was read), if the log holds all of it.
        cwd: The folder in which the call runs; empty: not given.
    """

    line: int
    tool: str
    arguments: dict[str, Json]
    agent: str = ""
    state: State = "unknown"
    exit_code: int | None = None
    result: str | None = None
    result_line: int | None = None
    before: str | None = None
    cwd: str = ""


@dataclass
class Session:
    """Holds one session.

    Attributes:
        name: The file, and after `#` which session of the file.
        format: The format of the log.
        events: What was said and called, in order.
        cwd: The folder in which it began; empty: the log does not say.
        agent, version, model: The program, its version, and the model; empty: the log does not say.
        started: ISO time of the first record with a time; empty: none has one.
        task_id: The log's name of the session's task; empty: the log does not say.
        branch: The git branch; empty: the log does not say.
        gaps: Lines that could not be read, with the reason.
        cut: Whether the last line is cut off.
        told: Texts that the session was told in addition to the user's, as far as the log shows them.
        solved: Whether the session's task was solved; None: unknown.
    """

    name: str
    format: str
    events: list[Speech | Call] = field(default_factory=list)
    cwd: str = ""
    agent: str = ""
    version: str = ""
    model: str = ""
    started: str = ""
    task_id: str = ""
    branch: str = ""
    gaps: list[tuple[int, str]] = field(default_factory=list)
    cut: bool = False
    told: list[str] = field(default_factory=list)
    solved: bool | None = None
