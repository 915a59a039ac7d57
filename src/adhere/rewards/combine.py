"""Rewards made of rewards: sums, gates, penalties and checklists. Each takes and returns functions as TRL calls them.

    reward = summed((1.0, judge_reward("dense")), (-0.2, too_long(words=200)))
    reward = gated(model_reward("openai/gpt-4o-mini"), by=judge_reward("binary"))

If a part is None (not measured), so is the whole: a trainer leaves the row out instead of learning from a guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adhere.errors import UsageError
from adhere.models.base import Model
from adhere.pipeline.judge_model.critic import Critic
from adhere.rewards.judge import RewardFunction
from adhere.rewards.rows import answer_of, refs_of, reward_of
from adhere.schema import Mode
from adhere.shapes.messages import read_message, without_calls
from adhere.text.reasoning import split_reasoning
from adhere.text.words import count_words


def summed(*terms: tuple[float, RewardFunction]) -> RewardFunction:
    """Make the weighted sum of rewards. Weights may be negative; nothing is normalised.

    Raises:
        UsageError: There is no term, or a weight is not a finite number.
    """
    if not terms:
        raise UsageError("summed() needs at least one (weight, reward)")
    for weight, _ in terms:
        if not math.isfinite(weight):
            raise UsageError(f"summed(): the weight {weight!r} must be a finite number")

    def total(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        term_rewards = [reward(prompts=prompts, completions=completions, **columns) for _, reward in terms]
        weights = [weight for weight, _ in terms]
        return [
            None
            if any(value is None for value in row)
            else sum(w * v for w, v in zip(weights, row, strict=True) if v is not None)
            for row in zip(*term_rewards, strict=True)
        ]

    total.__name__ = "plus".join(_name(reward) for _, reward in terms)
    return total


def gated(
    reward: RewardFunction, *, by: RewardFunction, at_least: float = 1.0, otherwise: float = 0.0
) -> RewardFunction:
    """Make a reward that is `reward` where `by` gives at least `at_least`, and `otherwise` elsewhere.

    Quality thus counts only if the requirements hold. Where `by` gives None, the result is None; a None of `reward`
    counts only where `by` gives enough. `reward` is called with all rows, so that they go out as one batch.
    """

    def gate(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        doors = by(prompts=prompts, completions=completions, **columns)
        values = reward(prompts=prompts, completions=completions, **columns)
        return [
            None if door is None else value if door >= at_least else otherwise
            for door, value in zip(doors, values, strict=True)
        ]

    gate.__name__ = f"{_name(reward)}_gated_by_{_name(by)}"
    return gate


def too_long(*, words: int, over: int = 100) -> RewardFunction:
    """Make a penalty in [0, 1] to subtract.

    It is 0 up to `words` words of the answer and rises to 1 at `over` words more (DAPO's soft form).

    Raises:
        UsageError: A number is below 1.
    """
    if words < 1 or over < 1:
        raise UsageError(f"too_long(words={words}, over={over}): both must be at least 1")

    def too_long_penalty(
        prompts: Sequence[Any] | None = None,  # noqa: ARG001 - TRL passes it by name
        completions: Sequence[Any] = (),
        **columns: Any,  # noqa: ARG001
    ) -> list[float | None]:
        counts = [None if text is None else count_words(text) for text in _answers(completions)]
        return [None if count is None else min(1.0, max(0, count - words) / over) for count in counts]

    return too_long_penalty


def badly_formed(*refs: tuple[str, Mapping[str, Any]], mode: Mode = "reference") -> RewardFunction:
    """Make a penalty to subtract: 1 for an answer that breaks one of these constraints, else 0.

    The constraints apply to every row, besides the row's own.

    Raises:
        UsageError: No constraint is given. When called, a constraint that cannot be judged raises as in the judge.
    """
    if not refs:
        raise UsageError('badly_formed() needs constraints, such as ("punctuation:no_comma", {})')
    rules = refs_of([name for name, _ in refs], [dict(params) for _, params in refs])

    def badly_formed_penalty(
        prompts: Sequence[Any] | None = None,  # noqa: ARG001
        completions: Sequence[Any] = (),
        **columns: Any,  # noqa: ARG001
    ) -> list[float | None]:
        passes = [reward_of(answer_of(completion), rules, kind="binary", mode=mode) for completion in completions]
        return [None if reward is None else 1.0 - reward for reward in passes]

    return badly_formed_penalty


def model_reward(model: str | Model, *, rubric: str | None = None, **settings: Any) -> RewardFunction:
    """Make a reward of a judge model's score in [0, 1]; None if its reply is not the JSON asked for.

    Args:
        model: A Model, or its name as on the command line.
        rubric: The rubric; see `pipeline.judge_model.critic.Critic`.
        settings: `scale`, `draws`, `temperature`, `max_new_tokens`, `seed`.
    """
    critic = Critic(_open(model), rubric=rubric, **settings)

    def judge_model(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        **columns: Any,  # noqa: ARG001
    ) -> list[float | None]:
        texts = _answers(completions)
        exchanges = [(_request(prompt), text) for prompt, text in _pair_up(prompts, texts) if text is not None]
        opinions = iter(critic.opinions(exchanges))
        return [None if text is None else next(opinions).score for text in texts]

    return judge_model


def checklist_reward(
    model: str | Model | None = None, *, column: str = "checklist", mode: Mode = "reference"
) -> RewardFunction:
    """Make a reward of the weighted share of a row's checklist that holds.

    Programs decide the items that name a constraint, a model the others. An item is `{"id": …, "kwargs": {…}, "weight":
    1}` (a constraint) or `{"text": …, "weight": 1}` (a statement for the model). A statement's part is the share of the
    model's readable draws that say it holds; without any, the row is None.

    Args:
        model: The model that decides statements; None: rows may only name constraints.
        column: The column with a row's list of items.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.

    Raises:
        UsageError: When called: the column is missing, a row has no items, or an item is neither of the two.
    """
    critic = Critic(_open(model)) if model is not None else None

    def checklist(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        if column not in columns or len(columns[column]) != len(completions):
            raise UsageError(f"The checklist reward needs the column {column!r} with one list of items a completion")
        texts = _answers(completions)
        lists = [_items(items) for items in columns[column]]
        shares_by_row: list[list[float | None]] = [[] for _ in lists]
        places = [
            place
            for place, items in enumerate(lists)
            if texts[place] is not None and any(item.text is not None for item in items)
        ]
        if places:
            if critic is None or prompts is None:
                raise UsageError(
                    "The checklist has statements for a model: give checklist_reward a model, and call it with prompts"
                )
            questions = [
                (
                    _request(prompts[place]),
                    texts[place] or "",
                    [item.text for item in lists[place] if item.text is not None],
                )
                for place in places
            ]
            for place, shares in zip(places, critic.holds(questions), strict=True):
                shares_by_row[place] = shares
        return [
            _weigh(items, text, shares, mode) for items, text, shares in zip(lists, texts, shares_by_row, strict=True)
        ]

    return checklist


class _Item:
    """One item of a checklist: a constraint or a statement, and its weight."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        weight = item.get("weight", 1.0)
        self.weight: float = 1.0 if weight is None else weight
        self.text: str | None = item.get("text")
        self.id: str | None = item.get("id")
        if (self.text is None) == (self.id is None):
            raise UsageError(f"A checklist's item has either `text` or `id` (with `kwargs`), got {dict(item)!r}")
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < math.inf:
            raise UsageError(f"A checklist's weight must be a number above 0, got {self.weight!r}")
        self.refs = refs_of([self.id], [item.get("kwargs") or {}]) if self.id is not None else ()


def _items(items: Any) -> list[_Item]:
    if (
        not isinstance(items, Sequence)
        or isinstance(items, str)
        or not items
        or not all(isinstance(entry, Mapping) for entry in items)
    ):
        raise UsageError(f"A checklist is a list of at least one item, got {items!r:.80}")
    return [_Item(entry) for entry in items]


def _weigh(items: Sequence[_Item], text: str | None, shares: Sequence[float | None], mode: Mode) -> float | None:
    if text is None:
        return None
    answers = iter(shares)
    values = [
        next(answers) if item.text is not None else reward_of(text, item.refs, kind="binary", mode=mode)
        for item in items
    ]
    weight_values = [(item.weight, value) for item, value in zip(items, values, strict=True) if value is not None]
    if len(weight_values) < len(items):
        return None
    return sum(weight * value for weight, value in weight_values) / sum(weight for weight, _ in weight_values)


def _pair_up(prompts: Sequence[Any] | None, completions: Sequence[Any]) -> list[tuple[Any, Any]]:
    if prompts is None or len(prompts) != len(completions):
        raise UsageError(
            f"A judge model needs one prompt a completion, got {0 if prompts is None else len(prompts)} "
            f"for {len(completions)}"
        )
    return list(zip(prompts, completions, strict=True))


def _request(prompt: Any) -> str:
    """Return a prompt as text: a text unchanged, messages one after the other with their roles."""
    if isinstance(prompt, str):
        return prompt
    turns = [read_message(turn, "A prompt") for turn in prompt]
    return "\n\n".join(f"[{turn.role}] {turn.text or ''}" for turn in turns)


def _answers(completions: Sequence[Any]) -> list[str | None]:
    """Return the text of each answer without its reasoning and tool calls; None if there is none."""
    raw_answers = map(answer_of, completions)
    return [None if text is None else without_calls(split_reasoning(text)[1]) for text in raw_answers]


def _open(model: str | Model) -> Model:
    if not isinstance(model, str):
        return model
    from adhere.models.catalog import open_model

    return open_model(model)


def _name(reward: RewardFunction) -> str:
    return str(getattr(reward, "__name__", "reward"))
