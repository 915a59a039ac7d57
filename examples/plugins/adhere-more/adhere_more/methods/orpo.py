"""ORPO: supervised fine-tuning on the chosen answers and an odds-ratio term against the rejected ones, in one stage.

Loss: mean negative log-likelihood of the chosen tokens + weight * mean over pairs of -log sigmoid(log odds(chosen) -
log odds(rejected)), odds of the geometric mean of an answer's token probabilities. Source: arXiv 2403.07691, eqs. 4 to
7. How ours differs: the likelihood is over the answer alone, as the paper writes it; TRL's trainer takes prompt tokens
in too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adhere.train.batch.pairs import PairSettings
from adhere.train.budget.provenance import Provenance
from adhere.train.settings import Positive
from adhere_more.methods.pairs import stage_without_reference

if TYPE_CHECKING:
    import torch

    from adhere.train.batch.objectives import PairSums


class OrpoSettings(PairSettings, frozen=True):
    """ORPO.

    Attributes:
        weight: Of the odds-ratio term (lambda of the paper; TRL calls it beta).
    """

    learning_rate: Positive = 1e-5
    weight: Positive = 0.1


def _loss(sums: PairSums, settings: OrpoSettings) -> torch.Tensor:
    from adhere_more import losses

    return settings.weight * losses.orpo(sums)


STAGE = stage_without_reference(
    "orpo",
    "SFT on chosen answers with an odds-ratio term, in one stage",
    source="arXiv 2403.07691",
    settings=OrpoSettings,
    provenance={
        "weight": Provenance(None, "0.1", "the ORPO paper's for its larger models"),
        "learning_rate": Provenance(None, "1e-5", "between SFT's and DPO's here: most of its gradient is SFT's"),
    },
    loss=_loss,
    sft_weight=1.0,
)
