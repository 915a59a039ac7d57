"""A recipe as others' configs: every key is one that their own config has, and every setting is the recipe's.

TRL is a dependency of the tests. The others' own parsers are asked where `ADHERE_TRAINERS` names a directory with
`open-instruct/` and `prime-rl/` (their checkouts) and `verl.python`, `open-instruct.python`, `prime-rl.python`: a
Python each in which that trainer's config can be imported (`parsers.py`).
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")

from adhere.errors import UsageError
from adhere.integrations.emit import trainer_files
from adhere.schema import RlRow
from adhere.train.recipe import Recipe, StageSpec
from adhere.train.settings import Lora
from adhere.train.stage.settings import RewardTerm

ROWS = [RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, 0.1, ("case:lower",), ({},)) for i in range(2)]
GRPO = {
    "steps": 7,
    "prompts_per_step": 4,
    "answers_per_prompt": 6,
    "max_new_tokens": 48,
    "learning_rate": 2e-6,
    "clip_high": 0.28,
}


def recipe(*stages: StageSpec, **more: Any) -> Recipe:
    found = stages or (StageSpec("sft"), StageSpec("grpo", GRPO))
    return Recipe("mine", found, **{"start": "hf/org/model", "reward": "binary"} | more)


def files(trainer: str, made: Recipe | None = None) -> dict[str, str]:
    return trainer_files(trainer, made or recipe(), ROWS, data="/data/here", gpus=4)


def parsed(trainer: str, file: str, model: Path, *, made: Recipe | None = None) -> dict[str, Any]:
    """What the trainer's own parser makes of our file: values by name; nothing may be refused."""
    folder = Path(os.environ.get("ADHERE_TRAINERS", "/nowhere"))
    if not (folder / f"{trainer}.python").exists():
        pytest.skip(f"needs {trainer} of its own")
    for name, text in files(trainer, made).items():
        (model / name).write_text(text)
    more = str(model / "start") if trainer == "verl" else str(folder / trainer)
    asked = [
        str(folder / f"{trainer}.python"),
        str(Path(__file__).with_name("parsers.py")),
        trainer,
        str(model / file),
        more,
    ]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("PARSED "))
    found: dict[str, Any] = json.loads(line.removeprefix("PARSED "))
    assert found["refused"] == {}
    return found


def keys_of(text: str, mark: str) -> dict[str, str]:
    lines = [line.strip().removesuffix("\\").strip() for line in text.splitlines() if line.startswith(f"  {mark}")]
    split = [line.removeprefix("--").split(" " if mark else "=", 1) for line in lines]
    return {name: value.strip("'\"") for name, value in split}


DAPO = GRPO | {"rounds": 3, "overlong_tokens": 8}


def test_verl_is_given_every_setting() -> None:
    said = keys_of(files("verl")["run.sh"], "")
    assert said["actor_rollout_ref.rollout.n"] == "6"
    assert said["data.train_batch_size"] == "4"
    assert said["trainer.total_training_steps"] == said["trainer.save_freq"] == "7"
    assert said["+reward.custom_reward_function.reward_kwargs.kind"] == "binary"
    twice = keys_of(files("verl", recipe(StageSpec("grpo", GRPO | {"updates_per_episode": 2})))["run.sh"], "")
    own = "actor_rollout_ref.actor."
    assert (twice[own + "ppo_epochs"], twice[own + "ppo_mini_batch_size"]) == ("2", "4"), "all answers, twice"
    dapo = keys_of(files("verl", recipe(StageSpec("grpo", DAPO)))["run.sh"], "")
    assert (dapo["algorithm.filter_groups.enable"], dapo["algorithm.filter_groups.metric"]) == ("true", "acc")
    assert dapo["+reward.reward_kwargs.overlong_buffer_cfg.penalty_factor"] == "0.5"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "more"),
    [
        ("grpo", {}),
        ("grpo", DAPO),
        ("grpo", {"loss_type": "dr_grpo", "kl_beta": 0.01, "schedule": "cosine"}),
        ("rloo", {}),
    ],
    ids=["grpo", "dapo", "dr_grpo", "rloo"],
)
def test_verl_parses_it(stage: str, more: dict[str, Any], tmp_path: Path, tiny_llama_dir: Path) -> None:
    (tmp_path / "start").symlink_to(tiny_llama_dir)
    made = recipe(StageSpec(stage, GRPO | more))
    values = parsed("verl", "run.sh", tmp_path, made=made)["values"]
    yaml = pytest.importorskip("yaml")
    said = {name.lstrip("+"): value for name, value in keys_of(files("verl", made)["run.sh"], "").items()}
    del said["actor_rollout_ref.model.path"]
    for name, value in said.items():
        assert values[name] == (float(value) if isinstance(values[name], float) else yaml.safe_load(value)), name
    assert values["algorithm.adv_estimator"] == stage


