"""Training in bf16: products in it, weights in fp32, the sampler's own log-probs where it draws from another policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch")

from tests.unit.train.conftest import load  # noqa: E402

from adhere.models.local.decoder.precision import Precisions  # noqa: E402
from adhere.schema import RlRow, SftRow  # noqa: E402
from adhere.train.batch.pairs import Sums, reference_sums, update_on_pairs  # noqa: E402
from adhere.train.batch.rollout import Answer, RolloutSettings, Sampler  # noqa: E402
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.loop import attention_for, learning  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, WeightedAnswer, grpo, grpo_loss  # noqa: E402
from adhere.train.methods.online_dpo import OnlineDpoSettings, online_dpo  # noqa: E402
from adhere.train.methods.sft import SftSettings, sft  # noqa: E402
from adhere.train.packed.attention import SDPA  # noqa: E402
from adhere.train.packed.pack import TokenRow, cut, grow, log_probs, row_sums  # noqa: E402
from adhere.train.packed.rows import TokenPair  # noqa: E402
from adhere.train.settings import OptimizerSettings, settle  # noqa: E402

FAST = Precisions("bf16", "bf16", "rows", "measured")
PROMPTS = [RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, 0.1 * i, (), ()) for i in range(4)]
ROWS = [TokenRow((1, 40, 41, 42), tuple(range(50 + 3 * i, 60 + 4 * i))) for i in range(4)]
ONLINE = {"steps": 2, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 8, "learning_rate": 1e-3}


def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    return [(sum(map(ord, answer.text)) % 5) / 4 for answer in answers]


def test_a_study_settles_what_settings_leave_open_and_nothing_else() -> None:
    found = settle(GrpoSettings(), FAST)
    assert (found.precision, found.rollout_precision, found.rollout_layout) == ("bf16", "bf16", "rows")
    kept = settle(GrpoSettings(precision="fp32", rollout_precision="fp32"), FAST)
    assert (kept.precision, kept.rollout_precision) == ("fp32", "fp32")
    assert msgspec.to_builtins(settle(SftSettings(), FAST))["precision"] == "bf16", "it is in a cell's key"
    assert settle(SftSettings(), Precisions()).precision == "fp32"


@pytest.mark.parametrize("directory", ["tiny_llama_dir", "tiny_qwen_dir"])
def test_bf16_log_probs_and_gradients_are_those_of_fp32_up_to_its_rounding(
    directory: str, request: pytest.FixtureRequest
) -> None:
    model, _ = load(request.getfixturevalue(directory))
    found = {}
    for precision in ("fp32", "bf16"):
        with learning(model, OptimizerSettings(precision=precision), stage="test", steps=1):
            if precision == "bf16":
                assert model.config._attn_implementation == attention_for(model, "bf16") != SDPA
            values = log_probs(model, grow(ROWS), precision=precision)
            (-values.mean()).backward()
            grads = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
            found[precision] = (values.detach(), grads)
    (exact, wanted), (coarse, got) = found["fp32"], found["bf16"]
    assert coarse.dtype == torch.float32
    assert not torch.equal(exact, coarse), "this was not computed in bf16"
    torch.testing.assert_close(coarse, exact, atol=0.05, rtol=0.02)
    for name, gradient in wanted.items():
        assert got[name].dtype == torch.float32
        assert torch.nn.functional.cosine_similarity(gradient.flatten(), got[name].flatten(), dim=0) > 0.999, name


def test_weights_stay_in_fp32_and_the_same_seed_gives_the_same_bits(tiny_llama_dir: Path) -> None:
    rows = [SftRow(f"p{i}", f"Write about thing {i}.", "the sea is deep and cold", "sampled", (), ()) for i in range(6)]
    settings = SftSettings(batch_rows=3, learning_rate=1e-6, precision="bf16")
    found = []
    for _ in range(2):
        model, tokenizer = load(tiny_llama_dir)
        before = model.model.norm.weight.detach().clone()
        result = sft(model, tokenizer, rows, settings, seed=0)
        found.append(model.state_dict())
        assert {p.dtype for p in model.parameters()} == {torch.float32}
        assert not torch.equal(before, model.model.norm.weight), "a step of 1e-6 would be lost in bf16 weights"
        assert result.ledger.precision == "bf16"
        assert result.ledger.device == "cpu"
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_the_ledger_says_what_was_frozen(tiny_llama_dir: Path) -> None:
    rows = [SftRow("p", "Write.", "the sea", "sampled", (), ())]
    model, tokenizer = load(tiny_llama_dir)
    whole = sum(p.numel() for p in model.parameters())
    tied = model.get_input_embeddings().weight.numel()
    ledger = sft(model, tokenizer, rows, SftSettings(), seed=0).ledger
    assert (ledger.parameters_trained, ledger.parameters_frozen) == (whole - tied, tied)
    ledger = sft(model, tokenizer, rows, SftSettings(freeze_embeddings_and_head=False), seed=0).ledger
    assert (ledger.parameters_trained, ledger.parameters_frozen) == (whole, 0)


def test_the_difference_between_sampler_and_trainer_is_corrected_up_to_the_cap() -> None:
    """The trainer gives three tokens 1, 1/2 and 4 times the sampler's probability; the cap is 2."""
    drawn = torch.tensor([-1.0, -1.0, -1.0])
    sampled = (-1.0, -1.0 + math.log(2), -1.0 - math.log(4))
    found = drawn.clone().requires_grad_()
    answers = [WeightedAnswer(TokenRow((1,), (2, 3, 4)), 1.0, 1.0, sampled)]
    settings = GrpoSettings(importance_cap=2.0, rollout_precision="bf16")
    loss, measured = grpo_loss(found, answers, drawn_log_probs=drawn, reference=None, settings=settings)
    loss.backward()
    assert loss.item() == pytest.approx(-(1 + 0.5 + 2))
    assert found.grad.tolist() == pytest.approx([-1, -0.5, -2])
    assert (measured.importance, measured.cut) == (pytest.approx(5.5), 1)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_grpo_uses_the_sampler_s_own_log_probs_where_it_differs(tiny_llama_dir: Path, precision: Any) -> None:
    model, tokenizer = load(tiny_llama_dir)
    settings = GrpoSettings(**ONLINE, rollout_precision=precision)
    result = grpo(model, tokenizer, PROMPTS, settings, seed=0, score=score)
    assert result.ledger.rollout_precision == precision
    if precision == "fp32":
        assert "importance_mean" not in result.log[0]
    else:
        assert result.log[0]["importance_mean"] != 1.0
        assert result.log[0]["importance_mean"] == pytest.approx(1.0, abs=0.05)


