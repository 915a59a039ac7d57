"""Match sessions of several sets by their task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from adhere.rules.session.model import Session, Speech
from adhere.rules.session.read import ENDINGS

Way = Literal["id", "file", "request"]
WAYS: tuple[Way, ...] = get_args(Way)
WORDS: dict[str, str] = {
    "id": "the id that the logs give a task",
    "file": "the name of its file",
    "request": "the first message of the user",
}
LONGEST_REQUEST = 200


class TaskNames(NamedTuple):
    """Holds the names that may identify the task of a session; an empty one is absent.

    Attributes:
        id: The log's name of the task: `task`, a sample's id, an episode's.
        file: The path of the session's file below the given folder, without ending; empty if the file has more
            sessions.
        request: The beginning of the user's first message.
    """

    id: str
    file: str
    request: str


def task_names(session: Session, root: Path) -> TaskNames:
    """Return the names of a session's task; `root` is the path that the session was read from."""
    rest, _, mark = session.name.removeprefix(str(root)).partition("#")
    file = rest.lstrip("/\\") or root.name
    ending = next((ending for ending in sorted(ENDINGS, key=len, reverse=True) if file.endswith(ending)), "")
    return TaskNames(session.task_id, "" if mark else file.removesuffix(ending), request_of(session))


def request_of(session: Session) -> str:
    """Return the beginning of the user's first message, on one line; empty if there is none."""
    first = next((event for event in session.events if isinstance(event, Speech) and event.who == "user"), None)
    return " ".join(first.text.split())[:LONGEST_REQUEST] if first is not None else ""


def way_of(sets: Sequence[Sequence[TaskNames]]) -> Way:
    """Return the way of naming tasks (id, file or request) by which most sessions match one of another set.

    Of two ways that match equally many, the first. A set counts a name once, so that names that several tasks share
    bring few together.
    """

    def met(way: Way) -> int:
        names = Counter(name for rows in sets for name in {getattr(row, way) for row in rows} - {""})
        return sum(number for number in names.values() if number > 1)

    return max(WAYS, key=met)
