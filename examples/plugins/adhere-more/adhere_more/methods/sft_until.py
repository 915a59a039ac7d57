"""SFT until it stops helping.

Answers to held-out prompts are judged while it trains, and training ends when their score stands still. Part of the
rows is held out by prompt. Before the first step and every `every` steps the model answers those prompts greedily and
the judge scores the answers; when the score has not risen by more than `least_gain` above the best for `patience`
looks, training ends and the weights of the best look are kept (those of the start, if nothing was better). Source:
arXiv 2307.03692, which stops instruct tuning when its Instruction Following Score plateaus, as models learn it early
and then drift. How ours differs: the paper's score is a classifier's share of well-formed answers; ours is the judge's
share of kept constraints. Ours keeps the best weights; the paper's abstract, all that was at hand, names no rule. The
learning rate is constant, for the end is not known.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from adhere.errors import UsageError
from adhere.pipeline.reward import RewardKind
from adhere.progress import Progress, Silent
from adhere.schema import ConstraintRef, SftRow, derive_seed
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally, values_of
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import learning
from adhere.train.methods.sft import SftSettings, batches, leave_out_long, sft_step, token_rows
from adhere.train.packed.rows import prompt_ids
from adhere.train.settings import Count, Share, check_settings
from adhere.train.stages import STAGES, Stage
from adhere.train.watch import HeldOutPrompt, greedy_scores

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["PROVENANCE", "SftUntilSettings", "sft_until"]

_SFT = STAGES.get("sft")
SCORE = "instruction_score"  # the log's column; a look's row before the first step has no loss


class SftUntilSettings(SftSettings, frozen=True):
    """SFT until its score stands still.

    Attributes:
        epochs: Passes over the data, at the most.
        held_out_share: Share of the prompts that is not learned from, only asked.
        most_held_out: At most so many of them are asked.
        every: Steps between two looks.
        patience: Looks without a gain that end it.
        least_gain: What counts as a gain must be more than this.
        score: The share of a prompt's constraints that its answer keeps, or whether it keeps all.
        max_new_tokens: Limit of an answer; one that is cut fails.
        decode_rows: Answers drawn side by side.
    """

    schedule: Literal["constant", "linear", "cosine"] = "constant"
    epochs: Count = 8
    held_out_share: Annotated[float, Meta(gt=0, lt=1)] = 0.1
    most_held_out: Count = 64
    every: Count = 5
    patience: Count = 3
    least_gain: Share = 0.0
    score: RewardKind = "dense"
    max_new_tokens: Count = 64
    decode_rows: Count = 64


PROVENANCE = {
    "every": Provenance(None, "5", "a run here has some tens of steps"),
    "patience": Provenance(None, "3", "its abstract says 'plateau' and no rule"),
    "score": Provenance(
        "a classifier's share of well-formed answers", "dense", "the judge's share of kept constraints"
    ),
    "epochs": Provenance(None, "8", "more than are needed: the score decides"),
}


def sft_until(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SftRow],
    settings: SftUntilSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on `rows` less the held-out ones until its score stands still.

    It ends with the weights of its best score.

    Raises:
        UsageError: No rows are left to learn from, or none with constraints to ask.
        Divergence: Naming the step whose loss is not finite.
    """
    settings = check_settings(settings)
    train_rows, held_out = _split(tokenizer, rows, settings, seed=seed)
    data = leave_out_long(token_rows(tokenizer, train_rows, settings), settings)
    order = batches(data, settings, seed=seed)
    tally, log = Tally(), StepLog()
    with (
        learning(model, settings, stage="sft-until", steps=len(order)) as learner,
        (progress or Silent()).step("sft-until", len(order), "steps") as bar,
    ):
        learner.describe(tally)
        first: LogRow = {"step": 0, "loss": None, SCORE: _score(model, tokenizer, held_out, settings, tally)}
        log.append(first)
        learner.keep()
        for batch in learner.remaining(order, tally, log, bar):
            tally.prompts += len(batch)
            row = sft_step(model, learner, batch, settings, tally)
            if learner.step % settings.every == 0 or learner.step == len(order):
                row[SCORE] = _score(model, tokenizer, held_out, settings, tally)
                if _is_gain(row[SCORE], log, settings):
                    learner.keep()
            log.append(row)
            bar.advance(note=f"loss {row['loss']:.3f}, score {_best(log):.3f}")
            if _looks_without_gain(log, settings) >= settings.patience:
                break
        learner.go_back()
    return StageResult(log, tally.close())


