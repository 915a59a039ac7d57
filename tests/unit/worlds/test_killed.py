"""A thousand episodes, killed ten times: none is lost, no stored step is asked again, and the world says the same to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.runs.episodes import Found, check, kill_and_resume

from adhere.models.fake.scripted import open_scripted
from adhere.pipeline.evaluate import evaluate_sync
from adhere.store.run import Run
from adhere.suites import load


def kill_and_compare(suite_name: str, folder: Path, kills: int) -> Found:
    """Episodes of the solver, killed so often, beside the same that were left alone."""
    suite = load(suite_name)
    whole = evaluate_sync(open_scripted("scripted/solver"), suite, folder / "whole")
    answers = sum(sum(one.role == "assistant" for one in response.steps) for response in whole.responses())
    found = kill_and_resume([suite_name], folder, kills, 2 * answers // (3 * (kills + 1)))
    killed = Run.load(folder / "run0")
    assert [one.steps for one in killed.responses()] == [one.steps for one in whole.responses()]
    assert killed.summary().overall.prompt_strict == whole.summary().overall.prompt_strict
    assert check(killed, len(suite.prompts))["goal pass"] == len(suite.prompts)
    assert (found.kills, found.answers - found.twice) == (kills, answers)
    assert found.twice <= kills, "at each kill only the answer that was under way"
    return found


def test_twenty_episodes_killed_once(tmp_path: Path):
    assert kill_and_compare("world:files:x20", tmp_path, 1).answers >= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "suite",
    [
        *(f"world:{name}:x250" for name in ("shop", "calendar", "files", "database")),
        "world:gymnasium:FrozenLake-v1:x1000",
        "world:textworld:x1000",
    ],
)
def test_a_thousand_episodes_killed_ten_times(suite: str, tmp_path: Path):
    for library in ("gymnasium", "textworld"):
        if library in suite:
            pytest.importorskip(library)
    assert kill_and_compare(suite, tmp_path, 10).answers > 250