def test_an_answer_ends_where_evaluation_ends_it(tiny_llama_dir: Path) -> None:
    """`generation_config` names further ends: a rollout that reads on past one is not what is measured later."""
    model, tokenizer = load(tiny_llama_dir)
    settings = RolloutSettings(answers_per_prompt=8, max_new_tokens=12)

    def answers() -> list[Any]:
        sampler = Sampler(model, tokenizer, settings, score=score, seed=0, tally=Tally())
        return [answer for group in sampler.draw(PROMPTS, step=1) for answer in group.answers]

    said = [token for answer in answers() for token in answer.row.completion[2:-1]]
    other = max(set(said), key=said.count)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, other]
    ended = [answer for answer in answers() if other in answer.row.completion]
    assert ended
    for answer in ended:
        assert answer.row.completion.index(other) == len(answer.row.completion) - 1
        assert not answer.answer.truncated


def test_online_dpo_learns_the_policy_that_it_draws_from(tiny_llama_dir: Path) -> None:
    """At temperature 0.5 a margin is over log-probs at 0.5, in policy and reference alike."""
    model, tokenizer = load(tiny_llama_dir)
    pairs = [TokenPair(ROWS[0], ROWS[1])]
    (part,) = cut(pairs, tree_tokens=500)
    wanted = row_sums(log_probs(model, part.tree, temperature=0.5), part.tree).tolist()
    base = reference_sums(model, pairs, tree_tokens=500, tally=Tally(), temperature=0.5)
    assert base[0] == pytest.approx(wanted)
    with learning(model, OnlineDpoSettings(), stage="online-dpo", steps=1) as learner:
        none = [Sums(0.0, 0.0)]
        row = update_on_pairs(model, learner, pairs, none, beta=1.0, tally=Tally(), temperature=0.5, starts_at=None)
    assert row["margin"] == pytest.approx(wanted[0] - wanted[1], rel=1e-5)
    logs = []
    for temperature in (0.5, 1.0):
        model, tokenizer = load(tiny_llama_dir)
        settings = OnlineDpoSettings(**ONLINE, temperature=temperature, beta=5.0)
        logs.append(online_dpo(model, tokenizer, PROMPTS, settings, seed=0, score=score).log)
    assert all(log[0]["loss"] == pytest.approx(math.log(2), abs=1e-4) for log in logs)


@pytest.mark.parametrize("stage", ["online_dpo", "grpo"])
def test_online_stages_run_in_bf16_and_repeat_their_bits(tiny_llama_dir: Path, stage: str) -> None:
    found = []
    for _ in range(2):
        model, tokenizer = load(tiny_llama_dir)
        if stage == "grpo":
            grpo(model, tokenizer, PROMPTS, settle(GrpoSettings(**ONLINE, kl_beta=0.1), FAST), seed=1, score=score)
        else:
            online_dpo(model, tokenizer, PROMPTS, settle(OnlineDpoSettings(**ONLINE), FAST), seed=1, score=score)
        found.append(model.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_another_generator_is_another_sampler_and_is_corrected() -> None:
    assert not RolloutSettings().sampler_differs
    assert RolloutSettings(generator="vllm").sampler_differs
    assert RolloutSettings(precision="bf16").sampler_differs
