"""The order of online prompts where a trained reward model is the reward.

Rows come with the variance of the judge's scores. The Qwen2.5 report orders queries by the variance of their answers'
scores "as evaluated by the reward model" (arXiv 2412.15115, section 4.3), which may be another order. So the stage's
start policy answers every prompt as often as the stage will, the stage's own scorer scores the answers, and their
variance replaces that of the judge. None of these answers is learned from. If the judge is the reward, nothing is
replaced.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import msgspec

from adhere.progress import Progress
from adhere.schema import Record, RlRow, decode, encode, write_atomic
from adhere.train.batch.rollout import RolloutSettings, Sampler, Scorer
from adhere.train.budget.cost import Shape
from adhere.train.budget.ledger import StageLedger, Tally
from adhere.train.parallel import first_does, gather
from adhere.train.settings import OptimizerSettings
from adhere.train.stage.estimate import Estimate, Speed
from adhere.train.stages import Stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

FILE = "order.json"
STEP = 0  # a stage's steps are counted from 1, so that it draws other answers


class Ordering(Record, frozen=True):
    """Holds rows with the stage's own scores, and the cost of drawing and scoring.

    `key` is the stage's, so that another stage's ordering is not reused.
    """

    key: str
    rows: list[RlRow]
    ledger: StageLedger


def orders_anew(settings: OptimizerSettings, stage: Stage) -> TypeGuard[RolloutSettings]:
    """Tell whether a stage orders its prompts by the variance of scores, so that another reward needs another order."""
    return stage.online and isinstance(settings, RolloutSettings) and settings.order != "random"


def ordering_of(
    rows: Sequence[RlRow],
    settings: RolloutSettings,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    score: Scorer,
    seed: int,
    folder: Path,
    key: str,
    progress: Progress,
) -> Ordering:
    """Replace `draws`, `score_mean` and `score_variance` (unbiased) of the rows by those of `score`.

    The rows keep their places; the stage itself orders them.

    Args:
        rows: The stage's prompts.
        settings: The stage's settings: answers per prompt, their length and temperature.
        model: The policy as the stage finds it; it is not changed.
        tokenizer: The policy's tokenizer.
        score: The stage's reward. A prompt with fewer than two scores has variance 0: nothing can be learned from it.
        seed: The stage's seed.
        folder: Folder of the stage's unfinished state; an ordering with the same `key` there is reused, otherwise
            one is written.
        key: The stage's key.
        progress: Where to report to.
    """
    file = folder / FILE
    if gather([file.exists()])[0]:
        stored_ordering = decode(file.read_bytes(), Ordering)
        if stored_ordering.key == key:
            return stored_ordering
    tally = Tally()
    sampler = Sampler(model, tokenizer, settings, score=score, seed=seed, tally=tally)
    ordered_rows: list[RlRow] = []
    with progress.step("order by the reward model", len(rows), "prompts") as bar:
        for first in range(0, len(rows), settings.prompts_per_step):
            batch = rows[first : first + settings.prompts_per_step]
            for row, group in zip(batch, sampler.draw(batch, step=STEP), strict=True):
                ordered_rows.append(_with_scores(row, group.scores))
            bar.advance(len(batch))
    ordering = Ordering(key, ordered_rows, tally.close())
    first_does(lambda: _store(file, ordering))
    return ordering


def with_cost(ledger: StageLedger, ordering: StageLedger) -> StageLedger:
    """Add the cost of an ordering to the ledger of its stage."""
    totals = {
        name: getattr(ledger, name) + getattr(ordering, name)
        for name in ("prompts", "answers_generated", "answers_unmeasured", "tokens_generated", "seconds",
            "seconds_generating", "seconds_scoring")
    }  # fmt: skip
    return msgspec.structs.replace(ledger, **totals)


def with_ordering(cost: Estimate, settings: RolloutSettings, data: Shape, speed: Speed) -> Estimate:
    """Add the cost of an ordering, answers to every prompt, to the estimate of a stage.

    The passes that score the answers are left out.
    """
    answers = data.rows * settings.answers_per_prompt
    tokens = round(answers * data.answer_tokens)
    return msgspec.structs.replace(
        cost,
        answers_generated=cost.answers_generated + answers,
        tokens_generated=cost.tokens_generated + tokens,
        minutes=cost.minutes + tokens / speed.generated_per_s / 60,
    )


def _with_scores(row: RlRow, scores: Sequence[float]) -> RlRow:
    enough = len(scores) >= 2 and len(set(scores)) > 1
    return msgspec.structs.replace(
        row,
        draws=len(scores),
        score_mean=statistics.fmean(scores) if scores else 0.0,
        score_variance=statistics.variance(scores) if enough else 0.0,
    )


def _store(file: Path, ordering: Ordering) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, encode(ordering))
