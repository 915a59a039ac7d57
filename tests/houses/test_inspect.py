"""Our metric and tools by inspect's own classes. A whole eval is in tests/integration/test_harnesses.py.

The newest release counts tokens with a file that it downloads, so no eval runs here without the network.
"""

from __future__ import annotations

import math

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # theirs
scorer = pytest.importorskip("inspect_ai.scorer")


def test_the_instruction_level_rate_is_over_all_instructions() -> None:
    """One prompt of one instruction that passed, one of three of which none did: 1 of 4, where the mean of rates is a half."""
    from adhere.integrations.inspect_ai.task import over_instructions

    name = "inst_level_strict_acc"
    scores = [
        scorer.SampleScore(score=scorer.Score(value=value, metadata={"decided": {name: n}}))
        for value, n in ((1.0, 1), (0.0, 3), (math.nan, 0))
    ]
    assert over_instructions(name)(scores) == 0.25


def test_every_tool_of_the_suite_calls_is_taken() -> None:
    from inspect_ai.tool import ToolDef

    from adhere.integrations.inspect_ai.task import _tool, follow
    from adhere.suites import load

    assert follow("calls", limit=4) is not None
    tools = [tool for prompt in load("calls", limit=24).prompts for tool in prompt.tools]
    assert tools
    for tool in tools:
        made = _tool(tool)
        assert isinstance(made, ToolDef)
        assert all(one.description for one in made.parameters.properties.values())
        made.as_tool()
