"""Losses of this package's stages, as functions of log-probs alone; notation as in `adhere.train.batch.objectives`."""

from __future__ import annotations

import torch
from torch.nn.functional import logsigmoid

from adhere.train.batch.objectives import PairSums

__all__ = ["iopo", "orpo", "simpo", "uft"]


def simpo(sums: PairSums, *, beta: float, gamma: float) -> torch.Tensor:
    """SimPO: -log sigmoid(beta * (mean of chosen - mean of rejected) - gamma), without a reference, (P).

    Source: arXiv 2405.14734, eq. 6. TRL writes gamma as beta * (gamma / beta); it is the same number.
    """
    chosen, rejected = _means(sums)
    return -logsigmoid(beta * (chosen - rejected) - gamma)


def orpo(sums: PairSums) -> torch.Tensor:
    """ORPO's odds-ratio term: -log sigmoid(log odds of chosen - log odds of rejected), without a reference, (P).

    odds = p / (1 - p) of the geometric mean of an answer's token probabilities. The stage adds it, weighted, to the
    negative log-likelihood of the chosen answers. Source: arXiv 2403.07691, eqs. 4 to 7.
    """
    chosen, rejected = _means(sums)
    log_odds = (chosen - rejected) - (_log1mexp(chosen) - _log1mexp(rejected))
    return -logsigmoid(log_odds)


def uft(ratios: torch.Tensor, *, scores: torch.Tensor, beta: float) -> torch.Tensor:
    """UFT: (sigmoid(beta * ratio) - score)^2, where verified demonstrations have score 1 and failed answers 0, (A).

    Source: arXiv 2410.21438, after UNA: the implicit reward beta * (log p - log ref) is fitted to an explicit score, so
    that SFT rows and feedback share one objective. How ours differs: the squared error is the paper's choice for
    scores; its variants with other distances are left out.
    """
    return (torch.sigmoid(beta * ratios) - scores).square()


def iopo(straight: torch.Tensor, crossed: torch.Tensor, *, beta: float) -> torch.Tensor:
    """IOPO: -log sigmoid(beta * (r11 + r22 - r12 - r21)), (Q).

    Of two prompts and two answers of which each fits one prompt.

    Args:
        straight: Ratios (log p - log ref) of each answer to its own prompt, (Q, 2).
        crossed: Ratios of each answer to the other prompt, (Q, 2).
        beta: How strongly the policy is held to its start.

    Source: arXiv 2411.06208: the mean of its output preference (better answer to a prompt) and its input preference
    (better prompt to an answer) collapses to this sum.
    """
    return -logsigmoid(beta * (straight.sum(-1) - crossed.sum(-1)))


def _log1mexp(x: torch.Tensor) -> torch.Tensor:
    """log(1 - exp(x)) for x < 0, exact near 0 and far from it.

    At 0 (a certain answer) it is held off by one part in 10^7.
    """
    x = x.clamp(max=-1e-7)
    return torch.where(x > -0.6931472, torch.log(-torch.expm1(x)), torch.log1p(-torch.exp(x)))


def _means(sums: PairSums) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean log-prob a token of chosen and rejected (P)."""
    return sums.chosen / sums.chosen_tokens, sums.rejected / sums.rejected_tokens
