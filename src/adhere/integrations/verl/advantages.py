"""Computes GRPO's advantages for verl, from measured answers only.

verl loads this module by itself (entry point `verl.plugins`).

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
    """Compute verl's own GRPO advantages for answers with a score; the others get 0 and leave the loss.

    Args:
        token_level_rewards: (answers, tokens); an answer whose sum is NaN was not measured.
        response_mask: (answers, tokens). Rows of unmeasured answers are set to 0 in place, so that the loss neither
            contains their tokens nor divides by them. So are rows of an answer that is the only measured one of its
            group.
        index: (answers,): the group of each answer.
        config: verl's `algorithm`; `norm_adv_by_std_in_grpo` is read.
        others: Ignored.
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
