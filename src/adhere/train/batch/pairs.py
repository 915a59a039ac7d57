"""Training on preference pairs.

Holds the reference log-probs, the optimizer step, and the loop over stored pairs that offline methods share. The
methods differ in their objective, a function of `objectives.PairSums`; `methods/` holds one file each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adhere.errors import AdhereError, UsageError
from adhere.progress import Progress, Silent, Step
from adhere.schema import PairRow
from adhere.train.budget.cost import Shape, Work, tree_tokens_of
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.loop import Learner, learning
from adhere.train.packed.pack import Part, TokenRow, cut, log_probs, row_sums
from adhere.train.packed.rows import TokenPair, pair_rows, shuffled_batches
from adhere.train.parallel import divide, gather
from adhere.train.settings import Count, OptimizerSettings, Positive, Precision, check_settings

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from adhere.train.batch.objectives import PairSums

# How far the first loss may be from the one of equal policy and reference, by the precision of the products.
FIRST_LOSS_TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2}
Objective = Callable[["PairSums"], "torch.Tensor"]


class PairSettings(OptimizerSettings, frozen=True):
    """The settings that every offline method on pairs has.

    Attributes:
        epochs: Passes over the pairs.
        batch_pairs: Pairs in an optimizer step.
    """

    learning_rate: Positive = 2e-6
    epochs: Count = 1
    batch_pairs: Count = 8


class Sums(NamedTuple):
    """Holds the summed log-probs of a pair's two answers."""

    chosen: float
    rejected: float


def train_on_pairs(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[PairRow],
    settings: PairSettings,
    *,
    name: str,
    objective: Objective,
    beta: float,
    sft_weight: float = 0.0,
    has_reference: bool = True,
    starts_at: float | None = None,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on `rows`, in an order drawn from `seed`.

    Args:
        model: The policy.
        tokenizer: The policy's tokenizer.
        rows: The pairs.
        settings: Those of the stage.
        name: The stage, named in messages and hashed into the seed.
        objective: Returns one loss for each pair, from summed log-probs.
        beta: Factor of the log ratios in the log's `margin` and rewards; no part of the loss.
        sft_weight: Weight of an added term, the mean negative log-likelihood of the chosen answers' tokens.
        has_reference: Whether the start model's log-probs are computed first and given to `objective`.
        starts_at: The loss that the first step must have; None: any.
        seed: Seed of the order.
        progress: Where to report to.

    Raises:
        UsageError: There is no pair, or the two answers of one are the same.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings)
    if not rows:
        raise UsageError(f"{name}: no pairs to train on. Build a pool with more draws or with repair")
    pairs = pair_rows(tokenizer, rows)
    order = shuffled_batches(len(pairs), size=settings.batch_pairs, epochs=settings.epochs, stage=name, seed=seed)
    tally, log = Tally(), StepLog()
    progress = progress or Silent()
    with learning(model, settings, stage=name, steps=len(order)) as learner:
        learner.describe(tally)
        reference: list[Sums] | None = None
        if has_reference:
            with progress.step(f"{name} reference", len(pairs), "pairs") as bar:
                reference = reference_sums(
                    model, pairs, tree_tokens=settings.tree_tokens, tally=tally, precision=settings.precision, bar=bar
                )
        with progress.step(name, len(order), "steps") as bar:
            for batch in learner.remaining(order, tally, log, bar):
                tally.prompts += len(batch)
                step_pairs = [pairs[index] for index in batch]
                base = [reference[index] for index in batch] if reference is not None else None
                row = update_on_pairs(
                    model,
                    learner,
                    step_pairs,
                    base,
                    beta=beta,
                    tally=tally,
                    objective=objective,
                    sft_weight=sft_weight,
                    starts_at=starts_at,
                )
                log.append(row)
                bar.advance(note=f"loss {row['loss']:.3f}, accuracy {row['accuracy']:.2f}")
    return StageResult(log, tally.close())


def reference_sums(
    model: PreTrainedModel,
    pairs: Sequence[TokenPair],
    *,
    tree_tokens: int,
    tally: Tally,
    temperature: float = 1.0,
    precision: Precision | None = None,
    bar: Step | None = None,
) -> list[Sums]:
    """Compute the summed log-probs of every pair's answers under the current `model`, in the order of `pairs`.

    No gradient is kept.
    """
    sums = item_sums(
        model, pairs, tree_tokens=tree_tokens, tally=tally, temperature=temperature, precision=precision, bar=bar
    )
    return [Sums(*both) for both in sums]


