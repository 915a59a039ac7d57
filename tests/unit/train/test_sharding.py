"""Weights cut over two processes (FSDP2 with gloo).

The losses and weights of one process, checkpoints, exact resume, adapters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.train.devices import fake_device  # noqa: E402
from tests.unit.train.stand_in import serving  # noqa: E402

from adhere.errors import IntegrityError, UsageError  # noqa: E402
from adhere.models.local.decoder import server as client  # noqa: E402
from adhere.models.local.transformers import load_weights  # noqa: E402
from adhere.schema import SftRow  # noqa: E402
from adhere.train import parallel  # noqa: E402
from adhere.train.batch.rollout import Sampler  # noqa: E402
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings  # noqa: E402
from adhere.train.methods.sft import SftSettings, sft  # noqa: E402
from adhere.train.parallel import agree, share  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.run import run_recipe  # noqa: E402
from adhere.train.settings import Merging  # noqa: E402
from adhere.train.stage.memory import SMOLLM2_135M, memory_of  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

DATA = Path(__file__).parents[3] / "examples" / "smoke-data"
RECIPE = """
[[stages]]
stage = "sft"
settings = { epochs = 1, tree_tokens = 128, learning_rate = 1e-4 }
[[stages]]
stage = "dpo"
settings = { tree_tokens = 128, gradient_checkpointing = true }
"""


def write(folder: Path, name: str, stages: str = RECIPE, more: str = "") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(
        f'name = "r"\nstart = "random/2m"\ndata = {str(DATA)!r}\nprecision = "fp32"\nguards = "warn"\n{more}\n{stages}'
    )
    return file


def losses(out: Path) -> list[float]:
    return [row["loss"] for row in map(json.loads, (out / "log.jsonl").read_text().splitlines())]


def weights(out: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(str(out / "model" / "model.safetensors"))


def assert_close(one: Path, two: Path) -> None:
    assert len(losses(one)) > 2
    assert losses(one) == pytest.approx(losses(two), rel=1e-4)
    mine, theirs = weights(one), weights(two)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert torch.allclose(value, theirs[name], atol=2e-4), name


def forked(model: Path, out: Path, *names: str) -> dict[str, set[str]]:
    """Runs of `sharded.py`; by name, the exit codes of its processes."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("sharded.py")), str(model), str(out), *names],
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},  # its devices are fakes on the CPU
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    codes = {name: set(rest) for name, *rest in (line.split() for line in ran.stdout.splitlines())}
    assert all(each == ({"9"} if name.startswith("killed") else {"0"}) for name, each in codes.items()), ran.stderr
    return codes


KILLED, DRAWN = ("dpo", "one", "shard"), ("grpo", "one-lora", "two-lora")  # by default; the slow tests kill all


def kinds_of(*runs: tuple[str, str, str]) -> list[str]:
    """Of each (method, way of one process, way of two): undisturbed, killed and resumed."""
    return [f"{each}:{name}" for name, one, two in runs for each in (one, two, f"killed-{two}", f"resumed-{two}")]


