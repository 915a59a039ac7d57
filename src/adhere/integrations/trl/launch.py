"""Writes a recipe for TRL: a script that runs every stage with TRL's own trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from adhere.errors import UsageError
from adhere.integrations.shared.launch import insist, judged_by, start_of
from adhere.train.methods.grpo import GrpoSettings
from adhere.train.recipe.spec import Recipe
from adhere.train.settings import Lora, OptimizerSettings

TRL: Mapping[str, tuple[str, str, str]] = {  # stage: trainer, config, table
    "sft": ("SFTTrainer", "SFTConfig", "sft"), "dpo": ("DPOTrainer", "DPOConfig", "pairs"),
    "kto": ("KTOTrainer", "KTOConfig", "pairs"), "reward-model": ("RewardTrainer", "RewardConfig", "pairs"),
    "grpo": ("GRPOTrainer", "GRPOConfig", "rl"), "rloo": ("RLOOTrainer", "RLOOConfig", "rl"),
}  # fmt: skip
EXPERIMENTAL: Mapping[str, tuple[str, str, str]] = {  # likewise, of no stable part: for stages of studies
    "online-dpo": ("experimental.online_dpo.OnlineDPOTrainer", "experimental.online_dpo.OnlineDPOConfig", "rl")
}

# TRL's schedules fall to 0, ours to final_share.
SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine"}


def trl_files(recipe: Recipe, data: str) -> dict[str, str]:
    """Make a script that runs every stage with TRL's own trainer, each from the result of the one before."""
    stages, overlong = [], {}
    kind, traps = judged_by("trl", recipe)
    for number, (stage, settings) in enumerate(recipe.resolved(), start=1):
        if stage.name not in TRL:
            raise UsageError(f"--emit trl: its stable part has no stage {stage.name!r}; it has {', '.join(TRL)}")
        insist("trl", stage.name, settings)
        trainer, config, table = TRL[stage.name]
        if isinstance(settings, GrpoSettings) and settings.overlong_tokens:
            overlong[f"{number:02d}-{stage.name}"] = (
                settings.max_new_tokens,
                settings.overlong_tokens,
                settings.overlong_penalty,
            )
        arguments = trl_settings(stage.name, settings) | {"seed": recipe.seed}
        if recipe.precision != "auto":
            arguments["bf16"] = recipe.precision == "bf16"
        stages.append([trainer, config, table, f"{number:02d}-{stage.name}", arguments])
    peft = peft_settings(recipe.lora)
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
START, DATA, LORA = {start_of(recipe)!r}, Path({data!r}), {peft!r}
STAGES = [
{body},
]


def as_messages(row):
    """Texts as messages, so that the chat template is applied; a conversation's prompt is its turns."""
    roles = {{"prompt": "user", "completion": "assistant", "chosen": "assistant", "rejected": "assistant"}}
    columns = {{name: [{{"role": role, "content": row[name]}}] for name, role in roles.items() if isinstance(row.get(name), str)}}
    if row.get("turns"):
        columns["prompt"] = [{{"role": turn["role"], "content": turn["content"]}} for turn in row["turns"]]
    return columns


model = START
for trainer, config, table, name, settings in STAGES:
    rows = load_dataset("json", data_files=str(DATA / f"{{table}}.jsonl"), split="train").map(as_messages)
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
    training = getattr(trl, trainer)(model=model, args=arguments, train_dataset=rows, **more)
    training.train()
    if "peft_config" in more:  # merged, as ours: the next stage adapts what this one learned
        training.model = training.accelerator.unwrap_model(training.model).merge_and_unload()
    training.save_model(name)
    if trainer != "RewardTrainer":
        model = name
