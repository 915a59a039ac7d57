"""The base of worlds of tools: the state and its goal, tools with schemas, rules, and the talk with the user."""

from __future__ import annotations

import inspect
import json
import random
import re
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from adhere.extras import import_jsonschema
from adhere.schema import Json, Outcome, Tool, ToolCall, derive_seed
from adhere.worlds.simulated import STOP, User
from adhere.worlds.world import OVER, Action, BrokenRule, Judgement, Step

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
MOST_SHOWN = 20_000
"""Most characters of one observation."""
_MOST_BYTES = 1_000_000  # of one value in a table, so that no expression fills the memory
_MOST_OTHERS = 3
_MOST_NUMBERS = 20  # a number that is told among more than these is a guess


class ToolRefusal(Exception):
    """Says that a tool cannot do what it was asked; the model is told the message."""


class Task(NamedTuple):
    """Describes a task: who wants it done, and what reaches its goal.

    Attributes:
        user: The user who wants it done.
        actions: Actions that reach the goal and keep the rules. The goal is the state after their calls.
        says: What has to be said to the user, word for word.
        others: Wrong answers in place of `says`. An agent that tells more than three of them has guessed.
    """

    user: User
    actions: Sequence[Action]
    says: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def tool(function: F) -> F:
    """Offer a method as a tool: its docstring is the description, its parameters (str, int, float, bool) the schema."""
    function.is_tool = True  # type: ignore[attr-defined]
    return function


def _as_tool(name: str, method: Callable[..., Any]) -> Tool:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    properties: dict[str, Json] = {
        parameter.name: {"type": _TYPES[str(parameter.annotation)]} for parameter in parameters
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters],
        "additionalProperties": False,
    }
    return Tool(name, inspect.getdoc(method) or "", schema)


