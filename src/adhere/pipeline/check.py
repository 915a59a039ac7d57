"""What one Response is worth: its Verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adhere.constraints.base import Finding
from adhere.constraints.resolve import Mode
from adhere.pipeline.judge import VIEWS, judge_text, verdict
from adhere.schema import Prompt, Response, Verdict, View

CutAnswers = Literal["fail", "judge"]

CUT = Finding("fail", "the answer was cut at the token limit")


def check(
    prompt: Prompt,
    response: Response,
    *,
    cut_answers: CutAnswers = "judge",
    views: Sequence[View] = VIEWS,
    mode: Mode = "reference",
) -> list[Verdict]:
    """The verdicts on one answer: one per constraint of its turn and view, in that order.

    A failed call (status `error`) has no verdicts, because nothing was measured. An empty answer fails everything.

    Args:
        prompt: The prompt that was answered.
        response: One answer to one of its turns.
        cut_answers: Whether an answer that hit the token limit fails, or is judged as it stands.
        views: Which views to report.
        mode: Whose semantics published kinds have.

    Raises:
        UnknownName, BadParameter: The prompt holds a constraint that cannot be judged.
        ValueError: The response belongs to another prompt, or to a turn that the prompt does not have.
    """
    if response.prompt_id != prompt.id or not 0 <= response.turn < len(prompt.turns):
        raise ValueError(
            f"Response {response.key} does not answer prompt {prompt.id!r}, which has {len(prompt.turns)} turns"
        )
    if response.status == "error":
        return []
    refs = prompt.turns[response.turn].constraints
    profile = prompt.tags.get("profile")
    if response.status == "truncated" and cut_answers == "fail" and response.text.strip():
        return [
            verdict(CUT, index=index, constraint_id=ref.id, view=view, key=response.key, mode=mode, profile=profile)
            for index, ref in enumerate(refs)
            for view in views
        ]
    return judge_text(
        response.text, refs, views, key=response.key, mode=mode, profile=profile, reasoning=response.reasoning
    )
