"""The judge as a reward function for TRL (and for anything that calls rewards the way TRL does).

    trainer = GRPOTrainer(model, reward_funcs=judge_reward(kind="dense"), train_dataset=rows)

The dataset needs two columns beside `prompt`: `instruction_id_list` and `kwargs`, as in IFEval and in our own RL rows.
Nothing here imports trl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adhere.constraints.resolve import Mode
from adhere.errors import UsageError
from adhere.pipeline.reward import RewardKind
from adhere.rewards.rows import COLUMNS, answer_of, checked_kind, refs_of, reward_of

RewardFunction = Callable[..., list[float | None]]


def judge_reward(kind: RewardKind = "dense", *, mode: Mode = "reference", profile: str | None = None) -> RewardFunction:
    """A reward function `f(prompts, completions, **columns) -> list[float | None]`.

    It judges exactly as an evaluation does (strict view, reasoning removed). A row is None, which TRL leaves out of the
    group's statistics, where there is no measurement: a verifier failed, or the row has no constraints. It is never 0
    for that reason. Other columns are accepted and not looked at.

    Args:
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only where all pass.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite, where there are several.

    Raises:
        UsageError: `kind` is unknown. When called: a column is missing, or its rows do not fit the completions.
        UnknownName, BadParameter: When called: a row holds a constraint that cannot be judged.
    """
    kind = checked_kind(kind)

    def judge(
        prompts: Sequence[Any] | None = None,  # noqa: ARG001 - TRL passes it by name
        completions: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        if completions is None:
            raise UsageError("The reward was called without completions")
        ids_P, kwargs_P = _columns(columns, len(completions))
        return [
            reward_of(answer_of(completion), refs_of(ids, kwargs), kind=kind, mode=mode, profile=profile)
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
