"""ORPO: supervised fine-tuning on the chosen answers and an odds-ratio term against the rejected ones, in one stage.

Loss: mean negative log-likelihood of the chosen tokens + weight * mean over pairs of -log sigmoid(log odds(chosen) -
log odds(rejected)), odds of the geometric mean of an answer's token probabilities. Source: arXiv 2403.07691, eqs. 4 to
7. How ours differs: the likelihood is over the answer alone, as the paper writes it; TRL's trainer takes prompt tokens
in too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adhere.progress import Progress
from adhere.schema import PairRow
from adhere.train.batch.pairs import PairSettings, pairs_work, train_on_pairs
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.settings import Positive
from adhere.train.stages import STAGES, Stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["PROVENANCE", "OrpoSettings", "orpo"]


class OrpoSettings(PairSettings, frozen=True):
    """ORPO.

    Attributes:
        weight: Of the odds-ratio term (lambda of the paper; TRL calls it beta).
    """

    learning_rate: Positive = 1e-5
    weight: Positive = 0.1


PROVENANCE = {
    "weight": Provenance(None, "0.1", "the ORPO paper's for its larger models"),
    "learning_rate": Provenance(None, "1e-5", "between SFT's and DPO's here: most of its gradient is SFT's"),
}


def orpo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[PairRow],
    settings: OrpoSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on `rows`; errors are `pairs.train_on_pairs`'s."""
    from adhere.train.batch import objectives

    return train_on_pairs(
        model,
        tokenizer,
        rows,
        settings,
        name="orpo",
        beta=1.0,
        sft_weight=1.0,
        has_reference=False,
        seed=seed,
        progress=progress,
        objective=lambda sums: settings.weight * objectives.orpo(sums),
    )


def _work(settings: OrpoSettings, data: Shape) -> Work:
    return pairs_work(settings, data, has_reference=False)


STAGES.add(
    "orpo",
    Stage(
        "orpo",
        "SFT on chosen answers with an odds-ratio term, in one stage",
        "arXiv 2403.07691",
        OrpoSettings,
        "pairs",
        lambda pool, _: pool.pairs,
        orpo,
        _work,
        PROVENANCE,
        version=1,
    ),
    owner=__name__,
)
