"""Estimate what a stage will cost, before it runs: steps, tokens, minutes, memory.

The estimate of online stages is an upper bound in tokens: it assumes that every answer has the full length and every
group has variance, unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adhere.schema import PairRow, Record, RlRow, SftRow
from adhere.train.budget.cost import Shape
from adhere.train.packed.rows import prompt_ids
from adhere.train.settings import OptimizerSettings
from adhere.train.stage.memory import SMOLLM2_135M, Sizes, memory_of
from adhere.train.stages import Stage

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Estimate", "Shape", "Speed", "estimate", "shape_of"]


class Speed(Record, frozen=True):
    """Describes a machine's speed with one model.

    Defaults: 135M parameters on two AVX2 cores (benchmarks/training/trees.py).

    Attributes:
        trained_per_s: Tree tokens forward and backward per second.
        scored_per_s: Tree tokens forward per second.
        generated_per_s: Answer tokens drawn per second.
        sizes: Shape of the model.
        device: Device type that the model runs on.
    """

    trained_per_s: float = 155.0
    scored_per_s: float = 440.0
    generated_per_s: float = 400.0
    sizes: Sizes = SMOLLM2_135M
    device: str = "cpu"


class Estimate(Record, frozen=True):
    """Holds the expected cost of a stage; the fields are named as in its ledger."""

    steps: int
    answers_generated: int
    tokens_generated: int
    tokens_trained: int
    tokens_processed: int
    tokens_scored: int
    minutes: float
    memory_bytes: int

    @property
    def equivalent_tokens(self) -> int:
        """Compute that a matched control gets, in tokens trained; a token scored or drawn counts as a third."""
        return self.tokens_processed + (self.tokens_scored + self.tokens_generated) // 3


def estimate(stage: Stage, settings: OptimizerSettings, data: Shape, speed: Speed) -> Estimate:
    """Estimate the cost of `stage` on `data`, by the stage's own cost model."""
    work = stage.work(settings, data)
    seconds = (
        work.processed / speed.trained_per_s + work.scored / speed.scored_per_s + work.generated / speed.generated_per_s
    )
    return Estimate(
        steps=round(work.steps),
        answers_generated=round(work.answers),
        tokens_generated=round(work.generated),
        tokens_trained=round(work.trained),
        tokens_processed=round(work.processed),
        tokens_scored=round(work.scored),
        minutes=seconds / 60,
        memory_bytes=round(memory_of(speed.sizes, settings, copies=work.copies, device=speed.device).total),
    )


def shape_of(
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SftRow] | Sequence[PairRow] | Sequence[RlRow],
    *,
    answer_tokens: float,
) -> Shape:
    """Measure the shape of stored rows. `answer_tokens` is used for prompts, which have no answers yet."""
    if not rows:
        return Shape(0, answer_tokens=answer_tokens)
    prompts = [prompt_ids(tokenizer, row.asked) for row in rows]
    first, last = min(prompts), max(prompts)
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    texts = [text for row in rows for text in _answers(row)]
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) + 1 for text in texts]
    have_variance = [row.score_variance > 0 for row in rows if isinstance(row, RlRow)]
    return Shape(
        rows=len(rows),
        prompt_tokens=sum(map(len, prompts)) / len(prompts),
        shared_tokens=shared,
        answer_tokens=sum(lengths) / len(lengths) if lengths else answer_tokens,
        varied_share=sum(have_variance) / len(have_variance) if have_variance else 1.0,
    )


def _answers(row: SftRow | PairRow | RlRow) -> tuple[str, ...]:
    match row:
        case SftRow():
            return (row.completion,)
        case PairRow():
            return (row.chosen, row.rejected)
        case _:
            return ()
