"""What test_sharding runs in forked processes, so that torch is imported once: stages in two processes against one.

python sharded.py MODEL_DIR OUT [RUN …]: trains with one process and with two, whole, with an adapter, with sharded
weights, every method, and kills and resumes; writes what came of it to OUT/*.pt. Each process computes on a fake device
of its own (`devices`). Not a test itself.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import torch.distributed.fsdp
import torch.distributed.tensor  # each takes a second or more, which every forked process would
from devices import fake_device, shards_at
from msgspec import to_builtins

from adhere.models.local.decoder import server as client
from adhere.models.local.transformers import load_weights
from adhere.schema import PairRow, RlRow, SftRow, convert
from adhere.train import checkpoint
from adhere.train.batch.pairs import item_sums
from adhere.train.batch.rollout import Answer
from adhere.train.budget.ledger import StageLedger, Tally
from adhere.train.checkpoint import keeping
from adhere.train.loop import frozen_copy, learning
from adhere.train.methods.dpo import DpoSettings, dpo
from adhere.train.methods.sft import SftSettings, sft
from adhere.train.packed.lora import attach
from adhere.train.packed.rows import pair_rows
from adhere.train.parallel import is_sharding, place, processes
from adhere.train.settings import Lora
from adhere.train.sharding import whole_state
from adhere.train.stages import STAGES

TEXTS = ["the sea is wide", "no commas here", "the sea is deep and cold", "foxes jump", "lazy dogs sleep all day long"]
SFT_ROWS = [
    SftRow(
        f"p{i}",
        f"Write about thing {i}.",
        text.upper() if i % 2 else text,
        "sampled",
        ("case:upper" if i % 2 else "case:lower",),
        ({},),
    )
    for i, text in enumerate(TEXTS * 2)
]
ROWS = [SftRow(f"p{i}", f"Write about thing {i}.", text, "sampled", (), ()) for i, text in enumerate(TEXTS * 2)]
PAIRS = [
    PairRow(f"p{i}", f"Write about thing {i}.", TEXTS[i % 5], TEXTS[(i + 1) % 5], "repaired", (), ()) for i in range(7)
]
SFT = SftSettings(epochs=2, batch_rows=5, tree_tokens=80, learning_rate=1e-3)  # three micro-batches: one process idles
DPO = DpoSettings(batch_pairs=4, tree_tokens=100, learning_rate=1e-4, gradient_checkpointing=True)


RULE = ("case:lower",), ({},)
PROMPTS = [RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, 0.1 * i, *RULE) for i in range(5)]
ONLINE: dict[str, Any] = {
    "steps": 2,
    "prompts_per_step": 3,
    "answers_per_prompt": 3,
    "max_new_tokens": 5,
    "tree_tokens": 80,
}
PAIRED: dict[str, Any] = {"batch_pairs": 4, "tree_tokens": 100}
METHODS: dict[str, dict[str, Any]] = {
    "sft": {"batch_rows": 5, "epochs": 1, "tree_tokens": 80}, "rft": ONLINE | {"epochs": 1, "batch_rows": 1},
    "continue": {"text": (str(Path(__file__).parent / "plain.txt"),), "tokens": 240, "batch_tokens": 80, "share": 0.5,
        "tree_tokens": 80},
    "dpo": PAIRED, "reward-model": PAIRED | {"epochs": 1, "held_out_share": 0.3},
    "kto": {"batch_items": 6, "tree_tokens": 100},
    "online-dpo": ONLINE, "grpo": ONLINE | {"kl_beta": 0.05, "updates_per_episode": 2}, "rloo": ONLINE,
}  # fmt: skip


def score(_prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    return [(sum(map(ord, answer.text)) % 5) / 4 for answer in answers]


def method(directory: Path, out: Path, name: str, lora: Lora | None = None, folder: Path | None = None) -> None:
    """One stage of any method; its losses and whole weights to `out`."""
    stage = STAGES.get(name)
    asked = {"learning_rate": 1e-5} | METHODS[name]
    if stage.online and client.URL in os.environ:
        asked |= {"generator": "server"}
    model, tokenizer = load_weights(directory)
    if lora is not None:
        attach(model, lora, seed=3)
    rows: Any = {"sft": SFT_ROWS, "pairs": PAIRS, "rl": PROMPTS}[stage.data.split("+")[0]]
    settings = convert(asked, stage.settings)
    online = {"score": score} if stage.online else {}
    with ExitStack() as stack:
        stack.enter_context(fake_device())
        if is_sharding():
            stack.enter_context(shards_at(place().rank))
        else:
            model = model.to(f"meta:{place().rank}")
        if folder is not None:
            stack.enter_context(keeping(folder, every_s=0.0))
        result = stage.run(model, tokenizer, rows, settings, seed=0, **online)
    trained = result.artefact.backbone if result.artefact is not None else model
    state = whole_state(trained)
    if place().is_first:
        torch.save(
            {
                "losses": [row["loss"] for row in result.log],
                "state": state,
                "rows": result.log[-1],
                "ledger": vars_of(result.ledger),
            },
            out,
        )


def referred(directory: Path, out: Path) -> None:
    """What a stage's frozen copy says of pairs, and how many weights of it this process holds."""
    model, tokenizer = load_weights(directory)
    reference = frozen_copy(model)
    with learning(model, DPO, stage="dpo", steps=1):
        sums = item_sums(reference, pair_rows(tokenizer, PAIRS), tree_tokens=100, tally=Tally())
    held = sum(getattr(p, "to_local", lambda p=p: p)().numel() for p in reference.parameters())
    if place().is_first:
        torch.save({"sums": sums, "held": held}, out)


