"""Training on single labelled answers, and on small sets of answers, against a frozen reference.

KTO, UFT, IOPO. An Item is one or more token rows whose loss is computed together. The log-probs of all rows under the
model as the stage found it are computed once, so no second copy of the weights is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adhere.errors import UsageError
from adhere.progress import Progress, Silent
from adhere.train.batch.pairs import item_sums
from adhere.train.budget.cost import Shape, Work, tree_tokens_of
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.loop import Learner, learning
from adhere.train.packed.pack import Part, TokenRow, cut, log_probs, row_sums
from adhere.train.packed.rows import shuffled_batches
from adhere.train.parallel import gather
from adhere.train.settings import Count, OptimizerSettings, Positive, check_settings

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


class AnswerSettings(OptimizerSettings, frozen=True):
    """The settings that every method on labelled answers has.

    Attributes:
        beta: How strongly the policy is held to the model that the stage began with.
        epochs: Passes over the answers.
        batch_items: Items an optimizer step.
    """

    learning_rate: Positive = 2e-6
    beta: Positive = 0.1
    epochs: Count = 1
    batch_items: Count = 16


class Item(NamedTuple):
    """Holds token rows with one loss for all, and their label: a score in [0, 1], or what the method defines."""

    rows: tuple[TokenRow, ...]
    label: float = 1.0


Loss = Callable[["torch.Tensor", "torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""loss(ratios (I, R), labels (I), reference point ()) -> losses (I), for I items of R rows.

A ratio is log p(row) - log ref(row).
"""


def train_on_answers(
    model: PreTrainedModel,
    items: Sequence[Item],
    settings: AnswerSettings,
    *,
    name: str,
    loss: Loss,
    has_reference_point: bool = False,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on `items`, all with the same number of rows, in an order drawn from `seed`.

    Args:
        model: The policy.
        items: The answers to learn from.
        settings: Those of the stage.
        name: The stage, named in messages and hashed into the seed.
        loss: The loss of log ratios; see `Loss`.
        has_reference_point: Whether to give `loss` KTO's z0: the mean log ratio, not below 0, of the batch's
            answers, each after the prompt of the next item. It costs a forward pass without gradient. Otherwise
            `loss` gets 0.
        seed: Seed of the order.
        progress: Where to report to.

    Raises:
        UsageError: There is no item.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings)
    if not items:
        raise UsageError(f"{name}: no answers to train on. Build a pool with more draws or with repair")
    order = shuffled_batches(len(items), size=settings.batch_items, epochs=settings.epochs, stage=name, seed=seed)
    shifted_rows = [_shift_answers([items[index] for index in batch]) if has_reference_point else [] for batch in order]
    tally, log = Tally(), StepLog()
    progress = progress or Silent()
    with learning(model, settings, stage=name, steps=len(order)) as learner:
        learner.describe(tally)
        with progress.step(f"{name} reference", len(items), "answers") as bar:
            reference = _sums(model, [item.rows for item in items], settings, tally)
            points = [_sums(model, [(row,) for row in rows], settings, tally) for rows in shifted_rows]
            bar.advance(len(items))
        with progress.step(name, len(order), "steps") as bar:
            steps = list(zip(order, shifted_rows, points, strict=True))
            for batch, rows, base in learner.remaining(steps, tally, log, bar):
                point = _point(model, rows, base, settings, tally)
                step_items, sums = [items[index] for index in batch], [reference[index] for index in batch]
                log.append(_step(model, learner, step_items, sums, point, loss=loss, settings=settings, tally=tally))
                bar.advance(note=f"loss {log[-1]['loss']:.3f}")
    return StageResult(log, tally.close())


def _shift_answers(batch: Sequence[Item]) -> list[TokenRow]:
    """Put each answer after the prompt of the batch's next item; leave out items whose own prompt is the same."""
    # KTO's z0 estimates KL(policy || reference) from answers that do not belong to their prompts; those of the batch
    # need no drawing.
    following = [*batch[1:], *batch[:1]]
    return [
        TokenRow(other.rows[0].prompt, item.rows[0].completion)
        for item, other in zip(batch, following, strict=True)
        if other.rows[0].prompt != item.rows[0].prompt
    ]


def _sums(
    model: PreTrainedModel, items: Sequence[tuple[TokenRow, ...]], settings: AnswerSettings, tally: Tally
) -> list[list[float]]:
    return item_sums(model, items, tree_tokens=settings.tree_tokens, tally=tally, precision=settings.precision)


def _point(
    model: PreTrainedModel,
    rows: Sequence[TokenRow],
    base: Sequence[Sequence[float]],
    settings: AnswerSettings,
    tally: Tally,
) -> float:
    """Return z0 under the current model: the mean log ratio of `rows`, whose reference sums are `base`; 0 without."""
    if not rows:
        return 0.0
    now = _sums(model, [(row,) for row in rows], settings, tally)
    # A KL is never negative, but its estimate on few answers can be.
    return max(0.0, sum(sums[0] - then[0] for sums, then in zip(now, base, strict=True)) / len(rows))


def _step(
    model: PreTrainedModel,
    learner: Learner,
    batch: Sequence[Item],
    reference: Sequence[Sequence[float]],
    point: float,
    *,
    loss: Loss,
    settings: AnswerSettings,
    tally: Tally,
) -> LogRow:
    """Take one optimizer step on `batch`, given the reference's sums of its rows, and return the log row."""
    parts = cut([item.rows for item in batch], tree_tokens=settings.tree_tokens)
    labelled_ratios: list[tuple[float, float]] = []  # log ratio, label

    def loss_of(part: Part) -> torch.Tensor:
        sums = row_sums(log_probs(model, part.tree, precision=learner.precision), part.tree)  # (I * R)
        ratios = sums.view(len(part.items), -1) - sums.new_tensor([reference[item] for item in part.items])
        labels = sums.new_tensor([batch[item].label for item in part.items])
        labelled_ratios.extend(zip(ratios.detach()[:, 0].tolist(), labels.tolist(), strict=True))
        return loss(ratios, labels, sums.new_tensor(point)).sum() / len(batch)

    update = learner.update(parts, loss_of)
    tally.steps += 1
    tally.prompts += len(batch)
    tally.tokens_trained += sum(len(row.completion) for item in batch for row in item.rows)
    tally.tokens_processed += sum(len(part.tree) for part in parts)
    labelled_ratios = gather(labelled_ratios)  # plain floats: tensors of other processes lie on other devices
    good, bad = ([ratio for ratio, label in labelled_ratios if (label > 0.5) is is_good] for is_good in (True, False))
    return learner.row(
        update,
        reward_chosen=settings.beta * sum(good) / len(good) if good else None,
        reward_rejected=settings.beta * sum(bad) / len(bad) if bad else None,
        reference_point=point,
    )


def answers_work(
    settings: AnswerSettings, data: Shape, *, rows: int, items: float, has_reference_point: bool = False
) -> Work:
    """Estimate the cost of `train_on_answers` on `items` items of `rows` rows each."""
    own = rows * data.own_tokens()
    once = tree_tokens_of(settings.batch_items * own, settings.tree_tokens, data) * items / settings.batch_items
    passes = settings.epochs
    return Work(
        steps=passes * -(-items // settings.batch_items),
        trained=passes * items * rows * data.answer_tokens,
        processed=once * passes,
        # Once for the reference; for the reference point two passes over the shifted rows: before training, and now.
        scored=once * (1 + 2 * passes * has_reference_point),
    )
