"""UFT: demonstrations and preferences in one objective, by fitting the implicit reward to a score.

Loss of an answer: (sigmoid(beta log ratio) - score)^2; verified demonstrations and chosen answers have score 1,
rejected ones 0. Source: arXiv 2410.21438, after UNA (2408.15339), and its authors' code, which computes this
(github.com/ZhichaoWang970201/UNA-UFT, c10ef52, `UNA_trainer_score_MSE`). How ours differs: scores are the judge's, 1
and 0, where the paper also has graded ones; the loss is the mean over a batch's answers, where the code adds up a
pair's two; the code's variant with cross-entropy is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adhere.progress import Progress
from adhere.schema import PairRow, SftRow
from adhere.train.batch.answers import AnswerSettings, Item, answers_work, train_on_answers
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.packed.rows import pair_rows, sft_rows
from adhere.train.settings import Positive
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["PROVENANCE", "UftSettings", "uft"]


class UftSettings(AnswerSettings, frozen=True):
    """UFT."""

    learning_rate: Positive = 1e-5


PROVENANCE = {
    "learning_rate": Provenance(None, "1e-5", "between SFT's and DPO's here, whose place it takes"),
    "beta": Provenance(None, "0.1", "as for DPO here; the authors' code has 0.01 and 0.03"),
}


def uft(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SftRow | PairRow],
    settings: UftSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on demonstrations and pairs; errors are `answers.train_on_answers`'s."""
    from adhere_more import losses

    demonstrations = sft_rows(tokenizer, [row for row in rows if isinstance(row, SftRow)])
    pairs = pair_rows(tokenizer, [row for row in rows if isinstance(row, PairRow)])
    items = [Item((row,), 1.0) for row in demonstrations]
    items += [Item((row,), score) for pair in pairs for row, score in zip(pair, (1.0, 0.0), strict=True)]

    def loss(ratios: torch.Tensor, labels: torch.Tensor, point: torch.Tensor) -> torch.Tensor:  # noqa: ARG001 - KTO's
        return losses.uft(ratios[:, 0], scores=labels, beta=settings.beta)

    return train_on_answers(model, items, settings, name="uft", loss=loss, seed=seed, progress=progress)


def _work(settings: UftSettings, data: Shape) -> Work:
    return answers_work(settings, data, rows=1, items=data.rows)


STAGE = Stage(
    "uft",
    "demonstrations and preferences in one objective",
    "arXiv 2410.21438",
    UftSettings,
    "sft+pairs",
    lambda pool, _: [*pool.sft, *pool.pairs],
    uft,
    _work,
    PROVENANCE,
    version=1,
)
