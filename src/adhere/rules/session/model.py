"""Define a session: turns in order, calls with their results, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from adhere.schema import Json

Who = Literal["user", "assistant", "system", "notice"]
State = Literal["done", "failed", "rejected", "interrupted", "unknown"]
"""What became of a call: `failed` ran and ended badly, `rejected` and `interrupted` did not run to an end."""


@dataclass
class Speech:
    """Something said.

    Attributes:
        line: Where it stands in the log, from 1; of a log that is one document, the number of the message.
        who: `notice` is what the tool itself put in: reminders, summaries, its own errors.
        text: Whole.
        agent: Empty: the session's own; else the name of a sub-agent.
        final: Whether the assistant's turn ends with it; set when the log is read.
    """

    line: int
    who: Who
    text: str
    agent: str = ""
    final: bool = False


@dataclass
class Call:
    """A call of a tool, with its result.

    Attributes:
        line: Where it stands in the log.
        tool: Its name as it is logged.
        arguments: As they are logged; a text that is no JSON object stands under `input`.
        agent: As of Speech.
        state: What became of it.
        exit_code: Of a command; None: nobody says.
        result: Its beginning and its end; None: the log has none.
        result_line: Where that stands.
        whole: The file before or after, by path, where the log holds all of it.
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
    """One session.

    Attributes:
        name: The file, and behind `#` which session of it.
        format: Who logged it.
        events: In order.
        cwd: Where it began; empty: the log does not say.
        agent, version, model: Of the program and the model; empty: the log does not say.
        started: ISO time of the first record that has one; empty: none has.
        task_id: What its log calls the task that it worked on; empty: the log does not say.
        gaps: Lines that could not be read, with the reason.
        cut: Whether the last line is cut off.
        complete: Whether the log shows results of calls.
        told: Texts that the session was told beside the user's, as far as the log shows it.
        solved: Whether its task was solved; None: nobody says.
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
