"""What bf16 buys on this machine: an SFT step and rollouts at 128 rows, in both precisions, as ratios of one run.

    adhere fetch local/smollm2-135m && python -m benchmarks.training.engine [--repeats 3] [--prompts 128] [--each 1] [--only train|rollouts] [--threads 1]

The SFT step has 8 rows of 606 tokens in all (prompts, answers, system message), optimizer included. Rollouts are
sampled answers of at most 64 tokens, of which answers' tokens count: to different prompts, or `--each 8` to every
prompt, as in RL. Variants take turns and the fastest of N repeats counts, because other work on the machine only ever
slows one down. On a busy machine use `--threads 1`, which counts seconds of the processor and not of the clock (threads
that wait for each other burn processor time too).
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # as the command line does; before torch is imported

import torch

from adhere.models.chat import render
from adhere.models.local.decoder.decode import Decoder, DecodeRow
from adhere.models.local.decoder.precision import resolve
from adhere.models.local.fetch import model_dir
from adhere.models.local.transformers import load_weights
from adhere.schema import Message
from adhere.suites.generated.core.training import training_prompts
from adhere.train.loop import learning
from adhere.train.methods.sft import sft_loss
from adhere.train.packed.pack import TokenRow, cut
from adhere.train.settings import OptimizerSettings


def clock() -> float:
    """Seconds: of the processor where one thread works, else of the clock."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


ROWS, TOKENS, SYSTEM, LIMIT = 8, 606, 22, 64


def sft_rows() -> list[TokenRow]:
    """8 rows of 606 tokens: random tokens after a common beginning, answers of 28 to 42."""
    rng = random.Random(0)
    system = [rng.randrange(3, 40_000) for _ in range(SYSTEM)]
    rows = []
    for index in range(ROWS):
        length = (TOKENS - ROWS * SYSTEM) // ROWS + (index < (TOKENS - ROWS * SYSTEM) % ROWS)
        own = [rng.randrange(3, 40_000) for _ in range(length)]
        answer = 28 + 2 * index
        rows.append(TokenRow((*system, *own[:-answer]), tuple(own[-answer:])))
    return rows


def turns(work: dict[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """The least each says, taking turns."""
    best = dict.fromkeys(work, float("inf"))
    for _ in range(repeats):
        for name, one in work.items():
            best[name] = min(best[name], one())
    return best


def train(model: Any, repeats: int) -> None:
    """Seconds of one optimizer step."""
    rows = sft_rows()
    completions = sum(len(row.completion) for row in rows)

    def step(precision: Any) -> float:
        settings = OptimizerSettings(learning_rate=1e-9, precision=precision)
        with learning(model, settings, stage="benchmark", steps=1) as learner:
            started = clock()
            parts = cut([[row] for row in rows], tree_tokens=settings.tree_tokens)
            learner.update(parts, lambda part: sft_loss(model, part, tokens=completions, precision=precision))
            return clock() - started

    best = turns({name: lambda name=name: step(name) for name in ("fp32", "bf16")}, repeats + 1)
    tree = sum(len(part.tree) for part in cut([[row] for row in rows], tree_tokens=512))
    for name, seconds in best.items():
        print(
            f"SFT step of {ROWS} rows, {TOKENS} tokens ({tree} in trees): {name} {seconds:.2f} s, "
            f"{TOKENS / seconds:.0f} tokens/s"
        )
    print(f"training in bf16: {best['fp32'] / best['bf16']:.2f} times fp32", flush=True)


def rollouts(model: Any, tokenizer: Any, given: argparse.Namespace, layout: Any) -> None:
    """Seconds of drawing `prompts` answers, `each` to one prompt."""
    prompts, each = given.prompts, given.each
    asked = [
        DecodeRow(tuple(render(tokenizer, [Message("user", prompt.text)])), each * place + draw)
        for place, prompt in enumerate(training_prompts(seed=0, count=prompts // each))
        for draw in range(each)
    ]
    useful: dict[str, int] = {}

    def draw(precision: Any) -> float:
        laid_out = layout if precision == "bf16" else "columns"  # as a study does
        decoder = Decoder(model, end_ids=[tokenizer.eos_token_id], rows=128, precision=precision, layout=laid_out)
        started = clock()
        out = decoder.decode(asked, max_new_tokens=LIMIT, temperature=1.0)
        seconds = clock() - started
        useful[precision] = sum(len(one.drawn) for one in out)
        return seconds / useful[precision]

    best = turns({name: lambda name=name: draw(name) for name in ("fp32", "bf16")}, given.repeats)
    for name, seconds in best.items():
        print(
            f"rollouts at 128 rows, {prompts} answers, {each} a prompt: {name} {1 / seconds:.0f} tokens/s "
            f"({useful[name]} tokens)"
        )
    print(f"rollouts in bf16: {best['fp32'] / best['bf16']:.2f} times fp32", flush=True)


def main() -> None:
    """Probe, train, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=128)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--only", choices=["train", "rollouts"])
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.threads is not None:
        torch.set_num_threads(given.threads)
    directory = model_dir("local/smollm2-135m")
    found = resolve("auto", directory)
    print(f"probe: training {found.training}, rollouts {found.rollouts} by {found.layout}; {found.reason}")
    print("       " + ", ".join(f"{name} {value:.2f} ms" for name, value in found.measured.items()), flush=True)
    model, tokenizer = load_weights(directory)
    if given.only != "rollouts":
        train(model, given.repeats)
    if given.only != "train":
        rollouts(model, tokenizer, given, found.layout)


if __name__ == "__main__":
    main()