@pytest.fixture(scope="module")
def done(tiny_llama_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process and two left, whole and with an adapter; one Python imports torch for all of them."""
    out = tmp_path_factory.mktemp("sharded")
    kinds = ["one", "two", "one-lora", "two-lora", "one-reference", "two-reference", *kinds_of(KILLED)]
    kinds += [f"{way}:{DRAWN[0]}" for way in DRAWN[1:]]
    assert len(forked(tiny_llama_dir, out, *kinds)) == len(kinds)
    return out


@pytest.mark.parametrize("kind", ["", "-lora"])
def test_two_processes_with_half_the_weights_each_train_as_one(done: Path, kind: str) -> None:
    """SFT and DPO, DPO with gradient checkpointing.

    Where a batch has an odd number of micro-batches, one process idles.
    """
    one, two = (torch.load(done / f"{name}{kind}.pt") for name in ("one", "two"))
    assert len(one["losses"]) == 6
    assert one["losses"] == pytest.approx(two["losses"], rel=1e-4)
    assert one["norms"] == pytest.approx(two["norms"], rel=1e-3)
    assert two["held"] < 0.55 * one["held"]
    assert one["state"].keys() == two["state"].keys()
    for name, value in one["state"].items():
        assert torch.allclose(value, two["state"][name], atol=2e-4), name


METHODS = sorted(set(STAGES) - {"more-sft"})
WHOLE = {"reward-model"}  # refused with sharded weights, see below


def assert_same(out: Path, one: str, two: str, name: str) -> None:
    """Losses, counts and weights of one process, up to the order of sums."""
    first, second = (torch.load(out / f"{kind}-{name}.pt") for kind in (one, two))
    assert [a is None for a in first["losses"]] == [b is None for b in second["losses"]], (two, name)
    known = [(a, b) for a, b in zip(first["losses"], second["losses"], strict=True) if a is not None]
    assert known, (two, name)
    assert [a for a, _ in known] == pytest.approx([b for _, b in known], rel=1e-3, abs=1e-6), (two, name)
    assert first["ledger"] == second["ledger"], (two, name)
    for weight, value in first["state"].items():
        assert torch.allclose(value, second["state"][weight], atol=1e-4), (two, name, weight)


def assert_resumed(out: Path, kind: str, name: str) -> None:
    """Killed after its first step and taken up again: the bits of a run that nobody disturbed."""
    whole, resumed = (torch.load(out / f"{each}-{name}.pt") for each in (kind, f"resumed-{kind}"))
    assert whole["losses"] == resumed["losses"], (kind, name)
    assert whole["ledger"] == resumed["ledger"], (kind, name)
    assert all(torch.equal(value, resumed["state"][key]) for key, value in whole["state"].items()), (kind, name)


def ran(model: Path, out: Path, *runs: tuple[str, str, str]) -> None:
    """Each (method, way of one process, way of two), such as (dpo, one, shard)."""
    kinds = kinds_of(*runs)
    assert len(forked(model, out, *kinds)) == len(kinds)
    assert_alike(out, *runs)


def assert_alike(out: Path, *runs: tuple[str, str, str]) -> None:
    for name, one, two in runs:
        assert_same(out, one, two, name)
        assert_resumed(out, two, name)


def test_methods_in_two_processes_do_what_one_does(done: Path) -> None:
    """Each process computes on a fake device of its own.

    A tensor of the CPU or of the other's that gets in fails (`devices`). Drawing, judging and reference passes are
    divided, so equal losses and counts say that what was gathered is whole and in order.
    """
    assert_alike(done, KILLED)
    assert_same(done, *DRAWN[1:], DRAWN[0])


@pytest.mark.slow
@pytest.mark.parametrize(("one", "two"), [("one", "two"), ("one-lora", "two-lora")], ids=["full", "lora"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method(tiny_llama_dir: Path, tmp_path: Path, name: str, one: str, two: str) -> None:
    ran(tiny_llama_dir, tmp_path, (name, one, two))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in WHOLE])
def test_every_method_with_sharded_weights(
    tiny_llama_dir: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Online stages draw from a server.

    Policy, and reference where there is one, are cut over two processes, whole and with an adapter.
    """
    with serving(tiny_llama_dir) as stand_in:
        monkeypatch.setenv(client.URL, stand_in.url)
        monkeypatch.setenv(client.WEIGHTS, str(tmp_path / "shared"))
        ran(tiny_llama_dir, tmp_path, (name, "one", "shard"), (name, "one-lora", "shard-lora"))


def test_a_fake_device_refuses_what_a_gpu_would() -> None:
    with fake_device():
        layer = torch.nn.Linear(3, 2).to("meta:1")
        here, there = torch.ones(1, 3), torch.ones(1, 3, device="meta:1")
        layer(there).sum().backward()
        assert layer.weight.grad.tolist() == [[1.0] * 3] * 2
        with pytest.raises(AssertionError, match="meets one of the CPU"):
            layer(here)
        with pytest.raises(AssertionError, match="tensors of"):
            there + torch.ones(1, 3, device="meta:0")
        with pytest.raises(AssertionError, match=r"numpy\(\)"):
            there.numpy()
        assert layer(here.to(there.device)).cpu().shape == (1, 2)


def test_a_frozen_copy_is_cut_over_the_processes_too(done: Path) -> None:
    """It was left where the weights were loaded, on the CPU, and whole."""
    one, two = (torch.load(done / f"{name}-reference.pt") for name in ("one", "two"))
    assert two["held"] < 0.55 * one["held"]
    for mine, theirs in zip(one["sums"], two["sums"], strict=True):
        assert mine == pytest.approx(theirs, rel=1e-4)


def test_processes_that_work_on_other_rows_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "place", lambda: parallel.Place(0, 2))
    monkeypatch.setattr(parallel, "gather", lambda values: [*values, "another"])
    with pytest.raises(IntegrityError, match="do not work on the same rows"):
        parallel.divide([1, 2], str, same=["a", "b"])


