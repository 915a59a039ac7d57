"""A recipe as the config of somebody else's trainer.

Our rows, our judge as the reward, the settings of its online stage.

adhere train RECIPE --emit trl            train.py: every stage that TRL has, one after the other
adhere train RECIPE --emit verl           run.sh: the recipe's online stage; likewise open-instruct (run.sh, rows.jsonl)
                                          and prime-rl (rl.toml, rows.jsonl)

What another trainer cannot do is refused, or stands as a comment in its file. Nothing of them is imported. Written
against TRL 1.16, verl 0.9, open-instruct e6c3044 and prime-rl 559b447; `tests/unit/train/test_trainers.py` has their
own parsers read the files.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from adhere.errors import UsageError
from adhere.schema import RlRow
from adhere.train.loop import OptimizerSettings
from adhere.train.methods.grpo import GrpoSettings
from adhere.train.recipe.spec import MATRICES, Recipe, RewardTerm

__all__ = ["Trainer", "trainer_files"]

Trainer = Literal["verl", "open-instruct", "prime-rl", "trl"]
TRL: Mapping[str, tuple[str, str, str]] = {  # stage: trainer, config, table
    "sft": ("SFTTrainer", "SFTConfig", "sft"), "dpo": ("DPOTrainer", "DPOConfig", "pairs"),
    "kto": ("KTOTrainer", "KTOConfig", "pairs"), "reward-model": ("RewardTrainer", "RewardConfig", "pairs"),
    "grpo": ("GRPOTrainer", "GRPOConfig", "rl"), "rloo": ("RLOOTrainer", "RLOOConfig", "rl"),
}  # fmt: skip
SCHEDULES = {
    "constant": "constant_with_warmup",
    "linear": "linear",
    "cosine": "cosine",
}  # theirs fall to 0, ours to final_share
LACKS: Mapping[str, tuple[str, ...]] = {  # settings of GRPO and RLOO that a trainer has no counterpart of
    "verl": ("mask_truncated", "baseline", "max_trained_groups"),
    "open-instruct": ("overlong_tokens", "baseline", "max_trained_groups"),
    "trl": ("rounds", "baseline", "max_trained_groups"),
    "prime-rl": ("rounds", "overlong_tokens", "mask_truncated", "kl_beta", "updates_per_episode", "baseline",
        "max_trained_groups"),
}  # fmt: skip
TRL_LACKS: Mapping[str, tuple[str, ...]] = {  # likewise, of TRL's other stages
    "sft": ("data", "answers", "prompt", "mix"), "reward-model": ("labels",),
    "rloo": ("scale_rewards", "loss_type", "importance"),
}  # fmt: skip
LOSSES = {"dapo": "token-mean", "grpo": "seq-mean-token-mean", "dr_grpo": "seq-mean-token-sum-norm",
    "sequence": "seq-mean-token-sum"}  # fmt: skip


class _LaunchInputs(NamedTuple):
    """What a file is made of: the recipe, its online stage, its prompts, where its data lie, GPUs of a node."""

    recipe: Recipe
    stage: str
    settings: GrpoSettings
    rows: Sequence[RlRow]
    data: str
    gpus: int

    @property
    def start(self) -> str:
        return _start(self.recipe)


def trainer_files(trainer: str, recipe: Recipe, rows: Sequence[RlRow], *, data: str, gpus: int = 8) -> dict[str, str]:
    """The files (name -> text) with which another trainer runs a recipe.

    Args:
        trainer: Which.
        recipe: The recipe.
        rows: Its prompts; only those of open-instruct and prime-rl are written.
        data: Its data directory, as the files are to name it.
        gpus: Of a node.

    Raises:
        UsageError: It cannot be done there: another reward, online merging, no online stage, or a stage or setting that
            it does not have.
    """
    _judged_by(trainer, recipe)
    if trainer != "open-instruct" and (named := next((row for row in rows if row.profile), None)) is not None:
        raise UsageError(
            f"--emit {trainer}: prompt {named.prompt_id!r} is judged by the profile {named.profile!r}, which its rows "
            "cannot say. Take --emit open-instruct"
        )
    if trainer == "trl":
        return _trl(recipe, data)
    online = [(stage.name, settings) for stage, settings in recipe.resolved() if isinstance(settings, GrpoSettings)]
    if not online:
        raise UsageError(
            f"--emit {trainer} writes the stage `grpo` or `rloo`, and recipe {recipe.name!r} has none. Take --emit trl"
        )
    name, settings = online[-1]
    _insist(trainer, name, settings)
    if trainer != "verl" and name == "rloo":
        raise UsageError(f"--emit {trainer}: it has no RLOO. Take --emit verl or trl")
    makers: dict[str, Callable[[_LaunchInputs], dict[str, str]]] = {
        "verl": _verl,
        "open-instruct": _open_instruct,
        "prime-rl": _prime,
    }
    return makers[trainer](_LaunchInputs(recipe, name, settings, rows, data, gpus))


def _judged_by(trainer: str, recipe: Recipe) -> tuple[str, bool]:
    """The kind of the judge's reward, and whether it stands behind the intent gate.

    Raises:
        UsageError: The recipe's reward is another one.
    """
    found = recipe.reward
    if isinstance(found, str) and found != "model":
        return found, False
    if (
        len(found) == 1
        and isinstance(term := found[0], RewardTerm)
        and term.kind in {"dense", "binary"}
        and (term == RewardTerm(term.kind, traps=term.traps))
    ):
        return term.kind, term.traps
    raise UsageError(
        f"--emit {trainer}: reward = {found!r} is ours alone. Take 'dense' or 'binary', with or without traps"
    )


def _insist(trainer: str, stage: str, settings: OptimizerSettings) -> None:
    if settings.merging is not None:
        raise UsageError(f"--emit {trainer}: {stage} has online merging, which is ours alone. Take `merging` out")
    plain, lacks = type(settings)(), LACKS[trainer] if isinstance(settings, GrpoSettings) else ()
    for setting in (*lacks, *(TRL_LACKS.get(stage, ()) if trainer == "trl" else ())):
        if getattr(settings, setting) != getattr(plain, setting):
            raise UsageError(f"--emit {trainer}: it has nothing like {setting} of {stage}. Take it out")


def _verl(asked: _LaunchInputs) -> dict[str, str]:
    """Hydra overrides of verl's PPO trainer, in a script."""
    one, recipe = asked.settings, asked.recipe
    kind, traps = _judged_by("verl", recipe)
    if recipe.lora is not None and set(recipe.lora.targets) != set(MATRICES):
        raise UsageError("--emit verl: its adapter is on all matrices of a layer. Take lora.targets out")
    actor, rollout = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."
    keys: dict[str, Any] = {
        "algorithm.adv_estimator": asked.stage, "algorithm.norm_adv_by_std_in_grpo": one.scale_rewards == "group",
        "algorithm.use_kl_in_reward": False,
        "data.train_files": "rl.parquet", "data.val_files": "rl.parquet", "data.train_batch_size": one.prompts_per_step,
        "data.max_response_length": one.max_new_tokens, "data.shuffle": one.order == "random", "data.seed": recipe.seed,
        actor + "optim.lr": one.learning_rate, actor + "optim.weight_decay": one.weight_decay,
        actor + "grad_clip": one.clip,
        actor + "optim.lr_warmup_steps_ratio": one.warmup_share, actor + "optim.lr_scheduler_type": one.schedule,
        actor + "optim.min_lr_ratio": one.final_share, actor + "optim.betas": f"[{one.betas[0]},{one.betas[1]}]",
        actor + "optim.clip_grad": one.clip,
        actor + "ppo_mini_batch_size": one.prompts_per_step, actor + "ppo_epochs": one.updates_per_episode,
        actor + "ppo_micro_batch_size_per_gpu": 1, actor + "loss_scale_factor": one.max_new_tokens,
        actor + "clip_ratio_low": one.clip_low, actor + "clip_ratio_high": one.clip_high,
        actor + "loss_agg_mode": LOSSES[one.loss_type],
        actor + "policy_loss.loss_mode": "gspo" if one.importance == "sequence" else "vanilla",
        actor + "use_kl_loss": one.kl_beta > 0, actor + "kl_loss_coef": one.kl_beta,
        actor + "kl_loss_type": "low_var_kl",
        rollout + "name": "vllm", rollout + "n": one.answers_per_prompt, rollout + "temperature": one.temperature,
        rollout + "log_prob_micro_batch_size_per_gpu": 1, "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 1,
        "actor_rollout_ref.model.lora_rank": recipe.lora.rank if recipe.lora else 0,
        "actor_rollout_ref.model.lora_alpha": recipe.lora.alpha if recipe.lora else 16,
        "algorithm.rollout_correction.rollout_is": "token",
        "algorithm.rollout_correction.rollout_is_threshold": one.importance_cap,
        "reward.custom_reward_function.path": "pkg://adhere.rewards.verl",
        "reward.custom_reward_function.name": "compute_score",
        "+reward.custom_reward_function.reward_kwargs.kind": kind,
        "+reward.custom_reward_function.reward_kwargs.traps": traps,
        "trainer.total_training_steps": one.steps, "trainer.total_epochs": one.steps, "trainer.test_freq": -1,
        "trainer.val_before_train": False, "trainer.save_freq": one.steps,
        actor + "checkpoint.save_contents": "[model,optimizer,extra,hf_model]",
        "trainer.n_gpus_per_node": asked.gpus, "trainer.project_name": "adhere", "trainer.experiment_name": recipe.name,
        "trainer.logger": "[console]",
    }  # fmt: skip
    if one.schedule == "linear":
        raise UsageError("--emit verl: its schedules are constant and cosine. Take schedule = 'cosine'")
    if one.rounds > 1:
        keys |= {
            "algorithm.filter_groups.enable": True,
            "algorithm.filter_groups.metric": "acc" if one.overlong_tokens else "reward",
        }
    if one.overlong_tokens:  # its penalty is part of "reward"; "acc" is what the judge gave
        of, buffer = "+reward.reward_kwargs.", "+reward.reward_kwargs.overlong_buffer_cfg."
        keys |= {
            "reward.reward_manager.name": "dapo",
            of + "max_resp_len": one.max_new_tokens,
            buffer + "enable": True,
            buffer + "log": False,
            buffer + "len": one.overlong_tokens,
            buffer + "penalty_factor": one.overlong_penalty,
        }
    lines = [f"  {name}={shlex.quote(_as_word(value))} \\" for name, value in keys.items()]
    return {
        "run.sh": "#!/usr/bin/env bash\n"
        f"# {recipe.name}: its stage {asked.stage} under verl 0.9. MODEL: what the stages before it left.\n"
        f"set -euo pipefail\nadhere build convert {shlex.quote(asked.data + '/rl.jsonl')} --table rl --to "
        "verl --out rl.parquet\n"
        "exec python3 -m verl.trainer.main_ppo \\\n"
        + "\n".join(lines)
        + f'\n  actor_rollout_ref.model.path="${{MODEL:-{asked.start}}}" "$@"\n'
    }


