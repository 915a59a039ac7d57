"""`adhere train`: a recipe from its file to weights that transformers loads.

Resuming, guards, refusals, launch files.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere.errors import IntegrityError, RunMismatch, SpecError, UsageError  # noqa: E402
from adhere.schema import content_hash  # noqa: E402
from adhere.train.budget.ledger import StepLog, observing  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec, load_recipe  # noqa: E402
from adhere.train.recipe.launchers import launch_file  # noqa: E402
from adhere.train.recipe.load import load_preset  # noqa: E402
from adhere.train.recipe.run import plan_recipe, run_recipe  # noqa: E402
from adhere.train.recipe.tracking import open_tracker  # noqa: E402
from adhere.train.stage.guards import Guards, GuardStop  # noqa: E402
from command_line import run_here  # noqa: E402

ROOT = Path(__file__).parents[3]
DATA = ROOT / "examples" / "smoke-data"
SFT = StageSpec("sft", {"epochs": 1, "learning_rate": 1e-3})
DPO = StageSpec("dpo", {"learning_rate": 1e-5})


def recipe(*stages: StageSpec, **more: Any) -> Recipe:
    given = {"start": "random/2m", "data": str(DATA), "precision": "fp32", "guards": "warn"} | more
    return Recipe("r", stages, **given)


def weights(out: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(str(out / "model" / "model.safetensors"))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_the_smoke_recipe_runs_all_its_stages(tmp_path: Path) -> None:
    spec, base = load_recipe(str(ROOT / "examples" / "qwen2.5-smoke.toml"))
    done = run_recipe(spec, tmp_path, base=base)
    assert [one.stage for one in done] == ["sft", "dpo", "reward-model", "grpo"]
    assert all(one.warnings == [] for one in done)
    assert sum(row["groups_trained"] or 0 for row in done[-1].log) > 0, "GRPO has something to learn from"
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert 1.5e6 < sum(p.numel() for p in model.parameters()) < 2.6e6
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "model").chat_template
    assert transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "03-reward-model" / "reward-model"
    )
    card = (tmp_path / "model" / "README.md").read_text()
    assert all(f"| {one.stage} |" in card for one in done)
    metadata = pytest.importorskip("huggingface_hub").ModelCard(card).data.to_dict()
    assert metadata == {
        "library_name": "transformers", "pipeline_tag": "text-generation", "tags": ["adhere", *(one.stage for one in done)]
    }  # fmt: skip
    steps = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(steps) == sum(len(one.log) for one in done)


def test_no_second_model_stays_loaded(tmp_path: Path) -> None:
    """How many models are in memory at the steps of each stage: what a stage before trained is gone."""

    def loaded() -> int:
        gc.collect()
        kinds = (transformers.LlamaForCausalLM, transformers.Qwen2ForCausalLM)
        return sum(type(one) in kinds for one in gc.get_objects())

    class Counts:
        def __init__(self) -> None:
            self.most: dict[str, int] = {}
            self.before = loaded()

        def log(self, stage: str, row: Any) -> None:
            self.most[stage] = max(self.most.get(stage, 0), loaded() - self.before)

        def close(self) -> None:
            self.at_the_end = loaded() - self.before

    judge = StageSpec("reward-model", {"epochs": 1, "learning_rate": 1e-3})
    few = {"steps": 1, "prompts_per_step": 2, "answers_per_prompt": 2, "max_new_tokens": 4}
    online = [StageSpec("grpo", few), StageSpec("online-dpo", few), StageSpec("rloo", few | {"kl_beta": 0.1})]
    gc.freeze()  # what other tests left, which would be searched at every step
    counts = Counts()
    run_recipe(recipe(SFT, DPO, judge, *online, reward="model"), tmp_path, base=ROOT, trackers=[counts])
    assert counts.most == {
        "sft": 1, "dpo": 1,  # its reference is log-probs, not a model
        "reward-model": 2,  # and the policy that it is a copy of
        "grpo": 2,  # and the reward model
        "online-dpo": 3, "rloo": 3,  # and the reference
    }  # fmt: skip
    assert counts.at_the_end == 0


def test_the_guides_first_recipe_learns_as_it_stands(tmp_path: Path) -> None:
    """Its merging keeps one weight in two thousand. A random model takes larger rates; the rest is the guide's."""
    guide = (ROOT / "docs" / "guide" / "train.md").read_text(encoding="utf-8")
    document = tomllib.loads(guide.partition("```toml\n")[2].partition("```")[0])
    (dpo,) = (stage["settings"] for stage in document["stages"] if stage["stage"] == "dpo")
    assert dpo["merging"]["p"] == 5e-4
    for mode, lowest in (("released", 0.0), ("paper", 0.68)):
        merged = dpo | {"merging": dpo["merging"] | ({"mode": mode} if mode == "paper" else {}), "learning_rate": 1e-4}
        stages = StageSpec("sft", {"learning_rate": 1e-3}), StageSpec("dpo", merged)
        last = run_recipe(recipe(*stages), tmp_path / mode, base=ROOT)[-1].log[-1]["loss"]
        assert lowest <= last
        assert last < 0.6 or mode == "paper", "the guide leaves the mode out, and that is `released`"


