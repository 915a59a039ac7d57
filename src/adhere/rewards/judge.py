"""The judge as a reward function for TRL (and for anything that calls rewards the way TRL does).

    trainer = GRPOTrainer(model, reward_funcs=judge_reward("dense", end_tokens=model), train_dataset=rows)

The dataset needs two columns besides `prompt`: `instruction_id_list` and `kwargs`, as in IFEval and in our own RL rows.
Nothing here imports trl.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from adhere.errors import UsageError, one_of
from adhere.pipeline.responding import Exchange, Others, add_to
from adhere.pipeline.reward import RewardKind
from adhere.rewards.ends import end_tokens_of
from adhere.rewards.parts import PARTS, TRAP_NAMES, PartRewards, Parts, column_names, parts_of
from adhere.rewards.rows import (
    COLUMNS,
    CUT_COLUMNS,
    Coverage,
    Refs,
    answer_of,
    asked_in,
    insist_on_words,
    is_cut_by,
    refs_of,
    reward_of,
)
from adhere.schema import CutAnswers, Mode
from adhere.shapes.messages import is_listed
from adhere.text.reasoning import split_answer

RewardFunction = Callable[..., list[float | None]]
FEWEST_ALL_CUT = 2
RECENT = 512
"""Number of the latest answers that a new one is compared with."""


class CutsUnseen(UserWarning):
    """The trainer passes tokens, but `end_tokens` is not given, so that cut answers count as complete."""


class AllCut(UserWarning):
    """No answer of a batch ends in one of the end tokens, so all count as cut and earn 0."""


@overload
def judge_reward(kind: RewardKind = "dense", *, parts: None = None, **settings: Any) -> RewardFunction: ...
@overload
def judge_reward(kind: RewardKind = "dense", *, parts: Parts, **settings: Any) -> PartRewards: ...
def judge_reward(  # type: ignore[misc]  # the overloads do not say its settings again
    kind: RewardKind = "dense",
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    cut_answers: CutAnswers = "fail",
    end_tokens: Any = None,
    most_unmeasured: float = 0.5,
    traps: bool = False,
    rows: Any = None,
    parts: Parts | None = None,
) -> RewardFunction | PartRewards:
    """Make a reward function `f(prompts, completions, **columns) -> list[float | None]`.

    It judges exactly as an evaluation does (strict view, reasoning removed, an answer that was cut at its token limit
    fails). A row is None if its answer was not measured (`pipeline.reward`): TRL leaves it out of its group's
    statistics and gives it the advantage 0. Its tokens still count in what TRL divides the loss by. TRL logs the share
    as `unmeasured_share`. Other columns are accepted and ignored.

    An answer was cut if a column `is_truncated`, `truncated`, `finish_reason`, `stop_reason` or `status` says so, or
    else if its `completion_ids`, which TRL passes, do not end in one of `end_tokens`. If neither is known, every
    answer counts as complete; a `CutsUnseen` warning says so once if `end_tokens` would have helped. An `AllCut`
    warning says once that every answer of a batch seems cut, as happens if an end token is missing from
    `end_tokens`.

    Together with other functions in `reward_funcs`, a None of this one becomes 0 (TRL leaves a row out only where all
    functions gave None): put them into one by `adhere.rewards.summed`.

    Args:
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only if all pass.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: The version of a published suite, if there are several.
        cut_answers: Whether a cut answer fails, or is judged like others, as in published suites.
        end_tokens: The tokens with which the model ends an answer: best the model itself, whose generation config
            lists all of them; see `ends.end_tokens_of`.
        traps: Whether an answer that does not respond to its prompt gets 0 (`pipeline.responding`): it fulfils only
            the wording of constraints, would fit any prompt, or is repeated for other prompts. The last RECENT answers
            are remembered for that.
        rows: The data set that will be trained on: every row is checked now (`rewards.check.check_rows`), so that
            one that cannot be judged is reported before training.
        parts: Several rewards instead of one: a `constraint`, a `kind` or (`trap`) the judge and the intent gate.
            It gives a `rewards.parts.PartRewards`: a list of functions as `reward_funcs` takes them, which called
            itself gives all components as named columns, None where one was not measured.
        most_unmeasured: The share of answers without a measurement above which the training is stopped, from the
            hundredth on.

    Raises:
        TooFewMeasurements: When called: there were more of them.
        UsageError: One of the words is unknown. When called: a column is missing, or its rows do not fit the
            completions.
        UnknownName, BadParameter: When called: a row holds a constraint that cannot be judged.
    """
    insist_on_words(kind, mode, profile, cut_answers)
    needs_prompts = traps or parts == "trap"
    if rows is not None:
        from adhere.rewards.check import check_rows

        check_rows(rows, mode=mode, profile=profile, traps=needs_prompts)
    coverage = Coverage(most_unmeasured)
    cuts = _Cuts(end_tokens_of(end_tokens)) if cut_answers == "fail" else None
    how: Any = {"kind": kind, "mode": mode, "profile": profile, "cut_answers": cut_answers}
    if parts is not None:
        return _in_parts(parts, rows, cuts, how, traps=traps)
    if traps:
        how["others"] = Others(most=RECENT)

    def judge(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
    ) -> list[float | None]:
        batch = _batch(prompts, completions, columns, cuts, needs_prompts=needs_prompts)
        if traps:
            remember(how["others"], batch)
        rewards = [
            reward_of(answer.text, answer.refs, is_cut=answer.is_cut, request=answer.asked, **how) for answer in batch
        ]
        coverage.see(rewards)
        if rewards and callable(log := columns.get("log_metric")):
            log("unmeasured_share", sum(reward is None for reward in rewards) / len(rewards))
        return rewards

    judge.__name__ = f"judge_{kind}"  # TRL logs rewards under the function's name
    return judge


def _in_parts(parts: Parts, rows: Any, cuts: _Cuts | None, how: dict[str, Any], *, traps: bool) -> PartRewards:
    from adhere.rewards.check import refs_of_rows

    one_of(parts, PARTS, "way to part a reward")
    if traps:
        raise UsageError("traps=True makes every component 0 at once, which is no reward in parts. Take parts='trap'")
    if parts != "trap" and rows is None:
        raise UsageError(
            f"parts={parts!r} needs rows=dataset, because trainers want to know the names of all components beforehand"
        )

    def measure(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
    ) -> list[dict[str, float | None]]:
        batch = _batch(prompts, completions, columns, cuts, needs_prompts=parts == "trap")
        return [
            parts_of(answer.text, answer.refs, parts, is_cut=answer.is_cut, request=answer.asked, **how)
            for answer in batch
        ]

    return PartRewards(TRAP_NAMES if parts == "trap" else column_names(parts, refs_of_rows(rows)), measure)


class AnswerOfBatch(NamedTuple):
    """Holds one answer as a trainer passes it."""

    text: str | None
    refs: Refs
    is_cut: bool | None
    asked: str | None


def _batch(
    prompts: Sequence[Any] | None,
    completions: Sequence[Any] | None,
    columns: Mapping[str, Any],
    cuts: _Cuts | None,
    *,
    needs_prompts: bool,
) -> list[AnswerOfBatch]:
    if completions is None:
        raise UsageError("The reward was called without completions")
    n = len(completions)
    ids_P, kwargs_P = _columns(columns, n)
    cut_P = [None] * n if cuts is None else cuts.of(columns, n)
    if needs_prompts and (prompts is None or len(prompts) != n):
        raise UsageError("With traps=True the reward needs one prompt a completion, which it is called without")
    request_P = [asked_in(prompt) for prompt in prompts] if needs_prompts and prompts else [None] * n
    return [
        AnswerOfBatch(answer_of(completion), refs_of(ids, kwargs), is_cut, request)
        for completion, ids, kwargs, is_cut, request in zip(completions, ids_P, kwargs_P, cut_P, request_P, strict=True)
    ]


def remember(others: Others, batch: Sequence[AnswerOfBatch]) -> None:
    """Add the answers of a batch, without their reasoning, to `others`."""
    for answer in batch:
        if answer.asked is not None and answer.text is not None:
            add_to(others, Exchange(answer.asked, split_answer(answer.text, "ok").text, tuple(answer.refs)))


class _Cuts:
    """Finds the answers that were cut at their token limit.

    Args:
        ends: The tokens that end an answer; empty: `completion_ids` are not used.
    """

    def __init__(self, ends: frozenset[int]) -> None:
        self._ends = ends
        self._is_told = False

    def of(self, columns: Mapping[str, Any], n: int) -> list[bool | None]:
        """Tell whether each completion was cut; None if nothing says so."""
        rows = {name: _one_each(columns[name], name, n) for name in CUT_COLUMNS if columns.get(name) is not None}
        cut_P = [is_cut_by({name: column[number] for name, column in rows.items()}) for number in range(n)]
        tokens_P = columns.get("completion_ids")
        if tokens_P is None or None not in cut_P:
            return cut_P
        if not self._ends:
            warnings.warn(
                "judge_reward cannot see which answers were cut at the token limit, so they count as complete, and an "
                "evaluation would fail them. Give it end_tokens=model, or say cut_answers='judge'",
                CutsUnseen,
                stacklevel=6,
            )
            return cut_P
        by_tokens = [len(tokens) == 0 or int(tokens[-1]) not in self._ends for tokens in tokens_P]
        self._tell(by_tokens, tokens_P)
        return [by_tokens[number] if is_cut is None else is_cut for number, is_cut in enumerate(cut_P)]

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
            stacklevel=6,
        )


def _one_each(column: Any, name: str, n: int) -> list[Any]:
    """Return a column as a list with a value for each of `n` completions, whatever its index is (pandas).

    Raises:
        UsageError: The column is one value for all, or has another length, so that it cannot tell which answers
            were cut.
    """
    if name == "status" and not (is_listed(column) and len(column) == n):
        return [None] * n  # a word that others use for other things, too
    if not is_listed(column) or len(column) != n:
        raise UsageError(
            f"{name} says which answers were cut, so it is a list of {n}, one a completion; got {column!r:.60}"
        )
    return list(column)


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
