"""The judge as a reward function for both generations of `verifiers`. Nothing here imports verifiers.

Tasksets (verifiers.v1; a task's data have the fields `instruction_id_list` and `kwargs`):

    --env.taskset.task.rewards.obeys.fn adhere.integrations.verifiers.reward:judge_dense

Rubrics (a row's `info`, or else its `answer`, is a mapping with these two, or its JSON text):

    verifiers_reward("dense")           # of the releases before 0.4, whose rubrics take such functions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adhere.pipeline.reward import RewardKind
from adhere.rewards.rows import COLUMNS, answer_of, asked_by, insist_on_words, is_cut_by, refs_in, reward_of
from adhere.schema import CutAnswers, Mode
from adhere.shapes.labels import names_constraints
from adhere.shapes.messages import content_of


def verifiers_reward(
    kind: RewardKind = "dense",
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    cut_answers: CutAnswers = "fail",
    traps: bool = False,
) -> Callable[..., float | None]:
    """Make a reward function `f(completion, info, answer, **others) -> float | None` for one rollout.

    The model's last message in the completion is judged without its reasoning, in the strict view; a message that only
    calls a tool is an empty answer. If nothing was measured, the reward is None, never 0. (Rubrics of some releases
    turn exceptions, and None, into 0 with a logged error: look at the log.)

    Args:
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only if all pass.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: The version of a published suite, if there are several.
        cut_answers: Whether an answer that was cut at its token limit fails, or is judged like others. The
            rollout's `state` says which were cut: by `is_truncated`, or in the last step of its `trajectory`.
        traps: Whether an answer that fulfils the wording but not the intent (`pipeline.intent.gate`) gets 0. The
            rubric passes the prompt.

    Raises:
        UsageError: One of the words is unknown. When called: neither `info` nor `answer` names constraints, or
            `traps` got no prompt.
        UnknownName, BadParameter: When called: a constraint cannot be judged.
    """
    insist_on_words(kind, mode, profile, cut_answers)

    def judge(
        completion: Any,
        info: Any = None,
        answer: Any = None,
        state: Any = None,
        prompt: Any = None,
        **others: Any,  # noqa: ARG001
    ) -> float | None:
        names = isinstance(info, str) or names_constraints(info)
        refs = refs_in(info, where="info") if names else refs_in(answer, where="Neither info nor answer: answer")
        return reward_of(
            answer_of(completion),
            refs,
            kind=kind,
            mode=mode,
            profile=profile,
            is_cut=_was_cut(state),
            cut_answers=cut_answers,
            request=asked_by(info if names else answer, {"prompt": prompt}, where="info or answer") if traps else None,
        )

    judge.__name__ = f"judge_{kind}"  # rubrics report rewards under the function's name
    return judge


def _was_cut(state: Any) -> bool | None:
    """Tell whether a rollout's state, or the last step of its trajectory, says that the answer was cut.

    None: neither says.
    """
    if not isinstance(state, Mapping):
        return None
    is_cut = is_cut_by(state)
    steps = state.get("trajectory")
    if is_cut is None and isinstance(steps, list) and steps and isinstance(steps[-1], Mapping):
        return is_cut_by(steps[-1])
    return is_cut


async def judge_dense(task: Any, trace: Any) -> float | None:
    """Return the share of constraints that the trace's reply passes, for a taskset of verifiers.v1.

    If nothing was measured it is None, never 0; verifiers has no place for None, records an error and sets no reward.

    Args:
        task: Its `data` have `instruction_id_list` and `kwargs`. If its `config` or `data` has `traps`, an answer
            that fulfils the wording but not the intent gets 0.
        trace: Its last reply is judged as written, without the reasoning. If its `is_truncated` is true, the answer
            was cut at its token limit, and fails.

    Raises:
        UsageError: The task's data name no constraints.
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    return _reward_of_trace(task, trace, kind="dense")


async def judge_binary(task: Any, trace: Any) -> float | None:
    """Return 1.0 if the trace's reply passes all constraints, else 0.0; otherwise as `judge_dense`."""
    return _reward_of_trace(task, trace, kind="binary")


def _reward_of_trace(task: Any, trace: Any, *, kind: RewardKind) -> float | None:
    label = {name: getattr(task.data, name) for name in COLUMNS if hasattr(task.data, name)}
    text, is_cut = answer_of_trace(trace)
    traps = any(getattr(getattr(task, name, None), "traps", False) is True for name in ("config", "data"))
    request = (
        asked_by(label, {"prompt": getattr(task.data, "prompt", None)}, where="The task's data") if traps else None
    )
    return reward_of(
        text, refs_in(label, where="The task's data"), kind=kind, mode="reference", is_cut=is_cut, request=request
    )


def answer_of_trace(trace: Any) -> tuple[str, bool]:
    """Return the reply of a verifiers.v1 trace as it was written, and whether it was cut at its token limit."""
    is_cut = is_cut_by({"is_truncated": getattr(trace, "is_truncated", None)}) is True
    # `trace.last_reply` would strip blanks, which some constraints are about.
    reply = trace.root_reply
    if isinstance(reply, str):
        return reply, is_cut
    messages = trace.assistant_messages
    last = content_of(messages[-1].content, "A reply") if messages else None
    return (last.text or "") if last is not None else "", is_cut
