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
from adhere.pipeline.reward import RewardKind
from adhere.schema import Json, Record, convert
from adhere.train.loop import OptimizerSettings
from adhere.train.stages import STAGES, Stage

__all__ = [
    "MATRICES",
    "Lora",
    "Recipe",
    "Reward",
    "RewardTerm",
    "StageSpec",
    "WatchSpec",
    "passing_trouble",
    "reward_trouble",
    "settle_reward",
    "uses_reward_model",
]

Matrix = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
MATRICES: tuple[Matrix, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
PRESETS = Path(__file__).parent / "presets"


def settle_reward(document: dict[str, Any]) -> None:
    """Let a single table `[reward]` stand for a sum of one term; without a kind it is `dense`."""
    table = document.get("reward")
    if isinstance(table, dict):
        document["reward"] = [{"kind": "dense", **table}]


class BadSetting(SpecError):
    """A stage's setting is wrong; `setting` is its name, where one is to blame."""

    def __init__(self, message: str, setting: str | None) -> None:
        super().__init__(message)
        self.setting = setting


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
                raise BadSetting(
                    f"Stage {self.stage!r} has no setting {name!r}.{nearest(name, known)} Settings: {', '.join(known)}",
                    name,
                )
        try:
            return convert(self.settings, kind)
        except msgspec.ValidationError as error:
            setting = re.search(r"`\$\.(\w+)", str(error))
            value = f" (got {self.settings[setting[1]]!r})" if setting else ""
            raise BadSetting(f"Stage {self.stage!r}: {error}{value}", setting[1] if setting else None) from error


class Lora(Record, frozen=True):
    """A low-rank adapter that is trained instead of the model's matrices, and merged into them after each stage.

    See `recipe.lora`.

    Attributes:
        rank: Of its factors.
        alpha: What they add is multiplied by alpha / rank.
        targets: Which matrices of every layer have one. Embeddings, head and norms stay as they are.
    """

    rank: Annotated[int, Meta(ge=1)] = 16
    alpha: Annotated[float, Meta(gt=0)] = 32.0
    targets: Annotated[tuple[Matrix, ...], Meta(min_length=1)] = MATRICES


class Rule(Record, frozen=True):
    """A constraint that every answer owes, whatever its prompt asks."""

    id: str
    params: dict[str, Json] = {}


class RewardTerm(Record, frozen=True):
    """One term of a reward that is a sum; see `recipe.scoring` and docs/guide/rewards.md.

    Attributes:
        kind: `dense`, `binary` and `model` as in `Recipe.reward`; `asked`: a judge model's score; `checklist`: the
            weighted share of the row's column `checklist` that holds; `too-long` and `badly-formed` are penalties in
            [0, 1], for a weight below 0.
        weight: What it is multiplied by.
        gate: `model`, `asked` and `checklist` count only where the judge gives 1 in this kind, else 0.
        model: Of `asked`, and of a checklist's statements: its name as on the command line.
        rubric: Of `asked`, instead of its own.
        words: Of `too-long`: up to so many nothing is lost, and all at `over` words more.
        over: Likewise.
        rules: Of `badly-formed`.
        traps: Of `dense`, `binary` and a gate: 0 for an answer that keeps the letter and not the intent
            (`pipeline.intent.gate`).
    """

    kind: Literal["dense", "binary", "model", "asked", "checklist", "too-long", "badly-formed"]
    weight: float = 1.0
    gate: RewardKind | None = None
    model: str = ""
    rubric: str = ""
    words: Annotated[int, Meta(ge=1)] = 300
    over: Annotated[int, Meta(ge=1)] = 100
    rules: tuple[Rule, ...] = ()
    traps: bool = False

    def trouble(self) -> str | None:
        """What its keys say that does not go together, or None."""
        if self.kind == "asked" and not self.model:
            return "needs `model`, the judge model's name"
        if self.kind == "badly-formed" and not self.rules:
            return "needs `rules`, such as [{ id = 'punctuation:no_comma' }]"
        if self.gate is not None and self.kind not in {"model", "asked", "checklist"}:
            return "takes no gate, for it is no answer's quality"
        if self.traps and self.gate is None and self.kind not in {"dense", "binary"}:
            return "takes traps = true with a gate only, for then the judge is asked"
        return None


Reward = RewardKind | Literal["model"] | tuple[RewardTerm, ...]


def uses_reward_model(reward: Reward) -> bool:
    """Whether a trained reward model has a part in it."""
    return reward == "model" or (not isinstance(reward, str) and any(term.kind == "model" for term in reward))


def reward_trouble(reward: Reward) -> str | None:
    """Why a sum of terms cannot be a reward, or None."""
    if isinstance(reward, str):
        return None
    if not reward:
        return "reward has no term. Leave it out for the judge's `dense`"
    found = ((term, term.trouble()) for term in reward)
    return next((f"reward: the term {term.kind!r} {trouble}" for term, trouble in found if trouble), None)


def passing_trouble(stage: str, reward: Reward) -> str | None:
    """Why a stage that learns from answers that pass, which are those of score 1, cannot have this reward, or None."""
    if stage not in {"rft", "hir"}:
        return None
    if isinstance(reward, str):
        gives_1 = reward != "model"
    else:
        gains = [term for term in reward if term.weight > 0]
        gives_1 = sum(term.weight for term in gains) == 1 and all(term.kind != "model" for term in gains)
    if gives_1:
        return None
    return (
        f"{stage!r} learns from answers of score 1, and this reward has another best score. Take 'dense' or 'binary', "
        "or a sum whose weights above 0 add up to 1 and are none of a reward model"
    )


class WatchSpec(Record, frozen=True):
    """A small suite that the model answers while it trains; each stage ends with the weights of its best look.

    Attributes:
        suite: As on the command line. Weights are chosen by it, so it is none to report afterwards.
        every: Optimizer steps between two looks; there is one before the first step and one after the last.
        limit: At most so many of its prompts.
        max_new_tokens: Limit of an answer; None: the suite's.
    """

    suite: str
    every: Annotated[int, Meta(ge=1)] = 50
    limit: Annotated[int, Meta(ge=1)] = 64
    max_new_tokens: Annotated[int, Meta(ge=1)] | None = None


class Recipe(Record, frozen=True):
    """Stages that are run one after the other on one model.

    Attributes:
        name: Of the output directory and the model card.
        stages: In order; without any, the model stays as it is.
        start: `local/NAME`, `hf/PATH`, a directory of safetensors, or `random/2m` (a random model, to try a recipe on).
        template: A chat template for a base model, `chatml` or the path of a Jinja template; its tokens are trained.
            Empty: the model's own.
        data: A directory with sft.jsonl, pairs.jsonl and rl.jsonl; what no stage needs may be missing.
        seed: Of every order and draw.
        precision: `auto` takes what is fastest on this machine, once; it is stored and kept when the recipe is resumed.
        lora: Train a low-rank adapter in every stage that yields weights; None: the weights themselves.
        reward: Of online stages: `dense`, the share of a prompt's constraints that pass; `binary`, whether all do;
            `model`, the sigmoid of what the recipe's last reward model says (a stage `reward-model` before them), 0 for
            an answer that is cut or empty; or a sum of terms (`[[reward]]`, or one as `[reward]`; see `RewardTerm`).
        watch: A small suite that is looked at while stages train.
        push: Where on a hub the result is sent, `OWNER/NAME`, by the hub's own client with its own key; empty: nowhere.
        guards: Whether a run that is being wasted is stopped, or only warned of.
        against: Suites (`adhere list suites`; a file's path is relative to where the command runs) whose test items no
            training prompt may repeat. Empty: nothing is compared, and the model card says so.
        about: For the model card.
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
    reward: Reward = "dense"
    watch: WatchSpec | None = None
    push: str = ""
    guards: Literal["stop", "warn"] = "stop"
    against: tuple[str, ...] = ()
    about: str = ""
    published: Mapping[str, str] = {}
    origin: Mapping[str, str] = {}

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
        if (trouble := reward_trouble(self.reward)) is not None:
            raise SpecError(f"Recipe {self.name!r}: {trouble}")
        for number, (stage, _) in enumerate(found, start=1):
            if (trouble := passing_trouble(stage.name, self.reward)) is not None:
                raise SpecError(f"Recipe {self.name!r}, stage {number}: {trouble}")
        if uses_reward_model(self.reward):
            judged = False
            for number, (stage, _) in enumerate(found, start=1):
                if stage.online and not judged:
                    raise SpecError(
                        f"Recipe {self.name!r}, stage {number}: reward = 'model', "
                        f"and no stage before {stage.name!r} leaves a reward model. "
                        "Put a stage 'reward-model' before it"
                    )
                judged = judged or stage.yields == "reward-model"
        return found
