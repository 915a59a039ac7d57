"""Attention steering.

Chosen heads attend more to chosen tokens of the prompt, while it is read and at every later step. The method follows
PASTA (Zhang et al., arXiv 2311.02262): in a steered head the weight of every token outside the spans is divided by a
factor and the rest is scaled up again. That is the same as adding log(factor) to the scores of the tokens inside, which
is done here. Differences: heads are not profiled task by task; unless named they are all heads of the middle half of
the layers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from adhere.errors import UsageError
from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.forward import Forward
from adhere.models.local.decoder.weights import Weights

Spans = tuple[tuple[int, int], ...]
"""Ranges of token places, each from the first place to the one after the last."""


class Steering(NamedTuple):
    """Describes how strongly, and in which heads, attention is steered.

    Attributes:
        strength: Number added to the attention scores of tokens in a span: the log of the factor by which their
            weight grows relative to the others. 0 changes nothing, bit for bit.
        heads: (layer, head) pairs, from 0; None: every head of the layers from a quarter to three quarters of the
            depth.
    """

    strength: float
    heads: tuple[tuple[int, int], ...] | None = None

    def of_layers(self, weights: Weights) -> list[Tensor | None]:
        """Return, by layer, what is added to the scores of each query head, (H,); None if no head is steered.

        Raises:
            UsageError: The model has no such head, or the strength is not finite or below 0.
        """
        if not (self.strength >= 0 and math.isfinite(self.strength)):
            raise UsageError(f"steering strength {self.strength}: 0 or above")
        layers, heads = len(weights.layers), weights.shape.heads
        chosen = self.heads
        if chosen is None:
            chosen = tuple((layer, head) for layer in range(layers // 4, -(-3 * layers // 4)) for head in range(heads))
        additions: list[Tensor | None] = [None] * layers
        for layer, head in chosen:
            if not (0 <= layer < layers and 0 <= head < heads):
                raise UsageError(
                    f"steering: no head {head} in layer {layer}; the model has {layers} layers of {heads} heads"
                )
            addition = additions[layer]
            if addition is None:
                addition = additions[layer] = torch.zeros(heads, device=weights.embedding.device)
            addition[head] = self.strength
        return additions


class SteeredForward(Forward):
    """A `Forward` with more attention on marked tokens.

    It shares no prefix between prompts, because their marks may differ. Marks (1 in a span, else 0) are one more layer
    of the cache, so that they are copied and moved like keys.
    """

    def __init__(
        self, weights: Weights, *, rows: int, capacity: int, steering: Steering, layout: Layout = "columns"
    ) -> None:
        super().__init__(weights, rows=rows, capacity=capacity, layout=layout)
        layers, *rest = self.cache.shape
        self.cache = self._empty(layers + 1, *rest).zero_()
        self._added = steering.of_layers(weights)
        self._spans: dict[tuple[int, ...], Spans] = {}
        self._marks = torch.zeros(0, device=self.device)  # of the prompts being read, (prompts, longest)

    def mark(self, spans: Mapping[tuple[int, ...], Spans]) -> None:
        """Set the spans of the coming prompts, by their token ids."""
        self._spans = dict(spans)

    def set_prefix(self, ids: Sequence[int]) -> None:
        if ids:
            raise UsageError("SteeredForward shares no prefix; compute whole prompts")

    def _prefill_columns(self, suffixes: Sequence[Sequence[int]], keys_values: Tensor) -> Tensor:
        keys_values[-1].zero_()
        for place, ids in enumerate(suffixes):
            for first, end in self._spans.get(tuple(ids), ()):
                keys_values[-1, :, place, :, first:end] = 1
        self._marks = keys_values[-1, 0, :, 0, :, 0].float()
        return super()._prefill_columns(suffixes, keys_values)

    def _attend_prompts(self, index: int, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        addition = self._added[index]
        if addition is None:
            return super()._attend_prompts(index, query, keys, values, mask)
        # One more feature: its product is what a steered head adds for a marked token.
        more = addition.view(1, -1, 1, 1).expand(*query.shape[:3], 1)
        marks = self._marks[:, None, :, None].expand(*keys.shape[:3], 1)
        return super()._attend_prompts(index, torch.cat((query, more), -1), torch.cat((keys, marks), -1), values, mask)

    def _step(self, tokens: Tensor, lengths: Tensor, reach: int) -> Tensor:
        rows = torch.arange(len(tokens), device=self.device)
        self.cache[-1, 0, rows, :, lengths] = 0  # whoever had the slot before may have marked this place
        return super()._step(tokens, lengths, reach)

    def _attend_rows(self, index: int, query: Tensor, reach: int, mask: Tensor) -> Tensor:
        addition = self._added[index]
        if addition is None:
            return super()._attend_rows(index, query, reach, mask)
        keys, group, _, rows = query.shape
        marks = self.cache[-1, 0, :rows, 0, :reach, 0].float()
        steered_mask = mask + marks[:, None, None] * addition.view(1, keys, group, 1)
        return super()._attend_rows(index, query, reach, steered_mask)
