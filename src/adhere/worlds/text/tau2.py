"""tau2-bench's tasks as worlds.

Its own tools act on its own database, and the state that its own actions lead to decides.

    world:tau2:retail        tau2 has to be importable, its data where it looks for them (TAU2_DATA_DIR)

Taken are the tasks of a domain without tools of the user that a program decides: the database afterwards, and words
that have to be said. Left out are those with assertions in prose, which its own package gives to a model.

Source: sierra-research/tau2-bench 1.0.1 at a2c0247 (MIT); nothing of it is copied here. How ours differs: the user is
this package's script, which says its card word for word, or a model that is given this package's brief (`--user MODEL`,
tau2's way); the policy is told in a sentence of our own; and who neither said nor did anything has not passed, though
the goal may be the untouched database. So numbers here are not tau2's.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Sequence
from typing import Any, NamedTuple

from adhere.errors import MissingExtra, UsageError
from adhere.schema import Tool, ToolCall
from adhere.worlds.simulated import STOP, User
from adhere.worlds.tools.base import MOST_SHOWN
from adhere.worlds.world import OVER, Action, Judgement, Step, registry

MISSING = (
    "world tau2 needs tau2-bench's package 'tau2' and its data, which are in no extra and on no package registry. "
    "Clone github.com/sierra-research/tau2-bench and install it from there (Python 3.12 or newer)"
)
ABOUT = (
    "You are the agent of a service. Help the user by calling tools, one step at a time; "
    "text that you write is said to the user. Keep this policy:"
)
DECIDED = {"DB", "COMMUNICATE", "NL_ASSERTION"}


class Domain(NamedTuple):
    """Holds one of tau2's domains, read once.

    `made` makes its environment; `tasks` are the tasks that a program can decide.
    """

    made: Any
    policy: str
    tools: tuple[Tool, ...]
    tasks: tuple[Any, ...]


@functools.lru_cache(maxsize=4)
def _domain(name: str) -> Domain:
    try:
        importlib.import_module("tau2")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{MISSING} ({error})") from error
    try:
        module = importlib.import_module(f"tau2.domains.{name}.environment")
    except ModuleNotFoundError as error:
        raise UsageError(f"world:tau2:{name}: tau2 has no domain {name!r} ({error}); take retail or airline") from error
    try:
        environment, tasks = module.get_environment(), module.get_tasks()
    except OSError as error:
        raise UsageError(f"world:tau2:{name}: its data cannot be read ({error}). Set TAU2_DATA_DIR") from error
    if environment.user_tools is not None:
        raise UsageError(
            f"world:tau2:{name}: its user has tools of its own, which a world's user has not; take retail or airline"
        )
    schemas = [tool.openai_schema["function"] for tool in environment.get_tools()]
    tools = tuple(Tool(schema["name"], schema["description"], schema["parameters"]) for schema in schemas)
    decided_tasks = tuple(task for task in tasks if _is_decided(task))
    if not decided_tasks:
        raise UsageError(f"world:tau2:{name}: no task of it is decided by a program")
    return Domain(module.get_environment, environment.get_policy(), tools, decided_tasks)


def _is_decided(task: Any) -> bool:
    criteria = task.evaluation_criteria
    return (
        task.initial_state is None
        and criteria is not None
        and _basis(criteria) <= DECIDED
        and not criteria.nl_assertions
        and not criteria.env_assertions
    )


def _basis(criteria: Any) -> set[str]:
    """Return the names of what a task's reward depends on; tau2 has them as an enumeration."""
    return {str(getattr(basis, "value", basis)) for basis in criteria.reward_basis}


