"""Online DPO: the earlier online technique that GRPO is compared with.

Each step draws answers from the current policy, pairs the best with the worst answer to each prompt if their scores
differ, and takes one DPO step. The reference is the policy as the stage found it, kept as a second copy of the weights.
Log-probs are taken at the temperature of the draws: the policy that is learned is the one that draws. The loss does not
contain the sampler's log-probs, so a sampler in another precision needs no correction here.

Source: arXiv 2402.04792 (OAIF). How ours differs: the best and the worst of eight answers by the judge's score, where
the paper has a model prefer one of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from adhere.progress import Progress, Silent
from adhere.schema import RlRow
from adhere.train.batch.pairs import reference_sums, update_on_pairs
from adhere.train.batch.rollout import Group, RolloutSettings, Sampler, Scorer, episodes, measures, online_work
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import Learner, frozen_copy, learning
from adhere.train.packed.rows import TokenPair
from adhere.train.settings import Positive, check_settings
from adhere.train.stages import Stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class OnlineDpoSettings(RolloutSettings, frozen=True):
    """Online DPO. Draws as many answers to as many prompts as GRPO does by default, so that the two are matched.

    Attributes:
        beta: How strongly the policy is held to the model that the stage began with.
        trained_tokens: Completion tokens to train on in the whole stage; None: those of one pair for each
            prompt, the best answer against the worst. With a budget, each step takes further pairs of its answers
            until it has spent its share, so that the stage can be given what GRPO trains on, from equally many
            answers.
    """

    learning_rate: Positive = 2e-6
    beta: Positive = 0.1
    trained_tokens: Annotated[int, Meta(ge=0)] | None = None


PROVENANCE = {
    "learning_rate": Provenance(None, "2e-6", "as for offline DPO here"),
    "beta": Provenance(None, "0.1", "as for offline DPO here"),
    "answers_per_prompt": Provenance(None, "8", "as many as GRPO, so that both see equally many answers"),
    "prompts_per_step": Provenance(None, "16", "as many as GRPO"),
    "trained_tokens": Provenance(None, "one pair a prompt", "where set: as many as GRPO trained on, measured"),
}


def online_dpo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[RlRow],
    settings: OnlineDpoSettings,
    *,
    seed: int,
    score: Scorer,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on pairs of its own answers to `rows`.

    Raises:
        UsageError: There is no prompt, or the scorer's answer cannot be used.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings)
    order = list(episodes(rows, settings, seed=seed))
    tally, log = Tally(), StepLog()
    reference = frozen_copy(model, settings.precision)  # of fresh answers no log-probs can be computed beforehand
    with (
        learning(model, settings, stage="online-dpo", steps=len(order)) as learner,
        (progress or Silent()).step("online-dpo", len(order), "steps") as bar,
    ):
        learner.describe(tally)
        sampler = Sampler(model, tokenizer, settings, score=score, seed=seed, tally=tally)
        for step, batch in learner.remaining(list(enumerate(order, start=1)), tally, log, bar):
            groups = sampler.draw(batch, step=step)
            # The budget is cumulative: what earlier steps left over or overdrew changes the room of this one.
            room = (
                None
                if settings.trained_tokens is None
                else settings.trained_tokens * step / len(order) - tally.tokens_trained
            )
            pairs = pairs_of(groups, room=room)
            row: LogRow = {"step": step, **measures(groups)}
            row |= _step(model, reference, learner, pairs, settings=settings, tally=tally)
            log.append(row)
            bar.advance(note=f"reward {row['reward_mean'] or 0:.2f}, {len(pairs)} pairs")
    return StageResult(log, tally.close())


def _step(
    model: PreTrainedModel,
    reference: PreTrainedModel,
    learner: Learner,
    pairs: Sequence[TokenPair],
    *,
    settings: OnlineDpoSettings,
    tally: Tally,
) -> LogRow:
    """Update the model on `pairs`. Without pairs, the step changes nothing (`loss` is None)."""
    if not pairs:
        return learner.skip() | {"pairs": 0}
    base = reference_sums(
        reference,
        pairs,
        tree_tokens=settings.tree_tokens,
        tally=tally,
        temperature=settings.temperature,
        precision=settings.precision,
    )
    row = update_on_pairs(
        model, learner, pairs, base, beta=settings.beta, tally=tally, temperature=settings.temperature
    )
    return row | {"pairs": len(pairs)}


def pairs_of(groups: Sequence[Group], *, room: float | None) -> list[TokenPair]:
    """Return the pairs of a step: best against worst of each group, or, with `room`, pairs until it is used up.

    Every group's first pair comes before any group's second, and so on. The last pair may exceed `room` (in tokens).
    """
    if room is None:
        return [pair for group in groups if (pair := best_against_worst(group)) is not None]
    pairs_by_group = [ranked_pairs(group) for group in groups]
    chosen: list[TokenPair] = []
    tokens = 0
    for rank in range(max(map(len, pairs_by_group), default=0)):
        for pairs in pairs_by_group:
            if rank < len(pairs) and tokens < room:
                chosen.append(pairs[rank])
                tokens += sum(len(row.completion) for row in pairs[rank])
    return chosen


def ranked_pairs(group: Group) -> list[TokenPair]:
    """Return all pairs of a better and a worse answer; the first is `best_against_worst`.

    Best and worst come first, then second best and second worst, and so on; the other pairs follow, the widest
    difference first.
    """
    scores = group.scores
    # Sorting is stable: of equals the first drawn stays first, in both orders.
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    worst = sorted(range(len(scores)), key=lambda index: scores[index])
    index_pairs = [(a, b) for a, b in zip(order, worst, strict=True) if scores[a] > scores[b]]
    others = [(a, b) for a in order for b in worst if scores[a] > scores[b] and (a, b) not in index_pairs]
    index_pairs += sorted(others, key=lambda pair: scores[pair[1]] - scores[pair[0]])
    answers = group.measured
    return [TokenPair(answers[a].row, answers[b].row) for a, b in index_pairs]


def best_against_worst(group: Group) -> TokenPair | None:
    """Pair the answers with the highest and the lowest score (of equals, the first drawn).

    None: all scores are equal.
    """
    scores = group.scores
    if len(set(scores)) < 2:
        return None
    answers = group.measured
    best, worst = scores.index(max(scores)), scores.index(min(scores))
    return TokenPair(answers[best].row, answers[worst].row)


STAGE = Stage(
    "online-dpo",
    "DPO on pairs of the policy's own fresh answers",
    "arXiv 2402.04792",
    OnlineDpoSettings,
    "rl",
    lambda pool, _: pool.rl,
    online_dpo,
    lambda settings, data: online_work(settings, data, answers=2, has_reference=True),
    PROVENANCE,
    version=1,
)
