"""A stage of ours beside TRL's own trainer: SFT, DPO and a GRPO step on the same model, rows, answers and rewards.

Ratios of one run.

    adhere fetch local/smollm2-135m && python -m benchmarks.training.trainers [--only sft|dpo|grpo] [--model DIR] [--rows N] [--steps N]

Both train the same weights (all but embeddings and head) in fp32 on one thread; seconds are those of the processor, so
that other work on the machine counts little. TRL's side is what a script of ten lines runs: `SFTTrainer`, `DPOTrainer`
and `GRPOTrainer` with their defaults, but for gradient checkpointing, which costs them a third and is off, and
micro-batches of 8 rows. Every optimizer step has all rows, so that both see the same batches; the gradient norms of the
first step are compared, and the benchmark fails where they differ by more than a hundredth. DPO's reference is part of
both: TRL computes it in each step, we once.

GRPO is measured twice. *whole*: each draws its own answers from the same prompts, all of the same length (none may end
early, which would cost TRL more than us: it waits for the longest of a batch). *update*: TRL is handed the answers that
we drew, so answers and rewards are the same. Its first step is left out where there are several: a system that clears
memory as it is touched lets whoever runs first pay for both (a fifth of our step on a virtual machine, nothing of TRL's).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import datasets
import torch
import trl
from benchmarks.sources import ROOT
from transformers import PrinterCallback

from adhere.models.local.decoder import generator
from adhere.models.local.fetch import model_dir
from adhere.models.local.transformers import load_weights
from adhere.schema import PairRow, RlRow, SftRow, decode
from adhere.train.batch import rollout
from adhere.train.methods.dpo import DpoSettings, dpo
from adhere.train.methods.grpo import GrpoSettings, grpo
from adhere.train.methods.sft import SftSettings, sft
from adhere.train.packed.rows import pair_rows, prompt_ids, sft_rows

DATA = ROOT / "examples" / "smoke-data"
RATE = 1e-6
MICRO = 8  # rows of TRL's micro-batches
EACH = 8  # answers a prompt


class Measured(NamedTuple):
    """Processor seconds of a stage (of GRPO: a step), of these for drawing, and the first step's gradient norm."""

    seconds: float
    drawing: float
    norm: float


def reward(text: str) -> float:
    """Any number that a text decides; answers of a group differ in it."""
    return sum(map(ord, text)) % 7 / 6


def read(name: str, row: Any, count: int) -> list[Any]:
    """The first rows of a file, over again where it has fewer."""
    found = [decode(line, row) for line in (DATA / name).read_bytes().splitlines()]
    return [found[index % len(found)] for index in range(count)]


def frozen(model: Any) -> Any:
    """Embeddings and head as our stages leave them."""
    for module in (model.get_input_embeddings(), model.get_output_embeddings()):
        module.requires_grad_(False)  # noqa: FBT003
    return model


def their_options(rows: int, steps: int, folder: str) -> dict[str, Any]:
    """What every trainer of TRL is given: all `rows` in each optimizer step."""
    micro = min(MICRO, rows)
    while rows % micro:
        micro -= 1
    return {
        "output_dir": folder, "use_cpu": True, "bf16": False, "report_to": "none", "disable_tqdm": True, "logging_steps": 1,
        "save_strategy": "no", "gradient_checkpointing": False, "learning_rate": RATE, "lr_scheduler_type": "constant",
        "per_device_train_batch_size": micro, "gradient_accumulation_steps": rows // micro, "max_steps": steps, "seed": 0,
    }  # fmt: skip


def timed(trainer: Any) -> Measured:
    """Train, and say what it took."""
    trainer.remove_callback(PrinterCallback)
    started = time.process_time()
    trainer.train()
    seconds = time.process_time() - started
    return Measured(seconds, 0.0, next(row["grad_norm"] for row in trainer.state.log_history if "grad_norm" in row))


def a_step(draws: Sequence[tuple[float, float]], ended: float, norm: float) -> Measured:
    """The mean step of GRPO, each from the begin of its drawing to that of the next; the first one is left out."""
    counted = draws[1:] or draws
    drawing = sum(end - start for start, end in counted)
    return Measured((ended - counted[0][0]) / len(counted), drawing / len(counted), norm)