@pytest.mark.slow
def test_killed_with_sharded_checkpoints_it_ends_with_the_same_weights(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """Each process writes its own part; a checkpoint counts when all have. The same weights and losses, bit for bit."""
    out = tmp_path
    assert len(forked(tiny_llama_dir, out, "whole", "killed", "resumed")) == 3
    assert (out / "at-death.txt").read_text().split() == ["checkpoint-2-0of2.pt", "checkpoint-2-1of2.pt", "latest"]
    whole, resumed = torch.load(out / "whole.pt"), torch.load(out / "resumed.pt")
    assert whole["losses"] == resumed["losses"]
    assert all(torch.equal(value, resumed["state"][name]) for name, value in whole["state"].items())


def test_what_needs_whole_weights_is_refused(tmp_path: Path, tiny_llama_dir: Path) -> None:
    merging = Merging(p=0.5, alpha=0.1, base=str(tiny_llama_dir))
    token = parallel._sharding.set(True)
    try:
        model, tokenizer = load_weights(tiny_llama_dir)
        with pytest.raises(UsageError, match="online merging needs whole matrices"):
            sft(
                model,
                tokenizer,
                [SftRow("p", "Write.", "yes", "sampled", (), ())],
                SftSettings(merging=merging),
                seed=0,
            )
        with pytest.raises(UsageError, match="reads whole weights"):
            Sampler(model, tokenizer, GrpoSettings(), score=lambda *_: [], seed=0, tally=Tally())
        recipe = Recipe("r", (StageSpec("reward-model"),), start="random/2m", data=str(DATA), precision="fp32")
        with pytest.raises(UsageError, match="reward-model is not trained with sharded weights"):
            run_recipe(recipe, tmp_path, base=Path())
    finally:
        parallel._sharding.reset(token)


@pytest.mark.slow
@pytest.mark.parametrize(
    "launch",
    [
        ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
        [
            "accelerate.commands.launch",
            "--cpu",
            "--num_processes",
            "2",
            "--num_machines",
            "1",
            "--mixed_precision",
            "no",
            "--dynamo_backend",
            "no",
        ],
    ],
    ids=["torchrun", "accelerate"],
)
def test_launchers_run_the_same_recipe(tmp_path: Path, launch: list[str]) -> None:
    file = write(tmp_path, "r")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for name, shard in (("whole", []), ("sharded", ["--shard"])):
        asked = ["-m", "adhere", "train", str(file), "--device", "cpu", "--out", str(tmp_path / name), *shard]
        done = subprocess.run(
            [sys.executable, "-m", *launch, *asked],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert_close(tmp_path / "whole", tmp_path / "sharded")


def test_alone_there_is_nothing_to_cut() -> None:
    assert share([1, 2, 3]) == [1, 2, 3]
    assert agree(True) is True


def test_each_process_holds_its_part() -> None:
    """And, of the weights, what it computes with: two layers at a time, and the embeddings."""
    settings = SftSettings()
    whole, eighth = memory_of(SMOLLM2_135M, settings), memory_of(SMOLLM2_135M, settings, shards=8)
    assert eighth.moments == whole.moments / 8
    layer = (SMOLLM2_135M.parameters - SMOLLM2_135M.embedding) / SMOLLM2_135M.layers
    assert eighth.weights == pytest.approx(4 * (SMOLLM2_135M.parameters / 8 + 2 * layer + SMOLLM2_135M.embedding))
    assert eighth.activations == whole.activations
