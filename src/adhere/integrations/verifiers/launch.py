"""Writes a recipe's online stage for prime-rl: its rl.toml with our verifiers environment, and the prompts."""

from __future__ import annotations

import json
import math

from adhere.errors import UsageError
from adhere.integrations.shared.launch import LaunchInputs, as_jsonl, as_word, judged_by, split_gpus
from adhere.train.methods.grpo import GrpoSettings


def prime_files(inputs: LaunchInputs) -> dict[str, str]:
    """Make prime-rl's rl.toml with our verifiers environment, and the prompts."""
    settings, recipe = inputs.settings, inputs.recipe
    if recipe.lora is not None:
        raise UsageError("--emit prime-rl: with lora it differs from ours. Take --emit verl")
    rows = [
        {"key": number, "prompt": row.prompt, "instruction_id_list": row.instruction_id_list, "kwargs": row.kwargs}
        for number, row in enumerate(inputs.rows)
        if not row.turns
    ]
    if len(rows) < len(inputs.rows):
        raise UsageError(
            f"--emit prime-rl: {len(inputs.rows) - len(rows)} prompts are conversations, "
            "and its rows are one user turn. Take them out"
        )
    if inputs.gpus < 2:
        raise UsageError("--emit prime-rl: it trains on one GPU and draws on another. Give --processes 2 or more")
    train, draw = split_gpus(inputs.gpus)
    kind, traps = judged_by("prime-rl", recipe)
    return {
        "rows.jsonl": as_jsonl(rows),
        "rl.toml": f"""# {recipe.name}: its stage {inputs.stage} under prime-rl (uv run rl @ rl.toml). model.name: what the stages before it left.
# Its loss is its own (see its docs): clip_low, clip_high and loss_type of ours have no counterpart there.
max_steps = {settings.steps}
seq_len = {1024 + settings.max_new_tokens}

[deployment]
num_train_gpus = {train}
num_infer_gpus = {draw}

[model]
name = {json.dumps(inputs.start)}

[orchestrator]
batch_size = {settings.prompts_per_step * settings.answers_per_prompt}
group_size = {settings.answers_per_prompt}

[orchestrator.renderer]
name = "default"  # the tokenizer's own chat template

[orchestrator.train.sampling]
max_completion_tokens = {settings.max_new_tokens}
temperature = {settings.temperature}

[[orchestrator.train.source]]
name = "adhere"

[orchestrator.train.source.env.taskset]
id = "adhere_if"
suite = "my:rows.jsonl"

[orchestrator.train.source.env.taskset.task]
reward = "{kind}"
traps = {as_word(traps)}

[orchestrator.train.source.env.agent]
runtime = "subprocess"

[orchestrator.train.source.env.agent.harness]
id = "null"

[trainer.optim]
lr = {settings.learning_rate}
weight_decay = {settings.weight_decay}
max_norm = {settings.clip}
betas1 = {settings.betas[0]}
betas2 = {settings.betas[1]}

[trainer.scheduler]
{_scheduler(settings)}
[ckpt]

[inference]
""",
    }


def _scheduler(settings: GrpoSettings) -> str:
    """Return prime-rl's settings of the learning rate; linear ones fall from the end of the warm-up."""
    if settings.schedule == "constant":
        return 'type = "constant"\n'
    warmup = math.ceil(settings.warmup_share * settings.steps)
    decay = f"decay_steps = {settings.steps - warmup}\n" if settings.schedule == "linear" else ""
    least = settings.learning_rate * settings.final_share
    return f'type = "{settings.schedule}"\nwarmup_steps = {warmup}\n{decay}min_lr = {least}\n'
