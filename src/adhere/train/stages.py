"""The stages a recipe may name: their settings, the data they eat, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from adhere.plugins import Registry
from adhere.schema import Json
from adhere.train import dpo, grpo, online_dpo, sft
from adhere.train.ledger import StageResult
from adhere.train.loop import OptimizerSettings
from adhere.train.provenance import Provenance

__all__ = ["STAGES", "Data", "Stage", "describe", "provenance_rows"]

Data = Literal["sft", "pairs", "rl", "chosen"]
"""`sft`: SftRow; `pairs`: PairRow; `rl`: RlRow; `chosen`: SftRow made of pairs by `rows.chosen_rows`."""


class Stage(NamedTuple):
    """One way of training.

    `run(model, tokenizer, rows, settings, *, seed, progress)`, and with `score` where `online`, trains the model in place.
    """

    name: str
    summary: str
    settings: type[OptimizerSettings]
    data: Data
    run: Callable[..., StageResult]
    provenance: Mapping[str, Provenance]

    @property
    def online(self) -> bool:
        """It draws answers while it trains, so `run` takes a `score`."""
        return self.data == "rl"

    def eats(self, settings: OptimizerSettings) -> Data:
        """The rows that this stage needs with these settings."""
        return settings.data if isinstance(settings, sft.SftSettings) else self.data


STAGES: Registry[Stage] = Registry("stage", group="adhere.stages", listing="adhere list stages")

for _stage in (
    Stage("sft", "supervised fine-tuning on verified answers", sft.SftSettings, "sft", sft.sft, sft.PROVENANCE),
    Stage("more-sft", "the control of equal compute", sft.MoreSftSettings, "sft", sft.sft, sft.PROVENANCE),
    Stage("dpo", "DPO on stored pairs (offline RL)", dpo.DpoSettings, "pairs", dpo.dpo, dpo.PROVENANCE),
    Stage(
        "online-dpo",
        "DPO on pairs of the policy's own fresh answers",
        online_dpo.OnlineDpoSettings,
        "rl",
        online_dpo.online_dpo,
        online_dpo.PROVENANCE,
    ),
    Stage("grpo", "GRPO (online RL)", grpo.GrpoSettings, "rl", grpo.grpo, grpo.PROVENANCE),
):
    STAGES.add(_stage.name, _stage, owner="adhere")


def provenance_rows(stage: Stage, settings: OptimizerSettings) -> list[dict[str, Json]]:
    """One row a setting with a known origin: setting, stated, ours (the default), used (in `settings`), why."""
    rows: list[dict[str, Json]] = []
    for name, origin in stage.provenance.items():
        used: Any = getattr(settings, name, None)
        rows.append({"setting": name, "stated": origin.stated, "ours": origin.ours, "used": used, "why": origin.why})
    return rows


def describe() -> list[dict[str, Json]]:
    """One row a registered stage, for listings."""
    stages = [STAGES.get(name) for name in STAGES]
    return [
        {"stage": stage.name, "data": stage.data, "online": stage.online, "does": stage.summary} for stage in stages
    ]
