"""Attention over a tree, forward and backward: torch's kernel against ours, in both precisions.

    python -m benchmarks.training.attention [--nodes 256 443 512 768]

Shapes are SmolLM2-135M's (9 query heads, 3 key heads of 64). The fastest of the calls of half a second counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch

from adhere.train.packed.attention import attend

HEADS, KEYS, SIZE = 9, 3, 64


def fastest(work: Callable[[], object]) -> float:
    """Milliseconds."""
    best, until = float("inf"), time.perf_counter() + 0.5
    while time.perf_counter() < until:
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return 1000 * best


def ours(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> None:
    """Ours, forward and backward."""
    out, _ = attend(None, query, key, value, mask, scaling=SIZE**-0.5)
    out.backward(out.detach())


def theirs(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> None:
    """torch's, forward and backward, as transformers calls it."""
    wide = (part.repeat_interleave(HEADS // KEYS, 1) for part in (key, value))
    out = torch.nn.functional.scaled_dot_product_attention(query, *wide, mask)
    out.backward(out.detach())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[256, 443, 512, 768])
    for nodes in parser.parse_args().nodes:
        sees = torch.rand(nodes, nodes).tril() > 0.3
        sees.fill_diagonal_(fill_value=True)
        for dtype in (torch.float32, torch.bfloat16):
            query, key, value = (
                torch.randn(1, heads, nodes, SIZE, dtype=dtype, requires_grad=True) for heads in (HEADS, KEYS, KEYS)
            )
            mask = torch.zeros(1, 1, nodes, nodes, dtype=dtype).masked_fill_(~sees, torch.finfo(dtype).min)

            work = partial(theirs, query, key, value, mask), partial(ours, query, key, value, mask)
            torch_ms, ours_ms = map(fastest, work)
            print(f"{nodes} nodes, {dtype}: torch {torch_ms:.1f} ms, ours (bf16) {ours_ms:.1f} ms")


if __name__ == "__main__":
    main()
