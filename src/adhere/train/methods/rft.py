"""RFT: rejection-sampling fine-tuning. The model answers, the judge keeps what passes, and the model learns it by SFT.

Answers are drawn once, from the model as the stage found it; an answer is kept if its score is 1, at most `most_kept`
different ones a prompt. Source: arXiv 2308.01825; the Qwen2.5 report's "rejection sampling". How ours differs: at most
`most_kept` answers a prompt, the paper keeps all different ones; the judge decides, not a final number. What is drawn
and kept is in the log's first row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from adhere.errors import UsageError
from adhere.progress import Progress, Silent
from adhere.schema import RlRow, derive_seed
from adhere.train.batch.rollout import RolloutSettings, Sampler, Scorer, in_order, measures
from adhere.train.budget.cost import Shape, Work, tree_tokens_of
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import learning
from adhere.train.methods.sft import SftSettings, batches, sft_step
from adhere.train.packed.pack import TokenRow
from adhere.train.settings import Count, OptimizerSettings, Positive, Share, check_settings
from adhere.train.stages import Stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class RftSettings(RolloutSettings, frozen=True):
    """RFT. `steps` times `prompts_per_step` prompts are answered, before the first update.

    Attributes:
        most_kept: Most different passing answers kept for each prompt.
        epochs: Passes over the answers kept.
        batch_rows: Rows in an optimizer step.
    """

    learning_rate: Positive = 2e-5
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    warmup_share: Share = 0.05
    most_kept: Count = 2
    epochs: Count = 2
    batch_rows: Count = 16


PROVENANCE = {
    "answers_per_prompt": Provenance(None, "8", "as many as the online stages"),
    "most_kept": Provenance(None, "2", "the RFT paper keeps all different ones; easy prompts would fill the data here"),
    "learning_rate": Provenance(None, "2e-5", "as SFT here"),
}


def rft(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[RlRow],
    settings: RftSettings,
    *,
    seed: int,
    score: Scorer,
    progress: Progress | None = None,
) -> StageResult:
    """Draw answers to `rows`, and train `model` in place on those that pass.

    Raises:
        UsageError: There is no prompt, or no answer passes.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings)
    if not rows:
        raise UsageError("rft: there are no prompts to answer")
    tally, log = Tally(), StepLog()
    progress = progress or Silent()
    sampler = Sampler(model, tokenizer, settings, score=score, seed=seed, tally=tally)
    prompt_count = settings.steps * settings.prompts_per_step
    prompts = in_order(rows, settings.order, seed=derive_seed(seed, "order", 0))[:prompt_count]
    kept_rows: list[TokenRow] = []
    groups = []
    with progress.step("rft draws", len(prompts), "prompts") as bar:
        for start in range(0, len(prompts), settings.prompts_per_step):
            step_groups = sampler.draw(prompts[start : start + settings.prompts_per_step], step=start + 1)
            groups += step_groups
            for group in step_groups:
                # Equal answers are learned once; the order of drawing stays.
                passing = dict.fromkeys(answer.row for answer in group.measured if answer.score == 1.0)
                kept_rows += list(passing)[: settings.most_kept]
            bar.advance(len(step_groups), note=f"{len(kept_rows)} kept")
    if not kept_rows:
        raise UsageError(
            f"rft: none of {tally.answers_generated} answers passed, so there is nothing to learn. "
            "Train with SFT on repaired answers first, or use easier prompts"
        )
    first: LogRow = {"step": 0, "loss": None, "kept": len(kept_rows)}
    log.append(first | measures(groups))
    names = (*OptimizerSettings.__struct_fields__, "epochs", "batch_rows")
    sft = SftSettings(**{name: getattr(settings, name) for name in names})
    order = batches(kept_rows, sft, seed=seed)
    with (
        learning(model, sft, stage="rft", steps=len(order)) as learner,
        progress.step("rft", len(order), "steps") as bar,
    ):
        learner.describe(tally)
        for batch in learner.remaining(order, tally, log, bar):
            log.append(sft_step(model, learner, batch, sft, tally))
            bar.advance(note=f"loss {log[-1]['loss']:.3f}")
    return StageResult(log, tally.close())


def _work(settings: RftSettings, data: Shape) -> Work:
    prompts = min(data.rows, settings.steps * settings.prompts_per_step)
    kept_rows = prompts * settings.most_kept
    a_step = tree_tokens_of(settings.batch_rows * data.own_tokens(), settings.tree_tokens, data)
    answers = prompts * settings.answers_per_prompt
    return Work(
        steps=settings.epochs * -(-kept_rows // settings.batch_rows),
        answers=answers,
        generated=answers * data.answer_tokens,
        trained=settings.epochs * kept_rows * data.answer_tokens,
        processed=settings.epochs * kept_rows * a_step / settings.batch_rows,
    )


STAGE = Stage(
    "rft",
    "rejection-sampling fine-tuning: SFT on the model's own passing answers",
    "arXiv 2308.01825",
    RftSettings,
    "rl",
    lambda pool, _: pool.rl,
    rft,
    _work,
    PROVENANCE,
    version=1,
    needs_passing=True,
)