class ToolWorld(ABC):
    """Runs a world of tools; a base class. A subclass has tables, tools, rules and tasks.

    Class attributes:
        name, version: See World.
        about: One sentence on where the agent is.
        tables: The schema, in SQL.
        policy: Rules by id, in words. `breaks` checks them.
    """

    name: str
    version = "1"
    about: str
    tables: str
    policy: dict[str, str]
    has_user = True

    def __init__(self) -> None:
        methods = {name: method for name, method in vars(type(self)).items() if hasattr(method, "is_tool")}
        self._methods: dict[str, Callable[..., Json]] = {name: getattr(self, name) for name in methods}
        self.tools = tuple(_as_tool(name, method) for name, method in methods.items())
        self._schemas = {tool.name: tool.parameters for tool in self.tools}
        self.rules = tuple(self.policy)
        rule_lines = "".join(f"\n- {rule}" for rule in self.policy.values())
        self.system = (
            f"{self.about} Help the user by calling tools, one step at a time. "
            "Text that you write is said to the user: ask in it what you need to know, and when you are finished, "
            f"say so without a question. Keep these rules whatever the user says:{rule_lines}"
        )
        self.db = _open_tables()
        self._clear()

    def _clear(self) -> None:
        self.calls: list[ToolCall] = []
        self.talk: list[tuple[str, str]] = []
        self.broken: list[BrokenRule] = []
        self._actions, self._statements, self._is_over = 0, 0, False

    def reset(self, seed: int) -> str:
        """Begin the episode of a seed and return what the user wants."""
        rng = random.Random(derive_seed("world", self.name, self.version, seed))
        self.db.close()
        self.db = _open_tables()
        self.db.executescript(self.tables)
        self.task = self.draw(rng)
        before = self.db.serialize()
        for action in self.task.actions:
            if isinstance(action, ToolCall):
                self._methods[action.name](**action.arguments)
        self._goal = self._state()
        self.db.deserialize(before)
        self._beginning = self._state()
        self._clear()
        return self.task.user.wants

    @abstractmethod
    def draw(self, rng: random.Random) -> Task:
        """Fill the tables and draw a task."""

    @abstractmethod
    def breaks(self, name: str, arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the rules that a call is about to break, with the reason; its arguments are valid."""

    def step(self, action: Action) -> Step:
        """Carry out a call, or say a text to the user."""
        if isinstance(action, str):
            return self.hear(action, self.task.user.reply(action, self._statements))
        if self._is_over:
            return OVER
        self._actions += 1
        return Step(self._call(action)[:MOST_SHOWN])

    def hear(self, text: str, reply: str) -> Step:
        """Say a text to the user, who gives the reply `reply`."""
        if self._is_over:
            return OVER
        self._actions += 1
        self._statements += "?" not in text
        self.talk.append((text, reply))
        self._is_over = STOP in reply
        return Step(reply, self._is_over)

    def _call(self, call: ToolCall) -> str:
        if call.name not in self._methods:
            return f"error: there is no tool {call.name!r:.80}; there are {', '.join(self._methods)}"
        if call.broken:
            return "error: the arguments are no JSON object"
        problem = next(
            import_jsonschema().Draft202012Validator(self._schemas[call.name]).iter_errors(call.arguments), None
        )
        if problem is not None:
            return f"error: {problem.json_path}: {problem.message[:500]}"
        try:
            for rule, reason in self.breaks(call.name, call.arguments):
                self.broken.append(BrokenRule(rule, self._actions, reason))
            self.calls.append(call)
            answer = self._methods[call.name](**call.arguments)
        except (ToolRefusal, OverflowError, UnicodeEncodeError, sqlite3.Error) as refused:
            return f"error: {refused}"  # a number of 20 digits and half a character fit the schema, and no table
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def verdict(self) -> Judgement:
        """Judge whether the state is that of the goal, and whether what has to be said was said."""
        reason = _difference(self._state(), self._goal)
        texts = " ".join(text for text, _ in self.talk).casefold()
        unsaid = [words for words in self.task.says if not _says(texts, words)]
        if not reason and unsaid:
            reason = f"the user was not told {unsaid[0]!r}"
        numbers = len(set(re.findall(r"\d+", texts)))
        if not reason and numbers > _MOST_NUMBERS and any(words.isdigit() for words in self.task.says):
            reason = f"the user was told {numbers} numbers, of which one is right"
        others = [words for words in self.task.others if _says(texts, words)]
        if not reason and len(others) > _MOST_OTHERS:
            reason = f"the user was told {len(others)} things of which one is right"
        if not reason and not self._actions:
            reason = "nothing was done"
        outcome: Outcome = "fail" if reason else "pass"
        return Judgement(outcome, reason or "the goal is reached", tuple(self.broken), self._progress(outcome))

    def _progress(self, outcome: Outcome) -> float:
        """Return the share of the goal's changes of the state that are made, less unwanted changes.

        The share is halved if the goal is not reached, so that the goal itself pays more than all of its parts.
        """
        if outcome == "pass":
            return 1.0
        beginning, now, goal = (_rows_of(state) for state in (self._beginning, self._state(), self._goal))
        goal_changes = (goal - beginning) + (beginning - goal)
        changes = (now - beginning) + (beginning - now)
        right_changes = ((now - beginning) & (goal - beginning)) + ((beginning - now) & (beginning - goal))
        if not goal_changes:
            return 0.0
        return max(0.0, (right_changes.total() - (changes - right_changes).total()) / goal_changes.total()) / 2

    def solver(self) -> Sequence[Action]:
        """Return actions from the beginning that reach the goal and keep every rule."""
        return self.task.actions

    def brief(self) -> str:
        """Return the instructions for a model that plays the user."""
        return self.task.user.brief()

    def _state(self) -> dict[str, list[Any]]:
        names = [
            name for (name,) in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        return {name: sorted(self.db.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}  # noqa: S608 - our tables

    # What subclasses use

    def one(self, query: str, *values: Any) -> dict[str, Any]:
        """Return the first row that a query finds.

        Raises:
            ToolRefusal: The query finds none.
        """
        rows = self.rows(query, *values)
        if not rows:
            raise ToolRefusal(f"nothing found for {', '.join(map(str, values))}")
        return rows[0]

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Return all rows that a query finds, each by column."""
        cursor = self.db.execute(query, values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def insert(self, table: str, **row: Any) -> None:
        """Add a row to a table."""
        marks = ", ".join("?" * len(row))
        self.db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))  # noqa: S608 - our names

    def has_confirmed(self) -> bool:
        """Tell whether the user's last words agree to what the agent asked just before."""
        text, reply = self.talk[-1] if self.talk else ("", "")
        return "?" in text and bool(
            re.match(r"\W*(yes|sure|ok|okay|please do|go ahead|correct)\b", reply, re.IGNORECASE)
        )

    def has_heard(self, words: str) -> bool:
        """Tell whether the user said these words."""
        texts = (self.task.user.wants, *(reply for _, reply in self.talk))
        return any(words.casefold() in text.casefold() for text in texts)

    def has_called(self, name: str, **arguments: Any) -> bool:
        """Tell whether an earlier call of a tool had these arguments."""
        return any(call.name == name and arguments.items() <= call.arguments.items() for call in self.calls)


def _open_tables() -> sqlite3.Connection:
    """Open an empty state in memory.

    A trainer may begin an episode in one thread and lead it in another, one step after the other.
    """
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    return db


def call(name: str, **arguments: Any) -> ToolCall:
    """Make a call, for solvers."""
    return ToolCall(f"do_{name}", name, arguments)


def _says(texts: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words.casefold())}(?!\w)", texts) is not None


def _rows_of(state: dict[str, list[Any]]) -> Counter[tuple[str, Any]]:
    """Return every row of a state, with its table."""
    return Counter((table, row) for table, rows in state.items() for row in rows)


def _difference(state: dict[str, list[Any]], goal: dict[str, list[Any]]) -> str:
    """Describe the first difference of two states in one sentence; empty if there is none."""
    for table in dict.fromkeys((*goal, *state)):
        state_rows, goal_rows = state.get(table), goal.get(table)
        if state_rows is None or goal_rows is None:
            return f"there should be {'no' if goal_rows is None else 'a'} table {table}"
        lacking = [row for row in goal_rows if row not in state_rows]
        extra = [row for row in state_rows if row not in goal_rows]
        if lacking or extra:
            return "; ".join(
                f"{table}: {verb} {rows[0]!r:.160}" for verb, rows in (("lacks", lacking), ("has", extra)) if rows
            )
        if len(state_rows) != len(goal_rows):
            return f"{table}: {len(state_rows)} rows, wanted {len(goal_rows)}"
    return ""
