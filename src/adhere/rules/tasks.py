"""Match sessions of several sets by the task that they worked on."""

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
    """The names that may identify the task of a session; empty: nothing of this sort does.

    Attributes:
        id: That its log says: `task`, a sample's id, an episode's.
        file: Of the file that holds it alone, below the folder that was given, without its ending.
        request: The beginning of the user's first message.
    """

    id: str
    file: str
    request: str


def task_names(session: Session, root: Path) -> TaskNames:
    """The names of a session's task; `root` is the path that was given to read it from."""
    rest, _, mark = session.name.removeprefix(str(root)).partition("#")
    file = rest.lstrip("/\\") or root.name
    ending = next((one for one in sorted(ENDINGS, key=len, reverse=True) if file.endswith(one)), "")
    return TaskNames(session.task_id, "" if mark else file.removesuffix(ending), request_of(session))


def request_of(session: Session) -> str:
    """The beginning of the user's first message, on one line."""
    first = next((one for one in session.events if isinstance(one, Speech) and one.who == "user"), None)
    return " ".join(first.text.split())[:LONGEST_REQUEST] if first is not None else ""


def way_of(sets: Sequence[Sequence[TaskNames]]) -> Way:
    """The sort of name by which most sessions meet one of another set; the earlier of two that are as good.

    Names that several tasks share bring few together: a set counts a task once.
    """

    def met(way: Way) -> int:
        names = Counter(name for one in sets for name in {getattr(row, way) for row in one} - {""})
        return sum(number for number in names.values() if number > 1)

    return max(WAYS, key=met)