def _open_instruct(asked: _LaunchInputs) -> dict[str, str]:
    """Arguments of open-instruct's grpo_fast, and rows for its verifier `adhere`."""
    one, recipe = asked.settings, asked.recipe
    if recipe.lora is not None or one.importance == "sequence" or one.loss_type not in {"dapo", "dr_grpo"}:
        raise UsageError(
            "--emit open-instruct: it trains whole weights by the losses of DAPO and Dr. GRPO. Take --emit verl"
        )
    train, draw = _split(asked.gpus)
    kind, traps = _judged_by("open-instruct", recipe)
    keys: dict[str, Any] = {
        "dataset_mixer_list": "rows.jsonl 1.0", "dataset_mixer_list_splits": "train",
        "max_prompt_token_length": 1024, "response_length": one.max_new_tokens,
        "pack_length": 1024 + one.max_new_tokens,
        "num_unique_prompts_rollout": one.prompts_per_step, "num_samples_per_prompt_rollout": one.answers_per_prompt,
        "per_device_train_batch_size": 1, "num_mini_batches": 1, "num_epochs": one.updates_per_episode,
        "temperature": one.temperature,
        "async_steps": 1 if one.rounds == 1 else 2, "active_sampling": one.rounds > 1,
        "mask_truncated_completions": one.mask_truncated,
        "num_learners_per_node": train, "vllm_num_engines": draw, "single_gpu_mode": asked.gpus == 1,
        "learning_rate": one.learning_rate, "weight_decay": one.weight_decay, "lr_scheduler_type": one.schedule,
        "warmup_ratio": one.warmup_share,
        "max_grad_norm": one.clip, "beta": one.kl_beta, "load_ref_policy": one.kl_beta > 0,
        "rho_clamp_upper_bound": one.importance_cap,
        "clip_lower": one.clip_low, "clip_higher": one.clip_high,
        "advantage_normalization_type": "standard" if one.scale_rewards == "group" else "centered",
        "total_episodes": one.steps * one.prompts_per_step * one.answers_per_prompt,
        "loss_denominator": "token"
        if one.loss_type == "dapo"
        else one.prompts_per_step * one.answers_per_prompt * one.max_new_tokens,
        "apply_verifiable_reward": True, "verification_reward": 1.0, "filter_zero_std_samples": True,
        "seed": recipe.seed,
        "push_to_hub": False, "output_dir": recipe.name,
    }  # fmt: skip
    lines = [f"  --{name} {_as_word(value)} \\" for name, value in keys.items()]
    rows = [
        {
            "messages": _messages(row),
            "ground_truth": json.dumps(
                {
                    "instruction_id": row.instruction_id_list,
                    "kwargs": row.kwargs,
                    "reward": kind,
                    "profile": row.profile,
                    "traps": traps,
                    "prompt": _messages(row)[-1]["content"],
                }
            ),
            "dataset": "adhere",
        }
        for row in asked.rows
    ]
    return {
        "rows.jsonl": _jsonl(rows),
        "run.sh": "#!/usr/bin/env bash\n"
        f"# {recipe.name}: its stage {asked.stage} under open-instruct (run in its checkout). MODEL: "
        "what the stages before it left.\nset -euo pipefail\n"
        "exec python -c 'import runpy, adhere.environments.open_instruct as ours; ours.AdhereVerifier; "
        'runpy.run_path("open_instruct/grpo_fast.py", run_name="__main__")\' \\\n'
        + "\n".join(lines)
        + f'\n  --model_name_or_path "${{MODEL:-{asked.start}}}" "$@"\n',
    }


