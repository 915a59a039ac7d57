"""Direct preference optimisation, offline: the model learns to prefer the answer that passed to the one that failed.

Loss of a pair: -log sigmoid(beta * ((log p(chosen) - log ref(chosen)) - (log p(rejected) - log ref(rejected)))),
averaged over the pairs of an optimizer batch. The reference is the model as the stage found it; its log-probs are
computed once before the first step, so no second copy of the weights is kept. Source: arXiv 2305.18290, eq. 7.

Variants: `loss = "ipo"` (arXiv 2310.12036), `sft_weight` above 0 (RPO, arXiv 2404.19733: the chosen answers' likelihood
is added), `by_length` (length-normalised DPO, Tulu 3), `smoothing` (conservative DPO). Formulas: `objectives`. How ours
differs from the paper: one epoch at 2e-6 (there RMSprop at 1e-6 with batch 64), AdamW or online merging; from TRL 1.16:
nothing in the loss, RPO's likelihood as there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from adhere.errors import UsageError
from adhere.progress import Progress
from adhere.schema import PairRow
from adhere.train.batch.pairs import PairSettings, pairs_work, train_on_pairs
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.settings import Positive
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from adhere.train.batch.objectives import PairSums


class DpoSettings(PairSettings, frozen=True):
    """Offline DPO.

    Attributes:
        beta: How strongly the policy is held to the model that the stage began with.
        loss: `sigmoid` is DPO, `ipo` is IPO.
        sft_weight: Weight of the mean negative log-likelihood of the chosen answers; above 0 it is RPO.
        by_length: Divide each answer's log ratio by its tokens.
        smoothing: Assumed share of pairs with a flipped label.
    """

    beta: Positive = 0.1
    loss: Literal["sigmoid", "ipo"] = "sigmoid"
    sft_weight: Annotated[float, Meta(ge=0)] = 0.0
    by_length: bool = False
    smoothing: Annotated[float, Meta(ge=0, lt=0.5)] = 0.0


PROVENANCE = {
    "epochs": Provenance("1", "1", "as stated"),
    "learning_rate": Provenance("7e-7", "2e-6", "scaled: about three times, as for SFT"),
    "beta": Provenance(None, "0.1", "the value of the DPO paper and of the Online Merging Optimizer's"),
    "batch_pairs": Provenance(None, "8", "scaled: a few hundred pairs, not 150,000"),
    "pairs": Provenance(
        "answers that the SFT model resampled to new queries, chosen by execution feedback, "
        "with human and automated review",
        "the same in a study with [resample], chosen by the judge; a repaired answer where none passes; no human",
        "nobody reviews here; without [resample] the pairs are the start model's, which the report does not do",
    ),
    "merging": Provenance(
        "Online Merging Optimizer", "none (AdamW)", "at its published alpha the merge term is negligible"
    ),
}


def dpo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[PairRow],
    settings: DpoSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on `rows`, in an order drawn from `seed`.

    Raises:
        UsageError: There is no pair, the two answers of one are the same, or two settings exclude each other.
        Divergence: A step's loss is not finite; the message names the step.
    """
    from adhere.train.batch import objectives

    if settings.loss == "ipo" and (settings.smoothing or settings.by_length):
        raise UsageError("dpo: loss = 'ipo' has ratios by length already and no smoothing; leave both settings out")

    def objective(sums: PairSums) -> torch.Tensor:
        if settings.loss == "ipo":
            return objectives.ipo(sums, beta=settings.beta)
        return objectives.sigmoid(sums, beta=settings.beta, smoothing=settings.smoothing, by_length=settings.by_length)

    return train_on_pairs(
        model,
        tokenizer,
        rows,
        settings,
        name="dpo",
        objective=objective,
        beta=settings.beta,
        sft_weight=settings.sft_weight,
        starts_at=_first_loss(settings),
        seed=seed,
        progress=progress,
    )


def _first_loss(settings: DpoSettings) -> float | None:
    """Return the loss while policy and reference are equal; None with a likelihood term, which depends on the data."""
    if settings.sft_weight:
        return None
    # Both log ratios are 0: IPO is (0 - 1 / (2 beta))^2, and -log sigmoid(0) is ln 2, whatever the smoothing.
    return (1 / (2 * settings.beta)) ** 2 if settings.loss == "ipo" else math.log(2)


STAGE = Stage(
    "dpo",
    "DPO on stored pairs (offline RL); IPO, RPO and length-normalised by its settings",
    "arXiv 2305.18290",
    DpoSettings,
    "pairs",
    lambda pool, _: pool.pairs,
    dpo,
    pairs_work,
    PROVENANCE,
    version=1,
)
