"""Splits a reward into several: a prompt with three constraints has three, for trainers that normalise each one.

    functions = judge_reward("dense", parts="kind", rows=dataset)         # a list, one function a kind
    GRPOTrainer(..., reward_funcs=functions, args=GRPOConfig(multi_objective_aggregation="normalize_then_sum"))
    functions(prompts=…, completions=…, **columns)                        # {"punctuation:no_comma": [1.0, None, …], …}

A component is None if it was not measured: the row does not ask for it, no answer decides it, or its verifier failed.
Normalised in its group (GDPO, arXiv 2601.05242) such a component adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from adhere.errors import UsageError
from adhere.pipeline.judge import judge_of
from adhere.pipeline.reward import RewardKind, reward_of, without_empty_passes
from adhere.schema import CutAnswers, Mode, Verdict
from adhere.shapes.labels import Refs
from adhere.shapes.messages import without_calls
from adhere.text.reasoning import split_answer
from adhere.text.size import is_too_long

Parts = Literal["constraint", "kind", "trap"]
PARTS: tuple[Parts, ...] = ("constraint", "kind", "trap")
TRAP_NAMES = ("constraints", "no_trap")


def names_of(parts: Parts, refs: Refs) -> list[str]:
    """Return the names of one row's components: `constraint_1`, …; ids of kinds; or `TRAP_NAMES`."""
    if parts == "trap":
        return list(TRAP_NAMES)
    if parts == "constraint":
        return [f"constraint_{place}" for place in range(1, len(refs) + 1)]
    return list(dict.fromkeys(ref.id for ref in refs))


def column_names(parts: Parts, rows_refs: Sequence[Refs]) -> list[str]:
    """Return the names of a data set's components, in a fixed order."""
    names = dict.fromkeys(name for refs in rows_refs for name in names_of(parts, refs))
    return sorted(names) if parts == "kind" else list(names)


def parts_of(
    text: str | None,
    refs: Refs,
    parts: Parts,
    *,
    kind: RewardKind = "dense",
    mode: Mode = "reference",
    profile: str | None = None,
    is_cut: bool | None = None,
    cut_answers: CutAnswers = "fail",
    request: str | None = None,
) -> dict[str, float | None]:
    """Return the components of one answer's reward, each in [0, 1] or None.

    Args:
        text: The answer, as in `rewards.rows.reward_of`.
        refs: The row's constraints.
        parts: `constraint`: a component for each; `kind`: the share of a kind's constraints that passes; `trap`:
            the reward, and 1.0 if the answer keeps the intent (0.0 if it fulfils only the wording).
        kind: The kind of reward that is the first component of `trap`.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: The version of a published suite.
        is_cut: Whether the answer hit its token limit.
        cut_answers: What a cut answer counts as.
        request: The prompt, for `trap`.

    Raises:
        UsageError: `parts` is `trap`, and there is no prompt.
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    names = names_of(parts, refs)
    if text is None or not refs:
        return dict.fromkeys(names)
    answer, reasoning, status = split_answer(text, "truncated" if is_cut else "ok")
    answer = without_calls(answer)
    judge = judge_of(refs, mode=mode, profile=profile)
    if cut_answers == "fail" and (status == "truncated" or is_too_long(answer)):
        return dict.fromkeys(names, 0.0)
    if parts == "trap":
        if request is None:
            raise UsageError("parts='trap' needs the prompt of each answer")
        from adhere.pipeline.intent.gate import traps_of

        reward = reward_of(answer, refs, kind=kind, mode=mode, profile=profile, reasoning=reasoning)
        took = traps_of(request, answer, refs, mode=mode, profile=profile)
        return {"constraints": reward, "no_trap": float(not took)}
    verdicts = judge.verdicts(answer, ("strict",), reasoning=reasoning)
    honest_verdicts = without_empty_passes(verdicts, refs, answer, mode=mode, profile=profile, reasoning=reasoning)
    undecidable = (
        judge.undecidable if any(verdict.outcome == "undecided" for verdict in honest_verdicts) else frozenset()
    )
    values = [_value(verdict, verdict.index in undecidable) for verdict in honest_verdicts]
    if parts == "constraint":
        return dict(zip(names, values, strict=True))
    shares = {name: [value for ref, value in zip(refs, values, strict=True) if ref.id == name] for name in names}
    return {name: _mean(numbers) for name, numbers in shares.items()}


def _value(verdict: Verdict, is_undecidable: bool) -> float | None:  # noqa: FBT001
    """Return 1 or 0; None if nothing was measured. A constraint that only this answer leaves undecided earns 0."""
    if verdict.outcome == "undecided" and (verdict.fault or is_undecidable):
        return None
    return float(verdict.outcome == "pass")


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if len(numbers) == len(values) and numbers else None


Function = Callable[..., list[float | None]]
Measure = Callable[..., list[dict[str, float | None]]]


class PartRewards(list[Function]):
    """A list of reward functions, one for each component, for TRL's `reward_funcs`; called, it returns all as columns.

    A batch is judged once, however many functions are called with it.

    Args:
        names: Names of the components, in order.
        measure: Returns the components of each answer of a batch.
    """

    def __init__(self, names: Sequence[str], measure: Measure) -> None:
        self.names = tuple(names)
        self._measure = measure
        self._last: tuple[Any, list[dict[str, float | None]]] | None = None
        super().__init__(map(self._function, names))

    def __call__(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
    ) -> dict[str, list[float | None]]:
        """Return every component by its name, with one value for each answer."""
        answer_parts = self._measured(prompts, completions, columns)
        return {name: [parts.get(name) for parts in answer_parts] for name in self.names}

    def _measured(
        self, prompts: Sequence[Any] | None, completions: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[dict[str, float | None]]:
        if self._last is None or self._last[0] is not completions:
            self._last = completions, self._measure(prompts=prompts, completions=completions, **columns)
        return self._last[1]

    def _function(self, name: str) -> Function:
        def part(
            prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
        ) -> list[float | None]:
            return [parts.get(name) for parts in self._measured(prompts, completions, columns)]

        part.__name__ = name  # TRL logs rewards under the function's name
        return part
