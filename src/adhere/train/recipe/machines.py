"""Presets for larger machines: `qwen2.5@24gb` is the preset `qwen2.5` with the changes in its table `[machines.24gb]`.

The preset itself is for two cores. `[origin]` says where every setting of its machines comes from, `published: …` or
`ours: …`, and the model card prints it. Sizes were computed with the memory model (tests/unit/train/test_machines.py);
none was run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from adhere.errors import SpecError, nearest
from adhere.schema import Json, Record
from adhere.train.recipe.spec import Recipe, StageSpec
from adhere.train.settings import Lora


class Machine(Record, frozen=True):
    """Describes the model and settings of a preset on one kind of machine.

    Attributes:
        start: The model to start from.
        gpu_gb: Memory of each GPU, in 1e9 bytes.
        gpus: Number of processes, one for each GPU (`--emit … --processes`).
        shard: Whether the weights must be sharded over the GPUs (`--shard`).
        lora: Train an adapter instead of the weights.
        stages: By stage, the settings that differ from the preset's; those of `*` hold for all stages.
    """

    start: str
    gpu_gb: float
    gpus: Annotated[int, Meta(ge=1)] = 1
    shard: bool = False
    lora: Lora | None = None
    stages: Mapping[str, Mapping[str, Json]] = {}

    def settings(self, stage: str) -> dict[str, Json]:
        """Return the settings that this machine changes in a stage."""
        return {**self.stages.get("*", {}), **self.stages.get(stage, {})}


class Preset(Recipe, frozen=True):
    """A recipe published with adhere, and its variants for larger machines."""

    machines: Mapping[str, Machine] = {}

    @property
    def recipe(self) -> Recipe:
        """The recipe for two cores."""
        return Recipe(**{name: getattr(self, name) for name in Recipe.__struct_fields__ if name != "origin"})


def on_machine(preset: Preset, name: str) -> Recipe:
    """Return the recipe of a preset for one of its machines.

    Raises:
        SpecError: There is no such machine, or its table names a stage that the preset does not have.
    """
    if name not in preset.machines:
        machines = list(preset.machines)
        raise SpecError(
            f"Preset {preset.name!r} has no machine {name!r}.{nearest(name, machines)} "
            f"Machines: {', '.join(machines)}; {preset.name!r} alone is for two cores"
        )
    machine = preset.machines[name]
    unknown = set(machine.stages) - {spec.stage for spec in preset.stages} - {"*"}
    if unknown:
        raise SpecError(f"Preset {preset.name!r}, machine {name!r}: there is no stage {', '.join(sorted(unknown))}")
    stages = tuple(StageSpec(spec.stage, spec.settings | machine.settings(spec.stage)) for spec in preset.stages)
    names = ["start", *(f"{spec.stage}.{name}" for spec in preset.stages for name in machine.settings(spec.stage))]
    origin = {name: preset.origin[key] for name in names if (key := _origin_key(preset.origin, name)) is not None}
    cards = f"{machine.gpus} GPUs" if machine.gpus > 1 else "one GPU"
    about = f"{preset.about} For {cards} of {machine.gpu_gb:g} GB: computed by the memory model, not run."
    return msgspec.structs.replace(
        preset.recipe,
        name=f"{preset.name}-{name}",
        start=machine.start,
        stages=stages,
        lora=machine.lora,
        about=about,
        precision="bf16",
        origin=origin,
    )


def _origin_key(origin: Mapping[str, str], name: str) -> str | None:
    """Return the key of `origin` for a setting: the setting itself, or `*.setting` for all stages; None without one."""
    anywhere = f"*.{name.rpartition('.')[2]}"
    return name if name in origin else anywhere if anywhere in origin else None