def _prime(asked: _LaunchInputs) -> dict[str, str]:
    """prime-rl's rl.toml over our verifiers environment, and its prompts."""
    one, recipe = asked.settings, asked.recipe
    if recipe.lora is not None:
        raise UsageError("--emit prime-rl: with lora it differs from ours. Take --emit verl")
    rows = [
        {"key": number, "prompt": row.prompt, "instruction_id_list": row.instruction_id_list, "kwargs": row.kwargs}
        for number, row in enumerate(asked.rows)
        if not row.turns
    ]
    if len(rows) < len(asked.rows):
        raise UsageError(
            f"--emit prime-rl: {len(asked.rows) - len(rows)} prompts are conversations, "
            "and its rows are one user turn. Take them out"
        )
    if asked.gpus < 2:
        raise UsageError("--emit prime-rl: it trains on one GPU and draws on another. Give --processes 2 or more")
    train, draw = _split(asked.gpus)
    kind, traps = _judged_by("prime-rl", recipe)
    return {
        "rows.jsonl": _jsonl(rows),
        "rl.toml": f"""# {recipe.name}: its stage {asked.stage} under prime-rl (uv run rl @ rl.toml). model.name: what the stages before it left.
# Its loss is its own (see its docs): clip_low, clip_high and loss_type of ours have no counterpart there.
max_steps = {one.steps}
seq_len = {1024 + one.max_new_tokens}

[deployment]
num_train_gpus = {train}
num_infer_gpus = {draw}

[model]
name = {json.dumps(asked.start)}

[orchestrator]
batch_size = {one.prompts_per_step * one.answers_per_prompt}
group_size = {one.answers_per_prompt}

[orchestrator.renderer]
name = "default"  # the tokenizer's own chat template

[orchestrator.train.sampling]
max_completion_tokens = {one.max_new_tokens}
temperature = {one.temperature}

[[orchestrator.train.source]]
name = "adhere"

[orchestrator.train.source.env.taskset]
id = "adhere_if"
suite = "my:rows.jsonl"

[orchestrator.train.source.env.taskset.task]
reward = "{kind}"
traps = {_as_word(traps)}

[orchestrator.train.source.env.agent.harness]
id = "null"

[trainer.optim]
lr = {one.learning_rate}
weight_decay = {one.weight_decay}
max_norm = {one.clip}
betas1 = {one.betas[0]}
betas2 = {one.betas[1]}

[trainer.scheduler]
{_scheduler(one)}
[ckpt]

[inference]
""",
    }


