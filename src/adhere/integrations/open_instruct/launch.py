"""Writes a recipe's online stage for open-instruct: arguments of grpo_fast, and rows for our verifier."""

from __future__ import annotations

import json
from typing import Any

from adhere.errors import UsageError
from adhere.integrations.shared.launch import LaunchInputs, as_jsonl, as_word, judged_by, messages_of, split_gpus


def open_instruct_files(inputs: LaunchInputs) -> dict[str, str]:
    """Make run.sh with arguments of open-instruct's grpo_fast, and rows for its verifier `adhere`."""
    settings, recipe = inputs.settings, inputs.recipe
    if recipe.lora is not None or settings.importance == "sequence" or settings.loss_type not in {"dapo", "dr_grpo"}:
        raise UsageError(
            "--emit open-instruct: it trains whole weights by the losses of DAPO and Dr. GRPO. Take --emit verl"
        )
    train, draw = split_gpus(inputs.gpus)
    kind, traps = judged_by("open-instruct", recipe)
    keys: dict[str, Any] = {
        "dataset_mixer_list": "rows.jsonl 1.0", "dataset_mixer_list_splits": "train",
        "max_prompt_token_length": 1024, "response_length": settings.max_new_tokens,
        "pack_length": 1024 + settings.max_new_tokens,
        "num_unique_prompts_rollout": settings.prompts_per_step,
        "num_samples_per_prompt_rollout": settings.answers_per_prompt,
        "per_device_train_batch_size": 1, "num_mini_batches": 1, "num_epochs": settings.updates_per_episode,
        "temperature": settings.temperature,
        "async_steps": 1 if settings.rounds == 1 else 2, "active_sampling": settings.rounds > 1,
        "mask_truncated_completions": settings.mask_truncated,
        "num_learners_per_node": train, "vllm_num_engines": draw, "single_gpu_mode": inputs.gpus == 1,
        "learning_rate": settings.learning_rate, "weight_decay": settings.weight_decay,
        "lr_scheduler_type": settings.schedule, "warmup_ratio": settings.warmup_share,
        "max_grad_norm": settings.clip, "beta": settings.kl_beta, "load_ref_policy": settings.kl_beta > 0,
        "rho_clamp_upper_bound": settings.importance_cap,
        "clip_lower": settings.clip_low, "clip_higher": settings.clip_high,
        "advantage_normalization_type": "standard" if settings.scale_rewards == "group" else "centered",
        "total_episodes": settings.steps * settings.prompts_per_step * settings.answers_per_prompt,
        "loss_denominator": "token"
        if settings.loss_type == "dapo"
        else settings.prompts_per_step * settings.answers_per_prompt * settings.max_new_tokens,
        "apply_verifiable_reward": True, "verification_reward": 1.0, "filter_zero_std_samples": True,
        "seed": recipe.seed,
        "push_to_hub": False, "output_dir": recipe.name,
    }  # fmt: skip
    lines = [f"  --{name} {as_word(value)} \\" for name, value in keys.items()]
    rows = [
        {
            "messages": messages_of(row),
            "ground_truth": json.dumps(
                {
                    "instruction_id": row.instruction_id_list,
                    "kwargs": row.kwargs,
                    "reward": kind,
                    "profile": row.profile,
                    "traps": traps,
                    "prompt": messages_of(row)[-1]["content"],
                }
            ),
            "dataset": "adhere",
        }
        for row in inputs.rows
    ]
    return {
        "rows.jsonl": as_jsonl(rows),
        "run.sh": "#!/usr/bin/env bash\n"
        f"# {recipe.name}: its stage {inputs.stage} under open-instruct (run in its checkout). MODEL: "
        "what the stages before it left.\nset -euo pipefail\n"
        "exec python -c 'import runpy, adhere.integrations.open_instruct.verifier as ours; ours.AdhereVerifier; "
        'runpy.run_path("open_instruct/grpo_fast.py", run_name="__main__")\' \\\n'
        + "\n".join(lines)
        + f'\n  --model_name_or_path "${{MODEL:-{inputs.start}}}" "$@"\n',
    }
