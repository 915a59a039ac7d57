"""Estimate what training a model will hold in memory, before it starts, from the model's real shape.

Weights, gradients and moments follow from the number of parameters. Activations were counted on small models by the
tensors that autograd keeps (tests/unit/train/test_memory.py counts them again): bytes for each tree token and layer,
proportional to `hidden` and `inner`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import MissingModel
from adhere.schema import Record
from adhere.train.batch.rollout import RolloutSettings
from adhere.train.packed.pack import LONG
from adhere.train.settings import OptimizerSettings

FP32 = 4
KEPT = {"fp32": (40, 16), "bf16": (32, 8)}  # bytes kept a token and layer: times hidden, times inner
LOGITS = 2 * FP32  # logits and their gradient, each (tokens, vocabulary); the softmax is made in blocks
COMPLETION_SHARE = 0.6  # of a tree's tokens have logits
PROMPT_TOKENS = 256  # taken to be cached for each row of a rollout
BASE = {"cpu": 0.7e9, "cuda": 1.5e9, "mps": 1.0e9}  # the process; on a GPU its context and libraries
SLACK = 1.15  # fragments, scratch memory of products


class Sizes(Record, frozen=True):
    """Describes the shape of a Llama-like model."""

    hidden: int
    inner: int
    layers: int
    heads: int
    key_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    biased: bool = False

    @property
    def embedding(self) -> int:
        """Number of parameters of input embedding and head."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        """Number of all parameters."""
        queries, keys = self.heads * self.head_dim, self.key_heads * self.head_dim
        attention = 2 * self.hidden * queries + 2 * self.hidden * keys + self.biased * (queries + 2 * keys)
        layer = attention + 3 * self.hidden * self.inner + 2 * self.hidden
        return self.embedding + self.layers * layer + self.hidden


SMOLLM2_135M = Sizes(576, 1536, 30, 9, 3, 64, 49152, tied=True)


class Memory(Record, frozen=True):
    """Holds the bytes at the worst moment of a stage, by what they hold."""

    weights: float
    gradients: float
    moments: float
    reference: float
    rollouts: float
    activations: float
    logits: float
    process: float

    @property
    def total(self) -> float:
        """All bytes, times a factor for slack."""
        return SLACK * float(sum(msgspec.structs.astuple(self)))

    def describe(self) -> str:
        """Return the parts in gigabytes as text, largest first."""
        parts = sorted(msgspec.structs.asdict(self).items(), key=lambda part: -part[1])
        return ", ".join(f"{name} {value / 1e9:.1f}" for name, value in parts if value >= 5e7)


def sizes_of(weights: Path) -> Sizes:
    """Read the sizes of a model from its directory's `config.json`.

    Raises:
        MissingModel: There is no config.json, or not one of a Llama-like model.
    """
    try:
        config: Mapping[str, Any] = json.loads((weights / "config.json").read_text(encoding="utf-8"))
        heads, hidden_size = int(config["num_attention_heads"]), int(config["hidden_size"])
        return Sizes(
            hidden=hidden_size,
            inner=int(config["intermediate_size"]),
            layers=int(config["num_hidden_layers"]),
            heads=heads,
            key_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden_size // heads),
            vocabulary=int(config["vocab_size"]),
            tied=bool(config.get("tie_word_embeddings", False)),
            biased=config.get("model_type") == "qwen2",
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MissingModel(f"{weights}: no config.json of a Llama-like model ({error})") from error


def adapter_parameters(sizes: Sizes, *, rank: int, targets: Sequence[str]) -> int:
    """Return the number of weights of a low-rank adapter for these matrices of every layer."""
    queries, keys = sizes.heads * sizes.head_dim, sizes.key_heads * sizes.head_dim
    sides = {  # inputs and outputs
        "q_proj": sizes.hidden + queries, "k_proj": sizes.hidden + keys, "v_proj": sizes.hidden + keys,
        "o_proj": queries + sizes.hidden, "gate_proj": sizes.hidden + sizes.inner,
        "up_proj": sizes.hidden + sizes.inner,
        "down_proj": sizes.inner + sizes.hidden,
    }  # fmt: skip
    return sum(sides[name] for name in targets) * rank * sizes.layers


def memory_of(
    sizes: Sizes,
    settings: OptimizerSettings,
    *,
    copies: int = 1,
    whole: int = 0,
    device: str = "cpu",
    adapter: int | None = None,
    shards: int = 1,
) -> Memory:
    """Estimate the memory that a stage with `settings` holds at the worst moment.

    Args:
        sizes: Shape of the model.
        settings: Settings of the stage.
        copies: Copies of the weights in memory, the trained one included (`Work.copies`).
        whole: Further copies, which are whole in each process: a reward model, the best weights of a watch.
        device: `cpu`, `cuda` or `mps`.
        adapter: Weights of the adapter that is trained instead of the model's own; the decoder then holds the
            merged matrices.
        shards: Processes that the weights are sharded over; the estimate is for one of them. A layer and the
            embeddings are whole while they are computed with; a frozen copy is sharded like the trained one.
    """
    trained = sizes.parameters - (sizes.embedding if settings.freeze_embeddings_and_head else 0)
    if adapter is not None:
        trained = adapter
    draws = isinstance(settings, RolloutSettings) and settings.generator == "ours"
    merged_bytes = FP32 * sizes.parameters if draws and adapter is not None else 0
    held_parameters = (sizes.parameters + (adapter or 0)) / shards
    gathered_parameters = (
        0 if shards == 1 else 2 * (sizes.parameters - sizes.embedding) / sizes.layers + sizes.embedding
    )
    low = settings.precision == "bf16"
    by_hidden, by_inner = KEPT["bf16" if low else "fp32"]
    layer = by_hidden * sizes.hidden + by_inner * sizes.inner
    if low and device == "cpu":
        layer += 2 * sizes.heads * settings.tree_tokens  # our attention keeps its chances
    layers = layer * sizes.layers
    if settings.gradient_checkpointing:
        layers = FP32 * sizes.hidden * sizes.layers + layer  # each layer's input, and one layer computed again
    mask = 2 * FP32 * settings.tree_tokens if settings.tree_tokens <= LONG else 0
    return Memory(
        weights=FP32 * (held_parameters + gathered_parameters)
        + 2 * low * (sizes.parameters if shards == 1 else gathered_parameters),  # autocast's copies
        gradients=FP32 * (trained / shards + gathered_parameters / 2),
        moments=2 * FP32 * trained / shards,
        # Further copies, and with online merging what was learned before, for each trained weight.
        reference=FP32
        * (sizes.parameters * ((copies - 1) / shards + whole) + trained * (settings.merging is not None)),
        rollouts=_rollouts(sizes, settings) + merged_bytes,
        activations=settings.tree_tokens * (layers + mask),
        logits=settings.tree_tokens * COMPLETION_SHARE * LOGITS * sizes.vocabulary,
        process=BASE[device],
    )


def _rollouts(sizes: Sizes, settings: OptimizerSettings) -> float:
    if not isinstance(settings, RolloutSettings) or settings.generator == "server":
        return 0.0
    cached_tokens = settings.decode_rows * (PROMPT_TOKENS + settings.max_new_tokens)
    cache = cached_tokens * sizes.layers * 2 * sizes.key_heads * sizes.head_dim * FP32
    bf16_bytes = 2 * sizes.parameters if settings.rollout_precision == "bf16" else 0
    return cache + bf16_bytes + settings.decode_rows * sizes.vocabulary * FP32
