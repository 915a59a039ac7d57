"""The settings of a stage beside its method's: what rewards its answers, and what it is looked at by."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from adhere.pipeline.reward import RewardKind
from adhere.schema import Json, Record
from adhere.train.stages import Stage


class Rule(Record, frozen=True):
    """A constraint that every answer owes, whatever its prompt asks."""

    id: str
    params: dict[str, Json] = {}


class RewardTerm(Record, frozen=True):
    """One term of a reward that is a sum; see `stage.scoring` and docs/guide/rewards.md.

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
        """Return what its keys say that does not go together, or None."""
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
PAID_BY_DEFAULT: Reward = (RewardTerm("dense", traps=True),)
"""What a recipe pays where its file names no reward: an answer that does not respond earns 0."""


def uses_reward_model(reward: Reward) -> bool:
    """Tell whether a trained reward model has a part in it."""
    return reward == "model" or (not isinstance(reward, str) and any(term.kind == "model" for term in reward))


def reward_trouble(reward: Reward) -> str | None:
    """Why a sum of terms cannot be a reward, or None."""
    if isinstance(reward, str):
        return None
    if not reward:
        return "reward has no term. Leave it out for the judge's `dense`"
    troubles = ((term, term.trouble()) for term in reward)
    return next((f"reward: the term {term.kind!r} {trouble}" for term, trouble in troubles if trouble), None)


def passing_trouble(stage: Stage, reward: Reward) -> str | None:
    """Why a stage that learns from answers that pass, which are those of score 1, cannot have this reward, or None."""
    if not stage.needs_passing:
        return None
    if isinstance(reward, str):
        gives_1 = reward != "model"
    else:
        gains = [term for term in reward if term.weight > 0]
        gives_1 = sum(term.weight for term in gains) == 1 and all(term.kind != "model" for term in gains)
    if gives_1:
        return None
    return (
        f"{stage.name!r} learns from answers of score 1, and this reward has another best score. Take 'dense' or "
        "'binary', or a sum whose weights above 0 add up to 1 and are none of a reward model"
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
