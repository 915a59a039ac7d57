"""Decoding steps of one fixed shape, so that a GPU can replay them as CUDA graphs.

On a GPU a step of a small model is a thousand tiny kernels, and launching them costs more than running them. A step can
be recorded once and replayed if it always has all rows, reads the cache up to one of a few lengths and works in memory
that never moves. On a CPU the same steps run without being recorded; so they are tested.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from adhere.errors import UsageError
from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.forward import Forward
from adhere.models.local.decoder.weights import Weights, places_of

REACH = 64  # the cache is read up to a multiple of this many tokens: one graph each


class StaticForward(Forward):
    """A `Forward` with every step padded to all rows.

    It shares no prefix between prompts, because the prefix's memory would move.
    """

    def __init__(self, weights: Weights, *, rows: int, capacity: int, layout: Layout = "columns") -> None:
        super().__init__(weights, rows=rows, capacity=capacity, layout=layout)
        self._tokens = torch.zeros(rows, dtype=torch.long, device=self.device)
        self._lengths = torch.zeros_like(self._tokens)
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def take(self, weights: Weights) -> None:
        if places_of(weights) != places_of(self.weights):
            self._graphs.clear()  # they would go on reading where the weights lay, such as an adapter's merged ones
        super().take(weights)

    def set_prefix(self, ids: Sequence[int]) -> None:
        if ids:
            raise UsageError("StaticForward shares no prefix; compute whole prompts")

    def step(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        active = len(tokens)
        reach = min(self.capacity, -(-(int(lengths.max()) + 1) // REACH) * REACH)
        # Rows beyond the active ones write into the first place of slots that nobody uses until a prompt is put there.
        self._tokens.zero_()[:active].copy_(tokens)
        self._lengths.zero_()[:active].copy_(lengths)
        self._space = "step "  # prefill's scratch memory may grow; that of steps must not move
        try:
            logits = (
                self._replayed(reach) if self.device.type == "cuda" else self._step(self._tokens, self._lengths, reach)
            )
        finally:
            self._space = ""
        return logits[:, :active]

    def _replayed(self, reach: int) -> Tensor:
        if reach not in self._graphs:
            # Twice beforehand on a stream of its own, so that libraries have chosen their kernels and scratch is there.
            side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    self._step(self._tokens, self._lengths, reach)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                logits = self._step(self._tokens, self._lengths, reach)
            self._graphs[reach] = graph, logits
        graph, logits = self._graphs[reach]
        graph.replay()
        return logits
