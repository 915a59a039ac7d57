"""The answers that an audit gives in place of an honest one. The floors and the gate's tests use the same catalogue."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from adhere.constraints.resolve import resolve
from adhere.pipeline.floors.bots import ANSWERERS
from adhere.pipeline.intent.exploits import exploits_of
from adhere.rewards.audit.rows import AuditRow

LAST = 3  # a cut answer keeps this part of its words


class Script(NamedTuple):
    """Holds one script: an answer to every prompt.

    Attributes:
        name: Its name in the audit.
        group: `empty`, `constant`, `refusal`, `filler`, `echo` and `bot` read no more than the prompt; `changed`
            are spoilt honest answers; `exploit` are made from the row's constraints.
        answers: One answer for each row; None: it has none for this row.
    """

    name: str
    group: str
    answers: list[str | None]


def scripts_for(rows: Sequence[AuditRow]) -> Iterator[Script]:
    """Yield every script with its answers to the rows."""
    for name, text in (("nothing", ""), ("a blank", " \n")):
        yield Script(name, "empty", [text] * len(rows))
    for answerer in ANSWERERS:
        yield Script(answerer.name, answerer.group, [answerer.answer(row.asked) for row in rows])
    of_next = [row.honest[0] if len(rows) > 1 else None for row in (*rows[1:], *rows[:1])]
    yield Script("another prompt's answer", "changed", of_next)
    for name, change in _CHANGES.items():
        yield Script(name, "changed", [change(row.honest[0]) for row in rows])
    exploits: dict[str, list[str | None]] = {}
    for place, row in enumerate(rows):
        for shape, text in _exploits(row).items():
            exploits.setdefault(shape, [None] * len(rows))[place] = text
    for shape, answers in exploits.items():
        yield Script(f"exploit: {shape}", "exploit", answers)


def _shuffle(text: str) -> str:
    words = text.split()
    random.Random(len(words)).shuffle(words)
    return " ".join(words)


def _cut(text: str) -> str:
    words = text.split(" ")
    return " ".join(words[: max(1, len(words) // LAST)])


_CHANGES: dict[str, Callable[[str], str]] = {
    "words shuffled": _shuffle,
    "cut after a third": _cut,
    "backwards": lambda text: text[::-1],
    "five times over": lambda text: "\n\n".join([text] * 5),
}


def _exploits(row: AuditRow) -> dict[str, str]:
    """Return, by shape, answers that pass one constraint and do nothing else; of each shape, the first constraint's."""
    texts_by_shape: dict[str, str] = {}
    for ref in row.refs:
        for exploit in exploits_of(resolve(ref), row.asked, row.honest):
            texts_by_shape.setdefault(exploit.shape, exploit.text)
    return texts_by_shape


MEAN_THE_SAME: dict[str, Callable[[str], str]] = {
    "a line break at the end": lambda text: text + "\n",
    "blanks around it": lambda text: f"  {text}  ",
    "line breaks of Windows": lambda text: text.replace("\n", "\r\n"),
    "typographic apostrophes": lambda text: text.replace("'", "\u2019"),
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
}
"""Changes that keep an answer's meaning. A reward that pays differently after one looks at the wrong thing."""
