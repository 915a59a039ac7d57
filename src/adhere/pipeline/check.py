"""Judge one Response: return its Verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.constraints.base import Finding
from adhere.constraints.resolve import insist_on
from adhere.errors import one_of
from adhere.pipeline.judge import checked_views, judge_text, verifier_version
from adhere.schema import CUT_ANSWERS, VIEWS, CutAnswers, Mode, Prompt, Response, Verdict, View
from adhere.text.size import MOST_CHARACTERS, is_too_long

CUT = Finding("fail", "the answer was cut at the token limit")
TOO_LONG = Finding("fail", f"the answer was cut: it has more than {MOST_CHARACTERS:,} characters")


def check(
    prompt: Prompt,
    response: Response,
    *,
    cut_answers: CutAnswers = "judge",
    views: Sequence[View] = VIEWS,
    mode: Mode = "reference",
    random_seed: int | None = None,
) -> list[Verdict]:
    """Return the verdicts on one answer: a verdict for each constraint of its turn and each view, in that order.

    A failed call (status `error`) has no verdicts, because nothing was measured. An empty answer fails everything.

    Args:
        prompt: The prompt that was answered.
        response: One answer to one of its turns.
        cut_answers: Whether an answer that hit the token limit fails, or is judged as it stands.
        views: Which views to report.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        random_seed: Some published code draws numbers at random. It is judged with the numbers that follow this seed;
            None leaves the verdict `undecided`.

    Raises:
        UnknownName, BadParameter: The prompt holds a constraint that cannot be judged.
        UsageError: `cut_answers`, `mode` or a view is unknown.
        ValueError: The response belongs to another prompt, or to a turn that the prompt does not have.
    """
    if response.prompt_id != prompt.id or not 0 <= response.turn < len(prompt.turns):
        raise ValueError(
            f"Response {response.key} does not answer prompt {prompt.id!r}, which has {len(prompt.turns)} turns"
        )
    views, profile = checked_views(views), prompt.tags.get("profile")
    cut_answers = one_of(cut_answers, CUT_ANSWERS, "treatment of cut answers")
    insist_on(mode, profile)
    if response.status == "error":
        return []
    refs = prompt.turns[response.turn].constraints
    finding = TOO_LONG if is_too_long(response.text) else CUT if response.status == "truncated" else None
    if finding is not None and cut_answers == "fail" and not response.is_blank:
        prompt_id, turn, draw = response.key
        versions = [verifier_version(ref.id, mode=mode, profile=profile) for ref in refs]
        return [
            Verdict(prompt_id, turn, draw, index, ref.id, view, *finding, versions[index])
            for index, ref in enumerate(refs)
            for view in views
        ]
    return judge_text(
        response.text,
        refs,
        views,
        key=response.key,
        mode=mode,
        profile=profile,
        random_seed=random_seed,
        reasoning=response.reasoning,
        whole=lambda: response.whole,
    )
