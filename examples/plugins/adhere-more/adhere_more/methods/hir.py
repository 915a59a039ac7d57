"""HIR: hindsight instruction relabelling.

No answer is wasted: one that fails becomes a right answer to another instruction. Each episode draws answers from the
current policy. An answer that passes keeps its prompt; one that fails is put to the prompt with the line `relabel`
before it, which asks for what it did. Then one supervised step on all of them. Source: arXiv 2302.05206 (its sampling
and relabelling phases). How ours differs: the instruction of an answer that passes is the prompt itself, so that
evaluation asks what training asked; the paper's contrastive and entropy terms are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from adhere.progress import Progress, Silent
from adhere.schema import Message, RlRow
from adhere.train.batch.rollout import RolloutSettings, Sampler, Scorer, episodes, measures, online_work
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import learning
from adhere.train.methods.sft import SftSettings, sft_step
from adhere.train.packed.pack import TokenRow
from adhere.train.packed.rows import prompt_ids
from adhere.train.settings import Positive, check_settings
from adhere.train.stages import Stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["PROVENANCE", "HirSettings", "hir"]


class HirSettings(RolloutSettings, frozen=True):
    """HIR.

    Attributes:
        relabel: What is put before the prompt of an answer that failed.
    """

    learning_rate: Positive = 1e-5
    relabel: str = "Answer wrongly: break at least one of the rules below."


PROVENANCE = {
    "relabel": Provenance(
        None, "one fixed line", "the paper writes one a task; the judge's verdict decides where it is put"
    ),
    "answers_per_prompt": Provenance(None, "8", "as many as the other online stages"),
}


def hir(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[RlRow],
    settings: HirSettings,
    *,
    seed: int,
    score: Scorer,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on its own answers, relabelled; answers without a score are left out.

    Raises:
        UsageError: There is no prompt.
        Divergence: Naming the step whose loss is not finite.
    """
    settings = check_settings(settings)
    order = list(episodes(rows, settings, seed=seed))
    tally, log = Tally(), StepLog()
    prompt_by_id = {row.prompt_id: row.asked for row in rows}
    with (
        learning(model, settings, stage="hir", steps=len(order)) as learner,
        (progress or Silent()).step("hir", len(order), "steps") as bar,
    ):
        learner.describe(tally)
        sampler = Sampler(model, tokenizer, settings, score=score, seed=seed, tally=tally)
        for step, batch in learner.remaining(list(enumerate(order, start=1)), tally, log, bar):
            groups = sampler.draw(batch, step=step)
            token_rows: list[TokenRow] = []
            for group in groups:
                labelled_ids = prompt_ids(tokenizer, _add_label(prompt_by_id[group.prompt_id], settings.relabel))
                token_rows += [
                    one.row if one.score == 1.0 else TokenRow(labelled_ids, one.row.completion)
                    for one in group.measured
                ]
            row: LogRow = {"step": step} | measures(groups)
            if token_rows:
                row |= sft_step(
                    model,
                    learner,
                    token_rows,
                    SftSettings(tree_tokens=settings.tree_tokens, precision=settings.precision),
                    tally,
                )
            else:
                row |= learner.skip()
            log.append(row)
            bar.advance(note=f"reward {row['reward_mean'] or 0:.2f}, pass {row['pass_rate'] or 0:.2f}")
    return StageResult(log, tally.close())


def _add_label(prompt: str | tuple[Message, ...], label: str) -> str | tuple[Message, ...]:
    """The prompt with the label before its last turn."""
    if isinstance(prompt, str):
        return f"{label}\n\n{prompt}"
    return (*prompt[:-1], msgspec.structs.replace(prompt[-1], content=f"{label}\n\n{prompt[-1].content}"))


def _work(settings: HirSettings, data: Shape) -> Work:
    return online_work(
        settings,
        Shape(data.rows, data.prompt_tokens, data.shared_tokens, data.answer_tokens, 1.0),
        answers=settings.answers_per_prompt,
        has_reference=False,
    )


STAGE = Stage(
    "hir",
    "hindsight relabelling: failed answers are learned under another instruction",
    "arXiv 2302.05206",
    HirSettings,
    "rl",
    lambda pool, _: pool.rl,
    hir,
    _work,
    PROVENANCE,
    version=1,
    needs_passing=True,
)
