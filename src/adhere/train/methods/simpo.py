"""SimPO: preference optimisation without a reference model; the reward is the mean log-prob a token.

Loss of a pair: -log sigmoid(beta * (mean log p(chosen) - mean log p(rejected)) - gamma). Source: arXiv 2405.14734, eq.
6. How ours differs: in nothing but scale; batch, epochs and rate are for a few hundred pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

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

__all__ = ["PROVENANCE", "SimpoSettings", "simpo"]


class SimpoSettings(PairSettings, frozen=True):
    """SimPO.

    Attributes:
        beta: Scale of the reward.
        gamma: By how much the chosen answer's reward should lead.
    """

    beta: Positive = 2.0
    gamma: Annotated[float, Meta(ge=0)] = 1.0


PROVENANCE = {
    "beta": Provenance(None, "2.0", "the SimPO paper's range is 2.0 to 2.5"),
    "gamma": Provenance(None, "1.0", "the SimPO paper's gamma / beta is 0.3 to 0.5 at beta 2.0 to 2.5"),
}


def simpo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[PairRow],
    settings: SimpoSettings,
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
        name="simpo",
        beta=settings.beta,
        has_reference=False,
        seed=seed,
        progress=progress,
        objective=lambda sums: objectives.simpo(sums, beta=settings.beta, gamma=settings.gamma),
    )


def _work(settings: SimpoSettings, data: Shape) -> Work:
    return pairs_work(settings, data, has_reference=False)


STAGES.add(
    "simpo",
    Stage(
        "simpo",
        "SimPO on stored pairs, without a reference",
        "arXiv 2405.14734",
        SimpoSettings,
        "pairs",
        lambda pool, _: pool.pairs,
        simpo,
        _work,
        PROVENANCE,
        version=1,
    ),
    owner=__name__,
)
