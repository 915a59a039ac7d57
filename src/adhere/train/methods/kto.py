"""KTO: answers that are good or bad by themselves, not in pairs.

They are weighed by a model of how people value gains and losses. Loss: w (1 - sigmoid(beta (log ratio - z0))) of a
good answer, w (1 - sigmoid(beta (z0 - log ratio))) of a bad one; z0 is the mean log ratio of the batch's answers
after other prompts, not below 0, without gradient. Source: arXiv 2402.01306, eqs. 7 and 8, and TRL 1.16's
KTOTrainer. How ours differs: both halves of the pool's pairs are single answers, so there are as many good as bad
and both weigh 1; an answer is not put to its own prompt again for z0, where TRL's shift can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adhere.progress import Progress
from adhere.schema import PairRow
from adhere.train.batch.answers import AnswerSettings, Item, answers_work, train_on_answers
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.packed.rows import pair_rows
from adhere.train.settings import Positive
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class KtoSettings(AnswerSettings, frozen=True):
    """KTO.

    Attributes:
        weight_good: Weight of good answers' losses.
        weight_bad: Weight of bad answers' losses.
    """

    weight_good: Positive = 1.0
    weight_bad: Positive = 1.0


PROVENANCE = {
    "beta": Provenance(None, "0.1", "the KTO paper's"),
    "weight_good": Provenance(None, "1.0", "as many good as bad answers: the paper's rule gives equal weights"),
}


def kto(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[PairRow],
    settings: KtoSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on both answers of each pair, each by itself. Raises what `train_on_answers` raises."""
    from adhere.train.batch import objectives

    # (chosen, rejected) of a pair become two answers: a good one of label 1 and a bad one of label 0.
    items = [
        Item((row,), label) for pair in pair_rows(tokenizer, rows) for row, label in zip(pair, (1.0, 0.0), strict=True)
    ]

    def loss(ratios: torch.Tensor, labels: torch.Tensor, point: torch.Tensor) -> torch.Tensor:
        return objectives.kto(
            ratios[:, 0],  # (I, 1): one row an answer
            desirable=labels > 0.5,
            kl=point,
            beta=settings.beta,
            weight_good=settings.weight_good,
            weight_bad=settings.weight_bad,
        )

    return train_on_answers(
        model, items, settings, name="kto", loss=loss, has_reference_point=True, seed=seed, progress=progress
    )


STAGE = Stage(
    "kto",
    "KTO: good and bad answers by themselves",
    "arXiv 2402.01306",
    KtoSettings,
    "pairs",
    lambda pool, _: pool.pairs,
    kto,
    lambda settings, data: answers_work(settings, data, rows=1, items=2 * data.rows, has_reference_point=True),
    PROVENANCE,
    version=1,
)
