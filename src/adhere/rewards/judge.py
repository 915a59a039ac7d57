"""The judge as a reward function for TRL (and for anything that calls rewards the way TRL does).

    trainer = GRPOTrainer(model, reward_funcs=judge_reward("dense", end_tokens=model), train_dataset=rows)

The dataset needs two columns beside `prompt`: `instruction_id_list` and `kwargs`, as in IFEval and in our own RL rows.
Nothing here imports trl.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adhere.errors import UsageError
from adhere.pipeline.reward import RewardKind
from adhere.rewards.ends import end_tokens_of
from adhere.rewards.rows import COLUMNS, Coverage, answer_of, asked_in, insist_on_words, is_cut_by, refs_of, reward_of
from adhere.schema import CutAnswers, Mode
from adhere.shapes.messages import is_listed

RewardFunction = Callable[..., list[float | None]]
FEWEST_ALL_CUT = 2


class CutsUnseen(UserWarning):
    """The trainer passes tokens, and nobody said which of them end an answer.

    So answers that were cut count as complete.
    """


class AllCut(UserWarning):
    """No answer of a batch ends in one of the end tokens, so all count as cut and earn 0."""


def judge_reward(
    kind: RewardKind = "dense",
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    cut_answers: CutAnswers = "fail",
    end_tokens: Any = None,
    most_unmeasured: float = 0.5,
    traps: bool = False,
    rows: Any = None,
) -> RewardFunction:
    """A reward function `f(prompts, completions, **columns) -> list[float | None]`.

    It judges exactly as an evaluation does (strict view, reasoning removed, an answer that was cut at its token limit
    fails). A row is None where its answer was not measured (`pipeline.reward`): TRL leaves it out of its group's
    statistics and gives it the advantage 0. Its tokens still count in what TRL divides the loss by. TRL logs the share
    as `unmeasured_share`. Other columns are accepted and not looked at.

    An answer was cut where a column `is_truncated`, `truncated`, `finish_reason`, `stop_reason` or `status` says so, or
    else where its `completion_ids`, which TRL passes, do not end in one of `end_tokens`. Where neither is known every
    answer counts as complete; a `CutsUnseen` warning says so once where `end_tokens` would have helped. An `AllCut`
    warning says once that every answer of a batch seems cut, as they do where an end token is missing.

    Beside other functions in `reward_funcs` a None of this one becomes 0 (TRL leaves a row out only where all functions
    gave None): put them into one by `adhere.rewards.summed`.

    Args:
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only where all pass.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite, where there are several.
        cut_answers: Whether an answer that was cut fails, or is judged as it stands, as published suites do.
        end_tokens: The tokens with which the model ends an answer: best the model itself, whose generation config lists
            all of them; see `ends.end_tokens_of`.
        traps: Whether an answer that keeps the letter and not the intent (`pipeline.intent.gate`) gets 0.
        rows: The data set that will be trained on: every row is looked at now (`rewards.check.check_rows`), and one
            that cannot be judged is named before hours are spent.
        most_unmeasured: The share of answers without a measurement above which the training is stopped, from the
            hundredth on.

    Raises:
        TooFewMeasurements: When called: there were more of them.
        UsageError: One of the words is unknown. When called: a column is missing, or its rows do not fit the
            completions.
        UnknownName, BadParameter: When called: a row holds a constraint that cannot be judged.
    """
    insist_on_words(kind, mode, profile, cut_answers)
    if rows is not None:
        from adhere.rewards.check import check_rows

        check_rows(rows, mode=mode, profile=profile, traps=traps)
    seen = Coverage(most_unmeasured)
    cuts = _Cuts(end_tokens_of(end_tokens))

    def judge(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        if completions is None:
            raise UsageError("The reward was called without completions")
        ids_P, kwargs_P = _columns(columns, len(completions))
        cut_P = cuts.of(columns, len(completions)) if cut_answers == "fail" else [None] * len(completions)
        if traps and (prompts is None or len(prompts) != len(completions)):
            raise UsageError("With traps=True the reward needs one prompt a completion, which it is called without")
        asked_P = [asked_in(prompt) for prompt in prompts] if traps and prompts else [None] * len(completions)
        rewards = [
            reward_of(
                answer_of(completion),
                refs_of(ids, kwargs),
                kind=kind,
                mode=mode,
                profile=profile,
                is_cut=is_cut,
                cut_answers=cut_answers,
                asked=asked,
            )
            for completion, ids, kwargs, is_cut, asked in zip(completions, ids_P, kwargs_P, cut_P, asked_P, strict=True)
        ]
        seen.see(rewards)
        if rewards and callable(log := columns.get("log_metric")):
            log("unmeasured_share", sum(reward is None for reward in rewards) / len(rewards))
        return rewards

    judge.__name__ = f"judge_{kind}"  # TRL logs rewards under the function's name
    return judge


class _Cuts:
    """Sees which answers were cut at their token limit.

    Args:
        ends: The tokens that end an answer; none: `completion_ids` say nothing.
    """

    def __init__(self, ends: frozenset[int]) -> None:
        self._ends = ends
        self._is_told = False

    def of(self, columns: Mapping[str, Any], n: int) -> list[bool | None]:
        """Whether each completion was cut; None where nobody says."""
        rows = {name: column for name, column in columns.items() if is_listed(column) and len(column) == n}
        said = [is_cut_by({name: column[number] for name, column in rows.items()}) for number in range(n)]
        tokens_P = rows.get("completion_ids")
        if tokens_P is None or None not in said:
            return said
        if not self._ends:
            warnings.warn(
                "judge_reward cannot see which answers were cut at the token limit, so they count as complete, and an "
                "evaluation would fail them. Give it end_tokens=model, or say cut_answers='judge'",
                CutsUnseen,
                stacklevel=4,
            )
            return said
        by_tokens = [len(tokens) == 0 or int(tokens[-1]) not in self._ends for tokens in tokens_P]
        self._tell(by_tokens, tokens_P)
        return [by_tokens[number] if one is None else one for number, one in enumerate(said)]

    def _tell(self, by_tokens: Sequence[bool], tokens_P: Sequence[Any]) -> None:
        if self._is_told or len(by_tokens) < FEWEST_ALL_CUT or not all(by_tokens):
            return
        self._is_told = True
        last = sorted({int(tokens[-1]) for tokens in tokens_P if len(tokens)})
        warnings.warn(
            f"Every one of {len(by_tokens)} answers counts as cut and earns 0: none ends in one of the tokens "
            f"{sorted(self._ends)}. Their last tokens are {', '.join(map(str, last[:8]))}. If one of them ends an "
            "answer, give end_tokens=model, whose generation config lists all; else raise max_completion_length",
            AllCut,
            stacklevel=5,
        )


def _columns(columns: Mapping[str, Any], n: int) -> tuple[Sequence[Any], Sequence[Any]]:
    for name in COLUMNS:
        if name not in columns:
            raise UsageError(
                f"The reward needs the column {name!r}, and the dataset has "
                f"{', '.join(sorted(columns)) or 'no others'}. Rows built with `adhere build DATA.toml` carry "
                f"{' and '.join(COLUMNS)}; keep remove_unused_columns=False"
            )
        if len(columns[name]) != n:
            raise UsageError(f"Column {name!r} has {len(columns[name])} rows for {n} completions")
    return columns[COLUMNS[0]], columns[COLUMNS[1]]
