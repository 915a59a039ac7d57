"""RLOO: REINFORCE with the mean score of a prompt's other answers as baseline.

Loss of an answer: -(score - mean score of the others) * ratio * log p(answer), summed over its tokens, averaged over
the answers of the episode. Source: arXiv 2402.14740, eq. 8. It is GRPO with another baseline, no division by the
group's deviation, and no division by length, so it is GRPO's code with these settings. How ours differs: the KL to
the start, which the paper puts into the score, is GRPO's term in the loss (`kl_beta`), 0 by default. With several
updates an episode the ratio is taken for each token, in TRL for the whole answer. At one update, the default, the
gradients are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from adhere.progress import Progress
from adhere.schema import RlRow
from adhere.train.batch.rollout import Scorer
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.methods.grpo import GrpoSettings, grpo, grpo_work
from adhere.train.stages import Stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class RlooSettings(GrpoSettings, frozen=True):
    """Gives GRPO's settings the defaults of RLOO for `baseline`, `scale_rewards` and `loss_type`."""

    baseline: Literal["mean", "others"] = "others"
    scale_rewards: Literal["group", "none"] = "none"
    loss_type: Literal["dapo", "grpo", "dr_grpo", "sequence"] = "sequence"


PROVENANCE = {
    "baseline": Provenance(None, "others", "the RLOO paper"),
    "answers_per_prompt": Provenance(None, "8", "as many as GRPO, so that both see equally many answers"),
    "learning_rate": Provenance(None, "3e-6", "as GRPO; the gradient is clipped to the same norm"),
}


def rloo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[RlRow],
    settings: RlooSettings,
    *,
    seed: int,
    score: Scorer,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on its own scored answers to `rows`. Raises what `grpo` raises."""
    return grpo(model, tokenizer, rows, settings, seed=seed, score=score, progress=progress, name="rloo")


STAGE = Stage(
    "rloo",
    "REINFORCE with a leave-one-out baseline (online RL)",
    "arXiv 2402.14740",
    RlooSettings,
    "rl",
    lambda pool, _: pool.rl,
    rloo,
    grpo_work,
    PROVENANCE,
    version=1,
)