def item_sums(
    model: PreTrainedModel,
    items: Sequence[Sequence[TokenRow]],
    *,
    tree_tokens: int,
    tally: Tally,
    temperature: float = 1.0,
    precision: Precision | None = None,
    bar: Step | None = None,
) -> list[list[float]]:
    """Compute the summed log-prob of each row of each item under the current `model`, without gradient.

    The processes share the work; each returns all sums, in the order of `items`.
    """
    import torch

    from adhere.train.sharding import idle

    def of_part(part: Part) -> list[float]:
        sums: list[float] = row_sums(
            log_probs(model, part.tree, temperature=temperature, precision=precision), part.tree
        ).tolist()
        if bar is not None:
            bar.advance(len(part.items))
        return sums

    parts = cut(items, tree_tokens=tree_tokens)
    tally.tokens_scored += sum(len(part.tree) for part in parts)
    with torch.no_grad():
        sums_by_part = divide(parts, of_part, same=[part.items for part in parts], idle=lambda: idle(model))
    of_item: dict[int, list[float]] = {}
    for part, sums in zip(parts, sums_by_part, strict=True):
        part_sums = iter(sums)
        of_item |= {item: [next(part_sums) for _ in items[item]] for item in part.items}
    return [of_item[index] for index in range(len(items))]


def update_on_pairs(
    model: PreTrainedModel,
    learner: Learner,
    pairs: Sequence[TokenPair],
    reference: Sequence[Sums] | None,
    *,
    beta: float,
    tally: Tally,
    temperature: float = 1.0,
    objective: Objective | None = None,
    sft_weight: float = 0.0,
    starts_at: float | None = math.log(2),
) -> LogRow:
    """Take one optimizer step on `pairs` and return its log row.

    `temperature` is that of the log-probs, here and in `reference`. Without an `objective` it is DPO's. The other
    arguments are those of `train_on_pairs`.

    Raises:
        AdhereError: The very first loss is not `starts_at`: the reference is not the model that training started from.
    """
    from adhere.train.batch import objectives

    parts = cut(pairs, tree_tokens=learner.settings.tree_tokens)
    chosen_tokens = sum(len(pair.chosen.completion) for pair in pairs)
    implicit_rewards: list[tuple[float, float]] = []  # of chosen and rejected

    def loss_of(part: Part) -> torch.Tensor:
        tokens = log_probs(model, part.tree, temperature=temperature, precision=learner.precision)
        sums = row_sums(tokens, part.tree).view(-1, 2)  # (P, 2): chosen, rejected
        lengths = sums.new_tensor(part.tree.lengths).view(-1, 2)
        base = sums.new_tensor([reference[item] for item in part.items]) if reference is not None else None
        pair_sums = objectives.PairSums(
            sums[:, 0],
            sums[:, 1],
            lengths[:, 0],
            lengths[:, 1],
            base[:, 0] if base is not None else None,
            base[:, 1] if base is not None else None,
        )
        # DPO's implicit reward, beta * log (p / ref); without a reference SimPO's, beta * log p by token. For the log.
        rewards = (beta * (sums - base) if base is not None else beta * sums / lengths).detach()
        implicit_rewards.extend((chosen, rejected) for chosen, rejected in rewards.tolist())
        losses = objective(pair_sums) if objective is not None else objectives.sigmoid(pair_sums, beta=beta)
        # Divided by the whole batch, not by the part: the gradients of the parts add up to that of the batch's mean.
        loss = losses.sum() / len(pairs)
        return loss - sft_weight * sums[:, 0].sum() / chosen_tokens if sft_weight else loss

    update = learner.update(parts, loss_of)
    is_off = starts_at is not None and abs(update.loss - starts_at) > FIRST_LOSS_TOLERANCE[learner.precision]
    if learner.step == 1 and is_off:
        raise AdhereError(
            f"{learner.stage}: the first loss is {update.loss:.5f}, not {'ln 2 = ' if starts_at == math.log(2) else ''}"
            f"{starts_at:.5f}: the reference log-probs are not those of the model that training starts from"
        )
    tally.steps += 1
    tally.tokens_trained += sum(len(row.completion) for pair in pairs for row in pair)
    tally.tokens_processed += sum(len(part.tree) for part in parts)
    implicit_rewards = gather(implicit_rewards)  # plain floats: tensors of other processes lie on other devices
    count = len(implicit_rewards)
    return learner.row(
        update,
        margin=sum(chosen - rejected for chosen, rejected in implicit_rewards) / count,
        reward_chosen=sum(chosen for chosen, _ in implicit_rewards) / count,
        reward_rejected=sum(rejected for _, rejected in implicit_rewards) / count,
        accuracy=sum(chosen > rejected for chosen, rejected in implicit_rewards) / count,
    )


def pairs_work(settings: PairSettings, data: Shape, *, has_reference: bool = True) -> Work:
    """Estimate the cost of `train_on_pairs`."""
    own = data.own_tokens(answers=2)
    once = tree_tokens_of(settings.batch_pairs * own, settings.tree_tokens, data) * data.rows / settings.batch_pairs
    trained = 2 * settings.epochs * data.rows * data.answer_tokens
    return Work(
        steps=settings.epochs * -(-data.rows // settings.batch_pairs),
        trained=trained,
        processed=once * settings.epochs,
        scored=once if has_reference else 0,
    )
