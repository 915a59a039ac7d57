"""Low-rank adapters in recipes: what is trained, merged, exported, resumed; and what the decoder sees of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.train.conftest import load  # noqa: E402
from tests.unit.train.test_recipe_run import DATA, DPO, ROOT, recipe, same, weights  # noqa: E402

from adhere.errors import SpecError, UsageError  # noqa: E402
from adhere.models.local.decoder.decode import Decoder, DecodeRow  # noqa: E402
from adhere.models.local.transformers import load_weights  # noqa: E402
from adhere.train import checkpoint  # noqa: E402
from adhere.train.methods.sft import SftSettings  # noqa: E402
from adhere.train.packed.lora import attach, merge  # noqa: E402
from adhere.train.recipe import StageSpec, load_recipe  # noqa: E402
from adhere.train.recipe.run import plan_recipe, run_recipe  # noqa: E402
from adhere.train.settings import Lora  # noqa: E402
from adhere.train.stage.memory import SMOLLM2_135M, Sizes, adapter_parameters, memory_of, sizes_of  # noqa: E402

LORA = Lora(rank=4, alpha=8.0)
SFT = StageSpec("sft", {"epochs": 1, "learning_rate": 1e-2})
GRPO = StageSpec(
    "grpo", {"steps": 2, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 8, "learning_rate": 1e-3}
)
IDS = torch.arange(1, 15)[None]


def parameters_of(sizes: Sizes, lora: Lora) -> int:
    return adapter_parameters(sizes, rank=lora.rank, targets=lora.targets)


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(input_ids=IDS, use_cache=False).logits


def stir(model: Any) -> None:
    """Adapters as training would leave them: not zero."""
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if name.endswith("lora_B"):
            parameter.data.normal_(std=0.05)


def test_it_starts_as_the_model_and_merges_into_what_it_computed(tiny: Any, tiny_llama_dir: Path) -> None:
    model, _ = tiny
    before = logits(model)
    names = [name for name, _ in model.named_parameters()]
    count = attach(model, LORA, seed=3)
    assert count == parameters_of(sizes_of(tiny_llama_dir), LORA) > 0
    assert {name.rpartition(".")[2] for name, p in model.named_parameters() if p.requires_grad} == {"lora_A", "lora_B"}
    assert torch.equal(logits(model), before)
    stir(model)
    adapted = logits(model)
    assert not torch.allclose(adapted, before, atol=1e-3)
    merge(model)
    assert float((logits(model) - adapted).abs().max()) < 1e-4
    assert [name for name, _ in model.named_parameters()] == names
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_decoder_draws_from_the_adapted_model(tiny: Any) -> None:
    """It reads `weight`, which is the merged matrix: after a step it must not go on with the frozen one."""
    model, _ = tiny
    attach(model, LORA, seed=3)
    decoder = Decoder(model, end_ids=(), rows=2)
    row = [DecodeRow((5, 9, 33, 4), 0)]
    before = decoder.decode(row, max_new_tokens=12)[0].ids
    stir(model)
    decoder.refresh()
    drawn = decoder.decode(row, max_new_tokens=12)[0].ids
    merge(model)
    merged = Decoder(model, end_ids=(), rows=2).decode(row, max_new_tokens=12)[0].ids
    assert drawn == merged != before


def test_a_recipe_trains_merges_and_exports_adapters(tmp_path: Path) -> None:
    done = run_recipe(recipe(SFT, DPO, GRPO, lora=LORA), tmp_path, base=ROOT)
    assert [one.lora for one in done] == [LORA] * 3
    expected = parameters_of(sizes_of(tmp_path / "start"), LORA)
    assert {one.ledger.parameters_trained for one in done} == {expected}
    merged, start = load(tmp_path / "model")[0], load(tmp_path / "start")[0]
    assert not torch.allclose(logits(merged), logits(start), atol=1e-3)
    moved = {
        name
        for (name, a), b in zip(merged.named_parameters(), start.parameters(), strict=True)
        if not torch.equal(a, b)
    }
    assert {name.split(".")[-2] for name in moved} == set(LORA.targets), "embeddings, head and norms stay"
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"], config["base_model_name_or_path"]) == (12, 12.0, "random/2m")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "LoRA, rank 4, alpha 8, on q_proj" in card
    assert f"sft {expected:,}" in card


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by a name that it is about to lose
def test_peft_loads_what_is_exported(tmp_path: Path) -> None:
    """One adapter over the start, and each stage's over the weights before it.

    The same logits as the merged weights.
    """
    peft = pytest.importorskip("peft")
    run_recipe(recipe(SFT, DPO, lora=LORA), tmp_path, base=ROOT)
    merged = logits(load(tmp_path / "model")[0])
    whole = peft.PeftModel.from_pretrained(load(tmp_path / "start")[0], tmp_path / "adapter")
    assert torch.allclose(logits(whole), merged, atol=2e-4)
    last = peft.PeftModel.from_pretrained(load(tmp_path / "01-sft" / "model")[0], tmp_path / "02-dpo" / "adapter")
    assert torch.allclose(logits(last), merged, atol=2e-4)


class Killed(Exception):
    pass


def test_a_stage_that_is_killed_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recipe(SFT, lora=LORA)
    run_recipe(whole, tmp_path / "whole", base=ROOT)
    monkeypatch.setattr(checkpoint.Keeper.__init__, "__kwdefaults__", {"every_s": 0.0})
    monkeypatch.setattr(checkpoint.keeping.__wrapped__, "__kwdefaults__", {"every_s": 0.0})
    save = checkpoint.Keeper.save_if_due

    def once(self: Any, *given: Any, done: int, **more: Any) -> bool:
        written = save(self, *given, done=done, **more)
        if done == 2:
            raise Killed
        return written

    monkeypatch.setattr(checkpoint.Keeper, "save_if_due", once)
    with pytest.raises(Killed):
        run_recipe(whole, tmp_path / "killed", base=ROOT)
    kept = tmp_path / "killed" / ".01-sft.part" / "checkpoint.pt"
    assert kept.stat().st_size < 2 * (tmp_path / "whole" / "model" / "model.safetensors").stat().st_size
    monkeypatch.setattr(checkpoint.Keeper, "save_if_due", save)
    run_recipe(whole, tmp_path / "killed", base=ROOT)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


def test_full_and_lora_are_different_stages_and_full_ones_keep_their_key(tmp_path: Path) -> None:
    full, adapted = (
        run_recipe(recipe(SFT, lora=lora), tmp_path / f"{lora}"[:4], base=ROOT)[0] for lora in (None, LORA)
    )
    assert full.key != adapted.key
    assert "Trained in full" in (tmp_path / "None" / "model" / "README.md").read_text()
    assert not (tmp_path / "None" / "adapter").exists()


def test_what_does_not_go_with_an_adapter_is_refused(tmp_path: Path) -> None:
    merging = StageSpec("dpo", {"merging": {"p": 0.5, "alpha": 0.01}})
    with pytest.raises(UsageError, match="online merging is about whole matrices"):
        run_recipe(recipe(SFT, merging, lora=LORA), tmp_path / "a", base=ROOT)
    file = tmp_path / "r.toml"
    file.write_text('name = "r"\nlora = { targets = ["qkv"] }\n')
    with pytest.raises(SpecError, match="qkv"):
        load_recipe(str(file))


def test_an_adapter_needs_memory_for_itself_only(tmp_path: Path) -> None:
    settings = SftSettings()
    full = memory_of(SMOLLM2_135M, settings)
    small = memory_of(SMOLLM2_135M, settings, adapter=parameters_of(SMOLLM2_135M, Lora()))
    assert small.gradients < full.gradients / 10
    assert small.moments < full.moments / 10
    shutil.copytree(DATA, tmp_path / "data")
    costs = [
        plan_recipe(recipe(SFT, GRPO, lora=lora), tmp_path / "out", base=ROOT) for lora in (None, LORA)
    ]  # the decoder's merged copy costs what the moments save, at this size
    assert costs[1][0].cost.memory_bytes < costs[0][0].cost.memory_bytes
    assert msgspec.to_builtins(costs[1][1].cost)["memory_bytes"] > 0


def test_loading_merged_weights_needs_nothing_of_ours(tmp_path: Path) -> None:
    run_recipe(recipe(SFT, lora=LORA), tmp_path, base=ROOT)
    model, tokenizer = load_weights(tmp_path / "model")
    assert tokenizer.chat_template
    assert not any("lora" in name for name in model.state_dict())