def test_open_instruct_is_given_every_setting() -> None:
    made = files("open-instruct")
    said = keys_of(made["run.sh"], "--")
    assert said["num_samples_per_prompt_rollout"] == "6"
    assert said["total_episodes"] == str(7 * 4 * 6)
    assert said["clip_higher"] == "0.28"
    assert (said["num_learners_per_node"], said["vllm_num_engines"]) == ("2", "2")
    divided = keys_of(
        files("open-instruct", recipe(StageSpec("grpo", GRPO | {"loss_type": "dr_grpo"})))["run.sh"], "--"
    )
    assert (said["loss_denominator"], divided["loss_denominator"]) == ("token", str(4 * 6 * 48))
    row = json.loads(made["rows.jsonl"].splitlines()[0])
    assert json.loads(row["ground_truth"])["reward"] == "binary"
    from adhere.integrations.open_instruct.verifier import score_of

    assert score_of("all small", row["ground_truth"]) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [{}, {"rounds": 3, "mask_truncated": True}, {"loss_type": "dr_grpo", "kl_beta": 0.01}],
    ids=["grpo", "dapo", "dr_grpo"],
)
def test_open_instruct_parses_it(more: dict[str, Any], tmp_path: Path) -> None:
    made = recipe(StageSpec("grpo", GRPO | more))
    values = parsed("open-instruct", "run.sh", tmp_path, made=made)["values"]
    said = keys_of(files("open-instruct", made)["run.sh"], "--")
    assert {*values} == {*said}
    assert values["learning_rate"] == 2e-6
    assert values["active_sampling"] is (more.get("rounds", 1) > 1)
    assert values["load_ref_policy"] is ("kl_beta" in more)


def test_prime_rl_is_given_every_setting(tmp_path: Path) -> None:
    made = files("prime-rl")
    said = tomllib.loads(made["rl.toml"])
    assert (said["max_steps"], said["orchestrator"]["batch_size"], said["orchestrator"]["group_size"]) == (7, 24, 6)
    (tmp_path / "rows.jsonl").write_text(made["rows.jsonl"])
    from adhere import suites

    assert len(suites.load(f"my:{tmp_path / 'rows.jsonl'}").prompts) == 2


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_prime_rl_parses_it(schedule: str, tmp_path: Path) -> None:
    """It looks up our taskset by its name, and refused a model of its own chat template until a renderer was named."""
    found = parsed("prime-rl", "rl.toml", tmp_path, made=recipe(StageSpec("grpo", GRPO | {"schedule": schedule})))
    assert found["asked"]
    assert found["values"] == found["asked"]
    assert found["values"]["trainer.scheduler.type"] == schedule


def of_script(name: str, made: str) -> Any:
    """What a script of ours for TRL assigns to `name`, or its function of that name."""
    for node in ast.parse(made).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
        if isinstance(node, ast.FunctionDef) and node.name == name:
            defined: dict[str, Any] = {}
            exec(ast.unparse(node), defined)
            return defined[name]
    raise AssertionError(name)