'''
    }


def peft_settings(lora: Lora | None) -> dict[str, Any] | None:
    """Return an adapter's settings as PEFT's LoraConfig takes them; None without an adapter."""
    return None if lora is None else {"r": lora.rank, "lora_alpha": lora.alpha, "target_modules": list(lora.targets)}


def trl_settings(stage: str, settings: OptimizerSettings) -> dict[str, Any]:
    """Convert our settings to TRL's names.

    TRL's batch is a device's rows times accumulation, so one device is assumed.
    """
    ours = msgspec.to_builtins(settings)
    arguments: dict[str, Any] = {
        "learning_rate": settings.learning_rate, "lr_scheduler_type": SCHEDULES[settings.schedule],
        "warmup_steps": settings.warmup_share,
        "weight_decay": settings.weight_decay, "max_grad_norm": settings.clip, "adam_beta1": settings.betas[0],
        "adam_beta2": settings.betas[1],
        "gradient_checkpointing": settings.gradient_checkpointing, "per_device_train_batch_size": 1,
    }  # fmt: skip
    if "epochs" in ours:  # nothing is cut, as ours
        arguments["max_length"] = None
        batch = next(ours[name] for name in ("batch_rows", "batch_pairs", "batch_items") if name in ours)
        # Rows of one forward pass: TRL's default of 8 where it divides the batch, which then is the same sum.
        rows = next(rows for rows in range(8, 0, -1) if batch % rows == 0)
        arguments |= {
            "num_train_epochs": ours["epochs"],
            "per_device_train_batch_size": rows,
            "gradient_accumulation_steps": batch // rows,
        }
    match stage:
        case "sft":
            arguments |= {"completion_only_loss": True, "max_length": ours["longest"]}
        case "dpo":
            if ours["by_length"] and ours["smoothing"]:
                raise UsageError("--emit trl: it smooths no labels with by_length of dpo. Take one of both out")
            losses = {("sigmoid_norm" if ours["by_length"] else ours["loss"]): 1.0, "sft": ours["sft_weight"]}
            losses = {name: weight for name, weight in losses.items() if weight}
            arguments |= {
                "beta": ours["beta"],
                "loss_type": [*losses],
                "loss_weights": [*losses.values()],
                "label_smoothing": ours["smoothing"],
            }
            if ours["sft_weight"]:  # RPO's likelihood is meaned over the tokens of a device's batch, ours of the step's
                arguments |= {"per_device_train_batch_size": batch, "gradient_accumulation_steps": 1}
        case "kto":  # the reference point is over a device's batch, which must hold two answers at least
            arguments |= {
                "per_device_train_batch_size": batch,
                "gradient_accumulation_steps": 1,
                "beta": ours["beta"],
                "desirable_weight": ours["weight_good"],
                "undesirable_weight": ours["weight_bad"],
            }
        case "reward-model":
            arguments |= {"center_rewards_coefficient": ours["centre"]}
        case "online-dpo":
            arguments |= _online_dpo_settings(ours)
        case _:
            per_prompt = ours["answers_per_prompt"]
            if ours["order"] == "ascending" or (stage, ours["loss_type"]) == ("grpo", "sequence"):
                raise UsageError(
                    f"--emit trl: it has no order = 'ascending' and no loss_type = 'sequence' of {stage}. Take it out"
                )
            arguments |= {
                "max_steps": ours["steps"] * ours["updates_per_episode"],
                "num_generations": per_prompt,
                "gradient_accumulation_steps": ours["prompts_per_step"],
                "per_device_train_batch_size": per_prompt,
                "max_completion_length": ours["max_new_tokens"],
                "temperature": ours["temperature"],
                "num_iterations": ours["updates_per_episode"],
                "beta": ours["kl_beta"],
                "epsilon": ours["clip_low"],
                "epsilon_high": ours["clip_high"],
                "shuffle_dataset": ours["order"] == "random",
                "mask_truncated_completions": ours["mask_truncated"],
            }
            if stage == "grpo":
                arguments |= {name: ours[name] for name in ("loss_type", "scale_rewards")}
                arguments["importance_sampling_level"] = ours["importance"]
    return arguments


def _online_dpo_settings(ours: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the settings of online DPO; TRL's draws two answers a prompt and pairs the better with the worse."""
    if ours["answers_per_prompt"] != 2 or ours["order"] == "ascending":
        raise UsageError(
            "--emit trl: its online DPO draws two answers to a prompt, and has no order = 'ascending'. Give "
            "answers_per_prompt = 2, and leave such an order out"
        )
    return {
        "max_steps": ours["steps"],
        "per_device_train_batch_size": ours["prompts_per_step"],
        "gradient_accumulation_steps": 1,
        "max_new_tokens": ours["max_new_tokens"],
        "max_length": 1 << 20,  # the prompt's beginning would be cut
        "temperature": ours["temperature"],
        "beta": ours["beta"],
        "train_sampling_strategy": "random" if ours["order"] == "random" else "sequential",
    }
