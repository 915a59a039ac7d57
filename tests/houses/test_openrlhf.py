"""Documented flags are those that OpenRLHF's own parser adds, and its executor loads our file."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from pathlib import Path

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
