"""`adhere audit`: any reward against answers that nobody wrote for the prompt. Ours, every adapter and worlds hold."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.environments import Environment
from adhere.environments.worlds import world_env
from adhere.errors import UsageError
from adhere.rewards import judge_reward, verifiers_reward
from adhere.rewards.audit import audit, open_reward, own_rows, read_audit_rows
from adhere.rewards.audit.ask import as_reward
from adhere.rewards.audit.world import world_rows
from adhere.rewards.openrlhf import reward_func
from adhere.rewards.verl import compute_score
from adhere.suites import Suite

ROWS = own_rows()

# Rewards of people's, each with what beats honest answers in it.


def long_is_good(completions: list[str], **_: Any) -> list[float]:
    return [len(text) / 1000 for text in completions]


def says_sorry(prompt: str, answer: str) -> float:
    return 1.0 if "sorry" in answer else 0.5


async def like_the_prompt(completion: Any, prompt: Any, **_: Any) -> float:
    asked, said = prompt[-1]["content"].split(), completion[-1]["content"].split()
    return len(set(asked) & set(said)) / len(set(asked))


def counts_lines(solution_str: str, ground_truth: Any, data_source: str = "", extra_info: Any = None) -> dict[str, Any]:
    return {"score": min(solution_str.count("\n"), 5) / 5}


def blank_is_safe(response: str) -> float:
    return 0.9 if not response.strip() else 0.5


@pytest.mark.parametrize(
    ("reward", "kind", "winner"),
    [
        (long_is_good, "TRL", "lorem ipsum, long"),
        (says_sorry, "function", "sorry"),
        (like_the_prompt, "verifiers", "prompt"),
        (counts_lines, "verl", "lorem ipsum, long"),
        (blank_is_safe, "function", "nothing"),
    ],
)
def test_a_reward_that_pays_silence_or_noise_is_found(reward: Any, kind: str, winner: str) -> None:
    found = audit(as_reward(reward, "theirs"), ROWS)
    assert found.kind == kind
    assert not found.holds
    (won,) = (one for one in found.winners if one.name == winner)
    assert won.mean is not None
    assert won.honest is not None
    assert won.mean > won.honest
    assert won.beats_honest > 0
    if winner != "nothing":
        assert won.witness is not None
        assert won.witness.reward > won.witness.honest


OURS: dict[str, Any] = {
    "judge_reward": judge_reward,
    "judge_reward, binary, gated": judge_reward("binary", traps=True),
    "judge_reward in parts": judge_reward(parts="constraint", rows=[dict(row.columns) for row in ROWS]),
    "verl": compute_score,
    "verifiers": verifiers_reward(traps=True),
    "environment": Environment(Suite("mine", "1", ())),
    "OpenRLHF": reward_func,
}


@pytest.mark.parametrize("name", OURS)
def test_our_rewards_hold(name: str) -> None:
    if name == "OpenRLHF":
        pytest.importorskip("torch")
    found = audit(as_reward(OURS[name], name), ROWS)
    assert found.holds, found.winners
    assert found.honest["n"] == 2 * len(ROWS)
    assert found.honest["mean"] >= 1.0, "the rows that come along have honest answers that pass"
    assert not found.troubles


@pytest.mark.parametrize("world", ["shop", "calendar", "files", "database"])
def test_our_worlds_hold(world: str) -> None:
    reward = as_reward(world_env(f"world:{world}:x6+steps14"))
    found = audit(reward, world_rows(reward))
    assert found.holds
    assert found.honest["mean"] == 1.0
    assert all(one.mean is None or one.mean <= 0.2 for one in found.scripts)


def test_what_a_reward_raises_is_no_number() -> None:
    def fragile(prompt: str, answer: str) -> float:
        if len(answer) < 5:
            raise ValueError("too short to judge")
        return 1.0

    found = audit(as_reward(fragile, "fragile"), ROWS)
    nothing = next(one for one in found.scripts if one.name == "nothing")
    assert (nothing.mean, nothing.unmeasured) == (None, len(ROWS))
    assert "ValueError: too short to judge" in found.troubles
    with pytest.raises(UsageError, match="no honest answer earned a number"):
        audit(as_reward(lambda prompt, answer: None, "none"), ROWS)


def test_pairs_that_mean_the_same_are_told() -> None:
    found = audit(as_reward(lambda prompt, answer: float(answer == answer.strip()), "strict"), ROWS)
    assert {one.change for one in found.pairs} >= {"a line break at the end", "blanks around it"}


def test_an_environment_of_openenvs_protocol_is_led_to_its_end() -> None:
    class Session:
        def reset(self) -> Any:
            return SimpleNamespace(done=False)

        def step(self, action: str) -> Any:
            return SimpleNamespace(done=True, reward=float("yes" in action))

    found = audit(as_reward(Session(), "theirs"), ROWS)
    assert found.kind == "OpenEnv"
    assert "yes" in [one.name for one in found.winners]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs.py").write_text(
        "def reward(completions, **_):\n    return [len(one) / 1000 for one in completions]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    page = tmp_path / "audit.html"
    done = CliRunner().invoke(adhere, ["audit", "theirs:reward", "--json", "--html", str(page)])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["holds"] is False
    assert "lorem ipsum, long" in found["winners"]
    assert "lorem ipsum, long" in page.read_text()
    assert CliRunner().invoke(adhere, ["audit", "adhere.rewards:judge_reward"]).exit_code == 0
    (tmp_path / "rows.jsonl").write_text(json.dumps({"prompt": "Say it.", "completion": "it", "gold": "it"}) + "\n")
    (tmp_path / "gold.py").write_text(
        "def reward(completions, gold, **_):\n    return [float(a == b) for a, b in zip(completions, gold)]\n"
    )
    done = CliRunner().invoke(adhere, ["audit", "gold:reward", "--rows", str(tmp_path / "rows.jsonl")])
    assert done.exit_code == 0, done.output
    for target, said in (
        ("theirs", "package.module:reward"),
        ("nowhere:x", "nowhere"),
        ("theirs:x", "has no attribute"),
    ):
        with pytest.raises(UsageError, match=said):
            open_reward(target)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "Say it."}\n')
    with pytest.raises(UsageError, match=r"rows.jsonl:1: an audit needs"):
        read_audit_rows(tmp_path / "rows.jsonl")
