"""Attention over a prefix tree, registered with transformers.

In bf16 on a CPU as `adhere_tree`, else as `adhere_sdpa`, which is torch's. A tree of many nodes has no mask, which
would grow with their square: each block of queries is put to the keys that it sees (`Run`), and its scores are computed
again for the gradient, as FlashAttention does (arXiv 2205.14135). Both names do so where they are given `tree_runs`.

torch's own kernel takes 10 ms a layer for 443 nodes (9 heads of 64), forward and backward, in bf16 as in fp32; plain
products with the softmax in fp32 take 3 ms (benchmarks/training/attention.py). In fp32 torch's kernel is as fast and
stays.

Notation: K key heads, G query heads a key head, N nodes, D head size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["NAMES", "Run", "attend", "attend_in_runs", "register"]

LOW, SDPA = NAMES = ("adhere_tree", "adhere_sdpa")
# All but cuDNN's, which plans anew for every length: 2 ms a call, and hardly two batches have the same. On an H100 that
# was two thirds of a step in bf16 (docs/LOG.md).
KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
SCORES = 2**25  # of a block, over all heads: 128 MB in fp32


class Run(NamedTuple):
    """Describes nodes start … end - 1 of a tree, each the only child of the one before.

    `sees`: the ranges of earlier nodes that all of them see.
    """

    start: int
    end: int
    sees: tuple[tuple[int, int], ...]


class _InRuns(torch.autograd.Function):
    """Grouped attention of a long tree.

    query (K, G, N, D), already scaled; key, value (K, N, D).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, runs: Sequence[Run]) -> Tensor:
        output, sums = torch.empty_like(query), query.new_empty(query.shape[:3], dtype=torch.float32)
        for rows, key_ranges in _blocks(query, runs):
            scores = _scores(query, key, rows, key_ranges)
            sums[:, :, rows] = scores.logsumexp(-1)
            chances = (scores - sums[:, :, rows, None]).exp().to(value.dtype)
            output[:, :, rows] = (chances.flatten(1, 2) @ _take(value, key_ranges)).view(output[:, :, rows].shape)
        ctx.save_for_backward(query, key, value, output, sums)
        ctx.runs = runs
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        query, key, value, output, sums = ctx.saved_tensors
        of_query, of_key, of_value = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(value)
        share = (gradient * output).sum(-1, dtype=torch.float32)  # (K, G, N)
        for rows, key_ranges in _blocks(query, ctx.runs):
            chances = (_scores(query, key, rows, key_ranges) - sums[:, :, rows, None]).exp()
            row_gradient = gradient[:, :, rows].flatten(1, 2)
            of_chances = (row_gradient @ _take(value, key_ranges).transpose(1, 2)).view(chances.shape)
            of_scores = (chances * (of_chances - share[:, :, rows, None])).to(query.dtype).flatten(1, 2)
            of_query[:, :, rows] = (of_scores @ _take(key, key_ranges)).view(of_query[:, :, rows].shape)
            _add(of_key, of_scores.transpose(1, 2) @ query[:, :, rows].flatten(1, 2), key_ranges)
            _add(of_value, chances.to(value.dtype).flatten(1, 2).transpose(1, 2) @ row_gradient, key_ranges)
        return of_query, of_key, of_value, None


Seen = tuple[tuple[int, int], ...]