def _trl(recipe: Recipe, data: str) -> dict[str, str]:
    """A script that runs every stage by TRL's own trainer, each from what the one before it left."""
    stages, overlong = [], {}
    kind, traps = _judged_by("trl", recipe)
    for number, (stage, settings) in enumerate(recipe.resolved(), start=1):
        if stage.name not in TRL:
            raise UsageError(f"--emit trl: its stable part has no stage {stage.name!r}; it has {', '.join(TRL)}")
        _insist("trl", stage.name, settings)
        trainer, config, table = TRL[stage.name]
        if isinstance(settings, GrpoSettings) and settings.overlong_tokens:
            overlong[f"{number:02d}-{stage.name}"] = (
                settings.max_new_tokens,
                settings.overlong_tokens,
                settings.overlong_penalty,
            )
        asked = _trl_settings(stage.name, settings) | {"seed": recipe.seed}
        if recipe.precision != "auto":
            asked["bf16"] = recipe.precision == "bf16"
        stages.append([trainer, config, table, f"{number:02d}-{stage.name}", asked])
    lora = recipe.lora
    peft = None if lora is None else {"r": lora.rank, "lora_alpha": lora.alpha, "target_modules": list(lora.targets)}
    body = ",\n".join(f"    {stage!r}" for stage in stages)
    return {
        "train.py": f'''"""{recipe.name} by TRL 1.16: python train.py, or accelerate launch train.py. Embeddings and head are trained here; ours leave them."""

from pathlib import Path

import torch
import trl
from datasets import load_dataset
from trl.rewards import get_soft_overlong_punishment

from adhere.rewards import judge_reward, summed

ON_CPU = {{}} if torch.cuda.is_available() or torch.backends.mps.is_available() else {{"use_cpu": True, "bf16": False}}
OVERLONG = {overlong!r}
START, DATA, LORA = {_start(recipe)!r}, Path({data!r}), {peft!r}
STAGES = [
{body},
]


def spoken(row):
    """Texts as messages, so that the chat template is applied; a conversation's prompt is its turns."""
    roles = {{"prompt": "user", "completion": "assistant", "chosen": "assistant", "rejected": "assistant"}}
    found = {{name: [{{"role": role, "content": row[name]}}] for name, role in roles.items() if isinstance(row.get(name), str)}}
    if row.get("turns"):
        found["prompt"] = [{{"role": turn["role"], "content": turn["content"]}} for turn in row["turns"]]
    return found


model = START
for trainer, config, table, name, settings in STAGES:
    rows = load_dataset("json", data_files=str(DATA / f"{{table}}.jsonl"), split="train").map(spoken)
    arguments = getattr(trl, config)(output_dir=name, **(settings | ON_CPU))
    more = {{}}
    if table == "rl":
        reward = judge_reward({kind!r}, traps={traps}, end_tokens=model)
        if OVERLONG.get(name):  # length limit, tokens before it over which the reward falls, by how much
            limit, last, weight = OVERLONG[name]
            # One function, because of several TRL sums a None of one (not measured) as 0.
            reward = summed((1.0, reward), (weight, get_soft_overlong_punishment(limit, last)))
        more["reward_funcs"] = reward
        if "score_variance" in rows.column_names:
            rows = rows.sort("score_variance", reverse=True)
    if LORA is not None and trainer != "RewardTrainer":
        from peft import LoraConfig

        more["peft_config"] = LoraConfig(**LORA)
    made = getattr(trl, trainer)(model=model, args=arguments, train_dataset=rows, **more)
    made.train()
    if "peft_config" in more:  # merged, as ours: the next stage adapts what this one learned
        made.model = made.accelerator.unwrap_model(made.model).merge_and_unload()
    made.save_model(name)
    if trainer != "RewardTrainer":
        model = name
'''
    }