@pytest.mark.filterwarnings(
    "ignore:`gradient_checkpointing` is deprecated"
)  # in transformers 5.23; the new name is too new for older ones
@pytest.mark.parametrize("stage", ["sft", "dpo", "kto", "reward-model", "grpo", "rloo"])
def test_trl_takes_the_settings(stage: str, tmp_path: Path) -> None:
    own = GRPO | {"updates_per_episode": 2, "order": "random"} if stage in {"grpo", "rloo"} else {}
    made = files("trl", recipe(StageSpec(stage, own), reward="dense", seed=5))["train.py"]
    compile(made, "train.py", "exec")
    ((trainer, config, _, _, settings),) = of_script("STAGES", made)
    trl = pytest.importorskip("trl")
    arguments = getattr(trl, config)(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none", **settings)
    assert getattr(trl, trainer)
    assert arguments.learning_rate == settings["learning_rate"]
    assert arguments.seed == 5
    if stage in {"grpo", "rloo"}:
        assert arguments.max_steps == 14, "TRL counts updates, and a recipe episodes"
        assert arguments.shuffle_dataset
    else:
        assert arguments.max_length is None, "ours cuts no row"
    if stage == "grpo":
        assert (arguments.num_generations, arguments.num_iterations, arguments.epsilon_high) == (6, 2, 0.28)
        assert arguments.generation_batch_size == 24
    if stage == "kto":  # its trainer refuses one answer at a time
        assert (arguments.per_device_train_batch_size, arguments.gradient_accumulation_steps) == (16, 1)


@pytest.mark.parametrize(("batch", "rows"), [(8, 8), (16, 8), (4, 4), (12, 6), (7, 7), (11, 1)])
def test_a_batch_of_trl_is_computed_in_as_few_equal_parts_as_fit(batch: int, rows: int) -> None:
    made = files("trl", recipe(StageSpec("sft", {"batch_rows": batch})))["train.py"]
    ((*_, settings),) = of_script("STAGES", made)
    assert (settings["per_device_train_batch_size"], settings["gradient_accumulation_steps"]) == (rows, batch // rows)


def test_trl_is_given_dpos_variants_and_conversations() -> None:
    for own, said in (
        ({}, {"sigmoid": 1.0}),
        ({"loss": "ipo"}, {"ipo": 1.0}),
        ({"by_length": True, "sft_weight": 0.5}, {"sigmoid_norm": 1.0, "sft": 0.5}),
    ):
        made = files("trl", recipe(StageSpec("dpo", own), precision="fp32"))["train.py"]
        ((*_, settings),) = of_script("STAGES", made)
        assert dict(zip(settings["loss_type"], settings["loss_weights"], strict=True)) == said
        assert settings["bf16"] is False
    as_messages = of_script("as_messages", made)
    assert as_messages({"prompt": "Hi.", "turns": None}) == {"prompt": [{"role": "user", "content": "Hi."}]}
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    assert as_messages({"prompt": "Be brief.\n\nHi.", "turns": turns}) == {"prompt": turns}


def test_the_intent_gate_goes_with_the_recipe() -> None:
    made = recipe(StageSpec("grpo", GRPO), reward=(RewardTerm("dense", traps=True),))
    said = keys_of(files("verl", made)["run.sh"], "")
    assert said["+reward.custom_reward_function.reward_kwargs.traps"] == "true"
    assert said["+reward.custom_reward_function.reward_kwargs.kind"] == "dense"
    assert "judge_reward('dense', traps=True, " in files("trl", made)["train.py"]
    task = tomllib.loads(files("prime-rl", made)["rl.toml"])["orchestrator"]["train"]["source"][0]["env"]["taskset"][
        "task"
    ]
    assert task == {"reward": "dense", "traps": True}
    row = json.loads(files("open-instruct", made)["rows.jsonl"].splitlines()[0])
    from adhere.integrations.open_instruct.verifier import score_of

    assert score_of("small things are seldom seen and yet they hold our days together", row["ground_truth"]) == 1.0
    assert score_of("write about thing 0.", row["ground_truth"]) == 0.0
    for more in ({"weight": 0.5}, {"kind": "asked", "model": "x/y"}):
        with pytest.raises(UsageError, match="ours alone"):
            files("verl", recipe(reward=(RewardTerm(**{"kind": "dense", "traps": True} | more),)))


def test_what_another_trainer_cannot_do_is_refused() -> None:
    merging = StageSpec("grpo", {"merging": {"p": 0.5}})
    for trainer, made, said in (
        ("verl", recipe(StageSpec("reward-model"), StageSpec("grpo"), reward="model"), "ours alone"),
        ("verl", recipe(merging), "online merging"),
        ("verl", recipe(StageSpec("sft")), "has none"),
        ("trl", recipe(StageSpec("continue", {"text": ("t.txt",)})), "no stage 'continue'"),
        ("prime-rl", recipe(StageSpec("grpo", {"kl_beta": 0.1})), "kl_beta"),
        ("trl", recipe(StageSpec("grpo", {"rounds": 2})), "rounds"),
        ("open-instruct", recipe(StageSpec("grpo", {"overlong_tokens": 4})), "overlong_tokens"),
        ("open-instruct", recipe(StageSpec("rloo")), "no RLOO"),
        ("trl", recipe(StageSpec("sft", {"answers": "all"})), "answers of sft"),
        ("trl", recipe(StageSpec("sft", {"data": "chosen"})), "data of sft"),
        ("trl", recipe(StageSpec("dpo", {"by_length": True, "smoothing": 0.1})), "smooths no labels"),
        ("trl", recipe(StageSpec("reward-model", {"labels": "criteria"})), "labels of reward-model"),
        ("trl", recipe(StageSpec("grpo", {"order": "ascending"})), "order = 'ascending'"),
        ("trl", recipe(StageSpec("grpo", {"loss_type": "sequence"})), "loss_type = 'sequence'"),
        ("trl", recipe(StageSpec("rloo", {"scale_rewards": "group"})), "scale_rewards of rloo"),
        ("verl", recipe(StageSpec("grpo", {"baseline": "others"})), "baseline of grpo"),
        ("prime-rl", recipe(StageSpec("grpo", {"max_trained_groups": 2})), "max_trained_groups"),
        ("verl", recipe(StageSpec("grpo"), lora=Lora(targets=("q_proj",))), "all matrices"),
        ("verl", recipe(start="random/2m"), "random start"),
    ):
        with pytest.raises(UsageError, match=said):
            files(trainer, made)
    named = [msgspec.structs.replace(ROWS[0], profile="ifeval")]
    with pytest.raises(UsageError, match="prompt 'p0' is judged by the profile 'ifeval'"):
        trainer_files("verl", recipe(), named, data="/data/here")