def _blocks(query: Tensor, runs: Sequence[Run]) -> Iterator[tuple[slice, Seen]]:
    """Yield blocks of adjacent queries, each with the ranges of keys that its last query sees.

    The last range ends with the queries themselves.
    """
    heads = query.shape[0] * query.shape[1]
    for run in runs:
        before, start = sum(b - a for a, b in run.sees), run.start
        while start < run.end:
            step = max(1, min(1024, SCORES // (heads * (before + start - run.start + 1024))))
            end = min(run.end, start + step)
            yield slice(start, end), (*run.sees, (run.start, end))
            start = end


def _scores(query: Tensor, key: Tensor, rows: slice, key_ranges: Seen) -> Tensor:
    """Compute attention scores (K, G, rows, keys) in fp32, minus infinity where a query does not see a key.

    No query sees a key of a later query.
    """
    queries, keys = query[:, :, rows], _take(key, key_ranges)
    scores = (queries.flatten(1, 2) @ keys.transpose(1, 2)).float().view(*queries.shape[:3], keys.shape[1])
    count = queries.shape[2]
    later = torch.ones(count, count, dtype=torch.bool, device=query.device).triu(1)
    scores[..., -count:].masked_fill_(later, float("-inf"))
    return scores


def _take(values: Tensor, key_ranges: Seen) -> Tensor:
    parts = [values[:, start:end] for start, end in key_ranges]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _add(into: Tensor, values: Tensor, key_ranges: Seen) -> None:
    at = 0
    for start, end in key_ranges:
        into[:, start:end] += values[:, at : at + end - start]
        at += end - start


def attend_in_runs(query: Tensor, key: Tensor, value: Tensor, runs: Sequence[Run], *, scaling: float) -> Tensor:
    """Attend run by run: query (1, K * G, N, D), key and value (1, K, N, D) -> (1, N, K * G, D)."""
    _, heads, nodes, size = query.shape
    of_keys = key.shape[1]
    grouped_query = (query[0] * scaling).view(of_keys, heads // of_keys, nodes, size)
    output: Tensor = _InRuns.apply(grouped_query, key[0], value[0], runs)  # type: ignore[no-untyped-call]
    return output.reshape(heads, nodes, size).transpose(0, 1)[None]


class _Attend(torch.autograd.Function):
    """Grouped attention of one tree.

    query (K, G * N, D), already scaled; key, value (K, N, D); bias (N, N) in fp32, added to the scores.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        heads, rows, _ = query.shape
        nodes = key.shape[1]
        scores = torch.bmm(query, key.transpose(1, 2)).float().view(heads, -1, nodes, nodes)
        chances = scores.add_(bias).softmax(-1).to(query.dtype).view(heads, rows, nodes)
        ctx.save_for_backward(query, key, value, chances)
        return torch.bmm(chances, value)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        query, key, value, chances = ctx.saved_tensors
        of_value = torch.bmm(chances.transpose(1, 2), gradient)
        of_chances = torch.bmm(gradient, value.transpose(1, 2))
        of_scores = torch._softmax_backward_data(of_chances, chances, -1, chances.dtype)  # noqa: SLF001
        return torch.bmm(of_scores, key), torch.bmm(of_scores.transpose(1, 2), query), of_value, None


def attend(
    _module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    tree_runs: Sequence[Run] | None = None,
    **_other: Any,
) -> tuple[Tensor, None]:
    """Attend as transformers calls it: query (1, K * G, N, D), key and value (1, K, N, D), mask (1, 1, N, N)."""
    low = torch.bfloat16
    if tree_runs is not None:
        return attend_in_runs(query.to(low), key.to(low), value.to(low), tree_runs, scaling=scaling), None
    _, heads, nodes, size = query.shape
    of_keys = key.shape[1]
    output: Tensor = _Attend.apply(  # type: ignore[no-untyped-call]
        (query[0] * scaling).to(low).reshape(of_keys, heads // of_keys * nodes, size),
        key[0].to(low).contiguous(),
        value[0].to(low).contiguous(),
        attention_mask[0, 0].float(),
    )
    return output.view(heads, nodes, size).transpose(0, 1)[None], None


def _sdpa(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    tree_runs: Sequence[Run] | None = None,
    **other: Any,
) -> tuple[Tensor, None]:
    """Call torch's own attention, or ours if `tree_runs` describe a long tree."""
    if tree_runs is not None:
        return attend_in_runs(query, key, value, tree_runs, scaling=scaling), None
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    with sdpa_kernel(KERNELS) if query.is_cuda else nullcontext():
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **other)


def register(*, low: bool) -> str:
    """Register both attentions with transformers; return the name of ours in bf16 (`low`) or of torch's."""
    from transformers import AttentionInterface

    AttentionInterface.register(LOW, attend)
    AttentionInterface.register(SDPA, _sdpa)
    return LOW if low else SDPA