def run_sft(directory: Path, rows: int, steps: int, folder: str) -> dict[str, tuple[Measured, Measured]]:
    """SFT on verified answers."""
    model, tokenizer = load_weights(directory)
    data = read("sft.jsonl", SftRow, rows)
    tokens = sft_rows(tokenizer, data)
    settings = SftSettings(epochs=steps, batch_rows=rows, learning_rate=RATE, schedule="constant", warmup_share=0.0, weight_decay=0.0)  # fmt: skip
    started = time.process_time()
    result = sft(model, tokenizer, data, settings, seed=0)
    ours = Measured(time.process_time() - started, 0.0, result.log[0]["grad_norm"] or 0.0)
    texts = [
        {"prompt": tokenizer.decode(row.prompt), "completion": tokenizer.decode(row.completion[:-1])} for row in tokens
    ]
    trainer = trl.SFTTrainer(
        frozen(load_weights(directory)[0]), processing_class=tokenizer, train_dataset=datasets.Dataset.from_list(texts),
        args=trl.SFTConfig(max_length=None, **their_options(rows, steps, folder)),
    )  # fmt: skip
    return {"SFT": (ours, timed(trainer))}


def run_dpo(directory: Path, rows: int, steps: int, folder: str) -> dict[str, tuple[Measured, Measured]]:
    """DPO on pairs, the reference included."""
    model, tokenizer = load_weights(directory)
    data = read("pairs.jsonl", PairRow, rows)
    pairs = pair_rows(tokenizer, data)
    settings = DpoSettings(epochs=steps, batch_pairs=rows, learning_rate=RATE, schedule="constant", warmup_share=0.0, weight_decay=0.0)  # fmt: skip
    started = time.process_time()
    result = dpo(model, tokenizer, data, settings, seed=0)
    ours = Measured(time.process_time() - started, 0.0, result.log[0]["grad_norm"] or 0.0)
    texts = [
        {"prompt": tokenizer.decode(pair.chosen.prompt), "chosen": tokenizer.decode(pair.chosen.completion[:-1]),
         "rejected": tokenizer.decode(pair.rejected.completion[:-1])}
        for pair in pairs
    ]  # fmt: skip
    trainer = trl.DPOTrainer(
        frozen(load_weights(directory)[0]), ref_model=load_weights(directory)[0], processing_class=tokenizer,
        train_dataset=datasets.Dataset.from_list(texts),
        args=trl.DPOConfig(beta=settings.beta, max_length=None, **their_options(rows, steps, folder)),
    )  # fmt: skip
    return {"DPO": (ours, timed(trainer))}


@contextmanager
def noted() -> Iterator[tuple[list[rollout.Group], list[tuple[float, float]]]]:
    """The groups that our sampler draws, and the processor's time around each draw; no answer ends before its length."""
    drawn: list[rollout.Group] = []
    taken: list[tuple[float, float]] = []
    draw, ends = rollout.Sampler.draw, generator.end_ids

    def noting(self: rollout.Sampler, rows: Sequence[RlRow], *, step: int, again: int = 0) -> list[rollout.Group]:
        started = time.process_time()  # the ledger's seconds are the clock's, which other work on the machine lengthens
        groups = draw(self, rows, step=step, again=again)
        taken.append((started, time.process_time()))
        drawn.extend(groups)
        return groups

    setattr(rollout.Sampler, "draw", noting)  # noqa: B010 - mypy refuses the assignment
    setattr(generator, "end_ids", lambda *_: ())  # noqa: B010
    try:
        yield drawn, taken
    finally:
        setattr(rollout.Sampler, "draw", draw)  # noqa: B010
        setattr(generator, "end_ids", ends)  # noqa: B010


