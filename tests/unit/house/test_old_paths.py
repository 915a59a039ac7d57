"""Paths that trainers' files, entry points and task folders name lead to where the code lies now."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import adhere

DOORS = {
    "adhere.rewards.verl": ("adhere.integrations.verl.reward", ["compute_score", "compute_score_batch"], ""),
    "adhere.rewards.openrlhf": ("adhere.integrations.openrlhf.reward", ["reward_func", "judged_response"], ""),
    "adhere.rewards.verifiers": ("adhere.integrations.verifiers.reward", ["verifiers_reward", "judge_dense"], ""),
    "adhere.environments.trl": ("adhere.integrations.trl.environment", ["dataset", "reward", "factory"], ""),
    "adhere.environments.open_instruct": ("adhere.integrations.open_instruct.verifier", ["rows_of", "score_of"], ""),
    "adhere.environments.nemo_gym": ("adhere.integrations.nemo_gym.server", ["rows_of", "verify", "main"], ""),
    "adhere.environments.openenv": ("adhere.integrations.openenv.server", ["make_app", "main"], "openenv.core"),
    "adhere.environments.verifiers": ("adhere.integrations.verifiers.environment", ["load_environment", "AdhereEnv"], "verifiers.v1"),
    "adhere.environments.verl": ("adhere.integrations.verl.advantages", ["measured_grpo"], "verl"),
    "adhere.harness.lm_eval.task": ("adhere.integrations.lm_eval.task", ["documents", "process_results", "share"], ""),
    "adhere.harness.lm_eval.model": ("adhere.integrations.lm_eval.model", ["AdhereLM"], "lm_eval"),
    "adhere.harness.evalscope.task": ("adhere.integrations.evalscope.task", ["AdhereAdapter"], "evalscope"),
    "adhere.harness.inspect_ai.task": ("adhere.integrations.inspect_ai.task", ["follow", "judge"], "inspect_ai"),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_a_door_leads_to_its_house(door: str) -> None:
    home, names, needs = DOORS[door]
    assert importlib.util.find_spec(door) is not None
    if needs:
        pytest.importorskip(needs)
    for name in names:
        assert getattr(importlib.import_module(door), name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError):
        _ = importlib.import_module(door).no_such_name


def test_openrlhf_reads_its_file_by_path() -> None:
    spec = importlib.util.spec_from_file_location("agent", Path(adhere.__file__).parent / "rewards" / "openrlhf.py")
    assert spec is not None
    assert spec.loader is not None
    room = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(room)
    assert callable(room.reward_func)


@pytest.mark.parametrize(
    "module", ["adhere.environments.nemo_gym", "adhere.environments.openenv", "adhere.harness.lm_eval.model"]
)
def test_a_door_runs_as_a_program(module: str) -> None:
    ran = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=False)
    assert ran.stdout or "pip install" in ran.stderr, ran.stderr
