"""Loading of recipes by name or file, and of presets with their machines."""

from __future__ import annotations

from pathlib import Path

from adhere.config import load_toml, locate
from adhere.errors import SpecError, UnknownName, nearest
from adhere.train.recipe.machines import Machine, Preset, on_machine
from adhere.train.recipe.spec import PRESETS, BadSetting, Recipe, settle_reward


def load_recipe(name: str) -> tuple[Recipe, Path]:
    """Load a recipe file, or a preset by name; return also the directory that its paths are relative to.

    `qwen2.5` is for two cores, `qwen2.5@24gb` for a larger machine.

    Raises:
        SpecError: There is no such file, preset or machine, or the document is wrong (the message names file, line
            and key).
    """
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return _check_recipe(load_toml(path, Recipe, settle=settle_reward), path), path.parent
    stem, _, machine = name.partition("@")
    preset = load_preset(stem)
    recipe = on_machine(preset, machine) if machine else preset.recipe
    return _check_recipe(recipe, PRESETS / f"{stem}.toml"), Path()


def load_preset(name: str) -> Preset:
    """Load a preset with all its machines.

    Raises:
        SpecError: There is no preset of that name.
    """
    presets = sorted(file.stem for file in PRESETS.glob("*.toml"))
    if name not in presets:
        raise SpecError(
            f"{name!r} is neither a recipe file nor a preset.{nearest(name, presets)} Presets: {', '.join(presets)}"
        )
    return load_toml(PRESETS / f"{name}.toml", Preset)


def machine_of(name: str) -> Machine | None:
    """Return the machine that `PRESET@MACHINE` names; None if `name` names none or the preset lacks it.

    Raises:
        SpecError: There is no such preset.
    """
    preset, at, machine = name.partition("@")
    return load_preset(preset).machines.get(machine) if at and not name.endswith(".toml") else None


def _check_recipe(recipe: Recipe, path: Path) -> Recipe:
    for place, stage in enumerate(recipe.stages):
        try:
            stage.resolved()
        except (UnknownName, BadSetting) as error:
            setting = getattr(error, "setting", None)
            steps = ["stages", str(place), *(("settings", setting) if setting else ("stage",))]
            line = locate(path.read_text(encoding="utf-8"), steps)
            raise SpecError(f"{path}:{line}: stage {place + 1}: {error}") from error
    try:
        recipe.resolved()
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error
    return recipe
