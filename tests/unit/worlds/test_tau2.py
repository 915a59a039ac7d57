"""tau2's tasks as worlds.

Against a stand-in with tau2's interface, and against tau2's own evaluator where tau2 can be imported.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from adhere.errors import MissingExtra, UsageError
from adhere.models.fake.scripted import open_scripted
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ToolCall
from adhere.suites import load
from adhere.worlds import open_world, validate
from adhere.worlds.simulated import STOP
from adhere.worlds.text import tau2

CARD = {
    "reason_for_call": "Please close my account.",
    "known_info": "You are Ada.",
    "unknown_info": None,
    "task_instructions": "Be brief.",
}


def task(
    actions: list[Any], basis: tuple[str, ...] = ("DB",), info: tuple[str, ...] = (), prose: tuple[str, ...] = ()
) -> Any:
    made = [SimpleNamespace(name=name, arguments=arguments) for name, arguments in actions]
    criteria = SimpleNamespace(
        actions=made, reward_basis=basis, communicate_info=list(info), nl_assertions=list(prose), env_assertions=None
    )
    return SimpleNamespace(
        initial_state=None,
        evaluation_criteria=criteria,
        user_scenario=SimpleNamespace(instructions=SimpleNamespace(**CARD)),
    )


class Desk:
    """An environment as tau2 has them: accounts that can be closed."""

    user_tools = None

    def __init__(self) -> None:
        self.accounts = {"ada": "open", "ben": "open"}

    def get_policy(self) -> str:
        return "Close no account but the caller's."

    def get_tools(self) -> list[Any]:
        schema = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
        return [
            SimpleNamespace(
                openai_schema={"function": {"name": "close", "description": "Close it.", "parameters": schema}}
            )
        ]

    def get_db_hash(self) -> str:
        return str(sorted(self.accounts.items()))

    def get_response(self, call: Any) -> Any:
        if call.name != "close" or call.arguments.get("who") not in self.accounts:
            return SimpleNamespace(content="Error: no such thing")
        self.accounts[call.arguments["who"]] = "closed"
        return SimpleNamespace(content="closed")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    close = ("close", {"who": "ada"})
    tasks = [task([close]), task([close], ("DB", "NL_ASSERTION")),
        task([close], ("DB", "NL_ASSERTION"), prose=("It is kind.",)),
             task([close], ("DB", "COMMUNICATE"), info=("1240",)), task([]), task([close], ("ACTION",))]  # fmt: skip
    modules = {name: ModuleType(name) for name in ("tau2", "tau2.domains", "tau2.domains.desk",
        "tau2.domains.desk.environment",
                                                   "tau2.data_model", "tau2.data_model.message")}  # fmt: skip
    modules["tau2.domains.desk.environment"].__dict__.update(get_environment=Desk, get_tasks=lambda: tasks)
    modules["tau2.data_model.message"].__dict__["ToolCall"] = SimpleNamespace
    for name, module in modules.items():
        module.__path__ = []  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    tau2._domain.cache_clear()
    tau2._goal.cache_clear()


@pytest.mark.usefixtures("stand_in")
def test_the_tasks_that_a_program_decides_are_episodes_in_their_order(tmp_path: Path) -> None:
    validate("tau2:desk", range(4))
    suite = load("world:tau2:desk")
    assert [prompt.tags["world_seed"] for prompt in suite.prompts] == ["0", "1", "2", "3"]
    assert suite.name == "world:tau2:desk"
    run = evaluate_sync(open_scripted("scripted/solver"), suite, tmp_path / "run")
    assert run.summary().overall.prompt_strict.passed == 4
    assert "Close no account" in str(suite.prompts[0].system)
    with pytest.raises(UsageError, match="must be 1 to 4"):
        load("world:tau2:desk:x5")


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("place", "actions", "outcome"),
    [
        (0, [ToolCall("a", "close", {"who": "ada"})], "pass"),
        (0, [ToolCall("a", "close", {"who": "ada"}), ToolCall("b", "close", {"who": "ben"})], "fail"),
        (0, [ToolCall("a", "open", {"who": "ada"}), "It is done."], "fail"),
        (2, [ToolCall("a", "close", {"who": "ada"}), "You get 1,240 back."], "pass"),
        (2, [ToolCall("a", "close", {"who": "ada"}), "You get it back."], "fail"),
        (3, [], "fail"),
        (3, ["I may not do that."], "pass"),
    ],
)
def test_its_own_database_and_words_decide(place: int, actions: list[Any], outcome: str) -> None:
    world = open_world("tau2:desk")
    world.reset(place)
    for action in actions:
        world.step(action)
    assert world.verdict().outcome == outcome


@pytest.mark.usefixtures("stand_in")
def test_the_user_says_its_card_and_ends_the_talk() -> None:
    world = open_world("tau2:desk")
    assert world.reset(0) == CARD["reason_for_call"]
    assert "You are Ada. Be brief." in world.step("Who are you?").observation
    assert STOP in world.step("It is done.").observation
    assert world.step("More").done
    assert "You are Ada." in world.brief()


@pytest.mark.usefixtures("stand_in")
def test_what_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no domain 'nothing'"):
        open_world("tau2:nothing")
    monkeypatch.setattr(Desk, "user_tools", object())
    with pytest.raises(UsageError, match="its user has tools"):
        open_world("tau2:desk")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tau2"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="sierra-research/tau2-bench"):
        open_world("tau2:retail")


@pytest.mark.slow
def test_the_verdict_is_that_of_its_own_evaluator() -> None:
    """Every task of retail: by its own actions, without the last that writes, and by nothing but a word."""
    pytest.importorskip("tau2")
    from tau2.data_model import message as said
    from tau2.domains.retail.environment import get_environment
    from tau2.evaluator.evaluator_env import EnvironmentEvaluator

    tau2._domain.cache_clear()
    world, outcomes = open_world("tau2:retail"), []
    for place in range(world.episodes):
        whole = [action for action in tau2_solver(world, place) if isinstance(action, ToolCall)]
        for calls in (whole, whole[:-1], []):
            world.reset(place)
            trajectory: list[Any] = [said.AssistantMessage(role="assistant", content="Hello.")]
            world.step("Hello.?")
            for call in calls:
                seen = world.step(call).observation
                asked = said.ToolCall(id=call.id, name=call.name, arguments=call.arguments, requestor="assistant")
                trajectory.append(said.AssistantMessage(role="assistant", content=None, tool_calls=[asked]))
                trajectory.append(said.ToolMessage(id=call.id, role="tool", content=seen, requestor="assistant"))
            theirs = EnvironmentEvaluator.calculate_reward(get_environment, world._task, trajectory)
            assert (world.verdict().outcome == "pass") == (theirs.reward == 1.0), (place, len(calls))
            outcomes.append(theirs.reward)
    assert 0.0 in outcomes
    assert outcomes.count(1.0) >= world.episodes


def tau2_solver(world: Any, place: int) -> list[Any]:
    world.reset(place)
    return list(world.solver())
