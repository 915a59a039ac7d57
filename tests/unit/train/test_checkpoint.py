"""A stage that is stopped anywhere, and begun again, gives the weights of one that was never disturbed."""

from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch")

from tests.unit.train.conftest import load  # noqa: E402

from adhere.errors import IntegrityError, ResourceError, RunMismatch  # noqa: E402
from adhere.progress import Progress, Silent, Step  # noqa: E402
from adhere.schema import PairRow, RlRow, SftRow  # noqa: E402
from adhere.train.batch.rollout import Answer  # noqa: E402
from adhere.train.checkpoint import FILE, forget, keeping  # noqa: E402
from adhere.train.settings import Merging, with_base  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

TEXTS = ["the sea is wide", "no commas here", "the sea is deep and cold", "foxes jump", "lazy dogs sleep all day long"]
RULE = ("case:lower",), ({},)
SFT = [SftRow(f"p{i}", f"Write about thing {i}.", text, "sampled", *RULE) for i, text in enumerate(TEXTS)]
PAIRS = [
    PairRow(f"p{i}", f"Write about {i}.", a, b, "sampled", (), ()) for i, (a, b) in enumerate(itertools.pairwise(TEXTS))
]
PROMPTS = [RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, 0.1 * i, (), ()) for i in range(4)]
ONLINE = {"steps": 4, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 6, "learning_rate": 1e-3}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sft": ("sft", {"batch_rows": 2, "epochs": 2, "learning_rate": 1e-3}),
    "continue": (
        "continue",
        {"text": (str(Path(__file__).parent / "plain.txt"),), "tokens": 400, "batch_tokens": 60, "learning_rate": 1e-3},
    ),
    "dpo": ("dpo", {"batch_pairs": 1, "learning_rate": 1e-3}),
    "dpo, merging": ("dpo", {"batch_pairs": 1, "learning_rate": 1e-3, "merging": Merging(p=0.5, alpha=0.1)}),
    "kto": ("kto", {"batch_items": 2, "learning_rate": 1e-3}),
    "reward-model": ("reward-model", {"batch_pairs": 1, "epochs": 2, "learning_rate": 1e-3}),
    "online-dpo": ("online-dpo", ONLINE),
    "grpo": ("grpo", ONLINE | {"kl_beta": 0.05, "updates_per_episode": 2}),
    "grpo with replaced groups": ("grpo", ONLINE | {"rounds": 3, "overlong_tokens": 2}),
    "grpo in bf16": ("grpo", ONLINE | {"precision": "bf16", "rollout_precision": "bf16"}),
}


class Stopped(Exception):
    pass


class Stops:
    """Raises when the training of `name` has advanced `after` steps."""

    def __init__(self, name: str, after: int) -> None:
        self.name, self.after = name, after

    def say(self, text: str) -> None:
        pass

    @contextmanager
    def step(self, label: str, total: int | None, unit: str = "") -> Iterator[Step]:
        if label != self.name:
            with Silent().step(label, total, unit) as silent:
                yield silent
        else:
            yield self

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.after -= amount
        if self.after < 0:
            raise Stopped


def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    return [(sum(map(ord, answer.text)) % 5) / 4 for answer in answers]


