"""No world pays for idleness: policies that do not read what they are told earn next to nothing by the dense reward."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from statistics import fmean
from typing import Any

import pytest

from adhere.environments.worlds import Rollout, WorldEnvironment, world_env
from adhere.schema import Message, Prompt, ToolCall
from adhere.worlds import open_world
from adhere.worlds.replay import FORMS, as_answer
from adhere.worlds.tools.names import PEOPLE

WORLDS = ("shop", "calendar", "files", "database", "repo:rules16", "gymnasium:FrozenLake-v1", "gymnasium:Taxi-v4")
EPISODES, STEPS = 24, 12
FIXED_MOST, FIRST_MOST = 0.05, 0.15

Policy = Callable[[Rollout, random.Random], Message]


def says(text: str) -> Policy:
    return lambda *_: Message("assistant", text)


def calls(name: str, **arguments: Any) -> Policy:
    return lambda *_: Message("assistant", "", (ToolCall("c", name, arguments),))


def echoes(rollout: Rollout, _: random.Random) -> Message:
    return Message("assistant", rollout.messages[-1].content)


TEXTS = (
    "", "Done.", "That is done.", "I am sorry, I cannot do that.", "Yes.", "0", "They owe 0.", "42",
    "What is your e-mail address?", "Shall I do that?", "up", "down", "left", "right", "pickup",
    " ".join(map(str, range(100, 120))), "It is at 9. It is at 10.", ", ".join(PEOPLE), ", ".join(PEOPLE[:3]),
    "Your order is shipped already, so a person takes over.",
)  # fmt: skip
CALLS = (
    ("find_customer", {"email": "ada@example.org"}), ("get_order", {"order": 500}), ("ask_manager", {"order": 500, "amount": 20}),
    ("refund", {"order": 500, "amount": 20}), ("cancel_order", {"order": 500}), ("hand_over", {"order": 500, "reason": "cancel"}),
    ("list_meetings", {"person": "Ada Brook", "day": "Monday"}), ("delete_meeting", {"meeting": 4}),
    ("move_meeting", {"meeting": 4, "day": "Monday", "start": 16}), ("list_files", {"folder": "/bills"}),
    ("read_file", {"path": "/bills/ada.txt"}), ("delete_file", {"path": "/bills/ada.txt"}),
    ("write_file", {"path": "/reports/sum.txt", "text": "500"}), ("describe", {}), ("select", {"sql": "SELECT * FROM members"}),
    ("change", {"sql": "UPDATE members SET paid = 1"}), ("change", {"sql": "UPDATE members SET paid = 1 WHERE id = 3"}),
    ("change", {"sql": "DELETE FROM loans WHERE returned = 1"}), ("bash", {"command": "ls"}), ("bash", {"command": "pytest"}), ("bash", {"command": "git commit --allow-empty -m done"}),
    ("write_file", {"path": "README.md", "content": "done"}), ("act", {"command": "right"}), ("act", {"command": "down"}),
)  # fmt: skip
SAID: dict[str, Policy] = {**{f"says {text[:20]!r}": says(text) for text in TEXTS}, "echoes": echoes}
CALLED: dict[str, Policy] = {
    f"calls {name} {number}": calls(name, **arguments) for number, (name, arguments) in enumerate(CALLS)
}


def at_random(rollout: Rollout, rng: random.Random) -> Message:
    """A random tool with words and numbers of the conversation, or a random text of `TEXTS`."""
    tools, words = rollout.prompt.tools, " ".join(one.content for one in rollout.messages).split()
    if not tools or rng.random() < 0.3:
        known = getattr(open_world(rollout.prompt.tags["world"]), "commands", ())
        return Message("assistant", rng.choice(known or TEXTS))
    one = rng.choice(tools)
    properties: dict[str, Any] = one.parameters["properties"]  # type: ignore[assignment]
    numbers = [int(word.strip(".,")) for word in words if word.strip(".,").isdigit()] or [1]
    given = {
        name: rng.choice(numbers) if kind["type"] == "integer" else rng.choice(words)
        for name, kind in properties.items()
    }
    return Message("assistant", "", (ToolCall("c", one.name, given),))


def solver_of(prompt: Prompt) -> Iterator[Message]:
    world = open_world(prompt.tags["world"])
    world.reset(int(prompt.tags["world_seed"]))
    for number, action in enumerate(world.solver()):
        form = next(form for form in FORMS if form == prompt.tags["form"])
        yield as_answer(action, form, number, has_tools=bool(world.tools))


def first_step(*, again: bool) -> Policy:
    """The first step towards the goal, again and again, or once, and then the end of the talk."""

    def act(rollout: Rollout, _: random.Random) -> Message:
        is_first = len(rollout.messages) == len(rollout.prompt.messages())
        return next(solver_of(rollout.prompt)) if again or is_first else Message("assistant", "That is done.")

    return act


@cache
def environment_of(world: str, episodes: int) -> WorldEnvironment:
    """Open the episodes once for all policies: a policy acts in a rollout of its own."""
    return world_env(f"world:{world}:x{episodes}+steps{STEPS}")


def policies_of(world: str) -> dict[str, Policy]:
    """Return the fixed actions that differ there: all texts, the world's own tools, and one tool that it lacks."""
    own = {tool.name for tool in open_world(world).tools}
    called = {label: call for label, call in CALLED.items() if label.split()[1] in own}
    lacking = next(label for label in CALLED if label not in called)
    return {**SAID, **called, lacking: CALLED[lacking]}