class Tau2:
    """Plays the tasks of a domain, in their order: a seed is a task's place.

    Raises:
        MissingExtra: tau2 is not installed.
        UsageError: tau2 has no such domain, or its data are not there.
    """

    rules: tuple[str, ...] = ()
    has_user = True

    def __init__(self, domain: str = "retail") -> None:
        self._domain = _domain(domain)
        self.name, self.version = f"tau2:{domain}", f"1+{_version()}"
        self.system = f"{ABOUT}\n\n{self._domain.policy}"
        self.tools = self._domain.tools
        self.episodes = len(self._domain.tasks)

    def reset(self, seed: int) -> str:
        """Begin the task at this place and return why the user calls."""
        self._place = seed % self.episodes
        self._task = self._domain.tasks[self._place]
        self._environment: Any = None
        self._said: list[str] = []
        self._acted, self._is_over = 0, False
        card = self._task.user_scenario.instructions
        notes = [getattr(card, name, None) for name in ("known_info", "unknown_info", "task_instructions")]
        wants = getattr(card, "reason_for_call", None) or str(card)
        facts = " ".join(str(note) for note in notes if note)
        self._user = User(str(wants), {"": f"{facts} Yes, if that is what I want."})
        return self._user.wants

    def step(self, action: Action) -> Step:
        """Call one of tau2's tools, or say something to the user."""
        if self._is_over:
            return OVER
        if isinstance(action, str):
            return self.hear(action, self._user.reply(action, len(self._said)))
        if action.broken:
            return Step("error: the arguments are no JSON object")
        self._acted += 1
        if self._environment is None:  # most episodes under way have not come so far, and each holds a database
            self._environment = self._domain.made()
        return Step(_call(self._environment, action)[:MOST_SHOWN])

    def hear(self, text: str, reply: str) -> Step:
        """Say a text to the user, as `step` does, but with the given reply."""
        self._said.append(text)
        self._is_over = STOP in reply
        return Step(reply, done=self._is_over)

    def verdict(self) -> Judgement:
        """Judge whether the database is as tau2's own actions leave it, and whether all was said that has to be."""
        if not self._acted and not self._said:
            return Judgement("fail", "nothing was said or done")
        criteria = self._task.evaluation_criteria
        start_hash, goal_hash = _goal(self.name.partition(":")[2], self._place)
        db_hash = start_hash if self._environment is None else self._environment.get_db_hash()
        if db_hash != goal_hash:
            return Judgement("fail", f"the database is not as after {_names_of(criteria.actions)}")
        if "COMMUNICATE" in _basis(criteria):
            texts = [text.lower().replace(",", "") for text in self._said]
            for info in criteria.communicate_info or ():
                if not any(info.lower() in text for text in texts):
                    return Judgement("fail", f"the user was not told {info!r}")
        return Judgement("pass", "the database is as it should be")

    def solver(self) -> Sequence[Action]:
        """Return tau2's own actions, then what has to be said."""
        criteria = self._task.evaluation_criteria
        calls = [
            ToolCall(f"c{place}", action.name, dict(action.arguments))
            for place, action in enumerate(criteria.actions or ())
        ]
        return [*calls, " ".join(["That is all.", *(criteria.communicate_info or ())])]

    def brief(self) -> str:
        """Return the instructions for a model that plays the user."""
        return self._user.brief()


def _call(environment: Any, call: ToolCall) -> str:
    messages = importlib.import_module("tau2.data_model.message")
    message = messages.ToolCall(id=call.id or "call", name=call.name, arguments=call.arguments, requestor="assistant")
    return str(environment.get_response(message).content)


@functools.lru_cache(maxsize=1024)
def _goal(domain: str, place: int) -> tuple[str, str]:
    """Return the hashes of tau2's database before, and after, the actions of a task."""
    environment = _domain(domain).made()
    before = str(environment.get_db_hash())
    for number, action in enumerate(_domain(domain).tasks[place].evaluation_criteria.actions or ()):
        _call(environment, ToolCall(f"g{number}", action.name, dict(action.arguments)))
    return before, str(environment.get_db_hash())


def _names_of(actions: Sequence[Any] | None) -> str:
    return ", ".join(action.name for action in actions or ()) or "no action"


def _version() -> str:
    try:
        return importlib.metadata.version("tau2")
    except importlib.metadata.PackageNotFoundError:
        return "checkout"  # on the path without being installed


registry.add("tau2", Tau2, owner=__name__)
