"""Forward and backward of every stage's rows: padded batches of 16 against prefix trees, by attention and tree size.

    python -m benchmarks.training.trees MODEL_DIR [--rows sft|pairs|groups] [--repeats N] [--quick]

MODEL_DIR is any causal LM (`adhere fetch local/smollm2-135m` prints one). Rows are random tokens of realistic lengths:
prompts of about 45 tokens of which 22 are shared by all (template and system message), answers of 5 to 64 (mean 35).
Variants take turns and the fastest of N repeats counts, because other work on the machine only ever slows one down.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from adhere.train.packed.pack import TokenRow, cut, log_probs

Item = list[TokenRow]
SYSTEM_TOKENS, VOCABULARY = 22, 40_000


def draw_tokens(rng: random.Random, mean: int, spread: int, low: int, high: int) -> tuple[int, ...]:
    """Random tokens of a normally distributed length."""
    length = min(high, max(low, round(rng.gauss(mean, spread))))
    return tuple(rng.randrange(3, VOCABULARY) for _ in range(length))


def draw_items(prompts: int, answers: int) -> list[Item]:
    """`prompts` items of `answers` rows each."""
    rng = random.Random(0)
    system = tuple(rng.randrange(3, VOCABULARY) for _ in range(SYSTEM_TOKENS))
    items = []
    for _ in range(prompts):
        prompt = system + draw_tokens(rng, 23, 6, 8, 50)
        items.append([TokenRow(prompt, draw_tokens(rng, 35, 14, 5, 64)) for _ in range(answers)])
    return items


def padded_pass(model: Any, rows: Sequence[TokenRow]) -> int:
    """Forward and backward over one padded batch, logits on completions only; the tokens computed, padding included."""
    width = max(len(row.prompt) + len(row.completion) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask, trained = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    for place, row in enumerate(rows):
        tokens = row.prompt + row.completion
        ids[place, : len(tokens)] = torch.tensor(tokens)
        mask[place, : len(tokens)] = 1
        trained[place, len(row.prompt) - 1 : len(tokens) - 1] = True
    hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state[trained]
    targets = ids.roll(-1, dims=1)[trained]
    torch.nn.functional.cross_entropy(model.lm_head(hidden), targets).backward()
    return ids.numel()


def plain(model: Any, items: Sequence[Item]) -> int:
    """The transformers way: padded batches of 16 rows, pairs and groups side by side."""
    rows = [row for item in items for row in item]
    return sum(padded_pass(model, rows[start : start + 16]) for start in range(0, len(rows), 16))


def trees(model: Any, items: Sequence[Item], tree_tokens: int) -> int:
    """Our way: prefix trees of at most `tree_tokens`."""
    parts = cut(items, tree_tokens=tree_tokens)
    for part in parts:
        (-log_probs(model, part.tree).mean()).backward()
    return sum(len(part.tree) for part in parts)


def scored(model: Any, items: Sequence[Item], tree_tokens: int) -> int:
    """Prefix trees forward only, as for reference log-probs."""
    parts = cut(items, tree_tokens=tree_tokens)
    with torch.no_grad():
        for part in parts:
            log_probs(model, part.tree)
    return sum(len(part.tree) for part in parts)


def variants(model: Any, items: list[Item], sizes: Sequence[int]) -> dict[str, Callable[[], int]]:
    """Name to a pass over all items that returns the tokens it computed. Attention is set by the name."""
    made: dict[str, Callable[[], int]] = {}
    for attention in ("eager", "sdpa"):
        made[f"padded 16 rows, {attention}"] = lambda: plain(model, items)
        for size in sizes if attention == "sdpa" else (512,):
            made[f"tree {size}, {attention}"] = lambda size=size: trees(model, items, size)
    made["tree 512 without gradient, sdpa"] = lambda: scored(model, items, 512)
    return made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rows", choices=["sft", "pairs", "groups"], default="sft")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="fewer tree sizes")
    given = parser.parse_args()
    torch.set_num_threads(2)
    model = AutoModelForCausalLM.from_pretrained(given.model, dtype=torch.float32).train(mode=False)
    model.get_input_embeddings().requires_grad_(requires_grad=False)
    items = {"sft": lambda: draw_items(32, 1), "pairs": lambda: draw_items(8, 2), "groups": lambda: draw_items(3, 8)}
    data = items[given.rows]()
    passes = variants(model, data, (512, 768) if given.quick else (256, 384, 512, 640, 768))
    best: dict[str, tuple[float, int]] = {}
    for _ in range(given.repeats):
        for name, run in passes.items():
            model.set_attn_implementation(name.rsplit(" ", 1)[1])
            started = time.perf_counter()
            tokens = run()
            seconds = time.perf_counter() - started
            model.zero_grad(set_to_none=True)
            best[name] = min(best.get(name, (seconds, tokens)), (seconds, tokens))
            print(f"  {name}: {seconds:.2f} s", file=sys.stderr, flush=True)
    rows = sum(map(len, data))
    print(f"{len(data)} items, {rows} rows")
    print(f"{'variant':34} {'tokens':>7} {'seconds':>8} {'rows/s':>7} {'items/s':>8} {'tokens/s':>9}")
    for name, (seconds, tokens) in best.items():
        print(
            f"{name:34} {tokens:7} {seconds:8.2f} {rows / seconds:7.2f} {len(data) / seconds:8.2f} "
            f"{tokens / seconds:9.0f}"
        )
    print(f"peak memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