def _start(recipe: Recipe) -> str:
    """The start as a hub name or a path.

    Raises:
        UsageError: It is a random model, which exists in a run of ours only; or it has a chat template given.
    """
    if recipe.start.startswith("random/") or recipe.template:
        raise UsageError(
            "--emit: a random start, or a base model with `template`, is made by a run of ours. "
            "Run SFT here and give --start OUT/model"
        )
    if recipe.start.startswith("local/"):
        from adhere.models.local.fetch import model_dir

        return str(model_dir(recipe.start))
    return recipe.start.removeprefix("hf/")


def _trl_settings(stage: str, given: OptimizerSettings) -> dict[str, Any]:
    """Settings of ours by TRL's names.

    Batches are of one device's rows times accumulation, so one device is assumed.
    """
    one = msgspec.to_builtins(given)
    found: dict[str, Any] = {
        "learning_rate": given.learning_rate, "lr_scheduler_type": SCHEDULES[given.schedule],
        "warmup_steps": given.warmup_share,
        "weight_decay": given.weight_decay, "max_grad_norm": given.clip, "adam_beta1": given.betas[0],
        "adam_beta2": given.betas[1],
        "gradient_checkpointing": given.gradient_checkpointing, "per_device_train_batch_size": 1,
    }  # fmt: skip
    if "epochs" in one:  # nothing is cut, as ours
        found["max_length"] = None
        batch = next(one[name] for name in ("batch_rows", "batch_pairs", "batch_items") if name in one)
        found |= {"num_train_epochs": one["epochs"], "gradient_accumulation_steps": batch}
    match stage:
        case "sft":
            found |= {"completion_only_loss": True, "max_length": one["longest"]}
        case "dpo":
            if one["by_length"] and one["smoothing"]:
                raise UsageError("--emit trl: it smooths no labels with by_length of dpo. Take one of both out")
            losses = {("sigmoid_norm" if one["by_length"] else one["loss"]): 1.0, "sft": one["sft_weight"]}
            losses = {name: weight for name, weight in losses.items() if weight}
            found |= {
                "beta": one["beta"],
                "loss_type": [*losses],
                "loss_weights": [*losses.values()],
                "label_smoothing": one["smoothing"],
            }
        case "kto":  # the reference point is over a device's batch, which must hold two answers at least
            found |= {
                "per_device_train_batch_size": batch,
                "gradient_accumulation_steps": 1,
                "beta": one["beta"],
                "desirable_weight": one["weight_good"],
                "undesirable_weight": one["weight_bad"],
            }
        case "reward-model":
            found |= {"center_rewards_coefficient": one["centre"]}
        case _:
            each = one["answers_per_prompt"]
            if one["order"] == "ascending" or (stage, one["loss_type"]) == ("grpo", "sequence"):
                raise UsageError(
                    f"--emit trl: it has no order = 'ascending' and no loss_type = 'sequence' of {stage}. Take it out"
                )
            found |= {
                "max_steps": one["steps"] * one["updates_per_episode"],
                "num_generations": each,
                "gradient_accumulation_steps": one["prompts_per_step"],
                "per_device_train_batch_size": each,
                "max_completion_length": one["max_new_tokens"],
                "temperature": one["temperature"],
                "num_iterations": one["updates_per_episode"],
                "beta": one["kl_beta"],
                "epsilon": one["clip_low"],
                "epsilon_high": one["clip_high"],
                "shuffle_dataset": one["order"] == "random",
                "mask_truncated_completions": one["mask_truncated"],
            }
            if stage == "grpo":
                found |= {name: one[name] for name in ("loss_type", "scale_rewards")}
                found["importance_sampling_level"] = one["importance"]
    return found


def _split(gpus: int) -> tuple[int, int]:
    """How many of a node's GPUs train, and how many draw; one does both."""
    return max(1, gpus - gpus // 2), max(1, gpus // 2)


def _scheduler(one: GrpoSettings) -> str:
    """prime-rl's learning rate over the steps; linear ones fall from the end of the warm-up."""
    if one.schedule == "constant":
        return 'type = "constant"\n'
    warmup = math.ceil(one.warmup_share * one.steps)
    decay = f"decay_steps = {one.steps - warmup}\n" if one.schedule == "linear" else ""
    return f'type = "{one.schedule}"\nwarmup_steps = {warmup}\n{decay}min_lr = {one.learning_rate * one.final_share}\n'


def _messages(row: RlRow) -> list[dict[str, str]]:
    if isinstance(row.asked, str):
        return [{"role": "user", "content": row.asked}]
    return [{"role": turn.role, "content": turn.content} for turn in row.asked]


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _as_word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
