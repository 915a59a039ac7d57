"""Losses of the preference methods, as functions of log-probs alone.

What differs between them stands side by side here. Notation: P pairs; `chosen` and `rejected` are summed log-probs (P)
of a pair's answers under the policy, `chosen_ref` and `rejected_ref` under the reference, `*_tokens` the answers'
lengths (P). Every function gives one loss a pair or answer; the stage sums them and divides by what its whole batch is
normalised over.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn.functional import logsigmoid


class PairSums(NamedTuple):
    """Summed log-probs and lengths of P pairs."""

    chosen: torch.Tensor
    rejected: torch.Tensor
    chosen_tokens: torch.Tensor
    rejected_tokens: torch.Tensor
    chosen_ref: torch.Tensor | None = None
    rejected_ref: torch.Tensor | None = None

    def ratios(self, *, by_length: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Log p - log ref of chosen and rejected (P); with `by_length` the mean over an answer's tokens."""
        assert self.chosen_ref is not None and self.rejected_ref is not None  # noqa: S101, PT018 - a stage without reference
        chosen, rejected = self.chosen - self.chosen_ref, self.rejected - self.rejected_ref
        return (chosen / self.chosen_tokens, rejected / self.rejected_tokens) if by_length else (chosen, rejected)


def sigmoid(sums: PairSums, *, beta: float, smoothing: float = 0.0, by_length: bool = False) -> torch.Tensor:
    """DPO, (P): the negative log of a sigmoid of beta * (ratio of chosen - ratio of rejected).

    Source: arXiv 2305.18290, eq. 7; `smoothing` mixes in the flipped label (conservative DPO); `by_length` divides each
    ratio by its answer's tokens (Tulu 3's `dpo_norm`, arXiv 2411.15124, eq. 6).
    """
    chosen, rejected = sums.ratios(by_length=by_length)
    margin = beta * (chosen - rejected)
    return -(1 - smoothing) * logsigmoid(margin) - smoothing * logsigmoid(-margin)


def ipo(sums: PairSums, *, beta: float) -> torch.Tensor:
    """IPO: (ratio of chosen - ratio of rejected - 1 / (2 beta))^2, ratios meaned over tokens, (P).

    Source: arXiv 2310.12036, eq. 17; the mean over tokens is the authors' later advice and TRL's behaviour.
    """
    chosen, rejected = sums.ratios(by_length=True)
    return (chosen - rejected - 1 / (2 * beta)).square()


def kto(
    ratios: torch.Tensor,
    *,
    desirable: torch.Tensor,
    kl: torch.Tensor,
    beta: float,
    weight_good: float,
    weight_bad: float,
) -> torch.Tensor:
    """KTO: weight * (1 - sigmoid(beta * (ratio - kl))) of a good answer.

    Of a bad one: weight * (1 - sigmoid(beta * (kl - ratio))).

    Args:
        ratios: log p - log ref of each answer, (A).
        desirable: Whether it is a good one, (A) of bool.
        kl: The reference point z0, a scalar: the mean ratio of answers put to other prompts, not below 0; no gradient
            flows.
        beta: How strongly the policy is held to its start.
        weight_good: Of good answers.
        weight_bad: Of bad answers.

    Source: arXiv 2402.01306, eqs. 7 and 8.
    """
    margin = beta * torch.where(desirable, ratios - kl, kl - ratios)
    weights = torch.where(desirable, weight_good, weight_bad)
    return weights * (1 - torch.sigmoid(margin))


def bradley_terry(
    chosen: torch.Tensor, rejected: torch.Tensor, *, centre: float = 0.0, share: torch.Tensor | None = None
) -> torch.Tensor:
    """The reward model's loss: -log sigmoid(reward of chosen - reward of rejected) + centre * (their sum)^2, (P).

    `share` (P): of the labels that prefer the chosen answer, where several criteria label a pair: the cross-entropy to
    that share, -share log sigmoid(margin) - (1 - share) log sigmoid(-margin). None: all do. Source: arXiv 2203.02155,
    eq. 1; the centring term is arXiv 2312.09244's, as in TRL.
    """
    loss = -logsigmoid(chosen - rejected)
    if share is not None:
        loss = share * loss - (1 - share) * logsigmoid(rejected - chosen)
    return loss + centre * (chosen + rejected).square()