def _split(
    tokenizer: PreTrainedTokenizerBase, rows: Sequence[SftRow], settings: SftUntilSettings, *, seed: int
) -> tuple[list[SftRow], list[HeldOutPrompt]]:
    """Rows to learn from, and held-out prompts; all rows of a prompt are on one side.

    Only prompts with constraints are held out.
    """
    by_prompt = {row.prompt_id: row for row in rows if row.instruction_id_list}
    if not by_prompt:
        raise UsageError("sft-until: no rows with constraints, so there is no score to stop by. Use the stage `sft`")
    names = sorted(by_prompt)
    random.Random(derive_seed(seed, "held-out")).shuffle(names)
    n_held_out = max(1, round(settings.held_out_share * len(names)))
    train_rows = [row for row in rows if row.prompt_id not in set(names[:n_held_out])]
    if not train_rows:
        raise UsageError(
            f"sft-until: no rows are left to learn from: {n_held_out} of {len(names)} prompts are held out"
        )
    held_out_rows = [by_prompt[name] for name in names[: min(n_held_out, settings.most_held_out)]]
    return train_rows, [
        HeldOutPrompt(
            prompt_ids(tokenizer, row.asked),
            tuple(
                ConstraintRef(name, dict(given))
                for name, given in zip(row.instruction_id_list, row.kwargs, strict=True)
            ),
        )
        for row in held_out_rows
    ]


def _score(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    held_out: Sequence[HeldOutPrompt],
    settings: SftUntilSettings,
    tally: Tally,
) -> float:
    """The mean score of greedy answers to the held-out prompts, in fp32 as evaluation draws them.

    Raises:
        UsageError: The judge cannot decide any of them.
    """
    scores = greedy_scores(
        model,
        tokenizer,
        held_out,
        [settings.score],
        max_new_tokens=settings.max_new_tokens,
        rows=settings.decode_rows,
        tally=tally,
    )
    measured = [value for (value,) in scores if value is not None]
    if not measured:
        raise UsageError(
            f"sft-until: the judge can decide none of the {len(held_out)} held-out prompts, so there is no score to stop by"
        )
    return sum(measured) / len(measured)


def _best(log: Sequence[LogRow]) -> float:
    return max(values_of(log, SCORE))


def _is_gain(value: float | None, log: Sequence[LogRow], settings: SftUntilSettings) -> bool:
    """Whether `value` is more than the best of the looks that are logged."""
    return value is not None and value > _best(log) + settings.least_gain


def _looks_without_gain(log: Sequence[LogRow], settings: SftUntilSettings) -> int:
    """Looks since the last gain. It follows from the log, so a resumed stage ends where an undisturbed one does."""
    best, since = float("-inf"), 0
    for value in values_of(log, SCORE):
        best, since = (value, 0) if value > best + settings.least_gain else (best, since + 1)
    return since


def _cost(settings: SftUntilSettings, data: Shape) -> Work:
    """An upper bound: every pass is taken. One copy of the trained weights is kept beside the model."""
    work = _SFT.work(settings, data)
    looks = 1 + -(-work.steps // settings.every)
    answers = looks * min(settings.most_held_out, max(1, round(settings.held_out_share * data.rows)))
    return Work(
        steps=work.steps,
        answers=answers,
        generated=answers * settings.max_new_tokens,
        trained=work.trained,
        processed=work.processed,
        copies=2,
    )


STAGE = Stage(
    "sft-until",
    "SFT that ends when answers to held-out prompts stop getting better",
    "arXiv 2307.03692",
    SftUntilSettings,
    "sft",
    _SFT.rows,
    sft_until,
    _cost,
    PROVENANCE,
    version=1,
    watches_itself=True,
)
