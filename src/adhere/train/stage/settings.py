"""The settings of a stage that do not depend on its method: what rewards its answers, and what evaluates it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from adhere.pipeline.reward import RewardKind
from adhere.schema import Json, Record
from adhere.train.stages import Stage


class Rule(Record, frozen=True):
    """Describes a constraint that every answer must satisfy, whatever its prompt asks."""

    id: str
    params: dict[str, Json] = {}


class RewardTerm(Record, frozen=True):
    """Describes one term of a reward that is a sum; see `stage.scoring` and docs/guide/rewards.md.

    Attributes:
        kind: `dense`, `binary` and `model` as in `Recipe.reward`; `asked`: a judge model's score; `checklist`: the
            weighted share of the row's column `checklist` that holds; `too-long` and `badly-formed` are penalties in
            [0, 1], for a weight below 0.
        weight: Factor of the term.
        gate: `model`, `asked` and `checklist` count only where the judge gives 1 in this kind, else 0.
        model: For `asked`, and for a checklist's statements: the judge model's name as on the command line.
        rubric: For `asked`: a rubric in place of the default.
        words: For `too-long`: an answer of at most so many words has no penalty.
        over: For `too-long`: with so many words more than `words` the penalty is 1.
        rules: For `badly-formed`.
        traps: For `dense`, `binary` and a gate: 0 for an answer that fulfils the wording of a constraint but not
            its intent (`pipeline.intent.gate`).
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
        """Return why the settings do not fit together, or None."""
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
"""The reward of a recipe that names none: `dense`, but 0 for an answer that does not respond."""


def uses_reward_model(reward: Reward) -> bool:
    """Tell whether the reward uses a trained reward model."""
    return reward == "model" or (not isinstance(reward, str) and any(term.kind == "model" for term in reward))


def reward_trouble(reward: Reward) -> str | None:
    """Return why a sum of terms cannot be a reward, or None."""
    if isinstance(reward, str):
        return None
    if not reward:
        return "reward has no term. Leave it out for the judge's `dense`"
    troubles = ((term, term.trouble()) for term in reward)
    return next((f"reward: the term {term.kind!r} {trouble}" for term, trouble in troubles if trouble), None)


def passing_trouble(stage: Stage, reward: Reward) -> str | None:
    """Return why a stage that learns from passing answers (score 1) cannot have this reward, or None."""
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
    """Describes a small suite that the model answers while it trains; each stage ends with the weights that did best.

    Attributes:
        suite: Its name as on the command line. Weights are chosen by it, so do not report it afterwards.
        every: Optimizer steps between two evaluations; there is one before the first step and one after the last.
        limit: Most prompts of the suite that are asked.
        max_new_tokens: Limit of an answer; None: the suite's own.
    """

    suite: str
    every: Annotated[int, Meta(ge=1)] = 50
    limit: Annotated[int, Meta(ge=1)] = 64
    max_new_tokens: Annotated[int, Meta(ge=1)] | None = None
