"""A Recipe: an ordered list of training stages with their settings, as a person writes it in TOML.

name = "sft-grpo"
start = "local/smollm2-135m"
data = "data"                  # a directory made by `adhere build`: sft.jsonl, pairs.jsonl, rl.jsonl
[[stages]]
stage = "sft"
[[stages]]
stage = "grpo"
settings = { steps = 10, kl_beta = 0.01 }
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from adhere.errors import SpecError, nearest
from adhere.schema import Json, Record, convert
from adhere.train.settings import Lora, OptimizerSettings
from adhere.train.stage.settings import (
    PAID_BY_DEFAULT,
    Reward,
    WatchSpec,
    passing_trouble,
    reward_trouble,
    uses_reward_model,
)
from adhere.train.stages import STAGES, Stage

PRESETS = Path(__file__).parent / "presets"


def settle_reward(document: dict[str, Any]) -> None:
    """Let a single table `[reward]` stand for a sum of one term; without a kind it is `dense`."""
    table = document.get("reward")
    if isinstance(table, dict):
        document["reward"] = [{"kind": "dense", **table}]


class BadSetting(SpecError):
    """A stage's setting is wrong; `setting` is its name, or None if no single one is to blame."""

    def __init__(self, message: str, setting: str | None) -> None:
        super().__init__(message)
        self.setting = setting


class StageSpec(Record, frozen=True):
    """Describes a stage by its name and the settings that differ from its defaults."""

    stage: str
    settings: dict[str, Json] = {}

    @property
    def kind(self) -> Stage:
        """The stage of this name.

        Raises:
            UnknownName: No stage has that name.
        """
        return STAGES.get(self.stage)

    def resolved(self) -> OptimizerSettings:
        """Return the full settings.

        Raises:
            SpecError: An unknown setting (with the nearest valid one), or a value that is not allowed.
        """
        kind = self.kind.settings
        setting_names = [field.encode_name for field in msgspec.structs.fields(kind)]
        for name in self.settings:
            if name not in setting_names:
                raise BadSetting(
                    f"Stage {self.stage!r} has no setting {name!r}.{nearest(name, setting_names)} "
                    f"Settings: {', '.join(setting_names)}",
                    name,
                )
        try:
            return convert(self.settings, kind)
        except msgspec.ValidationError as error:
            setting = re.search(r"`\$\.(\w+)", str(error))
            value = f" (got {self.settings[setting[1]]!r})" if setting else ""
            raise BadSetting(f"Stage {self.stage!r}: {error}{value}", setting[1] if setting else None) from error


class Recipe(Record, frozen=True):
    """Lists stages that run one after the other on one model.

    Attributes:
        name: Name of the output directory and the model card.
        stages: The stages in order; without any, the model stays as it is.
        start: `local/NAME`, `hf/PATH`, a directory of safetensors, or `random/2m` (a random model, to try a recipe on).
        template: A chat template for a base model, `chatml` or the path of a Jinja template; its tokens are
            trained. Empty: the model's own.
        data: A directory with sft.jsonl, pairs.jsonl and rl.jsonl; files that no stage needs may be missing.
        seed: Seed of every order and draw.
        precision: `auto` takes the fastest one on this machine; the choice is stored, and kept when the recipe is
            resumed.
        lora: Train a low-rank adapter in every stage that yields weights; None: the weights themselves.
        reward: Of online stages: `dense`, the share of a prompt's constraints that pass; `binary`, whether all do;
            `model`, the sigmoid of what the recipe's last reward model says (a stage `reward-model` before them), 0 for
            an answer that is cut or empty; or a sum of terms (`[[reward]]`, or one as `[reward]`; see `RewardTerm`).
            Where none is named: `dense`, and 0 for an answer that does not respond (`traps`).
        watch: A small suite that the model is evaluated on while stages train.
        push: Where on a hub the result is sent, `OWNER/NAME`, by the hub's own client with its own key; empty: nowhere.
        guards: Whether guards stop a run that is being wasted, or only warn.
        against: Suites (`adhere list suites`; a file's path is relative to where the command runs) whose test items
            no training prompt may repeat. Empty: nothing is compared, and the model card says so.
        about: Text for the model card.
        published: What the published recipe had, setting by setting, where this is a preset; for the model card.
        origin: Where settings come from, by `STAGE.SETTING`: `published: …` or `ours: …`; for the model card.
    """

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    stages: tuple[StageSpec, ...] = ()
    start: str = "local/smollm2-135m"
    template: str = ""
    data: str = "data"
    seed: int = 0
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    lora: Lora | None = None
    reward: Reward = PAID_BY_DEFAULT
    watch: WatchSpec | None = None
    push: str = ""
    guards: Literal["stop", "warn"] = "stop"
    against: tuple[str, ...] = ()
    about: str = ""
    published: Mapping[str, str] = {}
    origin: Mapping[str, str] = {}

    def resolved(self) -> list[tuple[Stage, OptimizerSettings]]:
        """Return every stage with its full settings.

        Raises:
            UnknownName: No stage has that name.
            SpecError: A setting is wrong; the message names the recipe, the stage and the setting.
        """
        stages = []
        for number, spec in enumerate(self.stages, start=1):
            try:
                stages.append((spec.kind, spec.resolved()))
            except SpecError as error:
                raise SpecError(f"Recipe {self.name!r}, stage {number}: {error}") from error
        if (trouble := reward_trouble(self.reward)) is not None:
            raise SpecError(f"Recipe {self.name!r}: {trouble}")
        for number, (stage, _) in enumerate(stages, start=1):
            if (trouble := passing_trouble(stage, self.reward)) is not None:
                raise SpecError(f"Recipe {self.name!r}, stage {number}: {trouble}")
        if uses_reward_model(self.reward):
            has_judge = False
            for number, (stage, _) in enumerate(stages, start=1):
                if stage.online and not has_judge:
                    raise SpecError(
                        f"Recipe {self.name!r}, stage {number}: reward = 'model', "
                        f"and no stage before {stage.name!r} leaves a reward model. "
                        "Put a stage 'reward-model' before it"
                    )
                has_judge = has_judge or stage.yields == "reward-model"
        return stages
