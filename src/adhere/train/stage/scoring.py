"""Score the answers of online stages.

The judge, a trained reward model, or a sum of terms gives the scores; a recipe writes them so:

    reward = "dense"                # the share of a prompt's constraints that pass; "binary" and "model" likewise

    [[reward]]                      # a sum: quality counts only where all constraints hold, and length costs
    kind = "asked"
    model = "openai/gpt-4o-mini"
    gate = "binary"
    [[reward]]
    kind = "too-long"
    words = 300
    weight = -0.2

Every term is a function of `adhere.rewards`, as TRL calls it. An answer that is cut or empty gets the judge's reward,
or 0. If a term is None (not measured), so is the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adhere.errors import SpecError
from adhere.models.chat import conversation
from adhere.pipeline.reward import RewardKind
from adhere.rewards.combine import badly_formed, checklist_reward, gated, model_reward, summed, too_long
from adhere.rewards.judge import RewardFunction, judge_reward
from adhere.rewards.parts import parts_of
from adhere.rewards.rows import reward_of
from adhere.schema import RlRow
from adhere.text.reasoning import SplitAnswer, split_answer
from adhere.train.batch.rollout import Answer, Scorer, refs_of_row
from adhere.train.stage.settings import Reward, RewardTerm


def open_scorer(reward: Reward, rows: Sequence[RlRow], *, judge: Path | None, device: str) -> Scorer:
    """Make the scorer of the reward that a recipe or study asks for.

    Args:
        reward: The reward, as the recipe or study writes it.
        rows: The prompts.
        judge: Directory of the trained reward model, if the reward uses one.
        device: Device that the reward model runs on.

    Raises:
        SpecError: A prompt lacks the constraints or the checklist that the reward reads.
    """
    if reward == "model":
        assert judge is not None  # noqa: S101 - a recipe or study without one was refused
        return learned_scorer(rows, judge, device=device)
    return scorer(rows, reward) if isinstance(reward, str) else summed_scorer(rows, reward, judge=judge, device=device)


def scorer(rows: Sequence[RlRow], kind: RewardKind) -> Scorer:
    """Make a scorer of the judge.

    It is `rewards.rows.reward_of`, as for every trainer: reasoning is ignored, and a cut answer fails.

    Raises:
        SpecError: A prompt has no constraints.
    """
    by_id = {row.prompt_id: row for row in rows}
    _insist_on_constraints(rows)
    refs_of = {name: refs_of_row(row) for name, row in by_id.items()}

    def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        refs, profile = refs_of[prompt_id], by_id[prompt_id].profile
        return [
            reward_of(answer.text, refs, kind=kind, mode="reference", profile=profile, is_cut=answer.truncated)
            for answer in answers
        ]

    def parts(prompt_id: str, answers: Sequence[Answer]) -> list[dict[str, float | None]]:
        refs, profile = refs_of[prompt_id], by_id[prompt_id].profile
        components = [
            parts_of(answer.text, refs, "constraint", profile=profile, is_cut=answer.truncated) for answer in answers
        ]
        # By its kind, so that a curve is of one thing; a kind that a prompt asks for twice is two components.
        ids = [ref.id for ref in refs]
        names = [name if ids.count(name) == 1 else f"{name} {place}" for place, name in enumerate(ids, start=1)]
        return [dict(zip(names, component.values(), strict=True)) for component in components]

    score.parts = parts  # type: ignore[attr-defined]
    return score


def learned_scorer(rows: Sequence[RlRow], directory: Path, *, device: str = "cpu") -> Scorer:
    """Make a scorer of a trained reward model: the sigmoid of the model's number, in (0, 1).

    An answer that is cut or empty gets 0. Reasoning is no part of an answer.

    Raises:
        MissingModel: There is no reward model in `directory`.
    """
    from adhere.train.methods.reward_model import RewardModel

    judge = RewardModel.load(directory, device)
    asked_of = {row.prompt_id: row.asked for row in rows}

    def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        responses = [_split(answer) for answer in answers]
        whole = [at for at, response in enumerate(responses) if response.status == "ok"]
        numbers = judge.scores([(asked_of[prompt_id], responses[at].text) for at in whole])
        scores: list[float | None] = [0.0] * len(answers)
        for at, number in zip(whole, numbers, strict=True):
            scores[at] = 1 / (1 + math.exp(-number)) if number > -700 else 0.0
        return scores

    return score


def summed_scorer(
    rows: Sequence[RlRow], terms: Sequence[RewardTerm], *, judge: Path | None = None, device: str = "cpu"
) -> Scorer:
    """Make a scorer of the weighted sum of terms, each behind its gate.

    Raises:
        SpecError: A prompt lacks the constraints or the checklist that a term reads.
    """
    if any(term.kind in {"dense", "binary"} or term.gate for term in terms):
        _insist_on_constraints(rows)
    bare = [row.prompt_id for row in rows if not row.checklist]
    if bare and any(term.kind == "checklist" for term in terms):
        raise SpecError(f"rl.jsonl: prompt {bare[0]!r} has no checklist, and a term of the reward reads it")
    model_scorer = learned_scorer(rows, judge, device=device) if judge is not None else None
    by_id = {row.prompt_id: row for row in rows}
    total = {
        profile: summed(*((term.weight, _function(term, model_scorer, profile)) for term in terms))
        for profile in {row.profile for row in rows}
    }

    def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        row = by_id[prompt_id]
        columns: dict[str, list[Any]] = {
            "prompt_id": [prompt_id],
            "instruction_id_list": [list(row.instruction_id_list)],
            "kwargs": [list(row.kwargs)],
            "checklist": [list(row.checklist)],
        }
        return total[row.profile](
            prompts=[row.asked if isinstance(row.asked, str) else conversation(row.asked)] * len(answers),
            completions=[answer.text for answer in answers],
            is_truncated=[answer.truncated for answer in answers],
            **{name: value * len(answers) for name, value in columns.items()},
        )

    return score


def _function(term: RewardTerm, model_scorer: Scorer | None, profile: str | None) -> RewardFunction:
    """Return one term as a reward function. An answer that is cut or empty gets 0 from every term but the penalties."""
    function: RewardFunction
    match term.kind:
        case "dense" | "binary":
            return judge_reward(term.kind, profile=profile, traps=term.traps)
        case "too-long":
            return too_long(words=term.words, over=term.over)
        case "badly-formed":
            return badly_formed(*((rule.id, rule.params) for rule in term.rules))
        case "model":
            function = _by_prompt(model_scorer)
        case "asked":
            function = model_reward(term.model, rubric=term.rubric or None)
        case "checklist":
            function = checklist_reward(term.model or None)
    function = _whole_only(function)
    return (
        function
        if term.gate is None
        else gated(function, by=judge_reward(term.gate, profile=profile, traps=term.traps))
    )


def _by_prompt(score: Scorer | None) -> RewardFunction:
    """Return a scorer of answers to prompts as a reward function that finds the prompt by the column `prompt_id`."""
    assert score is not None  # noqa: S101 - a recipe or study without a reward model was refused

    def reward(completions: Sequence[str], prompt_id: Sequence[str], **_: Any) -> list[float | None]:
        pairs = zip(prompt_id, completions, strict=True)
        return [score(name, [Answer(text, truncated=False)])[0] for name, text in pairs]

    return reward


def _whole_only(reward: RewardFunction) -> RewardFunction:
    """Return `reward` for answers that are neither cut nor empty; the others get 0 without a call."""

    def of_whole(
        prompts: Sequence[Any], completions: Sequence[str], is_truncated: Sequence[bool], **columns: Any
    ) -> list[float | None]:
        answers = map(Answer, completions, is_truncated)
        whole = [at for at, answer in enumerate(answers) if _split(answer).status == "ok"]
        scores: list[float | None] = [0.0] * len(completions)
        if whole:
            whole_columns = {name: [values[at] for at in whole] for name, values in columns.items()}
            values = reward(
                prompts=[prompts[at] for at in whole], completions=[completions[at] for at in whole], **whole_columns
            )
            for at, value in zip(whole, values, strict=True):
                scores[at] = value
        return scores

    return of_whole


def _split(answer: Answer) -> SplitAnswer:
    """Split the answer from its reasoning; the status is `ok` if it is neither cut nor empty."""
    return split_answer(answer.text, "truncated" if answer.truncated else "ok")


def _insist_on_constraints(rows: Sequence[RlRow]) -> None:
    bare = [row.prompt_id for row in rows if not row.instruction_id_list]
    if bare:
        raise SpecError(
            f"rl.jsonl: prompt {bare[0]!r} has no constraints, so its answers have no reward. Drop such rows"
        )
