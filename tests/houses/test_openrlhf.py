"""Documented flags are those that OpenRLHF's own parser adds, and its executor runs our file."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import inspect
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.integrations.houses import house_of

pytestmark = pytest.mark.slow


def source(name: str) -> str:
    spec = importlib.util.find_spec("openrlhf")
    assert spec is not None
    assert spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / name).read_text()


def test_every_flag_is_added_by_its_parser() -> None:
    if importlib.util.find_spec("openrlhf") is None:
        pytest.skip("openrlhf is not installed here")
    flags = {
        node.args[0].value
        for node in ast.walk(ast.parse(source("cli/train_ppo_ray.py")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    named = {word for door in house_of("openrlhf").doors for word in door.command.split() if word.startswith("--")}
    assert named
    assert named <= flags


def test_our_executor_has_its_signature() -> None:
    if importlib.util.find_spec("openrlhf") is None:
        pytest.skip("openrlhf is not installed here")
    from adhere.integrations.openrlhf import reward

    wanted = next(
        [one.arg for one in node.args.args]
        for node in ast.walk(ast.parse(source("utils/agent.py")))
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "execute" and len(node.body) > 3
    )
    made = inspect.getsource(reward._executor)
    assert all(f"{name}:" in made for name in wanted if name != "self")
    assert {"truncated", "action_ranges", "observation_tokens"} <= set(
        source("utils/agent.py").replace('"', " ").split()
    )


RULE = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
UNDECIDABLE = {"instruction_id_list": ["keywords:letter_frequency"], "kwargs": [{"letter": "#"}]}
PROMPT = "<|im_start|>user\nSay something.<|im_end|>\n<|im_start|>assistant\n"


class Bytes:
    """A tokenizer of bytes, as far as OpenRLHF's executor asks for one; 0 and 1 open and end a turn."""

    MARKS = ("<|im_start|>", "<|im_end|>")

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        torch = pytest.importorskip("torch")
        for place, mark in enumerate(self.MARKS):
            text = text.replace(mark, chr(place))
        return {"input_ids": torch.tensor([list(text.encode())])}

    def decode(self, tokens: list[int], *, skip_special_tokens: bool = False) -> str:
        text = bytes(tokens).decode()
        for place, mark in enumerate(self.MARKS):
            text = text.replace(chr(place), "" if skip_special_tokens else mark)
        return text


class Engine:
    """An engine that gives one answer, as vLLM's is asked."""

    def __init__(self, text: str, finish: str) -> None:
        self.text, self.finish = text, finish

    async def generate(self, prompt: list[int], params: Any, **_: Any) -> Any:
        tokens = [*self.text.encode(), *([1] if self.finish == "stop" else [])]
        answer = SimpleNamespace(token_ids=tokens, text=self.text, finish_reason=self.finish, logprobs=None)
        return SimpleNamespace(outputs=[answer])


def executed(executor: Any, text: str, finish: str, label: Any) -> dict[str, Any]:
    params = SimpleNamespace(max_tokens=64, logprobs=None)
    asked = executor.execute(PROMPT, json.dumps(label), params, 512, Bytes(), Engine(text, finish))
    return dict(asyncio.run(asked))


@pytest.fixture
def agent() -> Any:
    return pytest.importorskip("openrlhf.utils.agent")


def test_its_executor_pays_what_ended_and_not_what_was_cut(agent: Any) -> None:
    from adhere.integrations.openrlhf import reward

    executor = reward.AgentExecutor()
    assert isinstance(executor, agent.SingleTurnAgentExecutor)
    found = executed(executor, "one two", "stop", RULE)
    assert (float(found["reward"][0]), float(found["scores"][0]), found["truncated"]) == (1.0, 1.0, False)
    assert float(executed(executor, "one, two", "stop", RULE)["reward"][0]) == 0.0
    cut = executed(executor, "one two", "length", RULE)
    assert (float(cut["reward"][0]), cut["truncated"]) == (0.0, True)


def test_what_cannot_be_measured_stops_its_executor(agent: Any) -> None:
    from adhere.errors import UnknownName
    from adhere.integrations.openrlhf import reward
    from adhere.rewards.rows import TooFewMeasurements

    with pytest.raises(TooFewMeasurements, match="could not be judged"):
        executed(reward.AgentExecutor(), "one two", "stop", UNDECIDABLE)
    with pytest.raises(UnknownName):
        executed(reward.AgentExecutor(), "one two", "stop", {"instruction_id_list": ["no:such"], "kwargs": [{}]})


def test_the_function_alone_is_asked_about_one_answer_and_what_it_raises_is_no_reward(agent: Any) -> None:
    """What the docs warn of: OpenRLHF's own executor turns an error into a line of its log."""
    from adhere.integrations.openrlhf import reward

    executor = agent.SingleTurnAgentExecutor(str(Path(reward.__file__)))
    assert float(executed(executor, "one two", "stop", RULE)["reward"][0]) == 1.0
    assert float(executed(executor, "one two", "length", RULE)["reward"][0]) == 0.0, "seen by the prompt's own marks"
    unknown = executed(executor, "one two", "stop", {"instruction_id_list": ["no:such"], "kwargs": [{}]})
    assert unknown["reward"] is None