def vars_of(ledger: StageLedger) -> dict[str, Any]:
    """The counts of a ledger."""
    return {
        name: value for name, value in to_builtins(ledger).items() if not name.startswith(("seconds", "peak", "device"))
    }


def trained(directory: Path, out: Path, lora: Lora | None, folder: Path | None) -> None:
    """SFT, then DPO; losses and whole weights to `out`. With a `folder`, SFT keeps a checkpoint of every step there."""
    torch.manual_seed(0)
    model, tokenizer = load_weights(directory)
    if lora is not None:
        attach(model, lora, seed=3)
    if folder is None:
        log = [*sft(model, tokenizer, ROWS, SFT, seed=0).log, *dpo(model, tokenizer, PAIRS, DPO, seed=0).log]
    else:
        with keeping(folder, every_s=0.0):
            log = list(sft(model, tokenizer, ROWS, SFT, seed=0).log)
    parts = sum(getattr(p, "to_local", lambda p=p: p)().numel() for p in model.parameters())
    state = whole_state(model)
    if place().is_first:
        norms = [row["grad_norm"] for row in log]
        torch.save({"losses": [row["loss"] for row in log], "norms": norms, "state": state, "held": parts}, out)


def dying(work: Callable[[], None], after: int) -> Callable[[], None]:
    """`work`, which ends at once, as by `kill -9`, when the checkpoint of so many steps is written."""
    save = checkpoint.Keeper.save_if_due

    def once(self: Any, *given: Any, done: int, **more: Any) -> bool:
        written = save(self, *given, done=done, **more)
        if done == after:
            os._exit(9)
        return written

    def run() -> None:
        setattr(checkpoint.Keeper, "save_if_due", once)  # noqa: B010 - this process is a fork
        work()

    return run


def forked(size: int, work: Callable[[], None], *, shard: bool = True) -> list[int]:
    """Exit codes of so many processes that do `work` together, with sharded weights where there are several."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pids = []
    for rank in range(size):
        pid = os.fork()
        if pid == 0:
            os.environ |= {
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "WORLD_SIZE": str(size),
                "RANK": str(rank),
            }
            try:
                with processes(shard=shard):
                    work()
            except BaseException:  # noqa: BLE001 - the parent is told by the exit code
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def main(directory: Path, out: Path, wanted: Sequence[str]) -> None:
    torch.set_num_threads(1)
    load_weights(directory)  # for what it imports, four seconds in every fork
    runs: Sequence[tuple[str, int, Callable[[], None]]] = [
        ("one-reference", 1, lambda: referred(directory, out / "one-reference.pt")),
        ("two-reference", 2, lambda: referred(directory, out / "two-reference.pt")),
        ("one", 1, lambda: trained(directory, out / "one.pt", None, None)),
        ("two", 2, lambda: trained(directory, out / "two.pt", None, None)),
        ("one-lora", 1, lambda: trained(directory, out / "one-lora.pt", Lora(4, 8.0), None)),
        ("two-lora", 2, lambda: trained(directory, out / "two-lora.pt", Lora(4, 8.0), None)),
        ("whole", 2, lambda: trained(directory, out / "whole.pt", None, out / "whole")),
        ("killed", 2, dying(lambda: trained(directory, out / "killed.pt", None, out / "kept"), 2)),
        ("resumed", 2, lambda: trained(directory, out / "resumed.pt", None, out / "kept")),
    ]
    for each in wanted:
        kind, _, of = each.partition(":")
        if of in METHODS:  # one:grpo, two:grpo, two-lora:grpo, shard:dpo
            where, lora = out / f"{kind}-{of}.pt", Lora(4, 8.0) if "lora" in kind else None
            how = kind.partition("-")[2]
            folder = out / f"kept-{how}{of}" if kind.startswith(("killed", "resumed")) else None

            def work(of: str = of, where: Path = where, lora: Lora | None = lora, folder: Path | None = folder) -> None:
                method(directory, where, of, lora, folder)

            codes = forked(
                1 if kind.startswith("one") else 2,
                dying(work, 1) if kind.startswith("killed") else work,
                shard="shard" in kind,
            )
            sys.stdout.write(" ".join([each, *map(str, codes)]) + "\n")
            sys.stdout.flush()
    for name, size, work in (run for run in runs if not wanted or run[0] in wanted):
        if name == "resumed":
            (out / "at-death.txt").write_text("\n".join(sorted(file.name for file in (out / "kept").iterdir())))
        sys.stdout.write(" ".join([name, *map(str, forked(size, work))]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
