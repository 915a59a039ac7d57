"""Stages of a study by TRL's own trainers: on our rows, from our weights, with our reward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="a study needs the train extra")
pytest.importorskip("trl", reason="TRL is in the dev extra")
pytest.importorskip("datasets", reason="TRL reads rows by it")

from tests.unit.study.computed import data

from adhere.config import parse_toml
from adhere.errors import AdhereError, SpecError
from adhere.progress import Silent
from adhere.study.design.check import load_study
from adhere.study.design.command import COMMAND, CommandSettings
from adhere.study.design.spec import StudySpec
from adhere.study.run.command import run_command

STUDY = """
name = "by-trl"
start = "hf/x"
arms = [{ name = "start" }, { name = "new", stages = ["new"] }]
stages = { new = STAGE }
verdict = { question = "?", treatment = "new", control = "start" }
"""
EPISODES = "steps = 1, prompts_per_step = 2, answers_per_prompt = 2, max_new_tokens = 6, learning_rate = 1e-3"


def stage(table: str) -> Any:
    return parse_toml(STUDY.replace("STAGE", table), StudySpec, name="by-trl.toml").stage("new")


@pytest.mark.parametrize(
    ("table", "steps"),
    [
        ('{ method = "sft", trainer = "trl", epochs = 1, batch_rows = 4, learning_rate = 1e-3 }', 2),
        ('{ method = "dpo", trainer = "trl", batch_pairs = 4, learning_rate = 1e-3, precision = "bf16" }', 2),
    ],
)
def test_a_stage_trains_by_trl(table: str, steps: int, tiny_llama_dir: Path, tmp_path: Path) -> None:
    named = stage(table)
    assert named.stage is COMMAND
    assert isinstance(named.settings, CommandSettings)
    pool = data()
    result = run_command(
        named.settings.with_inputs(),
        {"sft": pool.sft, "pairs": pool.pairs, "rl": pool.rl},
        start=tiny_llama_dir, into=tmp_path, resume=tmp_path / "checkpoint", seed=0, threads=1, label="new (seed 0)",
        progress=Silent(),
    )  # fmt: skip
    assert result.ledger.steps == steps
    assert "tokens_trained" in result.unknown, "TRL does not count as we do"
    assert any("loss" in row for row in result.log)
    assert (tmp_path / "model" / "config.json").exists()


def test_grpo_by_trl_has_our_reward_and_what_learns_nothing_is_named(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """Every answer of a random model is cut, so each has the reward 0, as with our own stage, and nothing is learned."""
    pool, named = data(), stage(f'{{ method = "grpo", trainer = "trl", {EPISODES} }}')
    with pytest.raises(AdhereError, match="the weights that it was given, unchanged"):
        run_command(
            named.settings.with_inputs(), {"sft": [], "pairs": [], "rl": pool.rl}, start=tiny_llama_dir, into=tmp_path,
            resume=tmp_path / "checkpoint", seed=0, threads=1, label="new (seed 0)", progress=Silent(),
        )  # fmt: skip
    told = (tmp_path / "output.log").read_text()
    assert "'reward': '0'" in told or "'reward': 0" in told


def test_the_quickstart_by_trl_is_a_study() -> None:
    """`benchmarks/studies/quickstart-trl.toml`: the quickstart's own stages, and the same four by TRL."""
    root = Path(__file__).parents[2]
    ours = load_study(root / "examples" / "quickstart.toml")
    both = load_study(root / "benchmarks" / "studies" / "quickstart-trl.toml")
    assert both.data == ours.data
    for name in ("sft", "dpo", "grpo", "online-dpo"):
        assert both.stages[name] == ours.stages[name]
        assert both.stage(f"trl-{name}").stage is COMMAND


@pytest.mark.parametrize(
    ("study", "own", "is_bf16"),
    [("auto", "", False), ("bf16", "", True), ("fp32", "", False), ("bf16", ', precision = "fp32"', False)],
)
def test_the_precision_of_a_study_is_that_of_trls_stages(study: str, own: str, is_bf16: bool) -> None:
    text = STUDY.replace("STAGE", f'{{ method = "sft", trainer = "trl"{own} }}')
    settings = parse_toml(f'precision = "{study}"\n{text}', StudySpec, name="by-trl.toml").stage("new").settings
    assert isinstance(settings, CommandSettings)
    assert f'"bf16": {json.dumps(is_bf16)}' in " ".join(settings.command)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('{ method = "reward-model", trainer = "trl" }', "trains no policy by 'reward-model'"),
        ('{ method = "online-dpo", trainer = "trl" }', "answers_per_prompt = 2"),
        (
            '{ method = "online-dpo", trainer = "trl", answers_per_prompt = 2, trained_tokens = 9 }',
            "nothing like trained",
        ),
        ('{ method = "sft", trainer = "axolotl" }', "must be 'trl'"),
        ('{ method = "dpo", trainer = "trl", merging = { p = 0.1 } }', "online merging"),
        ('{ method = "grpo", trainer = "trl", rounds = 3 }', "nothing like rounds"),
        ('{ method = "sft", trainer = "trl", kept = 0.5 }', "TRL cannot be told so"),
        ('{ method = "grpo", trainer = "trl", reward = "model" }', "reward"),
    ],
)
def test_what_trl_cannot_do_is_refused(table: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        stage(table)