def mean_reward(world: str, policy: Policy, episodes: int = EPISODES) -> float:
    episodes //= 8 if "Taxi" in world else 1  # two seconds to open one
    environment = environment_of(world, episodes)
    rng = random.Random(world)
    earned = []
    for prompt in environment.prompts:
        rollout = environment.begin(prompt)
        while not rollout.done:
            rollout.step(policy(rollout, rng))
        score = rollout.judge().score
        assert score is not None
        earned.append(score)
    return fmean(earned)


@pytest.fixture(autouse=True)
def _needs(request: pytest.FixtureRequest) -> None:
    if "gymnasium" in request.node.name:
        pytest.importorskip("gymnasium")


@pytest.mark.parametrize("world", WORLDS)
def test_a_policy_of_one_fixed_action_earns_nothing(world: str) -> None:
    earned = {name: mean_reward(world, policy) for name, policy in policies_of(world).items()}
    assert {name: reward for name, reward in earned.items() if reward > FIXED_MOST} == {}


@pytest.mark.parametrize("world", WORLDS)
def test_acting_at_random_and_the_first_step_alone_earn_little(world: str) -> None:
    policies: dict[str, Policy] = {
        "at random": at_random,
        "first step": first_step(again=False),
        "again": first_step(again=True),
    }
    earned = {name: mean_reward(world, policy, 3 * EPISODES) for name, policy in policies.items()}
    assert {name: reward for name, reward in earned.items() if reward > FIRST_MOST} == {}


@pytest.mark.parametrize("world", WORLDS)
def test_the_solver_earns_all_and_a_broken_rule_costs_its_share(world: str) -> None:
    environment = world_env(f"world:{world}:x{3 if 'Taxi' in world else 8}")
    for prompt in environment.prompts:
        rollout = environment.begin(prompt)
        for message in solver_of(prompt):
            rollout.step(message)
        assert rollout.judge().score == 1.0
    if world == "shop":
        rollout = environment.begin(next(one for one in environment.prompts if "refund" in str([*solver_of(one)])))
        for message in solver_of(rollout.prompt):
            if not any(call.name == "find_customer" for call in message.calls):
                rollout.step(message)
        assert rollout.judge().score == pytest.approx(3 / 4), "the goal, and three of four rules"


def test_the_way_towards_the_goal_pays_where_the_talk_ended_and_not_at_a_limit() -> None:
    environment = world_env("world:files:x30+steps4")
    prompt = next(one for one in environment.prompts if "Get rid of" in one.text)
    copied = list(solver_of(prompt))[:2]
    for last, reward in (("That is done.", 0.25), ("Anything else?", 0.0)):
        rollout = environment.begin(prompt)
        for message in (*copied, Message("assistant", last), Message("assistant", last)):
            if not rollout.done:
                rollout.step(message)
        assert rollout.judge().score == pytest.approx(reward)
