"""Code shared by configs of others' trainers: the judge's reward, what a trainer lacks, how values are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adhere.errors import UsageError
from adhere.schema import RlRow
from adhere.train.methods.grpo import GrpoSettings
from adhere.train.recipe.spec import Recipe
from adhere.train.settings import OptimizerSettings
from adhere.train.stage.settings import RewardTerm

LACKS: Mapping[str, tuple[str, ...]] = {  # settings of GRPO and RLOO that a trainer has no counterpart of
    "verl": ("mask_truncated", "baseline", "max_trained_groups", "trained_tokens"),
    "open-instruct": ("overlong_tokens", "baseline", "max_trained_groups", "trained_tokens"),
    "trl": ("rounds", "baseline", "max_trained_groups", "trained_tokens"),
    "prime-rl": ("rounds", "overlong_tokens", "mask_truncated", "kl_beta", "updates_per_episode", "baseline",
        "max_trained_groups", "trained_tokens"),
}  # fmt: skip
TRL_LACKS: Mapping[str, tuple[str, ...]] = {  # likewise, of TRL's other stages
    "sft": ("data", "answers", "prompt", "mix"), "reward-model": ("labels",),
    "rloo": ("scale_rewards", "loss_type", "importance"), "online-dpo": ("trained_tokens",),
}  # fmt: skip


class LaunchInputs(NamedTuple):
    """Holds the inputs of a config: recipe, online stage, prompts, data directory, and GPUs of a node."""

    recipe: Recipe
    stage: str
    settings: GrpoSettings
    rows: Sequence[RlRow]
    data: str
    gpus: int

    @property
    def start(self) -> str:
        """The start as a hub name or a path."""
        return start_of(self.recipe)


def judged_by(trainer: str, recipe: Recipe) -> tuple[str, bool]:
    """Return the kind of the judge's reward, and whether the intent gate applies.

    Raises:
        UsageError: The recipe has another reward.
    """
    reward = recipe.reward
    if isinstance(reward, str) and reward != "model":
        return reward, False
    if (
        len(reward) == 1
        and isinstance(term := reward[0], RewardTerm)
        and term.kind in {"dense", "binary"}
        and (term == RewardTerm(term.kind, traps=term.traps))
    ):
        return term.kind, term.traps
    raise UsageError(
        f"--emit {trainer}: reward = {reward!r} is ours alone. Take 'dense' or 'binary', with or without traps"
    )


def insist(trainer: str, stage: str, settings: OptimizerSettings) -> None:
    """Refuse a setting without a counterpart in the trainer.

    Raises:
        UsageError: A setting has no counterpart; the message names it.
    """
    if settings.merging is not None:
        raise UsageError(f"--emit {trainer}: {stage} has online merging, which is ours alone. Take `merging` out")
    plain, lacks = type(settings)(), LACKS[trainer] if isinstance(settings, GrpoSettings) else ()
    for setting in (*lacks, *(TRL_LACKS.get(stage, ()) if trainer == "trl" else ())):
        if getattr(settings, setting) != getattr(plain, setting):
            raise UsageError(f"--emit {trainer}: it has nothing like {setting} of {stage}. Take it out")


def start_of(recipe: Recipe) -> str:
    """Return the start model as a hub name or a path.

    Raises:
        UsageError: The start is a random model, which only a run of ours has, or gets a chat template.
    """
    if recipe.start.startswith("random/") or recipe.template:
        raise UsageError(
            "--emit: a random start, or a base model with `template`, is made by a run of ours. "
            "Run SFT here and give --start OUT/model"
        )
    if recipe.start.startswith("local/"):
        from adhere.models.local.fetch import model_dir

        return str(model_dir(recipe.start))
    return recipe.start.removeprefix("hf/")


def split_gpus(gpus: int) -> tuple[int, int]:
    """Return how many of a node's GPUs train, and how many draw; a single one does both."""
    return max(1, gpus - gpus // 2), max(1, gpus // 2)


def messages_of(row: RlRow) -> list[dict[str, str]]:
    """Return the row's prompt as messages."""
    if isinstance(row.asked, str):
        return [{"role": "user", "content": row.asked}]
    return [{"role": turn.role, "content": turn.content} for turn in row.asked]


def as_jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def as_word(value: Any) -> str:
    """Write a value as TOML, Hydra and command lines do."""
    return str(value).lower() if isinstance(value, bool) else str(value)
