"""Writes a recipe as the config of another project's trainer.

The config has our rows, our judge as the reward, and the settings of the recipe's online stage.

adhere train RECIPE --emit trl            train.py: every stage that TRL has, one after the other
adhere train RECIPE --emit verl           run.sh: the recipe's online stage; likewise open-instruct (run.sh, rows.jsonl)
                                          and prime-rl (rl.toml, rows.jsonl)

What another trainer cannot do is refused, or noted in a comment in its file. No trainer is imported. Written against
TRL 1.16, verl 0.9, open-instruct e6c3044 and prime-rl 559b447; `tests/unit/train/test_trainers.py` has their own
parsers read the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adhere.errors import UsageError
from adhere.integrations.open_instruct.launch import open_instruct_files
from adhere.integrations.shared.launch import LaunchInputs, insist, judged_by
from adhere.integrations.trl.launch import trl_files
from adhere.integrations.verifiers.launch import prime_files
from adhere.integrations.verl.launch import verl_files
from adhere.schema import RlRow
from adhere.train.methods.grpo import GrpoSettings
from adhere.train.recipe.launchers import Trainer
from adhere.train.recipe.spec import Recipe

__all__ = ["Trainer", "trainer_files"]


def trainer_files(trainer: str, recipe: Recipe, rows: Sequence[RlRow], *, data: str, gpus: int = 8) -> dict[str, str]:
    """Make the files (name -> text) with which another trainer runs a recipe.

    Args:
        trainer: The trainer's name.
        recipe: The recipe.
        rows: The recipe's prompts; they are written for open-instruct and prime-rl only.
        data: The recipe's data directory, as the files should name it.
        gpus: Number of GPUs of a node.

    Raises:
        UsageError: The trainer cannot run the recipe: it has another reward, online merging, no online stage, or an
            unknown stage or setting.
    """
    judged_by(trainer, recipe)
    if trainer != "open-instruct" and (profile_row := next((row for row in rows if row.profile), None)) is not None:
        raise UsageError(
            f"--emit {trainer}: prompt {profile_row.prompt_id!r} is judged by the profile {profile_row.profile!r}, "
            "which its rows cannot say. Take --emit open-instruct"
        )
    if trainer == "trl":
        return trl_files(recipe, data)
    online = [(stage.name, settings) for stage, settings in recipe.resolved() if isinstance(settings, GrpoSettings)]
    if not online:
        raise UsageError(
            f"--emit {trainer} writes the stage `grpo` or `rloo`, and recipe {recipe.name!r} has none. Take --emit trl"
        )
    name, settings = online[-1]
    insist(trainer, name, settings)
    if trainer != "verl" and name == "rloo":
        raise UsageError(f"--emit {trainer}: it has no RLOO. Take --emit verl or trl")
    makers: dict[str, Callable[[LaunchInputs], dict[str, str]]] = {
        "verl": verl_files,
        "open-instruct": open_instruct_files,
        "prime-rl": prime_files,
    }
    return makers[trainer](LaunchInputs(recipe, name, settings, rows, data, gpus))
