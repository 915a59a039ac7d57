"""The optimizer loop: schedule, accumulation, clipping and its refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import Divergence, UsageError  # noqa: E402
from adhere.train.loop import frozen_copy, learning, rate_at  # noqa: E402
from adhere.train.settings import OptimizerSettings, check_settings  # noqa: E402


def test_qwen_sft_schedule_falls_to_a_tenth() -> None:
    settings = OptimizerSettings(learning_rate=7e-6, schedule="linear", final_share=0.1)
    rates = [rate_at(step, 10, settings) for step in range(10)]
    assert rates[0] == pytest.approx(7e-6)
    assert rates[-1] == pytest.approx(7e-7)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates))


def test_cosine_is_half_way_in_the_middle_and_constant_stays() -> None:
    cosine = OptimizerSettings(learning_rate=1.0, schedule="cosine", final_share=0.0)
    assert rate_at(5, 11, cosine) == pytest.approx(0.5)
    assert rate_at(10, 11, cosine) == pytest.approx(0.0, abs=1e-12)
    assert {rate_at(step, 11, OptimizerSettings(learning_rate=1.0)) for step in range(11)} == {1.0}


def test_warmup_rises_in_equal_steps_and_reaches_the_full_rate() -> None:
    settings = OptimizerSettings(learning_rate=1.0, warmup_share=0.3)
    assert [rate_at(step, 10, settings) for step in range(4)] == pytest.approx([0.25, 0.5, 0.75, 1.0])


def test_a_single_step_has_the_full_rate() -> None:
    assert rate_at(0, 1, OptimizerSettings(learning_rate=1.0, schedule="linear")) == 1.0


def test_embeddings_stay_and_the_model_is_put_back(tiny: tuple[Any, Any]) -> None:
    model, _ = tiny
    model.train()
    before = model.get_input_embeddings().weight.detach().clone()
    attention = model.config._attn_implementation
    with learning(model, OptimizerSettings(learning_rate=0.1), stage="test", steps=1) as learner:
        assert not model.training
        learner.update([0], lambda _: model(input_ids=torch.tensor([[5, 6, 7]])).logits.square().mean())
    torch.testing.assert_close(model.get_input_embeddings().weight, before, atol=0, rtol=0)
    assert model.training
    assert model.config._attn_implementation == attention
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_the_first_step_is_adamw_by_hand(tiny: tuple[Any, Any]) -> None:
    """Adam's first step is lr * sign(gradient) (epsilon aside).

    Decay multiplies by 1 - lr*wd before, never on norms.
    """
    model, _ = tiny
    weight, norm = model.model.layers[0].mlp.up_proj.weight, model.model.norm.weight
    old, old_norm = weight.detach().clone(), norm.detach().clone()
    settings = OptimizerSettings(learning_rate=1e-2, weight_decay=0.1)
    with learning(model, settings, stage="test", steps=1) as learner:
        learner.update([0], lambda _: (weight * 3).sum() + (norm * 2).sum())
    torch.testing.assert_close(weight, old * (1 - 1e-3) - 1e-2, atol=1e-6, rtol=0)
    torch.testing.assert_close(norm, old_norm - 1e-2, atol=1e-6, rtol=0)


def test_the_gradient_norm_is_over_all_parts_and_before_clipping(tiny: tuple[Any, Any]) -> None:
    model, _ = tiny
    weight = model.model.norm.weight
    with learning(model, OptimizerSettings(), stage="test", steps=1) as learner:
        update = learner.update([3.0, 4.0], lambda factor: (weight * factor).sum())
    assert update.grad_norm == pytest.approx(7.0 * math.sqrt(len(weight)))


@pytest.mark.parametrize("factor", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_and_names_the_step(tiny: tuple[Any, Any], factor: float) -> None:
    model, _ = tiny
    weight = model.model.norm.weight
    with learning(model, OptimizerSettings(), stage="sft", steps=5) as learner:
        learner.update([1.0], lambda f: (weight * f).sum())
        before = weight.detach().clone()
        with pytest.raises(Divergence, match=r"sft: the loss of step 2 of 5 is (nan|inf|-inf)"):
            learner.update([factor], lambda f: (weight * f).sum())
    torch.testing.assert_close(weight, before, atol=0, rtol=0)


def test_a_gradient_that_is_no_number_stops(tiny: tuple[Any, Any]) -> None:
    model, _ = tiny
    weight = model.model.norm.weight
    with (
        learning(model, OptimizerSettings(), stage="sft", steps=1) as learner,
        pytest.raises(Divergence, match="gradient norm of step 1"),
    ):
        learner.update([0], lambda _: (weight - weight.detach()).abs().sqrt().sum())


def test_small_steps_on_coarse_weights_are_refused(tiny: tuple[Any, Any]) -> None:
    model = tiny[0].to(torch.bfloat16)
    with learning(model, OptimizerSettings(learning_rate=1e-5), stage="dpo", steps=1):
        pass  # large enough to be taken
    with (
        pytest.raises(UsageError, match="bfloat16 cannot take steps of learning_rate 7e-07"),
        learning(model, OptimizerSettings(learning_rate=7e-7), stage="dpo", steps=1),
    ):
        pass


@pytest.mark.parametrize("settings", [OptimizerSettings(learning_rate=0), OptimizerSettings(warmup_share=2)])
def test_settings_out_of_their_domain_are_refused(settings: OptimizerSettings) -> None:
    with pytest.raises(UsageError, match=r"OptimizerSettings: Expected .*(learning_rate|warmup_share)"):
        check_settings(settings)


def test_a_frozen_copy_does_not_move_with_the_model(tiny: tuple[Any, Any]) -> None:
    model, _ = tiny
    copy = frozen_copy(model)
    with torch.no_grad():
        model.model.norm.weight.add_(1.0)
    assert not torch.equal(copy.model.norm.weight, model.model.norm.weight)
    assert not any(parameter.requires_grad for parameter in copy.parameters())
