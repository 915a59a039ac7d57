"""The settings that every stage has, their declared domains, and how a study or recipe fills in what is open.

This is the lowest file of the room: to read or write a recipe, no other is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar

import msgspec
from msgspec import Meta

from adhere.errors import UsageError
from adhere.schema import Record, convert

if TYPE_CHECKING:
    from adhere.models.local.decoder.precision import Precisions

Settings = TypeVar("Settings", bound="OptimizerSettings")
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]

Precision = Literal["fp32", "bf16"]
Matrix = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
MATRICES: tuple[Matrix, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Merging(Record, frozen=True):
    """Describes online merging; see `optim.merging.OnlineMerging`.

    Attributes:
        method: `dare` or `ties`.
        p: Share of coordinates that are kept.
        alpha: Weight of the earlier change; 0 is the control "update dropout".
        mode: `released` as the authors' code, `paper` as their text: then OnDARE's steps are p times as long as
            AdamW's.
        every: Merge at every K-th step.
        base: Directory of the weights that the stage before started from; `start`: those that the recipe or study
            starts from.
    """

    method: Literal["dare", "ties"] = "dare"
    p: Annotated[float, Meta(gt=0, le=1)] = 5e-4
    alpha: Share = 5e-7
    mode: Literal["released", "paper"] = "released"
    every: Count = 1
    base: str = "start"


class OptimizerSettings(Record, frozen=True):
    """Holds the settings that every stage has.

    Attributes:
        learning_rate: The highest learning rate, reached after warm-up.
        schedule: Shape of the learning rate after warm-up; `linear` and `cosine` fall to `final_share` of it at the
            last step.
        final_share: Share of `learning_rate` at the last step (Qwen2.5's SFT ends at a tenth).
        warmup_share: Share of the steps over which the learning rate rises from zero.
        weight_decay: Decoupled weight decay; never on norms and biases.
        clip: Highest norm of the gradient.
        betas: AdamW's betas.
        freeze_embeddings_and_head: Do not train the input embedding and the output head (one matrix if tied). In a
            small model these are a fifth of all weights (SmolLM2-135M: 28 of 135 million), whose rows for rare tokens
            would move by noise and whose gradient costs most. The ledger counts what was trained.
        tree_tokens: Micro-batches hold at most this many tree tokens. No effect on results beyond rounding; 384 to
            768 are equally fast (benchmarks/training/trees.py), smaller share less, larger pay for attention and
            memory.
        gradient_checkpointing: Keep only each layer's input and compute the rest again for backward: a third more
            work for a fraction of the memory. Results are the same bits.
        precision: Precision of matrix products; weights, gradients and the optimizer's moments stay in fp32. None:
            as the study or recipe decides (`settle`), else fp32.
        merging: Merge every step with what the stage before had learned (online merging); None: plain AdamW.
    """

    learning_rate: Positive = 1e-5
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    final_share: Share = 0.1
    warmup_share: Share = 0.0
    weight_decay: Annotated[float, Meta(ge=0)] = 0.0
    clip: Positive = 1.0
    betas: tuple[Share, Share] = (0.9, 0.999)
    freeze_embeddings_and_head: bool = True
    tree_tokens: Count = 512
    gradient_checkpointing: bool = False
    precision: Precision | None = None
    merging: Merging | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether the stage learns from rows of the data directory with these settings."""
        return True

    def with_inputs(self) -> Self:
        """Return the settings with the hash of every file that they name, so that a changed file makes another run.

        Most settings name no file.
        """
        return self


class Lora(Record, frozen=True):
    """Describes a low-rank adapter, trained instead of the model's matrices and merged after each stage.

    See `packed.lora`.

    Attributes:
        rank: Rank of its factors.
        alpha: The product of the factors is multiplied by alpha / rank.
        targets: The matrices of every layer that have one. Embeddings, head and norms stay as they are.
    """

    rank: Annotated[int, Meta(ge=1)] = 16
    alpha: Annotated[float, Meta(gt=0)] = 32.0
    targets: Annotated[tuple[Matrix, ...], Meta(min_length=1)] = MATRICES


def check_settings(settings: Settings) -> Settings:
    """Check the settings against their declared domains and return them.

    msgspec checks settings when it reads them, not when they are constructed.

    Raises:
        UsageError: A setting is outside its domain; the message names it and the allowed values.
    """
    try:
        return convert(msgspec.to_builtins(settings), type(settings))
    except msgspec.ValidationError as error:
        raise UsageError(f"{type(settings).__name__}: {error}") from error


def settle(settings: Settings, precisions: Precisions) -> Settings:
    """Fill in the precisions that `settings` leave open, and the hashes of input files.

    A cell's key hashes the result.
    """
    ours = {
        "precision": precisions.training,
        "rollout_precision": precisions.rollouts,
        "rollout_layout": precisions.layout,
    }
    open_ = {name: value for name, value in ours.items() if getattr(settings, name, value) is None}
    return msgspec.structs.replace(settings.with_inputs(), **open_)


def with_base(settings: OptimizerSettings, start: Path) -> OptimizerSettings:
    """Replace `merging.base = "start"` by the directory that the recipe or study starts from."""
    if settings.merging is None or settings.merging.base != "start":
        return settings
    return msgspec.structs.replace(settings, merging=msgspec.structs.replace(settings.merging, base=str(start)))
