"""The judge as a reward function for TRL (and for anything that calls rewards the way TRL does).

    trainer = GRPOTrainer(model, reward_funcs=judge_reward(kind="dense"), train_dataset=rows)

The dataset needs two columns beside `prompt`: `instruction_id_list` and `kwargs`, as in IFEval and in our own RL rows.
Nothing here imports trl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adhere.errors import UsageError
from adhere.pipeline.judge import judge_text
from adhere.pipeline.reward import REWARD_KINDS, RewardKind, reward
from adhere.schema import ConstraintRef
from adhere.text.reasoning import split_reasoning

RewardFunction = Callable[..., list[float | None]]
COLUMNS = ("instruction_id_list", "kwargs")


def judge_reward(kind: RewardKind = "dense") -> RewardFunction:
    """A reward function `f(prompts, completions, **columns) -> list[float | None]`.

    It judges exactly as an evaluation does (strict view, reasoning removed). A row is None, which TRL leaves out of the
    group's statistics, where there is no measurement: a verifier failed, or the row has no constraints. It is never 0
    for that reason. Other columns are accepted and not looked at.

    Args:
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only where all pass.

    Raises:
        UsageError: `kind` is unknown. When called: a column is missing, or its rows do not fit the completions.
        UnknownName, BadParameter: When called: a row holds a constraint that cannot be judged.
    """
    if kind not in REWARD_KINDS:
        raise UsageError(f"Unknown reward kind {kind!r}. It is one of {', '.join(map(repr, REWARD_KINDS))}")

    def judge(
        prompts: Sequence[Any] | None = None,  # noqa: ARG001 - TRL passes it by name
        completions: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        if completions is None:
            raise UsageError("The reward was called without completions")
        ids_P, kwargs_P = _columns(columns, len(completions))
        return [
            reward(judge_text(_answer(completion), _refs(ids, kwargs), ("strict",)), kind=kind)
            for completion, ids, kwargs in zip(completions, ids_P, kwargs_P, strict=True)
        ]

    judge.__name__ = f"judge_{kind}"  # TRL logs rewards under the function's name
    return judge


def _columns(columns: Mapping[str, Any], n: int) -> tuple[Sequence[Any], Sequence[Any]]:
    for name in COLUMNS:
        if name not in columns:
            raise UsageError(
                f"The reward needs the column {name!r}, and the dataset has {', '.join(sorted(columns)) or 'no others'}. "
                f"Rows built by `adhere build` carry {' and '.join(COLUMNS)}; keep remove_unused_columns=False"
            )
        if len(columns[name]) != n:
            raise UsageError(f"Column {name!r} has {len(columns[name])} rows for {n} completions")
    return columns[COLUMNS[0]], columns[COLUMNS[1]]


def _refs(ids: Sequence[str] | None, kwargs: Sequence[Mapping[str, Any] | None] | None) -> list[ConstraintRef]:
    """One row's constraints. Arrow gives every row of a column the same keys, filled with None: those are not parameters."""
    ids, kwargs = ids or [], kwargs or []
    if len(ids) != len(kwargs):
        raise UsageError(f"instruction_id_list names {len(ids)} constraints ({', '.join(ids)}), kwargs {len(kwargs)}")
    return [
        ConstraintRef(id, {name: value for name, value in (params or {}).items() if value is not None})
        for id, params in zip(ids, kwargs, strict=True)  # noqa: A001 - the field's word
    ]


def _answer(completion: Any) -> str:
    """The text that is judged: the completion, or the last message of a conversational one, without its reasoning."""
    if not isinstance(completion, str):
        try:
            completion = completion[-1]["content"]
        except (IndexError, KeyError, TypeError) as error:
            raise UsageError(
                f"A completion must be a text or a list of messages with a content, got {completion!r}"
            ) from error
        if not isinstance(completion, str):
            raise UsageError(f"A completion's content must be a text, got {type(completion).__name__}")
    return split_reasoning(completion)[1]
