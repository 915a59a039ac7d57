"""Presets on larger machines: each fits by the memory model, and says of every setting where it comes from.

None of them was run.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from adhere.errors import SpecError
from adhere.models.local.decoder.precision import Precisions
from adhere.models.local.fetch import hub_origin
from adhere.train.recipe.card import model_card
from adhere.train.recipe.load import load_preset, load_recipe
from adhere.train.recipe.run import stage_memory
from adhere.train.settings import settle
from adhere.train.stage.memory import SMOLLM2_135M, Sizes

PRESETS = ("autoif", "qwen2", "qwen2.5", "smollm2", "tulu3")
MACHINES = ("24gb", "80gb", "140gb", "cluster")
QWEN_05 = Sizes(896, 4864, 24, 14, 2, 64, 151936, tied=True, biased=True)
QWEN_15 = Sizes(1536, 8960, 28, 12, 2, 128, 151936, tied=True, biased=True)
QWEN_7 = Sizes(3584, 18944, 28, 28, 4, 128, 152064, tied=False, biased=True)
SIZES = {  # of the models' own config.json, and their parameters as their cards count them, in millions
    "hf/Qwen2.5-0.5B-Instruct": (QWEN_05, 494),
    "hf/Qwen2-0.5B-Instruct": (QWEN_05, 494),
    "hf/Qwen2.5-1.5B-Instruct": (QWEN_15, 1544),
    "hf/Qwen2-1.5B-Instruct": (QWEN_15, 1544),
    "hf/Qwen2.5-3B-Instruct": (Sizes(2048, 11008, 36, 16, 2, 128, 151936, tied=True, biased=True), 3086),
    "hf/Qwen2-7B-Instruct": (QWEN_7, 7616),
    "hf/SmolLM2-360M-Instruct": (Sizes(960, 2560, 32, 15, 5, 64, 49152, tied=True), 362),
    "hf/SmolLM2-1.7B-Instruct": (Sizes(2048, 8192, 24, 32, 32, 64, 49152, tied=True), 1711),
    "hf/Llama-3.2-1B-Instruct": (Sizes(2048, 8192, 16, 32, 8, 64, 128256, tied=True), 1236),
    "hf/Llama-3.2-3B-Instruct": (Sizes(3072, 8192, 28, 24, 8, 128, 128256, tied=True), 3213),
    "hf/Llama-3.1-8B-Instruct": (Sizes(4096, 14336, 32, 32, 8, 128, 128256, tied=False), 8030),
}
BF16 = Precisions(training="bf16", rollouts="bf16")


def worst(preset: str, machine: str) -> float:
    """Gigabytes of the stage that needs most, in one process."""
    where = load_preset(preset).machines[machine]
    recipe, _ = load_recipe(f"{preset}@{machine}")
    shards = where.gpus if where.shard else 1
    sizes, _ = SIZES[recipe.start]
    needs = [
        stage_memory(recipe, stage, settle(settings, BF16), sizes, device="cuda", shards=shards).total
        for stage, settings in recipe.resolved()
    ]
    return max(needs) / 1e9


@pytest.mark.parametrize("preset", PRESETS)
def test_every_machine_of_a_preset_fits(preset: str) -> None:
    found = load_preset(preset)
    assert tuple(found.machines) == MACHINES
    for name, machine in found.machines.items():
        needed = worst(preset, name)
        assert needed <= 0.98 * machine.gpu_gb, f"{preset}@{name} needs {needed:.1f} GB of {machine.gpu_gb}"
        assert needed >= 0.25 * machine.gpu_gb, f"{preset}@{name} needs {needed:.1f} GB: a larger model would fit"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_setting_says_where_it_comes_from(preset: str) -> None:
    for name, machine in load_preset(preset).machines.items():
        recipe, _ = load_recipe(f"{preset}@{name}")
        assert recipe.name == f"{preset}-{name}"
        changed = {f"{spec.stage}.{setting}" for spec in recipe.stages for setting in machine.settings(spec.stage)}
        assert set(recipe.origin) == changed | {"start"}
        assert all(text.startswith(("published: ", "ours: ")) for text in recipe.origin.values())
        card = model_card(recipe, [], start_sha256="0" * 64)
        assert "computed by the memory model, not run" in card
        assert all(f"`{setting}`: " in card for setting in changed)


def test_the_hub_links_a_card_to_the_start_that_is_known() -> None:
    recipe, _ = load_recipe("smollm2")
    card = model_card(recipe, [], start_sha256="0" * 64)
    assert card.startswith('---\nbase_model: "HuggingFaceTB/SmolLM2-135M-Instruct"\nlicense: "apache-2.0"\n')
    assert hub_origin("hf/Qwen/Qwen2.5-0.5B") == {"base_model": "Qwen/Qwen2.5-0.5B"}
    assert hub_origin("hf/trained/model.dir/x") == hub_origin("random/2m") == {}


def test_published_sizes_are_what_the_shapes_say() -> None:
    for name, (sizes, millions) in SIZES.items():
        assert sizes.parameters / 1e6 == pytest.approx(millions, abs=1), name


def test_without_a_machine_a_preset_is_for_two_cores() -> None:
    for preset in PRESETS:
        recipe, _ = load_recipe(preset)
        assert (recipe.start, recipe.lora, dict(recipe.origin)) == ("local/smollm2-135m", None, {})
        for stage, settings in recipe.resolved():
            assert stage_memory(recipe, stage, settings, SMOLLM2_135M, device="cpu").total < 7e9


def test_a_machine_that_is_not_there_is_named() -> None:
    with pytest.raises(SpecError, match=r"no machine '25gb'. Did you mean '24gb'.*'qwen2.5' alone is for two cores"):
        load_recipe("qwen2.5@25gb")
    with pytest.raises(SpecError, match=r"Did you mean 'qwen2.5'"):
        load_recipe("qwen25@24gb")


def test_what_a_machine_says_of_all_stages_holds_for_each() -> None:
    machine = load_preset("smollm2").machines["24gb"]
    recipe, _ = load_recipe("smollm2@24gb")
    assert recipe.lora == machine.lora is not None
    for spec in recipe.stages:
        assert spec.settings["tree_tokens"] == machine.stages["*"]["tree_tokens"] == 4096
        assert spec.settings | machine.stages[spec.stage] == spec.settings
