"""Recipes, the registry of stages, provenance and estimates."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.config import parse_toml
from adhere.errors import SpecError, UnknownName
from adhere.schema import PairRow, RlRow, SftRow
from adhere.train.methods.grpo import GrpoSettings
from adhere.train.methods.sft import MoreSftSettings, SftSettings, sft
from adhere.train.recipe import Recipe, StageSpec
from adhere.train.stage.estimate import Shape, Speed, estimate, shape_of
from adhere.train.stage.memory import SLACK, SMOLLM2_135M
from adhere.train.stages import STAGES, provenance_rows

NAMES = ["dpo", "grpo", "more-sft", "online-dpo", "sft"]


def test_the_registered_stages() -> None:
    assert set(NAMES) <= set(STAGES)
    assert {name: STAGES.get(name).data for name in NAMES} == {
        "sft": "sft",
        "more-sft": "sft",
        "dpo": "pairs",
        "online-dpo": "rl",
        "grpo": "rl",
    }
    pairs = [PairRow("p", "Say a.", "a", "b", "sampled", (), ())]
    pool = SimpleNamespace(sft=[], pairs=pairs, rl=[])
    assert [row.completion for row in STAGES.get("sft").rows(pool, SftSettings(data="chosen"))] == ["a"]
    assert all(STAGES.get(name).summary for name in NAMES)
    assert [name for name in NAMES if STAGES.get(name).online] == ["grpo", "online-dpo"]


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_valid_and_their_origin_is_told(name: str) -> None:
    stage = STAGES.get(name)
    assert StageSpec(name).resolved() == stage.settings()
    rows = provenance_rows(stage, stage.settings())
    assert len(rows) >= 3
    for row in rows:
        assert row["why"]
        # What is not a setting (DPO's optimizer) has no value in use.
        assert row["setting"] in stage.settings.__struct_fields__ or row["used"] is None


def test_stated_values_are_told_apart_from_ours() -> None:
    rows = {row["setting"]: row for row in provenance_rows(STAGES.get("sft"), SftSettings(epochs=3))}
    assert rows["epochs"]["stated"] == "2"
    assert rows["epochs"]["used"] == 3
    assert rows["batch_rows"]["stated"] is None


def test_a_recipe_from_toml() -> None:
    text = (
        'name = "sft-grpo"\n[[stages]]\nstage = "sft"\n[[stages]]\nstage = "grpo"\n'
        'settings = { steps = 3, order = "random" }\n'
    )
    recipe = parse_toml(text, Recipe, name="r.toml")
    (first, first_settings), (second, second_settings) = recipe.resolved()
    assert (first.name, second.name) == ("sft", "grpo")
    assert first_settings == SftSettings()
    assert second_settings == GrpoSettings(steps=3, order="random")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            StageSpec("sft", {"epoch": 2}),
            r"Recipe 'r', stage 1: Stage 'sft' has no setting 'epoch'\. Did you mean 'epochs'",
        ),
        (StageSpec("sft", {"epochs": 0}), r"Expected `int` >= 1.*epochs.*got 0"),
        (StageSpec("grpo", {"loss_type": "ppo"}), r"loss_type.*got 'ppo'"),
        (StageSpec("grpo", {"answers_per_prompt": 1}), r">= 2.*answers_per_prompt"),
    ],
)
def test_wrong_settings_are_named(spec: StageSpec, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Recipe("r", (spec,)).resolved()


def test_an_unknown_stage_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'grpo'"):
        Recipe("r", (StageSpec("gppo"),)).resolved()


def test_settings_and_recipes_are_read_without_torch() -> None:
    code = (
        "import sys, adhere.train.recipe, adhere.train.stage.estimate; "
        "print('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def sft_data(count: int = 40) -> list[SftRow]:
    return [
        SftRow(f"p{i}", f"Write about thing {i}.", "the sea is wide " * (1 + i % 3), "sampled", (), ())
        for i in range(count)
    ]


def test_the_estimate_of_sft_is_near_what_is_then_counted(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    rows = sft_data()
    settings = SftSettings(epochs=1)
    shape = shape_of(tokenizer, rows, answer_tokens=1)
    expected = estimate(STAGES.get("sft"), settings, shape, Speed(trained_per_s=100))
    ledger = sft(model, tokenizer, rows, settings, seed=0).ledger
    assert expected.steps == ledger.steps
    assert expected.tokens_trained == ledger.tokens_trained
    assert expected.tokens_processed == pytest.approx(ledger.tokens_processed, rel=0.15)
    assert expected.minutes == pytest.approx(expected.tokens_processed / 100 / 60, rel=1e-3)


def test_more_sft_is_given_another_stages_compute() -> None:
    shape = Shape(rows=100)
    grpo = estimate(STAGES.get("grpo"), GrpoSettings(), shape, Speed())
    more = estimate(STAGES.get("more-sft"), MoreSftSettings(equivalent_tokens=grpo.equivalent_tokens), shape, Speed())
    assert more.equivalent_tokens == pytest.approx(grpo.equivalent_tokens, rel=1e-3)
    assert grpo.answers_generated == 15 * 16 * 8
    assert grpo.tokens_generated == 15 * 16 * 8 * 35


def test_fewer_trained_groups_cost_less_and_a_reference_costs_memory() -> None:
    stage, shape = STAGES.get("grpo"), Shape(rows=100)
    full, half, kl = (
        estimate(stage, settings, shape, Speed())
        for settings in (GrpoSettings(), GrpoSettings(max_trained_groups=8), GrpoSettings(kl_beta=0.1))
    )
    assert half.tokens_processed == pytest.approx(full.tokens_processed / 2, rel=0.05)
    assert kl.memory_bytes == pytest.approx(full.memory_bytes + SLACK * 4 * SMOLLM2_135M.parameters)
    assert kl.tokens_scored == kl.tokens_processed


def test_the_shape_of_prompts(tiny: tuple[Any, Any]) -> None:
    _, tokenizer = tiny
    rows = [RlRow(f"p{i}", f"Thing {i}", 8, 0.5, 0.1 * (i % 2), (), ()) for i in range(4)]
    shape = shape_of(tokenizer, rows, answer_tokens=35)
    assert (shape.rows, shape.answer_tokens, shape.varied_share) == (4, 35, 0.5)
    assert 0 < shape.shared_tokens < shape.prompt_tokens
