"""The parts of a transformers model that the decoder needs: its weights and the numbers of its shape.

In fp32 every weight is a view: if an optimiser changes the model's parameters, the decoder uses the changed ones, and
nothing is copied. q, k, v (and gate, up) stay separate matrices whose products are written into one buffer. Measured on
two AVX2 cores, that is as fast as one fused matrix (0.54 against 0.51 ms, 1.41 against 1.39 ms), which would have to be
copied after every step. In bf16 they are copied anyway, so they are fused: activations are rounded once for all of
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from adhere.errors import UsageError
from adhere.models.local.decoder.precision import Precision

Activation = Literal["silu", "gelu"]

GEMMA = "Gemma3ForCausalLM"
SUPPORTED = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", GEMMA)
# Rotary embeddings whose frequencies do not depend on the length of the sequence.
ROPE_TYPES = ("default", "linear", "llama3", "yarn")
ACTIVATIONS: dict[str, Activation] = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu"}


class Projection(NamedTuple):
    """Holds one linear map: weight (out, in) and bias (out, 1) or None."""

    weight: Tensor
    bias: Tensor | None


class Layer(NamedTuple):
    """Holds one decoder layer. Norm weights are columns (features, 1), because activations are (features, rows).

    Gemma also norms the outputs of attention and feed-forward (`…_after`), and uses another rotary table for local
    layers.
    """

    input_norm: Tensor
    qkv: tuple[Projection, ...]  # whose outputs, one after the other, are queries, keys, values
    query_norm: Tensor | None
    key_norm: Tensor | None
    output: Projection
    attention_after: Tensor | None
    mlp_norm: Tensor
    gate_up: tuple[Projection, ...]
    down: Projection
    mlp_after: Tensor | None
    window: int | None  # tokens that a token sees, itself one of them; None: all before it
    rotary: int  # which of the tables


class Shape(NamedTuple):
    """Holds the sizes that attention needs, and other numbers that differ between architectures."""

    hidden: int
    heads: int
    key_heads: int
    head_dim: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float
    query_scale: float
    embedding_scale: float
    norm_offset: float  # added to every norm's weight
    activation: Activation


class Weights(NamedTuple):
    """Holds all weights of a model, and the tables of its rotary embeddings: (positions, head_dim / 2) each."""

    shape: Shape
    embedding: Tensor
    layers: tuple[Layer, ...]
    final_norm: Tensor
    head: Projection
    rotary: tuple[tuple[Tensor, Tensor], ...]  # cosine and sine

    @property
    def narrowest(self) -> float:
        """The smallest window of a layer, in tokens; infinite if every layer sees all tokens."""
        return min((layer.window for layer in self.layers if layer.window is not None), default=math.inf)


def check_supported(model: Any) -> None:
    """Refuse a model that the decoder would compute wrongly.

    Raises:
        UsageError: The model is not supported; the message says why, and what is.
    """
    name, config = type(model).__name__, getattr(model, "config", None)
    if name not in SUPPORTED or config is None:
        raise UsageError(
            f"The decoder knows the architectures {', '.join(SUPPORTED)}; this model is a {name}. "
            "Serve it over HTTP, or use one of these."
        )
    for kind in _rotary_kinds(config):
        every = getattr(config, "rope_parameters", None) or {}
        rope = (every[kind] if kind else every).get("rope_type", "default")
        if rope not in ROPE_TYPES:
            raise UsageError(
                f"The decoder knows the rotary embeddings {', '.join(ROPE_TYPES)}; this model uses {rope!r}"
            )
    if _activation(config) not in ACTIVATIONS:
        raise UsageError(
            f"The decoder knows the activations {', '.join(ACTIVATIONS)}; this model uses {_activation(config)!r}"
        )
    for odd in ("attn_logit_softcapping", "final_logit_softcapping", "use_bidirectional_attention"):
        if getattr(config, odd, None):
            raise UsageError(f"The decoder does not know {odd}, which this model's config.json sets")


def _activation(config: Any) -> str:
    name: str = getattr(config, "hidden_activation", None) or config.hidden_act
    return name


def _rotary_kinds(config: Any) -> list[str]:
    """Return the kinds of layers that have rotary embeddings of their own; [""] if all layers share one."""
    every = getattr(config, "rope_parameters", None) or {}
    kinds = sorted(set(getattr(config, "layer_types", None) or ()))
    return kinds if any(isinstance(every.get(kind), dict) for kind in kinds) else [""]


def windows_of(config: Any) -> list[int | None]:
    """Return how many tokens each layer sees; None: all."""
    width, count = getattr(config, "sliding_window", None), config.num_hidden_layers
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * count
    return [width if kind == "sliding_attention" else None for kind in kinds]


def _shape(model: Any) -> Shape:
    config = model.config
    attention = model.model.layers[0].self_attn
    return Shape(
        hidden=config.hidden_size,
        heads=config.num_attention_heads,
        key_heads=config.num_key_value_heads,
        head_dim=attention.head_dim,
        inner=config.intermediate_size,
        vocabulary=model.lm_head.weight.shape[0],
        positions=config.max_position_embeddings,
        epsilon=config.rms_norm_eps,
        query_scale=attention.scaling,
        embedding_scale=getattr(model.model.embed_tokens, "scalar_embed_scale", 1.0),
        norm_offset=1.0 if type(model).__name__ == GEMMA else 0.0,
        activation=ACTIVATIONS[_activation(config)],
    )


def read_weights(model: Any, precision: Precision, before: Weights | None = None) -> Weights:
    """Read the weights of `model` for the decoder.

    They are views in fp32, and rounded copies of the matrices in bf16 (norms and embedding stay in fp32).

    Args:
        model: A supported model in fp32, all of it on one device.
        precision: Precision of the matrices.
        before: An earlier result for the same model; its copies are overwritten in place, and its tables are reused.

    Raises:
        UsageError: The model is not supported, is not stored in fp32, or is on several devices.
    """
    check_supported(model)
    odd = sorted({str(parameter.dtype) for parameter in model.parameters()} - {"torch.float32"})
    if odd:
        raise UsageError(
            f"The decoder reads fp32 weights; this model has {', '.join(odd)}. Load it with dtype=float32."
        )
    devices = sorted({str(parameter.device) for parameter in model.parameters()})
    if len(devices) > 1:
        raise UsageError(f"The decoder reads weights on one device; this model is on {', '.join(devices)}")
    copies = iter([]) if before is None or precision == "fp32" else _copies(before)

    def projections(*linears: Any) -> tuple[Projection, ...]:
        if precision == "fp32":
            return tuple(Projection(linear.weight.detach(), _bias(linear)) for linear in linears)
        parts = [linear.weight.detach() for linear in linears]
        biases = [bias for linear in linears if (bias := _bias(linear)) is not None]
        fused_weight, bias = next(copies, (None, None))
        if fused_weight is None:
            fused_weight = parts[0].new_empty(sum(map(len, parts)), parts[0].shape[1], dtype=torch.bfloat16)
            bias = biases[0].new_empty(sum(map(len, biases)), 1) if biases else None
        for target, part in zip(fused_weight.split([len(part) for part in parts]), parts, strict=True):
            target.copy_(part)
        return (Projection(fused_weight, torch.cat(biases, out=bias) if bias is not None else None),)

    def projection(linear: Any) -> Projection:
        return projections(linear)[0]

    def column(norm: Any) -> Tensor:
        weight: Tensor = norm.weight.detach()[:, None]
        return weight

    layers = []
    kinds, types = _rotary_kinds(model.config), getattr(model.config, "layer_types", None) or []
    is_gemma = type(model).__name__ == GEMMA
    for index, (block, window) in enumerate(zip(model.model.layers, windows_of(model.config), strict=True)):
        attention, mlp = block.self_attn, block.mlp
        layers.append(
            Layer(
                input_norm=column(block.input_layernorm),
                qkv=projections(attention.q_proj, attention.k_proj, attention.v_proj),
                query_norm=column(attention.q_norm) if hasattr(attention, "q_norm") else None,
                key_norm=column(attention.k_norm) if hasattr(attention, "k_norm") else None,
                output=projection(attention.o_proj),
                attention_after=column(block.post_attention_layernorm) if is_gemma else None,
                mlp_norm=column(block.pre_feedforward_layernorm if is_gemma else block.post_attention_layernorm),
                gate_up=projections(mlp.gate_proj, mlp.up_proj),
                down=projection(mlp.down_proj),
                mlp_after=column(block.post_feedforward_layernorm) if is_gemma else None,
                window=window,
                rotary=kinds.index(types[index]) if len(kinds) > 1 else 0,
            )
        )
    shape = _shape(model)
    return Weights(
        shape=shape,
        embedding=model.model.embed_tokens.weight.detach(),
        layers=tuple(layers),
        final_norm=column(model.model.norm),
        head=projection(model.lm_head),
        rotary=tuple(_rotary_table(model, shape, kind) for kind in kinds) if before is None else before.rotary,
    )


def _bias(linear: Any) -> Tensor | None:
    """Return the bias as a column (out, 1), because activations are (features, rows); None if there is none."""
    return None if linear.bias is None else linear.bias.detach()[:, None]


def _copies(weights: Weights) -> Iterator[Projection]:
    """Yield the projections in the order in which `read_weights` reads them."""
    for layer in weights.layers:
        yield from (*layer.qkv, layer.output, *layer.gate_up, layer.down)
    yield weights.head


def places_of(weights: Weights) -> list[int]:
    """Return the memory addresses of all tensors that a step reads."""
    addresses: list[int] = []

    def note(value: object) -> None:
        if isinstance(value, Tensor):
            addresses.append(value.data_ptr())
        elif isinstance(value, tuple):
            for part in value:
                note(part)

    note(weights)
    return addresses


def _rotary_table(model: Any, shape: Shape, kind: str) -> tuple[Tensor, Tensor]:
    """Return the rotary cosines and sines, (positions, head_dim / 2) each; a head's other half has the same.

    The model's own module computes them, so its scaling is included. `kind` is the type of layer, if the module has a
    table for each type, else "".

    Raises:
        UsageError: The model rotates only a part of each head.
    """
    positions = torch.arange(shape.positions, device=model.device)[None]
    with torch.no_grad():
        own = (kind,) if kind else ()
        cosine, sine = model.model.rotary_emb(torch.zeros(1, device=model.device), positions, *own)
    half = shape.head_dim // 2
    if cosine.shape[-1] != shape.head_dim:
        raise UsageError(f"The decoder rotates whole heads; this model rotates {cosine.shape[-1]} of {shape.head_dim}")
    return cosine[0, :, :half].contiguous(), sine[0, :, :half].contiguous()