def test_a_finished_recipe_trains_nothing_again_and_an_open_one_goes_on(tmp_path: Path) -> None:
    whole = recipe(SFT, DPO)
    run_recipe(whole, tmp_path / "whole", base=ROOT)
    shutil.copytree(tmp_path / "whole", tmp_path / "part")
    stamp = (tmp_path / "part" / "01-sft" / "stage.json").stat().st_mtime_ns
    shutil.rmtree(tmp_path / "part" / "02-dpo")
    run_recipe(whole, tmp_path / "part", base=ROOT)
    assert (tmp_path / "part" / "01-sft" / "stage.json").stat().st_mtime_ns == stamp
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "part"))
    shutil.rmtree(tmp_path / "part" / "02-dpo")
    file = tmp_path / "part" / "01-sft" / "model" / "model.safetensors"
    changed = bytearray(file.read_bytes())
    changed[-1] ^= 64
    file.write_bytes(changed)
    with pytest.raises(IntegrityError, match="were changed after they were trained"):
        run_recipe(whole, tmp_path / "part", base=ROOT)


def test_killed_and_run_again_it_has_the_weights_of_the_uninterrupted_run(tmp_path: Path) -> None:
    text = f'name = "r"\nstart = "random/2m"\ndata = {str(DATA)!r}\nprecision = "fp32"\n[[stages]]\nstage = "sft"\nsettings = {{ epochs = 2 }}\n'
    file = tmp_path / "r.toml"
    file.write_text(text + '[[stages]]\nstage = "dpo"\n')
    command = [sys.executable, "-m", "adhere", "train", str(file), "--out"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, str(tmp_path / "killed")], env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    while not (tmp_path / "killed" / "01-sft" / "stage.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for out in ("killed", "whole"):
        assert run_here("train", file, "--out", tmp_path / out).returncode == 0
    assert same(weights(tmp_path / "killed"), weights(tmp_path / "whole"))


def test_another_recipe_in_the_same_place_is_refused(tmp_path: Path) -> None:
    run_recipe(recipe(SFT), tmp_path, base=ROOT)
    with pytest.raises(RunMismatch, match="begun with another recipe"):
        run_recipe(recipe(SFT, seed=1), tmp_path, base=ROOT)


def test_a_dry_run_begins_nothing(tmp_path: Path) -> None:
    planned = plan_recipe(recipe(SFT, DPO), tmp_path / "out", base=ROOT)
    assert [one.name for one in planned] == ["sft", "dpo"]
    assert all(one.cost.tokens_trained > 0 and not one.done for one in planned)
    assert not (tmp_path / "out").exists()


def test_data_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    shutil.copy(DATA / "sft.jsonl", tmp_path)
    with pytest.raises(SpecError, match=r"pairs\.jsonl is missing"):
        run_recipe(recipe(DPO, data=str(tmp_path)), tmp_path / "out", base=ROOT)
    (tmp_path / "pairs.jsonl").write_text('{"prompt": 1}\n')
    with pytest.raises(IntegrityError, match=r"pairs.jsonl:1"):
        run_recipe(recipe(DPO, data=str(tmp_path)), tmp_path / "out", base=ROOT)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ('name = "r"\n[[stages]]\nstage = "gppo"\n', SpecError, "Did you mean 'grpo'"),
        ('name = "r"\n[[stages]]\nstage = "sft"\nsettings = { epoch = 1 }\n', SpecError, "Did you mean 'epochs'"),
        ('name = "r"\nguard = "warn"\n', SpecError, "Did you mean 'guards'"),
    ],
)
def test_a_wrong_recipe_names_what_is_wrong(tmp_path: Path, text: str, error: type[Exception], said: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(error, match=said):
        load_recipe(str(tmp_path / "r.toml"))


def test_presets_are_found_by_name_and_others_are_suggested() -> None:
    with pytest.raises(SpecError, match=r"Did you mean 'qwen2\.5'"):
        load_recipe("qwen25")
    for name in ("qwen2.5", "qwen2.5-long", "qwen2", "tulu3", "smollm2", "autoif"):
        spec, _ = load_recipe(name)
        assert spec.stages
        assert spec.published
        assert spec.resolved()


def test_online_merging_is_a_setting_of_a_stage(tmp_path: Path) -> None:
    """With p = 1 and alpha = 0 it is plain AdamW, bit for bit; otherwise it is not."""
    merged = [
        StageSpec("dpo", DPO.settings | {"merging": setting})
        for setting in ({"p": 1.0, "alpha": 0.0}, {"p": 0.5, "alpha": 0.01})
    ]
    for name, stage in {"plain": DPO, "same": merged[0], "other": merged[1]}.items():
        run_recipe(recipe(SFT, stage), tmp_path / name, base=ROOT)
    assert same(weights(tmp_path / "plain"), weights(tmp_path / "same"))
    assert not same(weights(tmp_path / "plain"), weights(tmp_path / "other"))


def test_a_guard_stops_a_wasted_run_or_warns(tmp_path: Path) -> None:
    online = StageSpec("grpo", {"steps": 3, "prompts_per_step": 2, "answers_per_prompt": 2, "max_new_tokens": 4})
    with pytest.raises(GuardStop, match=r"truncated_share is .* Raise it"):
        run_recipe(recipe(online, guards="stop"), tmp_path / "stop", base=ROOT)
    done = run_recipe(recipe(online), tmp_path / "warn", base=ROOT)
    assert any("truncated_share" in text for text in done[0].warnings)


def test_guards_count_bad_steps_in_a_row() -> None:
    guards = Guards("grpo", "warn")
    for value in (0.9, 0.9, 0.1, 0.9, 0.9):
        guards.see({"step": 1, "truncated_share": value})
    assert guards.warnings == []
    guards.see({"step": 6, "truncated_share": 0.9})
    assert len(guards.warnings) == 1


def test_out_of_memory_halves_the_micro_batch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from adhere.train.methods import sft as module
    from adhere.train.stages import STAGES

    tried: list[int] = []

    def hungry(model: Any, tokenizer: Any, rows: Any, settings: Any, **more: Any) -> Any:
        tried.append(settings.tree_tokens)
        if settings.tree_tokens > 300:
            torch.empty(10**15)  # what torch itself raises
        return module.sft(model, tokenizer, rows, settings, **more)

    monkeypatch.setitem(STAGES._things, "sft", STAGES.get("sft")._replace(run=hungry))
    done = run_recipe(recipe(SFT), tmp_path, base=ROOT)
    assert tried == [512, 256]
    assert done[0].settings["tree_tokens"] == 256


def test_what_an_observer_raises_ends_the_stage() -> None:
    def stop(row: Any) -> None:
        raise GuardStop("enough")

    with observing(stop), pytest.raises(GuardStop):
        StepLog().append({"step": 1})
    StepLog().append({"step": 1})  # nobody looks


@pytest.mark.parametrize("launcher", ["torchrun", "slurm", "skypilot"])
def test_launch_files_start_this_recipe(launcher: str) -> None:
    name, text = launch_file(launcher, ["my recipe.toml", "--out", "o", "--shard"], name="r", processes=4, nodes=2)
    assert name.startswith(("launch", "job"))
    assert "--nnodes 2 --nproc-per-node 4" in text
    assert "adhere train 'my recipe.toml' --out o --shard" in text
    if launcher == "torchrun":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def emitted(folder: Path, *words: str) -> str:
    """What `adhere train … --emit torchrun` writes."""
    with contextlib.chdir(folder):
        done = run_here("train", *words, "--emit", "torchrun")
    assert done.returncode == 0, done.stderr
    return (folder / "launch.sh").read_text()


def test_a_launch_file_says_what_was_asked(tmp_path: Path) -> None:
    text = emitted(
        tmp_path,
        "qwen2.5",
        "--start",
        "hf/my model",
        "--data",
        "rows",
        "--seed",
        "7",
        "--track",
        "wandb",
        "--track",
        "mlflow",
    )
    said = "qwen2.5 --start 'hf/my model' --data rows --out trained/qwen2.5 --seed 7 --track wandb --track mlflow"
    assert text.strip().endswith(f"-m -- adhere train {said}")
    sharded = emitted(tmp_path, "tulu3@cluster")
    assert sharded.strip().endswith("-m -- adhere train tulu3@cluster --out trained/tulu3-cluster --shard"), (
        "as the preset says"
    )
    assert "--nproc-per-node 8" in sharded
    assert "--nproc-per-node 1 " in emitted(tmp_path, "qwen2.5@24gb")


@pytest.mark.slow  # three more imports of torch; by default test_sharding trains in two processes
def test_an_emitted_file_runs_to_the_end_in_two_processes(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text(
        'name = "r"\nprecision = "fp32"\nguards = "warn"\n[[stages]]\nstage = "sft"\nsettings = { epochs = 1, tree_tokens = 128 }\n'
    )
    emitted(
        tmp_path,
        "r.toml",
        "--start",
        "random/2m",
        "--data",
        str(DATA),
        "--seed",
        "3",
        "--out",
        "o",
        "--device",
        "cpu",
        "--processes",
        "2",
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "launch.sh"], cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1", "PATH": path}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    begun = json.loads((tmp_path / "o" / "recipe.json").read_text())["recipe"]
    assert (begun["start"], begun["seed"], begun["data"]) == ("random/2m", 3, str(DATA))
    assert weights(tmp_path / "o")


def test_unknown_launchers_and_trackers_are_refused() -> None:
    with pytest.raises(UsageError, match="Did you mean 'slurm'"):
        launch_file("slrum", ["r"], name="r")
    with pytest.raises(UsageError, match="Did you mean 'wandb'"):
        open_tracker("wanb", name="r", directory=Path())


def _in_tensorboard(directory: Path) -> list[float]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(directory / "tensorboard" / "r"))
    events.Reload()
    assert "sft/accuracy" not in events.Tags()["scalars"]
    return [event.value for event in events.Scalars("sft/loss")]


def _in_wandb(directory: Path) -> list[float]:
    """Its file of protocol buffers has each step's numbers as JSON texts, once as history and once as summary."""
    (file,) = (directory / "wandb").glob("offline-run-*/*.wandb")
    values = re.findall(rb"sft/loss[^0-9]{1,6}([0-9.]+)", file.read_bytes())
    return list(map(float, dict.fromkeys(values)))


def _in_mlflow(directory: Path) -> list[float]:
    (file,) = (directory / "mlruns").rglob("metrics/sft.loss")
    return [float(line.split()[1]) for line in file.read_text().splitlines()]


def _in_trackio(directory: Path) -> list[float]:
    with contextlib.closing(sqlite3.connect(directory / "trackio" / "adhere.db")) as base:
        rows = base.execute("select metrics from metrics order by step").fetchall()
    return [found["sft/loss"] for found in map(json.loads, (row[0] for row in rows)) if "sft/loss" in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tracker", "read"),
    [("tensorboard", _in_tensorboard), ("wandb", _in_wandb), ("mlflow", _in_mlflow), ("trackio", _in_trackio)],
)
def test_a_tracker_has_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: str, read: Callable[[Path], list[float]]
) -> None:
    """Each tracker that is installed (`adhere[tracking]`), read back from where it stored it on this machine."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip(tracker)  # after its variables are set: trackio reads them when it is imported
    opened = open_tracker(tracker, name="r", directory=tmp_path)
    run_recipe(recipe(SFT), tmp_path / "out", base=ROOT, trackers=[opened])
    losses = _losses(tmp_path / "out")
    assert len(losses) == 3
    assert read(tmp_path) == pytest.approx(losses)


@pytest.mark.slow
def test_a_tracker_that_refuses_says_why_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://x")
    with pytest.raises(UsageError, match=r"--track mlflow: .*nowhere"):
        open_tracker("mlflow", name="r", directory=tmp_path)
    wandb = pytest.importorskip("wandb")
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(
        wandb, "init", lambda **_: (_ for _ in ()).throw(wandb.errors.UsageError("No API key configured."))
    )
    with pytest.raises(UsageError, match="WANDB_MODE=offline"):
        open_tracker("wandb", name="r", directory=tmp_path)


def test_pairs_without_ratings_have_no_criteria_for_labels(tmp_path: Path) -> None:
    judge = StageSpec("reward-model", {"labels": "criteria"})
    with pytest.raises(SpecError, match=r"no row of .*pairs.jsonl is rated"):
        run_recipe(recipe(SFT, judge), tmp_path, base=ROOT)
    assert not (tmp_path / "01-sft").exists(), "said before anything is trained"


def test_presets_name_models_that_have_a_chat_template() -> None:
    for preset in ("autoif", "qwen2", "qwen2.5", "smollm2", "tulu3"):
        machines = load_preset(preset).machines.values()
        assert machines
        assert all(machine.start.endswith("-Instruct") for machine in machines), preset
    spec, _ = load_recipe("qwen2.5")
    assert (spec.reward, spec.stages[2].settings["labels"]) == ("model", "criteria")


def _losses(out: Path) -> list[float]:
    return [row["loss"] for row in map(json.loads, (out / "log.jsonl").read_text().splitlines())]


@pytest.mark.slow  # by default test_sharding trains in two processes and compares the losses
def test_two_processes_follow_the_losses_of_one(tmp_path: Path) -> None:
    """torchrun's variables by hand, gloo on 127.0.0.1: the same loss trajectory as one process, up to rounding."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file = tmp_path / "r.toml"
    stages = '[[stages]]\nstage = "sft"\nsettings = { epochs = 1, tree_tokens = 128 }\n[[stages]]\nstage = "dpo"\nsettings = { tree_tokens = 128 }\n'
    stages += '[[stages]]\nstage = "grpo"\nsettings = { steps = 2, prompts_per_step = 2, answers_per_prompt = 2, max_new_tokens = 8 }\n'
    file.write_text(
        f'name = "r"\nstart = "random/2m"\ndata = {str(DATA)!r}\nprecision = "fp32"\nguards = "warn"\n{stages}'
    )
    command = [sys.executable, "-m", "adhere", "train", str(file), "--out"]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
    }
    workers = [
        subprocess.Popen(
            [*command, str(tmp_path / "two")], env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    subprocess.run(
        [*command, str(tmp_path / "one")], env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, capture_output=True
    )
    one, two = _losses(tmp_path / "one"), _losses(tmp_path / "two")
    assert len(one) == len(two) > 6
    known = [(a, b) for a, b in zip(one, two, strict=True) if a is not None]
    assert [a for a, _ in known] == pytest.approx([b for _, b in known], rel=1e-3)


def test_the_key_of_a_stage_holds_what_changes_its_weights(tmp_path: Path) -> None:
    keys = set()
    for name, spec in {
        "a": recipe(SFT),
        "b": recipe(SFT, seed=1),
        "c": recipe(StageSpec("sft", {"epochs": 2, "learning_rate": 1e-3})),
    }.items():
        keys.add(run_recipe(spec, tmp_path / name, base=ROOT)[0].key)
    assert len(keys) == 3
    assert msgspec.to_builtins(SFT)
    assert all(len(key) == len(content_hash([])) for key in keys)
