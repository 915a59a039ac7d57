"""Supervised fine-tuning on verified answers.

The loss is the mean negative log-likelihood of the completion tokens of an optimizer batch, end of turn included;
prompt tokens are not learned. Source: arXiv 2412.15115, section 4.1, and TRL 1.16's SFTTrainer. How ours differs from
the report: rate, batch and epochs are those of `PROVENANCE`; from TRL: nothing in the loss
(tests/parity/test_trl_parity.py), but embeddings and head are frozen by default and a row that is too long is left out,
not cut.

Two stages, short and then short with long (arXiv 2412.15115, section 4.4): one `sft` with `longest`, a second with a
greater `longest` and `mix`. The report states both lengths and not the mixture. Response tuning (arXiv 2409.14254; also
2410.02465): `prompt = "empty"`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from adhere.errors import UsageError
from adhere.progress import Progress, Silent
from adhere.schema import Record, SftRow, derive_seed
from adhere.train.budget.cost import Shape, Work, tree_tokens_of
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import Learner, learning
from adhere.train.packed.pack import Part, TokenRow, cut, log_probs
from adhere.train.packed.rows import chosen_rows, every_answer, sft_rows
from adhere.train.settings import Count, OptimizerSettings, Positive, Precision, Share, check_settings
from adhere.train.stages import STAGES, Rows, Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class Mix(Record, frozen=True):
    """Describes a fixed proportion of long and short rows.

    A pass takes as many of both kinds as the proportion allows. Of the kind with too many, each pass draws its own
    sample.

    Attributes:
        above: Rows of more tokens than this (prompt and answer) are long.
        share: Share of the rows of a pass that are long.
    """

    above: Count
    share: Annotated[float, Meta(gt=0, lt=1)]


class SftSettings(OptimizerSettings, frozen=True):
    """Supervised fine-tuning.

    Attributes:
        epochs: Passes over the data.
        batch_rows: Rows in an optimizer step.
        data: `sft`: the verified answers; `chosen`: the chosen half of the preference pairs.
        answers: Whether the `last` assistant turn of a conversation is learned, or `all` of them.
        prompt: `given`, or `empty`: every answer is learned as the reply to an empty user turn (response tuning).
        longest: Rows of more tokens (prompt and answer) are left out, never cut: a cut answer would teach not to end.
            None: all rows.
        mix: Long and short rows in a fixed proportion; None: as the data come.
    """

    learning_rate: Positive = 2e-5
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    weight_decay: Annotated[float, Meta(ge=0)] = 0.1
    warmup_share: Share = 0.05
    epochs: Count = 2
    batch_rows: Count = 16
    data: Literal["sft", "chosen"] = "sft"
    answers: Literal["last", "all"] = "last"
    prompt: Literal["given", "empty"] = "given"
    longest: Count | None = None
    mix: Mix | None = None


class MoreSftSettings(SftSettings, frozen=True):
    """More supervised fine-tuning.

    It is the control that gets the compute that another arm spends on preference or online learning.

    Attributes:
        equivalent_tokens: Train until this much compute (`StageLedger.equivalent_tokens`) is spent, passing over the
            data as often as that takes; None: `epochs` passes.
    """

    learning_rate: Positive = 1e-5  # between SFT's first and last: it starts where SFT's schedule has come down
    equivalent_tokens: Count | None = None


PROVENANCE = {
    "epochs": Provenance("2", "2", "as stated"),
    "learning_rate": Provenance(
        "7e-6, decayed to 7e-7", "2e-5, decayed to a tenth", "scaled: small models take and need larger steps"
    ),
    "schedule": Provenance(None, "linear", "'gradually decreased' leaves the shape open"),
    "weight_decay": Provenance("0.1", "0.1", "as stated"),
    "clip": Provenance("1.0", "1.0", "as stated"),
    "batch_rows": Provenance(None, "16", "scaled: a few hundred rows, not a million"),
    "warmup_share": Provenance(None, "0.05", "one or two steps, until Adam's moments mean something"),
    "longest": Provenance(
        "32,768 tokens; in the second stage of Qwen2.5-Turbo 262,144",
        "none",
        "rows of this scale are short; scaled in a preset",
    ),
    "mix": Provenance(None, "none", "'combines both short and long' leaves the proportion open"),
}


def sft(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SftRow],
    settings: SftSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on `rows`, in an order drawn from `seed`.

    Raises:
        UsageError: There is no row, or a row cannot be learned from.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings)
    if not rows:
        raise UsageError("sft: no rows to train on. Build a pool with more draws or with repair")
    every = token_rows(tokenizer, rows, settings)
    data = leave_out_long(every, settings)
    order = batches(data, settings, seed=seed)
    tally, log = Tally(), StepLog()
    with (
        learning(model, settings, stage="sft", steps=len(order)) as learner,
        (progress or Silent()).step("sft", len(order), "steps") as bar,
    ):
        learner.describe(tally)
        for batch in learner.remaining(order, tally, log, bar):
            tally.prompts += len(batch)
            row = sft_step(model, learner, batch, settings, tally)
            if learner.step == 1 and settings.longest is not None:
                row["rows_left_out"] = len(every) - len(data)
            log.append(row)
            bar.advance(note=f"loss {row['loss']:.3f}")
    return StageResult(log, tally.close())


def token_rows(tokenizer: PreTrainedTokenizerBase, rows: Sequence[SftRow], settings: SftSettings) -> list[TokenRow]:
    """Tokenize `rows`, in their order: one token row for each, or one for each answer (`answers = "all"`).

    Raises:
        UsageError: A row cannot be learned from.
    """
    if settings.prompt == "empty":
        rows = [msgspec.structs.replace(row, prompt="", turns=()) for row in rows]
    if settings.answers == "all":
        rows = every_answer(rows)
    return sft_rows(tokenizer, rows)


def leave_out_long(data: list[TokenRow], settings: SftSettings) -> list[TokenRow]:
    """Return the rows of at most `longest` tokens.

    Raises:
        UsageError: All rows are longer.
    """
    if settings.longest is None:
        return data
    rows = [row for row in data if _length(row) <= settings.longest]
    if not rows:
        raise UsageError(
            f"sft: all {len(data)} rows have more than longest = {settings.longest} tokens (the shortest has "
            f"{min(map(_length, data))})"
        )
    return rows


def _length(row: TokenRow) -> int:
    return len(row.prompt) + len(row.completion)


def sft_step(
    model: PreTrainedModel, learner: Learner, batch: Sequence[TokenRow], settings: SftSettings, tally: Tally
) -> LogRow:
    """Take one optimizer step on `batch` and return its log row."""
    parts = cut([[row] for row in batch], tree_tokens=settings.tree_tokens)
    tokens = sum(len(row.completion) for row in batch)

    def loss_of(part: Part) -> torch.Tensor:
        return sft_loss(model, part, tokens=tokens, precision=settings.precision)

    update = learner.update(parts, loss_of)
    tally.steps += 1
    tally.tokens_trained += tokens
    tally.tokens_processed += sum(len(part.tree) for part in parts)
    return learner.row(update, mean_tokens=tokens / len(batch))


def sft_loss(model: PreTrainedModel, part: Part, *, tokens: int, precision: Precision | None = None) -> torch.Tensor:
    """Return this part's share of the mean negative log-likelihood over the batch's `tokens` completion tokens.

    The shares of all parts add up to the loss of the batch: a mean over tokens, so long answers weigh more.
    """
    return -log_probs(model, part.tree, precision=precision).sum() / tokens


def batches(data: Sequence[TokenRow], settings: SftSettings, *, seed: int) -> list[list[TokenRow]]:
    """Return the optimizer batches of all passes, each pass in its own seeded order.

    Raises:
        UsageError: There is a mix, but no row is long or none is short.
    """
    # A budget is in tokens of forward and backward, so batches are cut here as they will be in training.
    budget = settings.equivalent_tokens if isinstance(settings, MoreSftSettings) else None
    all_batches: list[list[TokenRow]] = []
    tokens_spent, epoch = 0, 0
    while (epoch < settings.epochs) if budget is None else (tokens_spent < budget):
        order = list(range(len(data))) if settings.mix is None else _mix(data, settings.mix, seed=seed, epoch=epoch)
        random.Random(derive_seed(seed, "sft", epoch)).shuffle(order)
        for start in range(0, len(order), settings.batch_rows):
            all_batches.append([data[index] for index in order[start : start + settings.batch_rows]])
            if budget is not None:
                tokens_spent += sum(
                    len(part.tree) for part in cut([[r] for r in all_batches[-1]], tree_tokens=settings.tree_tokens)
                )
                if tokens_spent >= budget:
                    break
        epoch += 1
    return all_batches


def _mix(data: Sequence[TokenRow], mix: Mix, *, seed: int, epoch: int) -> list[int]:
    """Return the indices of the rows of one pass, with the share of long ones that `mix` asks for."""
    rng = random.Random(derive_seed(seed, "mix", epoch))
    long = [place for place, row in enumerate(data) if _length(row) > mix.above]
    short = [place for place, row in enumerate(data) if _length(row) <= mix.above]
    if not long or not short:
        raise UsageError(
            f"sft: mix.above = {mix.above} finds {len(long)} long and {len(short)} short rows; "
            f"there must be some of both. The longest has {max(map(_length, data))} tokens"
        )
    # long / (long + short) = share
    short_count = round(len(long) * (1 - mix.share) / mix.share)
    if short_count > len(short):
        long = rng.sample(long, max(1, round(len(short) * mix.share / (1 - mix.share))))
    else:
        short = rng.sample(short, max(1, short_count))
    return [*long, *short]


def planned_steps(rows: int, settings: SftSettings) -> int:
    """Return the number of optimizer steps of `epochs` passes over `rows` rows."""
    return settings.epochs * -(-rows // settings.batch_rows)


def _rows(data: Rows, settings: SftSettings) -> Sequence[SftRow]:
    return chosen_rows(data.pairs) if settings.data == "chosen" else data.sft


def _work(settings: SftSettings, data: Shape) -> Work:
    rows = float(settings.epochs * data.rows)
    a_step = tree_tokens_of(settings.batch_rows * data.own_tokens(), settings.tree_tokens, data)
    tokens_processed = a_step * rows / settings.batch_rows
    budget = settings.equivalent_tokens if isinstance(settings, MoreSftSettings) else None
    scale = budget / tokens_processed if budget is not None else 1.0
    return Work(
        steps=planned_steps(data.rows, settings) * scale,
        trained=rows * data.answer_tokens * scale,
        processed=tokens_processed * scale,
    )


for _name, _summary, _settings in (
    ("sft", "supervised fine-tuning on verified answers", SftSettings),
    ("more-sft", "the control of equal compute", MoreSftSettings),
):
    STAGES.add(
        _name,
        Stage(_name, _summary, "arXiv 2412.15115", _settings, "sft", _rows, sft, _work, PROVENANCE, version=1),
        owner=__name__,
    )
