"""The base of stages that learn from stored pairs without a reference model: ORPO and SimPO differ in settings and loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adhere.progress import Progress
from adhere.schema import PairRow
from adhere.train.batch.pairs import PairSettings, pairs_work, train_on_pairs
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from adhere.train.batch.objectives import PairSums

__all__ = ["stage_without_reference"]


def stage_without_reference(
    name: str,
    summary: str,
    *,
    source: str,
    settings: type[PairSettings],
    provenance: Mapping[str, Provenance],
    loss: Callable[[PairSums, Any], torch.Tensor],
    sft_weight: float = 0.0,
) -> Stage:
    """Make a stage on pairs.

    Args:
        name: As recipes write it.
        summary: One line for listings.
        source: The paper.
        settings: Its settings.
        provenance: Where its defaults come from.
        loss: loss(sums, settings): one loss a pair, (P).
        sft_weight: Weight of the likelihood of chosen answers, which is added to the loss.
    """

    def run(
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        rows: Sequence[PairRow],
        chosen: PairSettings,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> StageResult:
        """Train `model` in place on `rows`; errors are `pairs.train_on_pairs`'s."""
        return train_on_pairs(
            model,
            tokenizer,
            rows,
            chosen,
            name=name,
            beta=getattr(chosen, "beta", 1.0),
            sft_weight=sft_weight,
            has_reference=False,
            seed=seed,
            progress=progress,
            objective=lambda sums: loss(sums, chosen),
        )

    return Stage(
        name,
        summary,
        source,
        settings,
        "pairs",
        lambda pool, _: pool.pairs,
        run,
        lambda chosen, data: pairs_work(chosen, data, has_reference=False),
        provenance,
    )
