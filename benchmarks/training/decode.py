"""Useful tokens per second of the decoder, `model.generate` and OpenVINO on the embedded model.

    adhere fetch local/smollm2-135m && python -m benchmarks.training.decode [--prompts 256] [--rows 64 128] [--only decoder] [--threads 1]

*Useful* tokens are those of answers, end token included: what `generate` computes for rows that have ended counts for
nothing. Each line says how many cores everything else on the machine kept busy meanwhile; above 0.1, believe only the
tokens per second of processor time, and those only with `--threads 1`: threads that wait for each other burn time too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIMIT = 64
BATCH = 64


@contextmanager
def watch() -> Iterator[dict[str, float]]:
    """Seconds, and the cores that other processes kept busy."""
    result: dict[str, float] = {}
    wall, own, busy = time.perf_counter(), time.process_time(), _busy_s()
    yield result
    result["seconds"], result["processor"] = time.perf_counter() - wall, time.process_time() - own
    result["others"] = max(0.0, (_busy_s() - busy - (time.process_time() - own)) / result["seconds"])


def _busy_s() -> float:
    stat = Path("/proc/stat")
    if not stat.exists():
        return float("nan")
    user, nice, system, _, _, irq, softirq, *_ = map(int, stat.read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + softirq) / 100


def report(name: str, tokens: int, answers: int, result: dict[str, float]) -> tuple[float, float]:
    """Print one line; tokens per second of the clock and of the processor."""
    rates = tokens / result["seconds"], tokens / result["processor"]
    print(
        f"{name:46} {rates[0]:6.0f} tokens/s  {rates[1]:6.0f} tokens/s of processor time  {result['seconds']:6.1f} s"
        f"  {tokens / answers:5.1f} tokens an answer  others {result['others']:.2f} cores",
        flush=True,
    )
    return rates


def generate(model: Any, prompts: list[list[int]], *, end: int | None, temperature: float = 0.0) -> int:
    """What people do: left-padded batches of 64, longest first; the useful tokens."""
    import torch

    useful = 0
    ordered = sorted(prompts, key=len, reverse=True)
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        width = len(batch[0])
        ids = torch.tensor([[0] * (width - len(one)) + one for one in batch])
        mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in batch])
        settings: dict[str, Any] = {"do_sample": temperature > 0, "max_new_tokens": LIMIT, "pad_token_id": 0}
        if temperature > 0:
            settings |= {"temperature": temperature, "top_k": 0, "top_p": 1.0}
        settings |= {"min_new_tokens": LIMIT} if end is None else {"eos_token_id": end}
        with torch.no_grad():
            out = model.generate(ids, attention_mask=mask, **settings)[:, width:].tolist()
        useful += sum(row.index(end) + 1 if end in row else len(row) for row in out)
    return useful


def decode(model: Any, prompts: list[list[int]], *, rows: int, end: int | None, temperature: float = 0.0) -> int:
    """Our decoder; the useful tokens."""
    from adhere.models.local.decoder.decode import Decoder, DecodeRow

    decoder = Decoder(model, end_ids=[] if end is None else [end], rows=rows)
    asked = [DecodeRow(tuple(ids), seed) for seed, ids in enumerate(prompts)]
    out = decoder.decode(asked, max_new_tokens=LIMIT, temperature=temperature)
    return sum(len(one.ids) + one.stopped for one in out)


def openvino(texts: list[str], threads: int | None) -> tuple[int, dict[str, float]]:
    """OpenVINO on the same prompts; the useful tokens and what they took, loading not counted."""
    import asyncio

    from adhere.models.base import Request
    from adhere.models.catalog import open_model
    from adhere.schema import Message, Response, Sampling

    model = open_model("local/smollm2-135m", engine="openvino", threads=threads)

    async def ask() -> list[Response]:
        requests = [Request(str(n), 0, 0, (Message("user", text),), n) for n, text in enumerate(texts)]
        return [answer async for answer in model.respond(requests, Sampling(max_new_tokens=LIMIT))]

    with watch() as result:
        answers = asyncio.run(ask())
    return sum(a.usage.completion_tokens or 0 for a in answers), result


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=256)
    parser.add_argument("--rows", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--only", choices=["decoder", "openvino"])
    parser.add_argument("--work", nargs="+", default=["different", "eight", "fixed"])
    parser.add_argument("--threads", type=int)
    chosen = parser.parse_args()

    import torch

    from adhere.models.chat import render
    from adhere.models.local.fetch import model_dir
    from adhere.models.local.quiet import quiet
    from adhere.models.local.transformers import load_weights
    from adhere.schema import Message
    from adhere.suites.generated.core.training import training_prompts

    if chosen.threads is not None:
        torch.set_num_threads(chosen.threads)
    texts = [prompt.text for prompt in training_prompts(seed=0, count=chosen.prompts)]
    model, tokenizer = load_weights(model_dir("local/smollm2-135m"))
    prompts = [render(tokenizer, [Message("user", text)]) for text in texts]
    end = tokenizer.eos_token_id
    eighths = [ids for ids in prompts[: chosen.prompts // 8] for _ in range(8)]
    print(f"{len(prompts)} prompts, {sum(map(len, prompts)) / len(prompts):.1f} tokens each, {LIMIT} new at most, fp32")
    works: dict[str, tuple[str, list[list[int]], int | None, float]] = {
        "different": ("different prompts, greedy", prompts, end, 0.0),
        "eight": ("8 answers a prompt, sampled", eighths, end, 1.0),
        "fixed": (f"fixed {LIMIT} tokens, greedy", prompts[: chosen.prompts // 2], None, 0.0),
    }
    for name in [] if chosen.only == "openvino" else chosen.work:
        label, ids, stop, temperature = works[name]
        base = None
        if chosen.only is None:
            with quiet(), watch() as result:
                useful = generate(model, ids, end=stop, temperature=temperature)
            base = report(f"{label}: generate, batch {BATCH}", useful, len(ids), result)
        for rows in chosen.rows:
            with watch() as result:
                useful = decode(model, ids, rows=rows, end=stop, temperature=temperature)
            rates = report(f"{label}: decoder, {rows} rows", useful, len(ids), result)
            if base:
                print(f"{'':46} {rates[0] / base[0]:6.2f} times generate; by processor time {rates[1] / base[1]:.2f}")
    if chosen.only != "decoder":
        useful, result = openvino(texts, chosen.threads)
        report("different prompts, greedy: OpenVINO", useful, len(texts), result)


if __name__ == "__main__":
    main()
