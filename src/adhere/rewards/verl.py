"""The judge as verl's custom reward function. Nothing here imports verl.

    custom_reward_function.path=pkg://adhere.rewards.verl  custom_reward_function.name=compute_score
    +custom_reward_function.reward_kwargs.kind=binary

The ground truth of a row (`reward_model.ground_truth`) is a mapping with `instruction_id_list` and `kwargs`, or its JSON
text (safer in Parquet, which gives every row the same keys).

Where nothing was measured the score is None, never 0. verl has no place for a missing reward and stops there; judge
prompts without undecidable constraints, or filter them out beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adhere.constraints.resolve import Mode
from adhere.errors import UsageError
from adhere.pipeline.reward import RewardKind
from adhere.rewards.rows import checked_kind, refs_in, reward_of


def compute_score(
    data_source: str | None,  # noqa: ARG001 - verl passes it
    solution_str: str,
    ground_truth: Any,
    extra_info: Any = None,  # noqa: ARG001
    *,
    kind: RewardKind = "dense",
    mode: Mode = "reference",
    profile: str | None = None,
    **others: Any,  # noqa: ARG001
) -> float | None:
    """The reward of one answer: its reasoning set aside, strictly judged.

    Args:
        data_source: Not looked at.
        solution_str: The decoded answer.
        ground_truth: The row's constraints; see the module.
        extra_info: Not looked at.
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only where all pass.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite, where there are several.
        others: Not looked at: verl's releases pass different ones.

    Raises:
        UsageError: `kind` is unknown, or the ground truth names no constraints.
        UnknownName, BadParameter: It names one that cannot be judged.
    """
    refs = refs_in(ground_truth, where="verl's ground_truth")
    return reward_of(solution_str, refs, kind=checked_kind(kind), mode=mode, profile=profile)


def compute_score_batch(
    data_sources: Sequence[str | None],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None,  # noqa: ARG001 - verl passes it
    *,
    kind: RewardKind = "dense",
    mode: Mode = "reference",
    profile: str | None = None,
    **others: Any,  # noqa: ARG001
) -> list[float | None]:
    """As `compute_score`, for verl's reward manager `batch`.

    Args:
        data_sources: Not looked at.
        solution_strs: The decoded answers.
        ground_truths: As many rows' constraints.
        extra_infos: Not looked at.
        kind: As for `compute_score`.
        mode: As for `compute_score`.
        profile: As for `compute_score`.
        others: Not looked at.

    Raises:
        UsageError: As for `compute_score`, or there are not as many answers as ground truths.
    """
    if len(solution_strs) != len(ground_truths):
        raise UsageError(f"Got {len(solution_strs)} answers and {len(ground_truths)} ground truths")
    return [
        compute_score(source, text, truth, kind=kind, mode=mode, profile=profile)
        for source, text, truth in zip(data_sources, solution_strs, ground_truths, strict=True)
    ]
