"""A base model is given a chat template.

Tokens of its own, trained although embeddings and head are frozen, in recipes and studies alike.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere.errors import SpecError, UsageError  # noqa: E402
from adhere.models.local.decoder.decode import Decoder, DecodeRow  # noqa: E402
from adhere.models.local.transformers import load_weights, weights_sha256  # noqa: E402
from adhere.train.packed.tokens import attach_tokens, merge_tokens, trained_rows, trained_tokens  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.run import plan_recipe, run_recipe  # noqa: E402
from adhere.train.settings import Lora  # noqa: E402
from adhere.train.stage.template import with_template  # noqa: E402

ROOT = Path(__file__).parents[3]
PLAIN = "{% for m in messages %}{{ '<user> ' if m.role == 'user' else '' }}{{ m.content }}{{ '</turn>' }}{% endfor %}"
SFT = StageSpec("sft", {"epochs": 1, "learning_rate": 1e-2})
GRPO = StageSpec(
    "grpo", {"steps": 1, "prompts_per_step": 2, "answers_per_prompt": 3, "max_new_tokens": 6, "order": "random"}
)


@pytest.fixture
def bare(tiny_llama_dir: Path, tmp_path: Path) -> Path:
    """A model as bases are: no template, and other words for the marks of one."""
    into = tmp_path / "bare"
    shutil.copytree(tiny_llama_dir, into)
    (into / "chat_template.jinja").unlink(missing_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"):
        if (file := into / name).exists():
            text = file.read_text().replace("<|im_start|>", "<|unused_0|>").replace("<|im_end|>", "<|endoftext|>")
            found = json.loads(text)
            found.pop("chat_template", None)
            file.write_text(json.dumps(found))
    assert transformers.AutoTokenizer.from_pretrained(into).chat_template is None
    return into


def recipe(bare: Path, *stages: StageSpec, **more: Any) -> Recipe:
    data = str(ROOT / "examples" / "smoke-data")
    return Recipe("r", stages, **{"start": f"hf/{bare}", "data": data, "precision": "fp32", "guards": "warn"} | more)


def logits(model: Any, ids: list[int]) -> Any:
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits


def test_a_template_brings_its_tokens_and_the_end_of_a_turn(bare: Path, tmp_path: Path) -> None:
    before, old = load_weights(bare)
    made = with_template(bare, "chatml", tmp_path / "made")
    model, tokenizer = load_weights(made)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert (tokenizer.eos_token_id, model.generation_config.eos_token_id, model.config.eos_token_id) == (end,) * 3
    assert trained_tokens(model) == sorted(tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"]))
    new = [token for token in trained_tokens(model) if token >= len(old)]
    assert new
    mean = before.get_input_embeddings().weight.mean(0)
    assert torch.allclose(model.get_input_embeddings().weight[new], mean.expand(len(new), -1))
    ids = [5, 9, 33]
    rows = len(before.get_input_embeddings().weight)
    assert torch.equal(logits(model, ids)[..., :rows][..., [3, 8]], logits(before, ids)[..., [3, 8]])
    first = weights_sha256(made)
    stamp = (made / "template.json").stat().st_mtime_ns
    assert weights_sha256(with_template(bare, "chatml", made)) == first
    assert (made / "template.json").stat().st_mtime_ns == stamp, "made once"


def test_texts_begin_with_the_token_that_the_tokenizer_begins_them_with(bare: Path, tmp_path: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    tokenizer = transformers.AutoTokenizer.from_pretrained(bare)
    first = tokenizer.convert_ids_to_tokens(7)
    tokenizer.bos_token = first
    tokenizer.save_pretrained(bare)  # it knows such a token and does not write it, as Qwen's and SmolLM2's
    turns = [{"role": "user", "content": "Hello"}]
    made = with_template(bare, "chatml", tmp_path / "without")
    assert load_weights(made)[1].apply_chat_template(turns, tokenize=False).startswith("<|im_start|>user")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{first} $A", pair=f"{first} $A {first} $B", special_tokens=[(first, 7)]
    )
    tokenizer.save_pretrained(bare)
    made = with_template(bare, "chatml", tmp_path / "with")
    assert load_weights(made)[1].apply_chat_template(turns, tokenize=False).startswith(f"{first}<|im_start|>user")


def test_a_template_of_ones_own_ends_a_turn_by_a_token_or_is_refused(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text(PLAIN)
    tokenizer = load_weights(with_template(bare, "own.jinja", tmp_path / "made", base=tmp_path))[1]
    assert tokenizer.eos_token == "</turn>"
    (tmp_path / "endless.jinja").write_text(PLAIN.replace("</turn>", "\\n\\n"))
    with pytest.raises(SpecError, match="which is no token"):
        with_template(bare, "endless.jinja", tmp_path / "endless", base=tmp_path)
    with pytest.raises(SpecError, match="one of chatml, or the path"):
        with_template(bare, "chatlm", tmp_path / "none", base=tmp_path)


@pytest.mark.parametrize("is_tied", [True, False])
def test_only_their_rows_are_trained_and_the_decoder_sees_them(bare: Path, tmp_path: Path, is_tied: bool) -> None:
    model, _ = load_weights(with_template(bare, "chatml", tmp_path / "made"))
    if is_tied:
        model.lm_head.weight = model.model.embed_tokens.weight
    else:
        model.lm_head.weight = torch.nn.Parameter(model.model.embed_tokens.weight.detach().clone())
    ids = [*trained_tokens(model), 5, 9]
    before = logits(model, ids)
    model.requires_grad_(False)
    attach_tokens(model)
    assert torch.allclose(logits(model, ids), before, atol=1e-5)
    rows = trained_rows(model)
    assert len(rows) == (1 if is_tied else 2)
    assert [p for p in model.parameters() if p.requires_grad] == list(rows.values())
    for one in rows.values():
        one.data += torch.randn(one.shape, generator=torch.Generator().manual_seed(1))
    moved = logits(model, ids)
    decoder = Decoder(model, end_ids=(), rows=1)
    drawn = decoder.decode([DecodeRow(tuple(ids), 0)], max_new_tokens=8)[0].ids
    merge_tokens(model)
    assert torch.allclose(logits(model, ids), moved, atol=1e-5)
    assert not torch.allclose(moved, before, atol=1e-2)
    assert Decoder(model, end_ids=(), rows=1).decode([DecodeRow(tuple(ids), 0)], max_new_tokens=8)[0].ids == drawn


@pytest.mark.parametrize("tied", [True, False])
def test_an_embedding_that_scales_its_rows_scales_the_trained_ones_too(tied: bool) -> None:
    """Gemma's: rollouts read none of it, so that trained models ended every answer at once."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = transformers.Gemma3TextConfig(
            vocab_size=60, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, max_position_embeddings=64, initializer_range=0.2,
            layer_types=["full_attention"] * 2, query_pre_attn_scalar=8, tie_word_embeddings=tied,
        )  # fmt: skip
        model = transformers.Gemma3ForCausalLM(config).eval()
    model.config.trained_tokens = [5, 9]
    ids = [3, 5, 20, 9, 7]
    before = logits(model, ids)
    drawn = model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False, eos_token_id=2)[0, len(ids) :]
    attach_tokens(model)
    assert torch.allclose(logits(model, ids), before, atol=1e-5)
    (answer,) = Decoder(model, end_ids=[2]).decode([DecodeRow(tuple(ids), 0)], max_new_tokens=12)
    assert list(answer.drawn) == drawn.tolist()
    merge_tokens(model)
    assert torch.allclose(logits(model, ids), before, atol=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by a name that it is about to lose
@pytest.mark.parametrize("lora", [None, Lora(rank=4, alpha=8.0)])
def test_a_recipe_trains_a_base_model_where_a_template_is_given(bare: Path, tmp_path: Path, lora: Lora | None) -> None:
    with pytest.raises(UsageError, match="template = 'chatml'"):
        run_recipe(recipe(bare, SFT), tmp_path / "none", base=ROOT)
    asked = recipe(bare, SFT, GRPO, template="chatml", lora=lora)
    planned = plan_recipe(asked, tmp_path / "out", base=ROOT)
    assert [one.name for one in planned] == ["sft", "grpo"]
    assert not (tmp_path / "out").exists()
    done = run_recipe(asked, tmp_path / "out", base=ROOT)
    start, last = (load_weights(tmp_path / "out" / name)[0] for name in ("templated", "model"))
    moved = (last.get_input_embeddings().weight != start.get_input_embeddings().weight).any(1).nonzero().flatten()
    assert moved.tolist() == trained_tokens(start)
    again = run_recipe(asked, tmp_path / "out", base=ROOT)
    assert [one.weights_sha256 for one in again] == [one.weights_sha256 for one in done]
    if lora is not None:
        peft = pytest.importorskip("peft")
        whole = peft.PeftModel.from_pretrained(start, tmp_path / "out" / "adapter")
        ids = [*trained_tokens(last), 5, 9]
        assert torch.allclose(logits(whole, ids), logits(last, ids), atol=2e-4)


def test_online_merging_holds_the_rows_of_the_start(bare: Path, tmp_path: Path) -> None:
    merging = StageSpec("dpo", {"merging": {"p": 0.5, "alpha": 0.01}, "learning_rate": 1e-4})
    done = run_recipe(recipe(bare, SFT, merging, template="chatml"), tmp_path / "out", base=ROOT)
    assert done[1].ledger.steps > 1
