"""SimPO: preference optimisation without a reference model; the reward is the mean log-prob a token.

Loss of a pair: -log sigmoid(beta * (mean log p(chosen) - mean log p(rejected)) - gamma). Source: arXiv 2405.14734, eq.
6. How ours differs: in nothing but scale; batch, epochs and rate are for a few hundred pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from adhere.train.batch.pairs import PairSettings
from adhere.train.budget.provenance import Provenance
from adhere.train.settings import Positive
from adhere_more.methods.pairs import stage_without_reference

if TYPE_CHECKING:
    import torch

    from adhere.train.batch.objectives import PairSums


class SimpoSettings(PairSettings, frozen=True):
    """SimPO.

    Attributes:
        beta: Scale of the reward.
        gamma: By how much the chosen answer's reward should lead.
    """

    beta: Positive = 2.0
    gamma: Annotated[float, Meta(ge=0)] = 1.0


def _loss(sums: PairSums, settings: SimpoSettings) -> torch.Tensor:
    from adhere_more import losses

    return losses.simpo(sums, beta=settings.beta, gamma=settings.gamma)


STAGE = stage_without_reference(
    "simpo",
    "SimPO on stored pairs, without a reference",
    source="arXiv 2405.14734",
    settings=SimpoSettings,
    provenance={
        "beta": Provenance(None, "2.0", "the SimPO paper's range is 2.0 to 2.5"),
        "gamma": Provenance(None, "1.0", "the SimPO paper's gamma / beta is 0.3 to 0.5 at beta 2.0 to 2.5"),
    },
    loss=_loss,
)
