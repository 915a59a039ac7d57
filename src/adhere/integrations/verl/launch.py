"""Writes a recipe's online stage for verl: a script with the Hydra overrides of its PPO trainer."""

from __future__ import annotations

import shlex
from typing import Any

from adhere.errors import UsageError
from adhere.integrations.shared.launch import LaunchInputs, as_word, judged_by
from adhere.train.settings import MATRICES

LOSSES = {"dapo": "token-mean", "grpo": "seq-mean-token-mean", "dr_grpo": "seq-mean-token-sum-norm",
    "sequence": "seq-mean-token-sum"}  # fmt: skip


def verl_files(inputs: LaunchInputs) -> dict[str, str]:
    """Make run.sh, which starts verl's PPO trainer with the Hydra overrides of a recipe."""
    settings, recipe = inputs.settings, inputs.recipe
    kind, traps = judged_by("verl", recipe)
    if recipe.lora is not None and set(recipe.lora.targets) != set(MATRICES):
        raise UsageError("--emit verl: its adapter is on all matrices of a layer. Take lora.targets out")
    actor, rollout = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."
    keys: dict[str, Any] = {
        "algorithm.adv_estimator": inputs.stage, "algorithm.norm_adv_by_std_in_grpo": settings.scale_rewards == "group",
        "algorithm.use_kl_in_reward": False,
        "data.train_files": "rl.parquet", "data.val_files": "rl.parquet",
        "data.train_batch_size": settings.prompts_per_step, "data.max_response_length": settings.max_new_tokens,
        "data.shuffle": settings.order == "random", "data.seed": recipe.seed,
        actor + "optim.lr": settings.learning_rate, actor + "optim.weight_decay": settings.weight_decay,
        actor + "grad_clip": settings.clip,
        actor + "optim.lr_warmup_steps_ratio": settings.warmup_share,
        actor + "optim.lr_scheduler_type": settings.schedule, actor + "optim.min_lr_ratio": settings.final_share,
        actor + "optim.betas": f"[{settings.betas[0]},{settings.betas[1]}]", actor + "optim.clip_grad": settings.clip,
        actor + "ppo_mini_batch_size": settings.prompts_per_step, actor + "ppo_epochs": settings.updates_per_episode,
        actor + "ppo_micro_batch_size_per_gpu": 1, actor + "loss_scale_factor": settings.max_new_tokens,
        actor + "clip_ratio_low": settings.clip_low, actor + "clip_ratio_high": settings.clip_high,
        actor + "loss_agg_mode": LOSSES[settings.loss_type],
        actor + "policy_loss.loss_mode": "gspo" if settings.importance == "sequence" else "vanilla",
        actor + "use_kl_loss": settings.kl_beta > 0, actor + "kl_loss_coef": settings.kl_beta,
        actor + "kl_loss_type": "low_var_kl",
        rollout + "name": "vllm", rollout + "n": settings.answers_per_prompt,
        rollout + "temperature": settings.temperature,
        rollout + "log_prob_micro_batch_size_per_gpu": 1, "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 1,
        "actor_rollout_ref.model.lora_rank": recipe.lora.rank if recipe.lora else 0,
        "actor_rollout_ref.model.lora_alpha": recipe.lora.alpha if recipe.lora else 16,
        "algorithm.rollout_correction.rollout_is": "token",
        "algorithm.rollout_correction.rollout_is_threshold": settings.importance_cap,
        "reward.custom_reward_function.path": "pkg://adhere.integrations.verl.reward",
        "reward.custom_reward_function.name": "compute_score",
        "+reward.custom_reward_function.reward_kwargs.kind": kind,
        "+reward.custom_reward_function.reward_kwargs.traps": traps,
        "trainer.total_training_steps": settings.steps, "trainer.total_epochs": settings.steps, "trainer.test_freq": -1,
        "trainer.val_before_train": False, "trainer.save_freq": settings.steps,
        actor + "checkpoint.save_contents": "[model,optimizer,extra,hf_model]",
        "trainer.n_gpus_per_node": inputs.gpus, "trainer.project_name": "adhere",
        "trainer.experiment_name": recipe.name, "trainer.logger": "[console]",
    }  # fmt: skip
    if settings.schedule == "linear":
        raise UsageError("--emit verl: its schedules are constant and cosine. Take schedule = 'cosine'")
    if settings.rounds > 1:
        keys |= {
            "algorithm.filter_groups.enable": True,
            "algorithm.filter_groups.metric": "acc" if settings.overlong_tokens else "reward",
        }
    if settings.overlong_tokens:  # its penalty is part of "reward"; "acc" is what the judge gave
        of, buffer = "+reward.reward_kwargs.", "+reward.reward_kwargs.overlong_buffer_cfg."
        keys |= {
            "reward.reward_manager.name": "dapo",
            of + "max_resp_len": settings.max_new_tokens,
            buffer + "enable": True,
            buffer + "log": False,
            buffer + "len": settings.overlong_tokens,
            buffer + "penalty_factor": settings.overlong_penalty,
        }
    lines = [f"  {name}={shlex.quote(as_word(value))} \\" for name, value in keys.items()]
    return {
        "run.sh": "#!/usr/bin/env bash\n"
        f"# {recipe.name}: its stage {inputs.stage} under verl 0.9. MODEL: what the stages before it left.\n"
        f"set -euo pipefail\nadhere build convert {shlex.quote(inputs.data + '/rl.jsonl')} --table rl --to "
        "verl --out rl.parquet\n"
        "exec python3 -m verl.trainer.main_ppo \\\n"
        + "\n".join(lines)
        + f'\n  actor_rollout_ref.model.path="${{MODEL:-{inputs.start}}}" "$@"\n'
    }
