"""GRPO's advantages for verl, of the answers that were measured.

It loads this module by itself (entry point `verl.plugins`).

    algorithm.adv_estimator=adhere_grpo  +reward.custom_reward_function.reward_kwargs.missing=mask

Written against verl 0.9.1.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from adhere.errors import MissingExtra

try:
    import torch
    from verl.trainer.ppo import core_algos
except ModuleNotFoundError as error:
    raise MissingExtra(
        f"This is a part of verl's, and needs it ({error.name} is not installed): pip install verl"
    ) from error


@core_algos.register_adv_est("adhere_grpo")
def measured_grpo(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Any,
    config: Any = None,
    **others: Any,  # noqa: ARG001 - verl passes what other estimators need
) -> tuple[torch.Tensor, torch.Tensor]:
    """Verl's own GRPO advantages of the answers that have a score, and 0 for the others, whose tokens leave the loss.

    Args:
        token_level_rewards: (answers, tokens); an answer whose sum is NaN was not measured.
        response_mask: (answers, tokens). Its rows of such answers are set to 0 in place, so that the loss neither has
            their tokens nor divides by them. So are those of an answer that alone of its group was measured.
        index: (answers,) the group of each.
        config: verl's `algorithm`; `norm_adv_by_std_in_grpo` is read.
        others: Not looked at.
    """
    is_measured = ~torch.isnan(token_level_rewards.sum(dim=-1))
    counts = Counter(group for group, is_kept in zip(index, is_measured.tolist(), strict=True) if is_kept)
    is_measured &= torch.tensor([counts[group] > 1 for group in index], device=is_measured.device)
    response_mask[~is_measured] = 0
    advantages = torch.zeros_like(token_level_rewards)
    if is_measured.any():
        advantages[is_measured] = core_algos.compute_grpo_outcome_advantage(
            token_level_rewards[is_measured],
            response_mask[is_measured],
            index[is_measured.cpu().numpy()],
            norm_adv_by_std_in_grpo=True if config is None else config.get("norm_adv_by_std_in_grpo", True),
        )[0]
    return advantages, advantages