def run(directory: Path, case: str, progress: Progress | None = None) -> tuple[dict[str, Any], Any]:
    name, settings = CASES[case]
    stage = STAGES.get(name)
    rows: Any = {"sft": SFT, "pairs": PAIRS, "rl": PROMPTS}[stage.data]
    model, tokenizer = load(directory)
    asked = with_base(stage.settings(**settings), directory)
    if asked.merging is not None:
        with torch.no_grad():  # so that there is something that an earlier stage had learned
            model.model.norm.weight.add_(0.1)
    online = {"score": score} if stage.online else {}
    result = stage.run(model, tokenizer, rows, asked, seed=3, progress=progress, **online)
    trained = result.artefact.backbone if result.artefact is not None else model
    return trained.state_dict(), result


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("case", CASES)
def test_stopped_and_taken_up_again_the_weights_are_the_same_bits(
    tiny_llama_dir: Path, tmp_path: Path, case: str
) -> None:
    undisturbed, wanted = run(tiny_llama_dir, case)
    for after in (1, 2):  # stopped twice: the second time after it was taken up once
        with pytest.raises(Stopped), keeping(tmp_path, every_s=0):
            run(tiny_llama_dir, case, Stops(CASES[case][0], after))
    kept = torch.load(tmp_path / FILE, weights_only=True)
    assert kept["done"] == 2
    with keeping(tmp_path, every_s=0):
        weights, result = run(tiny_llama_dir, case)
    assert same(weights, undisturbed)
    timeless = {"seconds": 0.0, "seconds_generating": 0.0, "seconds_scoring": 0.0, "peak_memory_bytes": 0}
    assert msgspec.structs.replace(result.ledger, **timeless) == msgspec.structs.replace(wanted.ledger, **timeless)
    logs = [[{k: v for k, v in row.items() if "memory" not in k} for row in one.log] for one in (result, wanted)]
    assert logs[0] == logs[1]
    assert result.ledger.seconds > kept["seconds"], "what was spent before the stop is counted"


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from adhere.train.checkpoint import keeping
from tests.unit.train import test_checkpoint as t
import torch
torch.set_num_threads(1)
steps = 0
def deadly(prompt_id, answers):
    global steps
    steps += 1
    if steps > 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return t_score(prompt_id, answers)
t_score = t.score
t.score = deadly
with keeping(Path({folder!r}), every_s=0):
    t.run(Path({model!r}), "grpo")
"""


def test_kill_9_and_again(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """A process of its own is really killed, in the middle of its third episode; this one takes it up."""
    undisturbed, _ = run(tiny_llama_dir, "grpo")
    names = {"root": str(Path(__file__).parents[3]), "folder": str(tmp_path / "kept"), "model": str(tiny_llama_dir)}
    code = textwrap.dedent(CHILD).format(**names)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    died = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert torch.load(tmp_path / "kept" / FILE, weights_only=True)["done"] == 2
    with keeping(tmp_path / "kept", every_s=0):
        weights, _ = run(tiny_llama_dir, "grpo")
    assert same(weights, undisturbed)


def test_nothing_is_kept_where_nobody_asked_or_before_it_is_due(tiny_llama_dir: Path, tmp_path: Path) -> None:
    undisturbed, _ = run(tiny_llama_dir, "sft")
    with keeping(tmp_path / "kept"):
        weights, _ = run(tiny_llama_dir, "sft")
    assert same(weights, undisturbed)
    assert not (tmp_path / "kept").exists()


def test_what_cannot_be_taken_up_is_named(tiny_llama_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(Stopped), keeping(tmp_path, every_s=0):
        run(tiny_llama_dir, "sft", Stops("sft", 2))
    with pytest.raises(RunMismatch, match="other settings"), keeping(tmp_path):
        run(tiny_llama_dir, "dpo")
    whole = (tmp_path / FILE).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1  # one bit of a weight or a moment: torch.load does not notice
    torch.load(io.BytesIO(flipped), weights_only=True)
    for damaged in (whole[:1000], bytes(flipped)):
        (tmp_path / FILE).write_bytes(damaged)
        with pytest.raises(IntegrityError, match="Remove it to train this stage from its start"), keeping(tmp_path):
            run(tiny_llama_dir, "sft")
    forget(tmp_path)
    with keeping(tmp_path):
        run(tiny_llama_dir, "sft")


def test_a_full_disk_leaves_the_checkpoint_before(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Stopped), keeping(tmp_path, every_s=0):
        run(tiny_llama_dir, "sft", Stops("sft", 2))
    before = (tmp_path / FILE).read_bytes()

    def full(state: Any, file: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(ResourceError, match="cannot be written"), keeping(tmp_path, every_s=0):
        run(tiny_llama_dir, "sft")
    assert (tmp_path / FILE).read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [FILE]
