"""A Recipe: an ordered list of training stages with their settings, as a person writes it in TOML.

name = "sft-grpo"
[[stages]]
stage = "sft"
[[stages]]
stage = "grpo"
settings = { steps = 10, kl_beta = 0.01 }
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from adhere.errors import SpecError, nearest
from adhere.schema import Json, Record
from adhere.train.loop import OptimizerSettings
from adhere.train.stages import STAGES, Stage

__all__ = ["Recipe", "StageSpec"]


class StageSpec(Record, frozen=True):
    """One stage by name, with the settings that differ from its defaults."""

    stage: str
    settings: dict[str, Json] = {}

    @property
    def kind(self) -> Stage:
        """The stage.

        Raises:
            UnknownName: No stage has that name.
        """
        return STAGES.get(self.stage)

    def resolved(self) -> OptimizerSettings:
        """The full settings.

        Raises:
            SpecError: An unknown setting (with the nearest valid one), or a value that is not allowed.
        """
        kind = self.kind.settings
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
        for name in self.settings:
            if name not in known:
                raise SpecError(
                    f"Stage {self.stage!r} has no setting {name!r}.{nearest(name, known)} Settings: {', '.join(known)}"
                )
        try:
            return msgspec.convert(self.settings, kind)
        except msgspec.ValidationError as error:
            setting = re.search(r"`\$\.(\w+)", str(error))
            value = f" (got {self.settings[setting[1]]!r})" if setting else ""
            raise SpecError(f"Stage {self.stage!r}: {error}{value}") from error


class Recipe(Record, frozen=True):
    """Stages that are run one after the other on one model. An empty recipe leaves the model as it is: the start arm."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    stages: tuple[StageSpec, ...] = ()
    about: str = ""

    def resolved(self) -> list[tuple[Stage, OptimizerSettings]]:
        """Every stage with its full settings.

        Raises:
            UnknownName: No stage has that name.
            SpecError: Naming the recipe, the stage and the setting that is wrong.
        """
        found = []
        for number, spec in enumerate(self.stages, start=1):
            try:
                found.append((spec.kind, spec.resolved()))
            except SpecError as error:
                raise SpecError(f"Recipe {self.name!r}, stage {number}: {error}") from error
        return found
