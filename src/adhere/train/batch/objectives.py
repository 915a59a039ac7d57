"""Losses of the preference methods, as functions of log-probs alone.

What differs between them stands side by side here. Notation: P pairs; `chosen` and `rejected` are summed log-probs
(P) of a pair's answers under the policy, `chosen_ref` and `rejected_ref` under the reference, `*_tokens` the
answers' lengths (P). Every function returns one loss for each pair or answer. The stage adds them up and normalises
over its whole batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn.functional import logsigmoid


class PairSums(NamedTuple):
    """Holds the summed log-probs and the lengths in tokens of P pairs; without a reference the last two are None."""

    chosen: torch.Tensor
    rejected: torch.Tensor
    chosen_tokens: torch.Tensor
    rejected_tokens: torch.Tensor
    chosen_ref: torch.Tensor | None = None
    rejected_ref: torch.Tensor | None = None

    def ratios(self, *, by_length: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Subtract the reference's log-probs: log p - log ref of the chosen and of the rejected answers, (P) each.

        With `by_length` each log ratio is divided by its answer's tokens.
        """
        assert self.chosen_ref is not None and self.rejected_ref is not None  # noqa: S101, PT018 - a stage without reference
        chosen, rejected = self.chosen - self.chosen_ref, self.rejected - self.rejected_ref
        return (chosen / self.chosen_tokens, rejected / self.rejected_tokens) if by_length else (chosen, rejected)


def sigmoid(sums: PairSums, *, beta: float, smoothing: float = 0.0, by_length: bool = False) -> torch.Tensor:
    """Return DPO's losses (P): the negative log of a sigmoid of beta * (ratio of chosen - ratio of rejected).

    Source: arXiv 2305.18290, eq. 7; `smoothing` mixes in the flipped label (conservative DPO); `by_length` divides each
    ratio by its answer's tokens (Tulu 3's `dpo_norm`, arXiv 2411.15124, eq. 6).
    """
    chosen, rejected = sums.ratios(by_length=by_length)
    margin = beta * (chosen - rejected)
    # logsigmoid and not log(sigmoid): the latter is -inf for a large negative margin.
    return -(1 - smoothing) * logsigmoid(margin) - smoothing * logsigmoid(-margin)


def ipo(sums: PairSums, *, beta: float) -> torch.Tensor:
    """Return IPO's losses (P): (ratio of chosen - ratio of rejected - 1 / (2 beta))^2, ratios as means over tokens.

    Source: arXiv 2310.12036, eq. 17; the mean over tokens is the authors' later advice and TRL's behaviour.
    """
    chosen, rejected = sums.ratios(by_length=True)
    # A target for the margin, where DPO pushes it on without end.
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
    """Return KTO's losses (A).

    A good answer's is weight * (1 - sigmoid(beta * (ratio - kl))), a bad one's weight * (1 - sigmoid(beta * (kl -
    ratio))).

    Args:
        ratios: log p - log ref of each answer, (A).
        desirable: Whether each answer is good, (A) of bool.
        kl: The reference point z0, a scalar: the mean ratio of answers after other prompts, not below 0; no gradient
            flows.
        beta: How strongly the policy is held to the reference.
        weight_good: The weight of good answers.
        weight_bad: The weight of bad answers.

    Source: arXiv 2402.01306, eqs. 7 and 8.
    """
    margin = beta * torch.where(desirable, ratios - kl, kl - ratios)
    weights = torch.where(desirable, weight_good, weight_bad)
    return weights * (1 - torch.sigmoid(margin))


def bradley_terry(
    chosen: torch.Tensor, rejected: torch.Tensor, *, centre: float = 0.0, share: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the losses (P) of a reward model.

    One is -log sigmoid(reward of chosen - reward of rejected) + centre * (sum of both rewards)^2.

    `share` (P) is for pairs that several criteria label: the share of labels that prefer the chosen answer. The first
    term is then the cross-entropy to it, -share log sigmoid(margin) - (1 - share) log sigmoid(-margin). None: all
    labels do.

    Source: arXiv 2203.02155, eq. 1; the centring term is arXiv 2312.09244's, as in TRL.
    """
    loss = -logsigmoid(chosen - rejected)
    if share is not None:
        loss = share * loss - (1 - share) * logsigmoid(rejected - chosen)
    return loss + centre * (chosen + rejected).square()