def run_grpo(
    directory: Path, rows: int, steps: int, folder: str, *, tokens: int
) -> dict[str, tuple[Measured, Measured]]:
    """GRPO steps of `rows` answers, EACH a prompt: whole, and the update alone."""
    prompts = max(1, rows // EACH)
    model, tokenizer = load_weights(directory)
    texts = dict.fromkeys(row.prompt for row in read("rl.jsonl", RlRow, 48))
    rl = [RlRow(f"p{i}", text, EACH, 0.5, 0.1, ("case:lower",), ({},)) for i, text in enumerate(texts)][
        : prompts * steps
    ]
    if len(rl) < prompts * steps:
        sys.exit(f"--rows {rows} --steps {steps}: there are {len(rl)} prompts. Ask for fewer")
    settings = GrpoSettings(
        steps=steps, prompts_per_step=prompts, answers_per_prompt=EACH, max_new_tokens=tokens, learning_rate=RATE,
        precision="fp32", rollout_precision="fp32",
    )  # fmt: skip
    with noted() as (groups, draws):
        result = grpo(
            model, tokenizer, rl, settings, seed=0,
            score=lambda _, answers: [reward(answer.text) for answer in answers],
        )  # fmt: skip
    ours = a_step(draws, time.process_time(), result.log[0]["grad_norm"] or 0.0)
    by_name = {row.prompt_id: row for row in rl}
    order = [by_name[group.prompt_id] for group in groups]
    answers = {
        tuple(prompt_ids(tokenizer, by_name[group.prompt_id].prompt)): [
            list(one.row.completion) for one in group.answers
        ]
        for group in groups
    }
    theirs = {
        name: their_grpo(directory, tokenizer, order, answers if name == "update" else None, tokens=tokens,
                         options=their_options(prompts * EACH, steps, folder))
        for name in ("whole", "update")
    }  # fmt: skip
    update = Measured(ours.seconds - ours.drawing, 0.0, ours.norm)
    return {"GRPO, whole": (ours, theirs["whole"]), "GRPO, update": (update, theirs["update"])}


def their_grpo(
    directory: Path,
    tokenizer: Any,
    order: Sequence[RlRow],
    answers: dict[tuple[int, ...], list[list[int]]] | None,
    *,
    tokens: int,
    options: dict[str, Any],
) -> Measured:
    """TRL's GRPO; with `answers` it draws none, but takes these."""
    data = [{"prompt": tokenizer.decode(prompt_ids(tokenizer, row.prompt))} for row in order]
    trainer = trl.GRPOTrainer(
        frozen(load_weights(directory)[0]),
        reward_funcs=lambda completions, **_: [reward(text) for text in completions],
        processing_class=tokenizer,
        train_dataset=datasets.Dataset.from_list(data),
        args=trl.GRPOConfig(
            num_generations=EACH, max_completion_length=tokens, beta=0.0, temperature=1.0, shuffle_dataset=False,
            generation_kwargs={"min_new_tokens": tokens}, **options,
        ),
    )  # fmt: skip
    draw: Callable[..., Any] = trainer._generate_single_turn  # noqa: SLF001 - the only place where answers can be handed in
    draws: list[tuple[float, float]] = []

    def generate(prompts: list[list[int]], *given: Any, **more: Any) -> Any:
        started = time.process_time()
        if answers is None:
            found = draw(prompts, *given, **more)
        else:
            found = [answers[tuple(prompt)][index % EACH] for index, prompt in enumerate(prompts)], None
        draws.append((started, time.process_time()))
        return found

    setattr(trainer, "_generate_single_turn", generate)  # noqa: B010
    norm = timed(trainer).norm
    return a_step(draws, time.process_time(), norm)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["sft", "dpo", "grpo"])
    parser.add_argument("--model", type=Path, help="a directory of safetensors [local/smollm2-135m]")
    parser.add_argument("--rows", type=int, default=32, help="rows, pairs or answers an optimizer step [32]")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64, help="of every GRPO answer [64]")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    datasets.disable_progress_bars()
    logging.getLogger("trl").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    directory = asked.model or model_dir("local/smollm2-135m")
    found: dict[str, tuple[Measured, Measured]] = {}
    with tempfile.TemporaryDirectory() as folder:
        if asked.only in {None, "sft"}:
            found |= run_sft(directory, asked.rows, asked.steps, folder)
        if asked.only in {None, "dpo"}:
            found |= run_dpo(directory, asked.rows, asked.steps, folder)
        if asked.only in {None, "grpo"}:
            found |= run_grpo(directory, asked.rows, asked.steps, folder, tokens=asked.tokens)
    if asked.json:
        print(json.dumps({name: {"ours": a._asdict(), "theirs": b._asdict()} for name, (a, b) in found.items()}))
    else:
        print(
            f"TRL {trl.__version__}, torch {torch.__version__}, one thread, {asked.rows} rows × {asked.steps} steps\n"
        )
        print(f"{'':14} {'ours s':>8} {'TRL s':>8} {'ratio':>6}   of which drawing")
        for name, (ours, theirs) in found.items():
            drawing = f"{ours.drawing:.1f} / {theirs.drawing:.1f}" if ours.drawing else ""
            print(
                f"{name:14} {ours.seconds:8.1f} {theirs.seconds:8.1f} {theirs.seconds / ours.seconds:6.2f}   {drawing}"
            )
    odd = [
        f"{name}: {ours.norm:.5f} against {theirs.norm:.5f}"
        for name, (ours, theirs) in found.items()
        if name != "GRPO, whole" and abs(ours.norm - theirs.norm) > 0.01 * theirs.norm
    ]
    if odd:
        sys.exit(f"The gradients of the first step differ ({'; '.join(odd)}): the two did not compute the same")


if __name__ == "__main__":
    main()
