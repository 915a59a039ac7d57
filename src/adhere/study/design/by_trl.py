"""Run a stage of a study by TRL's own trainer (`trainer = "trl"`), on our rows and our reward.

The stage becomes a command. TRL gets the settings of our stage as `adhere train --emit trl` writes them; a setting
without counterpart in TRL is refused. The command runs in `environment`, a Python that has TRL and adhere.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from adhere.errors import SpecError, UsageError
from adhere.integrations.shared.launch import insist, judged_by
from adhere.integrations.trl.launch import EXPERIMENTAL, TRL, peft_settings, trl_settings
from adhere.schema import Json
from adhere.study.design.command import CommandSettings, command_settings
from adhere.train.methods.grpo import GrpoSettings
from adhere.train.recipe.spec import Recipe, StageSpec
from adhere.train.settings import Lora
from adhere.train.stage.settings import Reward

KEYS = ("environment", "hours", "gpus")  # of a stage by another trainer, beside its method's settings
PROGRAM = "adhere.integrations.trl.stage"
VERSION = 2  # of what the program computes from a plan: 1 gave TRL messages


def by_trl(
    name: str, spec: StageSpec, *, own: Mapping[str, Json], reward: Reward, lora: Lora | None
) -> CommandSettings:
    """Return the command that trains a stage by TRL.

    Args:
        name: Name of the stage, for messages.
        spec: Method and settings of the stage.
        own: The keys of KEYS that the stage sets.
        reward: Reward of an online stage.
        lora: An adapter, which is merged at the end.

    Raises:
        SpecError: TRL has no such trainer, or no counterpart of a setting.
    """
    trainers = {stage: trainer for stage, trainer in {**TRL, **EXPERIMENTAL}.items() if stage != "reward-model"}
    if spec.stage not in trainers:
        raise SpecError(f"stages.{name}.trainer: TRL trains no policy by {spec.stage!r}; it has {', '.join(trainers)}")
    trainer, config, table = trainers[spec.stage]
    settings = spec.resolved()
    if isinstance(settings, GrpoSettings) and settings.overlong_tokens:
        raise SpecError(f"stages.{name}.overlong_tokens: trainer = 'trl' gives no second reward for it. Take it out")
    try:
        insist("trl", spec.stage, settings)
        options = trl_settings(spec.stage, settings)
        kind, traps = judged_by("trl", Recipe(name, reward=reward)) if table == "rl" else ("", False)
    except UsageError as error:
        raise SpecError(f"stages.{name}: {str(error).removeprefix('--emit trl: ')}") from error
    plan = {
        "version": VERSION,
        "trainer": trainer,
        "config": config,
        "settings": options | {"bf16": settings.precision == "bf16"},
        "reward": kind,
        "traps": traps,
        "masks_unmeasured": spec.stage not in EXPERIMENTAL,
        "lora": peft_settings(lora),
    }
    python = str(own.get("environment") or sys.executable)
    command = [python, "-m", PROGRAM, json.dumps(plan, sort_keys=True), "{start}", f"{{{table}}}", "{seed}", "{out}"]
    return command_settings(name, {**own, "environment": python, "command": command})
